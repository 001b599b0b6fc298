"""Answers to our own calls, as messages: read at one go where all is well, and with care where it is not."""

from __future__ import annotations

from typing import TypeVar, Union

import msgspec

from leaguekit.protocol.decoding import CHECKERS, check_text, decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import EVERY_MESSAGE, Message
from leaguekit.protocol.rpc import read_answer

AnswerT = TypeVar("AnswerT", bound=Message)


class _Plain(msgspec.Struct):
    """An answer that is right in every way."""

    result: Union[EVERY_MESSAGE]  # type: ignore[valid-type]  # noqa: UP007 - a tuple of them
    id: int
    error: None = None


_plain = msgspec.json.Decoder(_Plain)


def answer_of(kind: type[AnswerT], body: bytes, call_id: int) -> AnswerT:
    """The message that answers our call.

    Raises RpcRefusal if the peer refused the call, and ProtocolError if this is no such answer to it.
    """
    message = _read_plain(body, call_id)
    if isinstance(message, kind):
        return message
    return of_type(kind, message or decode(read_answer(body, call_id)))


def _read_plain(body: bytes, call_id: int) -> Message | None:
    """The message in an answer that is right; None if only a closer look can tell what is wrong, if anything."""
    try:
        check_text(body)
        answer = _plain.decode(body)
    except (ProtocolError, msgspec.DecodeError):
        return None
    message: Message = answer.result
    return message if answer.id == call_id and CHECKERS[type(message)](message) else None
