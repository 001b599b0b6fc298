"""What the gateway's page shows everybody: the state of the league and its table, as the manager says it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from leaguekit.agents.calls import MAX_ANY_ANSWER_BYTES, next_id
from leaguekit.gateway.seats import Seat
from leaguekit.protocol import messages as m
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import RpcRefusal, request
from leaguekit.transport.base import Caller, CallerLate, CallFailed

log = logging.getLogger(__name__)

STATUS_SECONDS = 5.0


class StartCondition(Struct):
    """The league begins when these numbers of agents are registered."""

    players: int
    referees: int


class LeagueStatus(Struct):
    """The part of the manager's status that players want to know."""

    state: str
    title: str = ""
    round: str = ""
    paused: bool = False
    players: int = 0
    referees: int = 0
    waits_for: list[str] = []
    starts_at: str | None = None
    starts_with: StartCondition | None = None


class PublicLeague(Struct, kw_only=True):
    """What everybody may know of the league. Another manager than ours may not show its status."""

    league_id: str | None
    standings: list[m.Standing]
    seats: int
    dashboard: str
    status: LeagueStatus | None


class _Answer(Struct):
    result: LeagueStatus


async def ask_status(caller: Caller, manager_url: str) -> LeagueStatus | None:
    """The status of the league. None if the manager does not answer, or does not know the question."""
    body = request("operator", b'{"command":"status"}', next_id())
    try:
        response = await caller.post(manager_url, body, STATUS_SECONDS, MAX_ANY_ANSWER_BYTES)
        return msgspec.json.decode(response.body, type=_Answer).result
    except (CallFailed, CallerLate, *DECODE_ERRORS) as failure:
        log.debug("the manager does not say how the league is going: %s", failure)
        return None


async def ask_standings(seats: Iterable[Seat]) -> list[m.Standing]:
    """The table. The manager shows it to agents only, so this uses the token of any seat."""
    for seat in seats:
        try:
            response = await seat.agent.registrar.query("GET_STANDINGS", "conv-gateway-table")
        except RpcRefusal as refusal:
            # This player may have left the league. Another seat may still ask.
            log.debug("the standings are refused to %s: %s", seat.name, refusal)
            continue
        except (CallFailed, CallerLate, ProtocolError) as failure:
            log.debug("the manager did not answer the query for standings: %s", failure)
            return seat.agent.standings
        if response is not None:
            return list(response.standings or [])
    return []
