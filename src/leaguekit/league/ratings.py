"""How strong players are, fitted over all their matches, and how sure that is.

The model is Bradley and Terry's with Davidson's draws: between players whose strengths differ by d, a win, a draw and a
loss are as likely as exp(d/2), exp(t) and exp(-d/2), with one t for the whole league. A draw is then no win and loss
that happened to balance: counted as half a win each, draws would make the intervals hold the truth at other rates than
they promise.

Technical losses are left out: they tell whether a program answers, not how it plays. The table counts them.

Before anything is known, strengths are taken as normal around the league's average, with a spread of ``SPREAD``. That
holds the strength of somebody who has won everything finite, and weighs about as much as one match. The
intervals come from the curvature of the log-likelihood at its peak, which is Fisher's information with that added.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, sqrt
from typing import NamedTuple

from leaguekit.league.linear_algebra import Check, Matrix, cholesky, inverse, solve, unchecked

# In units of the natural logarithm of wins to losses: two players in three are within 520 rating points of the average.
SPREAD = 3.0
# 400 points more are ten wins for each loss, as in Elo's scale; 0 is the league's average.
POINTS = 400 / log(10)
# So many standard errors to each side are a 95 % interval.
SURE = 1.959964
_STEP = 1.0
# The step after one as short as this would be shorter than its square.
_ENOUGH = 1e-4


class Played(NamedTuple):
    """A match that was played out: who, and what the first made of it, 1, ½ or 0."""

    a: str
    b: str
    score: float


class Rating(NamedTuple):
    """A player's rating in points above the league's average, with its 95 % interval, and the matches behind it."""

    points: float
    low: float
    high: float
    matches: int


class Ratings:
    """The ratings of all who have played at least one match to its end.

    ``check`` is called now and then while they are computed. What it raises ends that.
    """

    def __init__(self, played: Iterable[Played], check: Check = unchecked) -> None:
        pairs, self._matches = _counted(played)
        self._places = {player: place for place, player in enumerate(self._matches)}
        size = len(self._places)
        counts = [(self._places[a], self._places[b], *count) for (a, b), count in pairs.items()]
        self._strengths, triangle = _fitted(size, counts, check)
        self._covariance = inverse(triangle, check)

    def __contains__(self, player_id: str) -> bool:
        return player_id in self._places

    def of(self, player_id: str) -> Rating:
        place = self._places[player_id]
        # Where the average itself lies is not the question: it was put at 0.
        variance = self._covariance[place][place] - SPREAD**2 / len(self._places)
        points, margin = POINTS * self._strengths[place], POINTS * SURE * sqrt(max(variance, 0.0))
        return Rating(points, points - margin, points + margin, self._matches[player_id])

    def between(self, player_id: str, other_id: str) -> tuple[float, float, float]:
        """By how much a player is rated above another, with the 95 % interval of that."""
        high, low = sorted((self._places[player_id], self._places[other_id]), reverse=True)
        variances = self._covariance[high][high] + self._covariance[low][low]
        points = POINTS * (self._strengths[self._places[player_id]] - self._strengths[self._places[other_id]])
        margin = POINTS * SURE * sqrt(variances - 2 * self._covariance[high][low])
        return points, points - margin, points + margin


# Two players by their places, and how often the first won, both drew, and the second won.
_Count = tuple[int, int, int, int, int]


def _counted(played: Iterable[Played]) -> tuple[dict[tuple[str, str], list[int]], dict[str, int]]:
    pairs: dict[tuple[str, str], list[int]] = {}
    matches: dict[str, int] = {}
    for a, b, score in played:
        turned = a > b
        count = pairs.setdefault((b, a) if turned else (a, b), [0, 0, 0])
        count[1 if score == 0.5 else 0 if (score == 1) != turned else 2] += 1
        for player in (a, b):
            matches[player] = matches.get(player, 0) + 1
    return pairs, matches


def _fitted(size: int, counts: list[tuple[int, ...]], check: Check) -> tuple[list[float], Matrix]:
    """The likeliest strengths and, behind them, t; and the triangle of the curvature there. By Newton's method: the
    log-likelihood has one peak."""
    strengths = [0.0] * (size + 1)
    while True:
        slope, curvature = _derived(strengths, counts)
        triangle = cholesky(curvature, check)
        step = solve(triangle, slope)
        longest = max(map(abs, step))
        # Far from the peak a whole step may lead beyond it.
        part = min(1.0, _STEP / longest) if longest else 1.0
        strengths = [strength + part * one for strength, one in zip(strengths, step, strict=True)]
        if longest < _ENOUGH:
            return strengths, triangle


def _derived(strengths: list[float], counts: list[tuple[int, ...]]) -> tuple[list[float], Matrix]:
    """The log-likelihood's first derivatives, and its second with the sign changed."""
    last = len(strengths) - 1
    weight = 1 / SPREAD**2
    slope = [-weight * strength for strength in strengths]
    curvature = [[0.0] * place + [weight] for place in range(last + 1)]
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
