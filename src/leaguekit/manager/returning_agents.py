"""Who is there again after the manager's restart: the others may have gone down with it, and be starting as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

from leaguekit.agents.calls import is_there
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.transport.base import Caller

# How long somebody may take to be there again; fifty agents need ten seconds to start on two cores.
MAX_RETURN_SECONDS = 30.0
LOOK_EVERY = 0.25
LOOK_SECONDS = 2.0


class ReturningAgents:
    """The agents that are expected back. One that is expected is neither called yet nor missed."""

    def __init__(self, caller: Caller, recipient: RecipientLookup) -> None:
        self._caller = caller
        self._recipient = recipient
        self._expected: dict[str, asyncio.Task[None]] = {}

    def expect(self, agent_ids: Iterable[str]) -> None:
        """Look out for agents, each until it is there or has had the time."""
        for agent_id in agent_ids:
            self._expected[agent_id] = looking = asyncio.create_task(self._look_out(agent_id))
            looking.add_done_callback(partial(self._expect_no_more, agent_id))

    def expects(self, agent_id: str) -> bool:
        expected = self._expected.get(agent_id)
        return expected is not None and not expected.done()

    async def there(self, *agent_ids: str) -> None:
        """Wait for those of these agents that are still expected."""
        if self._expected and (expected := [self._expected[one] for one in agent_ids if self.expects(one)]):
            await asyncio.wait(expected)

    def close(self) -> None:
        for expected in self._expected.values():
            expected.cancel()

    def _expect_no_more(self, agent_id: str, _looking: asyncio.Task[None]) -> None:
        del self._expected[agent_id]

    async def _look_out(self, agent_id: str) -> None:
        loop = asyncio.get_running_loop()
        latest = loop.time() + MAX_RETURN_SECONDS
        # It may come back at another port.
        while loop.time() < latest and (recipient := self._recipient(agent_id)) is not None and not recipient.has_left:
            if await is_there(self._caller, recipient.url, agent_id, LOOK_SECONDS):
                return
            await asyncio.sleep(LOOK_EVERY)
