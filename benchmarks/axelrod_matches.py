"""Matches a second of Axelrod (axelrod.readthedocs.io), run by a Python that has it: prints JSON.

One turn a match, as in even/odd, and only the matches themselves: no tournament, no table and no files, which would
take it longer. Seconds are those of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations

import axelrod

PLAYERS = 50


def main() -> None:
    strategies = [axelrod.Random, axelrod.TitForTat, axelrod.Alternator, axelrod.Cooperator, axelrod.Defector]
    players = [strategies[number % len(strategies)]() for number in range(PLAYERS)]
    pairs, rounds = [*combinations(players, 2)], int(sys.argv[1])
    began = time.process_time()
    for seed in range(rounds):
        for pair in pairs:
            match = axelrod.Match(pair, turns=1, seed=seed)
            match.play()
            match.final_score()
    seconds = time.process_time() - began
    print(json.dumps({"matches": rounds * len(pairs), "seconds": seconds, "version": axelrod.__version__}))


if __name__ == "__main__":
    main()
