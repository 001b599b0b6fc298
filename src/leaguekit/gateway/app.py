"""A seat in the browser: the page, and what it asks for. Whose seat it is, its code says, in a header of every request.

GET  /api/league                what anybody may know
POST /api/join   {name, code?}  take a seat, or come back to it
GET  /api/seat?version=N        how it stands, as soon as that is another version than N
POST /api/move   {turn, move}   make a move
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.rate_limits import RateLimiter, too_many
from leaguekit.agents.serving import first
from leaguekit.gateway.gateway import Gateway, NotAllowed, NotAllowedNow, TooManyWaiting
from leaguekit.gateway.seats import MoveRefused, Seat
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.transport.base import TOO_OFTEN, Peer
from leaguekit.transport.server.connection import connection_of
from leaguekit.web.files import page_files

# A browser waits for longer, but a proxy between may not.
WAIT_SECONDS = 20.0
MAX_BODY = 10_240
FILES = "leaguekit.gateway"
# The dashboard's.
COLOURS = "colours.css"

T = TypeVar("T")


class Joining(Struct):
    """Who takes a seat."""

    name: str | None = None
    code: str | None = None


class Moving(Struct):
    """A move."""

    turn: str
    move: Any


class _Wrong(Exception):
    """A request that cannot be answered: the status, and why."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status = status
        super().__init__(sentence)


Answering = Callable[[Request], Awaitable[Any]]


def gateway_app(gateway: Gateway, allowances: RateLimiter) -> ASGIApp:
    """The application beside /mcp."""
    browsers = _Browsers(gateway)
    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/static/{name}", _page),
            Route("/health", _answered(browsers.health)),
            Route("/api/league", _answered(browsers.league)),
            Route("/api/join", _answered(browsers.join), methods=["POST"]),
            Route("/api/seat", _answered(browsers.look)),
            Route("/api/move", _answered(browsers.move), methods=["POST"]),
        ]
    )

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = Request(scope)
        # Whoever has a seat is counted by it: others at its address may look too often.
        peer = Peer(gateway.place_of_owner(_code(request)) or _host(request))
        seconds = allowances.watches(peer)
        late = _problem(too_many(seconds), TOO_OFTEN, {"retry-after": str(math.ceil(seconds))})
        await (late if seconds else app)(scope, receive, allowances.charged(peer, send))

    return limited


class _Browsers:
    """What browsers ask."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def health(self, _request: Request) -> Any:
        return {"status": "ok", "league_id": self._gateway.league_id, "seats": len(self._gateway.seats)}

    async def league(self, request: Request) -> Any:
        return await self._gateway.table(_host(request))

    async def join(self, request: Request) -> Any:
        asked = await _body(request, Joining)
        code, seat = await self._gateway.join(asked.code or None, asked.name, _host(request))
        return {"code": code, "state": seat.state()}

    async def look(self, request: Request) -> Any:
        seat, version = await self._seat(request), request.query_params.get("version", "")
        if not re.fullmatch("[0-9]{1,15}", version):
            return seat.state()
        with self._gateway.counted_wait(seat, _host(request), connection_of(request.scope)):
            await first(seat.wait(WAIT_SECONDS, int(version)), _gone(request))
            return seat.state()

    async def move(self, request: Request) -> Any:
        seat, asked = await self._seat(request), await _body(request, Moving)
        try:
            return {"move": seat.submit(asked.turn, asked.move)}
        except MoveRefused as refused:
            raise _Wrong(409, str(refused)) from None

    async def _seat(self, request: Request) -> Seat:
        code = _code(request)
        if not code:
            raise _Wrong(401, "Show the seat's code, as Authorization: Bearer CODE.")
        return await self._gateway.seat(code, _host(request))


def _code(request: Request) -> str:
    """The seat's code that a request shows; empty if it shows none."""
    scheme, _, code = request.headers.get("authorization", "").partition(" ")
    return code.strip() if scheme.lower() == "bearer" else ""


async def _page(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    file = page_files()[name] if name == COLOURS else page_files(FILES).get(name)
    if file is None:
        return _problem("There is no such file.", 404)
    return Response(file.content, headers={"content-type": file.content_type, "cache-control": "no-cache"})


def _answered(answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        try:
            body = msgspec.json.encode(await answer(request))
        except _Wrong as wrong:
            return _problem(str(wrong), wrong.status)
        except TooManyWaiting as refused:
            return _problem(str(refused), TOO_OFTEN, {"retry-after": "1"})
        except NotAllowed as refused:
            return _problem(str(refused), 503 if isinstance(refused, NotAllowedNow) else 403)
        return Response(body, headers={"content-type": "application/json", "cache-control": "no-store"})

    return answered


async def _body(request: Request, kind: type[T]) -> T:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _Wrong(413, f"At most {MAX_BODY:,} bytes are taken.")
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except DECODE_ERRORS as error:
        raise _Wrong(400, f"That is not understood: {error}.") from None


async def _gone(request: Request) -> None:
    """Wait until nobody waits for the answer."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _host(request: Request) -> str:
    return request.client.host if request.client else ""


def _problem(sentence: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
