"""Real processes with few descriptors, all of which somebody tries to hold: nobody loses a match by it."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from leaguekit.league import events as e
from tests.recovery.league_programs import LeaguePrograms

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit"),
]

DESCRIPTORS = 192
HELD = 400
PAUSE = 0.5  # of an attacker, before it opens a connection again


@contextlib.contextmanager
def holding(port: int) -> Iterator[None]:
    """Hold idle connections to a port, and open each again that is closed."""

    async def hold() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                with contextlib.closing(writer):
                    await reader.read()
            await asyncio.sleep(PAUSE)

    async def main() -> None:
        nonlocal stop
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        stop = lambda: loop.call_soon_threadsafe(ended.set)  # noqa: E731
        tasks = [asyncio.create_task(hold()) for _ in range(HELD)]
        begun.set()
        await ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stop, begun = (lambda: None), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop()
        thread.join()


@pytest.mark.parametrize("victim", ["manager", "referee 1", "player 1"])
def test_nobody_loses_because_a_program_has_few_descriptors_and_all_are_wanted(tmp_path: Path, victim: str) -> None:
    programs = LeaguePrograms(tmp_path, tmp_path / "league.db", players=4, referees=1, lead=1.0)
    command = programs.commands[victim]
    with holding(int(command[command.index("--port") + 1])), programs:
        resource.prlimit(programs.processes[victim].pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        programs.until_over()
    recorded = [event for event in programs.log() if isinstance(event, e.ResultRecorded)]
    assert len(recorded) == 6
    assert {event.result.details.ruling for event in recorded} <= {"WIN", "DRAW"}
