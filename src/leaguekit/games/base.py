"""What a game is to the rest of leaguekit: who is asked now, what is legal, what follows, and who may see what.

A game is plain rules: no I/O, no clock, and no randomness but the draw, which is a function of a seed that is passed
in. Positions are values; playing a move makes a new one. Two sides play, ``A`` and ``B``. A new game is one new module
with a subclass of ``Game`` in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

Side = Literal["A", "B"]
SIDES: tuple[Side, Side] = ("A", "B")
PositionT = TypeVar("PositionT")


def other(side: Side) -> Side:
    return "B" if side == "A" else "A"


class Question(NamedTuple):
    """What a side is asked for: the kind of move, the legal moves, and the position as that side may see it."""

    move_type: str
    valid_options: list[Any]
    context: dict[str, Any]


class Outcome(NamedTuple):
    """How a game ended: the winning side (None for a draw), and why, with ``{A}`` and ``{B}`` for the players."""

    winner: Side | None
    reason: str


class Game(ABC, Generic[PositionT]):
    """The rules of one game."""

    name: ClassVar[str]
    # Even/odd has messages of its own in the specification; every other game uses the generic ones.
    asks_for_parity: ClassVar[bool] = False
    # How many times players are asked in the longest game.
    max_turns: ClassVar[int] = 1
    # If chance alone decides between any two players: why, in a sentence that pages show.
    luck: ClassVar[str] = ""

    @property
    def pure_chance(self) -> bool:
        """Whether chance alone decides between any two players."""
        return bool(self.luck)

    def draw(self, seed: bytes) -> int | None:  # noqa: ARG002 - games with chance use it
        """The number that chance contributes, made from the seed; None for a game without chance."""
        return None

    @abstractmethod
    def start(self, drawn: int | None) -> PositionT:
        """The first position; what was drawn is hidden in it until the end."""

    @abstractmethod
    def to_move(self, position: PositionT) -> tuple[Side, ...]:
        """Who is asked now: both at once, one in turn, or nobody when the game is over."""

    @abstractmethod
    def question(self, position: PositionT, side: Side) -> Question:
        """What a side that is to move is asked for."""

    @abstractmethod
    def fault(self, position: PositionT, side: Side, move: Any) -> str | None:
        """What is wrong with a move (any JSON value), in a sentence; None if it is legal."""

    @abstractmethod
    def play(self, position: PositionT, moves: dict[Side, Any]) -> PositionT:
        """The position after legal moves of all who were to move."""

    @abstractmethod
    def outcome(self, position: PositionT) -> Outcome | None:
        """How it ended, or None while it is in play."""

    @abstractmethod
    def view(self, position: PositionT, side: Side | None) -> dict[str, Any]:
        """The position as a side may see it; None is the public's view. Hidden things show only when it is over."""

    @abstractmethod
    def choices(self, position: PositionT) -> dict[Side, str | None]:
        """What each side chose, as text, for the result; None for a side that chose nothing."""

    def moves(self, choice: str) -> list[Any] | None:  # noqa: ARG002 - games that can read it do
        """A side's moves, read back from its choice; None if this game cannot, and results are then taken as told."""
        return None


def settled(game: Game[Any], drawn: int | None, choices: dict[Side, str | None]) -> Outcome | None:
    """How a game ends in which this was drawn and chosen; None if the game cannot tell. Raises ValueError if it cannot
    have been played to an end so."""
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
