"""A few connections send tiny requests or tiny pieces of a body without end, while others ping the manager.

Each request costs its sender a few bytes. The manager and the sender are real processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.programs import Program
from tests.stress.slots import PINGS, pings

CONNECTIONS = 10
# One such connection alone once held the loop for as long as it liked.
MAX_SECONDS = 1.0
CHUNKED = b" / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
# What is sent first, and what is sent again and again.
STREAMS = {
    "wrong methods": (b"", b"GET /mcp HTTP/1.1\r\n\r\n"),
    "upgrades": (b"", b"GET /mcp HTTP/1.1\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n"),
    "empty posts": (b"", b"POST /mcp HTTP/1.1\r\n\r\n"),
    "pages": (b"", b"GET /health HTTP/1.1\r\n\r\n"),
    "chunks after a page": (b"GET" + CHUNKED, b"1\r\na\r\n"),
    "chunks to a page": (b"POST" + CHUNKED, b"1\r\na\r\n"),
    "empty lines": (b"", b"\r\n"),
}


def _send(port: int, first: bytes, then: bytes) -> None:
    """Send on several connections, for ever; in a process of its own."""
    piece = then * (262_144 // len(then))

    async def stream() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.10.1", 0))
                writer.write(first)
                reading = asyncio.create_task(reader.read(-1))
                with contextlib.suppress(OSError):
                    while not reading.done():
                        writer.write(piece)
                        await writer.drain()
                reading.cancel()
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def main() -> None:
        await asyncio.gather(*(stream() for _ in range(CONNECTIONS)))

    asyncio.run(main())


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    seconds = 3.0 if short else 10.0
    told: dict[str, Any] = {}
    faults = []
    processes = multiprocessing.get_context("spawn")
    with ExitStack() as running:
        manager = running.enter_context(Program("manager", "--port", "0", "--data-dir", str(folder)))
        port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
        for name, (first, then) in STREAMS.items():
            sender = processes.Process(target=_send, args=(port, first, then), daemon=True)
            sender.start()
            try:
                seen = await pings(port, seconds)
            finally:
                sender.kill()
                sender.join()
            told[name] = {"pings": dict(seen.statuses), "slowest_s": round(seen.slowest, 2)}
            if seen.statuses[200] != PINGS or seen.slowest > MAX_SECONDS:
                faults.append(f"{name}: {told[name]}")
        manager.process.terminate()
        await asyncio.to_thread(manager.ended)
        faults += ["tracebacks"] if "Traceback" in manager.stderr else []
    return told, faults
