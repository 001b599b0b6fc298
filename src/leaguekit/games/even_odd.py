"""Even/odd: both choose at once, a number from 1 to 10 is drawn, and a player that alone chose its parity wins."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from leaguekit.games.base import CHANCE, SIDES, Game, Knowledge, Mover, Moves, Odds, Outcome, Question, Side, turn_error
from leaguekit.games.pictures import Picture, cards

Parity = Literal["even", "odd"]
PARITIES: tuple[Parity, Parity] = ("even", "odd")
HIGHEST = 10
# 256 is not a multiple of 10. The highest values of a byte would make 1 to 6 more likely.
_FAIR_BYTES = 256 - 256 % HIGHEST


def number_parity(number: int) -> Parity:
    return "odd" if number % 2 else "even"


class Position(NamedTuple):
    """The number, hidden until the end, and what each side chose."""

    number: int | None = None
    A: Parity | None = None
    B: Parity | None = None


class EvenOdd(Game[Position]):
    """The specification's own game."""

    name = "even_odd"
    constant_moves = PARITIES
    luck = (
        "Even/odd is luck: chance alone decides which of two players wins. Whether one of them wins is up to both, who "
        "may choose alike or not."
    )

    def start(self) -> Position:
        return Position()

    def to_move(self, position: Position) -> tuple[Mover, ...]:
        if position.number is None:
            return CHANCE
        return SIDES if position.A is None else ()

    def odds(self, position: Position) -> Odds:  # noqa: ARG002 - always the same
        return [(number, 1) for number in range(1, HIGHEST + 1)]

    def roll(self, position: Position, seed: bytes, step: int) -> int:  # noqa: ARG002 - chance moves once
        # Older than the rule of other games, and the same ever since.
        digest = sha256(b"even_odd" + seed).digest()
        while digest[0] >= _FAIR_BYTES:
            digest = sha256(digest).digest()
        return digest[0] % HIGHEST + 1

    def question(self, position: Position, side: Side) -> Question:
        return Question("choose_parity", [*PARITIES], self.view(position, side))

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(self.to_move(position), side)) is not None or move in PARITIES:
            return error
        return f"Choice must be 'even' or 'odd', got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:
        return Position(moves["chance"]) if "chance" in moves else Position(position.number, moves["A"], moves["B"])

    def outcome(self, position: Position) -> Outcome | None:
        if position.number is None or position.A is None:
            return None
        parity = number_parity(position.number)
        number = f"the number was {position.number}, which is {parity}"
        if position.A == position.B:
            verdict = "right" if parity == position.A else "wrong"
            return Outcome(None, f"{{A}} and {{B}} both chose {position.A} and {number}: both were {verdict}")
        winner: Side = "A" if parity == position.A else "B"
        return Outcome(winner, f"{{{winner}}} chose {parity} and {number}")

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:  # noqa: ARG002 - all see the same
        number = None if position.A is None else position.number
        parity = None if number is None else number_parity(number)
        return {"number": number, "parity": parity, "choices": {"A": position.A, "B": position.B}}

    def picture(self, view: dict[str, Any]) -> Picture:
        return cards({"number": view["number"], "{A}": view["choices"]["A"], "{B}": view["choices"]["B"]})

    def move_rater(self, known: Knowledge) -> Callable[[Any], float]:
        """Weigh a draw (1 point, if the opponent chooses the same) against a win (3, if the number is right)."""
        choices, numbers = known.choices(), known.numbers()
        odd = sum([number % 2 for number in numbers])

        def points(option: Any) -> float:
            # Without any match, both are equally likely.
            same = (choices.count(option) + 1) / (len(choices) + 2)
            right = ((odd if option == "odd" else len(numbers) - odd) + 1) / (len(numbers) + 2)
            return same + 3 * right * (1 - same)

        return points
