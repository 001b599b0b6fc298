"""Connect four: A is red and begins; the sides drop a disc into a column in turn; four in a line win.

Columns are numbered 1 to 7 from the left. A board is its six rows from the top, each with seven cells. ``R`` is a disc
of A, ``Y`` is one of B, and ``.`` is free.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from leaguekit.games.base import SIDES, Game, Knowledge, Moves, Outcome, Question, Side, turn_error
from leaguekit.games.pictures import DISC, RING, Colour, Picture, cell

COLUMNS, ROWS = 7, 6
DISCS: dict[Side, str] = {"A": "R", "B": "Y"}
FREE = "."
# How each is drawn. Without colours, discs and rings are different, too.
PIECES: dict[str, tuple[str, Colour | None]] = {"R": (DISC, "red"), "Y": (RING, "yellow"), FREE: ("", None)}
# A cell is a bit: column by column from the left, and from the bottom up. Each column has one bit more than it has
# cells, which is never set, so that lines do not run from one column into the next one.
HEIGHT = ROWS + 1
PLACES = [column * HEIGHT for column in range(COLUMNS)]
COLUMN = (1 << ROWS) - 1
TOP = [1 << column * HEIGHT + ROWS - 1 for column in range(COLUMNS)]
BOTTOM = [1 << column * HEIGHT for column in range(COLUMNS)]
CELLS = sum(COLUMN << place for place in PLACES)
# Steps from a cell to the next one of a line: up, along a row, and along both diagonals.
STEPS = (1, HEIGHT, HEIGHT - 1, HEIGHT + 1)


class Position(NamedTuple):
    """The discs of the side that moves, and of the other one, as bits; the turns played."""

    mine: int = 0
    theirs: int = 0
    turn: int = 0

    def columns(self) -> list[int]:
        """The columns that are not full."""
        discs = self.mine | self.theirs
        return [column for column, top in enumerate(TOP, start=1) if not discs & top]

    def board(self) -> list[str]:
        a, b = (self.mine, self.theirs) if self.turn % 2 == 0 else (self.theirs, self.mine)
        columns = [_column_text(a >> place & COLUMN, b >> place & COLUMN) for place in PLACES]
        return ["".join(row) for row in zip(*columns, strict=True)]


@cache
def _column_text(a: int, b: int) -> str:
    """The cells of a column from the top, by the bits of both sides."""
    return "".join(["R" if a >> row & 1 else "Y" if b >> row & 1 else FREE for row in reversed(range(ROWS))])


def line_in(discs: int) -> int:
    """The bits of four discs in a line, or of more; 0 if there is no line."""
    for step in STEPS:
        pairs = discs & discs >> step
        if four := pairs & pairs >> 2 * step:
            return four | four << step | four << 2 * step | four << 3 * step
    return 0


class ConnectFour(Game[Position]):
    """Played turn by turn on an open board."""

    name = "connect_four"
    max_turns = COLUMNS * ROWS

    def start(self) -> Position:
        return Position()

    def to_move(self, position: Position) -> tuple[Side, ...]:
        if position.turn == self.max_turns or line_in(position.theirs):
            return ()
        return (SIDES[position.turn % 2],)

    def question(self, position: Position, side: Side) -> Question:
        return Question("drop_disc", position.columns(), self.view(position, side))

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(self.to_move(position), side)) is not None:
            return error
        columns = position.columns()
        if type(move) is int and move in columns:
            return None
        return f"Move must be a column that is not full ({', '.join(map(str, columns))}), got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:
        mine, theirs, turn = position
        (column,) = moves.values()
        # Adding to the lowest cell of a column carries to its lowest free one.
        discs = mine | theirs
        return Position(theirs, mine | (discs + BOTTOM[column - 1] & ~discs), turn + 1)

    def outcome(self, position: Position) -> Outcome | None:
        if line := line_in(position.theirs):
            winner = SIDES[1 - position.turn % 2]
            columns = [column for column, place in enumerate(PLACES, start=1) if line >> place & COLUMN]
            where = f"column {columns[0]}" if len(columns) == 1 else f"columns {columns[0]} to {columns[-1]}"
            return Outcome(winner, f"{{{winner}}} has four in a line, in {where}")
        if position.turn == self.max_turns:
            return Outcome(None, "The board is full and neither {A} nor {B} has four in a line")
        return None

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:
        public: dict[str, Any] = {"board": position.board()}
        return public if side is None else public | {"your_disc": DISCS[side]}

    def picture(self, view: dict[str, Any]) -> Picture:
        position = self.position(view)
        line, columns = line_in(position.theirs), range(1, COLUMNS + 1)
        rows = [
            [
                cell(*PIECES[disc], marked=bool(line >> place + row & 1))
                for place, disc in zip(PLACES, discs, strict=True)
            ]
            for row, discs in zip(reversed(range(ROWS)), view["board"], strict=True)
        ]
        to_move = "".join(f"; {{{side}}} moves" for side in self.to_move(position))
        return {
            "kind": "grid",
            "rows": rows,
            "moves": [[*columns]] * ROWS,
            "column_labels": [str(column) for column in columns],
            "caption": f"{{A}} has red {DISC}, {{B}} has yellow {RING}{to_move}",
        }

    def move_rater(self, known: Knowledge) -> Callable[[Any], float]:
        """Win, else block, else do not let the opponent win on top of this disc, else play near the centre."""
        position = self.position(known.view)
        discs = position.mine | position.theirs

        def worth(column: Any) -> float:
            disc = discs + BOTTOM[column - 1] & ~discs
            if line_in(position.mine | disc):
                return 3
            if line_in(position.theirs | disc):
                return 2
            central = 1 - abs(column - (COLUMNS + 1) / 2) / COLUMNS
            return float(central - (line_in(position.theirs | disc << 1 & CELLS) > 0))

        return worth

    def position(self, view: dict[str, Any]) -> Position:
        board = view.get("board")
        bits = dict.fromkeys((*DISCS.values(), FREE), 0)
        if not (isinstance(board, list) and len(board) == ROWS and all(map(_is_row, board))):
            why = f"it must be {ROWS} texts of {COLUMNS} characters, each R, Y or ., the top row first"
            raise ValueError(f"cannot read the board {reprlib.repr(board)}: {why}")
        for row, discs in zip(reversed(range(ROWS)), board, strict=True):
            for place, disc in zip(PLACES, discs, strict=True):
                bits[disc] |= 1 << place + row
        a, b = bits["R"], bits["Y"]
        turn = (a | b).bit_count()
        reds, yellows = a.bit_count(), b.bit_count()
        if reds - yellows not in (0, 1):
            why = f"R began, so there must be as many R as Y, or one more; there are {reds} R and {yellows} Y"
            raise ValueError(f"cannot read the board {reprlib.repr(board)}: {why}")
        # In each column the discs are the lowest bits.
        if ((a | b) + sum(BOTTOM)) & (a | b):
            raise ValueError(f"cannot read the board {reprlib.repr(board)}: a disc is above a free cell")
        return Position(a, b, turn) if turn % 2 == 0 else Position(b, a, turn)


def _is_row(row: Any) -> bool:
    return isinstance(row, str) and len(row) == COLUMNS and set(row) <= {*DISCS.values(), FREE}
