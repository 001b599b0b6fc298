"""How long the dashboard of a league of a hundred takes until its table is shown, in the machine's own Chromium.

Run from the project's folder: ``python -m benchmarks.page``. The manager is a process of its own, as in life. The goal
is 300 ms on a machine that does nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
from pathlib import Path

from leaguekit.store.opening import open_log
from tests.programs import Program
from tests.web.browsing import chromium, hundred_players, loaded

LOADS = 12


async def write(events: list[bytes], store: Path) -> None:
    log = await open_log(store)
    await log.append(events)
    await log.close()


def main() -> None:
    play, load = hundred_players(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "league.db"
        asyncio.run(write(play.log, store))
        with (
            Program("manager", "--store", store, "--port", "0", "--data-dir", folder) as manager,
            chromium() as browser,
        ):
            base = manager.said(r"dashboard.*?(http://127\.0\.0\.1:\d+)/")[1]
            first, *later = [loaded(browser, base)[1] for _ in range(LOADS + 1)]
    told = {"first_ms": first, "least_ms": min(later), "median_ms": statistics.median(later), "most_ms": max(later)}
    print(json.dumps({name: round(value) for name, value in told.items()} | {"load_at_start": load}))


if __name__ == "__main__":
    main()
