"""A recording HTTP proxy: it is between real programs and keeps every request and answer, in one order.

Each program is given addresses of the recorder instead of the others' own: one at which all others reach it, and one
of its own at which it reaches the manager, so that the port says who is calling. What passes is not changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

MAX_HEAD = 65_536


class HttpMessage(NamedTuple):
    """A request or an answer: its start line, its head and its body, to the byte."""

    line: str
    head: bytes
    body: bytes


class Moment(NamedTuple):
    """When something passed: its place in the order of everything, and the clock's time."""

    place: int
    at: float


@dataclass
class Exchange:
    """One request, and its answer if there was one. ``client`` is the port that the caller called from."""

    receiver: str
    caller: str | None
    client: int
    request: HttpMessage
    sent: Moment
    answer: HttpMessage | None = None
    answered: Moment | None = None

    @property
    def path(self) -> str:
        return self.request.line.split()[1]

    @cached_property
    def call(self) -> dict[str, Any]:
        """The JSON-RPC request."""
        return json.loads(self.request.body)

    @property
    def reply(self) -> dict[str, Any] | None:
        """The JSON-RPC answer."""
        return None if self.answer is None else json.loads(self.answer.body)

    @property
    def message(self) -> dict[str, Any]:
        """The message in the request; empty for a ping."""
        return self.call.get("params", self.call)

    @property
    def result(self) -> dict[str, Any]:
        """The message in the answer, be it a result or an error's; empty without one."""
        reply = self.reply or {}
        return reply.get("result") or reply.get("error", {}).get("data") or {}

    @property
    def kind(self) -> str | None:
        return self.message.get("message_type")

    @property
    def sender(self) -> str:
        """Who called: known by the port, else by what the message says."""
        return self.caller or str(self.message.get("sender", "league_manager")).rpartition(":")[2]

    @property
    def seconds(self) -> float:
        assert self.answered is not None
        return self.answered.at - self.sent.at


class NoConnection(Exception):
    """The peer has gone."""


async def read_http(reader: asyncio.StreamReader) -> HttpMessage:
    """The next message of a connection. Raises NoConnection when there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        fields = {name.strip().lower(): value.strip() for name, _, value in (one.partition(":") for one in lines[1:])}
        if "transfer-encoding" in fields:
            raise AssertionError("our programs send no chunks")
        body = await reader.readexactly(int(fields.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise NoConnection from error
    return HttpMessage(lines[0], head, body)


class Watcher:
    """Sees what passes, and may keep an answer back for a while."""

    def asked(self, exchange: Exchange) -> None:
        """A request is about to be passed on."""

    async def answered(self, exchange: Exchange) -> None:
        """An answer has come; it is passed on when this returns."""


@dataclass
class Recorder:
    """All ports, and all that passed them."""

    watcher: Watcher = field(default_factory=Watcher)
    exchanges: list[Exchange] = field(default_factory=list)
    _places: count[int] = field(default_factory=count)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def port(self, receiver: str, caller: str | None = None) -> Port:
        """A new port in front of a program; ``caller`` if only one other program knows it."""
        port = Port(self, receiver, caller)
        server = await asyncio.start_server(port.connected, "127.0.0.1", 0, limit=MAX_HEAD)
        self._servers.append(server)
        port.number = server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def moment(self) -> Moment:
        return Moment(next(self._places), time.monotonic())


class Port:
    """One listening port. What comes waits until ``leads_to`` says where the program really listens."""

    def __init__(self, recorder: Recorder, receiver: str, caller: str | None) -> None:
        self._recorder = recorder
        self._receiver = receiver
        self._caller = caller
        self._target: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.number = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.number}/mcp"

    def leads_to(self, port: int) -> None:
        self._target.set_result(port)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._recorder._connections.add(task)
        target = None
        try:
            target = await asyncio.open_connection("127.0.0.1", await self._target, limit=MAX_HEAD)
            while True:
                await self._pass_on((reader, writer), target)
        except (NoConnection, OSError, asyncio.CancelledError):
            # If one side has gone, the other sees the end of its connection.
            pass
        finally:
            self._recorder._connections.discard(task)
            for stream in (writer, *([] if target is None else [target[1]])):
                stream.close()

    async def _pass_on(self, client: Streams, server: Streams) -> None:
        """One request and its answer. While one side is waited for, the end of the other is noticed."""
        request = await _first(read_http(client[0]), _end_of(server[0]))
        number = client[1].get_extra_info("peername")[1]
        exchange = Exchange(self._receiver, self._caller, number, request, self._recorder.moment())
        self._recorder.exchanges.append(exchange)
        self._recorder.watcher.asked(exchange)
        server[1].write(request.head + request.body)
        answer = await _first(read_http(server[0]), _end_of(client[0]))
        exchange.answer, exchange.answered = answer, self._recorder.moment()
        await _first(self._recorder.watcher.answered(exchange), _end_of(client[0]))
        client[1].write(answer.head + answer.body)


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _end_of(reader: asyncio.StreamReader) -> None:
    """Wait until a side that has nothing to say goes away."""
    with contextlib.suppress(ConnectionError):
        assert await reader.read(1) == b"", "a program spoke out of turn"


async def _first(awaited: Awaitable[Any], gone: Awaitable[None]) -> Any:
    """What is awaited, unless the other side goes away before."""
    tasks = [asyncio.ensure_future(awaited), asyncio.ensure_future(gone)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            return tasks[0].result()
        tasks[1].result()
        raise NoConnection
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
