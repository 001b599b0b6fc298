"""Pairs of games between two strategies, for a sequential test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from leaguekit.league.settings import Settings
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.sim.comparison.offline_league import Entrant, OfflineLeague
from leaguekit.sim.comparison.sprt import Decision, SequentialTest
from leaguekit.sim.interrupts import is_interrupted


class PairResult(NamedTuple):
    """A pair of games: the score of the first strategy in half points, and the moves of both by origin."""

    score: int
    origins: tuple[MoveOrigins, MoveOrigins]


class PairResults(Struct):
    """Pairs of games, in the order of their seeds."""

    pairs: list[PairResult]

    @property
    def count(self) -> int:
        return len(self.pairs)


class PairedGames:
    """Plays pairs of games between two strategies.

    In the second game of a pair the sides are swapped, and the game's chance is the same. The strategies see nothing of
    earlier games, and have other random numbers of their own: otherwise they could learn from the first game what
    happens in the second.
    """

    def __init__(self, game: str, first: Entrant, second: Entrant) -> None:
        settings = Settings(league_id="simulation", game_type=game, rounds="double")
        self._league = OfflineLeague(settings, [first, second], fresh=True, same_chance=True)
        self.game = self._league.game

    def play(self, seed: int) -> PairResult:
        """Play the pair of a seed. Raises UnusableStrategy."""
        self._league.play(seed)
        first, second = self._league.players.values()
        return PairResult(2 * first.row.wins + first.row.draws, (first.origins, second.origins))

    def play_pairs(self, seeds: Iterable[int]) -> PairResults:
        """Play the pairs of these seeds, until Ctrl-C."""
        pairs = []
        for seed in seeds:
            pairs.append(self.play(seed))
            if is_interrupted():
                break
        return PairResults(pairs)


class PairedTest(Struct, tag="test"):
    """A sequential test and the pairs that it has counted."""

    test: SequentialTest
    # The number of moves of each strategy by origin.
    origins: tuple[MoveOrigins, MoveOrigins]

    @classmethod
    def of(cls, test: SequentialTest) -> PairedTest:
        """A test without pairs."""
        return cls(test, (MoveOrigins(), MoveOrigins()))

    @property
    def count(self) -> int:
        return self.test.count

    @property
    def decision(self) -> Decision | None:
        return self.test.decision() if self.count else None

    def add(self, pairs: PairResults) -> None:
        """Count pairs until the test decides."""
        for score, origins in pairs.pairs:
            self.test.pairs[score] += 1
            for own, others in zip(self.origins, origins, strict=True):
                own.add(others)
            if self.test.decision() is not None:
                return
