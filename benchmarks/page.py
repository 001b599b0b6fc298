"""How long the dashboard of a league of a hundred takes until its table is shown, in the machine's own Chromium.

Run from the project's folder: ``python -m benchmarks.page``. The goal is 300 ms on a machine that does nothing else.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from tests.web.browsing import chromium, hundred_players, loaded, served

LOADS = 12


def main() -> None:
    play = hundred_players()
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        served(play.log, play.settings, Path(folder)) as base,
    ):
        took = sorted(loaded(browser, base)[1] for _ in range(LOADS))
    print(json.dumps({"least_ms": took[0], "median_ms": statistics.median(took), "most_ms": took[-1]}))


if __name__ == "__main__":
    main()
