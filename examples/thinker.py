"""A player that thinks asynchronously, and no longer than it has time for: tic-tac-toe, searched to the end."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from leaguekit import Context, Player

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


async def choose(ctx: Context) -> Any:
    """The best move that is found while there is time; another game is left to chance."""
    if ctx.game_type != "tic_tac_toe":
        return ctx.random.choice(ctx.valid_options)
    board, mine = ctx.view["board"], ctx.view["your_mark"]
    best, most = ctx.valid_options[0], -2
    for cell in ctx.valid_options:
        if ctx.seconds_left < 1:
            break
        worth = -value(marked(board, cell, mine), other(mine))
        if worth > most:
            best, most = cell, worth
        # A model that is asked over the network would be awaited here.
        await asyncio.sleep(0)
    return best


@cache
def value(board: str, mark: str) -> int:
    """What a position is worth to the player who is to move: 1 for a win, 0 for a draw, -1 for a loss."""
    if any(board[a] == board[b] == board[c] == other(mark) for a, b, c in LINES):
        return -1
    free = [cell for cell in range(9) if board[cell] == "."]
    return max((-value(marked(board, cell, mark), other(mark)) for cell in free), default=0)


def marked(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]


def other(mark: str) -> str:
    return "O" if mark == "X" else "X"


player = Player("Thinker", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
