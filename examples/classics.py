"""Classic strategies of the prisoner's dilemma, for ``league simulate --strategies`` and as an agent of your own.

``ctx.view`` has what both sides did so far in this match: ``{"turns": 50, "played": 3, "you": "CCD", "opponent": "CDC"}``.
In other games they move at random.

league simulate --game prisoners_dilemma --strategies classics:tit_for_tat,classics:grudger,classics:pavlov,always_D
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leaguekit import Context, Player


def tit_for_tat(ctx: Context) -> Any:
    """Cooperate at first, and then do what the opponent did last."""
    return play(ctx, lambda you, opponent: opponent[-1:] or "C")


def suspicious_tit_for_tat(ctx: Context) -> Any:
    """The same, but defect at first."""
    return play(ctx, lambda you, opponent: opponent[-1:] or "D")


def tit_for_two_tats(ctx: Context) -> Any:
    """Defect only if the opponent has defected twice in a row."""
    return play(ctx, lambda you, opponent: "D" if opponent[-2:] == "DD" else "C")


def generous_tit_for_tat(ctx: Context) -> Any:
    """Tit for tat that forgives one defection in three."""
    return play(ctx, lambda you, opponent: "D" if opponent[-1:] == "D" and ctx.random.random() > 1 / 3 else "C")


def grudger(ctx: Context) -> Any:
    """Cooperate until the opponent defects, and never again."""
    return play(ctx, lambda you, opponent: "D" if "D" in opponent else "C")


def pavlov(ctx: Context) -> Any:
    """Win, stay; lose, shift: cooperate at first, and after both have done the same."""
    return play(ctx, lambda you, opponent: "C" if you[-1:] == opponent[-1:] else "D")


def cooperator(ctx: Context) -> Any:
    """Always cooperate."""
    return play(ctx, lambda you, opponent: "C")


def defector(ctx: Context) -> Any:
    """Always defect."""
    return play(ctx, lambda you, opponent: "D")


def play(ctx: Context, answer: Callable[[str, str], str]) -> Any:
    """The answer to what both did so far; a random move in another game."""
    if ctx.game_type != "prisoners_dilemma":
        return ctx.random.choice(ctx.valid_options)
    return answer(ctx.view["you"], ctx.view["opponent"])


choose = tit_for_tat
player = Player("Tit for tat", choose)

if __name__ == "__main__":
    raise SystemExit(player.main())
