"""The envelope of every message, and conditions between fields.

Requests need the whole envelope. Answers may leave out ``sender`` and ``conversation_id``, as in document 001; our
answers have them. ``message_type`` is the tag by which msgspec distinguishes the Structs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypedDict

from msgspec import UNSET, Struct, UnsetType

from leaguekit.protocol import times
from leaguekit.protocol.fields import ERROR_CODE, ConversationId, Sender, Timestamp, Token, doc
from leaguekit.protocol.ids import PROTOCOL


class Envelope(TypedDict):
    """The envelope's fields, to be spread into a message: ``GameOver(**envelope(...), ...)``."""

    protocol: Literal["league.v2"]
    sender: str
    timestamp: str
    conversation_id: str


def envelope(sender: str, now: datetime, conversation_id: str) -> Envelope:
    return {
        "protocol": PROTOCOL,
        "sender": sender,
        "timestamp": times.format_timestamp(now),
        "conversation_id": conversation_id,
    }


Who = doc("Who sends this: league_manager, referee:REF01, player:P01", "000-L1372")
Conversation = doc("The conversation that this belongs to", "000-L1374")
AuthToken = Annotated[Token | UnsetType, doc("Proof of who sends this, after registration", "000-L1377")]


class Message(Struct, kw_only=True, tag_field="message_type"):
    """What requests and answers have in common."""

    protocol: Annotated[
        Literal["league.v2"], doc("The protocol, always league.v2", "000-L1370", **{ERROR_CODE: "E018"})
    ]
    timestamp: Annotated[Timestamp, doc("When this was sent, ISO 8601 in UTC", "000-L1373")]


class Request(Message, kw_only=True):
    """A message that is sent as a request."""

    sender: Annotated[Sender, Who]
    conversation_id: Annotated[ConversationId, Conversation]
    auth_token: AuthToken = UNSET


class Answer(Message, kw_only=True):
    """A message that is sent as the result of a request."""

    sender: Annotated[Sender | UnsetType, Who] = UNSET
    conversation_id: Annotated[ConversationId | UnsetType, Conversation] = UNSET


class AgentAnswer(Answer, kw_only=True):
    """An answer by a player or a referee, who can prove their identity."""

    auth_token: AuthToken = UNSET


_NOTHING = (UNSET, None)


class Needs(NamedTuple):
    """A condition between fields: where ``field`` has ``value`` (or always), one of ``any_of`` must be there.

    One definition serves the decoder (through ``Conditional``) and the published schema.
    """

    any_of: tuple[str, ...]
    field: str | None = None
    value: Any = None

    def schema(self) -> dict[str, Any]:
        there = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in self.any_of]
        then = there[0] if len(there) == 1 else {"anyOf": there}
        if self.field is None:
            return then
        return {"if": {"required": [self.field], "properties": {self.field: {"const": self.value}}}, "then": then}


class Conditional(Struct):
    """A Struct whose fields depend on each other; it can be neither read nor built against its conditions."""

    conditions: ClassVar[tuple[Needs, ...]]

    def __post_init__(self) -> None:
        # A player decodes five of these per round, so this is one function without generators.
        for any_of, field, value in self.conditions:
            if field is not None and getattr(self, field) != value:
                continue
            for name in any_of:
                if getattr(self, name) not in _NOTHING:
                    break
            else:
                where = "" if field is None else f" when {field} is {value!r}"
                raise ValueError(f"one of {', '.join(any_of)} is needed{where}")
