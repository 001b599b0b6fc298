"""Ratings: the strengths of players, estimated from all their matches, with confidence intervals.

The model is that of Bradley and Terry, with draws as Davidson models them. If the strengths of two players differ by d,
the probabilities of a win, a draw and a loss are proportional to exp(d/2), exp(t) and exp(-d/2). The parameter t is the
same for the whole league. It would be simpler to count a draw as half a win for each player. But then a draw would
contribute the variance of a win or a loss, and the intervals would not contain the true strength in 95 % of cases.

Technical losses are not used: they say whether a program answers, not how well it plays. The table counts them.

The prior distribution of a strength is normal around the league's average, with the standard deviation ``SPREAD``. It
keeps the strength of a player that has won all its matches finite, and weighs about as much as one match. The intervals
come from the curvature of the log-posterior at its maximum: Fisher's information plus the information of the prior.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, sqrt
from typing import NamedTuple

from leaguekit.league.linear_algebra import CancelCheck, Matrix, cholesky, inverse, never_cancel, solve

# In units of the natural logarithm of wins to losses. Two players in three are within 520 points of the average.
SPREAD = 3.0
# Points per unit of strength. As in Elo's scale, 400 points mean ten wins for each loss; 0 is the league's average.
POINTS = 400 / log(10)
# A 95 % interval extends by this number of standard errors to each side.
QUANTILE_975 = 1.959964
# The longest step of Newton's method.
_MAX_STEP = 1.0
# Newton's method converges quadratically: after a step this short, the next would be about its square.
_TOLERANCE = 1e-4


class Played(NamedTuple):
    """A match that was played to its end: the two players, and the score of the first, 1, ½ or 0."""

    a: str
    b: str
    score: float


class Rating(NamedTuple):
    """A player's rating in points above the league's average, its 95 % interval, and its number of matches."""

    points: float
    low: float
    high: float
    matches: int


class Ratings:
    """The ratings of all players that have played at least one match to its end.

    See ``linear_algebra`` for ``check``.
    """

    def __init__(self, played: Iterable[Played], check: CancelCheck = never_cancel) -> None:
        pairs, self._matches = _count_results(played)
        self._indexes = {player: index for index, player in enumerate(self._matches)}
        size = len(self._indexes)
        counts = [(self._indexes[a], self._indexes[b], *count) for (a, b), count in pairs.items()]
        self._strengths, triangle = _fit(size, counts, check)
        self._covariance = inverse(triangle, check)

    def __contains__(self, player_id: str) -> bool:
        return player_id in self._indexes

    def of(self, player_id: str) -> Rating:
        index = self._indexes[player_id]
        # The strength is relative to the average, which is 0 by definition. The variance of the average is removed.
        variance = self._covariance[index][index] - SPREAD**2 / len(self._indexes)
        points, margin = POINTS * self._strengths[index], POINTS * QUANTILE_975 * sqrt(max(variance, 0.0))
        return Rating(points, points - margin, points + margin, self._matches[player_id])

    def between(self, player_id: str, other_id: str) -> tuple[float, float, float]:
        """The difference between the ratings of two players, with its 95 % interval."""
        high, low = sorted((self._indexes[player_id], self._indexes[other_id]), reverse=True)
        variances = self._covariance[high][high] + self._covariance[low][low]
        points = POINTS * (self._strengths[self._indexes[player_id]] - self._strengths[self._indexes[other_id]])
        margin = POINTS * QUANTILE_975 * sqrt(variances - 2 * self._covariance[high][low])
        return points, points - margin, points + margin


# The indexes of two players, and the numbers of wins of the first, of draws, and of wins of the second.
_Count = tuple[int, int, int, int, int]


def _count_results(played: Iterable[Played]) -> tuple[dict[tuple[str, str], list[int]], dict[str, int]]:
    pairs: dict[tuple[str, str], list[int]] = {}
    matches: dict[str, int] = {}
    for a, b, score in played:
        turned = a > b
        count = pairs.setdefault((b, a) if turned else (a, b), [0, 0, 0])
        count[1 if score == 0.5 else 0 if (score == 1) != turned else 2] += 1
        for player in (a, b):
            matches[player] = matches.get(player, 0) + 1
    return pairs, matches


def _fit(size: int, counts: list[tuple[int, ...]], check: CancelCheck) -> tuple[list[float], Matrix]:
    """The most likely strengths, followed by t; and the Cholesky factor of the curvature there.

    Newton's method finds them, because the log-posterior has one maximum.
    """
    strengths = [0.0] * (size + 1)
    while True:
        slope, curvature = _derivatives(strengths, counts)
        triangle = cholesky(curvature, check)
        step = solve(triangle, slope)
        longest = max(map(abs, step))
        # Far from the maximum a whole step may lead beyond it.
        fraction = min(1.0, _MAX_STEP / longest) if longest else 1.0
        strengths = [strength + fraction * change for strength, change in zip(strengths, step, strict=True)]
        if longest < _TOLERANCE:
            return strengths, triangle


def _derivatives(strengths: list[float], counts: list[tuple[int, ...]]) -> tuple[list[float], Matrix]:
    """The first derivatives of the log-posterior, and the second derivatives with the sign changed."""
    last = len(strengths) - 1
    weight = 1 / SPREAD**2
    slope = [-weight * strength for strength in strengths]
    curvature = [[0.0] * index + [weight] for index in range(last + 1)]
    draws = exp(strengths[last])
    roots = [exp(strength / 2) for strength in strengths]
    of_draws = curvature[last]
    for low, high, won, drawn, lost in counts:
        ratio = roots[low] / roots[high]
        total = ratio + draws + 1 / ratio
        matches = won + drawn + lost
        win, draw, loss = ratio / total, draws / total, 1 / (ratio * total)
        expected = (win - loss) / 2
        gained = (won - lost) / 2 - matches * expected
        spread = matches * ((win + loss) / 4 - expected * expected)
        mixed = -matches * expected * draw
        slope[low] += gained
        slope[high] -= gained
        slope[last] += drawn - matches * draw
        first, second = (low, high) if low < high else (high, low)
        curvature[first][first] += spread
        curvature[second][second] += spread
        curvature[second][first] -= spread
        of_draws[low] += mixed
        of_draws[high] -= mixed
        of_draws[last] += matches * draw * (1 - draw)
    return slope, curvature
