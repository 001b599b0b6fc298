"""Rock, paper, scissors: one throw, both at once; rock beats scissors, scissors beat paper, paper beats rock."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

from leaguekit.games.base import SIDES, Game, Knowledge, Moves, Outcome, Question, Side, other, turn_error
from leaguekit.games.pictures import Picture, cards

# Each with what it beats.
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
THROWS = tuple(BEATS)


class Position(NamedTuple):
    """What each side threw."""

    A: str | None = None
    B: str | None = None


class RockPaperScissors(Game[Position]):
    """One throw decides; equal throws are a draw."""

    name = "rock_paper_scissors"

    def start(self) -> Position:
        return Position()

    def to_move(self, position: Position) -> tuple[Side, ...]:
        return SIDES if position.A is None else ()

    def question(self, position: Position, side: Side) -> Question:
        return Question("throw", [*THROWS], self.view(position, side))

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(self.to_move(position), side)) is not None or move in THROWS:
            return error
        return f"Throw must be 'rock', 'paper' or 'scissors', got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:  # noqa: ARG002 - there is one turn only
        return Position(moves["A"], moves["B"])

    def outcome(self, position: Position) -> Outcome | None:
        if position.A is None or position.B is None:
            return None
        if position.A == position.B:
            return Outcome(None, f"{{A}} and {{B}} both threw {position.A}")
        winner: Side = "A" if BEATS[position.A] == position.B else "B"
        thrown = position._asdict()
        return Outcome(
            winner, f"{{{winner}}} threw {thrown[winner]}, {{{other(winner)}}} threw {thrown[other(winner)]}"
        )

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:  # noqa: ARG002 - all see the same
        return {"choices": position._asdict()}

    def picture(self, view: dict[str, Any]) -> Picture:
        return cards({"{A}": view["choices"]["A"], "{B}": view["choices"]["B"]})

    def move_rater(self, known: Knowledge) -> Callable[[Any], float]:
        """Beat the most frequent choice. A draw against it is better than a loss."""
        choices = known.choices()
        counts: dict[str | None, int] = {throw: choices.count(throw) for throw in BEATS}
        return lambda throw: 3 * counts.get(BEATS.get(throw), 0) + counts.get(throw, 0)
