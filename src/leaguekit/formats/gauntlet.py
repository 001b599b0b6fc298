"""Gauntlet: one player or several against all others."""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.formats.base import Pair, ScheduledFormat, check_number
from leaguekit.formats.round_robin import RoundRobin

MAX_CHALLENGERS = 100
# At most this number of challengers is named in a sentence and shown one by one. The cross-table has more.
MAX_NAMED = 6


class Gauntlet(ScheduledFormat):
    """The first ``challengers`` players of the seeding meet all other players ``legs`` times, and each other too."""

    name = "gauntlet"

    def __init__(self, challengers: int = 1, legs: int = 1) -> None:
        self.challengers = check_number("challengers", challengers, range(1, MAX_CHALLENGERS + 1))
        self.legs = check_number("legs", legs, (1, 2))
        given = {"challengers": (challengers, 1), "legs": (legs, 1)}
        self.arguments = {name: value for name, (value, default) in given.items() if value != default}

    @property
    def advancement(self) -> str:
        who = "The first player" if self.challengers == 1 else f"Each of the first {self.challengers} players"
        return self._sentence(who)

    def describe(self, entrants: Sequence[str]) -> str:
        if self.challengers > MAX_NAMED:
            return self.advancement
        *before, last = entrants[: self.challengers]
        return self._sentence(f"Each of {', '.join(before)} and {last}" if before else last)

    def challengers_of(self, entrants: Sequence[str]) -> Sequence[str]:
        return entrants[: self.challengers] if self.challengers <= MAX_NAMED else ()

    def _sentence(self, who: str) -> str:
        return f"{who} meets everybody {'once' if self.legs == 1 else 'twice'}; the table decides."

    def player_count_error(self, players: int) -> str | None:
        if players <= self.challengers:
            return f"a gauntlet of {self.challengers} challengers needs more than {players} players"
        return super().player_count_error(players)

    def match_count(self, players: int) -> int:
        among = self.challengers * (self.challengers - 1) // 2
        return (self.challengers * (players - self.challengers) + among) * self.legs

    def full_schedule(self, entrants: Sequence[str]) -> list[list[Pair]]:
        challengers, others = entrants[: self.challengers], entrants[self.challengers :]
        size = max(len(challengers), len(others))
        once: list[list[Pair]] = []
        for turn in range(size):
            pairs = [
                (player, others[place])
                for number, player in enumerate(challengers)
                if (place := (turn + number) % size) < len(others)
            ]
            # The sides alternate from round to round.
            once.append([(b, a) for a, b in pairs] if turn % 2 else pairs)
        once += [pairs for pairs in RoundRobin().full_schedule(challengers) if pairs] if len(challengers) > 1 else []
        return once if self.legs == 1 else once + [[(b, a) for a, b in pairs] for pairs in once]

    def total_rounds(self, players: int) -> int:
        return len(self.full_schedule([str(number) for number in range(players)]))
