"""A tournament of the prisoner's dilemma by Axelrod, run by a Python that has it: prints JSON.

python axelrod_tournament.py TURNS REPETITIONS

The strategies are the deterministic ones of ``examples/classics.py``, by the same names. The payoffs are those of a
whole tournament. Its seconds are given beside those of the matches alone, without a tournament. A tournament plays each
pair of deterministic strategies once, and counts that match for every repetition. Seconds are those of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations

import axelrod

STRATEGIES = {
    "tit_for_tat": axelrod.TitForTat,
    "suspicious_tit_for_tat": axelrod.SuspiciousTitForTat,
    "tit_for_two_tats": axelrod.TitFor2Tats,
    "grudger": axelrod.Grudger,
    "pavlov": axelrod.WinStayLoseShift,
    "cooperator": axelrod.Cooperator,
    "defector": axelrod.Defector,
}


def play(turns: int, repetitions: int) -> tuple[axelrod.ResultSet, float]:
    tournament = axelrod.Tournament([one() for one in STRATEGIES.values()], turns=turns, repetitions=repetitions)
    began = time.process_time()
    results = tournament.play(progress_bar=False)
    return results, time.process_time() - began


def main() -> None:
    turns, repetitions = map(int, sys.argv[1:])
    pairs = [*combinations([one() for one in STRATEGIES.values()], 2)]
    began = time.process_time()
    for _ in range(repetitions):
        for pair in pairs:
            match = axelrod.Match(pair, turns=turns)
            match.play()
            match.final_score_per_turn()
    match_seconds = time.process_time() - began
    # The first one imports what later ones have.
    play(turns, 1)
    results, seconds = play(turns, repetitions)
    names = [*STRATEGIES]
    found = {
        "payoffs": {name: sum(own) / len(own) for name, own in zip(names, results.normalised_scores, strict=True)},
        "ranking": [names[number] for number in results.ranking],
        "matches": repetitions * len(pairs),
        "match_seconds": match_seconds,
        # Every strategy also plays against itself. These matches do not count in the payoffs.
        "tournament_matches": repetitions * (len(pairs) + len(names)),
        "tournament_seconds": seconds,
        "version": axelrod.__version__,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
