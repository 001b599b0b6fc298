"""The interface of a game: which side moves, which moves are legal, what follows, and what each side may see.

A game is pure rules, without I/O and without a clock. Its only randomness is chance, which moves like a side; what
chance gives is a function of a seed and the step. Positions are immutable values: playing a step makes a new position.
The two sides are ``A`` and ``B``. A new game is a new module with a subclass of ``Game``.
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

Side = Literal["A", "B"]
SIDES: tuple[Side, Side] = ("A", "B")
# Who moves: a side, or chance, which moves alone.
Mover = Literal["A", "B", "chance"]
CHANCE: tuple[Mover] = ("chance",)
# The moves of one step. A match's record is the list of its steps.
Moves = dict[Mover, Any]
# What chance may give, each outcome with its weight: a whole number. An outcome of weight 2 is twice as likely.
Odds = Sequence[tuple[Any, int]]
PositionT = TypeVar("PositionT")


def other(side: Side) -> Side:
    return "B" if side == "A" else "A"


# The game of the documents. It is played where no game is named.
DEFAULT_GAME = "even_odd"


class Question(NamedTuple):
    """What a side is asked: the kind of move, the legal moves, and the position as that side may see it.

    If too many moves are legal to list them all, ``total`` is their number, and ``syntax`` says how a move is written.
    """

    move_type: str
    valid_options: list[Any]
    context: dict[str, Any]
    total: int | None = None
    syntax: str = ""


class Outcome(NamedTuple):
    """How a game ended: the winning side (None for a draw), and why, with ``{A}`` and ``{B}`` for the players.

    ``payoffs`` are what A and B have won, in games in which that is more than win, draw or loss.
    """

    winner: Side | None
    reason: str
    payoffs: tuple[float, float] | None = None


class Knowledge(NamedTuple):
    """What a player knows when it moves. The opponent's earlier choices and the numbers drawn earlier are functions."""

    view: dict[str, Any]
    choices: Callable[[], list[str | None]]
    numbers: Callable[[], list[int]]


class Game(ABC, Generic[PositionT]):
    """The rules of one game."""

    name: str
    # Moves that are always legal. For each of them there is a strategy that always makes it.
    constant_moves: ClassVar[tuple[str, ...]] = ()
    # The number of turns in the longest game. Steps of chance do not count.
    max_turns: int = 1
    # Whether chance ever moves. By default it does in a game that has odds, or a roll of its own.
    chance: bool | None = None
    # A sentence for pages that says why chance alone decides between two players; empty if it does not.
    luck: ClassVar[str] = ""
    # The lowest and the highest payoff of a match. A league of a game that states them is ranked by payoff.
    payoff_range: tuple[float, float] | None = None
    # The rules in words, for people and language models. If they are empty, the docstring of the game's module is used.
    rules: str = ""
    # The arguments that the game was made with (``leaguekit.games.game``).
    args: Mapping[str, Any] = {}

    @abstractmethod
    def start(self) -> PositionT:
        """The first position."""

    @abstractmethod
    def to_move(self, position: PositionT) -> tuple[Mover, ...]:
        """The sides that move now: both at once, one of them, chance alone, or none when the game is over."""

    @abstractmethod
    def question(self, position: PositionT, side: Side) -> Question:
        """The question to a side that moves now."""

    @abstractmethod
    def play(self, position: PositionT, moves: Moves) -> PositionT:
        """The position after legal moves of all that move now."""

    @abstractmethod
    def outcome(self, position: PositionT) -> Outcome | None:
        """How the game ended, or None while it is in play."""

    @abstractmethod
    def view(self, position: PositionT, side: Side | None) -> dict[str, Any]:
        """The position as a side may see it; None means the public, which sees no more than both sides see."""

    # Methods with a default

    def move_error(self, position: PositionT, side: Side, move: Any) -> str | None:
        """What is wrong with a move (any JSON value), in a sentence; None if it is legal.

        By default a move is legal if it is one of the options. A game that does not list all moves needs its own check.
        """
        if (error := turn_error(self.to_move(position), side)) is not None:
            return error
        options = self.question(position, side).valid_options
        if any(is_same(move, option) for option in options):
            return None
        return f"Move must be one of {reprlib.repr(options)}, got {reprlib.repr(move)}"

    def odds(self, position: PositionT) -> Odds | None:  # noqa: ARG002 - games with chance use it
        """What chance may give in a position in which it moves. None if a game has its own ``roll`` and cannot say."""
        return None

    def roll(self, position: PositionT, seed: bytes, step: int) -> Any:
        """What chance gives in a position, by the seed of the match and the number of the step, which begins with 0."""
        odds = self.odds(position)
        if odds is None:
            raise NotImplementedError(f"{self.name} has neither odds nor a roll of its own")
        return pick(odds, seed, step)

    def picture(self, view: dict[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002 - games that are drawn use it
        """A view as a picture (``games/pictures.py``); None if the view is best shown as text.

        The view may come from another program. Raises ValueError if it is not of this game.
        """
        return None

    def move_rater(self, known: Knowledge) -> Callable[[Any], float] | None:  # noqa: ARG002 - games that can judge use it
        """A function that says how good a move is, if the opponent chooses as before; None if the game cannot judge."""
        return None

    def position(self, view: dict[str, Any]) -> PositionT | None:  # noqa: ARG002 - games that hide nothing use it
        """The position that a view shows; None if a view does not show everything.

        Positions with the same future must be equal. Raises ValueError for a view that is not of this game.
        """
        return None


def asked(game: Game[Any], position: Any) -> tuple[Side, ...]:
    """The sides that are asked for a move now; none if the game is over, or chance moves."""
    movers = game.to_move(position)
    return tuple(side for side in SIDES if side in movers)


def has_chance(game: Game[Any]) -> bool:
    """Whether chance ever moves in a game."""
    if game.chance is not None:
        return game.chance
    return type(game).odds is not Game.odds or type(game).roll is not Game.roll


def turn_error(movers: tuple[Mover, ...], side: Side) -> str | None:
    """Why a side may not move now; None if it may."""
    if side in movers:
        return None
    if other(side) in movers:
        return "It is the other player's turn"
    return "Nobody is asked now" if movers else "The game is over"


def is_same(one: Any, another: Any) -> bool:
    """Whether two JSON values are equal and of the same types. Python treats True and 1.0 as equal to 1."""
    if type(one) is not type(another):
        return False
    if isinstance(one, list):
        return len(one) == len(another) and all(map(is_same, one, another))
    if isinstance(one, dict):
        return one.keys() == another.keys() and all(is_same(value, another[key]) for key, value in one.items())
    return bool(one == another)


def pick(odds: Odds, seed: bytes, step: int) -> Any:
    """One of the outcomes, by the rule in ``docs/protocol.md``: the seed and the step decide, without bias.

    The SHA-256 of the text ``<seed in hex>:<step>`` is read as a number. The number modulo the sum of the weights
    selects the first outcome for which the sum of the weights up to it is larger. Numbers at the upper end, which would
    make the first outcomes more likely, are hashed again.
    """
    total = sum(weight for _, weight in odds)
    digest = sha256(f"{seed.hex()}:{step}".encode("ascii")).digest()
    limit = (1 << 256) - (1 << 256) % total
    while (number := int.from_bytes(digest, "big")) >= limit:
        digest = sha256(digest).digest()
    counted = accumulate(weight for _, weight in odds)
    return next(outcome for (outcome, _), end in zip(odds, counted, strict=True) if number % total < end)
