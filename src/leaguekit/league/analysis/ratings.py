"""Ratings: the strengths of players, estimated from all their matches, with confidence intervals.

The model is that of Bradley and Terry, with draws as Davidson models them. If the strength of the player on side A is
greater by d, the probabilities of a win, a draw and a loss of side A are proportional to exp((d+s)/2), exp(t) and
exp(-(d+s)/2). The parameters s, the advantage of side A, and t are the same for the whole league. Without s, a player
that was more often on the better side would be rated too high. It would be simpler to count a draw as half a win for
each player. But then a draw would contribute the variance of a win or a loss, and the intervals would not contain the
true strength in 95 % of cases.

Technical losses are not used: they say whether a program answers, not how well it plays. The table counts them.

The prior distribution of a strength is normal around the league's average, with the standard deviation ``SPREAD``. It
keeps the strength of a player that has won all its matches finite, and weighs about as much as one match. The intervals
come from the curvature of the log-posterior at its maximum: Fisher's information plus the information of the prior.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, sqrt
from typing import NamedTuple

from leaguekit.league.analysis.linear_algebra import CancelCheck, Matrix, cholesky, inverse, never_cancel, solve

# In units of the natural logarithm of wins to losses. Two players in three are within 520 points of the average.
SPREAD = 3.0
# Points per unit of strength. As in Elo's scale, 400 points mean ten wins for each loss; 0 is the league's average.
POINTS = 400 / log(10)
# The standard deviation of the prior distribution of the advantage of side A, which is around 0. It is smaller than
# that of a strength, because sides seldom decide as much as strengths do.
SIDE_SPREAD = 1.0
# A 95 % interval extends by this number of standard errors to each side.
QUANTILE_975 = 1.959964
# The longest step of Newton's method.
_MAX_STEP = 1.0
# Newton's method converges quadratically: after a step this short, the next would be about its square.
_TOLERANCE = 1e-4


class Played(NamedTuple):
    """A match that was played to its end: the players on sides A and B, and the score of the first, 1, ½ or 0."""

    a: str
    b: str
    score: float


class Rating(NamedTuple):
    """A player's rating in points above the league's average, its 95 % interval, and its number of matches."""

    points: float
    low: float
    high: float
    matches: int


class Difference(NamedTuple):
    """A difference in points, and its 95 % interval."""

    points: float
    low: float
    high: float


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

    def side(self) -> Difference:
        """The advantage of side A."""
        points, margin = POINTS * self._side, POINTS * QUANTILE_975 * sqrt(self._covariance[-2][-1])
        return Difference(points, points - margin, points + margin)

    def between(self, player_id: str, other_id: str) -> Difference:
        """The difference between the ratings of two players."""
        high, low = sorted((self._indexes[player_id], self._indexes[other_id]), reverse=True)
        variances = self._covariance[high][high] + self._covariance[low][low]
        points = POINTS * (self._strengths[self._indexes[player_id]] - self._strengths[self._indexes[other_id]])
        margin = POINTS * QUANTILE_975 * sqrt(variances - 2 * self._covariance[high][low])
        return Difference(points, points - margin, points + margin)

    @property
    def _side(self) -> float:
        return self._strengths[-2]


def _count_results(played: Iterable[Played]) -> tuple[dict[tuple[str, str], list[int]], dict[str, int]]:
    pairs: dict[tuple[str, str], list[int]] = {}
    matches: dict[str, int] = {}
    for a, b, score in played:
        pairs.setdefault((a, b), [0, 0, 0])[2 - round(2 * score)] += 1
        for player in (a, b):
            matches[player] = matches.get(player, 0) + 1
    return pairs, matches


def _fit(size: int, counts: list[tuple[int, ...]], check: CancelCheck) -> tuple[list[float], Matrix]:
    """The most likely strengths, followed by s and t; and the Cholesky factor of the curvature there.

    Newton's method finds them, because the log-posterior has one maximum.
    """
    strengths = [0.0] * (size + 2)
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
    side, last = len(strengths) - 2, len(strengths) - 1
    weights = [1 / SPREAD**2] * len(strengths)
    weights[side] = 1 / SIDE_SPREAD**2
    slope = [-weight * strength for weight, strength in zip(weights, strengths, strict=True)]
    curvature = [[0.0] * index + [weight] for index, weight in enumerate(weights)]
    draws = exp(strengths[last])
    roots = [exp(strength / 2) for strength in strengths]
    of_side, of_draws = curvature[side], curvature[last]
    for a, b, won, drawn, lost in counts:
        ratio = roots[a] / roots[b] * roots[side]
        total = ratio + draws + 1 / ratio
        win, draw, loss = ratio / total, draws / total, 1 / (ratio * total)
        matches = won + drawn + lost
        expected = (win - loss) / 2
        gained = (won - lost) / 2 - matches * expected
        spread = matches * ((win + loss) / 4 - expected * expected)
        mixed = -matches * expected * draw
        slope[a] += gained
        slope[b] -= gained
        slope[side] += gained
        slope[last] += drawn - matches * draw
        first, second = (a, b) if a < b else (b, a)
        curvature[first][first] += spread
        curvature[second][second] += spread
        curvature[second][first] -= spread
        of_side[a] += spread
        of_side[b] -= spread
        of_side[side] += spread
        of_draws[a] += mixed
        of_draws[b] -= mixed
        of_draws[side] += mixed
        of_draws[last] += matches * draw * (1 - draw)
    return slope, curvature
