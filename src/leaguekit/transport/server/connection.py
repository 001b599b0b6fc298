"""One HTTP/1.1 connection of a server: the short way for POST /mcp, uvicorn's way for everything else, limits for both.

uvicorn's protocol alone waits for as long as a peer likes and takes any number of headers. This subclass keeps its
parser, its flow control and its ASGI cycle, and decides itself what is read, how long, and what is answered when.

Requests that came together stand in a queue of turns; the first is being answered, the last may still be arriving.
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
from leaguekit.transport.descriptors import MAX_SERVER_SHARE, is_scarce
from leaguekit.transport.server import responses as answers
from leaguekit.transport.server.connection_slots import ConnectionControl
from leaguekit.transport.server.endpoint import Endpoint, Work, encode_response, start_handler
from leaguekit.transport.server.mcp_detection import is_mcp
from leaguekit.transport.server.origin_headers import UNKNOWN_HOST, address_block, peer_address, read_origin_headers
from leaguekit.transport.server.pending_requests import (
    FREE_BYTES,
    AsgiRequest,
    PendingRequest,
    PostRequest,
    Refusal,
    asgi_cycle_of,
    query_of_mcp,
)
from leaguekit.transport.server.request_heads import Head, plain_head

log = logging.getLogger(__name__)

# Under this name an ASGI application finds its connection among its scope's extensions: that of this name has it.
CONNECTION_EXTENSION = "leaguekit.line"

# Data goes to the parser in pieces, so that a limit is noticed at most two pieces late.
_PIECE = 4_096
# The same for data with many lines: 4,096 bytes may be two hundred requests, which take milliseconds.
_SMALL_PIECE = 512
# The bytes that are read in one turn of the loop. A megabyte of tiny requests or chunks takes seconds.
_AT_ONCE = 16_384
_SECONDS_AT_ONCE = 0.001
# With more requests than these to answer, what was received waits.
_MAX_PENDING = 32
# The bytes that are read after the answer, of a body that the application has not read.
_MAX_SKIPPED = 65_536
# A chunk of a body counts as longer, because each takes its time.
_CHUNK = 10
# What every request has once, and how many lines are read at once: each chunk of a body has two.
_VERSION = b" HTTP/1."
_MAX_LINES = 64
# By a larger message nobody is identified: to read it twice takes long.
_MAX_IDENTIFIED = 65_536


class _Flow(FlowControl):
    """Lets a peer send on only when what it has sent was read, also if an application wants more of a body."""

    def __init__(self, transport: asyncio.Transport, has_unread: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._has_unread = has_unread

    def resume_reading(self) -> None:
        if not self._has_unread():
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self, endpoint: Endpoint, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state, asyncio.get_running_loop())
        self._endpoint = endpoint
        self._limits = endpoint.limits
        self._free_bytes = endpoint.place.free_bytes
        self._peer = Peer("")
        # What it counts as in the room, while it is there.
        self._address: str | None = None
        self._is_proxy = False
        # The known agent that it belongs to.
        self._agent = ""
        # The address for which a request waits in the queue.
        self._queued_for = ""
        # That of the last request to /mcp that came by itself.
        self._head: Head | None = None
        # What is to be answered, in order; of the last one the body may still be arriving.
        self._pending: deque[PendingRequest] = deque()
        # The first turn is under way.
        self._answering = False
        # What was received and is not read yet, and whether more is soon read and answered.
        self._unread = b""
        self._continues = False
        # The peer has sent all that it sends, and some of it is not read yet.
        self._ends = False
        self._in_message = False
        # The request to /mcp that is arriving; uvicorn's self.cycle is the same for other requests.
        self._post: PostRequest | None = None
        # Nothing more is read: the last turn is a refusal, or a request that wants to be the last.
        self._ignores_input = False
        self._stopping = False
        self._is_stream = False
        self._waits_for_news = False
        # The peer has said that it sends nothing more.
        self._is_at_eof = False
        self._is_identified = False
        # The last word has been said, and what still comes is thrown away.
        self._is_closing_early = False
        # The bytes of bodies that it counts as holding.
        self._held = 0
        # Bytes in whole pieces since the parser last showed a beginning or a body: headers, so far.
        self._unseen_bytes = 0
        # Bytes that were read of a body after the answer.
        self._skipped = 0
        # Until when the peer may take its time; None while it waits for us.
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, lambda: bool(self._unread))
        host = self.client[0] if self.client else ""
        name, port = self.server or ("", 0)
        self._peer = Peer(peer_address(host), "", (name, port or 0))
        self._is_proxy = is_in_networks(host, self._endpoint.proxies)
        address = address_block(host)
        scarce = is_scarce(transport, MAX_SERVER_SHARE)
        if not self._endpoint.slots.acquire(self, address, scarce=scarce):
            self.close_for_other(at_once=scarce)
            return
        self._address = address
        self._deadline = self.loop.time() + self._limits.idle_seconds
        self._start_timer()

    def close_for_other(self, *, at_once: bool = False) -> None:
        """There are too many connections; ``at_once`` says that not even a last word may hold the descriptor."""
        self._address = None
        self._ignores_input = True
        if self._post is not None:
            self._post = None
            self._pending.pop()
        turn = self._pending[0] if self._pending else None
        is_answered = isinstance(turn, AsgiRequest) and turn.cycle.response_started
        if at_once or self._is_closing_early or self.unsent() or is_answered or self.transport.is_closing():
            self.transport.abort()
            return
        if isinstance(turn, AsgiRequest):
            # The body of its request does not come.
            _disconnect(turn.cycle)
        self.transport.write(answers.TOO_MANY_CONNECTIONS)
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ignores_input = True
        if self._timer is not None:
            self._timer.cancel()
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None
        self._endpoint.queue.remove(self._queued_for, self)
        for turn in self._pending:
            if isinstance(turn, AsgiRequest):
                _disconnect(turn.cycle)
        self._pending.clear()
        super().connection_lost(exc)
        self._endpoint.gone.set()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The peer sends nothing more. What it has sent is read first."""
        self._ends = bool(self._unread)
        return self._ends or self._end_of_input()

    def _end_of_input(self) -> bool:
        """Whether the peer still gets something: it gets its answers, but no stream and no news.

        Whether it has gone cannot be told before that. So a page has ``linger_seconds``, MCP ``request_seconds``.
        """
        arriving = self.cycle if self._in_message and self._post is None else None
        is_cut_off = arriving is not None and not self._drop(arriving)
        self._ignores_input = self._is_at_eof = True
        self._in_message = False
        if self._post is not None:
            self._post = None
            self._pending.pop()
        if not self._pending or is_cut_off or self._is_stream or self._waits_for_news:
            return False
        first, last = self._pending[0], self._pending[-1]
        # A page that has begun and not ended is a stream. MCP answers in events, also where it is no stream.
        if isinstance(first, AsgiRequest) and first.cycle.response_started and first.app is not self._endpoint.mcp:
            return False
        if isinstance(last, PostRequest):
            last.keep_alive = False
        elif isinstance(last, AsgiRequest):
            last.cycle.keep_alive = False
        others = [turn for turn in self._pending if isinstance(turn, AsgiRequest)]
        if others:
            only_mcp = all(turn.app is self._endpoint.mcp for turn in others)
            self._end_after(self._limits.request_seconds if only_mcp else self._limits.linger_seconds)
        return True

    def _drop(self, cycle: RequestResponseCycle) -> bool:
        """Forget a request whose body does not come, if it has not begun."""
        last = self._pending[-1] if len(self._pending) > 1 else None
        is_waiting = isinstance(last, AsgiRequest) and last.cycle is cycle
        if is_waiting:
            self._pending.pop()
        return is_waiting

    def _end_after(self, seconds: float) -> None:
        """Close the connection after a time, and cut it off if its peer does not take what is left for it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._close)

    def shutdown(self) -> None:
        """Finish what is being answered, and nothing else."""
        self._ignores_input = self._stopping = True
        if not self._answering or self._is_stream:
            self._close()
        elif isinstance(self._pending[0], AsgiRequest):
            self._pending[0].cycle.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        # It is the peer that is waited for.
        self._wait_for_peer(self._limits.request_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._deadline = self.loop.time() + self._limits.request_seconds if self._in_message else None
        if self._answering:
            self._is_busy()
        self._answer_next()

    def _close(self) -> None:
        self.transport.close()
        self._abort_if_slow()

    def _abort_if_slow(self) -> None:
        """Let the peer of a closing connection take what is left for it, unless another needs its place."""
        if self.unsent():
            self._wait_for_peer(self._limits.request_seconds)
        self._abort_after(self._limits.request_seconds)

    def _abort_after(self, seconds: float) -> None:
        # Whoever does not take what is left for it would keep a closing connection for ever.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    # Patience: one timer a connection, which need not move, for no limit set while it runs can end before it.

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
        elif not self._in_message and not self._unread:
            self._close()
        elif self.flow.read_paused:
            # It is we who do not read.
            self._deadline = self.loop.time() + self._limits.request_seconds
            self._start_timer()
        else:
            self._refuse(answers.TOO_SLOW)

    # Reading

    def data_received(self, data: bytes) -> None:
        at_rest = not (
            self._pending or self._unread or self._in_message or self._ignores_input or self.flow.write_paused
        )
        head = self._head
        if at_rest and head is not None:
            # The next request with the same head is passed on without a look at the rest.
            endpoint = self._endpoint
            body = head.body_in(data, self._free_bytes)
            request = None if body is None else RpcRequest(body)
            if (
                request is not None
                and not request.is_batch
                and (endpoint.mcp is None or not is_mcp(request, has_mcp_header=False))
            ):
                came = start_handler(endpoint.place, request, head.peer)
                if isinstance(came, bytes):
                    self._wait_for_peer(self._limits.idle_seconds)
                    self.transport.write(came)
                else:
                    self._wait_for(came, head.peer)
                return
        if self._unread:
            self._unread += data
            self.flow.pause_reading()
            return
        is_busy = self._endpoint.shared_turns.is_busy and (not at_rest or len(data) > _PIECE)
        if not self._ignores_input and (is_busy or data.count(_VERSION) > 1 or _has_many_lines(data, _AT_ONCE)):
            self._unread = data
            self.flow.pause_reading()
            self._continue_soon()
            return
        self._read(data)
        if self._pending:
            if at_rest:
                self._remember(data)
            self._answer_next(at_once=True)

    def _read(self, data: bytes) -> None:
        """Read some pieces of the data, and the rest when others have had their turn."""
        if len(data) <= _SMALL_PIECE or (len(data) <= _PIECE and not _has_many_lines(data, _PIECE)):
            self._feed(data)
            return
        start, until = 0, perf_counter() + _SECONDS_AT_ONCE
        size = _SMALL_PIECE if _has_many_lines(data, _PIECE) else _PIECE
        while start < min(len(data), _AT_ONCE) and len(self._pending) <= _MAX_PENDING and not self._ignores_input:
            self._feed(data[start : start + size])
            start += size
            if perf_counter() >= until:
                break
        if start < len(data) and not self._ignores_input:
            self._unread = data[start:]
            self.flow.pause_reading()
            self._read_on()

    def _read_on(self) -> None:
        """Read more of what was received, unless there is enough to answer."""
        if self._unread and len(self._pending) <= _MAX_PENDING:
            self._continue_soon()

    def _continue_soon(self) -> None:
        if not self._continues:
            self._continues = True
            self._endpoint.shared_turns.add(self._agent or self._address or "", self._continue)

    def _continue(self) -> None:
        """Read and answer a little more, after others have had their turn."""
        self._continues = False
        if self.transport.is_closing():
            return
        if self._unread and len(self._pending) <= _MAX_PENDING:
            data, self._unread = self._unread, b""
            self._read(data)
        self._answer_next()
        if self._unread:
            return
        if self._ends:
            self._ends = False
            if not self._end_of_input():
                self._close()
        elif len(self._pending) <= 1 and not self.flow.write_paused:
            self.flow.resume_reading()

    def _wait_for(self, work: Work, peer: Peer) -> None:
        """Answer such a request when the work is done."""
        post = PostRequest(self._endpoint.place, b"POST", peer, [], has_mcp_header=False)
        post.whole = post.keep_alive = True
        self._deadline = None
        self._pending.append(post)
        self._finish(post, work)

    def _remember(self, data: bytes) -> None:
        """Remember the head of data that were one request, for the next one."""
        post = self._pending[0]
        if len(self._pending) > 1 or self._in_message or not isinstance(post, PostRequest) or not post.whole:
            return
        if (
            post.place is self._endpoint.place
            and post.method == b"POST"
            and post.keep_alive
            and not post.has_mcp_header
        ):
            self._head = plain_head(data, len(post.body), self.url, self.headers, post.peer)

    def _feed(self, data: bytes) -> None:
        self._unseen_bytes += len(data)
        while data and not self._ignores_input:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._without_offer() + data[upgrade.args[0] :]
            except httptools.HttpParserError:
                if not self._ignores_input:
                    self._refuse(answers.BAD_REQUEST)
            else:
                break
        if self._in_message and not self._ignores_input:
            if self._unseen_bytes > self._limits.head_bytes:
                self._refuse(answers.HEAD_TOO_LARGE)
            elif self._post is not None and not self._post.looked_at:
                self._look_at(self._post)

        if self._post is not None or self._held:
            self._count_held()

    def _count_held(self) -> None:
        self._held = sum(len(turn.body) for turn in self._pending if isinstance(turn, PostRequest))
        if self._address is not None:
            self._endpoint.slots.set_body_bytes(self, self._address, self._held)

    def _look_at(self, post: PostRequest) -> None:
        """What the headers say about a body; of no interest when the body came with them."""
        post.looked_at = True
        for name, value in self.headers:
            if name.lower() == b"content-length" and int(value) > post.place.max_bytes:
                self._refuse(_too_large(post))
                return
            if name.lower() == b"expect" and value.lower() == b"100-continue":
                post.expects = True
        if self._pending[0] is post and not self.flow.write_paused:
            self._send_continue(post)

    def _without_offer(self) -> bytes:
        """The head of a request that offers to speak another protocol, as if it did not.

        Some clients offer HTTP/2 with every first request; the parser would take its body for that protocol.
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
        self._unseen_bytes = self._skipped = 0
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
        # Only where the pieces do not already show that the head is small is it worth adding up.
        if self._unseen_bytes + _PIECE > self._limits.head_bytes and self._head_bytes() > self._limits.head_bytes:
            self._refuse(answers.HEAD_TOO_LARGE)
            return
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._refuse(answers.BAD_REQUEST)
            return
        found, peer = read_origin_headers(self.headers), self._peer
        refusal = self._endpoint.names.refusal(found)
        if found.forwarded is not None and refusal is None and (self._is_proxy or is_loopback(peer.host)):
            peer = self._passed_on_for(found.forwarded)
            refusal = self._change_address(address_block(peer.host))
        if refusal is not None:
            self._refuse(refusal)
            return
        endpoint, method, place = self._endpoint, self.parser.get_method(), None
        query = "" if self.url == b"/mcp" else query_of_mcp(self.url)
        if query is not None:
            place = endpoint.place
            peer = peer._replace(query=query) if query else peer
        elif endpoint.routes is not None and method == b"POST":
            place = endpoint.routes.place(self.url)
        if place is None:
            self.client = (peer.host, 0)
            self._other_headers_complete()
        else:
            self._post = PostRequest(place, method, peer, self.headers, found.is_mcp)
            self._pending.append(self._post)

    def _passed_on_for(self, address: str) -> Peer:
        """Whom a proxy speaks for.

        What another program of this machine passes on is not from here; from where is not known.
        """
        if not self._is_proxy:
            self._endpoint.warn_of_proxy(self._peer.host)
        return self._peer._replace(host=(self._is_proxy and peer_address(address)) or UNKNOWN_HOST)

    def _change_address(self, address: str) -> bytes | None:
        """Count this connection of a proxy's under the address that it speaks for; a refusal if there is no room."""
        # While an earlier request is being answered, it counts as that one does.
        if self._address is None or self._address == address or self._pending:
            return None
        slots = self._endpoint.slots
        slots.free(self, self._address)
        self._address = address if slots.acquire(self, address) else None
        return answers.TOO_MANY_CONNECTIONS if self._address is None else None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _other_headers_complete(self) -> None:
        url, headers = self.url, [(name.lower(), value) for name, value in self.headers]
        super().on_message_begin()
        self.url = url
        self.headers += headers
        self.expect_100_continue = any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in headers
        )
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        # uvicorn believes that there is no request before this one, and starts it at once.
        self._pending.append(AsgiRequest(cycle, app))
        self._answer_next()

    # What an application may do with its connection.

    def release(self) -> None:
        """The request waits for news: until it is answered, others may have the place of its connection."""
        self._waits_for_news = True
        if self._is_at_eof:
            self.end()
        if self._address is not None:
            self._endpoint.slots.release(self, self._address)

    def belongs_to(self, name: str) -> None:
        """It is the connection of a known agent, and is kept before those of others."""
        self._agent = name
        if self._address is not None:
            self._endpoint.slots.set_known(self, name)

    def has_gone(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.transport.is_closing()

    # What it may do once it has sent the head of an answer: stream at its own pace.

    def become_stream(self) -> None:
        """It no longer counts as a connection that is being answered, and does not hold up stopping."""
        self._is_stream = True
        if self._is_at_eof:
            self.end()
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def unsent(self) -> int:
        """How many bytes wait for the peer to take them."""
        return self.transport.get_write_buffer_size()

    def end(self) -> None:
        if not self.transport.is_closing():
            self._close()

    def on_body(self, body: bytes) -> None:
        self._unseen_bytes = 0
        if self._ignores_input:
            return
        post = self._post
        if post is None:
            super().on_body(body)
            self._skipped += (_CHUNK + len(body)) * self.cycle.response_complete
            if self._skipped > _MAX_SKIPPED:
                self._end_early()
        elif len(post.body) + len(body) > post.place.max_bytes:
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
        """Read the rest of a large body, if its beginning shows that its sender may send that."""
        post.free_bytes = post.place.max_bytes
        admits = post.place.admits
        if admits is not None and not admits(bytes(post.body[:FREE_BYTES]), post.peer):
            self._refuse(_too_large(post))

    def on_message_complete(self) -> None:
        post, self._post = self._post, None
        # With neither, it was an offer to speak another protocol, and the request comes again without it.
        if self._ignores_input or (post is None and self.cycle is None):
            return
        self._in_message = False
        if not self.flow.write_paused:
            # An application may have answered before the body was whole.
            self._deadline = None if self._pending else self.loop.time() + self._limits.idle_seconds
        if post is None:
            super().on_message_complete()
            if self._answering:
                self._is_busy()
            return
        post.whole = True
        post.keep_alive = self.parser.should_keep_alive()
        self._ignores_input = not post.keep_alive

    # Answering

    def _answer_next(self, *, at_once: bool = False) -> None:
        """Take the next turn that can be taken; if there is none, wait for more.

        ``at_once`` begins to answer before this returns; but only the first, for others want to be answered too.
        """
        while self._pending:
            self._read_on()
            if self._answering or self.flow.write_paused or self.transport.is_closing():
                return
            turn = self._pending[0]
            if isinstance(turn, AsgiRequest):
                self._start(turn)
                return
            if not isinstance(turn, PostRequest):
                self._send_and_close(turn)
                return
            if not turn.whole:
                self._send_continue(turn)
                break
            answer = self._answer_to(turn, at_once=at_once)
            if answer is None:
                return
            self._send_answer(answer, turn)
            if self._pending:
                self._continue_soon()
                return
        if not self.flow.write_paused and not self.transport.is_closing():
            self._wait_for_more()

    def _wait_for_more(self) -> None:
        if self._unread:
            self._read_on()
            return
        # The time of a request that is arriving runs from its first byte, unless it was we who did not read.
        if not self._in_message or self._deadline is None or self.flow.read_paused:
            self._wait_for_peer(self._limits.request_seconds if self._in_message else self._limits.idle_seconds)
        self.flow.resume_reading()

    def _wait_for_peer(self, seconds: float) -> None:
        """Wait for the peer, and for so long at most."""
        if self._address is not None:
            self._endpoint.slots.set_idle(self, self._address)
        self._deadline = self.loop.time() + seconds

    def _start(self, other: AsgiRequest, queue_for: str | None = None) -> None:
        """Let the application answer; with an address to ``queue_for``, when it is that one's turn."""
        if self._address is not None and not self._endpoint.slots.can_make_page(self._address):
            self._refuse_waiting(other.cycle)
            return
        other.cycle.scope["extensions"] = {CONNECTION_EXTENSION: {CONNECTION_EXTENSION: self}}
        start_handler = partial(super()._start_asgi_task, other.cycle, other.app)
        if queue_for is not None:
            self._queue(queue_for, start_handler, other.cycle)
            return
        self._answering = True
        self._is_busy()
        start_handler()

    def _queue(
        self, address: str, start_handler: Callable[[], None], cycle: RequestResponseCycle | None = None
    ) -> None:
        """Begin to answer a request when it is the turn of its address, if one more may wait."""
        queue = self._endpoint.queue
        if not queue.has_room(address):
            self._refuse_waiting(cycle)
            return
        self._answering = True
        self._is_busy()
        self._queued_for = address
        queue.add(address, self, start_handler, partial(self._refuse_waiting, cycle))

    def _refuse_waiting(self, cycle: RequestResponseCycle | None = None) -> None:
        """Refuse a request that has not begun, because too many wait."""
        self._answering = False
        self._post = None
        if cycle is not None:
            _disconnect(cycle)
        if not self.transport.is_closing():
            self._wait_for_peer(self._limits.linger_seconds)
            self._send_and_close(answers.TOO_MANY_CONNECTIONS)

    def _answer_to(self, post: PostRequest, *, at_once: bool) -> bytes | None:
        """The answer; None if a task will give it."""
        app, posted = self._endpoint.mcp if post.place is self._endpoint.place else None, post.method == b"POST"
        request = RpcRequest(bytes(post.body))
        if app is not None and (is_mcp(request, has_mcp_header=post.has_mcp_header) if posted else post.has_mcp_header):
            self._pending[0] = other = AsgiRequest(asgi_cycle_of(self, post, keep_alive=not self._stopping), app)
            self._start(other, address_block(post.peer.host))
            return None
        if not posted:
            return answers.WRONG_METHOD_HEAD if post.method == b"HEAD" else answers.WRONG_METHOD
        if not self._is_identified:
            self._identify(request)
        if request.is_batch:
            self._queue(
                address_block(post.peer.host), lambda: self._finish(post, post.place.handler(request, post.peer))
            )
            return None
        if not at_once:
            self._finish(post, post.place.handler(request, post.peer))
            return None
        came = start_handler(post.place, request, post.peer)
        if isinstance(came, bytes):
            return came
        self._finish(post, came)
        return None

    def _identify(self, request: RpcRequest) -> None:
        """Note whose connection it is, by its first message."""
        self._is_identified = True
        identify = self._endpoint.identify
        if identify is not None and len(request.body) <= _MAX_IDENTIFIED and (name := identify(request)):
            self.belongs_to(name)

    def _is_busy(self) -> None:
        """The peer waits for us, unless the body of its request is still to come."""
        if self._address is None or self.flow.write_paused:
            return
        turn = self._pending[0]
        if not isinstance(turn, AsgiRequest):
            self._endpoint.slots.set_busy(self, self._address)
        elif not (self._in_message and turn.cycle is self.cycle):
            self._endpoint.slots.set_making_page(self, self._address)

    def _handle(self, post: PostRequest, request: RpcRequest) -> None:
        self._finish(post, post.place.handler(request, post.peer))

    def _finish(self, post: PostRequest, work: Work) -> None:
        self._answering = True
        self._is_busy()
        self._endpoint.answering[post] = self.loop.create_task(self._answer(post, work))

    async def _answer(self, post: PostRequest, work: Work) -> None:
        try:
            answer = encode_response(await work)
        except TooManyRequests as refused:
            answer = answers.too_many_requests(refused.body, refused.seconds)
        except NoAnswer:
            self.transport.abort()
            return
        except asyncio.CancelledError as error:
            # Either stopping has cut the connection, or something the handler waited for was cancelled under it.
            if self.transport.is_closing():
                raise
            answer = self._failed(post, error)
        except Exception as error:  # noqa: BLE001 - logged
            answer = self._failed(post, error)
        finally:
            del self._endpoint.answering[post]
        self._answering = False
        if not self.transport.is_closing():
            self._send_answer(answer, post)
            self._go_on_later()

    def _failed(self, post: PostRequest, error: BaseException) -> bytes:
        log.error("internal error while answering %s", post.peer.host, exc_info=error)
        # JSON-RPC says so in the body.
        return answers.with_status(200 if post.place is self._endpoint.place else 500, answers.INTERNAL_ERROR)

    def on_response_complete(self) -> None:
        self._answering = self._waits_for_news = False
        if self.transport.is_closing():
            self._abort_if_slow()
        else:
            self._pending.popleft()
            self._go_on_later()

    def _go_on_later(self) -> None:
        """After an answer: what else was sent with its request waits until others have had their turn."""
        if self._pending:
            self._continue_soon()
        else:
            self._answer_next()

    def _send_answer(self, answer: bytes, post: PostRequest) -> None:
        self._pending.popleft()
        if post.keep_alive and not self._stopping:
            self.transport.write(answer)
        else:
            self.transport.write(answer.replace(b"\r\n", answers.CONNECTION_CLOSE, 1))
            self._close()
        if self._held:
            self._count_held()

    def _send_continue(self, post: PostRequest) -> None:
        if post.expects and not post.body:
            self.transport.write(answers.CONTINUE)
        post.expects = False

    def _refuse(self, refusal: Refusal) -> None:
        """When its turn comes, say this and close. A request that is arriving gets no other answer."""
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
        """Say the last word, and listen on for a moment: at a reset the peer might not see it."""
        self.transport.write(refusal if isinstance(refusal, bytes) else refusal())
        self._end_early()

    def _end_early(self) -> None:
        """Send nothing more, and throw away what still comes."""
        self._pending.clear()
        self._ignores_input = self._is_closing_early = True
        self._in_message = False
        self._unread = b""
        self.transport.write_eof()
        self.flow.resume_reading()
        self._abort_after(self._limits.linger_seconds)


def connection_of(scope: Scope) -> ConnectionControl | None:
    """The connection that an application's request came by."""
    line: ConnectionControl | None = scope.get("extensions", {}).get(CONNECTION_EXTENSION, {}).get(CONNECTION_EXTENSION)
    return line


def _has_many_lines(data: bytes, size: int) -> bool:
    """Whether the beginning of data may be many requests, or a body in many chunks."""
    return data.count(b"\r\n", 0, size) > _MAX_LINES


def _too_large(post: PostRequest) -> Refusal:
    def make() -> bytes:
        body = post.place.too_large
        return answers.refusal(b"413 Content Too Large", body if isinstance(body, bytes) else body())

    return make


def _disconnect(cycle: RequestResponseCycle) -> None:
    cycle.disconnected = True
    cycle.message_event.set()
