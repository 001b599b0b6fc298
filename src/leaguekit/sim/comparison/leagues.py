"""A comparison of strategies: many leagues, each with the strategies in other seats.

The schedule determines which seats meet and when. So it also determines what a player has seen before a match. If
strategies kept their seats, a figure would be true for that seating only. Therefore the seed of each league also
determines the seats, and the figures are means over all seatings. They do not depend on the order in which the
strategies are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from leaguekit.league.settings import Settings
from leaguekit.player.keyed_random import KeyedRandom
from leaguekit.protocol.messages import MatchResult, MoveOrigins
from leaguekit.sim.comparison.estimates import Scale, Sums
from leaguekit.sim.comparison.offline_league import Entrant, OfflineLeague, OnResult
from leaguekit.sim.interrupts import is_interrupted


class LeagueTotals(Struct, tag="leagues", omit_defaults=True):
    """What leagues have come to, as sums."""

    sums: Sums
    # The number of moves of each strategy by origin.
    origins: list[MoveOrigins]
    # The payoffs, if the game is ranked by them. The other sums are of points.
    payoffs: Sums | None = None
    # The number of matches in all leagues that count.
    matches: int = 0
    # A row for every match, if they are wanted.
    rows: list[tuple[Any, ...]] = []

    @classmethod
    def of(cls, strategies: int, payoff_range: tuple[float, float] | None = None) -> LeagueTotals:
        """No leagues so far."""
        payoffs = None if payoff_range is None else Sums.of(strategies, Scale.of_payoffs(*payoff_range))
        return cls(Sums.of(strategies), [MoveOrigins() for _ in range(strategies)], payoffs)

    @property
    def count(self) -> int:
        return self.sums.leagues

    @property
    def ranked(self) -> Sums:
        """The sums that strategies are compared by: of payoffs if the game is ranked by them, otherwise of points."""
        return self.payoffs or self.sums

    def add(self, later: LeagueTotals) -> None:
        """Count leagues of later seeds. Their rows are left out."""
        self.sums.add_sums(later.sums)
        if self.payoffs is not None and later.payoffs is not None:
            self.payoffs.add_sums(later.payoffs)
        for origins, others in zip(self.origins, later.origins, strict=True):
            origins.add(others)
        self.matches += later.matches


class Comparison:
    """Plays leagues and sums up their results.

    The players take the strategies in turn. If the number of players is not a multiple of the number of strategies, the
    seed of each league decides which strategies have one more player. With ``as_named`` seats and strategies are always
    assigned in the order named, as in ``league run``. Entrants of the same name count as one strategy.
    """

    def __init__(
        self,
        game: str,
        strategies: Sequence[Entrant],
        players: int,
        *,
        fresh: bool = False,
        as_named: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self._named = [*strategies] if as_named else sorted(strategies, key=lambda one: one.name)
        self.as_named = as_named
        self.fresh = fresh
        self._random = KeyedRandom()
        self.names = [*dict.fromkeys(one.name for one in self._named)]
        self.repeated = [name for name in self.names if [one.name for one in self._named].count(name) > 1]
        # The index in ``names`` of each entrant.
        self._numbers = [self.names.index(one.name) for one in self._named]
        # For each seat, the entrants that can take it.
        self._entrants = [
            [one._replace(name=f"{one.name.rpartition(':')[2]} {seat}", strategy_name=one.name) for one in self._named]
            for seat in range(1, players + 1)
        ]
        # For each seat, the index of the entrant that has it.
        self._seats = [seat % len(self._named) for seat in range(players)]
        self.settings = settings or Settings(league_id="simulation", game_type=game)
        # How often each pair of players meets in a league; None if the format decides that.
        self.legs = {"round_robin": 1, "round_robin(legs=2)": 2}.get(self.settings.format_text)
        self.league = OfflineLeague(self.settings, self._entrants_in_seats(), fresh=fresh)
        self.counted = self._no_leagues()

    def play(self, seed: int, on_result: OnResult | None = None) -> None:
        """Play the league of a seed and count it."""
        for _ in self.play_rounds(seed, on_result):
            pass

    def play_rounds(self, seed: int, on_result: OnResult | None = None) -> Iterator[int]:
        """Play the league of a seed round by round, and count it at its end.

        Yields the number of matches of each round. Raises UnusableStrategy.
        """
        if not self.as_named:
            self._seats = self._shuffle_seats(seed)
            self.league.assign_seats(self._entrants_in_seats())
        played = 0
        for matches in self.league.play_rounds(seed, on_result):
            played += matches
            yield matches
        self.counted.matches += played
        self._count()

    def play_leagues(self, seeds: Iterable[int], *, with_matches: bool = False) -> LeagueTotals:
        """Play the leagues of these seeds, until Ctrl-C. They are returned and not counted here."""
        before, self.counted = self.counted, self._no_leagues()
        try:
            for seed in seeds:
                results: dict[str, MatchResult] = {}
                for _ in self.play_rounds(seed, results.__setitem__ if with_matches else None):
                    if is_interrupted():
                        return self.counted
                self.counted.rows += self._rows(seed, results)
            return self.counted
        finally:
            self.counted = before

    @property
    def strategy_of(self) -> dict[str, str]:
        """The strategy of each player in the last league."""
        return {player: self.names[number] for player, number in self._numbers_by_player().items()}

    def _no_leagues(self) -> LeagueTotals:
        return LeagueTotals.of(len(self.names), self.league.game.payoff_range)

    def _rows(self, seed: int, results: dict[str, MatchResult]) -> Iterator[tuple[Any, ...]]:
        strategies = self.strategy_of
        for match_id, result in results.items():
            a, b = result.score
            choices = result.details.choices
            players = a, b, strategies[a], strategies[b]
            points = result.score[a], result.score[b]
            row = (seed, match_id, *players, *points, choices[a], choices[b], result.details.drawn_number)
            yield (*row, *result.details.payoffs.values()) if self.counted.payoffs and result.details.payoffs else row

    def _shuffle_seats(self, seed: int) -> list[int]:
        self._random.seed(("seats", seed))
        each, more = divmod(len(self._seats), len(self._named))
        seats = [*range(len(self._named))] * each
        if more:
            seats += self._random.sample(range(len(self._named)), more)
        self._random.shuffle(seats)
        return seats

    def _entrants_in_seats(self) -> list[Entrant]:
        return [entrants[one] for entrants, one in zip(self._entrants, self._seats, strict=True)]

    def _numbers_by_player(self) -> dict[str, int]:
        return dict(zip(self.league.players, [self._numbers[one] for one in self._seats], strict=True))

    def _count(self) -> None:
        size, numbers = len(self.names), self._numbers_by_player()
        points = [0] * size**2
        payoffs = [0] * size**2
        matches = [0] * size**2
        copies = [0] * size
        for player in self.league.players.values():
            number = numbers[player.id]
            copies[number] += 1
            for opponent, taken in player.row.against.items():
                points[number * size + numbers[opponent]] += taken
            if self.counted.payoffs is not None:
                for opponent, payoff in player.payoffs.items():
                    # Without a count of meetings, each pair meets once.
                    counted = self.counted.payoffs.scale.count_of(payoff, player.met.get(opponent, 1))
                    payoffs[number * size + numbers[opponent]] += counted
            for opponent, times in player.met.items():
                matches[number * size + numbers[opponent]] += times
            self.counted.origins[number].add(player.origins)
        champion = numbers[self.league.standings()[0].player_id]
        meetings = matches if self.league.counts_meetings else None
        self.counted.sums.add(tuple(copies), points, champion, meetings)
        if self.counted.payoffs is not None:
            self.counted.payoffs.add(tuple(copies), payoffs, champion, meetings)
