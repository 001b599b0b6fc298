"""The prisoner's dilemma beside Axelrod 4 itself: the same strategies have the same payoffs and the same ranking."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.longest
def test_a_tournament_has_the_payoffs_and_the_ranking_of_axelrod(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 20 s: Axelrod is slow to import. CI does not install it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    simulation = import_module("simulation")
    if simulation.axelrod_python() is None:
        pytest.skip(simulation.NOT_INSTALLED)
    found = simulation.tournaments(3, 120)
    assert not isinstance(found, str), found
    assert len(found.axelrod["payoffs"]) == 7
    assert found.our_payoffs == pytest.approx(found.axelrod["payoffs"], abs=1e-6)
    assert found.is_same
