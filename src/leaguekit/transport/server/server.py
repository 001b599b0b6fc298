"""The server side of /mcp: one handler at one or many sockets, and an ASGI application for all other paths.

It runs inside whatever loop is running, and installs no signal handlers.
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
from leaguekit.transport.descriptors import backlog
from leaguekit.transport.server.connection import HttpConnection
from leaguekit.transport.server.connection_slots import ConnectionSlots, Limits
from leaguekit.transport.server.endpoint import Endpoint, Identify, PostRoutes
from leaguekit.transport.server.origin_headers import SECURITY_HEADERS, HostNames
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostHandler, PostRoute, TooLarge

__all__ = ["CannotListen", "Limits", "Server", "listen"]

log = logging.getLogger(__name__)

_BACKLOG = 2_048
_DEFAULT_LIMITS = Limits()


class McpApp(Protocol):
    """The ASGI application that answers the requests of MCP."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def end_streams(self) -> None:
        """End the streams that would never end by themselves."""

    async def close(self) -> None:
        """End everything else, when every request has been answered or cut off."""


class CannotListen(Exception):
    """The address cannot be served; the text says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one."""
    # getaddrinfo would take 65,536 for 0.
    if not 0 <= port <= 65_535:
        raise CannotListen(f"{port} is no port: choose one from 1 to 65535, or 0 for a free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host} port {port} is no address of this machine: {error}.") from error
    try:
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(_why(host, port, error)) from error
    try:
        # Without it a port stays busy for a minute after its last connection.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotListen(_why(host, port, error)) from error
    return sock


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} at {host} is in use by another program. "
            "Stop that program, or choose another port (0 takes a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} at {host} needs special rights. Choose a port from 1024 on (0 takes a free one)."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all of its addresses."
    return f"Port {port} at {host} cannot be used: {error.strerror}."


class Server:
    """Answers POST /mcp by ``handler`` and everything else by ``app``, until it is stopped; real MCP by ``mcp``.

    What is posted ``routes`` /mcp is answered in the same short way; whatever else comes there is the application's.

    ``max_bytes`` is the largest body that is taken; a larger one gets HTTP 413 with the body ``too_large``. If that is
    a function, it is called when the answer is sent. ``names`` are those by which it may be called, beside its
    addresses; ``endpoint`` is the URL at which others reach it. ``proxies`` are believed whom they pass on, and so is
    this machine if the endpoint is not where the server listens. A body of more than ``FREE_BYTES`` is read only if
    ``admits`` takes its beginning; otherwise it is too large. ``stopping`` is called when it begins to stop.
    ``identify`` names the known agent that sent a message: when all places are taken, the connections of known agents
    give way last.
    """

    def __init__(
        self,
        handler: PostHandler,
        *,
        sockets: Sequence[socket.socket],
        max_bytes: int,
        too_large: TooLarge,
        admits: AdmitLargeBody | None = None,
        app: ASGIApp | None = None,
        mcp: McpApp | None = None,
        routes: PostRoutes | None = None,
        limits: Limits = _DEFAULT_LIMITS,
        names: Iterable[str] = (),
        endpoint: str = "",
        proxies: Iterable[Network] = (),
        stopping: Callable[[], None] | None = None,
        identify: Identify | None = None,
    ) -> None:
        self._stopping = stopping
        self._mcp = mcp
        # Type-checked here: uvicorn and Starlette say the same of an application in different words.
        mcp_app = None if mcp is None else cast("ASGI3Application", _unless_gone(mcp))
        place = PostRoute(handler, max_bytes, too_large, admits)
        self._sockets = list(sockets)
        self._addresses = [(str(sock.getsockname()[0]), int(sock.getsockname()[1])) for sock in sockets]
        own = LOOPBACK if is_behind_proxy(endpoint, self._addresses) else ()
        known = HostNames(names, endpoint)
        self._endpoint = Endpoint(
            place, limits, known, (*own, *proxies), ConnectionSlots(limits), mcp_app, routes, identify
        )
        self._state = ServerState()
        self._config = uvicorn.Config(
            _unless_gone(app or _nothing_here),
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
        """Where it listens: a host and a port for each socket."""
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
        """Accept nothing more, finish what is being answered, and cut off what takes longer than so many seconds."""
        if not self._servers:
            return
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        if self._mcp is not None:
            self._mcp.end_streams()
        if self._stopping is not None:
            self._stopping()
        # A connection that was accepted a moment ago is known after three turns of the loop.
        for _ in range(3):
            await asyncio.sleep(0)
        for connection in list(self._state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._all_gone()
        await self._cut_off()
        if self._mcp is not None:
            await self._mcp.close()
        for server in servers:
            await server.wait_closed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._lifespan.shutdown()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self._endpoint.answering.values(), *self._state.tasks]

    async def _all_gone(self) -> None:
        while tasks := self._tasks():
            await asyncio.wait(tasks)
        while self._state.connections:
            self._endpoint.gone.clear()
            await self._endpoint.gone.wait()

    async def _cut_off(self) -> None:
        tasks = self._tasks()
        if tasks:
            log.warning("%d requests were cut off unanswered", len(tasks))
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in self._endpoint.answering.values():
            task.cancel()
        # An application ends by itself when it hears that its peer has gone; only if it does not is it cancelled.
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._all_gone()
            for task in self._tasks():
                task.cancel()


def _unless_gone(app: ASGIApp) -> ASGIApp:
    async def quiet(scope: Scope, receive: Receive, send: Send) -> None:
        # Neither a peer that goes away nor a request that is cut off is a fault of the application.
        with contextlib.suppress(ClientDisconnect, asyncio.CancelledError):
            await app(scope, receive, send)

    return quiet


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        sentence = "There is nothing here. Messages are posted to /mcp."
        await JSONResponse({"error": sentence}, status_code=404)(scope, receive, send)
