"""A connection's slot, time limits and end, without its requests."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from leaguekit.transport.addresses import is_in_networks
from leaguekit.transport.base import Peer
from leaguekit.transport.descriptors import MAX_SERVER_SHARE, are_descriptors_scarce
from leaguekit.transport.server import responses
from leaguekit.transport.server.endpoint import Endpoint
from leaguekit.transport.server.origin_headers import UNKNOWN_HOST, address_block, peer_address
from leaguekit.transport.server.pending_requests import AsgiRequest, PendingRequest, PostRequest, Refusal

# The key of the connection in an ASGI scope: scope["extensions"][CONNECTION_EXTENSION][CONNECTION_EXTENSION].
CONNECTION_EXTENSION = "leaguekit.connection"


class Flow(FlowControl):
    """Pauses reading while received data is not parsed, also if an application wants more of a body.

    It does not refer to the connection. Otherwise only a garbage collection would free a connection that has ended, and
    collections are rare.
    """

    # Received data that is not parsed yet.
    unread = b""

    def keep(self, data: bytes) -> None:
        """Keep data for later, and read no more until it is taken."""
        self.unread = data
        self.pause_reading()

    def take(self) -> bytes:
        """Remove and return the data that was kept."""
        data, self.unread = self.unread, b""
        return data

    def resume_reading(self) -> None:
        if not self.unread:
            super().resume_reading()


class BaseConnection(HttpToolsProtocol):
    """A connection that holds a slot, limits the time of its peer, and can be closed for another one.

    The subclasses read requests and answer them.
    """

    flow: Flow

    def __init__(
        self, endpoint: Endpoint, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state, asyncio.get_running_loop())
        self._endpoint = endpoint
        self._limits = endpoint.limits
        self._peer = Peer("")
        # The address block under which it holds a slot, or None while it holds none.
        self._address: str | None = None
        self._is_proxy = False
        # The known agent that it belongs to, or empty.
        self._agent = ""
        # The address under which a request of this connection waits in the request queue.
        self._queue_address = ""
        # The requests to answer, in order. The body of the last one may still be arriving.
        self._pending: deque[PendingRequest] = deque()
        # Whether the first pending request is being answered.
        self._answering = False
        # Whether a request is arriving. If it is a request to /mcp, it is _post. For others, uvicorn has self.cycle.
        self._in_message = False
        self._post: PostRequest | None = None
        # Whether further input is ignored: the last pending request is a refusal, or asked to close the connection.
        self._ignores_input = False
        # Whether the end of the input has been processed.
        self._is_at_eof = False
        # Whether the last response has been sent and further input is discarded.
        self._is_closing_early = False
        self._stopping = False
        self._is_stream = False
        self._has_released_slot = False
        # The bytes of bodies and of data that is not parsed yet, as they were counted last.
        self._held_bytes = 0
        # The time by which the peer must act; None while the peer waits for this server.
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport)
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

    def _free_slot(self) -> None:
        if self._address is not None:
            self._endpoint.slots.free(self, self._address)
            self._address = None

    def close_for_other(self, *, at_once: bool = False) -> None:
        """Close this connection because there are too many. With ``at_once``, do not send a response first."""
        self._free_slot()
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
            disconnect(pending.cycle)
        self.transport.write(responses.TOO_MANY_CONNECTIONS)
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ignores_input = True
        if self._timer is not None:
            self._timer.cancel()
        self._free_slot()
        self._endpoint.queue.remove(self._queue_address, self)
        for pending in self._pending:
            if isinstance(pending, AsgiRequest):
                disconnect(pending.cycle)
        self._pending.clear()
        super().connection_lost(exc)
        # The cycle refers to this connection.
        self.cycle = None  # type: ignore[assignment]
        self._endpoint.connection_closed.set()

    def shutdown(self) -> None:
        """Finish the request that is being answered, and close."""
        self._ignores_input = self._stopping = True
        if not self._answering or self._is_stream:
            self._close()
        elif isinstance(self._pending[0], AsgiRequest):
            self._pending[0].cycle.keep_alive = False

    def _close(self) -> None:
        self.transport.close()
        self._abort_if_slow()

    def _abort_if_slow(self) -> None:
        """Let the peer of a closing connection read its responses, unless another connection needs the slot.

        A peer that does not read them would keep the connection open for ever.
        """
        if self.unsent():
            self._wait_for_peer(self._limits.request_seconds)
        self._set_timer(self._limits.request_seconds, self.transport.abort)

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        """Replace the timer of this connection."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, callback)

    # Time limits. Each connection has one timer. It is never moved: it fires no later than any limit that can be set
    # while it runs, and then checks the current limit.

    def _start_timer(self) -> None:
        latest = self.loop.time() + min(self._limits.idle_seconds, self._limits.request_seconds)
        self._timer = self.loop.call_at(
            latest if self._deadline is None else min(self._deadline, latest), self._check_time
        )

    def _check_time(self) -> None:
        if self.transport.is_closing():
            self._set_timer(self._limits.request_seconds, self.transport.abort)
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

    def _wait_for_peer(self, seconds: float) -> None:
        """Set the time by which the peer must act."""
        if self._address is not None:
            self._endpoint.slots.set_idle(self, self._address)
        self._deadline = self.loop.time() + seconds

    def pause_writing(self) -> None:
        super().pause_writing()
        # The server waits for the peer now.
        self._wait_for_peer(self._limits.request_seconds)

    @abstractmethod
    def _refuse(self, refusal: Refusal) -> None:
        """Send a refusal after the responses to earlier requests, and close. It replaces the arriving request."""

    # The slot and what it counts.

    def _change_address(self, address: str) -> bytes | None:
        """Count a connection of a proxy under the forwarded address. Return a refusal if there is no free slot."""
        # While an earlier request is pending, the connection is counted under the address of that request.
        if self._address is None or self._address == address or self._pending:
            return None
        slots = self._endpoint.slots
        slots.free(self, self._address)
        self._address = address if slots.acquire(self, address) else None
        return responses.TOO_MANY_CONNECTIONS if self._address is None else None

    def _forwarded_peer(self, address: str) -> Peer:
        """The peer of a request that a proxy has forwarded.

        A program on this machine that is not a known proxy may forward requests too. They do not come from this
        machine, and their real address is not known.
        """
        if not self._is_proxy:
            self._endpoint.warn_of_proxy(self._peer.host)
        return self._peer._replace(host=(self._is_proxy and peer_address(address)) or UNKNOWN_HOST)

    def _mark_busy(self) -> None:
        """Count this connection as busy, unless the body of its request is still arriving."""
        if self._address is None or self.flow.write_paused:
            return
        pending = self._pending[0]
        if not isinstance(pending, AsgiRequest):
            self._endpoint.slots.set_busy(self, self._address)
        elif not (self._in_message and pending.cycle is self.cycle):
            self._endpoint.slots.set_making_page(self, self._address)

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

    # The interface for applications, which get a connection by ``connection_of``.

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
        self._free_slot()

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def unsent(self) -> int:
        """The number of bytes that wait to be sent."""
        return self.transport.get_write_buffer_size()

    def end(self) -> None:
        if not self.transport.is_closing():
            self._close()


def connection_of(scope: Scope) -> BaseConnection | None:
    """The connection of an application's request, or None if it did not come through this server."""
    connections: dict[str, BaseConnection] = scope.get("extensions", {}).get(CONNECTION_EXTENSION, {})
    return connections.get(CONNECTION_EXTENSION)


def disconnect(cycle: RequestResponseCycle) -> None:
    """Let the application of a request receive a disconnect."""
    cycle.disconnected = True
    cycle.message_event.set()
