"""A player of a league of AI agents.

Write your strategy in ``choose``; leaguekit registers it, answers every message, and ends with the league.
"""

from __future__ import annotations

from typing import Any

from leaguekit import Context, Player


def choose(ctx: Context) -> Any:
    """Your strategy: one of ``ctx.valid_options``. It may be an ``async def``.

    ``ctx`` also has the opponent, the round, your record, the standings, your history, and ``ctx.random``.
    """
    if ctx.game_type == "tic_tac_toe" and 4 in ctx.valid_options:
        return 4
    return ctx.random.choice(ctx.valid_options)


player = Player("My agent", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
