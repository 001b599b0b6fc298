"""My game: the sides take one, two or three stones in turn. The side that takes the last stone wins.

This text is shown to players and to language models: it is all that they know of the rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leaguekit.games.base import SIDES, Game, Moves, Outcome, Question, Side, other


class Position(NamedTuple):
    """The stones that are left, and the side that moves next. A position is never changed."""

    stones: int
    turn: Side


class MyGame(Game[Position]):
    """The interface is explained in leaguekit's docs/games.md."""

    name = "my_game"

    def __init__(self, stones: int = 15) -> None:
        if type(stones) is not int or not 1 <= stones <= 1_000:
            raise ValueError(f"stones must be a number from 1 to 1000, got {stones!r}")
        self.stones = stones
        self.max_turns = stones

    def start(self) -> Position:
        return Position(self.stones, "A")

    def to_move(self, position: Position) -> tuple[Side, ...]:
        return (position.turn,) if position.stones else ()

    def question(self, position: Position, side: Side) -> Question:
        return Question("take", [*range(1, min(3, position.stones) + 1)], self.view(position, side))

    def play(self, position: Position, moves: Moves) -> Position:
        return Position(position.stones - moves[position.turn], other(position.turn))

    def outcome(self, position: Position) -> Outcome | None:
        if position.stones:
            return None
        winner = other(position.turn)
        return Outcome(winner, f"{{{winner}}} took the last stone")

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:  # noqa: ARG002 - nothing is hidden
        return {"stones": position.stones, "turn": position.turn}

    def picture(self, view: dict[str, Any]) -> dict[str, Any]:
        stones = view.get("stones")
        if type(stones) is not int or view.get("turn") not in SIDES:
            raise ValueError("this view has no stones")
        caption = f"{{{view['turn']}}} moves" if stones else ""
        return {"kind": "text", "text": "o" * stones or "no stones", "caption": caption}

    def position(self, view: dict[str, Any]) -> Position:
        """With this method the strategy ``search`` can play the game. It is possible because nothing is hidden."""
        if type(view.get("stones")) is not int or view.get("turn") not in SIDES:
            raise ValueError("this view has no stones")
        return Position(view["stones"], view["turn"])
