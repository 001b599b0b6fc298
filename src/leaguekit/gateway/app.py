"""The gateway's application for browsers: a page, and its API. Requests for a seat have its code in a header.

GET  /api/league                the league and its table, for everybody
POST /api/join   {name, code?}  take a seat, or come back to it
GET  /api/seat?version=N        the state of the seat, as soon as it has another version than N
POST /api/move   {turn, move}   make a move
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from leaguekit.agents.rate_limits import RateLimiter, retry_sentence
from leaguekit.agents.serving import run_until_first
from leaguekit.gateway.gateway import Gateway, NotAllowed, NotAllowedNow, TooManyWaiting
from leaguekit.gateway.seats import MoveRefused, Seat
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.transport.base import TOO_MANY_REQUESTS, Peer
from leaguekit.transport.server.connection_base import connection_of
from leaguekit.web.files import page_files
from leaguekit.web.responses import error_response
from leaguekit.web.shared_work import wait_for_disconnect

# A browser would wait longer, but a proxy in between may not.
WAIT_SECONDS = 20.0
MAX_BODY_BYTES = 10_240
PACKAGE = "leaguekit.gateway"
# These files are the dashboard's.
SHARED = {"colours.css", "pictures.css", "elements.js", "pictures.js"}

T = TypeVar("T")


class JoinRequest(Struct):
    """The body of /api/join."""

    name: str | None = None
    code: str | None = None


class SubmittedMove(Struct):
    """The body of /api/move."""

    turn: str
    move: Any


class _HttpError(Exception):
    """A request that is answered with an error status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status = status
        super().__init__(sentence)


Handler = Callable[[Request], Awaitable[Any]]


def gateway_app(gateway: Gateway, allowances: RateLimiter) -> ASGIApp:
    """The application for everything but /mcp, with a rate limit for each client."""
    api = _Api(gateway)
    app = Starlette(
        routes=[
            Route("/", _static_file),
            Route("/static/{name}", _static_file),
            Route("/health", _json_endpoint(api.health)),
            Route("/api/league", _json_endpoint(api.league)),
            Route("/api/join", _json_endpoint(api.join), methods=["POST"]),
            Route("/api/seat", _json_endpoint(api.seat_state)),
            Route("/api/move", _json_endpoint(api.move), methods=["POST"]),
        ]
    )

    def peer_of(scope: Scope) -> Peer:
        request = Request(scope)
        # The owner of a seat is counted by the seat, so that others at the same address cannot use up its rate.
        return Peer(gateway.seat_id_of(_code(request)) or _host(request))

    return allowances.limit_pages(app, peer_of, lambda seconds: {"error": retry_sentence(seconds)})


class _Api:
    """The handlers of the API. Each returns an object for the JSON body."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def health(self, _request: Request) -> Any:
        return {"status": "ok", "league_id": self._gateway.league_id, "seats": len(self._gateway.seats)}

    async def league(self, request: Request) -> Any:
        return await self._gateway.league(_host(request))

    async def join(self, request: Request) -> Any:
        body = await _body(request, JoinRequest)
        code, seat = await self._gateway.join(body.code or None, body.name, _host(request))
        return {"code": code, "state": seat.state(with_picture=True)}

    async def seat_state(self, request: Request) -> Any:
        seat, version = await self._seat(request), request.query_params.get("version", "")
        if not re.fullmatch("[0-9]{1,15}", version):
            return seat.state(with_picture=True)
        with self._gateway.counted_wait(seat, _host(request), connection_of(request.scope)):
            await run_until_first(seat.wait(WAIT_SECONDS, int(version)), wait_for_disconnect(request.receive))
            return seat.state(with_picture=True)

    async def move(self, request: Request) -> Any:
        seat, body = await self._seat(request), await _body(request, SubmittedMove)
        return {"move": seat.submit(body.turn, body.move)}

    async def _seat(self, request: Request) -> Seat:
        code = _code(request)
        if not code:
            raise _HttpError(401, "Show the seat's code, as Authorization: Bearer CODE.")
        return await self._gateway.seat(code, _host(request))


def _code(request: Request) -> str:
    """The seat's code in the header of a request; empty if there is none."""
    scheme, _, code = request.headers.get("authorization", "").partition(" ")
    return code.strip() if scheme.lower() == "bearer" else ""


async def _static_file(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    file = page_files()[name] if name in SHARED else page_files(PACKAGE).get(name)
    if file is None:
        return error_response("There is no such file.", 404)
    return Response(file.content.body, headers={"content-type": file.content_type, "cache-control": "no-cache"})


def _json_endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers with the object that ``handler`` returns, or with the error that it raises."""

    async def endpoint(request: Request) -> Response:
        try:
            body = msgspec.json.encode(await handler(request))
        except _HttpError as error:
            return error_response(str(error), error.status)
        except TooManyWaiting as refused:
            return error_response(str(refused), TOO_MANY_REQUESTS, {"retry-after": "1"})
        except MoveRefused as refused:
            return error_response(str(refused), 409)
        except NotAllowed as refused:
            return error_response(str(refused), 503 if isinstance(refused, NotAllowedNow) else 403)
        return Response(body, headers={"content-type": "application/json", "cache-control": "no-store"})

    return endpoint


async def _body(request: Request, kind: type[T]) -> T:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _HttpError(413, f"At most {MAX_BODY_BYTES:,} bytes are taken.")
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except DECODE_ERRORS as error:
        raise _HttpError(400, f"That is not understood: {error}.") from None


def _host(request: Request) -> str:
    return request.client.host if request.client else ""
