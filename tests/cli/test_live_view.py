"""The live display of a league: what a person sees, in terminals of any size and with any names."""

from __future__ import annotations

import io
import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leaguekit.cli import screen as screens
from leaguekit.cli.boards import draw_boards
from leaguekit.cli.live_view import bracket_lines, news_text, pairing_text, render_league
from leaguekit.cli.screen import Cell, Screen, render_line, right_aligned, supports_screen
from leaguekit.cli.tables import LTR_MARK, shorten, table, width, with_ltr_mark
from leaguekit.web.api_types import (
    AgentName,
    InPlay,
    LeagueView,
    Live,
    MatchRow,
    NewsItem,
    Pairing,
    PairingGame,
    StandingRow,
)

NOW = datetime(2026, 1, 1, 10, tzinfo=UTC)
NAMES = [
    "Alice",
    "李雷的机器人",
    "שלום עולם",
    "a very long name of an agent that goes on and on",
    "e\u0301\u0301clair",
    "Zoë",
]
PAGE = "http://127.0.0.1:8000/"


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def league(**changes: Any) -> LeagueView:
    fields: dict[str, Any] = {
        "league_id": "league_2026",
        "game_type": "even_odd",
        "pure_chance": True,
        "state": "RUNNING_LEAGUE",
        "paused": False,
        "round": 2,
        "total_rounds": 5,
        "matches_played": 3,
        "total_matches": 15,
        "players": 6,
        "referees": 2,
        "starts_at": None,
        "waits_for": [],
        "created_at": None,
        "started_at": None,
        "ended_at": None,
        "champion": None,
        "seed_hex": None,
    }
    return LeagueView(**fields | changes)


def who(number: int) -> AgentName:
    return AgentName(id=f"P{number:02d}", name=NAMES[(number - 1) % len(NAMES)])


def row(number: int, **changes: Any) -> StandingRow:
    fields: dict[str, Any] = {
        "rank": number,
        "id": f"P{number:02d}",
        "name": who(number).name,
        "played": 9,
        "wins": 5,
        "draws": 3,
        "losses": 1,
        "technical_losses": 0,
        "points": 100 - number,
        "movement": {1: 2, 2: -1, 3: 0}.get(number),
        "state": "ACTIVE",
        "out": None,
    }
    return StandingRow(**fields | changes)


def live(players: int = 6, playing: int = 2, results: int = 3, news: int = 4, **changes: Any) -> Live:
    return Live(
        seq=7,
        now=at(0),
        league=league(**changes),
        standings={f"P{number:02d}": row(number) for number in range(1, players + 1)},
        playing={
            f"R2M{number}": InPlay(
                match_id=f"R2M{number}",
                round_id=2,
                a=who(number),
                b=who(number + 1),
                referee_id="REF01",
                attempt=1,
                since=None,
                stage="COLLECTING_CHOICES" if number > 1 else None,
                deadline=at(28.4) if number > 1 else None,
            )
            for number in range(1, playing + 1)
        },
        results={
            f"R1M{number}": MatchRow(
                match_id=f"R1M{number}",
                round_id=1,
                a=who(number),
                b=who(number + 1),
                status="ended",
                winner={1: "P01", 2: "P03"}.get(number),
                reason="the number was 4",
                ended_at=at(-number),
            )
            for number in range(1, results + 1)
        },
        agents={},
        news={
            str(number): NewsItem(number=number, at=at(0), event="RoundAnnounced", text=f"Round {number} is announced")
            for number in range(1, news + 1)
        },
    )


class Terminal:
    """As much of a terminal as a picture needs: which characters are where after it was written to."""

    def __init__(self, columns: int, lines: int) -> None:
        self.grid = [[" "] * columns for _ in range(lines)]
        self._line = self._column = 0
        self.is_alternate = False
        self.cursor_shown = True

    def write(self, text: str) -> None:
        for escape, sign in re.findall(r"\x1b\[([?\d;]*[A-Za-z])|([^\x1b])", text):
            if sign:
                self._put(sign)
            else:
                self._obey(escape)

    def _obey(self, escape: str) -> None:
        if escape.endswith("G"):
            self._column = int(escape[:-1]) - 1
        elif escape == "H":
            self._line = self._column = 0
        elif escape == "2K":
            self.grid[self._line] = [" "] * len(self.grid[0])
        elif escape == "J":
            for number in range(self._line + 1, len(self.grid)):
                self.grid[number] = [" "] * len(self.grid[0])
        elif escape in ("?1049h", "?1049l"):
            self.is_alternate = escape.endswith("h")
        elif escape in ("?25h", "?25l"):
            self.cursor_shown = escape.endswith("h")
        else:
            assert escape in ("?2026h", "?2026l") or escape.endswith("m"), escape

    def _put(self, sign: str) -> None:
        if sign == "\n":
            self._line += 1
        elif sign == "\r":
            self._column = 0
        elif wide := width(sign):
            assert self._column + wide <= len(self.grid[0]), "written beyond the edge"
            self.grid[self._line][self._column] = sign
            for more in range(1, wide):
                self.grid[self._line][self._column + more] = ""
            self._column += wide

    def seen(self, start: int = 0, end: int | None = None) -> list[str]:
        """The lines between two columns."""
        return ["".join(line[start:end]).rstrip() for line in self.grid]


def put(state: Live, columns: int, lines: int, *notes: str, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal after a picture was shown in it, and another before."""
    terminal, stream = Terminal(columns, lines), io.StringIO()
    monkeypatch.setattr(screens.shutil, "get_terminal_size", lambda: os.terminal_size((columns, lines)))
    Screen(stream).draw([[Cell(0, "old " * columns)]] * lines)
    with Screen(stream) as screen:
        screen.draw(render_league(state, NOW, screen.size, PAGE, [*notes]))
    terminal.write(stream.getvalue())
    assert not terminal.is_alternate
    assert terminal.cursor_shown
    return terminal


def visible(state: Live, columns: int, lines: int, *notes: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person sees."""
    return put(state, columns, lines, *notes, monkeypatch=monkeypatch).seen()


BOARD = {"kind": "grid", "rows": [["X", "O", ""], ["", "X", ""], ["", "", ""]]}


def with_boards(**positions: Any) -> Live:
    """A league of tic-tac-toe in its second round. R2M1 and R2M2 are in play, unless ``R2M2`` is its result."""
    state = live(playing=2, results=0, game_type="tic_tac_toe")
    state.playing["R2M1"].picture = positions["R2M1"]
    state.playing["R2M1"].missing = ["P02"]
    if isinstance(positions["R2M2"], dict):
        state.playing["R2M2"].picture = positions["R2M2"]
    else:
        del state.playing["R2M2"]
        row = MatchRow(match_id="R2M2", round_id=2, a=who(1), b=who(6), status="ended", ended_at=at(-1))
        row.choices, row.winner = positions["R2M2"]
        state.results["R2M2"] = row
    return state


def test_the_boards_of_a_round_are_beside_each_other_in_play_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    state = with_boards(R2M1=BOARD, R2M2=(("0,1,2", "3,4"), "P01"))
    lines = visible(state, 80, 30, monkeypatch=monkeypatch)
    first = lines.index("Boards") + 1
    assert lines[first : first + 6] == [
        "X O ·  R2M1                    X X X  R2M2",
        "· X ·  Alice                   O O ·  Alice",
        "· · ·  李雷的机器人            · · ·  Zoë",
        "       李雷的机器人 to move           Alice wins",
        "                                      Alice has X, Zoë has O",
        "",
    ]


def test_a_long_caption_of_a_board_has_three_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    state = with_boards(R2M1=BOARD | {"caption": "P01 has red ●, P02 has ○; P01 moves " + "now " * 9}, R2M2={})
    lines = visible(state, 80, 30, monkeypatch=monkeypatch)
    first = lines.index("Boards") + 5
    assert [line.strip() for line in lines[first : first + 4]] == [
        "Alice has red ●,",
        "李雷的机器人 has ○;",
        "Alice moves now now n…",
        "",
    ]


def test_the_game_is_shown_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    state = live(game="openspiel:go(board_size=9)")
    assert visible(state, 110, 26, monkeypatch=monkeypatch)[1].startswith("running · openspiel:go(board_size=9) · ")


@pytest.mark.parametrize("picture", [{}, {"kind": "grid"}, {"kind": "grid", "rows": [["\n", 7]]}, {"kind": "text"}])
def test_what_is_not_a_picture_is_not_drawn(picture: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    state = with_boards(R2M1=picture, R2M2={})
    assert "Boards" not in visible(state, 80, 30, monkeypatch=monkeypatch)


def test_a_small_terminal_has_no_room_for_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    state = with_boards(R2M1=BOARD, R2M2={})
    assert "Boards" in visible(state, 80, 24, monkeypatch=monkeypatch)
    assert "Boards" not in visible(state, 80, 18, monkeypatch=monkeypatch)
    wide = BOARD | {"rows": [["12"] * 9] * 3}
    assert "Boards" not in visible(with_boards(R2M1=wide, R2M2={}), 25, 24, monkeypatch=monkeypatch)


def test_texts_are_below_a_board_that_leaves_no_room_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {"kind": "grid", "rows": [["12"] * 20] * 3, "caption": "P01 has red ●, P02 has ○; " + "now " * 20}
    lines = visible(with_boards(R2M1=wide, R2M2={}), 80, 40, monkeypatch=monkeypatch)
    first = lines.index("Boards") + 1
    assert lines[first : first + 7] == [
        *["12 " * 19 + "12"] * 3,
        "R2M1  Alice – 李雷的机器人",
        "李雷的机器人 to move",
        "Alice has red ●, 李雷的机器人 has ○; now now now now now now now now now now …",
        "",
    ]


CARDS = {"kind": "cards", "hands": [{"label": "P01", "cards": ["K", None]}, {"label": "P02", "cards": [None]}]}
DISC = {"text": "●", "colour": "white"}
LABELLED = {
    "kind": "grid",
    "rows": [["♜", {"text": "♙", "colour": "white", "marked": True}], [{"text": "", "colour": "blue"}, DISC]],
    "row_labels": ["10", "9"],
    "column_labels": ["a", "b"],
}


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (CARDS, ["Alice        K ▒▒", "李雷的机器人 ▒▒", "", ""]),
        (LABELLED, ["10 ♜ ♙", "9  ■ ○", "   a b", ""]),
        ({"kind": "text", "text": "one\n  two\nthree\nfour\nfive"}, ["one", "  two", "three", "four", "five"]),
    ],
)
def test_every_kind_of_picture_is_drawn(
    picture: dict[str, Any], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = visible(with_boards(R2M1=picture, R2M2={}), 80, 30, monkeypatch=monkeypatch)
    first = lines.index("Boards") + 1
    drawn = [re.split(r"  (?=R2M1|Alice$|李雷的机器人( to move)?$)", line)[0] for line in lines[first:]]
    assert [line.rstrip() for line in drawn[: len(expected)]] == expected


def test_a_cell_has_its_colour_and_its_mark() -> None:
    state = with_boards(R2M1=LABELLED, R2M2={})
    cells = [cell for line in draw_boards(state, 0, 80, 20) for cell in line]
    assert [(cell.text, cell.style) for cell in cells if cell.text in "♙■○"] == [
        ("♙", "white marked"),
        ("■", "blue"),
        ("○", "white"),
    ]
    assert "\x1b[97;40;7m♙" in render_line([one for one in cells if one.text == "♙"], 80, coloured=True)


def test_news_name_players_and_say_a_name_once() -> None:
    other_news = NewsItem(number=9, at=at(0), event="PlayerWithdrawn", text="P01 is withdrawn from the league: ill")
    assert news_text(other_news, live()) == "Alice (P01) is withdrawn from the league: ill"
    came = NewsItem(number=9, at=at(0), event="PlayerRegistered", text="P01 is registered: Alice")
    assert news_text(came, live()) == "P01 is registered: Alice"


def test_a_wide_terminal_shows_the_table_beside_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put(live(), 110, 26, "player 3 is started again", monkeypatch=monkeypatch)
    lines = terminal.seen()
    assert lines[0].split() == ["league_2026", PAGE]
    assert lines[1] == "running · even_odd · round 2 of 5 · 6 players · 2 referees"
    assert lines[2].endswith("░ 3 of 15 matches")
    assert lines[-1] == "player 3 is started again"
    assert terminal.seen(0, 53)[4:11] == [
        "   #     player               pl. won dr. lost points",
        "   1 ▲2  P01  Alice             9   5   3    1     99",
        "   2 ▼1  P02  李雷的机器人      9   5   3    1     98",
        "   3     P03  שלום עולם         9   5   3    1     97",
        "   4     P04  a very long name… 9   5   3    1     96",
        "   5     P05  eclair            9   5   3    1     95",
        "   6     P06  Zoë               9   5   3    1     94",
    ]
    rest = terminal.seen(56)[4:]
    assert rest[:3] == [
        "In play",
        "R2M1   Alice – 李雷的机器人            in play",
        "R2M2   李雷的机器人 – שלום עולם        choosing   28 s",
    ]
    assert rest[4:8] == [
        "Latest results",
        "R1M1   Alice beats 李雷的机器人: the number was 4",
        "R1M2   שלום עולם beats 李雷的机器人: the number was 4",
        "R1M3   שלום עולם – a very long name of an agent that …",
    ]
    assert rest[9:12] == ["News", "Round 4 is announced", "Round 3 is announced"]


def test_a_narrow_terminal_shows_the_rest_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = visible(live(players=30, results=0), 40, 24, monkeypatch=monkeypatch)
    assert lines[4:6] == ["   #     player                 won  pts", "   1 ▲2  P01  Alice               5   99"]
    assert (
        next(index for index, line in enumerate(lines) if re.fullmatch(r" +and \d+ more", line))
        < lines.index("In play")
        < lines.index("News")
    )


def test_tie_breaks_that_were_needed_have_columns_and_shared_ranks_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    state = live(players=3)
    for number, rank in ((1, "1"), (2, "2="), (3, "2=")):
        state.standings[f"P0{number}"].shown_rank = rank
    for number in (2, 3):
        state.standings[f"P0{number}"].head_to_head = 1
        state.standings[f"P0{number}"].sonneborn_berger = 12.5
    assert put(state, 130, 26, monkeypatch=monkeypatch).seen(0, 63)[4:9] == [
        "   #     player              pl. won dr. lost  h2h    SB points",
        "   1 ▲2  P01  Alice            9   5   3    1                99",
        "  2= ▼1  P02  李雷的机器人     9   5   3    1    1  12.5     98",
        "  2=     P03  שלום עולם        9   5   3    1    1  12.5     97",
        "  = equal, and only the lot or the id decides",
    ]
    # Where there is less room they come before what does not decide.
    assert visible(state, 50, 26, monkeypatch=monkeypatch)[6].split()[-4:] == ["5", "1", "12.5", "98"]
    state.standings["P03"].decided_by = "technical_losses"
    assert visible(state, 80, 26, monkeypatch=monkeypatch)[4].split()[-4:] == ["h2h", "SB", "tech.", "points"]


def test_a_league_that_is_ranked_by_payoff_says_so_and_ends_its_table_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    state = live(players=3, ranked_by="The table is ranked by payoff.")
    for number in (1, 2, 3):
        state.standings[f"P0{number}"].payoff = 4.5 - number
    seen = visible(state, 80, 26, monkeypatch=monkeypatch)
    assert "The table is ranked by payoff." in seen
    rows = [line.split()[-2:] for line in seen if " P0" in line and "." in line][:3]
    assert rows == [["99", "3.500"], ["98", "2.500"], ["97", "1.500"]]


@pytest.mark.parametrize("columns", [1, 5, 20, 39, 46, 80, 99, 100, 101, 250])
@pytest.mark.parametrize("lines", [1, 3, 8, 24, 70])
def test_in_a_terminal_of_any_size_nothing_is_written_beyond_its_edges(
    columns: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = live(players=40, playing=20, results=30, news=30, waits_for=["a referee"], starts_at=at(5))
    seen = visible(state, columns, lines, "a note", "another", monkeypatch=monkeypatch)
    assert len(seen) == lines
    assert "old" not in "".join(seen)
    if columns >= 20 and lines >= 24:
        assert seen[-1] == "another"


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"paused": True}, "paused · even_odd"),
        ({"state": "WAITING_FOR_REGISTRATIONS", "total_rounds": 0, "total_matches": 0}, "waiting for registrations"),
        ({"starts_at": at(75)}, "begins in 1:15"),
        ({"starts_at": at(3)}, "begins in 3 s"),
        ({"starts_at": at(7_325)}, "begins in 2:02:05"),
        ({"waits_for": ["a referee: none answers"]}, "waits for a referee: none answers"),
    ],
)
def test_where_the_league_stands_is_said_at_the_top(
    changes: dict[str, Any], facts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(line.startswith(facts) for line in visible(live(**changes), 80, 24, monkeypatch=monkeypatch)[:5])


def test_a_start_that_is_past_is_not_counted_down_to(monkeypatch: pytest.MonkeyPatch) -> None:
    for league in ({"starts_at": at(-1)}, {"starts_at": at(5), "paused": True}):
        assert "begins" not in "\n".join(visible(live(**league), 80, 24, monkeypatch=monkeypatch))


def test_who_has_left_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    state = live()
    state.standings["P06"] = row(6, out="WITHDRAWAL")
    assert any("Zoë (withdrawn)" in line for line in visible(state, 80, 24, monkeypatch=monkeypatch))


def test_names_that_would_move_or_colour_the_terminal_are_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    state = live()
    state.standings["P01"] = row(1, name="\x1b[2J\x1b[31m\u202eevil\n")
    lines = visible(state, 80, 24, monkeypatch=monkeypatch)
    assert any("P01  �[2J�[31m�evil�" in line for line in lines)


def test_colours_are_left_out_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    line = [Cell(0, "good", "good"), right_aligned(12, 42)]
    assert render_line(line, 20, coloured=True) == "\x1b[1G\x1b[32mgood\x1b[m\x1b[11G42"
    assert render_line(line, 20, coloured=False) == "\x1b[1Ggood\x1b[11G42"
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    Screen(stream).draw([line])
    assert "\x1b[32m" not in stream.getvalue()


def test_behind_a_name_that_is_written_from_right_to_left_the_line_goes_on_from_left_to_right() -> None:
    assert with_ltr_mark("שלום") == f"שלום{LTR_MARK}"
    assert with_ltr_mark("Alice") == "Alice"
    assert render_line([Cell(0, "שלום"), Cell(9, "3")], 20, coloured=False) == f"\x1b[1Gשלום{LTR_MARK}\x1b[10G3"
    assert width(f"שלום{LTR_MARK}") == 4


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [
        ("Alice", 5, "Alice"),
        ("Alice", 4, "Ali…"),
        ("李雷的", 6, "李雷的"),
        ("李雷的", 5, "李雷…"),
        ("李雷", 2, "…"),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ],
)
def test_texts_are_cut_by_the_columns_they_take(text: str, columns: int, cut: str) -> None:
    assert shorten(text, columns) == cut


def test_a_table_gives_way_in_a_narrow_terminal_and_not_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["P01", "a long name that does not fit", 7], ["P02", "שלום", 12]]
    whole = table(["id", "name", "points"], rows)
    assert "a long name that does not fit" in whole
    assert LTR_MARK not in whole

    class Narrow(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Narrow())
    monkeypatch.setenv("COLUMNS", "30")
    lines = table(["id", "name", "points"], rows).splitlines()
    assert [width(line) for line in lines] == [30, 30, 30, 30]
    assert lines[2] == "P01  a long name th…         7"[:4] + lines[2][4:]
    assert "…" in lines[2]
    assert LTR_MARK in lines[3]


@pytest.mark.parametrize(
    ("is_terminal", "term", "can"), [(True, "xterm", True), (True, "dumb", False), (False, "xterm", False)]
)
def test_pictures_are_for_terminals_that_can_show_them(
    is_terminal: bool, term: str, can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setenv("TERM", term)
    assert supports_screen(Stream()) is can


def pairing(**changes: Any) -> Pairing:
    fields: dict[str, Any] = {"stage": 2, "label": "Final", "a": who(1), "b": who(6)}
    return Pairing(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Alice  –  Zoë"),
        ({"b": None}, "Alice  –  …"),
        ({"games": [PairingGame(match_id="R1M1")]}, "Alice  –  Zoë"),
        (
            {
                "games": [
                    PairingGame(match_id="R1M1", marks=("½", "½")),
                    PairingGame(match_id="R2M1", marks=("-", "+")),
                ],
                "winner": "P06",
                "title": "Third place",
            },
            "Third place: Alice  ½− : ½+  Zoë  → Zoë",
        ),
        ({"winner": "P01", "by_lot": True}, "Alice  –  Zoë  → Alice by lot"),
        ({"points": (6, 3), "winner": "P01"}, "Alice (6)  –  Zoë (3)"),
        ({"b": None, "alone": "bye", "points": (3, 0)}, "Alice (3): a bye"),
        ({"b": None, "alone": "rests", "points": (3, 0)}, "Alice (3): no match"),
        ({"b": None, "alone": "rests"}, "Alice: no match"),
    ],
)
def test_a_pairing_is_a_line(changes: dict[str, Any], text: str) -> None:
    assert pairing_text(pairing(**changes)) == text


def test_the_open_stages_of_a_bracket_come_first_and_the_decided_ones_after_the_results() -> None:
    now = live(view="bracket", draws_more=True, round_label="Semi-finals", advancement="P01 meets everybody once.")
    now.pairings = {
        "1.1": pairing(stage=1, label="Quarter-finals", winner="P06"),
        "2.1": pairing(stage=2, label="Semi-finals", winner="P01"),
        "3.1": pairing(stage=3),
        "4.1": pairing(stage=4, label="Beyond", a=None, b=None),
    }
    text = "\n".join(cell.text for line in render_league(now, NOW, (90, 60), PAGE, []) for cell in line)
    assert "running · even_odd · Semi-finals · 6 players" in text
    assert "Alice (P01) meets everybody once." in text
    assert "matches, and more rounds follow" in text
    assert "Final\nAlice  –  Zoë" in text
    assert "Beyond" not in text
    results = text.index("Latest results")
    assert text.index("Final\n") < results < text.index("Semi-finals\nAlice  –  Zoë  → Alice")
    assert text.index("Semi-finals\n") < text.index("Quarter-finals\nAlice  –  Zoë  → Zoë")
    assert bracket_lines(now) == [
        *("Quarter-finals", "  Alice  –  Zoë  → Zoë", ""),
        *("Semi-finals", "  Alice  –  Zoë  → Alice", ""),
        *("Final", "  Alice  –  Zoë", ""),
        *("Beyond", "  …  –  …", ""),
    ]
    assert bracket_lines(live()) == []


def test_each_challenger_is_displayed_with_what_it_made_of_each_match() -> None:
    now = live(view="challengers")
    ended, to_come = PairingGame(match_id="R1M1", marks=("½", "½")), PairingGame(match_id="R2M1")
    label = "P01 against everybody"
    now.pairings = {
        "1.1": pairing(stage=1, label=label, games=[to_come]),
        "1.2": pairing(stage=1, label=label, b=who(2), games=[ended, PairingGame(match_id="R3M1", marks=("-", "+"))]),
    }
    text = "\n".join("".join(cell.text for cell in line) for line in render_league(now, NOW, (90, 60), PAGE, []))
    assert f"Alice (P01) against everybody: 0 won, 1 drawn, 1 lost\n½−{NAMES[1]}\n·Zoë\n" in text


def test_the_tie_breaks_are_columns_in_the_order_of_the_league() -> None:
    now = live(tie_breaks=["buchholz", "sonneborn_berger", "head_to_head"], order="points, Buchholz")
    now.standings = {"P01": row(1, head_to_head=3, sonneborn_berger=4.5, buchholz=12)}
    lines = render_league(now, NOW, (120, 40), PAGE, [])
    assert [cell.text for line in lines for cell in line if cell.text in ("BH", "SB", "h2h")] == ["BH", "SB", "h2h"]
    assert "by points, Buchholz" in [cell.text for line in lines for cell in line]
