"""Tic-tac-toe: turns, free cells, lines of three, and a full board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.games.base import SIDES, Outcome, has_chance
from leaguekit.games.records import choices_of
from leaguekit.games.tic_tac_toe import LINES, TicTacToe

GAME = TicTacToe()
START = GAME.start()


def after(*cells):
    position = START
    for cell in cells:
        (side,) = GAME.to_move(position)
        assert GAME.move_error(position, side, cell) is None
        position = GAME.play(position, {side: cell})
    return position


def test_a_has_x_and_begins_and_the_sides_take_turns():
    assert [GAME.to_move(after(*range(turns))) for turns in range(4)] == [("A",), ("B",), ("A",), ("B",)]
    assert GAME.question(START, "A")[:3] == (
        "place_mark",
        [0, 1, 2, 3, 4, 5, 6, 7, 8],
        {"board": ".........", "moves": [], "your_mark": "X"},
    )
    assert GAME.question(after(4), "B")[:3] == (
        "place_mark",
        [0, 1, 2, 3, 5, 6, 7, 8],
        {"board": "....X....", "moves": [4], "your_mark": "O"},
    )


@pytest.mark.parametrize("move", [9, -1, 4, True, False, 1.0, 0.0, "0", None, [0], {"cell": 0}, 10**400])
def test_only_the_integer_of_a_free_cell_is_legal(move):
    fault = GAME.move_error(after(4), "B", move)
    assert fault is not None
    assert fault.startswith("Move must be the number of a free cell (0, 1, 2, 3, 5, 6, 7, 8), got ")


def test_the_other_side_has_to_wait():
    assert GAME.move_error(START, "B", 0) == "It is the other player's turn"
    assert GAME.move_error(after(0), "A", 1) == "It is the other player's turn"


@pytest.mark.parametrize("line", LINES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_three_in_a_line_win(line, side):
    elsewhere = [cell for cell in range(9) if cell not in line]
    # The loser's own cells must make no line; one of the ways to pick them does not.
    for loser in ([elsewhere[i] for i in picked] for picked in ((0, 1, 3), (0, 2, 3), (0, 2, 5))):
        if set(loser) not in map(set, LINES):
            break
    a, b = (line, loser[:2]) if side == "A" else (loser, line)
    end = after(*(cell for turn in range(3) for cell in (*a[turn : turn + 1], *b[turn : turn + 1])))
    mark, cells = ("X" if side == "A" else "O"), ", ".join(map(str, line))
    assert GAME.outcome(end) == Outcome(side, f"{{{side}}} has three {mark} in a line, cells {cells}")
    assert GAME.to_move(end) == ()
    assert [GAME.move_error(end, one, end.free()[0]) for one in SIDES] == ["The game is over"] * 2


def test_a_full_board_without_a_line_is_a_draw():
    end = after(0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert GAME.view(end, None)["board"] == "XOXXOOOXX"
    assert GAME.outcome(end) == Outcome(None, "The board is full and neither {A} nor {B} has three in a line")
    assert GAME.to_move(end) == ()


def test_a_line_on_the_last_cell_is_a_win_and_no_draw():
    end = after(0, 1, 2, 3, 4, 5, 7, 6, 8)
    assert end.free() == []
    assert GAME.outcome(end) == Outcome("A", "{A} has three X in a line, cells 0, 4, 8")


def test_the_board_is_open_and_each_side_is_told_its_mark():
    position = after(4, 0, 8)
    public = {"board": "O...X...X", "moves": [4, 0, 8]}
    assert GAME.view(position, None) == public
    assert GAME.view(position, "A") == public | {"your_mark": "X"}
    assert GAME.view(position, "B") == public | {"your_mark": "O"}


def test_choices_are_each_sides_cells_in_order():
    assert choices_of([]) == {"A": None, "B": None}
    assert choices_of([{"A": 4}]) == {"A": "4", "B": None}
    assert choices_of([{"A": 4}, {"B": 0}, {"A": 8}]) == {"A": "4,8", "B": "0"}


@given(st.permutations(range(9)))
def test_whatever_is_played_a_won_board_has_one_line_and_marks_in_balance(cells):
    position = START
    for cell in cells:
        if not (sides := GAME.to_move(position)):
            break
        position = GAME.play(position, {sides[0]: cell})
    board, outcome = GAME.view(position, None)["board"], GAME.outcome(position)
    marks = {"A": "X", "B": "O"}
    lined = {side for side in SIDES if any(all(board[cell] == marks[side] for cell in line) for line in LINES)}
    assert lined == ({outcome.winner} - {None})
    assert board.count("X") - board.count("O") in (0, 1)


def test_a_view_shows_the_whole_position_whatever_the_order_of_the_moves():
    seen = GAME.position(GAME.view(after(4, 0, 8, 1), "B"))
    assert seen == GAME.position(GAME.view(after(8, 1, 4, 0), None)) == (((4, 0, 8, 1)),)
    assert GAME.position(GAME.view(START, None)) == START


@pytest.mark.parametrize("board", [None, 7, "XO", "XO......?", "XX.......", "O........"])
def test_what_is_not_a_board_is_refused(board):
    with pytest.raises(ValueError, match=r"^cannot read the board"):
        GAME.position({"board": board})


def test_nothing_is_drawn_and_skill_counts():
    assert not has_chance(GAME)
    assert GAME.luck == ""
