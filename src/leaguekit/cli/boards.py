"""Draws the boards of games for the terminal, as cells. A game without a board here is shown by its moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaguekit.cli.screen import Cell
from leaguekit.cli.tables import with_ltr_mark
from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, asked
from leaguekit.league.records import Outcome
from leaguekit.web.api_types import InPlay, Live, MatchRow

# The number of columns of a game's board, and the marks of the sides.
_COLUMNS = {"tic_tac_toe": 3}
_MARKS = {"X": "lively", "O": "warning"}
# A board and the text at its right.
WIDTH, HEIGHT = 38, 5
_TEXT = 13
Lines = list[list[Cell]]


def draw_boards(live: Live, start: int, end: int, available: int) -> Lines:
    """The boards of the latest round, as many as fit into half of the lines. Matches in play come first."""
    matches: list[InPlay | MatchRow] = [*live.playing.values(), *live.results.values()]
    latest = max([match.round_id for match in matches], default=0)
    in_round = [match for match in matches if match.round_id == latest]
    boards = [(match, view) for match in in_round if (view := _position(live, match))]
    columns, rows = (end - start) // WIDTH, max(1, available // 2 // (HEIGHT + 1))
    chosen = sorted(boards[: columns * rows], key=lambda board: board[0].match_id)
    lines: Lines = []
    for first in range(0, len(chosen), max(1, columns)):
        row: Lines = [[] for _ in range(HEIGHT)]
        for number, (match, view) in enumerate(chosen[first : first + columns]):
            for line, cells in zip(row, _draw(live, match, view, start + number * WIDTH), strict=True):
                line.extend(cells)
        lines += [*([[]] if lines else []), *row]
    return lines


def _position(live: Live, match: InPlay | MatchRow) -> dict[str, Any] | None:
    """The position of a match, if it can be drawn. It may come from a referee that is not ours."""
    game = GAMES.get(live.league.game_type)
    if game is None or game.name not in _COLUMNS:
        return None
    if isinstance(match, MatchRow):
        from leaguekit.web.matches import game_steps

        choices = match.choices or (None, None)
        steps = game_steps(game.name, Outcome(0, 0, *choices, match.drawn_number, None, None))
        return steps[-1].view if steps else None
    try:
        return match.position if match.position and game.position(match.position) is not None else None
    except ValueError:
        return None


def _draw(live: Live, match: InPlay | MatchRow, view: dict[str, Any], at: int) -> Iterator[list[Cell]]:
    """The lines of a board, and beside it the match, its players, and which of them moves or has won."""
    game = GAMES[live.league.game_type]
    names = {side: with_ltr_mark(one.name) for side, one in zip(SIDES, (match.a, match.b), strict=True)}
    if isinstance(match, MatchRow):
        winner = next((one for one in (match.a, match.b) if one.id == match.winner), None)
        now = Cell(at + _TEXT, "draw" if winner is None else f"{with_ltr_mark(winner.name)} wins", "good")
    else:
        sides = asked(game, game.position(view))
        now = Cell(at + _TEXT, f"{' and '.join(names[side] for side in sides)} to move" if sides else "", "dim")
    marks = [Cell(at + _TEXT, mark, style) for mark, style in _MARKS.items()]
    texts = [
        [Cell(at + _TEXT, match.match_id, "bold")],
        *([mark, Cell(at + _TEXT + 2, names[side])] for mark, side in zip(marks, SIDES, strict=True)),
        [],
        [now],
    ]
    columns = _COLUMNS[game.name]
    for number, text in enumerate(texts):
        row, is_line = divmod(number, 2)
        if is_line:
            yield [Cell(at, "┼".join(["───"] * columns), "dim"), *text]
            continue
        cells: list[Cell] = []
        for column, mark in enumerate(view["board"][row * columns : (row + 1) * columns]):
            cells.append(Cell(at + 4 * column + 1, mark if mark in _MARKS else "·", _MARKS.get(mark, "dim")))
            if column + 1 < columns:
                cells.append(Cell(at + 4 * column + 3, "│", "dim"))
        yield [*cells, *text]
