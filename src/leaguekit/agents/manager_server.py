"""The manager's server: messages at /mcp, and beside it its health and the transcripts of matches."""

from __future__ import annotations

import math
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.allowances import Allowances, Known, token_in, too_many
from leaguekit.agents.manager import Manager
from leaguekit.agents.manager_surface import Bulletin, manager_surface
from leaguekit.agents.server import mcp_door, names_of, too_large_answer
from leaguekit.league.records import Player
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.reading import decode, of_type
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import MOST_BYTES
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import Network
from leaguekit.transport.base import TOO_OFTEN, Peer
from leaguekit.transport.mcp.surface import Changes
from leaguekit.transport.server import Server

MOST_TRANSCRIPT = 262_144
TRANSCRIPTS = "/transcripts/"
HEALTH = "/health"
# Takes the transcript of the match with that id.
TakeTranscript = Callable[[Scope, Receive, str], Awaitable[ASGIApp]]
# What makes the application for everything else.
MakeWeb = Callable[[Manager], ASGIApp]


def manager_server(
    manager: Manager,
    served: socket.socket,
    *,
    names: Iterable[str] = (),
    proxies: Iterable[Network] = (),
    web: MakeWeb | None = None,
) -> Server:
    """The manager's: messages, its health, and the transcripts of matches; called by its endpoint's name or others.

    ``web`` is made when somebody first asks for something else.
    """

    def identify(token: str) -> Known | None:
        agent = manager.ledger.league.agent_with(tokens.verifier(token))
        if agent is None:
            return Known("operator") if manager.is_operator(token) else None
        return Known("player" if isinstance(agent, Player) else "referee", agent.id)

    allowances = Allowances(identify)

    async def health(_request: Request) -> Response:
        state = manager.ledger.league.state
        try:
            await manager.ledger.settled()
        except StoreError as error:
            return JSONResponse({"status": "failed", "league_id": manager.league_id, "reason": str(error)}, 503)
        return JSONResponse({"status": "ok", "league_id": manager.league_id, "state": state})

    async def transcript(scope: Scope, receive: Receive, match_id: str) -> Said:
        body = await _body(receive, MOST_TRANSCRIPT)
        if body is None:
            return Said(413, {"error": f"A transcript has at most {MOST_TRANSCRIPT:,} bytes."})
        if seconds := allowances.waits(token_in(body), _peer(scope)):
            return _too_often(seconds)
        try:
            message = of_type(m.MatchTranscript, decode(body))
            await manager.keep_transcript(message, match_id)
        except ProtocolError as error:
            return Said(400, {"error_code": error.code, "error": error.detail})
        return Said(200, {"status": "ACCEPTED", "match_id": message.match_id})

    app = _limited(_beside(Starlette(routes=[Route(HEALTH, health)]), web, manager), allowances)
    refuse = manager_refusal(manager.world.now)
    handler, changes = allowances.guard(manager.handle, refuse, MOST_BYTES), Changes()
    Bulletin(manager, changes)
    return Server(
        handler,
        sockets=[served],
        most_bytes=MOST_BYTES,
        too_large=too_large_answer(refuse, MOST_BYTES),
        app=_taking(transcript, app),
        mcp=mcp_door(lambda: manager_surface(manager, handler, changes), allowances, MOST_BYTES),
        names=[*names_of(manager.endpoint), *names],
        proxies=proxies,
    )


def _taking(transcript: TakeTranscript, app: ASGIApp) -> ASGIApp:
    """The same application, with transcripts before it: one comes a match, and finding its way would take longest.

    It is not limited like the rest: who hands in a transcript is known only when that has been read.
    """

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        match_id = path.removeprefix(TRANSCRIPTS)
        if match_id in ("", path) or "/" in match_id:
            await app(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response("Method Not Allowed", 405, {"allow": "POST"}, "text/plain")(scope, receive, send)
            return
        await (await transcript(scope, receive, match_id))(scope, receive, send)

    return either


def _beside(app: ASGIApp, web: MakeWeb | None, manager: Manager) -> ASGIApp:
    if web is None:
        return app
    made: list[ASGIApp] = []

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await app(scope, receive, send)
            return
        if not made:
            made.append(web(manager))
        await made[0](scope, receive, send)

    return either


def _limited(app: ASGIApp, allowances: Allowances) -> ASGIApp:
    """The same application, which whoever looks at it may do so often, and no more."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        seconds = allowances.watches(_peer(scope)) if scope["type"] == "http" else 0.0
        await (_too_often(seconds) if seconds else app)(scope, receive, send)

    return limited


class Said:
    """An answer in JSON, as an application: Starlette's takes a tenth of what a transcript takes in all."""

    def __init__(self, status: int, told: Any, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._status = status
        self._body = msgspec.json.encode(told)
        self._headers = headers

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        length = (b"content-length", b"%d" % len(self._body))
        headers = [length, (b"content-type", b"application/json"), *self._headers]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body of a request; None if it is larger than that. Raises ClientDisconnect if its sender goes away."""
    body = bytearray()
    while True:
        came = await receive()
        if came["type"] == "http.disconnect":
            raise ClientDisconnect
        body += came.get("body", b"")
        if len(body) > most:
            return None
        if not came.get("more_body", False):
            return bytes(body)


def _too_often(seconds: float) -> Said:
    return Said(
        TOO_OFTEN,
        {"error_code": "E059", "error": too_many(seconds)},
        [(b"retry-after", b"%d" % math.ceil(seconds))],
    )


def _peer(scope: Scope) -> Peer:
    client = scope.get("client")
    return Peer(client[0] if client else "")
