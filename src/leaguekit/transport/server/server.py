"""The HTTP server of an agent: a handler for /mcp, and an ASGI application for all other paths, at one or more sockets.

It runs inside the current event loop, and installs no signal handlers.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

import uvicorn
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.server import ServerState

from leaguekit.transport.addresses import LOOPBACK, Network, is_behind_proxy
from leaguekit.transport.base import Peer
from leaguekit.transport.descriptors import backlog
from leaguekit.transport.server.connection import HttpConnection
from leaguekit.transport.server.connection_slots import ConnectionSlots, Limits
from leaguekit.transport.server.endpoint import Endpoint, FindRoute, Identify
from leaguekit.transport.server.origin_headers import SECURITY_HEADERS, HostNames
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostHandler, PostRoute, TooLarge

__all__ = ["CannotListen", "Limits", "Server", "listen"]

log = logging.getLogger(__name__)

_BACKLOG = 2_048
_DEFAULT_LIMITS = Limits()


class McpApp(Protocol):
    """The ASGI application that answers the requests of MCP."""

    # The name of the known sender of a request with a body; None if its sender is not known.
    sender_of: Callable[[bytes, Peer], str | None] | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def end_streams(self) -> None:
        """End the streams that would never end by themselves."""

    async def close(self) -> None:
        """End everything else, when every request has been answered or cut off."""


class CannotListen(Exception):
    """The server cannot listen at an address. The text says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens at an address. Port 0 means any free port. Raises CannotListen."""
    # getaddrinfo would treat 65,536 as 0.
    if not 0 <= port <= 65_535:
        raise CannotListen(f"{port} is not a port: choose one from 1 to 65535, or 0 for a free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host} port {port} is not an address of this machine: {error}.") from error
    try:
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(_describe_listen_error(host, port, error)) from error
    try:
        # Without this option a port stays in use for a minute after its last connection. On Windows it does not, and
        # there the same option would let two programs listen at one port.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        sock.setsockopt(socket.SOL_SOCKET, option, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotListen(_describe_listen_error(host, port, error)) from error
    return sock


def _describe_listen_error(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} at {host} is in use by another program. "
            "Stop that program, or choose another --port (0 takes a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} at {host} needs special rights. Choose a --port from 1024 on (0 takes a free one)."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all of its addresses."
    return f"Port {port} at {host} cannot be used: {error.strerror}."


class Server:
    """Serves POST /mcp with ``handler``, MCP requests with ``mcp``, and everything else with ``app``.

    - ``find_route`` finds the routes of further paths for POST requests, which take the same short path as /mcp. Other
      requests to these paths go to ``app``.
    - ``max_bytes`` is the maximum size of a body. The response to a larger one is HTTP 413 with the body ``too_large``.
    If ``too_large`` is a function, it is called when the response is sent. - ``admits_large_body`` decides by the
    beginning of a body whether more than ``BYTES_BEFORE_ADMISSION`` of it are read. A body that it does not admit is
    too large. - ``names`` are the host names under which the server accepts requests, beside its addresses. -
    ``limits`` are those of one socket. A server with more sockets may have more connections. - ``endpoint`` is the URL
    at which others reach the server. - ``proxies`` are networks whose X-Forwarded-For headers are trusted. If the
    endpoint is not an address of this server, then there is a proxy, and loopback is trusted too. - ``stopping`` is
    called when the server begins to stop. - ``identify`` returns the name of the known agent that sent a message. When
    no slot is free for a new connection, connections of known agents are closed last.
    """

    def __init__(
        self,
        handler: PostHandler,
        *,
        sockets: Sequence[socket.socket],
        max_bytes: int,
        too_large: TooLarge,
        admits_large_body: AdmitLargeBody | None = None,
        app: ASGIApp | None = None,
        mcp: McpApp | None = None,
        find_route: FindRoute | None = None,
        limits: Limits = _DEFAULT_LIMITS,
        names: Iterable[str] = (),
        endpoint: str = "",
        proxies: Iterable[Network] = (),
        stopping: Callable[[], None] | None = None,
        identify: Identify | None = None,
    ) -> None:
        self._stopping = stopping
        self._mcp = mcp
        # uvicorn and Starlette have different types for the same interface.
        mcp_app = None if mcp is None else cast("ASGI3Application", _ignore_disconnects(mcp))
        route = PostRoute(handler, max_bytes, too_large, admits_large_body)
        self._sockets = list(sockets)
        limits = limits.for_sockets(len(self._sockets))
        self._addresses = [(str(sock.getsockname()[0]), int(sock.getsockname()[1])) for sock in sockets]
        loopback = LOOPBACK if is_behind_proxy(endpoint, self._addresses) else ()
        host_names = HostNames(names, endpoint)
        self._endpoint = Endpoint(
            route,
            limits,
            host_names,
            (*loopback, *proxies),
            ConnectionSlots(limits),
            mcp_app,
            find_route,
            identify,
            None if mcp is None else mcp.sender_of,
        )
        self._state = ServerState()
        self._config = uvicorn.Config(
            _ignore_disconnects(app or _not_found),
            interface="asgi3",
            http=HttpConnection,
            ws="none",
            lifespan="auto",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=SECURITY_HEADERS,
            workers=1,
        )
        self._config.load()
        self._state.default_headers = self._config.encoded_headers
        self._lifespan = self._config.lifespan_class(self._config)
        self._servers: list[asyncio.Server] = []

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The host and the port of each socket."""
        return self._addresses

    @property
    def ports(self) -> list[int]:
        return [port for _, port in self._addresses]

    @property
    def port(self) -> int:
        """The port of the first socket."""
        return self.ports[0]

    async def start(self) -> None:
        """Start the application, then accept connections."""
        await self._lifespan.startup()
        if self._lifespan.should_exit:
            for sock in self._sockets:
                sock.close()
            raise RuntimeError("the application behind the server did not start; the log says why")
        loop = asyncio.get_running_loop()
        for sock in self._sockets:
            self._servers.append(await loop.create_server(self._connection, sock=sock, backlog=backlog(_BACKLOG)))

    def _connection(self) -> HttpConnection:
        return HttpConnection(self._endpoint, self._config, self._state, self._lifespan.state)

    async def stop(self, seconds: float = 5.0) -> None:
        """Stop accepting connections, finish the requests in progress, and abort them after ``seconds``."""
        if not self._servers:
            return
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        if self._mcp is not None:
            self._mcp.end_streams()
        if self._stopping is not None:
            self._stopping()
        # A connection that has just been accepted is registered after three turns of the loop.
        for _ in range(3):
            await asyncio.sleep(0)
        for connection in list(self._state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wait_until_idle()
        await self._abort_all()
        if self._mcp is not None:
            await self._mcp.close()
        for server in servers:
            await server.wait_closed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._lifespan.shutdown()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self._endpoint.answer_tasks.values(), *self._state.tasks]

    async def _wait_until_idle(self) -> None:
        while tasks := self._tasks():
            await asyncio.wait(tasks)
        while self._state.connections:
            self._endpoint.connection_closed.clear()
            await self._endpoint.connection_closed.wait()

    async def _abort_all(self) -> None:
        tasks = self._tasks()
        if tasks:
            log.warning("%d requests were cut off unanswered", len(tasks))
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in self._endpoint.answer_tasks.values():
            task.cancel()
        # An application usually ends when it receives the disconnect of its peer. If it does not, it is cancelled.
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._wait_until_idle()
            for task in self._tasks():
                task.cancel()


def _ignore_disconnects(app: ASGIApp) -> ASGIApp:
    async def quiet(scope: Scope, receive: Receive, send: Send) -> None:
        # A peer that disconnects, or a request that is aborted, is not an error of the application.
        with contextlib.suppress(ClientDisconnect, asyncio.CancelledError):
            await app(scope, receive, send)
        # Starlette's objects refer to each other and to the scope. They must not keep the connection in memory.
        scope.pop("extensions", None)

    return quiet


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        sentence = "There is nothing here. Messages are posted to /mcp."
        await JSONResponse({"error": sentence}, status_code=404)(scope, receive, send)
