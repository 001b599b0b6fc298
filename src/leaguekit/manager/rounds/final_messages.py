"""Sends each agent the message that the league has ended, also if the agent is away for a time or registers later."""

from __future__ import annotations

import asyncio

from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.manager.broadcasts import Broadcasts, EncodedMessage
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.rounds.league_messages import league_completed

# The pauses before each further attempt to deliver the message.
FINAL_RETRY_PAUSES = (30.0, 60.0, 120.0, 240.0, 480.0)


class FinalMessages:
    """The last message to each agent. It comes after all its other messages."""

    def __init__(self, world: World, ledger: Ledger, broadcasts: Broadcasts) -> None:
        self._world = world
        self._ledger = ledger
        self._broadcasts = broadcasts

    def make(self) -> dict[str, EncodedMessage]:
        """The messages to all agents."""
        return league_completed(self._ledger.league, self._world.now())

    async def send_to(self, agent_id: str) -> None:
        """Send its message to an agent that has registered after the end."""
        messages = {agent_id: self.make()[agent_id]}
        await self._ledger.wait_written()
        await self.retry(await self.send(messages))

    async def send(self, messages: dict[str, EncodedMessage]) -> dict[str, EncodedMessage]:
        """Send messages, all at the same time. Returns those that could not be delivered."""
        delivered = await asyncio.gather(*(self._broadcasts.send_final(agent, one) for agent, one in messages.items()))
        return {agent: one for (agent, one), done in zip(messages.items(), delivered, strict=True) if not done}

    async def retry(self, messages: dict[str, EncodedMessage]) -> None:
        """Send messages again that could not be delivered. Their agents may be away for a time, and wait for them."""
        for pause in FINAL_RETRY_PAUSES:
            if not messages:
                return
            await asyncio.sleep(pause)
            messages = await self.send(messages)

    async def registered_after(self, number: int) -> list[str]:
        """The agents that have registered since an event.

        The manager may have stopped before it could send them the end of the league.
        """
        found: dict[str, None] = {}
        async for _, event in self._ledger.events_after(number):
            match event:
                case e.PlayerRegistered(player_id=agent_id) | e.RefereeRegistered(referee_id=agent_id):
                    found[agent_id] = None
        return [*found]
