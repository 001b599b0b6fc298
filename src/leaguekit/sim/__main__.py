"""``python -m leaguekit.sim --minutes 60``: simulate random leagues for some time, as ``make soak`` does."""

from __future__ import annotations

import argparse
import sys

from leaguekit.sim.campaign import soak
from leaguekit.sim.workers import ProcessPool, available_cores


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m leaguekit.sim", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--least", metavar="N", type=int, default=1, help="simulate at least N seeds (default 1)")
    parser.add_argument("--json", action="store_true", help="the totals as JSON, for programs")
    parser.add_argument("--jobs", metavar="N", type=int, default=available_cores(), help="(default one per core)")
    options = parser.parse_args()
    pool = ProcessPool(options.jobs) if options.jobs > 1 else None
    return soak(options.minutes, options.seed, min_seeds=options.least, as_json=options.json, pool=pool)


if __name__ == "__main__":
    sys.exit(main())
