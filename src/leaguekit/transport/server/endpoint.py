"""What all connections of one server share, first of all who answers, and how an answer is begun."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

from uvicorn._types import ASGI3Application

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import Network
from leaguekit.transport.base import HttpAnswer, Peer
from leaguekit.transport.eager import remainder_of
from leaguekit.transport.server import responses as answers
from leaguekit.transport.server.connection_slots import ConnectionSlots, Limits
from leaguekit.transport.server.origin_headers import HostNames
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostRequest, PostRoute, TooLarge, path_and_query
from leaguekit.transport.server.request_queue import RequestQueue, SharedTurns

log = logging.getLogger(__name__)

# The name of the agent that sent a request, if it is known.
Identify = Callable[[RpcRequest], str | None]
# A handler's, or the rest of it.
Work = Awaitable[bytes | HttpAnswer | None]


class PostRoutes(NamedTuple):
    """A further place for what is posted, for each name directly below a path, such as /transcripts/."""

    below: bytes
    # A name, a request and its sender → the answer.
    handler: Callable[[str, RpcRequest, Peer], Coroutine[Any, Any, HttpAnswer]]
    max_bytes: int
    too_large: TooLarge
    admits: AdmitLargeBody | None = None

    def place(self, url: bytes) -> PostRoute | None:
        """The place that a URL means, if it means one."""
        path, _ = path_and_query(url)
        name = unquote(path[len(self.below) :].decode("latin-1")) if path.startswith(self.below) else ""
        if not name or "/" in name:
            return None
        return PostRoute(partial(self.handler, name), self.max_bytes, self.too_large, self.admits)


@dataclass(slots=True)
class Endpoint:
    """What all connections of one server share."""

    # What /mcp is.
    place: PostRoute
    limits: Limits
    names: HostNames
    # Proxies that are believed where a request comes from.
    proxies: tuple[Network, ...]
    slots: ConnectionSlots
    # What answers MCP's requests at /mcp; without it they are the handler's like all others.
    mcp: ASGI3Application | None = None
    routes: PostRoutes | None = None
    identify: Identify | None = None
    queue: RequestQueue = field(default_factory=RequestQueue)
    shared_turns: SharedTurns = field(default_factory=SharedTurns)
    # Held here so that none vanishes while it waits, and so that stopping can wait for them.
    answering: dict[PostRequest, asyncio.Task[None]] = field(default_factory=dict)
    # Set whenever a connection has gone.
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    _has_warned: bool = False

    def warn_of_proxy(self, address: str) -> None:
        """Say once that a proxy on this machine is not believed."""
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s sent X-Forwarded-For and is not known as a proxy: all callers whom it passes on count as one. "
                "If it is your proxy, start with --proxy %s",
                address,
                address,
            )


def start_handler(place: PostRoute, request: RpcRequest, peer: Peer) -> bytes | Work:
    """The answer, if the handler need not wait for anything; or else the rest of its work, which may raise."""
    work = place.handler(request, peer)
    try:
        try:
            awaited = work.send(None)
        except StopIteration as end:
            return encode_response(end.value)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is raised again
        return _raised(error)
    return remainder_of(work, awaited)


def encode_response(answer: bytes | HttpAnswer | None) -> bytes:
    """An answer as it goes out."""
    if isinstance(answer, bytes):
        return answers.OK % (len(answer), answer)
    return answers.NO_CONTENT if answer is None else answers.with_status(answer.status, answer.body)


async def _raised(error: BaseException) -> NoReturn:
    raise error
