"""Reads the requests of a connection: pieces of data into the parser, and what the parser reports into requests.

uvicorn's protocol alone has no time limit for a slow peer, and no limit of the number of headers. This subclass keeps
its parser and its ASGI cycle, and decides itself how much is read and when.
"""

from __future__ import annotations

from abc import abstractmethod
from time import perf_counter

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from leaguekit.transport.addresses import is_loopback
from leaguekit.transport.server import responses
from leaguekit.transport.server.connection_base import BaseConnection, disconnect
from leaguekit.transport.server.origin_headers import address_block, read_origin_headers
from leaguekit.transport.server.pending_requests import (
    BYTES_BEFORE_ADMISSION,
    AsgiRequest,
    PostRequest,
    Refusal,
    query_of_mcp,
)

# The size of the pieces in which data is fed to the parser. A limit is noticed at most two pieces late.
_PIECE_BYTES = 4_096
# The same for data with many lines: 4,096 bytes may be two hundred requests, which take milliseconds.
_SMALL_PIECE_BYTES = 512
# The maximum bytes that are parsed in one turn of the loop. A megabyte of tiny requests or chunks takes seconds.
_MAX_BYTES_PER_TURN = 16_384
_MAX_SECONDS_PER_TURN = 0.001
# While more requests than this are pending, received data is not parsed.
_MAX_PENDING = 32
# The maximum bytes of a body that are discarded after the response, if the application has not read the body.
_MAX_SKIPPED_BYTES = 65_536
# Added to the size of each chunk of a discarded body, because a chunk takes time even if it is tiny.
_CHUNK_COST_BYTES = 10
# Occurs once in every request, so that requests in received data can be counted.
_VERSION = b" HTTP/1."
# The maximum number of lines that are parsed at once. Each chunk of a body has two lines.
_MAX_LINES = 64


class RequestReader(BaseConnection):
    """A connection that reads requests, and appends them to the pending ones."""

    # Whether a call of _continue is scheduled.
    _is_continue_scheduled = False
    # Whether the peer has ended its input while some data is not parsed yet.
    _is_eof_unprocessed = False
    # Bytes fed to the parser since it last reported the start of a request or a part of a body. They are headers.
    _bytes_without_progress = 0
    # Bytes of a body that arrived after the response.
    _skipped_bytes = 0

    @abstractmethod
    def _answer_next(self, *, at_once: bool = False) -> None:
        """Start to answer the first pending request. If there is none, wait for input."""

    # Received data

    def _receive(self, data: bytes, *, at_rest: bool) -> bool:
        """Read data, or keep it until it is the turn of this connection. Return whether it was read."""
        is_busy = self._endpoint.shared_turns.is_busy and (not at_rest or len(data) > _PIECE_BYTES)
        if not self._ignores_input and (
            is_busy or data.count(_VERSION) > 1 or _has_many_lines(data, _MAX_BYTES_PER_TURN)
        ):
            self._keep(data)
            self._continue_soon()
            return False
        self._read(data)
        return True

    def _read(self, data: bytes) -> None:
        """Parse some pieces of the data, and the rest after other connections have had their turn."""
        has_many_lines = len(data) > _SMALL_PIECE_BYTES and _has_many_lines(data, _PIECE_BYTES)
        if len(data) <= _PIECE_BYTES and not has_many_lines:
            self._feed(data)
            return
        start, until = 0, perf_counter() + _MAX_SECONDS_PER_TURN
        size = _SMALL_PIECE_BYTES if has_many_lines else _PIECE_BYTES
        while (
            start < min(len(data), _MAX_BYTES_PER_TURN)
            and len(self._pending) <= _MAX_PENDING
            and not self._ignores_input
        ):
            self._feed(data[start : start + size])
            start += size
            if perf_counter() >= until:
                break
        if start < len(data) and not self._ignores_input:
            self._keep(data[start:])
            self._continue_reading()

    def _continue_reading(self) -> None:
        """Schedule the parsing of received data, unless enough requests are pending."""
        if self.flow.unread and len(self._pending) <= _MAX_PENDING:
            self._continue_soon()

    def _continue_soon(self) -> None:
        if not self._is_continue_scheduled:
            self._is_continue_scheduled = True
            self._endpoint.shared_turns.add(self._agent or self._address or "", self._continue)

    def _continue(self) -> None:
        """Parse and answer a little more, after other connections have had their turn."""
        self._is_continue_scheduled = False
        if self.transport.is_closing():
            return
        if self.flow.unread and len(self._pending) <= _MAX_PENDING:
            self._read(self.flow.take())
        self._answer_next()
        if self.flow.unread:
            return
        if self._is_eof_unprocessed:
            self._is_eof_unprocessed = False
            if not self._end_of_input():
                self._close()
        elif len(self._pending) <= 1 and not self.flow.write_paused:
            self.flow.resume_reading()

    def _feed(self, data: bytes) -> None:
        self._bytes_without_progress += len(data)
        while data and not self._ignores_input:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
            except httptools.HttpParserError:
                if not self._ignores_input:
                    self._refuse(responses.BAD_REQUEST)
            else:
                break
        if self._in_message and not self._ignores_input:
            if self._bytes_without_progress > self._limits.head_bytes:
                self._refuse(responses.HEAD_TOO_LARGE)
            elif self._post is not None and not self._post.are_headers_checked:
                self._check_headers(self._post)

        if self._post is not None or self._held_bytes:
            self._count_held_bytes()

    # The end of the input

    def eof_received(self) -> bool:  # type: ignore[override]
        """The peer has ended its input. Received data is parsed first."""
        self._is_eof_unprocessed = bool(self.flow.unread)
        return self._is_eof_unprocessed or self._end_of_input()

    def _end_of_input(self) -> bool:
        """Process the end of the input. Return whether the connection stays open for responses.

        The peer gets the responses to its requests, but not a stream or a response that waits for a change. Whether the
        peer has closed the connection or only its input is not known. So a page gets only ``linger_seconds``, and MCP
        ``request_seconds``.
        """
        arriving = self.cycle if self._in_message and self._post is None else None
        is_cut_off = False
        if arriving is not None:
            # A request whose body will not arrive is dropped, unless it has been started.
            last = self._pending[-1] if len(self._pending) > 1 else None
            is_cut_off = not isinstance(last, AsgiRequest) or last.cycle is not arriving
            if not is_cut_off:
                self._pending.pop()
        self._ignores_input = self._is_at_eof = True
        self._in_message = False
        if self._post is not None:
            self._post = None
            self._pending.pop()
        if not self._pending or is_cut_off or self._is_stream or self._has_released_slot:
            return False
        first, last = self._pending[0], self._pending[-1]
        # A response that has begun and not ended is a stream, except for MCP, whose short responses are events too.
        if isinstance(first, AsgiRequest) and first.cycle.response_started and first.app is not self._endpoint.mcp:
            return False
        if isinstance(last, PostRequest):
            last.keep_alive = False
        elif isinstance(last, AsgiRequest):
            last.cycle.keep_alive = False
        asgi_requests = [pending for pending in self._pending if isinstance(pending, AsgiRequest)]
        if asgi_requests:
            only_mcp = all(pending.app is self._endpoint.mcp for pending in asgi_requests)
            self._set_timer(self._limits.request_seconds if only_mcp else self._limits.linger_seconds, self._close)
        return True

    # Called by the parser

    def on_message_begin(self) -> None:
        if self._ignores_input:
            return
        self.url = b""
        self.headers = []
        self.cycle = None  # type: ignore[assignment]
        self._bytes_without_progress = self._skipped_bytes = 0
        self._in_message = True
        self._deadline = self.loop.time() + self._limits.request_seconds
        if self._pending or self.flow.write_paused:
            self.flow.pause_reading()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._ignores_input:
            return
        # The exact size is computed only if the head may be too large by the number of bytes without progress.
        if (
            self._bytes_without_progress + _PIECE_BYTES > self._limits.head_bytes
            and len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            > self._limits.head_bytes
        ):
            self._refuse(responses.HEAD_TOO_LARGE)
            return
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._refuse(responses.BAD_REQUEST)
            return
        found, peer = read_origin_headers(self.headers), self._peer
        refusal = self._endpoint.host_names.refusal(found)
        if found.forwarded is not None and refusal is None and (self._is_proxy or is_loopback(peer.host)):
            peer = self._forwarded_peer(found.forwarded)
            refusal = self._change_address(address_block(peer.host))
        if refusal is not None:
            self._refuse(refusal)
            return
        endpoint, method, route = self._endpoint, self.parser.get_method(), None
        query = query_of_mcp(self.url)
        if query is not None:
            route = endpoint.mcp_route
            peer = peer._replace(query=query) if query else peer
        elif endpoint.find_route is not None and method == b"POST":
            route = endpoint.find_route(self.url)
        if route is None:
            self.client = (peer.host, 0)
            self._asgi_headers_complete()
        else:
            self._post = PostRequest(route, method, peer, self.headers, found.is_mcp)
            self._pending.append(self._post)

    def _asgi_headers_complete(self) -> None:
        url, headers = self.url, [(name.lower(), value) for name, value in self.headers]
        super().on_message_begin()
        self.url = url
        self.headers += headers
        self.expect_100_continue = any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in headers
        )
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        # uvicorn assumes that no other request is pending, and would start this one at once.
        self._pending.append(AsgiRequest(cycle, app))
        self._answer_next()

    def _run_asgi(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        self._bytes_without_progress = 0
        if self._ignores_input:
            return
        post = self._post
        if post is None:
            super().on_body(body)
            self._skipped_bytes += (_CHUNK_COST_BYTES + len(body)) * self.cycle.response_complete
            if self._skipped_bytes > _MAX_SKIPPED_BYTES:
                self._discard_input()
            return
        route, size = post.route, len(post.body) + len(body)
        if size > route.max_bytes:
            self._refuse(_too_large(post))
            return
        if not post.body:
            post.body = body
        else:
            if isinstance(post.body, bytes):
                post.body = bytearray(post.body)
            post.body += body
        # The server decides by the beginning of a large body whether the rest is read.
        if not post.is_admitted and size > route.free_bytes:
            post.is_admitted = True
            if route.admits_large_body is not None and not route.admits_large_body(
                bytes(post.body[:BYTES_BEFORE_ADMISSION]), post.peer
            ):
                self._refuse(_too_large(post))

    def on_message_complete(self) -> None:
        post, self._post = self._post, None
        # Without a request of either kind, the head had an Upgrade header. It is parsed again without that header.
        if self._ignores_input or (post is None and self.cycle is None):
            return
        self._in_message = False
        if not self.flow.write_paused:
            # An application may have answered before the body was complete.
            self._deadline = None if self._pending else self.loop.time() + self._limits.idle_seconds
        if post is None:
            super().on_message_complete()
            if self._answering:
                self._mark_busy()
            return
        post.is_complete = True
        post.keep_alive = self.parser.should_keep_alive()
        self._ignores_input = not post.keep_alive

    # Checks of the request that is arriving

    def _head_without_upgrade(self) -> bytes:
        """The head of a request without its ``Upgrade`` header.

        Some clients offer HTTP/2 with every first request. The parser would take the body for data of that protocol.
        """
        method = self.parser.get_method()
        self.parser = httptools.HttpRequestParser(self)
        headers = [b"%b: %b\r\n" % header for header in self.headers if header[0].lower() != b"upgrade"]
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self.url, b"".join(headers))

    def _check_headers(self, post: PostRequest) -> None:
        """Check the headers about a body that is still arriving: its length, and ``Expect``."""
        post.are_headers_checked = True
        for name, value in self.headers:
            if name.lower() == b"content-length" and int(value) > post.route.max_bytes:
                self._refuse(_too_large(post))
                return
            if name.lower() == b"expect" and value.lower() == b"100-continue":
                post.expects_continue = True
        if self._pending[0] is post and not self.flow.write_paused:
            self._send_continue(post)

    def _send_continue(self, post: PostRequest) -> None:
        if post.expects_continue and not post.body:
            self.transport.write(responses.CONTINUE)
        post.expects_continue = False

    def _refuse(self, refusal: Refusal) -> None:
        """Send a refusal after the responses to earlier requests, and close. It replaces the arriving request."""
        post, cycle = self._post, self.cycle if self._in_message else None
        self._ignores_input = True
        self._in_message = False
        self._post = None
        if post is not None:
            self._pending.pop()
        elif cycle is not None:
            if cycle.response_started:
                self._close()
                return
            self._pending.pop()
            self._answering = self._answering and bool(self._pending)
            disconnect(cycle)
        self._pending.append(refusal)
        self._answer_next()

    def _send_and_close(self, refusal: Refusal) -> None:
        """Send a refusal, and discard input for a moment. After a reset the peer might not read the refusal."""
        self.transport.write(refusal if isinstance(refusal, bytes) else refusal())
        self._discard_input()

    def _discard_input(self) -> None:
        """Send nothing more, and discard further input."""
        self._pending.clear()
        self._ignores_input = self._is_closing_early = True
        self._in_message = False
        self.flow.take()
        self.transport.write_eof()
        self.flow.resume_reading()
        self._set_timer(self._limits.linger_seconds, self.transport.abort)


def _has_many_lines(data: bytes, size: int) -> bool:
    """Whether the beginning of data may be many requests, or a body in many chunks."""
    return data.count(b"\r\n", 0, size) > _MAX_LINES


def _too_large(post: PostRequest) -> Refusal:
    def make() -> bytes:
        body = post.route.too_large
        return responses.refusal(b"413 Content Too Large", body if isinstance(body, bytes) else body())

    return make
