"""What durability costs: real leagues with the log on disk, and the same with the log in memory, in turns.

Every agent is a process, all talk real HTTP, and everything is as in ``league run`` but for the manager's store.
Run with ``python benchmarks/durable.py [TURNS]``; the goal is a ratio of medians of at least 0.8. The last line is one
JSON object.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys

from programs import data_folder, told

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
    stores = {"disk": (), "memory": ("--store", "memory:")}
    rates: dict[str, list[float]] = {name: [] for name in stores}
    for turn in range(turns):
        # The one that comes first changes, for a machine that is just getting slower slows the second.
        for name in sorted(stores, reverse=turn % 2 == 1):
            rates[name].append(rate(*stores[name]))
        print(
            f"turn {turn + 1} of {turns}: disk {rates['disk'][-1]:,.0f}, memory {rates['memory'][-1]:,.0f}", flush=True
        )
    disk, memory = (statistics.median(rates[name]) for name in ("disk", "memory"))
    print(f"\n{PLAYERS} players, {REFEREES} referees, matches per second: median (least–most)")
    for name, found in rates.items():
        print(f"{name:8}{statistics.median(found):8,.0f} ({min(found):,.0f}–{max(found):,.0f})")
    print(f"ratio   {disk / memory:8.2f} (goal ≥ {GOAL})")
    figures = {"disk": round(disk, 1), "memory": round(memory, 1), "ratio": round(disk / memory, 3), "turns": turns}
    print(f"\n{json.dumps(figures | {'python': platform.python_version(), 'cores': os.cpu_count()})}")


if __name__ == "__main__":
    main()
