"""The messages by which a referee asks for a move and a player answers.

The documents have two messages, which are only for their own game, even/odd. Every other game uses two general ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET

from leaguekit.games.base import Game, Moves, Question, has_chance
from leaguekit.games.even_odd import PARITIES, EvenOdd, number_parity
from leaguekit.protocol import messages as m

MoveCall: TypeAlias = m.ChooseParityCall | m.GameMoveCall
MoveResponse: TypeAlias = m.ChooseParityResponse | m.GameMoveResponse


class MoveMessages(NamedTuple):
    """A call for a move, and its response."""

    call: type[MoveCall]
    response: type[MoveResponse]
    # The field of the response that contains the move, and the error of a move that is not legal.
    field: str
    error_code: str


DOCUMENTED = MoveMessages(m.ChooseParityCall, m.ChooseParityResponse, "parity_choice", "E004")
GENERAL = MoveMessages(m.GameMoveCall, m.GameMoveResponse, "move_data", "E057")
MOVE_MESSAGES = (DOCUMENTED, GENERAL)
BY_CALL: dict[type[m.Message], MoveMessages] = {messages.call: messages for messages in MOVE_MESSAGES}
BY_RESPONSE: dict[type[m.Message], MoveMessages] = {messages.response: messages for messages in MOVE_MESSAGES}
CALL_TYPES = tuple(map(m.message_type, BY_CALL))

# The documented call does not contain its question.
DOCUMENTED_QUESTION = m.MoveRequest(move_type="choose_parity", valid_options=[*PARITIES], context={})


def messages_of(game: Game[Any]) -> MoveMessages:
    """The messages of a game."""
    return DOCUMENTED if isinstance(game, EvenOdd) else GENERAL


def make_call(game: Game[Any], question: Question, fields: dict[str, Any]) -> MoveCall:
    """A call with these fields that asks a player the question."""
    if isinstance(game, EvenOdd):
        return m.ChooseParityCall(**fields)
    move_type, options, view, total, syntax = question
    request = m.MoveRequest(move_type=move_type, valid_options=options, context=view)
    if total is not None:
        request.total_options, request.syntax = total, syntax
    return m.GameMoveCall(**{**fields, "move_request": request, "game_args": dict(game.args) or UNSET})


def question_of(call: MoveCall) -> m.MoveRequest:
    """The question that a call asks."""
    return call.move_request if isinstance(call, m.GameMoveCall) else DOCUMENTED_QUESTION


def make_response(call: MoveCall, move: Any, fields: dict[str, Any]) -> MoveResponse:
    """The response to a call with this move and these other fields."""
    messages = BY_CALL[type(call)]
    return messages.response(**fields, **{messages.field: move})


def move_of(response: MoveResponse) -> Any:
    """The move that a response contains."""
    return getattr(response, BY_RESPONSE[type(response)].field)


def drawn_number(game: Game[Any], record: Sequence[Moves]) -> int | None:
    """The number drawn in a match of the documents' game; None in any other game."""
    return record[0]["chance"] if record and isinstance(game, EvenOdd) else None


def promise(game: Game[Any], seed: bytes) -> int | str | None:
    """What the referee of a match commits itself to; None in a game without chance.

    In the documents' game it is the number. In other games it is the seed in hex, from which all of chance follows.
    """
    if isinstance(game, EvenOdd):
        return game.roll(game.start(), seed, 0)
    return seed.hex() if has_chance(game) else None


def stated_info(answer: dict[str, Any]) -> m.MoveInfo:
    """What an answer as it came states about the origin of its move. Empty if it states nothing that is valid."""
    try:
        return msgspec.convert(answer.get("move_info", {}), m.MoveInfo)
    except msgspec.ValidationError:
        return m.MoveInfo()


def number_fields(number: int | None) -> dict[str, Any]:
    """The fields of GAME_OVER that reveal the drawn number. The documents want its parity in every game."""
    return {"drawn_number": number, "number_parity": None if number is None else number_parity(number)}
