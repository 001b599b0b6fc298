"""The checks of a player: the kit is its manager, its referee and its opponent, through a whole small league."""

from __future__ import annotations

from typing import Any

from leaguekit.agents.world import World
from leaguekit.games.base import Game
from leaguekit.kit.checks import USUAL, Check, CheckSettings, examine
from leaguekit.kit.exchanges import Ground
from leaguekit.kit.player import errors_and_repeats, limits, matches, registration, robustness
from leaguekit.kit.player.harness import PlayerScene
from leaguekit.kit.report import Report

AREAS = (
    registration.REGISTER,
    registration.REACH,
    matches.ROUND,
    matches.JOIN,
    matches.CHOICE,
    matches.OVER,
    matches.STANDINGS,
    matches.ROUND_OVER,
    errors_and_repeats.ERROR,
    errors_and_repeats.REPEAT,
    errors_and_repeats.LOSS,
    errors_and_repeats.TOLERANCE,
    robustness.RPC,
    robustness.TOKENS,
    robustness.ALIVE,
    limits.LIMITS,
    limits.END,
    robustness.OWN,
)
# In the order in which they are made.
CHECKS: list[Check[PlayerScene]] = [check for area in AREAS for check in area.checks]


async def check_player(
    world: World,
    ground: Ground,
    game: Game[Any],
    *,
    port: int = 0,
    url: str | None = None,
    terms: CheckSettings = USUAL,
) -> Report:
    """Check the player that registers at our port, or the one at ``url``, which need not register.

    The ground is left open, for the player may still need it.
    """
    scene = PlayerScene(world, ground, game, url=url, terms=terms)
    await scene.open(port)
    # Its name is known only once it has registered.
    outcomes = await examine(CHECKS, scene, terms)
    return Report("player", scene.name, outcomes)
