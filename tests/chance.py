"""Games in tests from where the first side moves, and matches whose caller lets chance give what the test says."""

from __future__ import annotations

from typing import Any

from leaguekit.games.base import CHANCE, Game
from leaguekit.match.machine import Match
from leaguekit.match.signals import Effect, Roll, Rolled


def begin(game: Game[Any], seed: bytes = b"any seed", given: Any = None) -> Any:
    """The first position in which a side moves. Chance gives what is passed in, or follows from the seed."""
    position, step = game.start(), 0
    while game.to_move(position) == CHANCE:
        outcome = game.roll(position, seed, step) if given is None else given
        position, step = game.play(position, {"chance": outcome}), step + 1
    return position


class RollingMatch(Match):
    """A match in which chance gives the same in every step. Its effects are those that come after ``Roll``."""

    def __init__(self, *args: Any, given: Any) -> None:
        super().__init__(*args)
        self.given = given

    def handle(self, given: Any, now: float) -> list[Effect]:
        effects = super().handle(given, now)
        for effect in effects:
            if isinstance(effect, Roll):
                effects += super().handle(Rolled(effect.step, self.given), now)
        return [effect for effect in effects if not isinstance(effect, Roll)]
