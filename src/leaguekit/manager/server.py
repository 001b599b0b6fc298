"""The manager's server: messages at /mcp, and beside it its health and the transcripts of matches."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.credentials import Known, credentials_in, token_in
from leaguekit.agents.rate_limits import RateLimiter, too_many
from leaguekit.agents.server import limited_mcp_app, names_of, too_large_answer
from leaguekit.league.records import Player
from leaguekit.manager.manager import Manager
from leaguekit.manager.mcp_surface import ResourceNotifier, manager_surface
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.decoding import check_text, decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import Network
from leaguekit.transport.base import TOO_OFTEN, Handler, HttpAnswer, Peer, TooOften
from leaguekit.transport.mcp.surface import Changes
from leaguekit.transport.server.endpoint import PostRoutes
from leaguekit.transport.server.server import Server

MAX_TRANSCRIPT = 262_144
_TOO_LARGE = msgspec.json.encode(
    {
        "error": f"A transcript has at most {MAX_TRANSCRIPT:,} bytes, "
        f"and shows its referee's auth_token in the first {MAX_BYTES:,}."
    }
)
TRANSCRIPTS = "/transcripts/"
HEALTH = "/health"


class Web(Protocol):
    """The application for everything else. It is closed before the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def close(self) -> None: ...


WebFactory = Callable[[Manager], Web]


def manager_server(
    manager: Manager,
    served: socket.socket,
    *,
    names: Iterable[str] = (),
    proxies: Iterable[Network] = (),
    web: WebFactory | None = None,
    handler: Handler | None = None,
) -> Server:
    """The manager's: messages, its health, and the transcripts of matches; called by its endpoint's name or others.

    ``web`` is made when somebody first asks for something else. ``handler`` answers messages instead of the manager.
    """

    identify = partial(_known, manager)
    allowances = RateLimiter(identify)

    async def health(_request: Request) -> Response:
        state = manager.ledger.league.state
        try:
            await manager.ledger.wait_written()
        except StoreError as error:
            return JSONResponse({"status": "failed", "league_id": manager.league_id, "reason": str(error)}, 503)
        return JSONResponse({"status": "ok", "league_id": manager.league_id, "state": state})

    def is_referee(beginning: bytes, _peer: Peer) -> bool:
        known = identify(credentials_in(beginning).auth_token)
        return known is not None and known.role == "referee"

    async def transcript(match_id: str, request: RpcRequest, peer: Peer) -> HttpAnswer:
        body = request.body
        if seconds := allowances.waits(token_in(body), Peer(peer.host), len(body)):
            raise TooOften(msgspec.json.encode(_too_often(seconds)), seconds)
        try:
            check_text(body)
            message = of_type(m.MatchTranscript, decode(body))
            await manager.keep_transcript(message, match_id)
        except ProtocolError as error:
            return HttpAnswer(400, msgspec.json.encode({"error_code": error.code, "error": error.detail}))
        return HttpAnswer(200, msgspec.json.encode({"status": "ACCEPTED", "match_id": message.match_id}))

    made: list[Web] = []

    def stopping() -> None:
        for one in made:
            one.close()

    app = _limited(_beside(Starlette(routes=[Route(HEALTH, health)]), web, manager, made), allowances)
    limited, changes = allowances.limit(handler or manager.answer, manager.refusal, MAX_BYTES), Changes()
    ResourceNotifier(manager, changes)
    return Server(
        limited,
        sockets=[served],
        max_bytes=MAX_BYTES,
        too_large=too_large_answer(manager.refusal, MAX_BYTES),
        app=_only_posted(app),
        routes=PostRoutes(TRANSCRIPTS.encode(), transcript, MAX_TRANSCRIPT, _TOO_LARGE, is_referee),
        mcp=limited_mcp_app(lambda: manager_surface(manager, limited, changes), allowances, MAX_BYTES),
        names=[*names_of(manager.endpoint), *names],
        endpoint=manager.endpoint,
        proxies=proxies,
        stopping=stopping,
        identify=allowances.sender_of,
    )


def _known(manager: Manager, token: str) -> Known | None:
    """Whose token this is."""
    agent = manager.ledger.league.agent_with(tokens.verifier(token))
    if agent is None:
        return Known("operator") if manager.is_operator(token) else None
    return Known("player" if isinstance(agent, Player) else "referee", agent.id)


def _only_posted(app: ASGIApp) -> ASGIApp:
    """The same application, where transcripts are: those that are posted never come here."""

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        match_id = path.removeprefix(TRANSCRIPTS)
        if match_id in ("", path) or "/" in match_id:
            await app(scope, receive, send)
        else:
            await Response("Method Not Allowed", 405, {"allow": "POST"}, "text/plain")(scope, receive, send)

    return either


def _beside(app: ASGIApp, web: WebFactory | None, manager: Manager, made: list[Web]) -> ASGIApp:
    if web is None:
        return app

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await app(scope, receive, send)
            return
        if not made:
            made.append(web(manager))
        await made[0](scope, receive, send)

    return either


def _limited(app: ASGIApp, allowances: RateLimiter) -> ASGIApp:
    """The same application, which whoever looks at it may do so often, and no more."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        peer = _peer(scope)
        seconds = allowances.watches(peer) if scope["type"] == "http" else 0.0
        if seconds:
            headers = {"retry-after": str(math.ceil(seconds))}
            await JSONResponse(_too_often(seconds), TOO_OFTEN, headers)(scope, receive, send)
        else:
            await app(scope, receive, allowances.charged(peer, send))

    return limited


def _too_often(seconds: float) -> dict[str, str]:
    return {"error_code": "E059", "error": too_many(seconds)}


def _peer(scope: Scope) -> Peer:
    client = scope.get("client")
    return Peer(client[0] if client else "")
