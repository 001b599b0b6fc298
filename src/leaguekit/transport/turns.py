"""The requests of a connection, each in its turn: those to /mcp, all others, and a refusal, which is the last."""

from __future__ import annotations

from typing import NamedTuple

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from leaguekit.transport.base import Peer


class Post:
    """A request to /mcp."""

    __slots__ = ("body", "expects", "headers", "keep_alive", "looked_at", "marked", "method", "peer", "whole")

    def __init__(self, method: bytes, peer: Peer, headers: list[tuple[bytes, bytes]], marked: bool) -> None:
        self.method = method
        self.peer = peer
        self.headers = headers
        # A header says that this may be MCP.
        self.marked = marked
        self.body: bytes | bytearray = b""
        self.keep_alive = False
        self.looked_at = False
        self.expects = False
        self.whole = False


class Other(NamedTuple):
    """A request to anything else, for the ASGI application."""

    cycle: RequestResponseCycle
    app: ASGI3Application


# A refusal is bytes: the last thing that is sent.
Turn = Post | Other | bytes


def mcp_query(url: bytes) -> str | None:
    """What stands behind the ? of a URL whose path is /mcp; None for any other path."""
    if url == b"/mcp":
        return ""
    if not url.startswith(b"/"):
        try:
            parts = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            return None
        path, query = parts.path, parts.query or b""
    else:
        path, _, query = url.partition(b"?")
    return query.decode("latin-1") if path in (b"/mcp", b"/mcp/") else None
