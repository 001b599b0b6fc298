"""The checks of a referee: the kit is its manager and its players, through matches that go well and others."""

from __future__ import annotations

from collections.abc import Callable

from leaguekit.agents.world import World
from leaguekit.kit.checks import Check, Outcome, examine
from leaguekit.kit.exchanges import Ground
from leaguekit.kit.referee import faults, manners, matches, posts, registration, results, retries
from leaguekit.kit.referee.scene import RefereeScene
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
    manners.REPEAT,
    manners.SEVERAL,
    retries.LIMITS,
    manners.END,
)
# In the order in which they are made.
CHECKS: list[Check[RefereeScene]] = [check for area in AREAS for check in area.checks]


async def check_referee(
    world: World,
    ground: Ground,
    *,
    port: int = 0,
    url: str | None = None,
    patience: float = 60.0,
    full: bool = False,
    tell: Callable[[str], None] = lambda _text: None,
    heard: Callable[[Outcome], None] = lambda _outcome: None,
) -> Report:
    """Check the referee that registers at our port, or the one at ``url``, which need not register.

    ``tell`` hears how it goes, ``heard`` each outcome. The ground is left open, for the referee may still need it.
    """
    scene = RefereeScene(world, ground, url=url, patience=patience, full=full, tell=tell)
    await scene.open(port)
    if url is None:
        tell(f"Start your referee with {scene.here} as its manager's URL; waiting {patience:g} s for it to register.")
    outcomes = await examine(CHECKS, scene, full=full, tell=heard)
    return Report("referee", scene.name, outcomes)
