"""Where fakes live: on the memory network, in virtual time, or on sockets of the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

from leaguekit.transport.base import Caller, CallFailed, HttpAnswer, Peer, TimedOut
from leaguekit.transport.memory import MemoryNetwork
from tests.zoo.dialects.answers import Answer
from tests.zoo.dialects.fake import Handle

_REQUEST = "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
_ANSWER = "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"


class MemoryNet:
    """A Net on a memory network; the network sees its calls as those of ``caller``."""

    def __init__(self, network: MemoryNetwork, caller: Caller) -> None:
        self._network = network
        self._caller = caller

    async def open(self, url: str, handle: Handle) -> None:
        async def answer(body: bytes, peer: Peer) -> HttpAnswer:
            return HttpAnswer(*await handle(body, peer))

        self._network.listen(url, answer)

    async def close(self, url: str) -> None:
        self._network.close(url)

    async def post(self, url: str, body: bytes, seconds: float) -> Answer:
        try:
            came = await self._caller.post(url, body, seconds)
            return Answer(came.status, came.body, came.content_type)
        except TimedOut as error:
            raise TimeoutError(str(error)) from error
        except CallFailed as error:
            raise ConnectionError(str(error)) from error


class SocketNet:
    """A Net on real sockets, with a server and a client of a few lines: one request a connection."""

    def __init__(self) -> None:
        self._bound: dict[str, socket.socket] = {}
        self._servers: dict[str, asyncio.Server] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def reserve(self, port: int = 0) -> str:
        """A URL whose port is ours, and refuses connections until it is opened."""
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        self._bound[url] = bound
        return url

    async def open(self, url: str, handle: Handle) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(_answer(handle, reader, writer))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

        self._servers[url] = await asyncio.start_server(answer, sock=self._bound.pop(url))

    async def close(self, url: str) -> None:
        self._servers.pop(url).close()

    async def post(self, url: str, body: bytes, seconds: float) -> Answer:
        return await asyncio.wait_for(_posted(url, body), seconds)

    async def finish(self) -> None:
        """Let what is being answered be answered, and give up the ports that were never opened."""
        await asyncio.gather(*self._answering)
        for bound in self._bound.values():
            bound.close()
        self._bound.clear()


async def _answer(handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        body = await reader.readexactly(int(_fields(head).get("content-length", "0")))
        status, content, kind = await handle(body, writer.get_extra_info("peername"))
        writer.write(_ANSWER.format(status=status, kind=kind, length=len(content)).encode() + content)
        await writer.drain()
    await _hang_up(writer)


async def _posted(url: str, body: bytes) -> Answer:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(_REQUEST.format(path=path, host=parts.netloc, length=len(body)).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = _fields(head)
        content = await reader.readexactly(int(fields.get("content-length", "0")))
        return Answer(int(head.split()[1]), content, fields.get("content-type", ""))
    except EOFError as error:
        raise ConnectionError(f"{url} hung up") from error
    finally:
        await _hang_up(writer)


def _fields(head: str) -> dict[str, str]:
    lines = (line.partition(":") for line in head.split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in lines}


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
