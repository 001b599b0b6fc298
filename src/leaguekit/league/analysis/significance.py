"""Significance tests: how likely the results of a league are if all players are equally strong.

Both tests have the null hypothesis that all players are equally strong, and that a match is drawn as often as in this
league. ``equality`` is the score test of this hypothesis; for a complete round-robin it is Durbin's test. The sum of
squared surpluses has approximately a chi-square distribution. In a few matches it has not: then leagues of equal
players are drawn on the same pairs, or all of them are counted. The pairs must not depend on results, as they do in a
Swiss: of 150 Swiss leagues of 20 equal players and six rounds, 79 would be called different. ``champions_chance``
computes the exact probability that one given player gets at least the champion's points. Any of the players might have
been the champion, so that probability is multiplied by the number of players. The product is an upper bound
(Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_128
from math import erfc, sqrt
from operator import mul
from typing import NamedTuple

from leaguekit.league.analysis.linear_algebra import CancelCheck, Matrix, cholesky, never_cancel, solve
from leaguekit.league.analysis.ratings import Played
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS

# With more players or decided matches than this, the distribution is taken as chi-square. In a round-robin the
# probabilities are then wrong by at most 0.08, and by at most 0.03 where they are below 0.2.
MAX_DRAWN = 30
# The number of leagues that are drawn if there are more than 2,000 possible ones.
_LEAGUES = 1_999


class Equality(NamedTuple):
    """The test of equal strength: the statistic, its degrees of freedom, and the p-value (``chance``)."""

    statistic: float
    degrees_of_freedom: int
    chance: float


def equality(played: Sequence[Played], check: CancelCheck = never_cancel) -> Equality:
    """Test whether all players of these matches are equally strong. See ``linear_algebra`` for ``check``."""
    players = list(dict.fromkeys(player for one in played for player in (one.a, one.b)))
    indexes = {player: index for index, player in enumerate(players)}
    groups = _groups(played)
    scores = [one.score for one in played if one.score != 0.5]
    decided = [(indexes[one.a], indexes[one.b]) for one in played if one.score != 0.5]
    degrees_of_freedom = len(players) - len(set(groups.values()))
    if not decided:
        return Equality(0.0, degrees_of_freedom, 1.0)
    # The Laplacian matrix of the matches. It is singular. A matrix of ones for each connected group makes it regular.
    laplacian = [[1.0 * (groups[a] == groups[b]) for b in players] for a in players]
    for a, b, _ in played:
        first, second = indexes[a], indexes[b]
        for one, other in ((first, second), (second, first)):
            laplacian[one][one] += 1
            laplacian[one][other] -= 1
    triangle = cholesky(laplacian, check)
    winners = sum(1 << number for number, score in enumerate(scores) if score)
    spread = _spread(triangle, decided, winners)
    statistic = spread / (len(decided) / len(played) / 4)
    if len(played) == degrees_of_freedom:
        # No pairs close a circle, as in a first round. Then all results differ as much.
        chance = 1.0
    elif max(len(players), len(decided)) > MAX_DRAWN:
        chance = chi_square_tail(statistic, degrees_of_freedom)
    else:
        leagues = _leagues(len(decided), winners)
        check()
        chance = sum(_spread(triangle, decided, one) > spread - 1e-9 for one in leagues) / len(leagues)
    return Equality(statistic, degrees_of_freedom, chance)


def _spread(triangle: Matrix, decided: Sequence[tuple[int, int]], winners: int) -> float:
    """How much players differ: the quadratic form of their surpluses. The bits of ``winners`` are wins of side A."""
    surplus = [0.0] * len(triangle)
    for number, (a, b) in enumerate(decided):
        gained = 0.5 if winners >> number & 1 else -0.5
        surplus[a] += gained
        surplus[b] -= gained
    form: float = sum(map(mul, surplus, solve(triangle, surplus)))
    return form


def _leagues(matches: int, winners: int) -> Sequence[int]:
    """The winners of all possible leagues with this number of decided matches.

    If these are too many, they are those of the real league and of some that are drawn by a hash. So the same league
    always gives the same figures.
    """
    possible = 1 << matches
    if possible <= _LEAGUES + 1:
        return range(possible)
    return [winners, *(int.from_bytes(shake_128(b"league %d" % number).digest(4)) for number in range(_LEAGUES))]


def _groups(played: Sequence[Played]) -> dict[str, str]:
    """The connected groups of players: for each player, the representative of its group."""
    leaders: dict[str, str] = {}

    def leader(player: str) -> str:
        while (above := leaders.setdefault(player, player)) != player:
            player = above
        return player

    for one in played:
        leaders[leader(one.a)] = leader(one.b)
    return {player: leader(player) for player in leaders}


def chi_square_tail(statistic: float, degrees_of_freedom: int) -> float:
    """The probability that chi-square is at least ``statistic``, by the approximation of Wilson and Hilferty.

    From 2 degrees of freedom on, the error is below 0.01. Near a probability of 0.05 it is below 0.001.
    """
    spread = 2 / (9 * degrees_of_freedom)
    return erfc(((statistic / degrees_of_freedom) ** (1 / 3) - 1 + spread) / sqrt(2 * spread)) / 2


def champions_chance(played: Sequence[Played], player_id: str) -> float:
    """An upper bound of the probability that, among equal players, one gets at least the points of this player."""
    scores = [one.score if one.a == player_id else 1 - one.score for one in played if player_id in (one.a, one.b)]
    points = sum({1: WIN_POINTS, 0.5: DRAW_POINTS, 0: 0}[score] for score in scores)
    draw = sum(one.score == 0.5 for one in played) / len(played)
    player_count = len({player for one in played for player in (one.a, one.b)})
    return min(1.0, player_count * _points_tail(len(scores), points, draw))


def _points_tail(matches: int, points: int, draw: float) -> float:
    """The probability of at least ``points`` from ``matches`` between equal players; ``draw`` is that of a draw."""
    win = (1 - draw) / 2
    chances = [1.0]
    for _ in range(matches):
        more = [0.0] * WIN_POINTS + [chance * win for chance in chances]
        for index, chance in enumerate(chances):
            more[index] += chance * win
            more[index + DRAW_POINTS] += chance * draw
        chances = more
    return sum(chances[points:])
