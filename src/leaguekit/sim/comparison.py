"""A comparison of strategies: many leagues, each with the strategies in other seats.

The schedule fixes which seats meet and when, and so what a player has seen by then. If strategies kept their seats, a
figure would be true of that seating only. So each league's seed also decides about the seats, and the figures are means
over all seatings. In which order the strategies are named changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leaguekit.league.settings import Settings
from leaguekit.player.keyed_random import KeyedRandom
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.sim.direct import DirectLeague, Entrant, Seen
from leaguekit.sim.estimates import Sums


class Comparison:
    """Plays leagues and adds them up.

    Players are given to the strategies in turn; if they do not come out even, chance decides in each league which
    strategies have a player more. With ``as_named`` there is no chance in either, as in ``league run``. Strategies of
    one name are one strategy.
    """

    def __init__(
        self, game: str, strategies: Sequence[Entrant], players: int, *, fresh: bool = False, as_named: bool = False
    ) -> None:
        self._named = [*strategies] if as_named else sorted(strategies, key=lambda one: one.name)
        self.as_named = as_named
        self.fresh = fresh
        self._chance = KeyedRandom()
        self.names = [*dict.fromkeys(one.name for one in self._named)]
        # The number of a strategy among the names.
        self._numbers = [self.names.index(one.name) for one in self._named]
        # Where the moves of each strategy came from.
        self.origins = [MoveOrigins() for _ in self.names]
        # For each seat, all that may have it.
        self._entrants = [
            [Entrant(f"{name.rpartition(':')[2]} {seat}", strategy) for name, strategy in self._named]
            for seat in range(1, players + 1)
        ]
        # For each seat, the one that has it.
        self._seats = [seat % len(self._named) for seat in range(players)]
        settings = Settings(league_id="simulation", game_type=game)
        self.league = DirectLeague(settings, self._seated(), fresh=fresh)
        self.sums = Sums.of(len(self.names))

    def play(self, seed: int, seen: Seen | None = None) -> None:
        """Play the league of a seed and count it."""
        for _ in self.play_rounds(seed, seen):
            pass

    def play_rounds(self, seed: int, seen: Seen | None = None) -> Iterator[int]:
        """The same round by round: how many matches each had. A league counts when it is over. Raises CannotAsk."""
        if not self.as_named:
            self._seats = self._shuffled(seed)
            self.league.seat(self._seated())
        yield from self.league.play_rounds(seed, seen)
        self._count()

    @property
    def strategy_of(self) -> dict[str, str]:
        """The strategy of each player in the league played last."""
        return {player: self.names[number] for player, number in self._numbers_by_player().items()}

    def _shuffled(self, seed: int) -> list[int]:
        self._chance.seed(("seats", seed))
        each, more = divmod(len(self._seats), len(self._named))
        seats = [*range(len(self._named))] * each
        if more:
            seats += self._chance.sample(range(len(self._named)), more)
        self._chance.shuffle(seats)
        return seats

    def _seated(self) -> list[Entrant]:
        return [entrants[one] for entrants, one in zip(self._entrants, self._seats, strict=True)]

    def _numbers_by_player(self) -> dict[str, int]:
        return dict(zip(self.league.players, [self._numbers[one] for one in self._seats], strict=True))

    def _count(self) -> None:
        size, numbers = len(self.names), self._numbers_by_player()
        points = [0] * size**2
        copies = [0] * size
        for player in self.league.players.values():
            number = numbers[player.id]
            copies[number] += 1
            for opponent, taken in player.row.against.items():
                points[number * size + numbers[opponent]] += taken
            self.origins[number].add(player.origins)
        champion = self.league.standings()[0].player_id
        self.sums.add(tuple(copies), points, numbers[champion])
