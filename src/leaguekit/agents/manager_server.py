"""The manager's server: messages at /mcp, and beside it its health and the transcripts of matches."""

from __future__ import annotations

import socket

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from leaguekit.agents.manager import Manager
from leaguekit.agents.server import too_large_answer
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.reading import decode, of_type
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import MOST_BYTES
from leaguekit.store.base import StoreError
from leaguekit.transport.server import Server

MOST_TRANSCRIPT = 262_144


def manager_server(manager: Manager, served: socket.socket) -> Server:
    """The manager's: messages, its health, and the transcripts of matches."""

    async def health(_request: Request) -> Response:
        state = manager.ledger.league.state
        try:
            await manager.ledger.settled()
        except StoreError as error:
            return JSONResponse({"status": "failed", "league_id": manager.league_id, "reason": str(error)}, 503)
        return JSONResponse({"status": "ok", "league_id": manager.league_id, "state": state})

    async def transcript(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_TRANSCRIPT:
                return JSONResponse({"error": f"A transcript has at most {MOST_TRANSCRIPT:,} bytes."}, 413)
        try:
            message = of_type(m.MatchTranscript, decode(bytes(body)))
            await manager.keep_transcript(message, request.path_params["match_id"])
        except ProtocolError as error:
            return JSONResponse({"error_code": error.code, "error": error.detail}, 400)
        return JSONResponse({"status": "ACCEPTED", "match_id": message.match_id})

    app = Starlette(routes=[Route("/health", health), Route("/transcripts/{match_id}", transcript, methods=["POST"])])
    refuse = manager_refusal(manager.world.now)
    return Server(
        manager.handle, sockets=[served], most_bytes=MOST_BYTES, too_large=too_large_answer(refuse, MOST_BYTES), app=app
    )
