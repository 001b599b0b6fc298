"""Games drawn from their plain views, and charts of figures; and views that are not as expected."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from leaguekit.games import GAMES
from leaguekit.league.figures import Figures, figures
from leaguekit.web.charts import HEIGHT, MAX_COLOURED, TOP, RatingScale, points_chart
from leaguekit.web.drawings import SYMBOLS, drawing
from tests.league.play import Play


def test_a_board_shows_each_mark_with_the_number_of_its_move() -> None:
    game = GAMES["tic_tac_toe"]
    position = game.start()
    for side, cell in (("A", 4), ("B", 0), ("A", 8)):
        position = game.play(position, {side: cell})
    drawn = drawing("tic_tac_toe", game.view(position, None))
    assert drawn is not None
    root = ET.fromstring(drawn)
    marks = [(one.get("href"), one.get("x"), one.get("y")) for one in root.iter("use")][1:]
    assert marks == [("#ttt-X", "30", "30"), ("#ttt-O", "0", "0"), ("#ttt-X", "60", "60")]
    assert [one.text for one in root.iter("text")] == ["1", "2", "3"]
    assert root.get("aria-label") == "board: O - -, - X -, - - X"
    for name in {mark for mark, _, _ in marks}:
        assert f'id="{(name or "")[1:]}"' in SYMBOLS


def test_the_number_of_even_odd_is_shown_once_it_is_drawn() -> None:
    game = GAMES["even_odd"]
    hidden = game.play(game.start(), {"chance": 7})
    assert drawing("even_odd", game.view(hidden, None)) is None
    drawn = drawing("even_odd", game.view(game.play(hidden, {"A": "odd", "B": "even"}), None))
    assert drawn is not None
    assert ET.fromstring(drawn).get("aria-label") == "number 7, odd"


@pytest.mark.parametrize(
    ("game", "view"),
    [
        ("rock_paper_scissors", {"choices": {"A": "rock", "B": "paper"}}),
        ("chess", {"board": "........."}),
        ("tic_tac_toe", {}),
        ("tic_tac_toe", {"board": "XO", "moves": []}),
        ("tic_tac_toe", {"board": ".........", "moves": "0"}),
        ("even_odd", {"number": "<b>", "parity": "odd"}),
        ("even_odd", {"number": 3, "parity": "<b>"}),
    ],
)
def test_what_cannot_be_drawn_has_no_drawing(game: str, view: dict[str, Any]) -> None:
    assert drawing(game, view) is None


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
