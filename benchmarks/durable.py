"""What durability costs: real leagues with the log on disk, in PostgreSQL and in memory, in turns.

Every agent is a process, all talk real HTTP, and everything is as in ``league run`` but for the manager's store.
Run with ``python benchmarks/durable.py [TURNS]``; the goal is a ratio of medians of at least 0.8 (disk). PostgreSQL
is one that the tests bring, with fsync; as root only with LEAGUEKIT_PG_AS_ROOT=1. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from contextlib import nullcontext
from pathlib import Path

from programs import data_folder, told

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.postgres import AS_ROOT, running  # noqa: E402

PLAYERS, REFEREES, TURNS = 20, 2, 7
GOAL = 0.8


def rate(*store: str) -> float:
    """Matches per second of one league."""
    with data_folder() as folder:
        counts = ["--players", str(PLAYERS), "--referees", str(REFEREES)]
        league = told("-m", "leaguekit", "run", "--port", "0", *counts, "--data-dir", str(folder), "--json", *store)
    if league["technical_losses"]:
        print(f"  of {league['matches']} matches {league['technical_losses']} were technical losses")
    return float(league["matches"] / league["seconds"])


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    may_run = os.geteuid() != 0 or os.environ.get(AS_ROOT) == "1"
    with running() if may_run else nullcontext() as server:
        rates: dict[str, list[float]] = {"disk": [], "memory": []} | ({"PostgreSQL": []} if server else {})
        for turn in range(turns):
            # The one that comes first changes, for a machine that is just getting slower slows the second.
            for name in sorted(rates, reverse=turn % 2 == 1):
                store = {"disk": (), "memory": ("--store", "memory:")}.get(name)
                rates[name].append(rate(*(("--store", server.schema()) if store is None and server else store or ())))
            print(f"turn {turn + 1} of {turns}: " + ", ".join(f"{name} {of[-1]:,.0f}" for name, of in rates.items()))
            sys.stdout.flush()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    print(f"\n{PLAYERS} players, {REFEREES} referees, matches per second: median (least–most)")
    for name, found in rates.items():
        print(f"{name:12}{medians[name]:8,.0f} ({min(found):,.0f}–{max(found):,.0f})")
    ratios = {name: round(of / medians["memory"], 3) for name, of in medians.items() if name != "memory"}
    print(f"of memory   {'  '.join(f'{name} {ratio:.2f}' for name, ratio in ratios.items())} (goal: disk ≥ {GOAL})")
    figures = {name: round(of, 1) for name, of in medians.items()} | {"ratio": ratios["disk"], "ratios": ratios}
    print(f"\n{json.dumps(figures | {'turns': turns, 'python': platform.python_version(), 'cores': os.cpu_count()})}")


if __name__ == "__main__":
    main()
