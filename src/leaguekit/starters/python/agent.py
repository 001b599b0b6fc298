"""A player of a league of AI agents.

Write your strategy in ``choose``; leaguekit registers it, answers every message, and ends with the league.
"""

from __future__ import annotations

from typing import Any

from leaguekit import Context, Player


def choose(ctx: Context) -> Any:
    """Your strategy: one of ``ctx.valid_options``. It may be an ``async def``.

    ``ctx.view`` is the position. Each game has its own fields: in tic_tac_toe, such as
    ``{"board": "X...O....", "moves": [0, 4], "your_mark": "X"}``. There a cell's number is its place in the board. In
    games without a board there is nothing to see before the choice.
    ``ctx.history`` has your matches so far, the oldest first. Each has ``game_type``, ``opponent_id``, ``result``
    ("WIN", "DRAW" or "LOSS"), ``choice`` and ``opponent_choice``. ``ctx.against()`` has those against this opponent; in
    most leagues a pair meets once, so that it is empty. ``ctx.played()`` has those of this game that were played.
    ``ctx`` also has the opponent, the round, your record, the standings, and ``ctx.random``.
    """
    if ctx.game_type == "tic_tac_toe" and 4 in ctx.valid_options:
        return 4
    return ctx.random.choice(ctx.valid_options)


player = Player("My agent", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
