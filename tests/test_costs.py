"""No match costs more than it did: counts that a regression would move, on any machine and however busy it is.

If something gets cheaper, lower its budget here: a little above what ``python -m tests.costs`` prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BUDGETS = {
    "match": {
        "exchanges": 16.5,
        "bytes sent and answered": 24_000,
        "tasks": 29,
        "JSON encodings": 31,
        "JSON decodings": 24,
        "syncs to disk": 0.6,
        "appends to the log": 1.6,
        "files written": 1.7,
        "calls in protocol": 290,
        # Chance moves like a side: a match of even/odd has two steps. The referee plays it, and the manager plays it
        # again from the report and checks each step.
        "calls in games": 74,
        "calls in match": 90,
        # Each player writes a line about its result, with the names of both.
        "calls in league": 182,
        "calls in transport": 150,
        "calls in store": 31,
        "calls in agents": 92,
        # Before each message the manager makes sure that no other has taken its league over.
        "calls in manager": 205,
        "calls in referee": 202,
        "calls in player": 181,
    },
    "exchange": {
        "tasks": 0,
        "calls of the socket": 4,
        "calls in transport": 20,
    },
}


@pytest.fixture(scope="module")
def measured() -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.costs"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def over_budget(budget: dict[str, float], counts: dict[str, float]) -> list[str]:
    return [
        f"{what}: {counts[what]:,} instead of at most {most:,}" for what, most in budget.items() if counts[what] > most
    ]


@pytest.mark.parametrize("of", BUDGETS)
def test_neither_a_match_nor_an_exchange_costs_more_than_its_budget(of: str, measured: Any) -> None:
    budget, cost = BUDGETS[of], measured[of]
    assert budget.keys() == cost["counts"].keys()
    often = "\n  ".join(cost["often"])
    grown = "\n  ".join(over_budget(budget, cost["counts"]))
    assert not grown, f"a {of} costs more than it did:\n  {grown}\nmost called, in all:\n  {often}"


@pytest.mark.parametrize(("of", "what"), [(of, what) for of, budget in BUDGETS.items() for what in budget])
def test_one_and_a_half_times_as_much_of_anything_is_noticed(of: str, what: str, measured: Any) -> None:
    counts = measured[of]["counts"]
    grown = counts | {what: 1.5 * counts[what] or 1}
    assert len(over_budget(BUDGETS[of], grown)) == 1, "the budget leaves too much room: lower it"
