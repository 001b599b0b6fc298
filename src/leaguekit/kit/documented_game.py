"""The game of the documents as the kit plays it, and the messages in which players are asked and choose.

The documents have messages of their own for this game. All other games use the generic messages.
"""

from __future__ import annotations

from typing import Any

from leaguekit.games import game
from leaguekit.games.base import DEFAULT_GAME, SIDES, Side, is_same
from leaguekit.games.records import record_from_choices, replay
from leaguekit.match.move_messages import DOCUMENTED, MOVE_MESSAGES

GAME = game(DEFAULT_GAME)
ChoiceCall, ChoiceAnswer, CHOICE = DOCUMENTED.call, DOCUMENTED.response, DOCUMENTED.field
# The two choices of the game.
ONE, OTHER = GAME.constant_moves
# A wrong case, an abbreviation, another word, wrong types, and no choice.
WRONG_CHOICES: tuple[Any, ...] = (ONE.upper(), ONE[0], "maybe", 0, False, None, "")


def chosen(answer: dict[str, Any]) -> Any:
    """Return the choice in an answer to any game's call, or None."""
    return next((answer[one.field] for one in MOVE_MESSAGES if one.field in answer), None)


def can_be_drawn(number: Any) -> bool:
    """Return whether the game can be played with a number."""
    return any(is_same(number, possible) for possible, _ in GAME.odds(GAME.start()) or ())


def draw_number(seed: str) -> int:
    """Return the number that is drawn in a match with this seed, in hex. Raises ValueError for another text."""
    return int(GAME.roll(GAME.start(), bytes.fromhex(seed), 0))


def winning_side(number: int, choices: dict[Side, str]) -> Side | None:
    """Return the side that wins with a number and the choices of both players; None for a draw."""
    return replay(GAME, record_from_choices(GAME, number, {**choices})).winner


def choices_for(number: int, winner: Side | None) -> dict[Side, str]:
    """Return choices by which a side wins with this number, or by which both are right if there is no winner."""
    right = right_choice(number)
    wrong = OTHER if right == ONE else ONE
    return {side: right if winner in (None, side) else wrong for side in SIDES}


def right_choice(number: int) -> str:
    """Return the choice that wins alone with this number."""
    return ONE if winning_side(number, {"A": ONE, "B": OTHER}) == "A" else OTHER
