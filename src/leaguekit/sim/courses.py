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

# Even/odd has 30 turns in all, tic-tac-toe half a million; those beyond this are played anew every time (1 KB each).
MOST_TURNS = 20_000

# The players are left open in verdicts, as in the reasons that games give.
_SEATS: dict[Side, Seat] = {"A": Seat("{A}"), "B": Seat("{B}")}
_LIMITS = Limits()
# Nobody takes any time.
_NOW = 0.0


class Turn(Struct):
    """A moment when a side is asked, and what follows from each of its options, by the option's place."""

    side: Side
    question: Question
    # The question's context as it would be sent, for every player must get its own.
    view: bytes
    after: dict[int, Turn | Verdict] = {}


# Given whose turn it is, the place of the option that it chooses.
Choose = Callable[[Turn], int]


class Courses:
    """Plays matches of one game. Verdicts have ``{A}`` and ``{B}`` where the players' ids belong."""

    def __init__(self, game: Game[Any], most_turns: int = MOST_TURNS) -> None:
        self._game = game
        self._openings: dict[int | None, Turn | Verdict] = {}
        self._room = most_turns

    def play(self, drawn: int | None, choose: Choose) -> Verdict:
        """Play a match to its end."""
        at = self._openings.get(drawn)
        machine: _Machine | None = None
        if at is None:
            machine = _Machine(self._game, drawn)
            at = self._openings[drawn] = machine.at
        path: list[int] = []
        while type(at) is Turn:
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
        return at  # type: ignore[return-value]  # mypy does not see that nothing else is left


class _Machine:
    """A match machine in play, with both players there, and the moves of a path made."""

    def __init__(self, game: Game[Any], drawn: int | None, path: list[int] | None = None) -> None:
        self._match = Match(game, "R1M1", _SEATS, _LIMITS, drawn)
        self._effects: deque[Effect] = deque(self._match.start(_NOW))
        self._asked: tuple[Side, int, list[Any]] | None = None
        self.at = self._go_on()
        for place in path or ():
            self.at = self.answer(place)

    def answer(self, place: int) -> Turn | Verdict:
        """Make a move for whoever's turn it is: the next turn, or the end."""
        if self._asked is None:
            raise RuntimeError("the match is over")
        side, ask, options = self._asked
        self._effects += self._match.handle(Moved(side, ask, options[place]), _NOW)
        return self._go_on()

    def _go_on(self) -> Turn | Verdict:
        while self._effects:
            effect = self._effects.popleft()
            if isinstance(effect, Finish):
                return effect.verdict
            if isinstance(effect, Ask):
                if effect.question is not None:
                    self._asked = (effect.side, effect.ask, effect.question.valid_options)
                    return Turn(effect.side, effect.question, msgspec.json.encode(effect.question.context))
                self._effects += self._match.handle(Joined(effect.side, effect.ask), _NOW)
        raise RuntimeError(f"a match of {self._match.game.name} waits for nobody and does not end")
