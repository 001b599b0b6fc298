"""What more processes gain for ``league simulate``, and what they cost.

``python benchmarks/jobs.py`` plays a million matches while processes are killed at random, and compares the result with
that of one process. It takes about a minute.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, NamedTuple

import psutil

# Matches of even/odd are the shortest, so that passing on and merging weigh most. The other is a game of turns.
GAMES = {
    "even_odd": ("--players", "50", "--seeds", "600"),
    "tic_tac_toe": ("--game", "tic_tac_toe", "--players", "20", "--seeds", "800"),
}
MILLION = ("--players", "50", "--seeds", "817")
# The mean time between two killed processes.
KILL_SECONDS = 3.0


class Simulated(NamedTuple):
    """The figures that do not depend on time, the seconds, and those of all processors."""

    figures: dict[str, Any]
    seconds: float
    cpu_seconds: float
    killed: int = 0


def simulated(*options: str, kill: random.Random | None = None) -> Simulated:
    """Simulate, and perhaps kill processes at random."""
    began, cpu_began = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "leaguekit", "simulate", *options, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        killed = 0
        while kill is not None and process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(kill.expovariate(1 / KILL_SECONDS))
            killed += kill_one(process.pid, kill)
        out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    seconds, cpu = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = cpu.ru_utime + cpu.ru_stime - cpu_began.ru_utime - cpu_began.ru_stime
    figures = {name: value for name, value in json.loads(out).items() if "second" not in name}
    return Simulated(figures, seconds, cpu_seconds, killed)


def kill_one(parent: int, chance: random.Random) -> bool:
    """Kill one of the processes that play. Returns whether there was one."""
    with suppress(psutil.Error):
        players = [one for one in psutil.Process(parent).children() if "spawn_main" in " ".join(one.cmdline())]
        if players:
            chance.choice(players).kill()
            return True
    return False


class Gain(NamedTuple):
    """All cores beside one: the share of a linear speed-up, and how many times as much of the processors it takes."""

    of_linear: float
    times_cpu: float


def gain(game: str) -> Gain:
    """Raises ValueError if the results are not the same."""
    cores = len(os.sched_getaffinity(0))
    one, all_cores = (simulated(*GAMES[game], "--jobs", str(jobs)) for jobs in (1, cores))
    if one.figures != all_cores.figures:
        raise ValueError(f"{cores} processes have another result than one")
    return Gain(one.seconds / all_cores.seconds / cores, all_cores.cpu_seconds / one.cpu_seconds)


def main() -> int:
    seed = random.randrange(1_000_000)
    broken = simulated(*MILLION, "--jobs", "3", kill=random.Random(seed))
    whole = simulated(*MILLION, "--jobs", "1")
    is_same = broken.figures == whole.figures
    print(
        f"{broken.figures['matches']:,} matches, {broken.killed} processes killed (seed {seed}), "
        f"{broken.seconds:.0f} s: the result is {'that' if is_same else 'NOT THAT'} of one process"
    )
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
