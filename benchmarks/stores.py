"""Appends a second to each store, one at a time and in groups: python benchmarks/stores.py [SECONDS] [POSTGRES_URL]

Without an address it starts a PostgreSQL of its own, as the tests do (as root only with LEAGUEKIT_PG_AS_ROOT=1), with
fsync and everything else as it comes. All in one run, for machines are noisy.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from leaguekit.store.base import EventLog  # noqa: E402
from leaguekit.store.memory import MemoryLog  # noqa: E402
from leaguekit.store.opening import open_log  # noqa: E402
from tests.postgres import AS_ROOT, running  # noqa: E402

# About as long as the event of a result.
EVENT = b'{"type":"result","text":"%s"}' % (b"x" * 600)
AT_ONCE = (1, 10, 50, 200)
TURNS = 3


async def rate(log: EventLog, at_once: int, seconds: float) -> float:
    """Appends per second when this number of tasks append, each waiting for its own."""
    end = time.perf_counter() + seconds

    async def append() -> int:
        count = 0
        while time.perf_counter() < end:
            await log.append([EVENT])
            count += 1
        return count

    began = time.perf_counter()
    counts = await asyncio.gather(*(append() for _ in range(at_once)))
    return sum(counts) / (time.perf_counter() - began)


async def measure(openers: dict[str, Callable[[], Awaitable[EventLog]]], seconds: float) -> None:
    print(f"{'appends a second':16}" + "".join(f"{f'{count} at once':>14}" for count in AT_ONCE))
    rates: dict[str, list[list[float]]] = {name: [[] for _ in AT_ONCE] for name in openers}
    # In turn, so that what else the machine does falls on all alike.
    for _ in range(TURNS):
        for name, opener in openers.items():
            log = await opener()
            for place, at_once in enumerate(AT_ONCE):
                rates[name][place].append(await rate(log, at_once, seconds))
            await log.close()
    for name, found in rates.items():
        print(f"{name:16}" + "".join(f"{statistics.median(one):14,.0f}" for one in found))


async def in_memory() -> EventLog:
    return MemoryLog()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    address = sys.argv[2] if len(sys.argv) > 2 else None
    if address is None and os.geteuid() == 0 and os.environ.get(AS_ROOT) != "1":
        sys.exit(f"As root, PostgreSQL adds a user and opens folders: set {AS_ROOT}=1, or name a database.")
    with tempfile.TemporaryDirectory() as folder, nullcontext() if address else running() as server:
        url = address or server.schema()
        openers: dict[str, Callable[[], Awaitable[EventLog]]] = {
            "memory": in_memory,
            "SQLite": lambda: open_log(Path(folder, "league.db")),
            "PostgreSQL": lambda: open_log(url),
        }
        asyncio.run(measure(openers, seconds))


if __name__ == "__main__":
    main()
