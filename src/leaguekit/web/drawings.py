"""Drawings of games as SVG, from their plain views. The colours come from the page's style sheet.

A game without a drawing here is shown by its moves. The views are made by our own games when a result is replayed. A
view with unexpected content has no drawing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_CELL = 30
# The grid and the two marks. A page contains them once.
SYMBOLS = (
    '<svg class="symbols" aria-hidden="true"><symbol id="ttt-grid" viewBox="0 0 90 90">'
    '<path d="M30 3V87M60 3V87M3 30H87M3 60H87"/></symbol>'
    '<symbol id="ttt-X" viewBox="0 0 30 30"><path d="M8 8 22 22M22 8 8 22"/></symbol>'
    '<symbol id="ttt-O" viewBox="0 0 30 30"><circle cx="15" cy="15" r="8"/></symbol></svg>'
)


def drawing(game_type: str, view: dict[str, Any]) -> str | None:
    """A public view of a position; None if there is no drawing of it. The page must contain ``SYMBOLS`` once."""
    draw = _DRAWINGS.get(game_type)
    return None if draw is None else draw(view)


def _tic_tac_toe(view: dict[str, Any]) -> str | None:
    """The board, each mark with the number of its move."""
    board, moves = view.get("board"), view.get("moves")
    if not isinstance(board, str) or len(board) != 9 or not isinstance(moves, list):
        return None
    marks = []
    for number, cell in enumerate(moves, start=1):
        x, y = cell % 3 * _CELL, cell // 3 * _CELL
        mark = "X" if board[cell] == "X" else "O"
        marks.append(
            f'<use href="#ttt-{mark}" class="{mark}" x="{x}" y="{y}" width="30" height="30"/>'
            f'<text x="{x + 25}" y="{y + 27}">{number}</text>'
        )
    rows = ", ".join(" ".join(board[start : start + 3].replace(".", "-")) for start in (0, 3, 6))
    grid = '<use href="#ttt-grid" width="90" height="90"/>'
    return f'<svg class="board" viewBox="0 0 90 90" role="img" aria-label="board: {rows}">{grid}{"".join(marks)}</svg>'


def _even_odd(view: dict[str, Any]) -> str | None:
    """The number that was drawn."""
    number, parity = view.get("number"), view.get("parity")
    if not isinstance(number, int) or parity not in ("even", "odd"):
        return None
    return (
        f'<svg class="number {parity}" viewBox="0 0 40 40" role="img" aria-label="number {number}, {parity}">'
        f'<rect x="2" y="2" width="36" height="36" rx="8"/><text x="20" y="27">{number}</text></svg>'
    )


_DRAWINGS: dict[str, Callable[[dict[str, Any]], str | None]] = {"tic_tac_toe": _tic_tac_toe, "even_odd": _even_odd}
