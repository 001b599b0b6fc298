"""Waits for agents after the manager has restarted. They may have stopped with it, and may be starting as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

from leaguekit.agents.calls import answers_ping
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.transport.base import Caller

# How long an agent may take until it answers again. Fifty agents need ten seconds to start on two cores.
MAX_RETURN_SECONDS = 30.0
PING_PAUSE_SECONDS = 0.25
PING_SECONDS = 2.0


class ReturningAgents:
    """The agents that are expected to answer again.

    While an agent is expected, the manager sends it nothing, and does not count it as missing.
    """

    def __init__(self, caller: Caller, find_recipient: RecipientLookup) -> None:
        self._caller = caller
        self._find_recipient = find_recipient
        self._expected: dict[str, asyncio.Task[None]] = {}

    def expect(self, agent_ids: Iterable[str]) -> None:
        """Ping agents, each until it answers or its time is over."""
        for agent_id in agent_ids:
            self._expected[agent_id] = task = asyncio.create_task(self._ping_until_back(agent_id))
            task.add_done_callback(partial(self._stop_expecting, agent_id))

    def is_expected(self, agent_id: str) -> bool:
        task = self._expected.get(agent_id)
        return task is not None and not task.done()

    async def wait_for(self, *agent_ids: str) -> None:
        """Wait until none of these agents is expected any more."""
        if self._expected and (tasks := [self._expected[one] for one in agent_ids if self.is_expected(one)]):
            await asyncio.wait(tasks)

    def close(self) -> None:
        for task in self._expected.values():
            task.cancel()

    def _stop_expecting(self, agent_id: str, _task: asyncio.Task[None]) -> None:
        del self._expected[agent_id]

    async def _ping_until_back(self, agent_id: str) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_RETURN_SECONDS
        while loop.time() < deadline:
            # The recipient is looked up each time, because the agent may come back at another port.
            recipient = self._find_recipient(agent_id)
            if recipient is None or recipient.has_left:
                return
            if await answers_ping(self._caller, recipient.url, PING_SECONDS, agent_id):
                return
            await asyncio.sleep(PING_PAUSE_SECONDS)
