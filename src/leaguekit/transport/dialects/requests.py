"""Requests to agents in any form, with all fields that any agent requires; and requests from agents in any form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from leaguekit.match.move_messages import CALL_TYPES, DOCUMENTED
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import check_text, encode, shorten_json
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER
from leaguekit.protocol.messages import (
    BrokenRule,
    LeagueRegisterRequest,
    Message,
    RefereeRegisterRequest,
    message_type,
)
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.rpc import NULL, request, success
from leaguekit.transport.dialects.forms import FORMS, UNSCANNED_BYTES, Form, Json, recognise_form, stated_type
from leaguekit.transport.dialects.repairs import broken_rule

# The sender name of the manager that all agents accept.
MANAGER_BY_NAME = f"{MANAGER}:LM01"
# Messages that some agent expects in an additional nested object, with the name of that object.
NESTED = {"GAME_INVITATION": "game_invitation", **dict.fromkeys(CALL_TYPES, "parity_context")}
# One agent keeps its registration only if the status is REGISTERED. It states this as its protocol_version.
_WANTS_REGISTERED = "league.v2"
_encode = msgspec.json.Encoder().encode


# The requirements that define the methods of messages.
_METHOD_RULES = {
    "REFEREE_REGISTER_REQUEST": "001-L0097",
    "LEAGUE_REGISTER_REQUEST": "001-L0241",
    "GAME_INVITATION": "001-L0904",
    message_type(DOCUMENTED.call): "001-L1045",
    "GAME_OVER": "001-L1203",
    "LEAGUE_QUERY": "001-L1677",
}


def method_rule(kind: type[Message], found: str) -> BrokenRule:
    """The rule that is broken if an agent sends a message by a wrong method, or does not know the right method."""
    name = message_type(kind)
    return broken_rule(_METHOD_RULES.get(name, "decision 1"), found, f"{BY_NAME[name].name}, with flat params")


class EncodedRequest(NamedTuple):
    """A request in a form. It lacks only the id."""

    form: str
    method: str
    params: bytes

    def body(self, call_id: int) -> bytes:
        return request(self.method, self.params, call_id)


def add_expected_fields(message: Message | Json, player_id: str) -> Json:
    """A message to a player with every field that any agent requires."""
    value: Json = msgspec.to_builtins(message) if isinstance(message, Message) else dict(message)
    value.setdefault("player_id", player_id)
    if value["sender"] == MANAGER:
        value["sender"] = MANAGER_BY_NAME
    if nested := NESTED.get(value["message_type"]):
        # The agent that reads a call there expects the fields of its context beside the others.
        context = value.get("context")
        value[nested] = (context if isinstance(context, dict) else {}) | value
    return value


def encode_in_forms(message: Message | Json, player_id: str, first: str | None) -> Iterator[EncodedRequest]:
    """Yield a message in the form ``first``, and then in all other forms, without duplicates.

    Each is encoded when it is needed, because usually the first one is understood.
    """
    value, encoded_before = add_expected_fields(message, player_id), set()
    for form in dict.fromkeys([_form_named(first), *FORMS.values()]):
        method, params = form.write(value)
        encoded = EncodedRequest(form.name, method, _encode(params))
        if encoded[1:] not in encoded_before:
            encoded_before.add(encoded[1:])
            yield encoded


def broadcast(params: bytes, player_id: str, form: str | None, call_id: int) -> bytes:
    """Encode a message, which is JSON already, in the form that its receiver understands."""
    method, fields = _form_named(form).write(add_expected_fields(msgspec.json.decode(params), player_id))
    return request(method, _encode(fields), call_id)


def _form_named(form: str | None) -> Form:
    """A form by its name, or the standard form if there is none of that name."""
    return FORMS.get(form or "", FORMS["RPC"])


class Incoming(NamedTuple):
    """A request from an agent. ``kind`` is None if the kind of its message is not known."""

    # None for a message without JSON-RPC around it.
    form: Form | None
    id: bytes | None
    method: str
    kind: type[Message] | None
    message: Json
    broken: list[BrokenRule]


class _Request(Struct):
    method: Any = None
    params: Any = None
    id: Raw = Raw(b"")


def read_request(body: bytes, path: str = "") -> Incoming | None:
    """Read a request in any form. None if it is not a single request with an object.

    ``path`` is the path of its URL if that is not /mcp. For an object without JSON-RPC it says what is meant.
    """
    try:
        check_text(body, UNSCANNED_BYTES)
        outer = msgspec.json.decode(body, type=_Request)
        if isinstance(outer.method, str) and isinstance(outer.params, dict):
            return _read_call(outer.method, outer.params, bytes(outer.id) or None)
        bare = msgspec.json.decode(body, type=Json)
    except (ProtocolError, *DECODE_ERRORS):
        return None
    if outer.method is not None or (kind := _message_kind(bare, path)) is None:
        return None
    broken = broken_rule("001-L0030", "a message with no JSON-RPC around it", "a JSON-RPC request")
    return Incoming(None, NULL, BY_NAME[message_type(kind)].name, kind, bare, [broken])


def _read_call(method: str, params: Json, call_id: bytes | None) -> Incoming:
    form, message = recognise_form(method, params)
    named = str(params.get("name")) if form.name == "TOOLS" else method
    kind = _message_kind(message, named)
    broken = []
    if kind is not None and method not in BY_NAME:
        broken.append(method_rule(kind, f"method: got {shorten_json(method)}"))
    return Incoming(form, call_id, method, kind, message, broken)


def _message_kind(message: Json, method: str) -> type[Message] | None:
    """The kind of a request: by its method, if that is known, or by its message_type or its fields."""
    stated = stated_type(message)
    by_type = BY_NAME.get(stated) if isinstance(stated, str) else None
    # The names of tools in the field: receive_game_invitation.
    method = method.removeprefix("receive_").upper() if method.startswith("receive_") else method
    if (by_method := BY_NAME.get(method)) is not None:
        # A known method with another message is an error in every profile.
        return by_method.request if by_type in (None, by_method) else None
    if by_type is not None:
        return by_type.request
    by_field = (kind for field, kind in _BY_FIELD.items() if isinstance(message.get(field), dict))
    return next(by_field, None) or _registration_kind(f"{method} {stated}".lower())


def _registration_kind(words: str) -> type[Message] | None:
    """The kind of a registration by the words of its method, type or path, such as REGISTER_PLAYER_REQUEST."""
    if "regist" not in words or any(word in words for word in ("response", "ack", "unregist", "deregist")):
        return None
    return RefereeRegisterRequest if "referee" in words else LeagueRegisterRequest


_BY_FIELD: dict[str, type[Message]] = {"player_meta": LeagueRegisterRequest, "referee_meta": RefereeRegisterRequest}


def encode_standard(incoming: Incoming, message: Message | None = None) -> bytes:
    """Encode the request in the standard form of document 001, with its own message or a repaired one."""
    method = incoming.method if incoming.kind is None else BY_NAME[message_type(incoming.kind)].name
    params = _encode(incoming.message) if message is None else encode(message)
    call_id = b"" if incoming.id is None else b',"id":%b' % incoming.id
    return b'{"jsonrpc":"2.0","method":%b,"params":%b%b}' % (_encode(method), params, call_id)


class _Answer(Struct):
    id: Raw
    result: Json | None = None
    error: Json | None = None


def encode_answer(incoming: Incoming, answer: bytes) -> bytes:
    """Encode an answer in the form of its request, with the sender name of the manager that all agents accept."""
    decoded = msgspec.json.decode(answer, type=_Answer)
    if decoded.result is None:
        return _encode(_with_manager_name({"jsonrpc": "2.0", "error": decoded.error, "id": decoded.id}))
    message = _with_manager_name(decoded.result)
    if _wants_registered(incoming) and message.get("status") == "ACCEPTED":
        message["status"] = "REGISTERED"
    if incoming.form is None:
        return _encode(message)
    return success(bytes(decoded.id), _encode(incoming.form.answer(message)))


def _wants_registered(incoming: Incoming) -> bool:
    """Whether the agent needs the status REGISTERED. It is recognised by its protocol_version."""
    meta = incoming.message.get("player_meta")
    return isinstance(meta, dict) and meta.get("protocol_version") == _WANTS_REGISTERED


def _with_manager_name(message: Json) -> Json:
    if message.get("sender") == MANAGER:
        return message | {"sender": MANAGER_BY_NAME}
    error = message.get("error")
    if isinstance(error, dict) and isinstance(error.get("data"), dict):
        return message | {"error": error | {"data": _with_manager_name(error["data"])}}
    return message
