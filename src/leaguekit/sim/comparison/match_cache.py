"""A cache of the matches of a game: the rules play each sequence of moves once.

The rules are pure functions of the moves and of what chance gives. They do not depend on the players. So the next
question, or the verdict, after a sequence of moves needs to be computed only once. The verdict is the one that the
match machine gives; here every move is legal, and no player is late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, Struct

from leaguekit.games.base import CHANCE, Game, Moves, Question, Side
from leaguekit.games.records import choices_of
from leaguekit.match.move_messages import drawn_number
from leaguekit.match.rulings import Verdict, verdict_by_play
from leaguekit.protocol.messages import MatchResult, ResultDetails

# The memory for what is cached, about: each entry takes this many bytes, and those of its options and its view. The
# default game has 80 entries in total, tic-tac-toe half a million. What is not cached is computed every time.
MAX_BYTES = 20_000_000
ENTRY_BYTES = 1_000

# Verdicts have placeholders for the players' ids, as the reasons that games give.
_IDS: dict[Side, str] = {"A": "{A}", "B": "{B}"}


class Turn(Struct):
    """A question to one side, and what follows from each of its options, by the option's index.

    A move that is not listed has its JSON in place of an index.
    """

    side: Side
    question: Question
    # Options and view as JSON, because every player must get its own copy.
    encoded_options: bytes
    encoded_view: bytes
    # Whether a copy of the list is a copy of the options, and one of the dict a copy of the view.
    is_flat: bool
    has_flat_view: bool
    # None if all legal moves are options.
    position: Any = None
    next: dict[Any, Node] = {}

    @property
    def options(self) -> list[Any]:
        return self.question.valid_options

    @property
    def size(self) -> int:
        # A position is about as large as a view.
        views = 1 if self.question.total is None else 2
        return ENTRY_BYTES + len(self.encoded_options) + views * len(self.encoded_view)

    def copy_options(self) -> list[Any]:
        return [*self.question.valid_options] if self.is_flat else list(msgspec.json.decode(self.encoded_options))

    def copy_view(self) -> dict[str, Any]:
        return {**self.question.context} if self.has_flat_view else dict(msgspec.json.decode(self.encoded_view))


class Chance(Struct):
    """A step of chance, and what follows from each outcome: a number, or its JSON if it is not a whole number."""

    position: Any
    step: int
    size: int
    next: dict[Any, Node] = {}


class Unlisted(Struct):
    """A legal move that is not one of the options."""

    move: Any


Node: TypeAlias = Turn | Chance | Verdict


class MatchCache:
    """Plays matches of one game. Verdicts have ``{A}`` and ``{B}`` in place of the players' ids."""

    def __init__(self, game: Game[Any], max_bytes: int = MAX_BYTES) -> None:
        self._game = game
        self._first: Node | None = None
        self._free_bytes = max_bytes

    def play(self, seed: bytes, choose: Callable[[Turn], int | Unlisted]) -> Verdict:
        """Play a match to its end.

        What chance gives follows from the seed. ``choose`` returns the index of the option that the side chooses, or
        a legal move that is not listed.
        """
        played: _RunningMatch | None = None
        if self._first is None:
            played = _RunningMatch(self._game, [])
            self._first = played.node
        node: Any = self._first
        path: list[Any] = []
        while True:
            kind = type(node)
            if kind is Turn:
                key: Any = choose(node)
                if type(key) is Unlisted:
                    key = msgspec.json.encode(key.move, order="sorted")
            elif kind is Chance:
                key = self._game.roll(node.position, seed, node.step)
                if type(key) is not int:
                    key = msgspec.json.encode(key, order="sorted")
            else:
                return cast("Verdict", node)
            following = node.next.get(key)
            if following is None:
                played = played or _RunningMatch(self._game, path)
                following = played.move(key)
                self._keep(node, key, following)
            path.append(key)
            node = following

    def _keep(self, node: Turn | Chance, key: Any, following: Node) -> None:
        """Cache what follows, if there is room."""
        size = ENTRY_BYTES if isinstance(following, Verdict) else following.size
        if size <= self._free_bytes:
            self._free_bytes -= size
            node.next[key] = following


class _RunningMatch:
    """A match after the moves of a path, one by one: where both sides move, B moves after A.

    Moves are given as the keys of ``Turn.next`` and ``Chance.next``.
    """

    def __init__(self, game: Game[Any], path: list[Any]) -> None:
        self._game = game
        self._position = game.start()
        self._record: list[Moves] = []
        self._moves: Moves = {}
        self._asked: list[Any] = []
        self.node = self._go_on()
        for key in path:
            self.move(key)

    def move(self, key: Any) -> Node:
        """Make a move for the one whose turn it is. Returns what follows."""
        if type(key) is not int:
            move = msgspec.json.decode(key)
        else:
            move = self.node.options[key] if isinstance(self.node, Turn) else key
        self._moves[self._asked.pop(0)] = move
        if self._asked:
            self.node = self._turn()
        else:
            self._position = self._game.play(self._position, self._moves)
            self._record.append(self._moves)
            self._moves = {}
            self.node = self._go_on()
        return self.node

    def _go_on(self) -> Node:
        game, position = self._game, self._position
        if (outcome := game.outcome(position)) is not None:
            drawn, choices = drawn_number(game, self._record), choices_of(self._record)
            return verdict_by_play(outcome, _IDS, drawn=drawn, choices=choices, make_evidence=dict)
        movers = game.to_move(position)
        self._asked = [*movers]
        if movers == CHANCE:
            view = msgspec.json.encode(game.view(position, None))
            return Chance(position, len(self._record), ENTRY_BYTES + len(view))
        if not movers:
            raise RuntimeError(f"a match of {game.name} asks no player and does not end")
        return self._turn()

    def _turn(self) -> Turn:
        side, position = self._asked[0], self._position
        question = self._game.question(position, side)
        options, encoded_view = question.valid_options, msgspec.json.encode(question.context)
        return Turn(
            side,
            question,
            encoded_options=msgspec.json.encode(options),
            encoded_view=encoded_view,
            is_flat=not any(isinstance(option, list | dict) for option in options),
            has_flat_view=b"[" not in encoded_view and b"{" not in encoded_view[1:],
            position=None if question.total is None else position,
        )


def result_of(verdict: Verdict, a: str, b: str) -> MatchResult:
    """A verdict on a match of the players A and B in the form in which the manager would record it."""
    ids = {"A": a, "B": b}
    score: dict[str, Any] = {ids[side]: points for side, points in verdict.score.items()}
    return MatchResult(
        winner=None if verdict.winner is None else ids[verdict.winner],
        score=score,
        details=ResultDetails(
            drawn_number=verdict.drawn,
            choices={ids[side]: choice for side, choice in verdict.choices.items()},
            status=verdict.status,
            ruling=verdict.ruling,
            payoffs=UNSET if verdict.payoffs is None else {a: verdict.payoffs[0], b: verdict.payoffs[1]},
        ),
    )
