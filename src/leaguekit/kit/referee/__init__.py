"""The checks of a referee: the kit is its manager and its players, through matches that go well and others."""

from __future__ import annotations

from leaguekit.agents.world import World
from leaguekit.kit.checks import USUAL, Check, CheckSettings, examine
from leaguekit.kit.exchanges import Ground
from leaguekit.kit.referee import faults, matches, posts, registration, reliability, results, retries
from leaguekit.kit.referee.harness import RefereeScene
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
# In the order in which they are made.
CHECKS: list[Check[RefereeScene]] = [check for area in AREAS for check in area.checks]


async def check_referee(
    world: World, ground: Ground, *, port: int = 0, url: str | None = None, terms: CheckSettings = USUAL
) -> Report:
    """Check the referee that registers at our port, or the one at ``url``, which need not register.

    The ground is left open, for the referee may still need it.
    """
    scene = RefereeScene(world, ground, url=url, terms=terms)
    await scene.open(port)
    # Its name is known only once it has registered.
    outcomes = await examine(CHECKS, scene, terms)
    return Report("referee", scene.name, outcomes)
