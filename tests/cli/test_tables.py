"""Tables for the terminal: aligned and harmless with any names. Tables for spreadsheets: nothing is calculated."""

from __future__ import annotations

import csv
import io
import unicodedata

import pytest

from leaguekit.cli.tables import csv_row, escape_formula, rate_text, standings_table, table, width
from leaguekit.protocol.plain_text import sanitize_line

ROW = {
    "rank": 1,
    "player_id": "P01",
    "display_name": "Alice",
    "played": 3,
    "wins": 2,
    "draws": 1,
    "losses": 0,
    "points": 7,
}


@pytest.mark.parametrize(
    "char",
    [
        *("\x00", "\x07", "\b", "\t", "\n", "\r", "\x1b", "\x7f", "\x9b"),
        *("\u061c", "\u200b", "\u200f", "\u2028", "\u202e", "\u2066", "\ufeff"),
    ],
    ids=ascii,
)
def test_what_would_move_colour_or_turn_the_terminal_is_made_visible_instead(char: str) -> None:
    assert sanitize_line(f"a{char}b") == "a�b"


def test_a_rate_is_told_with_as_many_digits_as_it_needs() -> None:
    assert [rate_text(rate) for rate in (0, 0.2, 3.25, 12.5, 1045)] == ["0", "0.2", "3.2", "12", "1,045"]


@pytest.mark.parametrize("text", ["Alice", "Zoë", "李雷", "O'Neill – 2nd", "", "🤖", "50 %"])
def test_ordinary_names_stay_as_they_are(text: str) -> None:
    assert sanitize_line(text) == text


def test_what_is_no_text_is_written_as_text() -> None:
    assert sanitize_line(7) == "7"
    assert sanitize_line(None) == "None"


def test_an_escape_sequence_of_an_agent_never_reaches_the_terminal() -> None:
    drawn = standings_table([ROW | {"display_name": "\x1b[2J\x1b]0;owned\x07"}])
    assert "\x1b" not in drawn
    assert "\x07" not in drawn
    assert len(drawn.splitlines()) == 3


def test_columns_are_as_wide_as_they_need_and_numbers_stand_to_the_right() -> None:
    assert table(["id", "points"], [["P01", 7], ["P100", 12]]).splitlines() == [
        "id    points",
        "────────────",
        "P01        7",
        "P100      12",
    ]


def test_a_column_with_one_word_in_it_stands_to_the_left() -> None:
    assert table(["match", "goals"], [["R1M1", 2], ["R1M2", "-"]]).splitlines()[2:] == ["R1M1   2", "R1M2   -"]


@pytest.mark.parametrize("name", ["李雷", "ｆｕｌｌ", "e\u0301e\u0301", "Zoë", "a"])
def test_columns_stay_aligned_beside_wide_and_combining_characters(name: str) -> None:
    lines = table(["name", "points"], [[name, 7], ["Robertine", 12]]).splitlines()
    assert {_columns(line) for line in lines} == {len("Robertine") + 2 + len("points")}


def _columns(line: str) -> int:
    """How far a terminal's cursor goes."""
    widths = {"W": 2, "F": 2}
    return sum(widths.get(unicodedata.east_asian_width(char), 1) for char in line if not unicodedata.combining(char))


def test_no_line_ends_in_blanks() -> None:
    assert all(line == line.rstrip() for line in table(["a", "b"], [["long word", ""], ["", "x"]]).splitlines())


def test_a_table_without_rows_has_its_heads() -> None:
    assert table(["match", "result"], []).splitlines() == ["match  result", "─────────────"]


def test_the_standings_have_a_row_a_player() -> None:
    second = ROW | {"rank": 2, "player_id": "P02", "display_name": "Bob", "points": 4}
    assert standings_table([ROW, second]).splitlines() == [
        "rank  player  name   played  won  drawn  lost  points",
        "─────────────────────────────────────────────────────",
        "   1  P01     Alice       3    2      1     0       7",
        "   2  P02     Bob         3    2      1     0       4",
    ]


def test_a_tie_break_that_was_needed_has_a_column_and_shared_ranks_are_shown() -> None:
    equal = {"head_to_head": 1, "sonneborn_berger": 2.5}
    rows = [
        ROW | {"shown_rank": "1"},
        ROW | equal | {"rank": 2, "shown_rank": "2=", "points": 4},
        ROW | equal | {"rank": 3, "shown_rank": "2=", "points": 4, "decided_by": "lot"},
    ]
    assert standings_table(rows).splitlines() == [
        "rank  player  name   played  won  drawn  lost  h2h   SB  points",
        "───────────────────────────────────────────────────────────────",
        "   1  P01     Alice       3    2      1     0                 7",
        "  2=  P01     Alice       3    2      1     0    1  2.5       4",
        "  2=  P01     Alice       3    2      1     0    1  2.5       4",
    ]
    rows[1] |= {"technical_losses": 0}
    rows[2] |= {"technical_losses": 1, "decided_by": "technical_losses"}
    assert standings_table(rows).splitlines()[0].split()[-4:] == ["tech.", "h2h", "SB", "points"]
    unplayed = [row | {"played": 0} for row in rows]
    assert standings_table(unplayed).splitlines()[0].split()[-1:] == ["points"]


@pytest.mark.parametrize("columns", [40, 56, 200])
def test_the_standings_fit_into_every_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = standings_table([ROW | {"display_name": "A name of many words"}]).splitlines()
    assert all(width(line) <= columns for line in lines), lines
    assert lines[0].split()[-1] == "points"
    assert lines[2].split()[-1] == "7"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize("blank", ["", " ", "\u00a0", "\t", "\r", "\n"])
def test_a_text_that_begins_like_a_formula_begins_with_an_apostrophe(sign: str, blank: str) -> None:
    text = f"{blank}{sign}HYPERLINK(0)"
    assert escape_formula(text) == f"'{text}"
    assert escape_formula(f"{blank}Alice") == (f"'{blank}Alice" if blank in ("\t", "\r", "\n") else f"{blank}Alice")


@pytest.mark.parametrize("cell", ["Alice", "", "'", "a=b", "P01", "2 + 2", "Zoë", -3, 0, 1.5, None, True])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert escape_formula(cell) is cell


@pytest.mark.parametrize("text", ['a"b', "a,b", "a\nb", "a\rb", '"', "李雷", "a;b"])
def test_a_row_is_read_back_as_it_was_written(text: str) -> None:
    assert list(csv.reader(io.StringIO(csv_row(["P01", text, 7, None]), newline=""))) == [["P01", text, "7", ""]]


def test_a_row_is_one_line() -> None:
    assert csv_row(["R1M1", 3, None, "=1+1"]) == "R1M1,3,,'=1+1\n"


def test_a_table_that_is_ranked_by_payoff_ends_with_it() -> None:
    row = {"rank": 1, "player_id": "P01", "display_name": "One", "played": 1, "wins": 0, "draws": 1, "losses": 0}
    text = standings_table([row | {"points": 1, "payoff": 2.25}, row | {"points": 12, "payoff": -10.0}])
    assert [line[-15:] for line in text.splitlines() if "─" not in line] == [
        "points   payoff",
        "     1    2.250",
        "    12  -10.000",
    ]
