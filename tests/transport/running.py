"""A server under test over real sockets, and clients that speak to it in raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import Peer
from leaguekit.transport.server.server import Limits, Server, listen

MAX_BYTES = 10_240
TOO_LARGE = b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"too large","data":null},"id":null}'
QUICK = Limits(request_seconds=0.15, idle_seconds=0.1, linger_seconds=0.1)

Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def echo(body: bytes, peer: Peer) -> bytes:
    return body


class Client:
    """One connection, in raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readexactly(2)
            return status, headers, body
        return status, headers, await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def ends(self) -> bool:
        """Wait for the end of the connection; true if nothing came before it."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True


class Running:
    """A server under test."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.clients: list[Client] = []

    async def connect(self, port: int | None = None, source: str = "127.0.0.1") -> Client:
        """A connection from an address of this machine."""
        to = ("127.0.0.1", port or self.server.port)
        client = Client(*await asyncio.open_connection(*to, local_addr=(source, 0)))
        self.clients.append(client)
        return client

    async def say(self, data: bytes, source: str = "127.0.0.1") -> Client:
        client = await self.connect(source=source)
        await client.send(data)
        return client

    async def at_eof(self) -> None:
        """Wait until the server has noticed that its clients send nothing more."""
        connections: Any = self.server._state.connections
        while not (connections and all(one._is_at_eof for one in connections)):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)


def of_requests(handler: Callable[[bytes, Peer], Awaitable[Any]]) -> Callable[[RpcRequest, Peer], Any]:
    """A handler of requests that is given the body of each."""

    async def answer(request: RpcRequest, peer: Peer) -> Any:
        return await handler(request.body, peer)

    return answer


@asynccontextmanager
async def serving(handler: Any = echo, *, sockets: int = 1, **settings: Any) -> AsyncIterator[Running]:
    settings = {"max_bytes": MAX_BYTES, "too_large": TOO_LARGE} | settings
    server = Server(of_requests(handler), sockets=[listen("127.0.0.1", 0) for _ in range(sockets)], **settings)
    await server.start()
    running = Running(server)
    try:
        yield running
    finally:
        for client in running.clients:
            client.writer.close()
        await server.stop()


def post(
    body: bytes, *headers: bytes, target: bytes = b"/mcp", version: bytes = b"1.1", method: bytes = b"POST"
) -> bytes:
    lines = [
        b"%b %b HTTP/%b" % (method, target, version),
        b"host: localhost",
        b"content-length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n%b0\r\n%b\r\n" % (body, trailer)
