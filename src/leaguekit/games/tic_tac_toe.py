"""Tic-tac-toe: A has X and begins, the sides mark free cells in turn, and three in a line win.

Cells are numbered 0 to 8, row by row from the top left. A board is their nine marks, with ``.`` for a free cell.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

from leaguekit.games.base import SIDES, Game, Knowledge, Moves, Outcome, Question, Side, turn_error
from leaguekit.games.pictures import Picture

MARKS: dict[Side, str] = {"A": "X", "B": "O"}
FREE = "."
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class Position(NamedTuple):
    """The marked cells, in the order of the moves."""

    moves: tuple[int, ...] = ()

    def free(self) -> list[int]:
        return [cell for cell in range(9) if cell not in self.moves]

    def board(self) -> str:
        cells = [FREE] * 9
        for turn, cell in enumerate(self.moves):
            cells[cell] = MARKS[SIDES[turn % 2]]
        return "".join(cells)

    def won(self) -> tuple[Side, tuple[int, ...]] | None:
        """The side that has three in a line, and the line; None if no side has."""
        board = self.board()
        for line in LINES:
            first, second, third = line
            if board[first] == board[second] == board[third] != FREE:
                return ("A" if board[first] == MARKS["A"] else "B"), line
        return None


class TicTacToe(Game[Position]):
    """Played turn by turn on an open board."""

    name = "tic_tac_toe"
    max_turns = 9

    def start(self) -> Position:
        return Position()

    def to_move(self, position: Position) -> tuple[Side, ...]:
        if self.outcome(position) is not None:
            return ()
        return (SIDES[len(position.moves) % 2],)

    def question(self, position: Position, side: Side) -> Question:
        return Question("place_mark", position.free(), self.view(position, side))

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(self.to_move(position), side)) is not None:
            return error
        # Python treats True and 1.0 as equal to 1; the rules do not.
        if type(move) is int and move in position.free():
            return None
        free = ", ".join(map(str, position.free()))
        return f"Move must be the number of a free cell ({free}), got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:
        return Position((*position.moves, *moves.values()))

    def outcome(self, position: Position) -> Outcome | None:
        if (won := position.won()) is not None:
            winner, line = won
            cells = ", ".join(map(str, line))
            return Outcome(winner, f"{{{winner}}} has three {MARKS[winner]} in a line, cells {cells}")
        if not position.free():
            return Outcome(None, "The board is full and neither {A} nor {B} has three in a line")
        return None

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:
        public: dict[str, Any] = {"board": position.board(), "moves": [*position.moves]}
        return public if side is None else public | {"your_mark": MARKS[side]}

    def picture(self, view: dict[str, Any]) -> Picture:
        won = self.position(view).won()
        marked = view.get("moves", [])[-1:] if won is None else won[1]
        cells = [{"text": mark.strip(FREE), "marked": number in marked} for number, mark in enumerate(_board(view))]
        rows, moves = ([row[:3], row[3:6], row[6:]] for row in (cells, [*range(9)]))
        return {"kind": "grid", "rows": rows, "moves": moves, "caption": "{A} has X, {B} has O"}

    def move_rater(self, known: Knowledge) -> Callable[[Any], float]:
        """Win, else block, else take the centre, else a corner."""
        board, mine = _board(known.view), known.view.get("your_mark")

        def worth(cell: Any) -> int:
            pairs = [{board[other] for other in line if other != cell} for line in LINES if cell in line]
            complete = [pair for pair in pairs if len(pair) == 1 and FREE not in pair]
            if {mine} in complete:
                return 4
            if complete:
                return 3
            return {4: 2, 0: 1, 2: 1, 6: 1, 8: 1}.get(cell, 0)

        return worth

    def position(self, view: dict[str, Any]) -> Position:
        board = _board(view)
        marked = {side: [cell for cell in range(9) if board[cell] == mark] for side, mark in MARKS.items()}
        if not 0 <= len(marked["A"]) - len(marked["B"]) <= 1:
            raise ValueError(f"cannot read the board {board!r}")
        # The order in which the cells were marked does not matter any more.
        return Position(tuple(marked[SIDES[turn % 2]][turn // 2] for turn in range(9 - board.count(FREE))))


def _board(view: dict[str, Any]) -> str:
    """The board in a view, which may come from another program."""
    board = view.get("board")
    if not (isinstance(board, str) and len(board) == 9 and set(board) <= {FREE, *MARKS.values()}):
        raise ValueError(f"cannot read the board {reprlib.repr(board)}")
    return board
