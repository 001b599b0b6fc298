"""The operator of a simulated league: settles what waits for one, and lets agents in that have lost who they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from leaguekit.manager import operator
from leaguekit.manager.manager import Manager
from leaguekit.protocol.rpc import request
from leaguekit.sim.network import Network, SimCaller
from leaguekit.sim.processes import Process
from leaguekit.transport.base import CallerLate, CallFailed

LOOKS_EVERY = 15.0
SECONDS = 10.0


class _Answer(msgspec.Struct):
    result: Any = None


class Operator:
    """Calls the manager as the operator's commands do. ``helped`` is told of each thing that was done."""

    def __init__(
        self, network: Network, process: Process, url: str, admin_token: str, helped: Callable[[str], None]
    ) -> None:
        self._caller = SimCaller(network, process)
        self._url = url
        self._admin_token = admin_token
        self._helped = helped

    async def settle_matches(self, manager: Callable[[], Manager | None]) -> None:
        """Have every match played again that came to nothing too often, for ever."""
        while True:
            await asyncio.sleep(LOOKS_EVERY)
            now = manager()
            for match_id in [] if now is None else list(now.ledger.league.held):
                if await self._command("rematch", match_id=match_id, reason="void too often") is not None:
                    self._helped("rematch")

    async def seat_for(self, agent_id: str) -> str:
        """A new way in for an agent whose disk has lost its token: the code of its seat."""
        while True:
            answer = await self._command("token_rotate", agent_id=agent_id)
            if answer is not None and (code := answer["seat"]["code"]) is not None:
                self._helped("seat")
                return str(code)
            if answer is not None:
                # It has a seat whose code was in an answer that was lost.
                await self._command("seats_revoke", seat=answer["seat"]["id"])
            await asyncio.sleep(LOOKS_EVERY)

    async def _command(self, command: str, **fields: str) -> Any:
        told = {"command": command, "admin_token": self._admin_token} | fields
        try:
            came = await self._caller.post(self._url, request(operator.METHOD, msgspec.json.encode(told), 1), SECONDS)
        except (CallFailed, CallerLate):
            return None
        return msgspec.json.decode(came.body, type=_Answer).result
