"""What a long league leaves behind in its manager: memory a result, open files, tasks.

A real manager with its log in SQLite on disk and its files beside it plays a whole league. Its
agents are ``fake_agents`` in the same process. So the manager is measured, and not a machine with 450 programs.

Run with ``python benchmarks/memory.py [PLAYERS]``; 448 players have 100,128 matches. The last line is one JSON object:
``a_result`` are the bytes by which the process grew from the first tenth of the league to its end, a result in between;
``whole`` from before the schedule was made, a match.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from fake_agents import FakeAgents, opened, results, until
from programs import data_folder

from leaguekit.manager.manager import Manager

PLAYERS, REFEREES = 448, 4
GOAL = 1_024


class Sample(NamedTuple):
    """What the process takes at one moment."""

    results: int
    bytes: int
    files: int
    tasks: int


def sample(manager: Manager) -> Sample:
    gc.collect()
    process = psutil.Process()
    return Sample(results(manager), process.memory_info().rss, process.num_fds(), len(asyncio.all_tasks()))


async def play(players: int, folder: Path) -> list[Sample]:
    """Play a league; what the process takes before it starts, at every tenth of it, and after its end."""
    fakes = FakeAgents()
    manager = await opened(fakes, folder)
    running = asyncio.create_task(manager.run())
    await fakes.register_all(players, REFEREES)
    samples = [sample(manager)]
    manager.runner.start_when = (players, REFEREES)
    manager.runner.wake()
    began = time.perf_counter()
    for tenth in range(1, 11):
        count = players * (players - 1) // 2 * tenth // 10
        await until(lambda count=count: results(manager) >= count, fakes, running)  # type: ignore[misc]
        samples.append(sample(manager))
        rate = samples[-1].results / (time.perf_counter() - began)
        print(f"{samples[-1].results:9,} results, {samples[-1].bytes / 1e6:6.0f} MB, {rate:,.0f} a second", flush=True)
    await running
    samples.append(sample(manager))
    await manager.close()
    return samples


def main() -> None:
    players = int(sys.argv[1]) if len(sys.argv) > 1 else PLAYERS
    with data_folder() as folder:
        samples = asyncio.run(play(players, folder))
    before, first, *_, end = samples
    whole = (end.bytes - before.bytes) / end.results
    a_result = (end.bytes - first.bytes) / (end.results - first.results)
    print(
        f"\n{end.results:,} matches: {a_result:,.0f} bytes a result (goal ≤ {GOAL:,}), with the schedule {whole:,.0f}"
    )
    print(f"open files {before.files} → {end.files}, tasks {before.tasks} → {end.tasks}")
    told = {
        "matches": end.results,
        "a_result": round(a_result),
        "whole": round(whole),
        "mb": [round(one.bytes / 1e6, 1) for one in samples],
        "files": [one.files for one in samples],
        "tasks": [one.tasks for one in samples],
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    print(f"\n{json.dumps(told)}")


if __name__ == "__main__":
    main()
