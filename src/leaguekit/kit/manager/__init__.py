"""The checks of a manager: the kit is all of its players and referees, through a whole small league."""

from __future__ import annotations

from leaguekit.agents.world import World
from leaguekit.kit.checks import USUAL, Check, CheckSettings, examine
from leaguekit.kit.exchanges import Ground
from leaguekit.kit.manager import ending, queries, registration, reports, rounds, rpc_and_tokens
from leaguekit.kit.manager.harness import ManagerScene
from leaguekit.kit.report import Report

AREAS = (
    registration.REACH,
    registration.REFEREE,
    registration.PLAYER,
    registration.REFUSED,
    rpc_and_tokens.RPC,
    rpc_and_tokens.TOKEN,
    rounds.START,
    rounds.ROUND,
    rounds.LATE,
    rounds.ASSIGN,
    reports.REPORT,
    reports.STANDINGS,
    reports.COMPLETED,
    queries.QUERY,
    ending.LEAGUE,
    ending.END,
)
# In the order in which they are made.
CHECKS: list[Check[ManagerScene]] = [check for area in AREAS for check in area.checks]


async def check_manager(
    world: World, ground: Ground, url: str, *, admin_token: str | None = None, terms: CheckSettings = USUAL
) -> Report:
    """Check the manager at ``url``, whose league has nobody in it yet; the URL may show the code for referees.

    With ``admin_token`` its league is started by the operator's command; else somebody has to start it, as is told.
    """
    scene = ManagerScene(world, ground, url, admin_token=admin_token, terms=terms)
    return Report("manager", scene.url, await examine(CHECKS, scene, terms))
