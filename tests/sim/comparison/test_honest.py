"""The short form of ``make honest``."""

from __future__ import annotations

import pytest

from leaguekit.sim.workers import InlinePool
from tests.sim.comparison.honest import Runner, checks, max_wrong, payoffs_hold


@pytest.mark.long
def test_what_a_comparison_claims_is_true() -> None:
    with InlinePool() as pool:
        found = [*checks(Runner(pool, lambda _done, _whole: None), short=True)]
    assert len(found) == 39
    assert not [one for one in found if not one.holds]


def test_the_intervals_of_payoffs_contain_the_true_means() -> None:
    with InlinePool() as pool:
        found = [*payoffs_hold(Runner(pool, lambda _done, _whole: None), 40, 10)]
    assert len(found) == 3
    assert not [one for one in found if not one.holds]


def test_a_thousand_comparisons_may_have_fifty_wrong_claims_and_few_have_a_little_slack() -> None:
    assert max_wrong(1_000) == 50
    assert max_wrong(100) == 13
