"""Raw HTTP connections that besiege a server, and what became of what they sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field

# An answer that takes longer is a hang.
PATIENCE = 15.0


@dataclass
class Seen:
    """What the besiegers saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    # JSON-RPC's word for a fault of the server's own.
    internal_errors: int = 0
    hangs: int = 0
    slowest: float = 0.0

    def note(self, status: int, body: bytes, seconds: float) -> None:
        self.statuses[status] += 1
        self.internal_errors += b'"code":-32603' in body
        self.slowest = max(self.slowest, seconds)

    def add(self, other: Seen) -> None:
        self.statuses += other.statuses
        self.internal_errors += other.internal_errors
        self.hangs += other.hangs
        self.slowest = max(self.slowest, other.slowest)

    @property
    def faults(self) -> int:
        """How many answers no server may give."""
        return self.hangs + self.internal_errors + sum(n for status, n in self.statuses.items() if status >= 500)


def post(body: bytes, path: str = "/mcp") -> bytes:
    return b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


def chunked(body: bytes, path: str = "/mcp") -> bytes:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n" % path.encode()
    pieces = [body[start : start + 4_096] for start in range(0, len(body), 4_096)]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def registration(number: int, endpoint: str) -> bytes:
    """A player's request to register."""
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:crowd-{number}",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": f"conv-crowd-{number}",
        "player_meta": {
            "display_name": f"Crowd {number}",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": endpoint,
        },
    }
    return json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": message, "id": number}).encode()


class Line:
    """A connection from one of this machine's addresses, opened again whenever the server has closed it."""

    def __init__(self, port: int, source: str, seen: Seen) -> None:
        self._port = port
        self._source = source
        self._seen = seen
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and see what comes; (0, b"") if the connection ends without an answer."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                status, body = await self._ask(request)
        except TimeoutError:
            self._seen.hangs += 1
            self.close()
            return 0, b""
        self._seen.note(status, body, time.monotonic() - began)
        return status, body

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        for _ in range(3):
            fresh = self._streams is None
            try:
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._source, 0))
                reader, writer = self._streams
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                body = await reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
                # A kept connection may be closed at the very moment at which it is used again.
                if fresh:
                    return 0, b""
            else:
                if b"connection: close" in head:
                    self.close()
                return int(head.split(b" ", 2)[1]), body
        return 0, b""

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def once(port: int, source: str, request: bytes, seen: Seen) -> None:
    """Send something on a connection of its own, and wait until the server has ended it."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
            with contextlib.suppress(ConnectionError):
                writer.write(request)
            came = b""
            with contextlib.suppress(ConnectionError):
                came = await reader.read()
            writer.transport.abort()
    except TimeoutError:
        seen.hangs += 1
        return
    status = int(came.split(b" ", 2)[1]) if came.startswith(b"HTTP/1.1 ") else 0
    seen.note(status, came, time.monotonic() - began)


async def hold(
    port: int, source: str, start: bytes, more: bytes, stop: asyncio.Event, seen: Seen, held: Counter[str]
) -> None:
    """Hold a connection with part of a request, a byte every second, and take another whenever it is lost."""
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        except ConnectionError:
            continue
        held["now"] += 1
        held["ever"] += 1
        held["most"] = max(held["most"], held["now"])
        writer.write(start)
        reading = asyncio.ensure_future(reader.read())
        stopping = asyncio.ensure_future(stop.wait())
        while not reading.done() and not stop.is_set():
            await asyncio.wait((reading, stopping), timeout=1, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                with contextlib.suppress(ConnectionError):
                    writer.write(more)
        stopping.cancel()
        reading.cancel()
        held["now"] -= 1
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            came = await reading
            if came.startswith(b"HTTP/1.1 "):
                seen.statuses[int(came.split(b" ", 2)[1])] += 1
        writer.transport.abort()
