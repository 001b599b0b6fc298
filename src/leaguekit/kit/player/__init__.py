"""The checks of a player. The kit is its manager, its referee and its opponent in a whole small league."""

from __future__ import annotations

from typing import Any

from leaguekit.agents.world import World
from leaguekit.games.base import Game
from leaguekit.kit.checks import DEFAULTS, Check, CheckSettings
from leaguekit.kit.exchanges import Network
from leaguekit.kit.player import errors_and_repeats, limits, matches, registration, robustness
from leaguekit.kit.player.harness import PlayerHarness
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
# In the order in which they run.
CHECKS: list[Check[PlayerHarness]] = [check for area in AREAS for check in area.checks]


async def check_player(
    world: World,
    network: Network,
    game: Game[Any],
    *,
    port: int = 0,
    url: str | None = None,
    settings: CheckSettings = DEFAULTS,
) -> Report:
    """Check the player that registers at ``port``, or the one at ``url``, which does not register."""
    return await PlayerHarness(world, network, game, url=url, settings=settings).check(CHECKS, port)
