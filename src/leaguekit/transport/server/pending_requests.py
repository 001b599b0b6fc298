"""The kinds of pending requests of a connection: POST requests to a route, ASGI requests, and a final refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import HttpAnswer, Peer

PostHandler = Callable[[RpcRequest, Peer], Coroutine[Any, Any, bytes | HttpAnswer | None]]
TooLarge = bytes | Callable[[], bytes]
# The number of bytes that are read of any body. The rest is read only if the server admits it by the beginning.
BYTES_BEFORE_ADMISSION = 10_240
# The first FREE_BYTES of a body and its sender → whether the rest of it is read.
AdmitLargeBody = Callable[[bytes, Peer], bool]


class PostRoute(NamedTuple):
    """A path for POST requests: its handler, and the limits of bodies."""

    handler: PostHandler
    max_bytes: int
    # The body of the response to a larger request, or a function that makes it when it is sent.
    too_large: TooLarge
    admits_large_body: AdmitLargeBody | None = None

    @property
    def free_bytes(self) -> int:
        """The number of bytes that are read of any body."""
        return self.max_bytes if self.admits_large_body is None else min(BYTES_BEFORE_ADMISSION, self.max_bytes)


@dataclass(slots=True, eq=False)
class PostRequest:
    """A request to /mcp or to another POST route."""

    route: PostRoute
    method: bytes
    peer: Peer
    headers: list[tuple[bytes, bytes]]
    # Whether it has a header that only MCP clients send.
    has_mcp_header: bool
    body: bytes | bytearray = b""
    # Whether the rest of a large body is read.
    is_admitted: bool = False
    keep_alive: bool = False
    are_headers_checked: bool = False
    # Whether the peer waits for "100 Continue".
    expects_continue: bool = False
    # Whether the whole body has arrived.
    is_complete: bool = False


class AsgiRequest(NamedTuple):
    """A request for an ASGI application."""

    cycle: RequestResponseCycle
    app: ASGI3Application


# The last response of a connection: bytes, or a function that makes them when they are sent.
Refusal = bytes | Callable[[], bytes]
PendingRequest = PostRequest | AsgiRequest | Refusal


def query_of_mcp(url: bytes) -> str | None:
    """The query of a URL whose path is /mcp, or None for any other path."""
    if url == b"/mcp":
        return ""
    path, query = path_and_query(url)
    return query.decode("latin-1") if path in (b"/mcp", b"/mcp/") else None


def path_and_query(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request target, which may be absolute. Empty if it is not valid."""
    if url.startswith(b"/"):
        path, _, query = url.partition(b"?")
        return path, query
    try:
        parts = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return b"", b""
    return parts.path or b"", parts.query or b""


def asgi_cycle_of(connection: HttpToolsProtocol, post: PostRequest, *, keep_alive: bool) -> RequestResponseCycle:
    """An ASGI cycle for a request whose body is complete. The application can receive only a disconnect after it."""
    cycle = RequestResponseCycle(
        scope={
            "type": "http",
            "asgi": {"version": connection.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": post.peer.server,
            "client": (post.peer.host, 0),
            "scheme": connection.scheme or "http",
            "root_path": "",
            "headers": [(name.lower(), value.strip()) for name, value in post.headers],
            "state": connection.app_state.copy(),
            "method": post.method.decode("ascii"),
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": post.peer.query.encode("latin-1"),
        },
        transport=connection.transport,
        flow=connection.flow,
        logger=connection.logger,
        access_logger=connection.access_logger,
        access_log=False,
        default_headers=connection.server_state.default_headers,
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive and post.keep_alive,
        on_response=connection.on_response_complete,
    )
    cycle.body = bytearray(post.body)
    cycle.more_body = False
    cycle.message_event.set()
    return cycle
