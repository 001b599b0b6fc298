"""The conclusions of a comparison: means, intervals, differences, and which differences are detectable."""

from __future__ import annotations

import math
import statistics
from random import Random

import pytest

from leaguekit.sim.comparison.estimates import MIN_LEAGUES, Estimate, Scale, Sums, _quantile

WON, DRAWN, LOST = [0, 3, 0, 0], [0, 1, 1, 0], [0, 0, 3, 0]


def sums_of(leagues: list[list[int]], copies: tuple[int, ...] = (1, 1)) -> Sums:
    """Leagues of two strategies with these points by pair."""
    sums = Sums.of(2)
    for points in leagues:
        sums.add(copies, points, champion=0)
    return sums


def test_a_mean_has_the_interval_of_student_with_two_wins_and_two_losses_more() -> None:
    sums = sums_of([WON] * 6 + [DRAWN] * 3 + [LOST] * 5)
    found = sums.strategy(0)
    assert found.mean == pytest.approx(21 / 14)
    points = [3] * 6 + [1] * 3 + [0] * 5 + [3, 3, 0, 0]
    # t for 13 degrees of freedom is 2.160.
    margin = 2.160 * statistics.stdev(points) / math.sqrt(18)
    centre = statistics.mean(points)
    assert found.bounds == pytest.approx((centre - margin, centre + margin), abs=1e-3)
    assert sums.against(0, 1) == found
    assert sums.against(0, 0) is None


def test_a_difference_is_paired_within_leagues() -> None:
    sums = sums_of([WON] * 9 + [DRAWN] * 3 + [LOST] * 2)
    found = sums.difference(0, 1)
    assert found.mean == pytest.approx((30 - 9) / 14)
    differences = [3] * 9 + [0] * 3 + [-3] * 2 + [3, 3, -3, -3]
    margin = 2.160 * statistics.stdev(differences) / math.sqrt(18)
    centre = statistics.mean(differences)
    assert found.bounds == pytest.approx((centre - margin, centre + margin), abs=1e-3)
    mirrored = sums.difference(1, 0)
    assert found.bounds is not None
    assert mirrored.bounds == pytest.approx((-found.bounds[1], -found.bounds[0]))
    assert (sums.difference(0, 1).sign, sums_of([WON] * 10).difference(1, 0).sign) == (0, -1)


def test_leagues_with_more_matches_weigh_more() -> None:
    """The ratio of sums, with the usual error of a ratio: checked against the definition."""
    rng = Random(3)
    leagues = []
    for _ in range(40):
        copies = rng.choice([(2, 1), (1, 2)])
        points = [0, 0, 0, 0]
        for _ in range(2):
            a, b = rng.choice([(3, 0), (1, 1), (0, 3)])
            points[1] += a
            points[2] += b
        points[0 if copies[0] == 2 else 3] = rng.choice([2, 3])
        leagues.append((copies, points))
    sums = Sums.of(2)
    for copies, points in leagues:
        sums.add(copies, points, champion=1)
    observed = [
        (points[0] + points[1], 2 * copies[0], points[2] + points[3], 2 * copies[1]) for copies, points in leagues
    ]
    observed += [(3, 1, 0, 1), (0, 1, 3, 1)] * 2
    ratios = [sum(one[at] for one in observed) / sum(one[at + 1] for one in observed) for at in (0, 2)]
    mean_matches = [statistics.mean(one[at] for one in observed) for at in (1, 3)]
    residuals = [
        (a - ratios[0] * m) / mean_matches[0] - (b - ratios[1] * n) / mean_matches[1] for a, m, b, n in observed
    ]
    error = math.sqrt(sum(one**2 for one in residuals) / (len(residuals) - 1) / len(residuals))
    found = sums.difference(0, 1)
    assert found.bounds is not None
    assert (found.bounds[1] - found.bounds[0]) / 2 == pytest.approx(_quantile(1, 39) * error)


def test_many_wins_in_a_row_are_no_certainty() -> None:
    found = sums_of([WON] * 10).against(0, 1)
    assert found is not None
    assert found.bounds is not None
    low, high = found.bounds
    # The exact interval of 10 wins in 10 matches begins at 0.69, which is 2.07 points.
    assert (found.mean, high) == (3.0, 3.0)
    assert 1.7 < low < 2.1
    assert found.margin == 3.0 - low


def test_too_few_leagues_have_no_interval_and_claim_nothing() -> None:
    sums = sums_of([WON] * (MIN_LEAGUES - 1))
    assert sums.strategy(0) == Estimate(3.0)
    assert (sums.difference(0, 1).margin, sums.difference(0, 1).sign) == (None, 0)
    assert sums.detectable() is None
    assert sums_of([WON] * MIN_LEAGUES).difference(0, 1).sign == 1


def test_one_strategy_has_no_difference_to_detect() -> None:
    sums = Sums.of(1)
    for _ in range(20):
        sums.add((2,), [3], champion=0)
    assert (sums.pairs, sums.detectable()) == (0, None)
    assert sums.counts(0, 0) == (20, 0, 20)
    assert sums.strategy(0).mean == 1.5


# From the usual printed tables, for intervals of 95 %, 99 % (a family of 5) and 99.98 % (a family of 250).
@pytest.mark.parametrize(
    ("family", "freedom", "t"),
    [
        *((1, 9, 2.262), (1, 14, 2.145), (1, 29, 2.045), (1, 99, 1.984), (1, 100_000, 1.960)),
        *((5, 9, 3.250), (5, 29, 2.756), (5, 100_000, 2.576), (250, 9, 6.010), (250, 30, 4.234)),
    ],
)
def test_the_quantile_is_that_of_the_tables(family: int, freedom: int, t: float) -> None:
    assert _quantile(family, freedom) == pytest.approx(t, abs=1e-3, rel=0.01)


def test_the_stated_difference_is_that_of_the_widest_interval() -> None:
    sums = sums_of([WON, LOST, DRAWN, DRAWN] * 25)
    margin, detectable = sums.difference(0, 1).margin, sums.detectable()
    assert margin is not None
    assert detectable is not None
    # 1.29 more standard errors for a power of 90 %, and as much more as four added matches of 104 take away.
    assert detectable / margin == pytest.approx((1.984 + 1.2903) / 1.984 * 104 / 100, rel=0.01)


def test_no_difference_is_called_detectable_that_cannot_be() -> None:
    assert sums_of([WON, LOST] * 5).detectable() is None


@pytest.mark.parametrize("leagues", [20, 50, 200])
def test_a_difference_that_is_called_detectable_is_found_about_as_often_as_stated(leagues: int) -> None:
    random = Random(leagues)
    # One strategy wins that much more often.
    advantage = {20: 0.7, 50: 0.46, 200: 0.235}[leagues]
    played = [
        sums_of([WON if random.random() < (1 + advantage) / 2 else LOST for _ in range(leagues)]) for _ in range(300)
    ]
    stated = sum(sums.detectable() or 3.0 for sums in played) / len(played)
    assert stated <= 3 * advantage <= 1.1 * stated
    assert sum(sums.difference(0, 1).sign > 0 for sums in played) / len(played) >= 0.86


@pytest.mark.parametrize("lowest", [-2.5, 0.0, 1.0])
def test_payoffs_have_the_intervals_of_points_on_their_own_scale(lowest: float) -> None:
    """A payoff that is three halves of the points, above the lowest one, has an interval that is so, too."""
    leagues = [WON] * 6 + [DRAWN] * 3 + [LOST] * 5
    points, payoffs = sums_of(leagues), Sums.of(2, Scale.of_payoffs(lowest, lowest + 4.5))
    for league in leagues:
        sums = [round(1_000_000 * (lowest + 1.5 * one)) for one in league]
        payoffs.add((1, 1), [payoffs.scale.count_of(one, 1) if at in (1, 2) else 0 for at, one in enumerate(sums)], 0)
    for of_payoffs, of_points, above in (
        (payoffs.strategy(0), points.strategy(0), lowest),
        (payoffs.against(1, 0), points.against(1, 0), lowest),
        (payoffs.difference(0, 1), points.difference(0, 1), 0),
    ):
        assert of_payoffs.mean == pytest.approx(above + 1.5 * of_points.mean)
        assert of_payoffs.bounds == pytest.approx(tuple(above + 1.5 * bound for bound in of_points.bounds))
    more_points, more_payoffs = sums_of(leagues * 9), Sums.of(2, payoffs.scale)
    for league in leagues * 9:
        more_payoffs.add((1, 1), [1_500_000 * one for one in league], 0)
    assert more_payoffs.detectable() == pytest.approx(1.5 * more_points.detectable())
