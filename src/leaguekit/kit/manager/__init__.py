"""The checks of a manager. The kit provides the players and referees of a whole small league."""

from __future__ import annotations

from leaguekit.agents.world import World
from leaguekit.kit.checks import DEFAULTS, Check, CheckSettings, run_checks
from leaguekit.kit.exchanges import Network
from leaguekit.kit.manager import ending, queries, registration, reports, rounds, rpc_and_tokens
from leaguekit.kit.manager.harness import ManagerHarness
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
# In the order in which they run.
CHECKS: list[Check[ManagerHarness]] = [check for area in AREAS for check in area.checks]


async def check_manager(
    world: World,
    network: Network,
    url: str,
    *,
    admin_token: str | None = None,
    settings: CheckSettings = DEFAULTS,
) -> Report:
    """Check the manager at ``url``. Its league must be empty. The URL may contain the code for referees.

    With ``admin_token`` the kit starts the league. Otherwise the league must start without a command, or the person
    at the terminal is asked to start it.
    """
    harness = ManagerHarness(world, network, url, admin_token=admin_token, settings=settings)
    return Report("manager", harness.url, await run_checks(CHECKS, harness, settings))
