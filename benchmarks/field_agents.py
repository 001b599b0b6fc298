"""The field: the exchanges of a league on what others use, FastAPI with uvicorn and httpx, well tuned.

One shared client a process, kept connections, no validation, no access log. Messages are plain dictionaries. It is run
by ``rates.py``.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import agents
import httpx
import uvicorn
from agents import TRANSCRIPT, Hear, Pair, Post, Script
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

# Longer than any pause here: nobody is to find a kept connection closed.
KEEP_SECONDS = 120
# The client looks at every connection for every request: some more than there are peers was fastest.
SPARE_CONNECTIONS = 4


def application(answers: dict[str, Any], hear: Hear) -> FastAPI:
    app = FastAPI()

    @app.post("/mcp", response_model=None)
    async def message(request: Request) -> JSONResponse:
        body = await request.json()
        kind = body["method"]
        match = body["params"].get("match")
        hear(kind, None if match is None else (match[0], match[1]))
        return JSONResponse(answers[kind])

    @app.post("/transcripts/{match_id}", response_model=None)
    async def transcript(request: Request) -> JSONResponse:
        await request.json()
        hear(TRANSCRIPT, None)
        return JSONResponse(answers[TRANSCRIPT])

    return app


class Client:
    """What sends."""

    def __init__(self, bodies: dict[str, Any], peers: int) -> None:
        self._bodies = bodies
        most = peers + SPARE_CONNECTIONS
        limits = httpx.Limits(max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_SECONDS)
        self._client = httpx.AsyncClient(limits=limits, timeout=KEEP_SECONDS, trust_env=False)

    async def post(self, port: int, kind: str, match: Pair | None = None, /) -> None:
        body = self._bodies[kind]
        if match is not None:
            body = {**body, "params": {**body["params"], "match": match}}
        path = "transcripts/R10M10" if kind == TRANSCRIPT else "mcp"
        answer = await self._client.post(f"http://127.0.0.1:{port}/{path}", json=body)
        answer.raise_for_status()
        answer.json()


def agent(
    sockets: list[socket.socket], script: Script, hear: Hear, meanwhile: Callable[[Post], Coroutine[Any, Any, None]]
) -> None:
    answers = {kind: json.loads(text) for kind, (_, text) in script.messages.items()}
    bodies = {kind: json.loads(text) for kind, (text, _) in script.messages.items()}
    config = uvicorn.Config(
        application(answers, hear),
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        timeout_keep_alive=KEEP_SECONDS,
    )

    async def serve() -> None:
        client = Client(bodies, script.players + script.referees)
        await asyncio.gather(meanwhile(client.post), uvicorn.Server(config).serve(sockets=sockets))

    agents.run(serve())


if __name__ == "__main__":
    agents.main(agent)
