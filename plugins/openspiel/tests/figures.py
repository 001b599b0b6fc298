"""Prints how many games pass, and how many random games end as OpenSpiel says: ``python figures.py [PLAYTHROUGHS]``.

The default is 500 playthroughs of each of the twenty games. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import sys
import time

from comparing import compare_end
from game_list import COMPARED, PLAYED, REFUSED

from leaguekit.games import game
from leaguekit.games.testing import check_game


def main() -> int:
    playthroughs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    failed: dict[str, str] = dict(REFUSED)
    for name in PLAYED:
        began = time.perf_counter()
        try:
            check_game(game(f"openspiel:{name}"), seeds=range(2))
        except AssertionError as error:
            failed[name] = str(error)
        print(f"  {name}: {failed.get(name, 'passes')} ({time.perf_counter() - began:.1f} s)", flush=True)
    total = len(PLAYED) + len(REFUSED)
    print(f"{total - len(failed)} of {total} games of OpenSpiel pass check_game")
    for name, why in failed.items():
        print(f"  {name} {why}")
    wrong = 0
    for name in COMPARED:
        began = time.perf_counter()
        for seed in range(playthroughs):
            try:
                compare_end(name, seed)
            except AssertionError as error:
                wrong += 1
                print(f"  {name}, seed {seed}: {error}")
        print(f"  {name}: {playthroughs} random games ({time.perf_counter() - began:.1f} s)", flush=True)
    ended = len(COMPARED) * playthroughs
    print(f"{ended - wrong:,} of {ended:,} random games of {len(COMPARED)} games end with the returns of OpenSpiel")
    return int(failed.keys() != REFUSED.keys() or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
