"""Simulated matches per second, against Axelrod where that is installed (`make axelrod`, which takes some minutes).

Matches of one turn, and a tournament of the prisoner's dilemma with the same strategies. Both play on one core, so
seconds are those of the processor: whatever else the machine does takes from neither.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from programs import HERE, told

PLAYERS = 50
OF_ITS_OWN = HERE.parent / "build" / "axelrod" / "bin" / "python"
NOT_INSTALLED = "Axelrod is not installed: `make axelrod` does that, beside everything else"


# The deterministic strategies of examples/classics.py, as axelrod_tournament.py has them.
CLASSICS = ("tit_for_tat", "suspicious_tit_for_tat", "tit_for_two_tats", "grudger", "pavlov", "cooperator", "defector")
TURNS = 200
EXAMPLES = HERE.parent / "examples"


class Tournaments(NamedTuple):
    """What ``league simulate`` and Axelrod tell about the same tournament of the prisoner's dilemma."""

    ours: dict[str, Any]
    axelrod: dict[str, Any]

    @property
    def our_payoffs(self) -> dict[str, float]:
        """By strategy, the best first."""
        return {row["strategy"].rpartition(":")[2]: row["payoff_per_match"] for row in self.ours["strategies"]}

    @property
    def is_same(self) -> bool:
        """Whether both have the same payoffs, and the same ranking up to equal payoffs."""
        ours, theirs = self.our_payoffs, self.axelrod["payoffs"]
        in_their_order = [ours.get(name) for name in self.axelrod["ranking"]]
        return (
            ours.keys() == theirs.keys()
            and all(abs(ours[name] - payoff) < 1e-6 for name, payoff in theirs.items())
            and in_their_order == [*ours.values()]
        )

    @property
    def our_rate(self) -> float:
        return float(self.ours["matches"] / self.ours["cpu_seconds"])

    @property
    def axelrod_rate(self) -> float:
        """Of its matches alone."""
        return float(self.axelrod["matches"] / self.axelrod["match_seconds"])

    @property
    def axelrod_tournament_rate(self) -> float:
        return float(self.axelrod["tournament_matches"] / self.axelrod["tournament_seconds"])


@cache
def axelrod_python() -> str | None:
    """A Python that has Axelrod: the one that AXELROD names, our own one for it, or this."""
    if named := os.environ.get("AXELROD"):
        return named
    if OF_ITS_OWN.exists():
        return str(OF_ITS_OWN)
    return sys.executable if find_spec("axelrod") is not None else None


def simulated(leagues: int) -> float:
    """Matches a second of ``league simulate``."""
    found = told("-m", "leaguekit", "simulate", "--players", str(PLAYERS), "--seeds", str(leagues), "--json")
    return float(found["matches"] / found["cpu_seconds"])


def of_axelrod(rounds: int, seconds: float) -> float | str:
    """Matches a second of Axelrod; or why there are none."""
    found = told_by_axelrod("axelrod_matches.py", rounds, seconds=seconds)
    return found if isinstance(found, str) else float(found["matches"] / found["seconds"])


def tournaments(repetitions: int, seconds: float) -> Tournaments | str:
    """The same tournament by both; or why there is none by Axelrod."""
    theirs = told_by_axelrod("axelrod_tournament.py", TURNS, repetitions, seconds=seconds)
    if isinstance(theirs, str):
        return theirs
    ours = told(
        *("-m", "leaguekit", "simulate", "--game", f"prisoners_dilemma(turns={TURNS})", "--seeds", str(repetitions)),
        *("--strategies", ",".join(f"classics:{name}" for name in CLASSICS), "--json"),
        PYTHONPATH=str(EXAMPLES),
    )
    return Tournaments(ours, theirs)


def told_by_axelrod(program: str, *arguments: int, seconds: float) -> dict[str, Any] | str:
    """What a program prints that is run by a Python with Axelrod; or why it cannot."""
    python = axelrod_python()
    if python is None:
        return NOT_INSTALLED
    try:
        return dict(told(str(HERE / program), *map(str, arguments), python=python, seconds=seconds))
    except subprocess.TimeoutExpired:
        return "Axelrod took longer to import than there was time"
