"""Connect four: discs fall, lines in every direction, a full board, and boards that cannot be."""

from __future__ import annotations

import re
from typing import Any

import pytest

from leaguekit.games.base import SIDES, Outcome
from leaguekit.games.connect_four import ConnectFour, line_in
from leaguekit.player.context import Context
from leaguekit.player.strategies import STRATEGIES

GAME = ConnectFour()


def after(*columns):
    position = GAME.start()
    for column in columns:
        (side,) = GAME.to_move(position)
        assert GAME.move_error(position, side, column) is None
        position = GAME.play(position, {side: column})
    return position


def chosen(name, *columns):
    """The column that a strategy chooses after these."""
    position = after(*columns)
    (side,) = GAME.to_move(position)
    question = GAME.question(position, side)
    return STRATEGIES[name](Context(game_type=GAME.name, valid_options=question.valid_options, view=question.context))


def test_discs_fall_onto_each_other() -> None:
    assert GAME.view(after(4, 4, 1), None) == {"board": [*["......."] * 4, "...Y...", "R..R..."]}


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ((1, 1, 2, 2, 3, 3, 4), "columns 1 to 4"),
        ((7, 2, 7, 2, 7, 2, 7), "column 7"),
        ((1, 2, 2, 3, 3, 4, 3, 4, 4, 7, 4), "columns 1 to 4"),
        ((4, 3, 3, 2, 2, 1, 2, 1, 1, 7, 1), "columns 1 to 4"),
    ],
)
def test_four_in_a_line_win_in_every_direction(columns, where) -> None:
    end = after(*columns)
    assert GAME.outcome(end) == Outcome("A", f"{{A}} has four in a line, in {where}")
    assert GAME.move_error(end, "B", 1) == "The game is over"
    assert GAME.to_move(end) == ()
    marked = [cell for row in GAME.picture(GAME.view(end, None))["rows"] for cell in row if isinstance(cell, dict)]
    assert sum(cell.get("marked", False) for cell in marked) == 4


def test_a_picture_says_whose_discs_are_whose_and_who_moves() -> None:
    caption = "{A} has red ●, {B} has yellow ○"
    positions = [after(*columns) for columns in ((), (4,), (1, 2, 1, 2, 1, 2, 1))]
    assert [GAME.picture(GAME.view(one, None))["caption"] for one in positions] == [
        f"{caption}; {{A}} moves",
        f"{caption}; {{B}} moves",
        caption,
    ]


def test_each_cell_of_a_picture_stands_for_its_column_and_the_discs_differ_in_colour_and_in_form() -> None:
    picture = GAME.picture(GAME.view(after(4, 4, 1), "B"))
    assert picture["rows"][-2:] == [
        ["", "", "", {"text": "○", "colour": "yellow"}, "", "", ""],
        [{"text": "●", "colour": "red"}, "", "", {"text": "●", "colour": "red"}, "", "", ""],
    ]
    assert picture["moves"] == [[1, 2, 3, 4, 5, 6, 7]] * 6


def test_a_full_column_is_not_offered() -> None:
    full = after(*[1] * 6)
    assert GAME.question(full, "A").valid_options == [2, 3, 4, 5, 6, 7]
    assert GAME.move_error(full, "A", 1) == "Move must be a column that is not full (2, 3, 4, 5, 6, 7), got 1"
    assert GAME.move_error(full, "A", True) is not None


def test_a_view_shows_the_whole_position() -> None:
    for position in (GAME.start(), after(4, 4, 1), after(*[1] * 6)):
        assert [GAME.position(GAME.view(position, side)) for side in (*SIDES, None)] == [position] * 3


NOT_TEXTS = "it must be 6 texts of 7 characters, each R, Y or ., the top row first"


@pytest.mark.parametrize(
    ("board", "why"),
    [
        *((board, NOT_TEXTS) for board in (None, [], ["......."] * 5, ["x......"] * 6)),
        ([*["......."] * 5, "YY....."], "R began, so there must be as many R as Y, or one more; there are 0 R and 2 Y"),
        (["R......", *["......."] * 5], "a disc is above a free cell"),
    ],
)
def test_what_is_not_a_board_is_refused_with_the_reason(board: Any, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^cannot read the board .*: {re.escape(why)}$"):
        GAME.position({"board": board})


def test_a_full_board_without_a_line_is_a_draw() -> None:
    # Three pairs of columns in which the discs alternate, and a last column.
    rows = (1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2)
    pairs = [column + first for first in (0, 2, 4) for column in rows]
    end = after(*pairs, *[7] * 6)
    assert GAME.outcome(end) == Outcome(None, "The board is full and neither {A} nor {B} has four in a line")
    assert GAME.to_move(end) == ()


def test_a_line_does_not_run_on_in_the_next_column() -> None:
    assert line_in(0b1110 << 2 | 1 << 7) == 0


@pytest.mark.parametrize("name", ["frequency", "search"])
def test_who_can_win_wins_and_else_stops_the_opponent(name) -> None:
    assert chosen(name, 1, 2, 1, 2, 1, 2) == 1
    assert chosen(name, 1, 2, 1, 2, 1) == 1


@pytest.mark.parametrize("name", ["frequency", "search"])
def test_nobody_prepares_the_cell_with_which_the_opponent_wins(name) -> None:
    # B has three in the second row, in columns 1 to 3. Nothing is in column 4 yet.
    assert chosen(name, 1, 1, 2, 2, 3, 3, 7, 4, 6, 7, 6, 5) != 5


def test_search_makes_two_threats_at_once() -> None:
    # In the lowest row, with both ends free.
    assert chosen("search", 4, 4, 3, 3) in (2, 5)
