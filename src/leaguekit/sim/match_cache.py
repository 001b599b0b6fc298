"""A cache of the matches of a game: the match machine plays each sequence of moves once.

The machine and the rules are pure functions of the draw and the moves. They do not depend on the players. So the next
question, or the verdict, after a sequence of moves needs to be computed only once.
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

# The maximum number of cached moves, of about 1 KB each. The default game has 60 in total, tic-tac-toe half a million.
# What is not cached is computed every time.
MAX_ENTRIES = 20_000

# Verdicts have placeholders for the players' ids, as the reasons that games give.
_SEATS: dict[Side, Seat] = {"A": Seat("{A}"), "B": Seat("{B}")}
_LIMITS = Limits()
# No move takes any time.
_NOW = 0.0


class Turn(Struct):
    """A question to one side, and what follows from each of its options, by the option's index."""

    side: Side
    move_type: str
    options: list[Any]
    # Options and view as JSON, because every player must get its own copy. None if a copy of the list suffices.
    encoded_options: bytes | None
    encoded_view: bytes
    next: dict[int, Turn | Verdict] = {}

    def copy_options(self) -> list[Any]:
        return [*self.options] if self.encoded_options is None else list(msgspec.json.decode(self.encoded_options))

    def copy_view(self) -> dict[str, Any]:
        return dict(msgspec.json.decode(self.encoded_view))


class MatchCache:
    """Plays matches of one game. Verdicts have ``{A}`` and ``{B}`` in place of the players' ids."""

    def __init__(self, game: Game[Any], max_entries: int = MAX_ENTRIES) -> None:
        self._game = game
        self._first_turns: dict[int | None, Turn | Verdict] = {}
        self._free_entries = max_entries

    def play(self, drawn: int | None, choose: Callable[[Turn], int]) -> Verdict:
        """Play a match to its end. ``choose`` returns the index of the option that the side chooses."""
        current = self._first_turns.get(drawn)
        machine: _RunningMatch | None = None
        if current is None:
            machine = _RunningMatch(self._game, drawn)
            current = self._first_turns[drawn] = machine.current
        path: list[int] = []
        while isinstance(current, Turn):
            index = choose(current)
            following = current.next.get(index)
            if following is None:
                machine = machine or _RunningMatch(self._game, drawn, path)
                following = machine.move(index)
                if self._free_entries:
                    self._free_entries -= 1
                    current.next[index] = following
            path.append(index)
            current = following
        return current


class _RunningMatch:
    """A match machine that both players have joined, after the moves of a path."""

    def __init__(self, game: Game[Any], drawn: int | None, path: list[int] | None = None) -> None:
        self._match = Match(game, "R1M1", _SEATS, _LIMITS, drawn)
        self._effects: deque[Effect] = deque(self._match.start(_NOW))
        self._asked: tuple[Side, int, list[Any]]
        self.current = self._advance()
        for index in path or ():
            self.current = self.move(index)

    def move(self, index: int) -> Turn | Verdict:
        """Make a move for the side whose turn it is. Returns the next turn, or the verdict."""
        side, ask, options = self._asked
        self._effects += self._match.handle(Moved(side, ask, options[index]), _NOW)
        return self._advance()

    def _advance(self) -> Turn | Verdict:
        while self._effects:
            effect = self._effects.popleft()
            if isinstance(effect, Finish):
                if effect.verdict.faults:
                    raise RuntimeError(f"{self._match.game.name} refuses a move that it has offered")
                return effect.verdict
            if isinstance(effect, Ask):
                if effect.question is not None:
                    self._asked = (effect.side, effect.ask, effect.question.valid_options)
                    return _make_turn(effect.side, effect.question)
                self._effects += self._match.handle(Joined(effect.side, effect.ask), _NOW)
        raise RuntimeError(f"a match of {self._match.game.name} asks no player and does not end")


def _make_turn(side: Side, question: Question) -> Turn:
    move_type, options, view = question
    is_flat = not any(isinstance(option, list | dict) for option in options)
    encoded_options = None if is_flat else msgspec.json.encode(options)
    return Turn(side, move_type, options, encoded_options, msgspec.json.encode(view))
