"""Many registrations: thousands of players register from one address, and the manager calls each of them back.

The league takes as many as it can handle and refuses the others. A start says how many matches there would be. Many
are withdrawn at once, and the rest is started.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from leaguekit.formats.round_robin import RoundRobin
from tests.programs import Program, league
from tests.stress.lines import Line, Seen, post, registration
from tests.stress.siege import paced

PONG = b'{"jsonrpc":"2.0","result":{},"id":1}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(PONG), PONG)
# A start with the most players may take no more.
MAX_SECONDS = 30.0
MAX_MEGABYTES = 1_000.0


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
    count, seconds, most = (500, 3.0, 200) if short else (10_000, 58.0, 1_000)
    seen = Seen()
    Callee.calls = 0
    callee = await asyncio.get_running_loop().create_server(Callee, "127.0.0.1", 0)
    called_at = callee.sockets[0].getsockname()[1]
    data = ("--port", "0", "--data-dir", str(folder))
    sized = ("--max-players", str(most)) if short else ()
    with Program("manager", *data, *sized) as manager:
        port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
        url = f"http://127.0.0.1:{port}/mcp"
        process = psutil.Process(manager.process.pid)
        answers: Counter[str] = Counter()

        async def register(line: Line, number: int) -> None:
            status, body = await line.ask(post(registration(number, f"http://127.0.0.1:{called_at}/{number}")))
            result = json.loads(body)["result"] if status == 200 else {}
            answers[result.get("error_code") or result.get("status", str(status))] += 1

        lines = [Line(port, "127.1.0.1", seen) for _ in range(50)]
        began = time.monotonic()
        await paced(count, seconds, [lambda number, line=line: register(line, number) for line in lines])
        took = time.monotonic() - began
        for line in lines:
            line.close()
        with Program("referee", *data, "--manager", url) as referee:
            await asyncio.to_thread(referee.said, "is registered")
            started, unasked, withdrawn = await asyncio.to_thread(_operate, url, folder, most)
        memory = process.memory_full_info().pss / 1e6
        manager.process.terminate()
        await asyncio.to_thread(manager.ended)
        tracebacks = manager.stderr.count("Traceback")
    callee.close()
    told = {
        "registrations": count,
        "answers": dict(answers),
        "called_back": Callee.calls,
        "seconds": round(took, 1),
        "slowest_s": round(seen.slowest, 2),
        "start_s": round(started, 1),
        "memory_mb": round(memory),
        "statuses": dict(seen.statuses),
        "tracebacks": tracebacks,
    }
    bad = {
        "not as many were taken as the league has places": answers["ACCEPTED"] != most,
        "the others were not refused": answers["E020"] != count - most,
        "faults": seen.faults,
        "the registrations took more than a minute": took > 60,
        "a start did not ask": not unasked,
        "not all were withdrawn": not withdrawn,
        "a start took too long": started > MAX_SECONDS,
        "the manager takes too much memory": memory > MAX_MEGABYTES,
        "tracebacks": tracebacks,
    }
    return told, [what for what, is_so in bad.items() if is_so]


def _operate(url: str, folder: Path, most: int) -> tuple[float, bool, bool]:
    """How long a start takes, if one without --yes is refused, and if some players were withdrawn before."""
    here = ("--manager", url, "--data-dir", str(folder))
    matches = RoundRobin().match_count(most)
    unasked = league("start", *here)
    withdrawn = league("withdraw", f"P{most - 49}-P{most}", *here)
    began = time.monotonic()
    started = league("start", "--yes", *here)
    took = time.monotonic() - began if "The league starts" in started.stdout else math.inf
    return took, f"{matches:,} matches: add --yes" in unasked.stderr, "50 players left" in withdrawn.stdout
