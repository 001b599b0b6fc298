"""A test for cycles: do players beat each other in circles, as rock, scissors and paper do?

A rating cannot describe a cycle: it says that a player that beats a strong one beats a weak one too. Some cycles occur
by chance, most of them among players of equal strength. So the number of cycles of three is compared with leagues of
the same pairs on the same sides, whose players are equally strong. In these, side A wins and draws as often as in this
league. Cycles are reported if as many occur in at most 5 % of such leagues. Players of different strengths have fewer,
so the test claims too little rather than too much. The strengths cannot be taken from the ratings: those of equal
players differ by chance, and would leave too few cycles.

The leagues to compare with are drawn by a hash: the same league always gives the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_128
from typing import NamedTuple

from leaguekit.league.analysis.linear_algebra import CancelCheck, never_cancel
from leaguekit.league.analysis.ratings import Played

# The number of leagues that are drawn, and how many of them may have as many cycles as the real one: with the real one
# itself, this is 5 %.
_LEAGUES, _MAX_ALIKE = 199, 9
# With more players the test would take longer than the ratings.
MAX_PLAYERS = 100


class Cycles(NamedTuple):
    """Cycles of three players, more than chance explains: one of them, their number, and how many chance explains."""

    example: tuple[str, str, str]
    found: int
    expected: float


def find_cycles(played: Sequence[Played], check: CancelCheck = never_cancel) -> Cycles | None:
    """The cycles among these matches; None if there are no more than chance explains, or more than ``MAX_PLAYERS``."""
    players = sorted({player for one in played for player in (one.a, one.b)})
    if len(players) > MAX_PLAYERS:
        return None
    places = {player: place for place, player in enumerate(players)}
    pairs = [(places[one.a], places[one.b]) for one in played]
    scores = [one.score for one in played]
    graph = _Graph(len(players), pairs, scores)
    if not (found := graph.cycle_count()):
        return None
    alike = total = 0
    for number in range(_LEAGUES):
        check()
        drawn = _Graph(len(players), pairs, _drawn(scores, number)).cycle_count()
        total += drawn
        alike += drawn >= found
        if alike > _MAX_ALIKE:
            return None
    first, second, third = graph.example()
    return Cycles((players[first], players[second], players[third]), found, total / _LEAGUES)


def _drawn(scores: Sequence[float], number: int) -> list[float]:
    """As many scores, each one of these at random."""
    drawn = shake_128(b"league %d" % number).digest(4 * len(scores))
    return [scores[one * len(scores) >> 32] for one in memoryview(drawn).cast("I")]


class _Graph:
    """Who has beaten whom more often than the other way round."""

    def __init__(self, size: int, pairs: Sequence[tuple[int, int]], scores: Sequence[float]) -> None:
        surplus: dict[tuple[int, int], float] = {}
        for (a, b), score in zip(pairs, scores, strict=True):
            pair, gained = ((a, b), score - 0.5) if a < b else ((b, a), 0.5 - score)
            surplus[pair] = surplus.get(pair, 0.0) + gained
        self._wins = [pair if gained > 0 else pair[::-1] for pair, gained in surplus.items() if gained]
        # Sets of players as bits: whom each player has beaten, and by whom it was beaten.
        self._beaten, self._beaten_by = [0] * size, [0] * size
        for winner, loser in self._wins:
            self._beaten[winner] |= 1 << loser
            self._beaten_by[loser] |= 1 << winner

    def cycle_count(self) -> int:
        """The number of cycles of three. Each is found from each of its wins."""
        return sum((self._beaten[b] & self._beaten_by[a]).bit_count() for a, b in self._wins) // 3

    def example(self) -> tuple[int, int, int]:
        """The first cycle, in the order of players."""
        a, b = min((a, b) for a, b in self._wins if self._beaten[b] & self._beaten_by[a])
        common = self._beaten[b] & self._beaten_by[a]
        return a, b, (common & -common).bit_length() - 1
