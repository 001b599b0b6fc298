"""Classic strategies of the prisoner's dilemma, for ``league simulate --strategies`` and as an agent of your own.

``ctx.view`` has what both sides did in this match: ``{"turns": 50, "played": 3, "you": "CCD", "opponent": "CDC"}``.
In other games they move at random.

league simulate --game prisoners_dilemma --strategies classics:tit_for_tat,classics:grudger,classics:pavlov,always_D
"""

from __future__ import annotations

from typing import Any

from leaguekit import Context, Player


def tit_for_tat(ctx: Context) -> Any:
    """Cooperate at first, and then do what the opponent did last."""
    return move(ctx, opponent_of(ctx)[-1:] or "C")


def suspicious_tit_for_tat(ctx: Context) -> Any:
    """The same, but defect at first."""
    return move(ctx, opponent_of(ctx)[-1:] or "D")


def tit_for_two_tats(ctx: Context) -> Any:
    """Defect only if the opponent has defected twice in a row."""
    return move(ctx, "D" if opponent_of(ctx)[-2:] == "DD" else "C")


def generous_tit_for_tat(ctx: Context) -> Any:
    """Tit for tat that forgives one defection in three."""
    return move(ctx, "D" if opponent_of(ctx)[-1:] == "D" and ctx.random.random() > 1 / 3 else "C")


def grudger(ctx: Context) -> Any:
    """Cooperate until the opponent defects, and never again."""
    return move(ctx, "D" if "D" in opponent_of(ctx) else "C")


def pavlov(ctx: Context) -> Any:
    """Win, stay; lose, shift: cooperate at first, and after both have done the same."""
    return move(ctx, "C" if ctx.view.get("you", "")[-1:] == opponent_of(ctx)[-1:] else "D")


def cooperator(ctx: Context) -> Any:
    """Always cooperate."""
    return move(ctx, "C")


def defector(ctx: Context) -> Any:
    """Always defect."""
    return move(ctx, "D")


def opponent_of(ctx: Context) -> str:
    """What the opponent did in this match. Empty in another game."""
    return str(ctx.view.get("opponent", ""))


def move(ctx: Context, wanted: str) -> Any:
    """The move that is wanted, or a random one in another game."""
    return wanted if wanted in ctx.valid_options else ctx.random.choice(ctx.valid_options)


choose = tit_for_tat
player = Player("Tit for tat", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
