"""Connect four: discs fall, lines in every direction, a full board, and boards that cannot be."""

from __future__ import annotations

import pytest

from leaguekit.games.base import SIDES
from leaguekit.games.connect_four import ConnectFour
from leaguekit.games.testing import check_game

GAME = ConnectFour()


def after(*columns):
    position = GAME.start()
    for column in columns:
        (side,) = GAME.to_move(position)
        assert GAME.fault(position, side, column) is None
        position = GAME.play(position, {side: column})
    return position


def test_it_keeps_the_rules_of_games() -> None:
    check_game(GAME, seeds=range(2))


def test_discs_fall_onto_each_other() -> None:
    assert GAME.view(after(4, 4, 1), None) == {"board": [*["......."] * 4, "...Y...", "R..R..."], "last_column": 1}


@pytest.mark.parametrize(
    "columns",
    [
        (1, 1, 2, 2, 3, 3, 4),
        (1, 2, 1, 2, 1, 2, 1),
        (1, 2, 2, 3, 3, 4, 3, 4, 4, 7, 4),
        (4, 3, 3, 2, 2, 1, 2, 1, 1, 7, 1),
    ],
)
def test_four_in_a_line_win_in_every_direction(columns) -> None:
    end = after(*columns)
    assert GAME.outcome(end).winner == "A"
    assert GAME.to_move(end) == ()
    marked = [cell for row in GAME.picture(GAME.view(end, None))["rows"] for cell in row if isinstance(cell, dict)]
    assert sum(cell.get("marked", False) for cell in marked) == 4


def test_a_full_column_is_not_offered() -> None:
    full = after(*[1] * 6)
    assert GAME.question(full, "A").valid_options == [2, 3, 4, 5, 6, 7]
    assert GAME.fault(full, "A", 1) == "Move must be a column that is not full (2, 3, 4, 5, 6, 7), got 1"
    assert GAME.fault(full, "A", True) is not None


def test_a_view_shows_the_whole_position() -> None:
    for position in (GAME.start(), after(4, 4, 1), after(*[1] * 6)):
        assert [GAME.position(GAME.view(position, side)) for side in (*SIDES, None)] == [position] * 3


@pytest.mark.parametrize(
    "board", [None, [], ["......."] * 5, [*["......."] * 5, "YY....."], ["R......", *["......."] * 5], ["x......"] * 6]
)
def test_what_is_not_a_board_is_refused(board) -> None:
    with pytest.raises(ValueError, match="^cannot read the board"):
        GAME.position({"board": board})
