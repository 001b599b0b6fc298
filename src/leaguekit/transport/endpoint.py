"""What all connections of one server share, first of all who answers, and how an answer is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import NoReturn

from uvicorn._types import ASGI3Application

from leaguekit.transport import http_answers as answers
from leaguekit.transport.addresses import Network
from leaguekit.transport.base import Handler, Peer
from leaguekit.transport.begun import rest_of
from leaguekit.transport.origins import Names
from leaguekit.transport.rooms import Limits, Room
from leaguekit.transport.turns import Post

# A handler's, or the rest of it.
Work = Awaitable[bytes | None]


@dataclass(slots=True)
class Endpoint:
    """What all connections of one server share."""

    handler: Handler
    most_bytes: int
    # The body of the answer to a larger one.
    too_large: bytes
    limits: Limits
    names: Names
    # Proxies that are believed where a request comes from. One on this machine always is: what it passes on then
    # counts as coming from elsewhere, and not from here.
    proxies: tuple[Network, ...]
    room: Room
    # What answers MCP's requests at /mcp; without it they are the handler's like all others.
    mcp: ASGI3Application | None = None
    # Held here so that none vanishes while it waits, and so that stopping can wait for them.
    answering: dict[Post, asyncio.Task[None]] = field(default_factory=dict)
    # Set whenever a connection has gone.
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, body: bytes, peer: Peer) -> bytes | Work:
        """The answer, if the handler need not wait for anything; or else the rest of its work, which may raise."""
        try:
            work = self.handler(body, peer)
            try:
                awaited = work.send(None)
            except StopIteration as end:
                return written(end.value)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is raised again
            return _raised(error)
        return rest_of(work, awaited)


def written(body: bytes | None) -> bytes:
    """An answer with that body."""
    return answers.NOTHING if body is None else answers.OK % (len(body), body)


async def _raised(error: BaseException) -> NoReturn:
    raise error
