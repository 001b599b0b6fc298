"""Readers that ask for the costly pages of a large league, and disconnect at once or wait; then the manager is stopped.

The manager is a real process, and its league is over. One caller asks it a short question all the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import psutil

from leaguekit.store.opening import open_log
from tests.league.play import Play
from tests.programs import Program
from tests.stress.lines import Line, Seen
from tests.stress.siege import look

# Every request names another part of a page.
PATHS = (
    "/api/figures?offset=%d",
    "/api/crosstable?columns_offset=%d",
    "/api/crosstable?offset=%d",
    "/api/points?offset=%d",
    "/openapi.json?%d",
)
MAX_SECONDS = 1.0
MAX_STOP_SECONDS = 3.0
MAX_MEGABYTES = 60.0


def get(path: str) -> bytes:
    return b"GET %b HTTP/1.1\r\nhost: localhost\r\n\r\n" % path.encode()


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    players, count = (100, 60) if short else (200, 600)
    store = folder / "league.db"
    await _write_league(store, players)
    with Program("manager", "--port", "0", "--data-dir", str(folder), "--store", str(store)) as manager:
        port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
        reader, asked, waiting = Line(port, "127.5.0.1", Seen()), Seen(), Seen()
        assert (await reader.ask(get("/api/league")))[0] == 200
        process = psutil.Process(manager.process.pid)
        before = process.memory_full_info().pss
        asking = asyncio.ensure_future(_ask_on(port, asked))
        began = time.monotonic()
        for path in PATHS:
            await asyncio.gather(*(_ask_and_leave(port, path % number) for number in range(count)))
        for path in PATHS:
            await asyncio.gather(*(_ask_and_wait(port, path % number, number, waiting) for number in range(count)))
        # The pages are still there for a reader that waits; its answer comes after all that is still being made.
        pages = [await reader.ask(get(path % 0)) for path in PATHS]
        took = time.monotonic() - began
        memory = process.memory_full_info().pss - before
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        reader.close()
        manager.process.terminate()
        await asyncio.to_thread(manager.ended)
    with Program("manager", "--port", "0", "--data-dir", str(folder), "--store", str(store)) as again:
        stopped = await _stop_while_computing(again)
    tracebacks = manager.stderr.count("Traceback") + again.stderr.count("Traceback")
    told = {
        "players": players,
        "requests": 2 * count * len(PATHS),
        "to_readers_that_waited": dict(sorted(waiting.statuses.items())),
        "seconds": round(took, 1),
        "questions": asked.statuses.total(),
        "slowest_question_s": round(asked.slowest, 2),
        "pages": [status for status, _ in pages],
        "memory_mb": round(memory / 1e6, 1),
        "stopped_in_s": round(stopped, 1),
        "tracebacks": tracebacks,
    }
    bad = {
        "a question waited too long": asked.slowest > MAX_SECONDS,
        "questions were not answered": asked.faults or set(asked.statuses) != {200},
        "readers that waited were not answered": waiting.hangs or not set(waiting.statuses) <= {200, 503},
        "a page was not shown afterwards": told["pages"] != [200] * len(PATHS),
        "the manager's memory grew": memory / 1e6 > MAX_MEGABYTES,
        "the manager took too long to stop": stopped > MAX_STOP_SECONDS,
        "tracebacks": tracebacks,
    }
    return told, [what for what, is_so in bad.items() if is_so]


async def _write_league(store: Path, players: int) -> None:
    """Keep a whole league in a store."""
    play = Play(players=players)
    for number in range(1, 11):
        play.referee(number, capacity=10)
    play.begin().play_all()
    log = await open_log(store)
    await asyncio.wrap_future(log.append(play.log))
    await log.close()


async def _ask_and_leave(port: int, path: str) -> None:
    with contextlib.suppress(ConnectionError):
        _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.6.0.1", 0))
        writer.write(get(path))
        writer.close()


async def _ask_and_wait(port: int, path: str, number: int, seen: Seen) -> None:
    """Ask from one of ten addresses, and wait for the answer."""
    line = Line(port, f"127.7.0.{1 + number % 10}", seen)
    await line.ask(get(path))
    line.close()


async def _ask_on(port: int, seen: Seen) -> None:
    """Ask a short question again and again."""
    line = Line(port, "127.0.0.1", seen)
    try:
        while True:
            await look(line, "status")
            await asyncio.sleep(0.02)
    finally:
        line.close()


async def _stop_while_computing(manager: Program) -> float:
    """Stop a manager that computes figures, with readers waiting for them; the seconds that it took."""
    port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
    line = Line(port, "127.0.0.1", Seen())
    # What comes first is read from the log.
    assert (await line.ask(get("/api/league")))[0] == 200
    writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(10)]
    for number, writer in enumerate(writers):
        writer.write(get(f"/api/figures?offset={number}"))
    # It is answered when the requests before it have been read.
    await look(line, "status")
    line.close()
    began = time.monotonic()
    manager.process.terminate()
    await asyncio.to_thread(manager.ended)
    for writer in writers:
        writer.close()
    return time.monotonic() - began
