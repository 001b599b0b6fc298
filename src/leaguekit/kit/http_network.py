"""The kit on real HTTP: its desks at ports of this machine, and its calls over the guarded caller."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.serving import endpoint_of
from leaguekit.kit.exchanges import MAX_BYTES, Arrived, Desk
from leaguekit.protocol.rpc import NULL, RpcError, failure
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import Server, listen

_TOO_LARGE = failure(NULL, RpcError(-32600, f"at most {MAX_BYTES:,} bytes are taken", None))


_HERE = "http://127.0.0.1/"


class HttpNetwork:
    """Listens at one address of this machine. Raises CannotListen where a port is taken.

    ``towards`` is a URL on the side from which agents come, for one that listens at all addresses.
    """

    def __init__(self, host: str = "127.0.0.1", policy: AddressPolicy | None = None, towards: str = "") -> None:
        self._towards = towards or _HERE
        self._policy = policy or AddressPolicy.local()
        self._callers: list[HttpCaller] = []
        self.caller = self.another_caller()
        self._host = host
        self._servers: list[Server] = []

    def another_caller(self) -> HttpCaller:
        caller = HttpCaller(self._policy)
        self._callers.append(caller)
        return caller

    async def open(self, desk: Desk, port: int = 0) -> str:
        sock = listen(self._host, port)
        url = endpoint_of(sock, self._towards)
        server = Server(
            desk.answer,
            sockets=[sock],
            max_bytes=MAX_BYTES,
            too_large=_TOO_LARGE,
            app=_elsewhere(desk),
            names=[str(urlsplit(url).hostname)],
        )
        await server.start()
        self._servers.append(server)
        return url

    async def close(self) -> None:
        # All at once: some may be in the middle of an answer that never comes.
        await asyncio.gather(*(server.stop(seconds=1.0) for server in self._servers))
        for caller in self._callers:
            await caller.close()


def _elsewhere(desk: Desk) -> ASGIApp:
    """Keeps what was asked for elsewhere than at POST /mcp, so that its author can be told."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        asked = Request(scope)
        peer = Peer(asked.client.host if asked.client else "")
        now = asyncio.get_running_loop().time()
        desk.keep(Arrived(b"", peer, desk.now(), now, None, f"{asked.method} {asked.url.path}"))
        sentence = "There is nothing here. Messages are posted to /mcp."
        await JSONResponse({"error": sentence}, status_code=404)(scope, receive, send)

    return app
