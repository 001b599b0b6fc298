"""Decodes the answers to our own calls. A valid answer is decoded in one step, any other in several."""

from __future__ import annotations

from typing import TypeVar, Union

import msgspec

from leaguekit.protocol.decoding import check_text, decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import EVERY_MESSAGE, Message
from leaguekit.protocol.patterns import checker
from leaguekit.protocol.rpc import read_answer

AnswerT = TypeVar("AnswerT", bound=Message)


class _ValidResponse(msgspec.Struct):
    """A response that is valid in every respect."""

    result: Union[EVERY_MESSAGE]  # type: ignore[valid-type]  # noqa: UP007 - a tuple of them
    id: int
    error: None = None


_valid_response = msgspec.json.Decoder(_ValidResponse)


def answer_of(kind: type[AnswerT], body: bytes, call_id: int) -> AnswerT:
    """The message that answers our call.

    Raises RpcRefusal if the peer rejected the call, and ProtocolError if the body is not a valid answer to it.
    """
    message = _read_valid(body, call_id)
    if isinstance(message, kind):
        return message
    return of_type(kind, message or decode(read_answer(body, call_id)))


def _read_valid(body: bytes, call_id: int) -> Message | None:
    """The message in a valid response; None if the response needs a closer look."""
    try:
        check_text(body)
        answer = _valid_response.decode(body)
    except (ProtocolError, msgspec.DecodeError):
        return None
    message: Message = answer.result
    return message if answer.id == call_id and checker(type(message))(message) else None
