"""Servers that do to a caller what servers do: each kind is one coroutine, what it does with one connection.

async with serving(hangs) as server:
    ... server.url ... server.requests ...
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

BODY = b'{"jsonrpc":"2.0","result":{},"id":1}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'A\r\n{"jsonrpc"\r\n1a;note=x\r\n:"2.0","result":{},"id":1}\r\n0\r\nContent-Type: text/late\r\n\r\n'
)
GIGABYTE = 1 << 30
PIECE = b"x" * 65_536


class Server:
    """What a test may know of a server: where it is, what it was asked, and what became of its connections."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.sent = 0
        self.go_on = asyncio.Event()
        self.asked = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


class Line:
    """One connection, seen from the server."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Read one whole request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        request = head + await self.reader.readexactly(length)
        self.server.requests.append(request)
        self.server.asked.set()
        return request

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        self.server.sent += len(data)

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def until_closed(self) -> None:
        """Hold the connection for as long as the other side does."""
        while await self.reader.read(65_536):
            pass


Kind = Callable[[Line], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(kind: Kind, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        server.open += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await kind(Line(server, reader, writer))
        except asyncio.CancelledError:
            pass  # the test is over; streams would log it
        finally:
            server.open -= 1
            tasks.discard(task)
            writer.transport.abort() if tls else writer.close()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls, limit=1 << 22)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks)


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """A URL at which nobody listens, held so that nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"


@contextlib.contextmanager
def slow_to_accept() -> Iterator[socket.socket]:
    """A listening socket that nobody has accepted from yet: the kernel greets the caller, the program does not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def says(answer: bytes) -> Kind:
    """Answers every request with these bytes, and leaves the connection open."""

    async def kind(line: Line) -> None:
        while True:
            await line.request()
            await line.send(answer)

    return kind


def says_and_closes(answer: bytes) -> Kind:
    """Answers the first request with these bytes and closes."""

    async def kind(line: Line) -> None:
        await line.request()
        await line.send(answer)

    return kind


def says_in_pieces(*pieces: bytes) -> Kind:
    """Answers every request piece by piece, each of them a read of its own on the other side."""

    async def kind(line: Line) -> None:
        while True:
            await line.request()
            for piece in pieces:
                await line.send(piece)
                for _ in range(3):
                    await asyncio.sleep(0)

    return kind


good = says(ANSWER)


# Silent, slow, or gone


async def resets_at_once(line: Line) -> None:
    line.reset()


async def closes_at_once(line: Line) -> None:
    pass


async def resets_after_request(line: Line) -> None:
    await line.request()
    line.reset()


async def closes_after_request(line: Line) -> None:
    await line.request()


async def resets_in_body(line: Line) -> None:
    await line.request()
    await line.send(ANSWER[:-5])
    await line.server.go_on.wait()
    line.reset()


async def hangs(line: Line) -> None:
    await line.request()
    await line.until_closed()


async def never_reads(line: Line) -> None:
    await line.server.go_on.wait()


async def hangs_in_head(line: Line) -> None:
    await line.request()
    await line.send(ANSWER[:30])
    await line.until_closed()


async def hangs_in_body(line: Line) -> None:
    await line.request()
    await line.send(ANSWER[:-1])
    await line.until_closed()


async def drips(line: Line) -> None:
    """A byte every 10 ms: every single read is quick, the answer never is."""
    await line.request()
    for place in range(len(ANSWER)):
        await line.send(ANSWER[place : place + 1])
        await asyncio.sleep(0.01)


async def drips_headers(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await line.send(b"x: y\r\n")
        await asyncio.sleep(0.01)


async def answers_when_told(line: Line) -> None:
    while True:
        await line.request()
        await line.server.go_on.wait()
        await line.send(ANSWER)


# Too much


async def gigabyte_announced(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % GIGABYTE)
    await _pour(line, PIECE)


async def gigabyte_chunked(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    await _pour(line, b"%x\r\n%b\r\n" % (len(PIECE), PIECE))


async def gigabyte_in_chunks_of_a_byte(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    await _pour(line, b"1\r\n \r\n" * 10_000)


async def gigabyte_without_end(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\n\r\n")
    await _pour(line, PIECE)


async def gigabyte_of_header(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\nx: ")
    await _pour(line, PIECE)


async def gigabyte_of_headers(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\n")
    await _pour(line, b"x: y\r\n" * 10_000)


async def gigabyte_of_interim_answers(line: Line) -> None:
    await line.request()
    await _pour(line, b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)


async def gigabyte_of_empty_lines(line: Line) -> None:
    await line.request()
    await _pour(line, b"\r\n" * 30_000)


async def gigabyte_of_chunk_extension(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;")
    await _pour(line, PIECE)


async def gigabyte_of_trailer(line: Line) -> None:
    await line.request()
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
    await _pour(line, b"x: y\r\n" * 10_000)


async def _pour(line: Line, piece: bytes) -> None:
    while line.server.sent < GIGABYTE:
        await line.send(piece)


# Kept connections


async def closes_when_used_again(line: Line) -> None:
    await line.request()
    await line.send(ANSWER)
    await line.request()


async def resets_when_used_again(line: Line) -> None:
    await line.request()
    await line.send(ANSWER)
    await line.request()
    line.reset()


async def closes_while_idle(line: Line) -> None:
    """Closes after its answer without having said so."""
    await line.request()
    await line.send(ANSWER)


async def chatters_while_idle(line: Line) -> None:
    await line.request()
    await line.send(ANSWER)
    await line.server.go_on.wait()
    await line.send(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
    await line.until_closed()


async def speaks_first(line: Line) -> None:
    await line.send(b"SSH-2.0-OpenSSH_9.6\r\n")
    await line.until_closed()


# HTTP of all kinds, by what is answered

html = says(
    b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 22\r\n\r\n"
    b"<html>not here</html>\n"
)
wrong_id = says(ANSWER.replace(b'"id":1', b'"id":9'))
chunked = says(CHUNKED)
old = says_and_closes(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + BODY)
old_with_length = says(ANSWER.replace(b"1.1", b"1.0"))
old_but_kept = says(ANSWER.replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"))
says_close = says(ANSWER.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
without_length = says_and_closes(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + BODY)
many_headers = says(ANSWER.replace(b"OK\r\n", b"OK\r\n" + b"x-more: and more\r\n" * 1_000))
one_large_header = says(ANSWER.replace(b"OK\r\n", b"OK\r\nx-large: " + b"x" * 30_000 + b"\r\n"))
offers_upgrade = says(ANSWER.replace(b"OK\r\n", b"OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"))
continues = says(b"HTTP/1.1 100 Continue\r\nContent-Type: text/none\r\n\r\n" + ANSWER)
no_content = says(b"HTTP/1.1 204 No Content\r\n\r\n")
accepted_empty = says(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
fails = says(
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nTraceback",
)
two_answers = says(ANSWER + ANSWER)
answer_and_a_byte = says(ANSWER + b"H")
answer_and_noise = says(ANSWER + b"\x00\x01\x02")


async def redirects_to_itself(line: Line) -> None:
    while True:
        await line.request()
        await line.send(
            b"HTTP/1.1 301 Moved Permanently\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % line.server.url.encode()
        )


def redirects_to(url: str) -> Kind:
    return says(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % url.encode())


# No HTTP answer, by what is answered (each stays open, so that only reading tells)

NONSENSE: dict[str, bytes] = {
    "garbage": b"what do you mean?\r\n\r\n",
    "bare HTML": b"<!doctype html><html></html>",
    "bare JSON": BODY,
    "noise": bytes(range(256)),
    "an HTTP/2 preface": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80",
    "HTTP/2 in letters": ANSWER.replace(b"1.1", b"2.0"),
    "HTTP/0.9": ANSWER.replace(b"1.1", b"0.9"),
    "a status that is not a number": ANSWER.replace(b"200", b"abc"),
    "a length that is not a number": ANSWER.replace(b"content-length: ", b"content-length: x"),
    "a length below zero": ANSWER.replace(b"content-length: ", b"content-length: -"),
    "a length beyond all numbers": ANSWER.replace(b"content-length: ", b"content-length: 99999999999999999999"),
    "two lengths": ANSWER.replace(b"OK\r\n", b"OK\r\ncontent-length: 5\r\n"),
    "a length and chunks": ANSWER.replace(b"OK\r\n", b"OK\r\ntransfer-encoding: chunked\r\n"),
    "a chunk size that is not a number": CHUNKED.replace(b"A\r\n", b"zz\r\n"),
    "a chunk size beyond all numbers": CHUNKED.replace(b"A\r\n", b"f" * 40 + b"\r\n"),
    "a chunk that is too long": CHUNKED.replace(b"A\r\n", b"9\r\n"),
    "a header without a colon": ANSWER.replace(b"OK\r\n", b"OK\r\nnonsense\r\n"),
    "a header with a control character": ANSWER.replace(b"OK\r\n", b"OK\r\nx: \x00\r\n"),
    "lines that end in LF": ANSWER.replace(b"\r\n", b"\n"),
    "a switch of protocols": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nwhat?",
    "a bare switch of protocols": b"HTTP/1.1 101 Switching Protocols\r\n\r\nwhat?",
}
