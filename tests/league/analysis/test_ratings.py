"""Ratings: what an independent fit by plain search comes to, and intervals that hold what they promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from leaguekit.league.analysis.linear_algebra import cholesky, inverse, solve
from leaguekit.league.analysis.ratings import POINTS, QUANTILE_975, SIDE_SPREAD, SPREAD, Played, Ratings

FIVE = [
    *(Played("P01", "P02", 1), Played("P01", "P03", 1), Played("P04", "P01", 0), Played("P01", "P05", 0.5)),
    *(Played("P02", "P03", 0.5), Played("P02", "P04", 1), Played("P05", "P02", 1), Played("P03", "P04", 0)),
    *(Played("P05", "P03", 0), Played("P04", "P05", 0.5), Played("P02", "P01", 0.5), Played("P03", "P01", 1)),
]
IDS = ["P01", "P02", "P03", "P04", "P05"]


def log_posterior(played: list[Played], values: list[float], ids: list[str]) -> float:
    """Davidson's model written down once more: strengths in the order of ids, side A, then the logarithm of his nu."""
    *strengths, side, tie = values
    of = dict(zip(ids, strengths, strict=True))
    total = -sum(value * value for value in (*strengths, tie)) / (2 * SPREAD**2) - side * side / (2 * SIDE_SPREAD**2)
    for a, b, score in played:
        first, second = math.exp(of[a] + side), math.exp(of[b])
        drawn = math.exp(tie) * math.sqrt(first * second)
        won = {1: first, 0.5: drawn, 0: second}[score]
        total += math.log(won / (first + second + drawn))
    return total


def climbed(height: Callable[[list[float]], float], size: int) -> list[float]:
    """The highest point, found by nothing but trying: a step to either side, halved when neither helps."""
    at, step = [0.0] * size, 1.0
    best = height(at)
    while step > 1e-7:
        before = best
        for place in range(size):
            for way in (step, -step):
                tried = [*at]
                tried[place] += way
                if (found := height(tried)) > best:
                    at, best = tried, found
        if best == before:
            step /= 2
    return at


def curvature(height: Callable[[list[float]], float], at: list[float]) -> list[list[float]]:
    """The second derivatives, by differences, with the sign changed."""
    eps = 1e-3

    def moved(one: int, first: float, other: int, second: float) -> float:
        there = [*at]
        there[one] += first
        there[other] += second
        return height(there)

    return [
        [
            -(moved(i, eps, j, eps) - moved(i, eps, j, -eps) - moved(i, -eps, j, eps) + moved(i, -eps, j, -eps))
            / (4 * eps * eps)
            for j in range(len(at))
        ]
        for i in range(len(at))
    ]


def inverted(matrix: list[list[float]]) -> list[list[float]]:
    """By elimination."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for pivot in range(size):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [value - factor * up for value, up in zip(rows[other], rows[pivot], strict=True)]
    return [row[size:] for row in rows]


def test_ratings_and_intervals_are_those_of_an_independent_fit() -> None:
    def height(values: list[float]) -> float:
        return log_posterior(FIVE, values, IDS)

    peak = climbed(height, 7)
    covariance = inverted(curvature(height, peak))
    ratings = Ratings(FIVE)
    average = sum(peak[:5]) / 5
    assert average == pytest.approx(0, abs=1e-4)
    for place, player in enumerate(IDS):
        found = ratings.of(player)
        assert found.points == pytest.approx(POINTS * peak[place], abs=0.05)
        # The variance of a strength less the average of all five, from the covariances of all.
        weights = [float(other == place) - 1 / 5 for other in range(5)]
        variance = sum(a * b * covariance[i][j] for i, a in enumerate(weights) for j, b in enumerate(weights))
        margin = POINTS * QUANTILE_975 * math.sqrt(variance)
        assert (found.low, found.high) == pytest.approx((found.points - margin, found.points + margin), abs=0.1)
    margin = POINTS * QUANTILE_975 * math.sqrt(covariance[5][5])
    assert ratings.side() == pytest.approx(
        (POINTS * peak[5], POINTS * peak[5] - margin, POINTS * peak[5] + margin), abs=0.1
    )
    for one, other in ((0, 3), (3, 0), (1, 2)):
        points, low, high = ratings.between(IDS[one], IDS[other])
        margin = (
            POINTS
            * QUANTILE_975
            * math.sqrt(covariance[one][one] + covariance[other][other] - 2 * covariance[one][other])
        )
        assert points == pytest.approx(POINTS * (peak[one] - peak[other]), abs=0.05)
        assert (low, high) == pytest.approx((points - margin, points + margin), abs=0.1)


def simulated(chance: random.Random, strengths: list[float], ties: float, side: float = 0.0) -> list[Played]:
    played = []
    for i, strength in enumerate(strengths):
        for j, other in enumerate(strengths[:i]):
            ratio = math.exp((strength - other + side) / 2)
            thrown = chance.random() * (ratio + ties + 1 / ratio)
            played.append(
                Played(f"P{i:02d}", f"P{j:02d}", 1 if thrown < ratio else 0.5 if thrown < ratio + ties else 0)
            )
    return played


@pytest.mark.parametrize(
    ("spread", "ties"),
    [(0.0, 2.0), (1.0, 0.0), (1.0, 1.0), (2.0, 0.5)],
    ids=["alike", "no draws", "draws", "far apart"],
)
def test_the_intervals_hold_the_truth_as_often_as_they_promise(spread: float, ties: float) -> None:
    chance = random.Random(7)
    inside = intervals = 0
    for _ in range(60):
        strengths = [chance.gauss(0, spread) for _ in range(12)]
        average = sum(strengths) / 12
        ratings = Ratings(simulated(chance, strengths, ties))
        for place, strength in enumerate(strengths):
            found = ratings.of(f"P{place:02d}")
            inside += found.low <= POINTS * (strength - average) <= found.high
            intervals += 1
    # 720 intervals at 95 %: by chance alone the share is within 0.93 and 0.97; those at the prior's mercy are wider.
    assert 0.93 <= inside / intervals <= 0.99


def test_who_has_won_everything_has_a_finite_rating_and_a_wide_interval() -> None:
    ratings = Ratings([Played("P01", other, 1) for other in ("P02", "P03", "P04")])
    first = ratings.of("P01")
    assert 100 < first.points < 1_000
    assert first.low < 0 < first.high
    assert first.matches == 3


def test_a_long_series_of_wins_is_fitted_too() -> None:
    """The first of Newton's steps would lead far beyond the peak."""
    ratings = Ratings([Played("P01", "P02", 1)] * 2_000)
    assert 900 < ratings.between("P01", "P02")[0] < 1_700


def test_a_draw_tells_less_of_who_is_the_stronger_than_a_match_that_is_won() -> None:
    decided = [Played("P01", "P02", score) for score in (1.0, 0.0)] * 10
    drawn = [Played("P01", "P02", 0.5)] * 20
    widths = [found.high - found.low for found in (Ratings(played).of("P01") for played in (decided, drawn))]
    assert widths[1] > widths[0]
    assert Ratings(drawn).of("P01").points == pytest.approx(0)


def test_sides_do_not_matter() -> None:
    turned = [Played(one.b, one.a, 1 - one.score) for one in reversed(FIVE)]
    for player in IDS:
        assert Ratings(turned).of(player) == pytest.approx(Ratings(FIVE).of(player))


def test_who_has_not_played_has_no_rating() -> None:
    ratings = Ratings(FIVE)
    assert "P01" in ratings
    assert "P06" not in ratings
    assert "P01" not in Ratings([])


def test_linear_algebra_undoes_itself() -> None:
    chance = random.Random(3)
    size = 7
    some = [[chance.random() for _ in range(size)] for _ in range(size)]
    matrix = [[sum(a * b for a, b in zip(x, y, strict=True)) + (x is y) for y in some] for x in some]
    triangle = cholesky(matrix)
    right = [chance.random() for _ in range(size)]
    found = solve(triangle, right)
    for row, value in zip(matrix, right, strict=True):
        assert sum(a * b for a, b in zip(row, found, strict=True)) == pytest.approx(value)
    for row, expected in zip(inverse(triangle), inverted(matrix), strict=True):
        assert row == pytest.approx(expected[: len(row)])


@pytest.mark.parametrize("side", [-0.7, 0.0, 0.7])
def test_the_interval_of_side_a_holds_the_truth_as_often_as_it_promises(side: float) -> None:
    chance = random.Random(11)
    inside = 0
    for _ in range(200):
        found = Ratings(simulated(chance, [chance.gauss(0, 1) for _ in range(10)], 0.5, side)).side()
        inside += found.low <= POINTS * side <= found.high
    # 190 are expected, with a standard deviation of 3.
    assert inside >= 181


def test_who_is_on_the_better_side_more_often_is_not_rated_too_high() -> None:
    """One of ten equal players is on side A in all its matches. The sides of the others are random."""
    chance = random.Random(3)
    known = hidden = 0.0
    outside = 0
    for _ in range(60):
        pairs = [(a, b) if b != 9 and chance.random() < 0.5 else (b, a) for b in range(10) for a in range(b)]
        # Side A wins 60 % and draws 20 %.
        played = [Played(f"P{a}", f"P{b}", chance.choice((1, 1, 1, 0.5, 0))) for a, b in pairs]
        found = Ratings(played).of("P9")
        known += found.points / 60
        outside += not found.low <= 0 <= found.high
        # The same results, with the sides exchanged at random.
        swapped = [one if chance.random() < 0.5 else Played(one.b, one.a, 1 - one.score) for one in played]
        hidden += Ratings(swapped).of("P9").points / 60
    assert abs(known) < 40
    assert outside <= 8
    assert hidden > 100
