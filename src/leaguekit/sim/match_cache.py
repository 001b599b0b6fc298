"""The courses that matches of a game take: each is played by the match machine once, and then remembered.

Machine and rules are pure: the same draw and the same moves lead to the same end, whoever plays. So what the machine
asks next, or how it rules, needs to be worked out only the first time that moves come in that order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from leaguekit.games.base import Game, Question, Side
from leaguekit.match.machine import Match
from leaguekit.match.rulings import Verdict
from leaguekit.match.signals import Ask, Effect, Finish, Joined, Limits, Moved, Seat

# What follows from moves is remembered so often at most, at about 1 KB each: in even/odd it is 60 times in all, in
# tic-tac-toe half a million times. The rest is played anew every time.
MAX_REMEMBERED = 20_000

# The players are left open in verdicts, as in the reasons that games give.
_SEATS: dict[Side, Seat] = {"A": Seat("{A}"), "B": Seat("{B}")}
_LIMITS = Limits()
# Nobody takes any time.
_NOW = 0.0


class Turn(Struct):
    """A moment when a side is asked, and what follows from each of its options, by the option's place."""

    side: Side
    move_type: str
    options: list[Any]
    # Options and view as they would be sent, for every player must get its own; None where a copy of the list is.
    sent_options: bytes | None
    sent_view: bytes
    after: dict[int, Turn | Verdict] = {}

    def own_options(self) -> list[Any]:
        return [*self.options] if self.sent_options is None else list(msgspec.json.decode(self.sent_options))

    def own_view(self) -> dict[str, Any]:
        return dict(msgspec.json.decode(self.sent_view))


class Courses:
    """Plays matches of one game. Verdicts have ``{A}`` and ``{B}`` where the players' ids belong."""

    def __init__(self, game: Game[Any], max_remembered: int = MAX_REMEMBERED) -> None:
        self._game = game
        self._openings: dict[int | None, Turn | Verdict] = {}
        self._room = max_remembered

    def play(self, drawn: int | None, choose: Callable[[Turn], int]) -> Verdict:
        """Play a match to its end. ``choose`` gives the place of the option that is chosen when it is a side's turn."""
        at = self._openings.get(drawn)
        machine: _Machine | None = None
        if at is None:
            machine = _Machine(self._game, drawn)
            at = self._openings[drawn] = machine.at
        path: list[int] = []
        while isinstance(at, Turn):
            place = choose(at)
            after = at.after.get(place)
            if after is None:
                machine = machine or _Machine(self._game, drawn, path)
                after = machine.answer(place)
                if self._room:
                    self._room -= 1
                    at.after[place] = after
            path.append(place)
            at = after
        return at


class _Machine:
    """A match machine in play, with both players there, and the moves of a path made."""

    def __init__(self, game: Game[Any], drawn: int | None, path: list[int] | None = None) -> None:
        self._match = Match(game, "R1M1", _SEATS, _LIMITS, drawn)
        self._effects: deque[Effect] = deque(self._match.start(_NOW))
        self._asked: tuple[Side, int, list[Any]]
        self.at = self._go_on()
        for place in path or ():
            self.at = self.answer(place)

    def answer(self, place: int) -> Turn | Verdict:
        """Make a move for whoever's turn it is: the next turn, or the end."""
        side, ask, options = self._asked
        self._effects += self._match.handle(Moved(side, ask, options[place]), _NOW)
        return self._go_on()

    def _go_on(self) -> Turn | Verdict:
        while self._effects:
            effect = self._effects.popleft()
            if isinstance(effect, Finish):
                if effect.verdict.faults:
                    raise RuntimeError(f"{self._match.game.name} refuses a move that it has offered")
                return effect.verdict
            if isinstance(effect, Ask):
                if effect.question is not None:
                    self._asked = (effect.side, effect.ask, effect.question.valid_options)
                    return _turn(effect.side, effect.question)
                self._effects += self._match.handle(Joined(effect.side, effect.ask), _NOW)
        raise RuntimeError(f"a match of {self._match.game.name} waits for nobody and does not end")


def _turn(side: Side, question: Question) -> Turn:
    move_type, options, view = question
    is_flat = not any(isinstance(option, list | dict) for option in options)
    sent_options = None if is_flat else msgspec.json.encode(options)
    return Turn(side, move_type, options, sent_options, msgspec.json.encode(view))
