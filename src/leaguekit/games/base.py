"""The interface of a game: which side moves, which moves are legal, what follows, and what each side may see.

A game is pure rules, without I/O and without a clock. Its only randomness is the draw, which is a function of a seed
that is passed in. Positions are immutable values: playing a move makes a new position. The two sides are ``A`` and
``B``. A new game is a new module with a subclass of ``Game``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

Side = Literal["A", "B"]
SIDES: tuple[Side, Side] = ("A", "B")
PositionT = TypeVar("PositionT")


def other(side: Side) -> Side:
    return "B" if side == "A" else "A"


# The game of the documents. It is played where no game is named.
DEFAULT_GAME = "even_odd"


class Question(NamedTuple):
    """What a side is asked: the kind of move, the legal moves, and the position as that side may see it."""

    move_type: str
    valid_options: list[Any]
    context: dict[str, Any]


class Outcome(NamedTuple):
    """How a game ended: the winning side (None for a draw), and why, with ``{A}`` and ``{B}`` for the players."""

    winner: Side | None
    reason: str


class Knowledge(NamedTuple):
    """What a player knows when it moves. The opponent's earlier choices and the numbers drawn earlier are functions."""

    view: dict[str, Any]
    choices: Callable[[], list[str | None]]
    numbers: Callable[[], list[int]]


class Game(ABC, Generic[PositionT]):
    """The rules of one game."""

    name: ClassVar[str]
    # Moves that are always legal. For each of them there is a strategy that always makes it.
    constant_moves: ClassVar[tuple[str, ...]] = ()
    # The number of turns in the longest game.
    max_turns: ClassVar[int] = 1
    # A sentence for pages that says why chance alone decides between two players; empty if it does not.
    luck: ClassVar[str] = ""

    def draw(self, seed: bytes) -> int | None:  # noqa: ARG002 - games with chance use it
        """The number that is drawn, derived from the seed; None for a game without chance."""
        return None

    @abstractmethod
    def start(self, drawn: int | None) -> PositionT:
        """The first position. The drawn number is hidden in it until the end."""

    @abstractmethod
    def to_move(self, position: PositionT) -> tuple[Side, ...]:
        """The sides that move now: both at once, one of them, or none when the game is over."""

    @abstractmethod
    def question(self, position: PositionT, side: Side) -> Question:
        """The question to a side that moves now."""

    @abstractmethod
    def fault(self, position: PositionT, side: Side, move: Any) -> str | None:
        """What is wrong with a move (any JSON value), in a sentence; None if it is legal."""

    @abstractmethod
    def play(self, position: PositionT, moves: dict[Side, Any]) -> PositionT:
        """The position after legal moves of all sides that move now."""

    @abstractmethod
    def outcome(self, position: PositionT) -> Outcome | None:
        """How the game ended, or None while it is in play."""

    @abstractmethod
    def view(self, position: PositionT, side: Side | None) -> dict[str, Any]:
        """The position as a side may see it; None means the public. Hidden information is visible only at the end."""

    @abstractmethod
    def choices(self, position: PositionT) -> dict[Side, str | None]:
        """The choices of each side as a text, for the result; None for a side that has not chosen."""

    def worth(self, known: Knowledge) -> Callable[[Any], float] | None:  # noqa: ARG002 - games that can judge use it
        """How good each move is, if the opponent chooses as before; None if the game cannot judge moves."""
        return None

    def position(self, view: dict[str, Any]) -> PositionT | None:  # noqa: ARG002 - games that hide nothing use it
        """The position that a view shows; None if a view does not show everything.

        Positions with the same future must be equal. Raises ValueError for a view that is not of this game.
        """
        return None

    def moves(self, choice: str) -> list[Any] | None:  # noqa: ARG002 - games that can read it do
        """The moves of a side, parsed from its choices. None if this is not possible; then results are not checked."""
        return None


def settled(game: Game[Any], drawn: int | None, choices: dict[Side, str | None]) -> Outcome | None:
    """The outcome of a game with this draw and these choices; None if the game cannot parse choices.

    Raises ValueError if the choices are not legal, or do not end the game.
    """
    read = {side: game.moves(choice) for side, choice in choices.items() if choice is not None}
    if None in read.values():
        return None
    position = game.start(drawn)
    left = {side: [*(read.get(side) or ())] for side in SIDES}
    while (outcome := game.outcome(position)) is None:
        moves: dict[Side, Any] = {}
        for side in game.to_move(position):
            if not left[side]:
                raise ValueError(f"{{{side}}} has not chosen")
            moves[side] = left[side].pop(0)
            if (fault := game.fault(position, side, moves[side])) is not None:
                raise ValueError(f"{{{side}}} cannot have chosen that: {fault}")
        position = game.play(position, moves)
    if any(left.values()):
        raise ValueError("somebody chose after the end")
    return outcome
