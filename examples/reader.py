"""A player that learns: it expects of each opponent what that opponent has done most so far, and answers it.

In most leagues every pair meets once. Of a new opponent the player expects what all others have done most.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from leaguekit import Context, Player

BEATEN_BY = {"rock": "paper", "paper": "scissors", "scissors": "rock"}


def choose(ctx: Context) -> Any:
    """Answer what the opponent will probably do; without any idea, do something."""
    seen = Counter(match.opponent_choice for match in ctx.against() or ctx.played() if match.opponent_choice)
    if not seen:
        return ctx.random.choice(ctx.valid_options)
    expected = seen.most_common(1)[0][0]
    if ctx.game_type == "rock_paper_scissors":
        return BEATEN_BY[expected]
    if ctx.game_type == "even_odd":
        # A player that chooses the same can only draw.
        return "odd" if expected == "even" else "even"
    return ctx.random.choice(ctx.valid_options)


player = Player("Reader", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
