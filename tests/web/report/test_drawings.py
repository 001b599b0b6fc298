"""Pictures of games, and charts of figures."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from leaguekit.games.pictures import picture_error
from leaguekit.league.analysis.figures import Figures, figures
from leaguekit.web.report.charts import HEIGHT, MAX_COLOURED, TOP, RatingScale, points_chart
from leaguekit.web.report.drawings import drawing
from tests.league.play import Play

NAMES = {"P01": "Ada <b>", "P02": "Bob"}


def test_a_board_shows_each_cell_where_it_belongs_with_its_mark_and_its_colour() -> None:
    rows = [["X", {"text": "O", "colour": "red", "marked": True}], [{"text": "", "colour": "blue"}, "●"]]
    drawn = drawing({"kind": "grid", "rows": rows, "row_labels": ["2", "1"], "column_labels": ["a", "b"]}, NAMES)
    (svg,) = ET.fromstring(drawn)
    assert svg.get("aria-label") == "Board, row by row: X red O; blue ●"
    texts = [(one.text, one.get("class"), one.get("x"), one.get("y")) for one in svg.iter("text")]
    # The labels at the left take 14.
    assert texts[:2] == [("X", None, "30", "25"), ("O", "red", "60", "25")]
    assert [text for text, kind, _, _ in texts if kind == "label"] == ["2", "1", "a", "b"]
    rects = [(one.get("class"), one.get("x"), one.get("y")) for one in svg.iter("rect")]
    assert rects == [("board", "15", "1"), ("marked", "45", "1"), ("blue", "15", "31")]
    assert [(one.get("cx"), one.get("cy")) for one in svg.iter("circle")] == [("60", "46")]


def test_discs_and_rings_are_drawn_and_called_by_their_colours() -> None:
    rows = [[{"text": "●", "colour": "red"}, {"text": "○", "colour": "yellow", "marked": True}, "○"]]
    (svg,) = ET.fromstring(drawing({"kind": "grid", "rows": rows}, {}))
    assert svg.get("aria-label") == "Board, row by row: red yellow ○"
    assert [(one.get("class"), one.get("cx")) for one in svg.iter("circle")] == [("red", "16")]
    rings = [(one.get("class"), (one.get("d") or "").partition("a")[0]) for one in svg.iter("path")]
    assert rings[:2] == [("ring yellow", "M34.5 16"), ("ring", "M64.5 16")]
    assert not [*svg.iter("text")]


def test_chess_men_have_the_colour_of_their_side_on_every_page_and_squares_are_chequered() -> None:
    drawn = drawing({"kind": "grid", "rows": [["♔", "♟"], ["", {"text": "♜", "colour": "red"}]], "chequered": True}, {})
    (svg,) = ET.fromstring(drawn)
    assert [(one.text, one.get("class")) for one in svg.iter("text")] == [("♚", "white"), ("♟", "black"), ("♜", "red")]
    assert svg.get("aria-label") == "Board, row by row: ♔ ♟; – red ♜"
    dark, _ = svg.iter("path")
    assert (dark.get("class"), dark.get("d")) == ("dark", "M31 1h30v30h-30zM1 31h30v30h-30z")


@pytest.mark.parametrize(("text", "shown"), [("ab", "ab"), ("abcdef", "abcdef"), ("abcdefg", "abcde…")])
def test_a_long_text_of_a_cell_is_shortened_and_stays_whole_for_screen_readers(text: str, shown: str) -> None:
    (svg,) = ET.fromstring(drawing({"kind": "grid", "rows": [[text]]}, {}))
    assert [one.text for one in svg.iter("text")] == [shown]
    assert svg.get("aria-label") == f"Board, row by row: {text}"


def test_cards_that_lie_face_down_show_nothing_and_players_are_named() -> None:
    hands = [{"label": "P01", "cards": ["K♥", None]}, {"label": "pot", "cards": []}]
    root = ET.fromstring(drawing({"kind": "cards", "hands": hands, "caption": "P02 bets"}, NAMES))
    assert ["".join(one.itertext()) for one in root.iter("dt")] == ["Ada <b> (P01)", "pot"]
    assert [(one.get("class"), "".join(one.itertext())) for one in root.iter("span")] == [
        ("face red", "K♥"),
        ("back", ""),
    ]
    assert "".join(root[-1].itertext()) == "Bob (P02) bets"


@pytest.mark.parametrize(
    "picture",
    [
        {"kind": "grid", "rows": [["<script>", '"'], ["&", "\x00"]], "row_labels": ["<", ">"], "caption": "<i>"},
        {"kind": "cards", "hands": [{"label": "<b>", "cards": ["<img src=x>"]}]},
        {"kind": "text", "text": "<pre>\n</pre><script>\u202e"},
    ],
)
def test_texts_in_a_picture_are_never_markup(picture: dict[str, Any]) -> None:
    assert picture_error(picture) is None
    drawn = drawing(picture, {})
    ET.fromstring(drawn)
    assert not re.search("<(script|img|b|i)>|\u202e", drawn)


def test_lines_of_text_stay_lines() -> None:
    (pre,) = ET.fromstring(drawing({"kind": "text", "text": "a\n  b"}, {}))
    assert pre.text == "a\n  b"


@pytest.fixture
def ten() -> Figures:
    return figures(Play(players=10, referees=2).begin().play_all().league)


def test_the_chart_has_a_line_a_player_and_the_first_in_colours(ten: Figures) -> None:
    root = ET.fromstring(points_chart(ten))
    lines = list(root.iter("polyline"))
    assert len(lines) == 10
    assert all(len((line.get("points") or "").split()) == 1 + ten.rounds for line in lines)
    labels = [one.text for one in root.iter("text") if (one.get("class") or "").startswith("label")]
    assert labels == [line.display_name for line in reversed(ten.lines[:MAX_COLOURED])]
    heights = sorted(float(one.get("y") or 0) for one in root.iter("text") if one.text in labels)
    assert all(below - above >= 18 for above, below in itertools.pairwise(heights))
    places = [tuple(map(float, place.split(","))) for line in lines for place in (line.get("points") or "").split()]
    assert all(TOP <= y <= HEIGHT for _, y in places)


def test_a_long_name_is_cut_off_in_the_chart(ten: Figures) -> None:
    first = msgspec.structs.replace(ten.lines[0], display_name="<b>a very long name</b>")
    chart = points_chart(msgspec.structs.replace(ten, lines=[first, *ten.lines[1:]]))
    labels = [one.text for one in ET.fromstring(chart).iter("text")]
    assert "<b>a very lon…" in labels


def test_ratings_are_drawn_on_one_scale(ten: Figures) -> None:
    scale = RatingScale(ten.lines)
    assert scale.low <= min(line.rating_low or 0 for line in ten.lines)
    assert scale.high >= max(line.rating_high or 0 for line in ten.lines)
    for line in ten.lines:
        at = re.search(r'class="at" d="M([\d.]+) ', scale.bar(line))
        assert at is not None
        expected = 100 * ((line.rating or 0) - scale.low) / (scale.high - scale.low)
        assert float(at[1]) == pytest.approx(expected, abs=0.06)


def test_before_anything_is_played_there_is_nothing_to_draw() -> None:
    nothing = figures(Play(players=2, referees=1).begin().league)
    assert [RatingScale(nothing.lines).bar(line) for line in nothing.lines] == ["", ""]
    assert len(list(ET.fromstring(points_chart(nothing)).iter("polyline"))) == 2
