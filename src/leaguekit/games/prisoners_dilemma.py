"""The prisoner's dilemma, repeated: in every turn both sides cooperate (C) or defect (D) at once.

If both cooperate, each gets 3. If both defect, each gets 1. A side that defects alone gets 5, and the other one gets 0.
The payoff of a match is the mean over its turns, and the table is ranked by it. Both sides know the number of turns.
With ``noise``, such as 0.05, chance turns each move into the other one with that probability.
"""

from __future__ import annotations

import reprlib
from typing import Any, NamedTuple

from leaguekit.games.base import CHANCE, SIDES, Game, Mover, Moves, Odds, Outcome, Question, Side, turn_error

COOPERATE, DEFECT = "C", "D"
MOVES = (COOPERATE, DEFECT)
PAYOFFS = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}
MAX_TURNS = 1_000
# How many turns a line of the picture shows, and how many lines it has for each side.
LINE_TURNS, MAX_LINES = 20, 5
# The noise is a number of thousandths.
NOISE_STEPS = 1_000


class Position(NamedTuple):
    """What A and B did in all turns, as texts; the payoffs so far; and the moves that chance may still change."""

    a: str = ""
    b: str = ""
    payoff_a: int = 0
    payoff_b: int = 0
    intended: str = ""


class PrisonersDilemma(Game[Position]):
    """Ranked by payoff."""

    name = "prisoners_dilemma"
    constant_moves = MOVES
    payoff_range = (0, 5)

    def __init__(self, turns: int = 50, noise: float = 0) -> None:
        if type(turns) is not int or not 1 <= turns <= MAX_TURNS:
            raise ValueError(f"turns must be a whole number from 1 to {MAX_TURNS:,}, got {turns!r}")
        thousandths = noise * NOISE_STEPS if type(noise) in (int, float) else -1
        if not (0 <= thousandths <= NOISE_STEPS / 2 and thousandths == round(thousandths)):
            raise ValueError(f"noise must be a number from 0 to 0.5 with at most three decimals, got {noise!r}")
        self.max_turns = turns
        self._flips = round(thousandths)
        self.chance = self._flips > 0

    def start(self) -> Position:
        return Position()

    def to_move(self, position: Position) -> tuple[Mover, ...]:
        if position.intended:
            return CHANCE
        return SIDES if len(position.a) < self.max_turns else ()

    def odds(self, position: Position) -> Odds:  # noqa: ARG002 - always the same
        # Which of the two moves are turned into the other one.
        kept = NOISE_STEPS - self._flips
        weights = {"": kept * kept, "A": self._flips * kept, "B": kept * self._flips, "AB": self._flips * self._flips}
        return [*weights.items()]

    def question(self, position: Position, side: Side) -> Question:
        return Question("cooperate_or_defect", [*MOVES], self.view(position, side))

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(self.to_move(position), side)) is not None or move in MOVES:
            return error
        return f"Move must be 'C' (cooperate) or 'D' (defect), got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:
        if "chance" not in moves:
            pair = moves["A"] + moves["B"]
            return position._replace(intended=pair) if self._flips else _played(position, pair)
        flipped = moves["chance"]
        pair = "".join(
            [_other(move) if side in flipped else move for side, move in zip(SIDES, position.intended, strict=True)]
        )
        return _played(position, pair)

    def outcome(self, position: Position) -> Outcome | None:
        if len(position.a) < self.max_turns or position.intended:
            return None
        a, b = position.payoff_a / self.max_turns, position.payoff_b / self.max_turns
        winner: Side | None = None if a == b else "A" if a > b else "B"
        return Outcome(winner, f"{{A}} got {a:g} and {{B}} got {b:g} per turn", (a, b))

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:
        a, b = position.a, position.b
        public: dict[str, Any] = {"turns": self.max_turns, "played": len(a)}
        if side is None:
            return public | {"A": a, "B": b}
        return public | {"you": a if side == "A" else b, "opponent": b if side == "A" else a}

    def picture(self, view: dict[str, Any]) -> dict[str, Any]:
        names = SIDES if "A" in view else ("you", "opponent")
        moves = [made for name in names if isinstance(made := view.get(name), str)]
        if len(moves) < len(names):
            raise ValueError(f"cannot read the turns {reprlib.repr(view)}")
        width, played = max(map(len, names)), len(moves[0])
        starts = [*range(0, played or 1, LINE_TURNS)][-MAX_LINES:]
        lines = [
            "\n".join(
                f"{name:{width}} {made[start : start + LINE_TURNS]}" for name, made in zip(names, moves, strict=True)
            )
            for start in starts
        ]
        caption = f"turn {played} of {view.get('turns')}" + (f", shown from turn {starts[0] + 1}" if starts[0] else "")
        caption = f"A is {{A}}, B is {{B}}; {caption}" if names == SIDES else caption
        return {"kind": "text", "text": "\n\n".join(lines), "caption": caption}


def _other(move: str) -> str:
    return DEFECT if move == COOPERATE else COOPERATE


def _played(position: Position, pair: str) -> Position:
    a, b = PAYOFFS[pair]
    return Position(position.a + pair[0], position.b + pair[1], position.payoff_a + a, position.payoff_b + b)
