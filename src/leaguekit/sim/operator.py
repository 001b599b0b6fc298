"""The operator of a simulated league: orders rematches, and readmits agents that have lost their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec

from leaguekit.league.commands.tournaments import late_player_fault
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.state import League
from leaguekit.manager import operator
from leaguekit.manager.manager import Manager
from leaguekit.protocol.rpc import request
from leaguekit.sim.network import Network, SimCaller
from leaguekit.sim.processes import Process
from leaguekit.transport.base import CallerLate, CallFailed

POLL_SECONDS = 15.0
TIMEOUT_SECONDS = 10.0
# How often the operator looks whether a late player may come in. A round without faults takes 0.2 seconds.
LATE_POLL_SECONDS = 0.1


class _Answer(msgspec.Struct):
    result: Any = None


class Operator:
    """Calls the manager as the operator's commands do. ``on_action`` is called with the name of each action."""

    def __init__(
        self, network: Network, process: Process, url: str, admin_token: str, on_action: Callable[[str], None]
    ) -> None:
        self._caller = SimCaller(network, process)
        self._url = url
        self._admin_token = admin_token
        self._on_action = on_action

    async def settle_matches(self, manager: Callable[[], Manager | None]) -> None:
        """Order a rematch of every match that was void too often. This never returns."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            current = manager()
            for match_id in [] if current is None else list(current.ledger.league.held):
                if await self._command("rematch", match_id=match_id, reason="void too often") is not None:
                    self._on_action("rematch")

    async def add_late_player(
        self, manager: Callable[[], Manager | None], after_rounds: int, endpoint: str, display_name: str
    ) -> bool:
        """Add a player after some rounds, and let it register. Returns False if it is too late by then."""
        while True:
            await asyncio.sleep(LATE_POLL_SECONDS)
            current = manager()
            league = League() if current is None else current.ledger.league
            if league.state == "LEAGUE_COMPLETED":
                return False
            if (player_id := league.endpoints.get(str(parse_endpoint(endpoint)))) is not None:
                if await self._command("readmit", player_id=player_id) is not None:
                    self._on_action("late player")
                    return True
            elif len(league.rounds) >= after_rounds:
                if late_player_fault(league) is not None:
                    return False
                await self._command("add_player", endpoint=endpoint, display_name=display_name)

    async def seat_for(self, agent_id: str) -> str:
        """Rotate the token of an agent that has lost it. Returns the code of the seat by which it registers again."""
        while True:
            answer = await self._command("token_rotate", agent_id=agent_id)
            if answer is not None and (code := answer["seat"]["code"]) is not None:
                self._on_action("seat")
                return str(code)
            if answer is not None:
                # The agent already has a seat. Its code was in an answer that was lost.
                await self._command("seats_revoke", seat=answer["seat"]["id"])
            await asyncio.sleep(POLL_SECONDS)

    async def _command(self, command: str, **fields: str) -> Any:
        params = {"command": command, "admin_token": self._admin_token} | fields
        try:
            answer = await self._caller.post(
                self._url, request(operator.METHOD, msgspec.json.encode(params), 1), TIMEOUT_SECONDS
            )
        except (CallFailed, CallerLate):
            return None
        if answer.status != HTTPStatus.OK:
            return None
        return msgspec.json.decode(answer.body, type=_Answer).result
