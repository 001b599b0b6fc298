"""The limit: the exchanges of a league with nothing around them, raw asyncio and httptools on both sides.

Nothing is decoded, checked or kept; bodies are constants of the real sizes, and a path says what a request is. It is
run by ``rates.py``.
"""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

import agents
from agents import Hear, Pair, Post, Script
from httptools import HttpRequestParser, HttpResponseParser

REQUEST = (
    b"POST /%b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nuser-agent: leaguekit\r\naccept: application/json\r\n"
    b"accept-encoding: identity\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


class Served(asyncio.Protocol):
    """A connection from somebody."""

    def __init__(self, answers: dict[str, bytes], hear: Hear) -> None:
        self._answers, self._hear = answers, hear
        self._parser = HttpRequestParser(self)
        self._url = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_message_complete(self) -> None:
        _, kind, *match = self._url.decode().split("/")
        self._transport.write(self._answers[kind])
        self._hear(kind, (int(match[0]), int(match[1])) if match else None)


class Opened(asyncio.Protocol):
    """A connection to somebody; it is kept."""

    def __init__(self, idle: list[Opened]) -> None:
        self._idle = idle
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def ask(self, waiter: asyncio.Future[None], request: bytes) -> None:
        self._waiter = waiter
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        if self._waiter is not None:
            self._waiter.set_result(None)
            self._waiter = None
            self._idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter is not None:
            self._waiter.set_exception(exc or ConnectionError("closed"))


class Client:
    """Sends requests, each on a connection of its own while it waits."""

    def __init__(self, bodies: dict[str, bytes]) -> None:
        self._bodies = bodies
        self._loop = asyncio.get_running_loop()
        self._idle: defaultdict[int, list[Opened]] = defaultdict(list)
        self._opening: set[asyncio.Task[None]] = set()

    def post(self, port: int, kind: str, match: Pair | None = None, /) -> asyncio.Future[None]:
        body = self._bodies[kind]
        path = kind.encode() if match is None else b"%b/%d/%d" % (kind.encode(), *match)
        request = REQUEST % (path, port, len(body), body)
        waiter: asyncio.Future[None] = self._loop.create_future()
        if idle := self._idle[port]:
            idle.pop().ask(waiter, request)
        else:
            opening = self._loop.create_task(self._open(port, waiter, request))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)
        return waiter

    async def _open(self, port: int, waiter: asyncio.Future[None], request: bytes) -> None:
        try:
            _, opened = await self._loop.create_connection(lambda: Opened(self._idle[port]), "127.0.0.1", port)
        except OSError as error:
            waiter.set_exception(error)
        else:
            opened.ask(waiter, request)


def agent(
    sockets: list[socket.socket], script: Script, hear: Hear, meanwhile: Callable[[Post], Coroutine[Any, Any, None]]
) -> None:
    answers = {kind: ANSWER % (len(text.encode()), text.encode()) for kind, (_, text) in script.messages.items()}
    bodies = {kind: text.encode() for kind, (text, _) in script.messages.items()}

    async def serve() -> None:
        client = Client(bodies)
        loop = asyncio.get_running_loop()
        servers = [await loop.create_server(lambda: Served(answers, hear), sock=sock) for sock in sockets]
        await asyncio.gather(meanwhile(client.post), *(server.serve_forever() for server in servers))

    agents.run(serve())


if __name__ == "__main__":
    agents.main(agent)
