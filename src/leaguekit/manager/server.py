"""The manager's HTTP server: messages at /mcp, the health at /health, transcripts of matches, and the dashboard."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from leaguekit.agents.calls import read_error_code
from leaguekit.agents.credentials import TokenOwner, credentials_in, token_in
from leaguekit.agents.rate_limits import RateLimiter, retry_sentence
from leaguekit.agents.server import limited_mcp_app, names_of, too_large_answer
from leaguekit.manager.manager import Manager
from leaguekit.manager.mcp_surface import ResourceNotifier, manager_surface
from leaguekit.protocol import tokens
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.transport.addresses import Network
from leaguekit.transport.base import Handler, HttpAnswer, Peer, TooManyRequests
from leaguekit.transport.mcp.surface import ChangeNotifier
from leaguekit.transport.server.endpoint import FindRoute, PostRoutes
from leaguekit.transport.server.pending_requests import PostRoute, path_and_query
from leaguekit.transport.server.server import Server

# The limit of a document that a referee posts about a match: its transcript, or its record.
MAX_DOCUMENT = 1_048_576
_TOO_LARGE = msgspec.json.encode(
    {
        "error": f"A transcript or a record has at most {MAX_DOCUMENT:,} bytes, "
        f"and shows its referee's auth_token in the first {MAX_BYTES:,}."
    }
)
TRANSCRIPTS, RECORDS = "/transcripts/", "/records/"
HEALTH = "/health"
# A response is an ASGI application, too.
_USE_POST = Response("Method Not Allowed", 405, {"allow": "POST"}, "text/plain")


class WebApp(Protocol):
    """The application for all other paths. It is closed before the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def close(self) -> None: ...


WebFactory = Callable[[Manager], WebApp]


def manager_server(
    manager: Manager,
    served: socket.socket,
    *,
    names: Iterable[str] = (),
    proxies: Iterable[Network] = (),
    web: WebFactory | None = None,
    handler: Handler | None = None,
) -> Server:
    """The server of a manager. It accepts the host name of the manager's endpoint, and the other ``names``.

    ``web`` makes the application for all other paths, at the first request for one. ``handler`` answers messages
    instead of the manager.
    """

    identify = partial(_identify, manager)
    limiter = RateLimiter(identify)

    async def health(_request: Request) -> Response:
        state = manager.ledger.league.state
        status, reason = await manager.ledger.health()
        why = {"state": state} if reason is None else {"reason": reason}
        return JSONResponse({"status": status, "league_id": manager.league_id} | why, 503 if reason else 200)

    def is_from_referee(first_bytes: bytes, _peer: Peer) -> bool:
        known = identify(credentials_in(first_bytes).auth_token)
        return known is not None and known.role == "referee"

    async def receive_document(path: str, match_id: str, request: RpcRequest, peer: Peer) -> HttpAnswer:
        body = request.body
        if seconds := limiter.acquire_for_message(token_in(body), Peer(peer.host), len(body)):
            raise TooManyRequests(msgspec.json.encode(_too_many_requests(seconds)), seconds)
        return await manager.reports.receive_document(f"{path}{match_id}", body)

    transcripts, records = (
        PostRoutes(path.encode(), partial(receive_document, path), MAX_DOCUMENT, _TOO_LARGE, is_from_referee)
        for path in (TRANSCRIPTS, RECORDS)
    )
    find_misdirected = _misdirected_routes(manager, limiter)
    lazy_web = _LazyWeb(manager, web)
    routes = Router([Route(HEALTH, health)], redirect_slashes=web is None, default=lazy_web)
    # Posted documents are answered by PostRoutes. Requests by other methods are refused, and need no rate limit.
    refusals = [Route(f"{path}{{match_id}}", _USE_POST) for path in (TRANSCRIPTS, RECORDS)]
    app = Router(refusals, redirect_slashes=False, default=limiter.limit_pages(routes, _peer, _too_many_requests))
    limited, changes = limiter.limit(handler or manager.answer, manager.refusal, MAX_BYTES), ChangeNotifier()
    ResourceNotifier(manager, changes)
    return Server(
        limited,
        sockets=[served],
        max_bytes=MAX_BYTES,
        too_large=too_large_answer(manager.refusal, MAX_BYTES),
        app=app,
        find_route=lambda url: transcripts.match(url) or records.match(url) or find_misdirected(url),
        mcp=limited_mcp_app(lambda: manager_surface(manager, limited, changes), limiter, MAX_BYTES),
        names=[*names_of(manager.endpoint), *names],
        endpoint=manager.endpoint,
        proxies=proxies,
        stopping=lazy_web.close,
        identify=limiter.sender_of,
    )


def _misdirected_routes(manager: Manager, limiter: RateLimiter) -> FindRoute:
    """The routes of messages that were posted to a wrong path: to /, to /MCP, or to one such as /register."""
    too_large = too_large_answer(manager.refusal, MAX_BYTES)

    async def receive(path: str, query: str, request: RpcRequest, peer: Peer) -> HttpAnswer:
        handle = limiter.limit(partial(manager.answer_elsewhere, path), manager.refusal, MAX_BYTES)
        answer = await handle(request, peer._replace(query=query))
        if answer is not None:
            return HttpAnswer(200 if read_error_code(answer) is None else 400, answer)
        advice = (
            f"Nothing is posted to {path[:50]}. To register, post a JSON-RPC 2.0 request with the method "
            f"register_player to {manager.endpoint}. Its params are a LEAGUE_REGISTER_REQUEST (see `league examples`)."
        )
        return HttpAnswer(404, msgspec.json.encode({"error": advice}))

    def find_route(url: bytes) -> PostRoute | None:
        path, query = (part.decode("latin-1") for part in path_and_query(url))
        is_misdirected = path.lower().rstrip("/") in ("", "/mcp") or "regist" in path.lower()
        return PostRoute(partial(receive, path, query), MAX_BYTES, too_large) if is_misdirected else None

    return find_route


def _identify(manager: Manager, token: str) -> TokenOwner | None:
    """The sender that a token belongs to, or None."""
    agent = manager.ledger.league.agent_with(tokens.verifier(token))
    if agent is None:
        return TokenOwner("operator") if manager.is_operator(token) else None
    return TokenOwner(agent.role, agent.id)


class _LazyWeb:
    """The web application, made at the first request for it. Without a factory, every path is 404."""

    def __init__(self, manager: Manager, make: WebFactory | None) -> None:
        self._manager = manager
        self._make = make
        self._web: WebApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._make is None:
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        if self._web is None:
            self._web = self._make(self._manager)
        await self._web(scope, receive, send)

    def close(self) -> None:
        if self._web is not None:
            self._web.close()


def _too_many_requests(seconds: float) -> dict[str, str]:
    return {"error_code": "E059", "error": retry_sentence(seconds)}


def _peer(scope: Scope) -> Peer:
    client = scope.get("client")
    return Peer(client[0] if client else "")
