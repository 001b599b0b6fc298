"""The sums of a comparison over its leagues, and the confidence intervals that follow from them.

Leagues of different seeds are independent of each other. Matches within a league are not, because players learn from
match to match. So the intervals are computed from the differences between leagues: a figure is all points of a strategy
divided by all its matches, and each league is one observation of both. This is the mean over leagues of its points per
match if it plays equally many matches in every league, and otherwise the mean that counts each league by its matches.
The variance is that of such a ratio (linearised), and the quantile is Student's t.

An interval counts four additional matches, two won and two lost. Without them, ten wins in a row would look like
certainty. With hundreds of matches their effect is negligible.

In a game that is ranked by payoff, payoffs take the place of points. They are counted in millionths above the lowest
payoff of the game, and the additional matches have its highest and its lowest.

The differences between strategies are a family: with many pairs, some difference looks large by chance. So their
intervals are widened (Bonferroni correction): in 95 of 100 comparisons all of them contain the true difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product, starmap
from operator import add, mul
from statistics import NormalDist
from typing import NamedTuple

from msgspec import Struct

from leaguekit.league.standings import MILLION
from leaguekit.match.rulings import WIN_POINTS

# With fewer leagues there are no intervals: the variance between leagues cannot be estimated.
MIN_LEAGUES = 10
CONFIDENCE = 0.95
# The probability with which a difference that is called detectable is found.
POWER = 0.9
# The number of matches with the most points, and of matches with none, that an interval counts in addition.
_ADDED = 2


class Estimate(NamedTuple):
    """A figure and the bounds of its interval. The bounds are None if there are too few leagues."""

    mean: float
    bounds: tuple[float, float] | None = None

    @property
    def margin(self) -> float | None:
        """The distance from the figure to the farther bound."""
        return None if self.bounds is None else max(self.mean - self.bounds[0], self.bounds[1] - self.mean)

    @property
    def sign(self) -> int:
        """1 if the whole interval is above 0, -1 if it is below; otherwise, or without an interval, 0."""
        low, high = self.bounds or (0, 0)
        return (low > 0) - (high < 0)


class Scale(NamedTuple):
    """What is counted for a match: how much above the lowest value, in units. ``maximum`` is the highest count."""

    lowest: float
    unit: int
    maximum: int

    @classmethod
    def of_payoffs(cls, lowest: float, highest: float) -> Scale:
        return cls(lowest, MILLION, round(MILLION * highest) - round(MILLION * lowest))

    def count_of(self, payoffs: int, matches: int) -> int:
        """What to count for matches with this sum of payoffs in millionths."""
        return payoffs - matches * round(MILLION * self.lowest)

    def difference(self, count: float) -> float:
        """A difference of counts as one of payoffs, or of points."""
        return count if self.unit == 1 else count / self.unit

    def value(self, count: float) -> float:
        """A count as a payoff, or as points."""
        return self.difference(count) + self.lowest if self.lowest else self.difference(count)


POINTS = Scale(0, 1, WIN_POINTS)


class Counts(NamedTuple):
    """How a strategy's matches ended."""

    wins: int
    draws: int
    losses: int


class Sums(Struct):
    """The sums over leagues, all of them integers.

    In lists by pair, the index of strategy ``a`` against ``b`` is ``a * size + b``. A match between two players of the
    same strategy counts twice, once for each.
    """

    # The number of strategies, and what is counted as points.
    size: int
    scale: Scale
    leagues: int
    # By strategy.
    leagues_won: list[int]
    # By pair, of the matches between them in a league: points and matches, and the products of both.
    points: list[int]
    matches: list[int]
    points_squared: list[int]
    points_matches: list[int]
    matches_squared: list[int]
    # By pair, of all matches of each in a league: points of both, points of one and matches of the other, matches.
    products: list[int]
    mixed_products: list[int]
    match_products: list[int]

    @classmethod
    def of(cls, size: int, scale: Scale = POINTS) -> Sums:
        """The sums over no leagues."""
        return cls(size, scale, 0, [0] * size, *([0] * size**2 for _ in range(8)))

    def add(
        self, copies: tuple[int, ...], points: list[int], champion: int, matches: Sequence[int] | None = None
    ) -> None:
        """Count a league: the number of players of each strategy, the points by pair, and the champion's strategy.

        ``matches`` are the matches by pair, if it was not a single round-robin.
        """
        size = self.size
        meetings = _meetings(copies) if matches is None else _meetings_of([*matches], size)
        totals = [sum(points[first : first + size]) for first in range(0, size**2, size)]
        self.leagues += 1
        self.leagues_won[champion] += 1
        self.points = [*map(add, self.points, points)]
        self.matches = [*map(add, self.matches, meetings.matches)]
        self.points_squared = [*map(add, self.points_squared, map(mul, points, points))]
        self.points_matches = [*map(add, self.points_matches, map(mul, points, meetings.matches))]
        self.matches_squared = [*map(add, self.matches_squared, meetings.squares)]
        self.products = [*map(add, self.products, starmap(mul, product(totals, totals)))]
        self.mixed_products = [*map(add, self.mixed_products, starmap(mul, product(totals, meetings.totals)))]
        self.match_products = [*map(add, self.match_products, meetings.products)]

    def add_sums(self, other: Sums) -> None:
        """Count the leagues of other sums. In which order does not matter: all are integers."""
        self.leagues += other.leagues
        for name in self.__struct_fields__:
            if isinstance(own := getattr(self, name), list):
                setattr(self, name, [*map(add, own, getattr(other, name))])

    @property
    def pairs(self) -> int:
        """The number of pairs of different strategies."""
        return self.size * (self.size - 1) // 2

    def total(self, a: int) -> tuple[int, int]:
        """The points and the matches of a strategy."""
        of = slice(a * self.size, (a + 1) * self.size)
        return sum(self.points[of]), sum(self.matches[of])

    def counts(self, a: int, b: int) -> Counts:
        """How the matches of ``a`` against ``b`` ended.

        This follows from the points, because a draw gives both players together one point less than a win.
        """
        points, matches = self.points[a * self.size + b], self.matches[a * self.size + b]
        draws = WIN_POINTS * matches - points - self.points[b * self.size + a]
        wins = (points - draws) // WIN_POINTS
        return Counts(wins, draws, matches - wins - draws)

    def all_counts(self, a: int) -> Counts:
        """How all matches of a strategy ended."""
        return Counts(*map(sum, zip(*(self.counts(a, b) for b in range(self.size)), strict=True)))

    def strategy(self, a: int) -> Estimate:
        """The points per match of a strategy."""
        points, matches = self.total(a)
        return self._ratio(points, matches, self._spread(a, a))

    def against(self, a: int, b: int) -> Estimate | None:
        """The points per match of ``a`` against ``b``; None if they did not meet."""
        at = a * self.size + b
        points, matches = self.points[at], self.matches[at]
        if not matches:
            return None
        products = self.points_squared[at], self.points_matches[at], self.points_matches[at], self.matches_squared[at]
        total = points, matches
        return self._ratio(points, matches, _spread(total, total, products, self.scale.maximum, is_same=True))

    def difference(self, a: int, b: int) -> Estimate:
        """The points per match of ``a`` minus those of ``b``. The confidence is that of all such intervals together."""
        (points_a, matches_a), (points_b, matches_b) = self.total(a), self.total(b)
        mean = points_a / matches_a - points_b / matches_b
        centre = self._centre(points_a, matches_a) - self._centre(points_b, matches_b)
        return self._estimate(mean, centre, self._error(a, b), self.pairs, minimum=-self.scale.maximum)

    def detectable(self) -> float | None:
        """The smallest true difference that is found with probability ``POWER``, between any two strategies.

        None if there are too few leagues to find any. The added matches move the centre of an interval towards 0, so a
        difference must be larger by the same factor.
        """
        if self.leagues < MIN_LEAGUES or not self.pairs:
            return None
        error = max(self._error(a, b) for a in range(self.size) for b in range(a))
        matches = min(self.total(a)[1] for a in range(self.size))
        found = error * (_quantile(self.pairs, self.leagues - 1) + _student(POWER, self.leagues - 1))
        found *= (matches + 2 * _ADDED) / matches
        return self.scale.difference(found) if found <= self.scale.maximum else None

    def _ratio(self, points: int, matches: int, spread: float) -> Estimate:
        error = math.sqrt(self._correction * spread)
        return self._estimate(points / matches, self._centre(points, matches), error, 1, minimum=0)

    def _estimate(self, mean: float, centre: float, error: float, family: int, *, minimum: int) -> Estimate:
        """An estimate of a mean, or of a difference if less than 0 is possible."""
        value = self.scale.difference if minimum else self.scale.value
        if self.leagues < MIN_LEAGUES:
            return Estimate(value(mean))
        margin = _quantile(family, self.leagues - 1) * error
        low, high = min(centre - margin, mean), max(centre + margin, mean)
        return Estimate(value(mean), (value(max(low, minimum)), value(min(high, self.scale.maximum))))

    def _error(self, a: int, b: int) -> float:
        """The standard error of a difference."""
        spread = self._spread(a, a) + self._spread(b, b) - 2 * self._spread(a, b)
        return math.sqrt(self._correction * max(spread, 0.0))

    def _spread(self, a: int, b: int) -> float:
        there, back = a * self.size + b, b * self.size + a
        mixed = self.mixed_products[there], self.mixed_products[back]
        products = self.products[there], *mixed, self.match_products[there]
        return _spread(self.total(a), self.total(b), products, self.scale.maximum, is_same=a == b)

    def _centre(self, points: int, matches: int) -> float:
        """The centre of an interval."""
        return (points + _ADDED * self.scale.maximum) / (matches + 2 * _ADDED)

    @property
    def _correction(self) -> float:
        observations = self.leagues + 2 * _ADDED
        return observations / (observations - 1)


class _Meetings(NamedTuple):
    """The matches of a league: by pair of strategies, their squares, by strategy, and the products of these."""

    matches: list[int]
    squares: list[int]
    totals: list[int]
    products: list[int]


@lru_cache(maxsize=64)
def _meetings(copies: tuple[int, ...]) -> _Meetings:
    matches = [a * (b - (at == to)) for at, a in enumerate(copies) for to, b in enumerate(copies)]
    return _meetings_of(matches, len(copies))


def _meetings_of(matches: list[int], size: int) -> _Meetings:
    totals = [sum(matches[first : first + size]) for first in range(0, size**2, size)]
    return _Meetings(matches, [*map(mul, matches, matches)], totals, [*starmap(mul, product(totals, totals))])


def _spread(
    a: tuple[int, int], b: tuple[int, int], products: tuple[int, int, int, int], maximum: int, *, is_same: bool
) -> float:
    """The covariance of two ratios of points to matches, by the sums over leagues.

    ``products`` are the sums of four products: points times points, points of a times matches of b, points of b times
    matches of a, and matches times matches. Each added match counts as a separate league, won by one of the two. The
    arithmetic is exact up to the division.
    """
    (points_a, matches_a), (points_b, matches_b) = (
        (points + _ADDED * maximum, matches + 2 * _ADDED) for points, matches in (a, b)
    )
    both, a_by_b, b_by_a, matches = products
    both += _ADDED * maximum**2 * is_same
    a_by_b += _ADDED * maximum
    b_by_a += _ADDED * maximum
    matches += 2 * _ADDED
    scale = matches_a * matches_b
    above = both * scale - a_by_b * matches_a * points_b - b_by_a * points_a * matches_b + matches * points_a * points_b
    return above / scale**2


@lru_cache(maxsize=64)
def _quantile(family: int, degrees: int) -> float:
    """The half-width of an interval in standard errors, if ``family`` intervals are to hold together."""
    return _student(1 - (1 - CONFIDENCE) / (2 * family), degrees)


def _student(probability: float, degrees: int) -> float:
    """The quantile of Student's t.

    It is computed by the first terms of its expansion. From 9 degrees of freedom on, the error is at most 0.001, and
    2 % in large families.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term * (1 / degrees) ** power for power, term in enumerate(terms))
