"""What many leagues of the same players come to, and how sure that is.

The leagues of different seeds are independent of each other, the matches within one are not: players learn from match
to match. So what is taken from chance is judged by how the leagues differ, and by nothing finer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from leaguekit.protocol.messages import Standing

# Fewer leagues tell too little of how they differ.
FEWEST_LEAGUES = 10


class Tally(Struct):
    """The leagues of one player, or of all that play alike."""

    leagues: int = 0
    leagues_won: int = 0
    matches: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: int = 0
    # The sum of the squares of each league's points.
    squares: int = 0

    def add(self, rows: Iterable[Standing]) -> None:
        """Count one league."""
        points = 0
        for row in rows:
            points += row.points
            self.matches += row.played
            self.wins += row.wins
            self.draws += row.draws
            self.losses += row.losses
            self.leagues_won += row.rank == 1
        self.leagues += 1
        self.points += points
        self.squares += points * points

    @property
    def points_per_match(self) -> float:
        return self.points / self.matches

    @property
    def share_won(self) -> float:
        """The share of the leagues that were won."""
        return self.leagues_won / self.leagues

    @property
    def margin(self) -> float | None:
        """Half of the 95 % interval around the points per match; None if the leagues are too few to tell."""
        leagues = self.leagues
        if leagues < FEWEST_LEAGUES:
            return None
        variance = (leagues * self.squares - self.points**2) / (leagues * (leagues - 1))
        return _t_quantile(leagues - 1) * math.sqrt(variance / leagues) * leagues / self.matches


class Comparison:
    """A tally for each player and for each strategy; ``strategies`` has the players' in the order of their ids."""

    def __init__(self, players: Sequence[str], strategies: Sequence[str]) -> None:
        self.strategy_of = dict(zip(players, strategies, strict=True))
        self.players = {player: Tally() for player in players}
        self.strategies = {strategy: Tally() for strategy in strategies}
        self.leagues = 0

    def add(self, standings: Iterable[Standing]) -> None:
        """Count one league by its final table."""
        rows = {row.player_id: row for row in standings}
        alike: dict[str, list[Standing]] = {strategy: [] for strategy in self.strategies}
        for player, strategy in self.strategy_of.items():
            self.players[player].add((rows[player],))
            alike[strategy].append(rows[player])
        for strategy, tally in self.strategies.items():
            tally.add(alike[strategy])
        self.leagues += 1


def _t_quantile(freedom: float) -> float:
    """The 97.5 % quantile of Student's t, by the first terms of its expansion: right to 0.001 from 9 degrees on."""
    z = 1.959964
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term * (1 / freedom) ** power for power, term in enumerate(terms))
