"""Connections to one host, as the caller keeps them, and the answer that is arriving on each."""

from __future__ import annotations

import asyncio
import select
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from leaguekit.transport.base import CallerUnable, HttpAnswer, Unreachable
from leaguekit.transport.descriptors import local_fault

MAX_HEAD_BYTES = 32_768
IDLE_SECONDS = 4.0  # uvicorn closes an idle connection after 5
# Small chunks cost more on the wire than they carry; what nobody stores is only bounded.
WIRE_BYTES_PER_BODY_BYTE = 8
# The maximum number of pieces of an answer, and the bytes that allow one more. To read a piece takes 3 µs.
MAX_PIECES, BYTES_PER_PIECE = 64, 256
# The bytes that are parsed before the next look at whether the answer has failed.
_PARSED_AT_ONCE = 4_096
CLOSED = "was cut off: this caller is closed"
MAX_KNOWN_HEADS = 1_024
MAX_KNOWN_HEAD_BYTES = 512
_END_OF_HEAD = b"\r\n\r\n"


class Head(Struct, frozen=True, gc=False):
    """What is known of an answer's head: it has a length, and the connection is kept."""

    size: int
    length: int
    status: int
    content_type: str
    session: str


# Peers repeat their heads to the byte. What the parser makes of one depends on nothing else, so that an answer which
# is a head known here, and just so much as that announces, need not be parsed: it takes a tenth of the time.
_known_heads: dict[bytes, Head] = {}


class HostPool:
    """What is shared by the calls to one scheme, host and port: turns, and the connections that are kept."""

    __slots__ = ("busy", "connections", "idle", "name", "port", "scheme", "waiting")

    def __init__(self, scheme: str, name: str, port: int) -> None:
        self.scheme = scheme
        self.name = name
        self.port = port
        # Calls that have a turn. A connection is opened only if none is idle, so that turns bound connections too.
        self.busy = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.idle: deque[Connection] = deque()
        self.connections: set[Connection] = set()

    def kept(self, now: float) -> Connection | None:
        """The connection that was used last, if one is fit to be used again."""
        idle = self.idle
        while idle:
            connection = idle.pop()
            # If it has input, the peer has closed it or sent what nobody asked for, and the loop has not seen it yet.
            if now - connection.idle_since < IDLE_SECONDS and not connection.closed and not connection.input():
                return connection
            connection.abort()
        return None

    def leave(self) -> None:
        """End a turn: it passes to whoever has waited longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.busy -= 1

    def close(self) -> None:
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_exception(Unreachable(f"{self.name}:{self.port} {CLOSED}"))
        for connection in self.connections:
            connection.fail(CLOSED)


class Connection(asyncio.Protocol):
    """One connection, and the answer that is arriving on it."""

    transport: asyncio.Transport

    def __init__(self, host: HostPool, loop: asyncio.AbstractEventLoop) -> None:
        self.host = host
        self.gone: asyncio.Future[None] = loop.create_future()
        self.parser = HttpResponseParser(self)
        self.waiter: asyncio.Future[HttpAnswer] | None = None
        self.closed = False
        self.ended = "closed the connection without an answer"
        self.keep = False
        self.used = False
        self.idle_since = 0.0
        self.arrived = 0
        # What arrived last of an answer that is being parsed.
        self.data = b""
        self.max_bytes = 0
        self.shown = ""
        self.in_head = False
        self.has_end = False
        self.length = 0
        self.content_type = b""
        self.session = b""
        self.parts: list[bytes] = []
        self.size = 0
        self.trailers = 0

    def ask(self, waiter: asyncio.Future[HttpAnswer], request: bytes, max_bytes: int, shown: str) -> None:
        self.waiter = waiter
        self.keep = False
        self.arrived = 0
        self.max_bytes = max_bytes
        self.shown = shown
        self.in_head = True
        if self.closed:
            self.fail(self.ended)
        else:
            self.transport.write(request)

    def abort(self) -> None:
        self.waiter = None
        self.closed = True
        self.transport.abort()

    def fail(self, what: str, own: str | None = None) -> None:
        """End the call under way, if there is one, and the connection with it; ``own`` says why that is our fault."""
        if self.waiter is not None and not self.waiter.done():
            failure = (
                Unreachable(f"{self.shown} {what}", connected=True) if own is None else CallerUnable(self.shown, own)
            )
            self.waiter.set_exception(failure)
        self.abort()

    def _finish(self, answer: HttpAnswer, *, keep: bool) -> None:
        waiter, self.waiter = self.waiter, None
        self.keep = keep
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _parsed(self) -> HttpAnswer:
        """The answer as the parser has told it."""
        parts, self.parts = self.parts, []
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        content_type = self.content_type.partition(b";")[0].strip().lower().decode("latin-1")
        return HttpAnswer(self.parser.get_status_code(), body, content_type, self.session.decode("latin-1"))

    def _remember_head(self, answer: HttpAnswer) -> None:
        """Remember the head of an answer that came whole, at once and alone."""
        data, self.data = self.data, b""
        size = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
        fields = data[:size].lower()
        if (
            size <= MAX_KNOWN_HEAD_BYTES
            and len(data) == self.arrived == size + self.length
            and len(answer.body) == self.length  # some have none, whatever they announce
            and fields.count(b"content-length") == 1
            and b"transfer-encoding" not in fields
        ):
            if len(_known_heads) >= MAX_KNOWN_HEADS:
                _known_heads.clear()
            _known_heads[data[:size]] = Head(size, self.length, answer.status, answer.content_type, answer.session)

    # What the loop tells us.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self.input = _input_at(transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        if self.waiter is None:
            self.ended = "spoke before it was asked"
            self.abort()
            return
        if not self.arrived:
            head = _known_heads.get(data[: data.find(_END_OF_HEAD) + len(_END_OF_HEAD)])
            if head is not None and head.length == len(data) - head.size and head.length <= self.max_bytes:
                self.arrived = len(data)
                self._finish(HttpAnswer(head.status, data[head.size :], head.content_type, head.session), keep=True)
                return
        self.arrived += len(data)
        self.data = data
        try:
            if self.in_head and self.arrived > MAX_HEAD_BYTES:
                room = MAX_HEAD_BYTES - (self.arrived - len(data))
                self.parser.feed_data(data[:room])
                if self.in_head:
                    self.fail(f"sent more than {MAX_HEAD_BYTES:,} bytes of headers")
                    return
                data = data[room:]
            for start in range(0, len(data), _PARSED_AT_ONCE):
                if not self.closed:
                    self.parser.feed_data(data[start : start + _PARSED_AT_ONCE])
        except (HttpParserError, HttpParserUpgrade) as error:
            self.fail(f"sent something that is not HTTP/1.1: {error}")
        if self.arrived > MAX_HEAD_BYTES + WIRE_BYTES_PER_BODY_BYTE * self.max_bytes:
            self.fail(f"sent {self.arrived:,} bytes, and its answer was still not complete")

    def eof_received(self) -> None:
        self.closed = True
        if self.waiter is not None and not self.in_head and not self.has_end:
            self._finish(self._parsed(), keep=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.host.connections.discard(self)
        if self in self.host.idle:
            self.host.idle.remove(self)
        if self.waiter is not None:
            how, own = "closed" if exc is None else "reset", local_fault(exc)
            if self.arrived:
                self.fail(f"{how} the connection in the middle of its answer", own)
            elif self.used:
                self.fail(f"{how} a kept connection just as it was used again", own)
            else:
                self.fail(f"{how} the connection without an answer", own)
        self.gone.set_result(None)

    # What the parser tells us. After the answer is complete, or has failed, it may still go on: nothing is heard then.

    def on_message_begin(self) -> None:
        if self.waiter is None:
            self.abort()
        self.has_end = False
        self.length = 0
        self.content_type = b""
        self.session = b""
        self.parts = []
        self.size = self.trailers = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.in_head:
            # Behind the body there may be further headers, which are of no use.
            self.trailers += 1
            if self.trailers > MAX_PIECES:
                self.fail(f"sent more than {MAX_PIECES} headers behind its answer")
        else:
            name = name.lower()
            if name == b"content-type":
                self.content_type = value
            elif name == b"mcp-session-id":
                self.session = value
            elif name == b"transfer-encoding":
                self.has_end = True
            elif name == b"content-length":
                self.has_end = True
                self.length = int(value)
                if self.length > self.max_bytes:
                    self.fail(f"announced an answer of {self.length:,} bytes; at most {self.max_bytes:,} are taken")

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if status == 101:
            self.fail("switched to another protocol")
        elif self.parser.get_http_version() not in {"1.1", "1.0"}:
            self.fail(f"answered in HTTP/{self.parser.get_http_version()}")
        elif status >= 200:
            self.in_head = False

    def on_body(self, data: bytes) -> None:
        if self.waiter is not None:
            self.parts.append(data)
            self.size += len(data)
            if self.size > self.max_bytes:
                self.parts = []
                self.fail(f"sent more than {self.max_bytes:,} bytes")
            elif len(self.parts) > MAX_PIECES + self.max_bytes // BYTES_PER_PIECE:
                self.fail(f"sent its answer in more than {len(self.parts) - 1:,} pieces")

    def on_message_complete(self) -> None:
        if self.waiter is not None and not self.in_head:
            answer, keep = self._parsed(), self.parser.should_keep_alive()
            if keep:
                self._remember_head(answer)
            self._finish(answer, keep=keep)


def _input_at(descriptor: int) -> Callable[[], object]:
    """What says whether there is anything to read, or the end, without waiting."""
    if sys.platform == "win32":
        return lambda: select.select([descriptor], [], [], 0)[0]
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return partial(poll.poll, 0)
