"""The game of the documents as the kit plays it, and the messages in which players are asked and choose.

The documents have messages of their own for this game. All other games use the generic messages.
"""

from __future__ import annotations

from typing import Any

from leaguekit.games import game
from leaguekit.games.base import DEFAULT_GAME, SIDES, Game, Side, settled
from leaguekit.protocol import messages as m

GAME = game(DEFAULT_GAME)
ChoiceCall, ChoiceAnswer = m.ChooseParityCall, m.ChooseParityResponse
CHOICE, MOVE = "parity_choice", "move_data"
# The two choices of the game.
ONE: str
OTHER: str
ONE, OTHER = GAME.question(GAME.start(GAME.draw(b"")), "A").valid_options
# A wrong case, an abbreviation, another word, wrong types, and no choice.
WRONG_CHOICES: tuple[Any, ...] = (ONE.upper(), ONE[0], "maybe", 0, False, None, "")


def answer_kind(played: Game[Any]) -> type[m.Message]:
    """Return the type of the message in which a player of a game chooses."""
    return ChoiceAnswer if played.asks_for_parity else m.GameMoveResponse


def choice_field(played: Game[Any]) -> str:
    """Return the field of that message that has the choice."""
    return CHOICE if played.asks_for_parity else MOVE


def chosen(answer: dict[str, Any]) -> Any:
    """Return the choice in an answer to any game's call, or None."""
    return answer.get(CHOICE, answer.get(MOVE))


def can_be_drawn(number: Any) -> bool:
    """Return whether the game can be played with a number."""
    try:
        GAME.start(number)
    except (TypeError, ValueError):
        return False
    return type(number) is int


def winning_side(number: int, choices: dict[Side, str]) -> Side | None:
    """Return the side that wins with a number and the choices of both players; None for a draw."""
    outcome = settled(GAME, number, {**choices})
    return None if outcome is None else outcome.winner


def choices_for(number: int, winner: Side | None) -> dict[Side, str]:
    """Return choices by which a side wins with this number, or by which both are right if there is no winner."""
    right = right_choice(number)
    wrong = OTHER if right == ONE else ONE
    return {side: right if winner in (None, side) else wrong for side in SIDES}


def right_choice(number: int) -> str:
    """Return the choice that wins alone with this number."""
    return ONE if winning_side(number, {"A": ONE, "B": OTHER}) == "A" else OTHER
