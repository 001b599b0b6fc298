"""The kit over HTTP: its inboxes listen at ports of this machine, and its calls obey the address policy."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.serving import endpoint_of
from leaguekit.kit.exchanges import MAX_BYTES, Inbox, IncomingRequest
from leaguekit.protocol.rpc import NULL, RpcError, failure
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import Server, listen

_TOO_LARGE = failure(NULL, RpcError(-32600, f"at most {MAX_BYTES:,} bytes are taken", None))
_LOCALHOST = "http://127.0.0.1/"


class HttpNetwork:
    """A Network that listens at one address of this machine.

    ``open`` raises CannotListen if the port is in use. ``towards`` is a URL in the network of the agents: if ``host``
    means all addresses, agents are given the address that this machine has in that network.
    """

    def __init__(self, host: str = "127.0.0.1", policy: AddressPolicy | None = None, towards: str = "") -> None:
        self._towards = towards or _LOCALHOST
        self._policy = policy or AddressPolicy.local()
        self._callers: list[HttpCaller] = []
        self.caller = self.another_caller()
        self._host = host
        self._servers: list[Server] = []

    def another_caller(self) -> HttpCaller:
        caller = HttpCaller(self._policy)
        self._callers.append(caller)
        return caller

    async def open(self, inbox: Inbox, port: int = 0) -> str:
        sock = listen(self._host, port)
        url = endpoint_of(sock, self._towards)
        server = Server(
            inbox.answer,
            sockets=[sock],
            max_bytes=MAX_BYTES,
            too_large=_TOO_LARGE,
            app=_record_other_requests(inbox),
            names=[str(urlsplit(url).hostname)],
        )
        await server.start()
        self._servers.append(server)
        return url

    async def close(self) -> None:
        # All at once, because some may still be working on an answer that never comes.
        await asyncio.gather(*(server.stop(seconds=1.0) for server in self._servers))
        for caller in self._callers:
            await caller.close()


def _record_other_requests(inbox: Inbox) -> ASGIApp:
    """Return an app that records requests other than POST /mcp, so that a report can mention them."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        peer = Peer(request.client.host if request.client else "")
        now = asyncio.get_running_loop().time()
        inbox.record(IncomingRequest(b"", peer, inbox.now(), now, None, f"{request.method} {request.url.path}"))
        sentence = "There is nothing here. Messages are posted to /mcp."
        await JSONResponse({"error": sentence}, status_code=404)(scope, receive, send)

    return app
