"""Whether a league's results are more than chance: how often players who are all alike would do the same.

Both questions suppose that all are equally strong, and that a match is drawn as often as in this league. The first is
the score test of that (for a whole round-robin it is Durbin's): the sum of squared surpluses has nearly the
distribution of chi-square. The second counts exactly how often one of them gets so many points; any of them might have
been the champion, so that is multiplied by how many they are, which is never too little.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, sqrt
from operator import mul
from typing import NamedTuple

from leaguekit.league.linear_algebra import Check, cholesky, solve, unchecked
from leaguekit.league.ratings import Played
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS


class Equality(NamedTuple):
    """The test of all being equal: how large the differences are, of how many independent ones, and how often players
    who are all alike differ as much."""

    statistic: float
    freedom: int
    chance: float


def equality(played: Sequence[Played], check: Check = unchecked) -> Equality:
    """The test of these matches. ``check`` is called now and then; what it raises ends the work."""
    players = list(dict.fromkeys(player for one in played for player in (one.a, one.b)))
    places = {player: place for place, player in enumerate(players)}
    groups = _groups(played)
    decided = sum(one.score != 0.5 for one in played)
    freedom = len(players) - len(set(groups.values()))
    if not decided:
        return Equality(0.0, freedom, 1.0)
    surplus = [0.0] * len(players)
    # What connects players; those of a group that never met another group are held together by the ones.
    met = [[1.0 * (groups[a] == groups[b]) for b in players] for a in players]
    for a, b, score in played:
        first, second = places[a], places[b]
        surplus[first] += score - 0.5
        surplus[second] -= score - 0.5
        for one, other in ((first, second), (second, first)):
            met[one][one] += 1
            met[one][other] -= 1
    variance = decided / len(played) / 4
    statistic = sum(map(mul, surplus, solve(cholesky(met, check), surplus))) / variance
    return Equality(statistic, freedom, chi_square_tail(statistic, freedom))


def _groups(played: Sequence[Played]) -> dict[str, str]:
    """For each player one of those that it is connected to by matches, the same for all of them."""
    leaders: dict[str, str] = {}

    def leader(player: str) -> str:
        while (above := leaders.setdefault(player, player)) != player:
            player = above
        return player

    for one in played:
        leaders[leader(one.a)] = leader(one.b)
    return {player: leader(player) for player in leaders}


def chi_square_tail(statistic: float, freedom: int) -> float:
    """How often chi-square is at least this, by Wilson and Hilferty's cube root: right to 0.01 from 2 degrees on, and
    near one in twenty to 0.001."""
    spread = 2 / (9 * freedom)
    return erfc(((statistic / freedom) ** (1 / 3) - 1 + spread) / sqrt(2 * spread)) / 2


def champions_chance(played: Sequence[Played], player_id: str) -> float:
    """How often, at most, one of so many players who are all alike would get as many points from its matches."""
    scores = [one.score if one.a == player_id else 1 - one.score for one in played if player_id in (one.a, one.b)]
    points = sum({1: WIN_POINTS, 0.5: DRAW_POINTS, 0: 0}[score] for score in scores)
    draw = sum(one.score == 0.5 for one in played) / len(played)
    many = len({player for one in played for player in (one.a, one.b)})
    return min(1.0, many * _points_tail(len(scores), points, draw))


def _points_tail(matches: int, points: int, draw: float) -> float:
    """How often so many matches between equals bring at least so many points."""
    win = (1 - draw) / 2
    chances = [1.0]
    for _ in range(matches):
        more = [0.0] * WIN_POINTS + [chance * win for chance in chances]
        for place, chance in enumerate(chances):
            more[place] += chance * win
            more[place + DRAW_POINTS] += chance * draw
        chances = more
    return sum(chances[points:])
