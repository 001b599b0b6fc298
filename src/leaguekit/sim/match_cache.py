"""A cache of the matches of a game: the rules play each sequence of moves once.

The rules are pure functions of the moves and of what chance gives. They do not depend on the players. So the next
question, or the verdict, after a sequence of moves needs to be computed only once. The verdict is the one that the
match machine gives; here every move is one that was offered, and no player is late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from leaguekit.games.base import CHANCE, Game, Moves, Question, Side
from leaguekit.games.records import choices_of, move_text
from leaguekit.match.move_messages import drawn_number
from leaguekit.match.rulings import Verdict, verdict_by_play

# The maximum number of cached moves, of about 1 KB each. The default game has 70 in total, tic-tac-toe half a million.
# What is not cached is computed every time.
MAX_ENTRIES = 20_000

# Verdicts have placeholders for the players' ids, as the reasons that games give.
_IDS: dict[Side, str] = {"A": "{A}", "B": "{B}"}


class Turn(Struct):
    """A question to one side, and what follows from each of its options, by the option's index."""

    side: Side
    move_type: str
    options: list[Any]
    # Options and view as JSON, because every player must get its own copy. None if a copy of the list suffices.
    encoded_options: bytes | None
    encoded_view: bytes
    next: dict[Any, Node] = {}

    def copy_options(self) -> list[Any]:
        return [*self.options] if self.encoded_options is None else list(msgspec.json.decode(self.encoded_options))

    def copy_view(self) -> dict[str, Any]:
        return dict(msgspec.json.decode(self.encoded_view))


class Chance(Struct):
    """A step of chance, and what follows from each outcome, by its text."""

    position: Any
    step: int
    next: dict[Any, Node] = {}


Node: TypeAlias = Turn | Chance | Verdict


class MatchCache:
    """Plays matches of one game. Verdicts have ``{A}`` and ``{B}`` in place of the players' ids."""

    def __init__(self, game: Game[Any], max_entries: int = MAX_ENTRIES) -> None:
        self._game = game
        self._first: Node | None = None
        self._free_entries = max_entries

    def play(self, seed: bytes, choose: Callable[[Turn], int]) -> Verdict:
        """Play a match to its end.

        What chance gives follows from the seed. ``choose`` returns the index of the option that the side chooses.
        """
        played: _RunningMatch | None = None
        if self._first is None:
            played = _RunningMatch(self._game, [])
            self._first = played.node
        node = self._first
        path: list[Any] = []
        while not isinstance(node, Verdict):
            if isinstance(node, Turn):
                key: Any = choose(node)
                move = node.options[key]
            else:
                move = self._game.roll(node.position, seed, node.step)
                key = move if type(move) is int else move_text(move)
            following = node.next.get(key)
            if following is None:
                played = played or _RunningMatch(self._game, path)
                following = played.move(move)
                if self._free_entries:
                    self._free_entries -= 1
                    node.next[key] = following
            path.append(move)
            node = following
        return node


class _RunningMatch:
    """A match after the moves of a path, one by one: where both sides move, B moves after A."""

    def __init__(self, game: Game[Any], path: list[Any]) -> None:
        self._game = game
        self._position = game.start()
        self._record: list[Moves] = []
        self._moves: Moves = {}
        self._asked: list[Any] = []
        self.node = self._go_on()
        for move in path:
            self.node = self.move(move)

    def move(self, move: Any) -> Node:
        """Make a move for the one whose turn it is. Returns what follows."""
        self._moves[self._asked.pop(0)] = move
        if self._asked:
            return self._turn()
        self._position = self._game.play(self._position, self._moves)
        self._record.append(self._moves)
        self._moves = {}
        return self._go_on()

    def _go_on(self) -> Node:
        game, position = self._game, self._position
        if (outcome := game.outcome(position)) is not None:
            drawn, choices = drawn_number(game, self._record), choices_of(self._record)
            return verdict_by_play(outcome, _IDS, drawn=drawn, choices=choices, make_evidence=dict)
        movers = game.to_move(position)
        self._asked = [*movers]
        if movers == CHANCE:
            return Chance(position, len(self._record))
        if not movers:
            raise RuntimeError(f"a match of {game.name} asks no player and does not end")
        return self._turn()

    def _turn(self) -> Turn:
        side = self._asked[0]
        return _make_turn(side, self._game.question(self._position, side))


def _make_turn(side: Side, question: Question) -> Turn:
    options = question.valid_options
    is_flat = not any(isinstance(option, list | dict) for option in options)
    encoded_options = None if is_flat else msgspec.json.encode(options)
    return Turn(side, question.move_type, options, encoded_options, msgspec.json.encode(question.context))
