"""The checks of a referee. The kit is its manager and its players, with and without faults."""

from __future__ import annotations

from leaguekit.agents.world import World
from leaguekit.kit.checks import DEFAULTS, Check, CheckSettings
from leaguekit.kit.exchanges import Network
from leaguekit.kit.referee import faults, matches, posts, registration, reliability, results, retries
from leaguekit.kit.referee.harness import RefereeHarness
from leaguekit.kit.report import Report

AREAS = (
    registration.REGISTER,
    registration.REACH,
    registration.RPC,
    matches.ROUND,
    matches.INVITATION,
    matches.CALL,
    results.OVER,
    results.REPORT,
    results.DRAW,
    faults.ERROR,
    faults.WRONG,
    faults.LOSS,
    retries.RETRY,
    faults.RUBBISH,
    posts.POST,
    reliability.REPEAT,
    reliability.SEVERAL,
    retries.LIMITS,
    reliability.END,
)
# In the order in which they run.
CHECKS: list[Check[RefereeHarness]] = [check for area in AREAS for check in area.checks]


async def check_referee(
    world: World, network: Network, *, port: int = 0, url: str | None = None, settings: CheckSettings = DEFAULTS
) -> Report:
    """Check the referee that registers at ``port``, or the one at ``url``, which does not register."""
    return await RefereeHarness(world, network, url=url, settings=settings).check(CHECKS, port)
