"""The requests of a connection, each in its turn: those to /mcp, all others, and a refusal, which is the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import HttpAnswer, Peer

PostHandler = Callable[[RpcRequest, Peer], Coroutine[Any, Any, bytes | HttpAnswer | None]]
TooLarge = bytes | Callable[[], bytes]
# So many bytes are read of any body; more only of one whose beginning the server admits.
FREE_BYTES = 10_240
# The first FREE_BYTES of a body and its sender → whether the rest of it is read.
AdmitLargeBody = Callable[[bytes, Peer], bool]


class PostRoute(NamedTuple):
    """Where bodies are posted, and who answers them."""

    handler: PostHandler
    max_bytes: int
    # The body of the answer to a larger one, or what makes it when it is sent.
    too_large: TooLarge
    admits: AdmitLargeBody | None = None

    @property
    def free_bytes(self) -> int:
        """How many bytes are read of any body."""
        return self.max_bytes if self.admits is None else min(FREE_BYTES, self.max_bytes)


class PostRequest:
    """A request to /mcp, or to another place like it."""

    __slots__ = (
        "body",
        "expects",
        "free_bytes",
        "has_mcp_header",
        "headers",
        "keep_alive",
        "looked_at",
        "method",
        "peer",
        "place",
        "whole",
    )

    def __init__(
        self, place: PostRoute, method: bytes, peer: Peer, headers: list[tuple[bytes, bytes]], has_mcp_header: bool
    ) -> None:
        self.place = place
        self.method = method
        self.peer = peer
        self.headers = headers
        # A header says that this may be MCP.
        self.has_mcp_header = has_mcp_header
        self.body: bytes | bytearray = b""
        # How long the body may become before its sender must be known.
        self.free_bytes = place.free_bytes
        self.keep_alive = False
        self.looked_at = False
        self.expects = False
        self.whole = False


class AsgiRequest(NamedTuple):
    """A request to anything else, for the ASGI application."""

    cycle: RequestResponseCycle
    app: ASGI3Application


# The last thing that is sent: bytes, or what makes them when they are sent.
Refusal = bytes | Callable[[], bytes]
PendingRequest = PostRequest | AsgiRequest | Refusal


def query_of_mcp(url: bytes) -> str | None:
    """What stands behind the ? of a URL whose path is /mcp; None for any other path."""
    if url == b"/mcp":
        return ""
    path, query = path_and_query(url)
    return query.decode("latin-1") if path in (b"/mcp", b"/mcp/") else None


def path_and_query(url: bytes) -> tuple[bytes, bytes]:
    """These parts of a URL as it stands in a request, with or without a host before them; empty if it has none."""
    if url.startswith(b"/"):
        path, _, query = url.partition(b"?")
        return path, query
    try:
        parts = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return b"", b""
    return parts.path or b"", parts.query or b""


def asgi_cycle_of(line: HttpToolsProtocol, post: PostRequest, *, keep_alive: bool) -> RequestResponseCycle:
    """A request that has been read whole, for an application; all that can come after it is that its peer goes."""
    cycle = RequestResponseCycle(
        scope={
            "type": "http",
            "asgi": {"version": line.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": post.peer.server,
            "client": (post.peer.host, 0),
            "scheme": line.scheme or "http",
            "root_path": "",
            "headers": [(name.lower(), value.strip()) for name, value in post.headers],
            "state": line.app_state.copy(),
            "method": post.method.decode("ascii"),
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": post.peer.query.encode("latin-1"),
        },
        transport=line.transport,
        flow=line.flow,
        logger=line.logger,
        access_logger=line.access_logger,
        access_log=False,
        default_headers=line.server_state.default_headers,
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive and post.keep_alive,
        on_response=line.on_response_complete,
    )
    cycle.body = bytearray(post.body)
    cycle.more_body = False
    cycle.message_event.set()
    return cycle
