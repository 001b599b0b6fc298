"""One HTTP/1.1 connection of a server: a short path for POST /mcp, uvicorn's path for all other requests.

uvicorn's protocol alone has no time limit for a slow peer, and no limit of the number of headers. This subclass keeps
its parser, its flow control and its ASGI cycle. It decides itself how much is read, how long it waits, and when each
response is sent.

A peer may send several requests without waiting for responses. They are kept in a queue of pending requests. The first
one is being answered, and the body of the last one may still be arriving.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import httptools
from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import is_in_networks, is_loopback
from leaguekit.transport.base import NoAnswer, Peer, TooManyRequests
from leaguekit.transport.descriptors import MAX_SERVER_SHARE, are_descriptors_scarce
from leaguekit.transport.server import responses
from leaguekit.transport.server.connection_slots import ConnectionControl
from leaguekit.transport.server.endpoint import Endpoint, Work, encode_response, start_handler
from leaguekit.transport.server.mcp_detection import is_mcp
from leaguekit.transport.server.origin_headers import UNKNOWN_HOST, address_block, peer_address, read_origin_headers
from leaguekit.transport.server.pending_requests import (
    BYTES_BEFORE_ADMISSION,
    AsgiRequest,
    PendingRequest,
    PostRequest,
    Refusal,
    asgi_cycle_of,
    query_of_mcp,
)
from leaguekit.transport.server.request_heads import Head, remembered_head

log = logging.getLogger(__name__)

# The key of the connection in an ASGI scope: scope["extensions"][CONNECTION_EXTENSION][CONNECTION_EXTENSION].
CONNECTION_EXTENSION = "leaguekit.connection"

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
# The sender of a larger message is not identified, because to read the message twice takes long.
_MAX_IDENTIFIED_BYTES = 65_536


class _Flow(FlowControl):
    """Pauses reading while received data is not parsed, also if an application wants more of a body.

    It does not refer to the connection. Otherwise only a garbage collection would free a connection that has ended, and
    collections are rare.
    """

    # Received data that is not parsed yet.
    unread = b""

    def keep(self, data: bytes) -> None:
        """Keep data for later, and read no more until it is taken."""
        self.unread += data
        self.pause_reading()

    def take(self) -> bytes:
        """Remove and return the data that was kept."""
        data, self.unread = self.unread, b""
        return data

    def resume_reading(self) -> None:
        if not self.unread:
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """A connection of a server, from its acceptance to its end."""

    flow: _Flow

    def __init__(
        self, endpoint: Endpoint, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state, asyncio.get_running_loop())
        self._endpoint = endpoint
        self._limits = endpoint.limits
        self._free_bytes = endpoint.mcp_route.free_bytes
        self._peer = Peer("")
        # The address block under which it holds a slot, or None while it holds none.
        self._address: str | None = None
        self._is_proxy = False
        # The known agent that it belongs to, or empty.
        self._agent = ""
        # The address under which a request of this connection waits in the request queue.
        self._queue_address = ""
        # The head of the last request to /mcp, if it can be reused for the next request.
        self._head: Head | None = None
        # The requests to answer, in order. The body of the last one may still be arriving.
        self._pending: deque[PendingRequest] = deque()
        # Whether the first pending request is being answered.
        self._answering = False
        # Whether a call of _continue is scheduled.
        self._is_continue_scheduled = False
        # Whether the peer has ended its input while some data is not parsed yet.
        self._is_eof_unprocessed = False
        self._in_message = False
        # The request to /mcp that is arriving. For other requests, uvicorn has self.cycle.
        self._post: PostRequest | None = None
        # Whether further input is ignored: the last pending request is a refusal, or asked to close the connection.
        self._ignores_input = False
        self._stopping = False
        self._is_stream = False
        self._has_released_slot = False
        # Whether the end of the input has been processed.
        self._is_at_eof = False
        self._is_identified = False
        # Whether the last response has been sent and further input is discarded.
        self._is_closing_early = False
        # The bytes of bodies and of data that is not parsed yet, as they were counted last.
        self._held_bytes = 0
        # Bytes fed to the parser since it last reported the start of a request or a part of a body. They are headers.
        self._bytes_without_progress = 0
        # Bytes of a body that arrived after the response.
        self._skipped_bytes = 0
        # The time by which the peer must act; None while the peer waits for this server.
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        host = self.client[0] if self.client else ""
        name, port = self.server or ("", 0)
        self._peer = Peer(peer_address(host), "", (name, port or 0))
        self._is_proxy = is_in_networks(host, self._endpoint.proxies)
        address = address_block(host)
        scarce = are_descriptors_scarce(transport, MAX_SERVER_SHARE)
        if not self._endpoint.slots.acquire(self, address, scarce=scarce):
            self.close_for_other(at_once=scarce)
            return
        self._address = address
        self._deadline = self.loop.time() + self._limits.idle_seconds
        self._start_timer()

    def close_for_other(self, *, at_once: bool = False) -> None:
        """Close this connection because there are too many. With ``at_once``, do not send a response first."""
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None
        self._ignores_input = True
        self.flow.take()
        if self._post is not None:
            self._post = None
            self._pending.pop()
        pending = self._pending[0] if self._pending else None
        is_answered = isinstance(pending, AsgiRequest) and pending.cycle.response_started
        if at_once or self._is_closing_early or self.unsent() or is_answered or self.transport.is_closing():
            self.transport.abort()
            return
        if isinstance(pending, AsgiRequest):
            # The body of its request will not arrive.
            _disconnect(pending.cycle)
        self.transport.write(responses.TOO_MANY_CONNECTIONS)
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ignores_input = True
        if self._timer is not None:
            self._timer.cancel()
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None
        self._endpoint.queue.remove(self._queue_address, self)
        for pending in self._pending:
            if isinstance(pending, AsgiRequest):
                _disconnect(pending.cycle)
        self._pending.clear()
        super().connection_lost(exc)
        # The cycle refers to this connection.
        self.cycle = None  # type: ignore[assignment]
        self._endpoint.connection_closed.set()

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
        is_cut_off = arriving is not None and not self._drop(arriving)
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
            self._close_after(self._limits.request_seconds if only_mcp else self._limits.linger_seconds)
        return True

    def _drop(self, cycle: RequestResponseCycle) -> bool:
        """Drop a request whose body will not arrive, if it has not been started. Return whether it was dropped."""
        last = self._pending[-1] if len(self._pending) > 1 else None
        is_waiting = isinstance(last, AsgiRequest) and last.cycle is cycle
        if is_waiting:
            self._pending.pop()
        return is_waiting

    def _close_after(self, seconds: float) -> None:
        """Close the connection after a time, and abort it if the peer does not read the rest of its responses."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._close)

    def shutdown(self) -> None:
        """Finish the request that is being answered, and close."""
        self._ignores_input = self._stopping = True
        if not self._answering or self._is_stream:
            self._close()
        elif isinstance(self._pending[0], AsgiRequest):
            self._pending[0].cycle.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        # The server waits for the peer now.
        self._wait_for_peer(self._limits.request_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._deadline = self.loop.time() + self._limits.request_seconds if self._in_message else None
        if self._answering:
            self._mark_busy()
        self._answer_next()

    def _close(self) -> None:
        self.transport.close()
        self._abort_if_slow()

    def _abort_if_slow(self) -> None:
        """Let the peer of a closing connection read its responses, unless another connection needs the slot."""
        if self.unsent():
            self._wait_for_peer(self._limits.request_seconds)
        self._abort_after(self._limits.request_seconds)

    def _abort_after(self, seconds: float) -> None:
        # A peer that does not read its responses would keep a closing connection open for ever.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    # Time limits. Each connection has one timer. It is never moved: it fires no later than any limit that can be set
    # while it runs, and then checks the current limit.

    def _start_timer(self) -> None:
        latest = self.loop.time() + min(self._limits.idle_seconds, self._limits.request_seconds)
        self._timer = self.loop.call_at(
            latest if self._deadline is None else min(self._deadline, latest), self._check_time
        )

    def _check_time(self) -> None:
        if self.transport.is_closing():
            self._abort_after(self._limits.request_seconds)
        elif self._deadline is None or self.loop.time() < self._deadline:
            self._start_timer()
        elif self.flow.write_paused:
            self.transport.abort()
        elif not self._in_message and not self.flow.unread:
            self._close()
        elif self.flow.read_paused:
            # The server itself does not read at the moment.
            self._deadline = self.loop.time() + self._limits.request_seconds
            self._start_timer()
        else:
            self._refuse(responses.TOO_SLOW)

    # Reading

    def data_received(self, data: bytes) -> None:
        at_rest = not (
            self._pending or self.flow.unread or self._in_message or self._ignores_input or self.flow.write_paused
        )
        head = self._head
        if at_rest and head is not None:
            # A request with the same head as the last one is passed to the handler without parsing the head.
            endpoint = self._endpoint
            body = head.body_in(data, self._free_bytes)
            request = None if body is None else RpcRequest(body)
            if (
                request is not None
                and not request.is_batch
                and (endpoint.mcp is None or not is_mcp(request, has_mcp_header=False))
            ):
                result = start_handler(endpoint.mcp_route, request, head.peer)
                if isinstance(result, bytes):
                    self._wait_for_peer(self._limits.idle_seconds)
                    self.transport.write(result)
                else:
                    self._answer_when_done(result, head.peer)
                return
        if self.flow.unread:
            self._keep(data)
            return
        is_busy = self._endpoint.shared_turns.is_busy and (not at_rest or len(data) > _PIECE_BYTES)
        if not self._ignores_input and (
            is_busy or data.count(_VERSION) > 1 or _has_many_lines(data, _MAX_BYTES_PER_TURN)
        ):
            self._keep(data)
            self._continue_soon()
            return
        self._read(data)
        if self._pending:
            if at_rest:
                self._remember_head(data)
            self._answer_next(at_once=True)

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

    def _answer_when_done(self, work: Work, peer: Peer) -> None:
        """Answer a request with a remembered head when its handler is done."""
        post = PostRequest(self._endpoint.mcp_route, b"POST", peer, [], has_mcp_header=False)
        post.is_complete = post.keep_alive = True
        self._deadline = None
        self._pending.append(post)
        self._answer_in_task(post, work)

    def _remember_head(self, data: bytes) -> None:
        """Remember the head of the data, if the data were exactly one request."""
        post = self._pending[0]
        if len(self._pending) > 1 or self._in_message or not isinstance(post, PostRequest) or not post.is_complete:
            return
        if (
            post.route is self._endpoint.mcp_route
            and post.method == b"POST"
            and post.keep_alive
            and not post.has_mcp_header
        ):
            self._head = remembered_head(data, len(post.body), self.url, self.headers, post.peer)

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

    def _keep(self, data: bytes) -> None:
        """Keep data for later. Close the connection if the server holds too many bytes."""
        self.flow.keep(data)
        if not self._count_held_bytes():
            self.close_for_other()

    def _count_held_bytes(self) -> bool:
        """Count the bytes that are held for this connection. Return whether the server may hold them."""
        bodies = sum(len(pending.body) for pending in self._pending if isinstance(pending, PostRequest))
        self._held_bytes = bodies + len(self.flow.unread)
        return self._address is None or self._endpoint.slots.set_held_bytes(self, self._address, self._held_bytes)

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

    def _head_without_upgrade(self) -> bytes:
        """The head of a request without its ``Upgrade`` header.

        Some clients offer HTTP/2 with every first request. The parser would take the body for data of that protocol.
        """
        method = self.parser.get_method()
        self.parser = httptools.HttpRequestParser(self)
        headers = [b"%b: %b\r\n" % header for header in self.headers if header[0].lower() != b"upgrade"]
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self.url, b"".join(headers))

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
            and self._head_bytes() > self._limits.head_bytes
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
        query = "" if self.url == b"/mcp" else query_of_mcp(self.url)
        if query is not None:
            route = endpoint.mcp_route
            peer = peer._replace(query=query) if query else peer
        elif endpoint.routes is not None and method == b"POST":
            route = endpoint.routes.match(self.url)
        if route is None:
            self.client = (peer.host, 0)
            self._asgi_headers_complete()
        else:
            self._post = PostRequest(route, method, peer, self.headers, found.is_mcp)
            self._pending.append(self._post)

    def _forwarded_peer(self, address: str) -> Peer:
        """The peer of a request that a proxy has forwarded.

        A program on this machine that is not a known proxy may forward requests too. They do not come from this
        machine, and their real address is not known.
        """
        if not self._is_proxy:
            self._endpoint.warn_of_proxy(self._peer.host)
        return self._peer._replace(host=(self._is_proxy and peer_address(address)) or UNKNOWN_HOST)

    def _change_address(self, address: str) -> bytes | None:
        """Count a connection of a proxy under the forwarded address. Return a refusal if there is no free slot."""
        # While an earlier request is pending, the connection is counted under the address of that request.
        if self._address is None or self._address == address or self._pending:
            return None
        slots = self._endpoint.slots
        slots.free(self, self._address)
        self._address = address if slots.acquire(self, address) else None
        return responses.TOO_MANY_CONNECTIONS if self._address is None else None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

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

    # The interface for applications (ConnectionControl).

    def release(self) -> None:
        """Give up the slot of this connection until the response is sent, because the request waits for a change."""
        self._has_released_slot = True
        if self._is_at_eof:
            self.end()
        if self._address is not None:
            self._endpoint.slots.release(self, self._address)

    def belongs_to(self, name: str) -> None:
        """Note that this is the connection of a known agent. Such connections are closed last when slots run out."""
        self._agent = name
        if self._address is not None:
            self._endpoint.slots.set_known(self, name)

    def has_gone(self) -> bool:
        """Whether the connection is closed, so that no response can be sent."""
        return self.transport.is_closing()

    # The rest is for streams, after the application has sent the head of the response.

    def become_stream(self) -> None:
        """Stop counting this connection as one with a request in progress. It no longer delays a shutdown."""
        self._is_stream = True
        if self._is_at_eof:
            self.end()
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def unsent(self) -> int:
        """The number of bytes that wait to be sent."""
        return self.transport.get_write_buffer_size()

    def end(self) -> None:
        if not self.transport.is_closing():
            self._close()

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
        elif len(post.body) + len(body) > post.route.max_bytes:
            self._refuse(_too_large(post))
        elif not post.body:
            post.body = body
        else:
            if isinstance(post.body, bytes):
                post.body = bytearray(post.body)
            post.body += body
        if post is not None and len(post.body) > post.free_bytes and not self._ignores_input:
            self._admit(post)

    def _admit(self, post: PostRequest) -> None:
        """Decide by the beginning of a large body whether the rest is read."""
        post.free_bytes = post.route.max_bytes
        admits = post.route.admits
        if admits is not None and not admits(bytes(post.body[:BYTES_BEFORE_ADMISSION]), post.peer):
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

    # Answering

    def _answer_next(self, *, at_once: bool = False) -> None:
        """Start to answer the first pending request. If there is none, wait for input.

        With ``at_once``, the handler of the first request is started before this returns. Only of the first, because
        other connections want to be answered too.
        """
        while self._pending:
            self._continue_reading()
            if self._answering or self.flow.write_paused or self.transport.is_closing():
                return
            pending = self._pending[0]
            if isinstance(pending, AsgiRequest):
                self._start_asgi(pending)
                return
            if not isinstance(pending, PostRequest):
                self._send_and_close(pending)
                return
            if not pending.is_complete:
                self._send_continue(pending)
                break
            answer = self._answer_to(pending, at_once=at_once)
            if answer is None:
                return
            self._send_answer(answer, pending)
            if self._pending:
                self._continue_soon()
                return
        if not self.flow.write_paused and not self.transport.is_closing():
            self._wait_for_more()

    def _wait_for_more(self) -> None:
        if self.flow.unread:
            self._continue_reading()
            return
        # The time limit of an arriving request starts with its first byte, unless this server has paused reading.
        if not self._in_message or self._deadline is None or self.flow.read_paused:
            self._wait_for_peer(self._limits.request_seconds if self._in_message else self._limits.idle_seconds)
        self.flow.resume_reading()

    def _wait_for_peer(self, seconds: float) -> None:
        """Set the time by which the peer must act."""
        if self._address is not None:
            self._endpoint.slots.set_idle(self, self._address)
        self._deadline = self.loop.time() + seconds

    def _start_asgi(self, pending: AsgiRequest, queue_for: str | None = None) -> None:
        """Let the application answer a request. With ``queue_for``, wait in the queue of that address first."""
        if self._address is not None and not self._endpoint.slots.can_make_page(self._address):
            self._refuse_waiting(pending.cycle)
            return
        pending.cycle.scope["extensions"] = {CONNECTION_EXTENSION: {CONNECTION_EXTENSION: self}}
        start = partial(super()._start_asgi_task, pending.cycle, pending.app)
        if queue_for is not None:
            self._queue(queue_for, start, pending.cycle)
            return
        self._answering = True
        self._mark_busy()
        start()

    def _queue(self, address: str, start: Callable[[], None], cycle: RequestResponseCycle | None = None) -> None:
        """Let a request wait in the queue of its address, and then start it. Refuse it if the queue is full."""
        queue = self._endpoint.queue
        if not queue.has_room(address):
            self._refuse_waiting(cycle)
            return
        self._answering = True
        self._mark_busy()
        self._queue_address = address
        queue.add(address, self, start, partial(self._refuse_waiting, cycle))

    def _refuse_waiting(self, cycle: RequestResponseCycle | None = None) -> None:
        """Refuse a request that has not been started, because too many wait."""
        self._answering = False
        self._post = None
        if cycle is not None:
            _disconnect(cycle)
        if not self.transport.is_closing():
            self._wait_for_peer(self._limits.linger_seconds)
            self._send_and_close(responses.TOO_MANY_CONNECTIONS)

    def _answer_to(self, post: PostRequest, *, at_once: bool) -> bytes | None:
        """The response, or None if a task will send it."""
        app, posted = self._endpoint.mcp if post.route is self._endpoint.mcp_route else None, post.method == b"POST"
        request = RpcRequest(bytes(post.body))
        if app is not None and (is_mcp(request, has_mcp_header=post.has_mcp_header) if posted else post.has_mcp_header):
            self._pending[0] = pending = AsgiRequest(asgi_cycle_of(self, post, keep_alive=not self._stopping), app)
            self._start_asgi(pending, self._queue_key(post))
            return None
        if not posted:
            return responses.WRONG_METHOD_HEAD if post.method == b"HEAD" else responses.WRONG_METHOD
        if not self._is_identified:
            self._identify(request)
        if request.is_batch:
            self._queue(
                address_block(post.peer.host),
                lambda: self._answer_in_task(post, post.route.handler(request, post.peer)),
            )
            return None
        if not at_once:
            self._answer_in_task(post, post.route.handler(request, post.peer))
            return None
        came = start_handler(post.route, request, post.peer)
        if isinstance(came, bytes):
            return came
        self._answer_in_task(post, came)
        return None

    def _queue_key(self, post: PostRequest) -> str:
        """The key of an MCP request in the queue: its address. If that is full, a known sender has a key of its own."""
        address, sender_of = address_block(post.peer.host), self._endpoint.mcp_sender_of
        if sender_of is None or self._endpoint.queue.has_room(address):
            return address
        name = sender_of(bytes(post.body[:BYTES_BEFORE_ADMISSION]), post.peer)
        return address if name is None else f"agent {name}"

    def _identify(self, request: RpcRequest) -> None:
        """Find the known agent of this connection by its first message."""
        self._is_identified = True
        identify = self._endpoint.identify
        if identify is not None and len(request.body) <= _MAX_IDENTIFIED_BYTES and (name := identify(request)):
            self.belongs_to(name)

    def _mark_busy(self) -> None:
        """Count this connection as busy, unless the body of its request is still arriving."""
        if self._address is None or self.flow.write_paused:
            return
        pending = self._pending[0]
        if not isinstance(pending, AsgiRequest):
            self._endpoint.slots.set_busy(self, self._address)
        elif not (self._in_message and pending.cycle is self.cycle):
            self._endpoint.slots.set_making_page(self, self._address)

    def _answer_in_task(self, post: PostRequest, work: Work) -> None:
        self._answering = True
        self._mark_busy()
        self._endpoint.answer_tasks[post] = self.loop.create_task(self._answer(post, work))

    async def _answer(self, post: PostRequest, work: Work) -> None:
        try:
            answer = encode_response(await work)
        except TooManyRequests as refused:
            answer = responses.too_many_requests(refused.body, refused.seconds)
        except NoAnswer:
            self.transport.abort()
            return
        except asyncio.CancelledError as error:
            # Either the server is stopping, or something that the handler waited for was cancelled.
            if self.transport.is_closing():
                raise
            answer = self._internal_error_response(post, error)
        except Exception as error:  # noqa: BLE001 - logged
            answer = self._internal_error_response(post, error)
        finally:
            del self._endpoint.answer_tasks[post]
        self._answering = False
        if not self.transport.is_closing():
            self._send_answer(answer, post)
            self._continue_after_answer()

    def _internal_error_response(self, post: PostRequest, error: BaseException) -> bytes:
        log.error("internal error while answering %s", post.peer.host, exc_info=error)
        # JSON-RPC reports errors in the body, with the status 200.
        return responses.with_status(200 if post.route is self._endpoint.mcp_route else 500, responses.INTERNAL_ERROR)

    def on_response_complete(self) -> None:
        self._answering = self._has_released_slot = False
        if self.transport.is_closing():
            self._abort_if_slow()
        else:
            self._pending.popleft()
            self._continue_after_answer()

    def _continue_after_answer(self) -> None:
        """Continue after a response. Further pending requests wait until other connections have had their turn."""
        if self._pending:
            self._continue_soon()
        else:
            self._answer_next()

    def _send_answer(self, answer: bytes, post: PostRequest) -> None:
        self._pending.popleft()
        if post.keep_alive and not self._stopping:
            self.transport.write(answer)
        else:
            self.transport.write(answer.replace(b"\r\n", responses.CONNECTION_CLOSE, 1))
            self._close()
        if self._held_bytes:
            self._count_held_bytes()

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
            _disconnect(cycle)
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
        self._abort_after(self._limits.linger_seconds)


def connection_of(scope: Scope) -> ConnectionControl | None:
    """The connection of an application's request, or None if it did not come through this server."""
    connection: ConnectionControl | None = (
        scope.get("extensions", {}).get(CONNECTION_EXTENSION, {}).get(CONNECTION_EXTENSION)
    )
    return connection


def _has_many_lines(data: bytes, size: int) -> bool:
    """Whether the beginning of data may be many requests, or a body in many chunks."""
    return data.count(b"\r\n", 0, size) > _MAX_LINES


def _too_large(post: PostRequest) -> Refusal:
    def make() -> bytes:
        body = post.route.too_large
        return responses.refusal(b"413 Content Too Large", body if isinstance(body, bytes) else body())

    return make


def _disconnect(cycle: RequestResponseCycle) -> None:
    cycle.disconnected = True
    cycle.message_event.set()
