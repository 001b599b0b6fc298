"""A crowd at the door: ten thousand players register in a minute, all from one address, and each is called back."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import psutil

from tests.programs import Program
from tests.stress.lines import Line, Seen, post, registration
from tests.stress.siege import paced

PONG = b'{"jsonrpc":"2.0","result":{},"id":1}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(PONG), PONG)


class Callee(asyncio.Protocol):
    """Answers every request on a connection that it is called on; the requests are small and come whole."""

    calls = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        Callee.calls += data.count(b"POST ")
        self.transport.write(ANSWER * data.count(b"POST "))


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    count, seconds = (500, 3.0) if short else (10_000, 58.0)
    seen = Seen()
    Callee.calls = 0
    callee = await asyncio.get_running_loop().create_server(Callee, "127.0.0.1", 0)
    called_at = callee.sockets[0].getsockname()[1]
    with Program("manager", "--port", "0", "--data-dir", str(folder)) as manager:
        port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
        process = psutil.Process(manager.process.pid)
        before = process.memory_full_info().pss
        accepted = 0

        async def register(line: Line, number: int) -> None:
            nonlocal accepted
            status, body = await line.ask(post(registration(number, f"http://127.0.0.1:{called_at}/{number}")))
            accepted += status == 200 and json.loads(body)["result"]["status"] == "ACCEPTED"

        lines = [Line(port, "127.1.0.1", seen) for _ in range(50)]
        began = time.monotonic()
        await paced(count, seconds, [lambda number, line=line: register(line, number) for line in lines])
        took = time.monotonic() - began
        memory = process.memory_full_info().pss - before
        for line in lines:
            line.close()
        manager.process.terminate()
        await asyncio.to_thread(manager.ended)
        tracebacks = manager.stderr.count("Traceback")
    callee.close()
    told = {
        "registrations": count,
        "accepted": accepted,
        "called_back": Callee.calls,
        "seconds": round(took, 1),
        "slowest_s": round(seen.slowest, 2),
        "kilobytes_each": round(memory / count / 1e3, 1),
        "statuses": dict(seen.statuses),
        "tracebacks": tracebacks,
    }
    faults = [] if accepted == count else [f"{count - accepted} were not taken"]
    faults += [f"{seen.faults} faults"] if seen.faults else []
    faults += [f"{took:.0f} seconds are more than a minute"] if took > 60 else []
    return told, faults + (["tracebacks"] if tracebacks else [])
