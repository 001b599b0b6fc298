"""One HTTP/1.1 connection of a server: a short path for POST /mcp, uvicorn's path for all other requests.

A peer may send several requests without waiting for responses. They are kept in a queue of pending requests. The first
one is being answered, and the body of the last one may still be arriving.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import NoAnswer, Peer, TooManyRequests
from leaguekit.transport.server import responses
from leaguekit.transport.server.connection_base import CONNECTION_EXTENSION, disconnect
from leaguekit.transport.server.endpoint import Work, encode_response, start_handler
from leaguekit.transport.server.mcp_detection import is_mcp
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION, AsgiRequest, PostRequest, asgi_cycle_of
from leaguekit.transport.server.request_heads import Head, remembered_head
from leaguekit.transport.server.request_reader import RequestReader

log = logging.getLogger(__name__)

# The sender of a larger message is not identified, because to read the message twice takes long.
_MAX_IDENTIFIED_BYTES = 65_536


class HttpConnection(RequestReader):
    """A connection of a server, from its acceptance to its end. It answers its requests in order."""

    # The head of the last request to /mcp, if it can be reused for the next request, and the limit of its body.
    _head: Head | None = None
    _free_bytes = 0
    _is_identified = False

    def data_received(self, data: bytes) -> None:
        # Data does not arrive while there is unread data, because then reading is paused.
        at_rest = not (self._pending or self._in_message or self._ignores_input or self.flow.write_paused)
        head = self._head
        if at_rest and head is not None and (body := head.body_in(data, self._free_bytes)) is not None:
            # A request with the same head as the last one is passed to the handler without parsing the head.
            endpoint, request = self._endpoint, RpcRequest(body)
            if not request.is_batch and (endpoint.mcp is None or not is_mcp(request, has_mcp_header=False)):
                result = start_handler(endpoint.mcp_route, request, head.peer)
                if isinstance(result, bytes):
                    self._wait_for_peer(self._limits.idle_seconds)
                    self.transport.write(result)
                else:
                    self._answer_when_done(result, head.peer)
                return
        if self._receive(data, at_rest=at_rest) and self._pending:
            if at_rest:
                self._remember_head(data)
            self._answer_next(at_once=True)

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
            self._free_bytes = post.route.free_bytes
            self._head = remembered_head(data, len(post.body), self.url, self.headers, post.peer)

    def _answer_when_done(self, work: Work, peer: Peer) -> None:
        """Answer a request with a remembered head when its handler is done."""
        post = PostRequest(self._endpoint.mcp_route, b"POST", peer, [], has_mcp_header=False)
        post.is_complete = post.keep_alive = True
        self._deadline = None
        self._pending.append(post)
        self._answer_in_task(post, work)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._deadline = self.loop.time() + self._limits.request_seconds if self._in_message else None
        if self._answering:
            self._mark_busy()
        self._answer_next()

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

    # Requests for applications

    def _start_asgi(self, pending: AsgiRequest, queue_for: str | None = None) -> None:
        """Let the application answer a request. With ``queue_for``, wait in the queue of that address first."""
        if self._address is not None and not self._endpoint.slots.can_make_page(self._address):
            self._refuse_waiting(pending.cycle)
            return
        pending.cycle.scope["extensions"] = {CONNECTION_EXTENSION: {CONNECTION_EXTENSION: self}}
        start = partial(self._run_asgi, pending.cycle, pending.app)
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
            disconnect(cycle)
        if not self.transport.is_closing():
            self._wait_for_peer(self._limits.linger_seconds)
            self._send_and_close(responses.TOO_MANY_CONNECTIONS)

    def _queue_key(self, post: PostRequest) -> str:
        """The key of an MCP request in the queue: its address. If that is full, a known sender has a key of its own."""
        address, sender_of = address_block(post.peer.host), self._endpoint.mcp_sender_of
        if sender_of is None or self._endpoint.queue.has_room(address):
            return address
        name = sender_of(bytes(post.body[:BYTES_BEFORE_ADMISSION]), post.peer)
        return address if name is None else f"agent {name}"

    def on_response_complete(self) -> None:
        self._answering = self._has_released_slot = False
        if self.transport.is_closing():
            self._abort_if_slow()
        else:
            self._pending.popleft()
            self._continue_after_answer()

    # Requests for handlers

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

    def _identify(self, request: RpcRequest) -> None:
        """Find the known agent of this connection by its first message."""
        self._is_identified = True
        identify = self._endpoint.identify
        if identify is not None and len(request.body) <= _MAX_IDENTIFIED_BYTES and (name := identify(request)):
            self.belongs_to(name)

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

    def _send_answer(self, answer: bytes, post: PostRequest) -> None:
        self._pending.popleft()
        if post.keep_alive and not self._stopping:
            self.transport.write(answer)
        else:
            self.transport.write(answer.replace(b"\r\n", responses.CONNECTION_CLOSE, 1))
            self._close()
        if self._held_bytes:
            self._count_held_bytes()

    def _continue_after_answer(self) -> None:
        """Continue after a response. Further pending requests wait until other connections have had their turn."""
        if self._pending:
            self._continue_soon()
        else:
            self._answer_next()
