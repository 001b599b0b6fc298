"""The state that all connections of one server share, and the start of a handler."""

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
from leaguekit.transport.eager import continue_in_task
from leaguekit.transport.server import responses
from leaguekit.transport.server.connection_slots import ConnectionSlots, Limits
from leaguekit.transport.server.origin_headers import HostNames
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostRequest, PostRoute, TooLarge, path_and_query
from leaguekit.transport.server.request_queue import FairScheduler, RequestQueue

log = logging.getLogger(__name__)

# A request → the name of the agent that sent it, or None if it is not known.
Identify = Callable[[RpcRequest], str | None]
# The coroutine of a handler, or the rest of one that has been started.
Work = Awaitable[bytes | HttpAnswer | None]


class PostRoutes(NamedTuple):
    """A route for POST requests to every name directly below a path, such as /transcripts/."""

    below: bytes
    # A name, a request and its sender → the response.
    handler: Callable[[str, RpcRequest, Peer], Coroutine[Any, Any, HttpAnswer]]
    max_bytes: int
    too_large: TooLarge
    admits_large_body: AdmitLargeBody | None = None

    def match(self, url: bytes) -> PostRoute | None:
        """The route of a URL, or None if the URL is not below the path."""
        path, _ = path_and_query(url)
        name = unquote(path[len(self.below) :].decode("latin-1")) if path.startswith(self.below) else ""
        if not name or "/" in name:
            return None
        return PostRoute(partial(self.handler, name), self.max_bytes, self.too_large, self.admits_large_body)


# The URL of a POST request → its route, or None if the application answers it.
FindRoute = Callable[[bytes], PostRoute | None]


@dataclass(slots=True)
class Endpoint:
    """The state that all connections of one server share."""

    # The route of /mcp.
    mcp_route: PostRoute
    limits: Limits
    host_names: HostNames
    # Proxies whose X-Forwarded-For headers are trusted.
    proxies: tuple[Network, ...]
    slots: ConnectionSlots
    # The application for MCP requests to /mcp. Without it, the handler answers them like all others.
    mcp: ASGI3Application | None = None
    find_route: FindRoute | None = None
    identify: Identify | None = None
    # The name of the known sender of an MCP request.
    mcp_sender_of: Callable[[bytes, Peer], str | None] | None = None
    queue: RequestQueue = field(default_factory=RequestQueue)
    shared_turns: FairScheduler = field(default_factory=FairScheduler)
    # The tasks that answer requests. The references keep them alive, and a stopping server waits for them.
    answer_tasks: dict[PostRequest, asyncio.Task[None]] = field(default_factory=dict)
    # Set whenever a connection is closed.
    connection_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _has_warned: bool = False

    def warn_of_proxy(self, address: str) -> None:
        """Log once that a proxy on this machine is not trusted."""
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s sent X-Forwarded-For and is not known as a proxy: all callers that it forwards count as one. "
                "If it is your proxy, start with --proxy %s",
                address,
                address,
            )


def start_handler(route: PostRoute, request: RpcRequest, peer: Peer) -> bytes | Work:
    """Start a handler. Return its encoded response if it did not have to wait, and otherwise the rest of its work.

    An exception of the handler is raised by the rest of its work.
    """
    work = route.handler(request, peer)
    try:
        try:
            awaited = work.send(None)
        except StopIteration as end:
            return encode_response(end.value)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is raised again
        return _raise(error)
    return continue_in_task(work, awaited)


def encode_response(answer: bytes | HttpAnswer | None) -> bytes:
    """The HTTP response with an answer, as bytes."""
    if isinstance(answer, bytes):
        return responses.OK % (len(answer), answer)
    return responses.NO_CONTENT if answer is None else responses.with_status(answer.status, answer.body)


async def _raise(error: BaseException) -> NoReturn:
    raise error
