"""A sequential test: how much stronger is one strategy than another, and when is this decided?

Two strategies play pairs of games, with sides swapped and the same chance in both games. In a pair the first strategy
scores 0, ½, 1, 1½ or 2. So neither a better side nor a lucky deal counts for a strategy. Pairs are independent.

Differences are in normalised Elo: the mean score of a game minus ½, in standard deviations of a game, times
800 / ln 10. Without draws, and with independent games, a small difference is the same in ordinary Elo. The number of
pairs that a decision needs does not depend on how many games are drawn.

The test is a generalised sequential probability ratio test. After each pair it compares the largest likelihood of the
scores if the difference is ``low`` with the largest likelihood if it is ``high``. Wald's bounds for the logarithm of
this ratio limit the rates of wrong decisions. Scores are modelled as normal: the mean of hundreds of pairs is.

A usual interval is wrong after a sequential test, because the test ends when the results are extreme. Therefore the
interval is one of a confidence sequence (Robbins's normal mixture): it holds whenever the test ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Literal, NamedTuple

from msgspec import Struct

# The probability of deciding against ``low`` if it is true, and of deciding against ``high`` if it is true.
ERROR_RATE = 0.05
# The bounds are those for 4 %, because scores are only nearly normal: if large losses are rare, 5.4 % of decisions are
# wrong with the bounds for 5 %.
BOUND = log(0.96 / 0.04)
# Of the interval.
CONFIDENCE = 0.95
# Between these differences scores are nearly normal, and the rates hold. A larger difference is decided soon anyway.
MAX_ELO = 50
# Normalised Elo per standard deviation of a pair's score.
_ELO = 800 / log(10) / sqrt(2)
# The scores of a pair, as a mean per game minus ½.
_SCORES = (-0.5, -0.25, 0.0, 0.25, 0.5)
_ADDED = (1, 0, 0, 0, 1)

Decision = Literal["above_low", "below_high"]


class Difference(NamedTuple):
    """A difference in normalised Elo, and its 95 % interval."""

    elo: float
    low: float
    high: float


class SequentialTest(Struct):
    """The test between two differences in normalised Elo, with the pairs so far."""

    low: float
    high: float
    # The number of pairs in which the first strategy scored 0, ½, 1, 1½ and 2.
    pairs: list[int]

    @classmethod
    def of(cls, low: float, high: float) -> SequentialTest:
        """A test without pairs."""
        return cls(low, high, [0] * len(_SCORES))

    @property
    def count(self) -> int:
        return sum(self.pairs)

    @property
    def share(self) -> float:
        """The mean score of a game."""
        return 0.5 + _moment(self.pairs, 1)

    def ratio(self) -> float:
        """The logarithm of the ratio of likelihoods. The test decides when it reaches ``BOUND`` on either side of 0."""
        square = _moment(self.pairs, 2)
        standardised = _moment(self.pairs, 1) / sqrt(square) if square else 0.0
        low, high = self.low / _ELO, self.high / _ELO
        return self.count * (_log_likelihood(high, standardised) - _log_likelihood(low, standardised))

    def decision(self) -> Decision | None:
        """Whether the difference is above ``low`` or below ``high``; None if this is not decided yet."""
        ratio = self.ratio()
        return "above_low" if ratio >= BOUND else "below_high" if ratio <= -BOUND else None

    def difference(self) -> Difference:
        """The difference so far. It counts two more pairs, one won and one lost, so that it is finite."""
        pairs = [count + added for count, added in zip(self.pairs, _ADDED, strict=True)]
        mean = _moment(pairs, 1)
        deviation = sqrt(_moment(pairs, 2, mean))
        t = mean / deviation
        variance = (1 + t * t / 2) / sum(pairs)
        # The interval is narrowest about where the test is expected to end.
        prior = 3 / 4 * (_ELO / (self.high - self.low)) ** 2 / sum(pairs)
        quantile = sqrt((1 + prior) * (log(1 + 1 / prior) - 2 * log(1 - CONFIDENCE)))
        margin = _ELO * quantile * sqrt(variance)
        return Difference(_ELO * t, _ELO * t - margin, _ELO * t + margin)


def _moment(pairs: Sequence[int], power: int, centre: float = 0.0) -> float:
    """The mean power of the scores, as deviations from a centre."""
    total = sum(count * (score - centre) ** power for score, count in zip(_SCORES, pairs, strict=True))
    return total / sum(pairs)


def _log_likelihood(t: float, standardised: float) -> float:
    """The largest log-likelihood per pair if the mean score is ``t`` standard deviations. A constant is left out.

    ``standardised`` is the mean score divided by the root of the mean square. The standard deviation is the most likely
    one: the root of the mean square divided by ``inverse``.
    """
    product = t * standardised
    inverse = (product + sqrt(product * product + 4)) / 2
    return log(inverse) - inverse * inverse / 2 + product * inverse - t * t / 2
