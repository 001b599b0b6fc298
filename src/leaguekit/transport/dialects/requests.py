"""Requests to agents in the field, with all that any of them insists on; and theirs to us, whatever their form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

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
from leaguekit.transport.dialects.forms import FORMS, Form, Json, recognise_form
from leaguekit.transport.dialects.repairs import broken_rule

# The form of the manager's name that everybody takes.
MANAGER_BY_NAME = f"{MANAGER}:LM01"
# What somebody looks for in an object of its own.
_NESTED = {
    "GAME_INVITATION": "game_invitation",
    "CHOOSE_PARITY_CALL": "parity_context",
    "GAME_MOVE_CALL": "parity_context",
}
# The version that one declares which keeps a registration only if it is told that it is REGISTERED.
_WANTS_REGISTERED = "league.v2"
_encode = msgspec.json.Encoder().encode


# Who says by which method a message is sent.
_METHOD_RULES = {
    "REFEREE_REGISTER_REQUEST": "001-L0097",
    "LEAGUE_REGISTER_REQUEST": "001-L0241",
    "GAME_INVITATION": "001-L0904",
    "CHOOSE_PARITY_CALL": "001-L1045",
    "GAME_OVER": "001-L1203",
    "LEAGUE_QUERY": "001-L1677",
}


def method_rule(kind: type[Message], came: str) -> BrokenRule:
    """That a message is sent by another method than its own, or not understood by that."""
    name = message_type(kind)
    return broken_rule(_METHOD_RULES.get(name, "decision 1"), came, f"{BY_NAME[name].name}, with flat params")


class EncodedRequest(NamedTuple):
    """A request in a form, ready to be sent under an id."""

    form: str
    method: str
    params: bytes

    def body(self, call_id: int) -> bytes:
        return request(self.method, self.params, call_id)


def add_expected_fields(message: Message | Json, player_id: str) -> Json:
    """A message to a player with every field that anybody wants."""
    value: Json = msgspec.to_builtins(message) if isinstance(message, Message) else dict(message)
    value.setdefault("player_id", player_id)
    if value["sender"] == MANAGER:
        value["sender"] = MANAGER_BY_NAME
    if nested := _NESTED.get(value["message_type"]):
        value[nested] = dict(value)
    return value


def encode_in_forms(message: Message | Json, player_id: str, first: str | None) -> Iterator[EncodedRequest]:
    """A message in every form, each once: the first form, and then the others in their order.

    Each is written when its turn comes: mostly the first is understood.
    """
    value, made_before = add_expected_fields(message, player_id), set()
    for form in dict.fromkeys([_known(first), *FORMS.values()]):
        method, params = form.write(value)
        made = EncodedRequest(form.name, method, _encode(params))
        if made[1:] not in made_before:
            made_before.add(made[1:])
            yield made


def broadcast(params: bytes, player_id: str, form: str | None, call_id: int) -> bytes:
    """A message that is encoded already, in the form that its receiver understands."""
    method, dressed_up = _known(form).write(add_expected_fields(msgspec.json.decode(params), player_id))
    return request(method, _encode(dressed_up), call_id)


def _known(form: str | None) -> Form:
    """A form by its name; the standard one if nothing is known, or nothing of that."""
    return FORMS.get(form or "", FORMS["RPC"])


class Incoming(NamedTuple):
    """A request that came, and what it is about: the kind of message is None where nothing says."""

    # None for a message with no JSON-RPC around it.
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


def read_request(body: bytes) -> Incoming | None:
    """A request in any form; None for what is no single request with an object in it."""
    try:
        check_text(body)
        outer = msgspec.json.decode(body, type=_Request)
        if isinstance(outer.method, str) and isinstance(outer.params, dict):
            return _called(outer.method, outer.params, bytes(outer.id) or None)
        bare = msgspec.json.decode(body, type=Json)
    except (ProtocolError, msgspec.DecodeError, RecursionError):
        return None
    if outer.method is not None or (kind := _kind(bare, "")) is None:
        return None
    broken = broken_rule("001-L0030", "a message with no JSON-RPC around it", "a JSON-RPC request")
    return Incoming(None, NULL, BY_NAME[message_type(kind)].name, kind, bare, [broken])


def _called(method: str, params: Json, call_id: bytes | None) -> Incoming:
    form, message = recognise_form(method, params)
    named = str(params.get("name")) if form.name == "TOOLS" else method
    kind = _kind(message, named)
    broken = []
    if kind is not None and method not in BY_NAME:
        broken.append(method_rule(kind, f"method: got {shorten_json(method)}"))
    return Incoming(form, call_id, method, kind, message, broken)


def _kind(message: Json, method: str) -> type[Message] | None:
    """What kind of request this is: by its method, if that is known; else by its type, or by what it has."""
    said = message.get("message_type")
    by_type = BY_NAME.get(said) if isinstance(said, str) else None
    if (by_method := BY_NAME.get(method)) is not None:
        # A known method with another message is an error in every profile.
        return by_method.request if by_type in (None, by_method) else None
    if by_type is not None:
        return by_type.request
    return next((kind for field, kind in _BY_FIELD.items() if isinstance(message.get(field), dict)), None)


_BY_FIELD: dict[str, type[Message]] = {"player_meta": LeagueRegisterRequest, "referee_meta": RefereeRegisterRequest}


def encode_standard(incoming: Incoming, message: Message | None = None) -> bytes:
    """The same request as document 001 has it, with its message as it came or as it was repaired."""
    method = incoming.method if incoming.kind is None else BY_NAME[message_type(incoming.kind)].name
    params = _encode(incoming.message) if message is None else encode(message)
    call_id = b"" if incoming.id is None else b',"id":%b' % incoming.id
    return b'{"jsonrpc":"2.0","method":%b,"params":%b%b}' % (_encode(method), params, call_id)


class _Answer(Struct):
    id: Raw
    result: Json | None = None
    error: Json | None = None


def encode_answer(incoming: Incoming, answer: bytes) -> bytes:
    """An answer in the form of its request, from the manager by the name that everybody takes."""
    given = msgspec.json.decode(answer, type=_Answer)
    if given.result is None:
        return _encode(_named({"jsonrpc": "2.0", "error": given.error, "id": given.id}))
    message = _named(given.result)
    if _wants_registered(incoming) and message.get("status") == "ACCEPTED":
        message["status"] = "REGISTERED"
    if incoming.form is None:
        return _encode(message)
    return success(bytes(given.id), _encode(incoming.form.answer(message)))


def _wants_registered(incoming: Incoming) -> bool:
    """Whether this is the one that keeps a registration only if it is told so; known by what it takes for a version."""
    meta = incoming.message.get("player_meta")
    return isinstance(meta, dict) and meta.get("protocol_version") == _WANTS_REGISTERED


def _named(message: Json) -> Json:
    if message.get("sender") == MANAGER:
        return message | {"sender": MANAGER_BY_NAME}
    error = message.get("error")
    if isinstance(error, dict) and isinstance(error.get("data"), dict):
        return message | {"error": error | {"data": _named(error["data"])}}
    return message
