"""The pool of connections to one host, and the parsing of the answer that arrives on each."""

from __future__ import annotations

import asyncio
import select
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from leaguekit.transport.base import CallerUnable, HttpAnswer, Unreachable
from leaguekit.transport.descriptors import local_fault

MAX_HEAD_BYTES = 32_768
IDLE_SECONDS = 4.0  # uvicorn closes an idle connection after 5
# For this time a connection that was used twice is not checked for input. The event loop notices almost every close
# before the next call, and the check is a system call.
UNCHECKED_SECONDS = 0.5
# The maximum ratio of received bytes to bytes of the body. Small chunks have more overhead than content.
WIRE_BYTES_PER_BODY_BYTE = 8
# The maximum number of pieces of an answer; one more is allowed per this number of bytes. A piece takes 3 µs to read.
MAX_PIECES, BYTES_PER_PIECE = 64, 256
# The bytes that are parsed at once. After that it is checked whether the answer has failed.
_PARSED_AT_ONCE = 4_096
CLOSED = "was cut off: this caller is closed"
MAX_KNOWN_HEADS = 1_024
MAX_KNOWN_HEAD_BYTES = 512
_END_OF_HEAD = b"\r\n\r\n"


class Head(Struct, frozen=True, gc=False):
    """A remembered head of an answer with a content-length, after which the connection is kept open."""

    size: int
    length: int
    status: int
    content_type: str
    session: str


# Peers repeat their heads byte by byte, and the result of parsing a head depends on nothing else. So an answer that is
# a known head and a body of the right length need not be parsed. That takes a tenth of the time.
_known_heads: dict[bytes, Head] = {}


@dataclass(slots=True, eq=False)
class HostPool:
    """The state that calls to one scheme, host and port share: slots for calls, and connections that are kept open."""

    scheme: str
    name: str
    port: int
    # The number of calls that hold a slot. A connection is opened only if none is idle, so that this also limits the
    # number of connections.
    busy: int = 0
    slot_waiters: deque[asyncio.Future[None]] = field(default_factory=deque)
    idle: deque[Connection] = field(default_factory=deque)
    connections: set[Connection] = field(default_factory=set)

    def take_idle(self, now: float) -> Connection | None:
        """Take the idle connection that was used last, if one is usable. Close those that are not."""
        idle = self.idle
        while idle:
            connection = idle.pop()
            seconds = now - connection.idle_since
            # Input on an idle connection means that the peer has closed it or sent unexpected data. A peer that closes
            # after every answer without saying so never gets as far as a second one.
            is_unchecked = connection.is_proven and seconds < UNCHECKED_SECONDS
            if seconds < IDLE_SECONDS and not connection.closed and (is_unchecked or not connection.has_input()):
                return connection
            connection.abort()
        return None

    def release_slot(self) -> None:
        """Release the slot of a call. The call that has waited longest gets it."""
        while self.slot_waiters:
            waiter = self.slot_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.busy -= 1

    def close(self) -> None:
        for waiter in self.slot_waiters:
            if not waiter.done():
                waiter.set_exception(Unreachable(f"{self.name}:{self.port} {CLOSED}"))
        for connection in self.connections:
            connection.fail(CLOSED)


class Connection(asyncio.Protocol):
    """One connection, and the answer that arrives on it."""

    transport: asyncio.Transport

    def __init__(self, host: HostPool, loop: asyncio.AbstractEventLoop) -> None:
        self.host = host
        self.closed_event: asyncio.Future[None] = loop.create_future()
        self.parser = HttpResponseParser(self)
        self.waiter: asyncio.Future[HttpAnswer] | None = None
        self.closed = False
        self.close_reason = "closed the connection without an answer"
        self.keep_alive = False
        self.is_reused = False
        # Whether it was answered again after it had been kept.
        self.is_proven = False
        self.idle_since = 0.0
        self.received_bytes = 0
        # The last data of an answer that is being parsed.
        self.data = b""
        self.max_bytes = 0
        self.display_url = ""
        self.is_in_head = False
        self.has_framing = False
        self.length = 0
        self.content_type = b""
        self.session = b""
        self.body_parts: list[bytes] = []
        self.size = 0
        self.trailer_count = 0

    def ask(self, waiter: asyncio.Future[HttpAnswer], request: bytes, max_bytes: int, display_url: str) -> None:
        self.waiter = waiter
        self.keep_alive = False
        self.received_bytes = 0
        self.max_bytes = max_bytes
        self.display_url = display_url
        self.is_in_head = True
        if self.closed:
            self.fail(self.close_reason)
        else:
            self.transport.write(request)

    def abort(self) -> None:
        self.waiter = None
        self.closed = True
        self.transport.abort()

    def fail(self, reason: str, local_reason: str | None = None) -> None:
        """Fail the active call, if there is one, and close. ``local_reason`` says why this machine is the cause."""
        if self.waiter is not None and not self.waiter.done():
            failure = (
                Unreachable(f"{self.display_url} {reason}", connected=True)
                if local_reason is None
                else CallerUnable(self.display_url, local_reason)
            )
            self.waiter.set_exception(failure)
        self.abort()

    def _finish(self, answer: HttpAnswer, *, keep_alive: bool) -> None:
        waiter, self.waiter = self.waiter, None
        self.keep_alive = keep_alive
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _parsed_answer(self) -> HttpAnswer:
        """The answer from the events of the parser."""
        body_parts, self.body_parts = self.body_parts, []
        body = body_parts[0] if len(body_parts) == 1 else b"".join(body_parts)
        content_type = self.content_type.partition(b";")[0].strip().lower().decode("latin-1")
        return HttpAnswer(self.parser.get_status_code(), body, content_type, self.session.decode("latin-1"))

    def _remember_head(self, answer: HttpAnswer) -> None:
        """Remember the head of an answer that was exactly the received data."""
        data, self.data = self.data, b""
        size = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
        fields = data[:size].lower()
        if (
            size <= MAX_KNOWN_HEAD_BYTES
            and len(data) == self.received_bytes == size + self.length
            and len(answer.body) == self.length  # some answers have no body in spite of their content-length
            and fields.count(b"content-length") == 1
            and b"transfer-encoding" not in fields
        ):
            if len(_known_heads) >= MAX_KNOWN_HEADS:
                _known_heads.clear()
            _known_heads[data[:size]] = Head(size, self.length, answer.status, answer.content_type, answer.session)

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's transport is not a subclass
        self.has_input = _make_input_check(transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        if self.waiter is None:
            self.close_reason = "spoke before it was asked"
            self.abort()
            return
        if not self.received_bytes:
            head = _known_heads.get(data[: data.find(_END_OF_HEAD) + len(_END_OF_HEAD)])
            if head is not None and head.length == len(data) - head.size and head.length <= self.max_bytes:
                self.received_bytes = len(data)
                self._finish(
                    HttpAnswer(head.status, data[head.size :], head.content_type, head.session), keep_alive=True
                )
                return
        self.received_bytes += len(data)
        self.data = data
        try:
            if self.is_in_head and self.received_bytes > MAX_HEAD_BYTES:
                allowed_bytes = MAX_HEAD_BYTES - (self.received_bytes - len(data))
                self.parser.feed_data(data[:allowed_bytes])
                if self.is_in_head:
                    self.fail(f"sent more than {MAX_HEAD_BYTES:,} bytes of headers")
                    return
                data = data[allowed_bytes:]
            for start in range(0, len(data), _PARSED_AT_ONCE):
                if not self.closed:
                    self.parser.feed_data(data[start : start + _PARSED_AT_ONCE])
        except (HttpParserError, HttpParserUpgrade) as error:
            self.fail(f"sent something that is not HTTP/1.1: {error}")
        if self.received_bytes > MAX_HEAD_BYTES + WIRE_BYTES_PER_BODY_BYTE * self.max_bytes:
            self.fail(f"sent {self.received_bytes:,} bytes, and its answer was still not complete")

    def eof_received(self) -> None:
        self.closed = True
        if self.waiter is not None and not self.is_in_head and not self.has_framing:
            self._finish(self._parsed_answer(), keep_alive=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.host.connections.discard(self)
        if self in self.host.idle:
            self.host.idle.remove(self)
        if self.waiter is not None:
            action, local_reason = "closed" if exc is None else "reset", local_fault(exc)
            if self.received_bytes:
                self.fail(f"{action} the connection in the middle of its answer", local_reason)
            elif self.is_reused:
                self.fail(f"{action} a kept connection just as it was used again", local_reason)
            else:
                self.fail(f"{action} the connection without an answer", local_reason)
        self.closed_event.set_result(None)
        # The parser refers to this connection, which would wait for a garbage collection.
        del self.parser

    # Callbacks of the parser. After the answer is complete or has failed, there may be further calls. They are ignored.

    def on_message_begin(self) -> None:
        if self.waiter is None:
            self.abort()
        self.has_framing = False
        self.length = 0
        self.content_type = b""
        self.session = b""
        self.body_parts = []
        self.size = self.trailer_count = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_in_head:
            # Trailers after the body are counted and ignored.
            self.trailer_count += 1
            if self.trailer_count > MAX_PIECES:
                self.fail(f"sent more than {MAX_PIECES} headers behind its answer")
        else:
            name = name.lower()
            if name == b"content-type":
                self.content_type = value
            elif name == b"mcp-session-id":
                self.session = value
            elif name == b"transfer-encoding":
                self.has_framing = True
            elif name == b"content-length":
                self.has_framing = True
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
            self.is_in_head = False

    def on_body(self, data: bytes) -> None:
        if self.waiter is not None:
            self.body_parts.append(data)
            self.size += len(data)
            if self.size > self.max_bytes:
                self.body_parts = []
                self.fail(f"sent more than {self.max_bytes:,} bytes")
            elif len(self.body_parts) > MAX_PIECES + self.max_bytes // BYTES_PER_PIECE:
                self.fail(f"sent its answer in more than {len(self.body_parts) - 1:,} pieces")

    def on_message_complete(self) -> None:
        if self.waiter is not None and not self.is_in_head:
            answer, keep_alive = self._parsed_answer(), self.parser.should_keep_alive()
            if keep_alive:
                self._remember_head(answer)
            self._finish(answer, keep_alive=keep_alive)


def _make_input_check(descriptor: int) -> Callable[[], object]:
    """Return a function that says, without waiting, whether a descriptor has input or is at its end."""
    if sys.platform == "win32":
        return lambda: select.select([descriptor], [], [], 0)[0]
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return partial(poll.poll, 0)
