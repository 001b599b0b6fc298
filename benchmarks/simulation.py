"""Simulated matches a second, against Axelrod where that is installed (`make axelrod`, which takes some minutes).

Both play on one core, so seconds are those of the processor: whatever else the machine does takes from neither.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

from programs import HERE, told

PLAYERS = 50
OF_ITS_OWN = HERE.parent / "build" / "axelrod" / "bin" / "python"
NOT_INSTALLED = "Axelrod is not installed: `make axelrod` does that, beside everything else"


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
    python = axelrod_python()
    if python is None:
        return NOT_INSTALLED
    try:
        found = told(str(HERE / "axelrod_matches.py"), str(rounds), python=python, seconds=seconds)
    except subprocess.TimeoutExpired:
        return "Axelrod took longer to import than there was time"
    return float(found["matches"] / found["seconds"])
