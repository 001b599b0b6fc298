"""A player or a referee of the kit: it records every request, and answers those that its role may get."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Inbox, IncomingRequest, Refusal
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import Message
from leaguekit.protocol.methods import BY_REQUEST, PING


class KitAgent(ABC):
    """An agent of the kit. ``inbox`` has the requests to it, ``url`` is set when it listens."""

    def __init__(self, world: World, role: Role) -> None:
        self.role: Role = role
        self.inbox = Inbox(self._respond, world.now)
        self.url = ""
        self.now = world.now

    def received(self, kind: type[Message]) -> list[IncomingRequest]:
        """Return the requests of a kind that it has received."""
        return [one for one in self.inbox.requests if one.kind is kind]

    async def _respond(self, request: IncomingRequest) -> Any:
        if (kind := request.kind) is not None and self.role in BY_REQUEST[kind].receivers:
            return await self.reply(kind, request)
        if request.method == PING:
            return {"status": "ok"}
        raise Refusal(-32601, f"a {self.role} has no method {request.method!r}")

    @abstractmethod
    async def reply(self, kind: type[Message], request: IncomingRequest) -> Any:
        """Return the answer to a message of a kind that its role may get."""
