"""The forms that a request takes: how each is written, how it is recognised, and how it is answered.

A form's answer has the message where that form looks for it, and flat as well: more fields harm nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from leaguekit.protocol.decoding import check_depth
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_NAME

Json = dict[str, Any]
# Of a tool's result, how many parts are looked at: an agent that has something to say says it in the first.
MAX_PARTS = 8

ENVELOPE_FIELDS = (
    "protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id", "round_id",
    "match_id", "game_type",
)  # fmt: skip
_TOOLS = {
    "GAME_INVITATION": "receive_game_invitation",
    "CHOOSE_PARITY_CALL": "choose_parity",
    "GAME_MOVE_CALL": "choose_move",
    "GAME_OVER": "receive_game_over",
}


class Form(NamedTuple):
    """One form of request."""

    name: str
    # The method and the params for a message.
    write: Callable[[Json], tuple[str, Json]]
    # The message in a request's method and params; None if they are not of this form.
    read: Callable[[str, Json], Json | None]
    # A message as the result of such a request.
    answer: Callable[[Json], Json]


def unwrap_message(value: Json) -> Json | None:
    """The message that is wrapped in another object, in any of the ways that are known."""
    return next((inner for _, inner in unwrapped_messages(value)), None)


def unwrapped_messages(value: Json) -> Iterator[tuple[str, Json]]:
    """The messages that an object may be wrapped around, each with where it is."""
    if isinstance(value.get("structuredContent"), dict):
        yield "structuredContent", value["structuredContent"]
    content = value.get("content")
    for number, part in enumerate(content[:MAX_PARTS] if isinstance(content, list) else ()):
        if (inner := _text(part)) is not None:
            yield f"content[{number}].text", inner
    if isinstance(value.get("envelope"), dict):
        payload = value.get("payload")
        yield "envelope and payload", (payload if isinstance(payload, dict) else {}) | value["envelope"]
    if isinstance(value.get("message"), dict):
        yield "message", value["message"]


def _text(part: Any) -> Json | None:
    """The object that a piece of content has as JSON text."""
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str):
        return None
    try:
        check_depth(text.encode())
        value = msgspec.json.decode(text)
    except (ProtocolError, msgspec.DecodeError):
        return None
    return value if isinstance(value, dict) else None


def _method(message: Json) -> str:
    return BY_NAME[message["message_type"]].name


def _other_method(message: Json) -> str:
    """A method's other name, where agents know one: ``choose_parity`` for ``parity_choose``."""
    method = BY_NAME[message["message_type"]]
    return (*method.other_names, method.name)[0]


def _tool(message: Json) -> str:
    name: str = message["message_type"]
    return _TOOLS.get(name, f"receive_{name.lower()}")


def _enveloped(message: Json) -> Json:
    envelope = {name: message[name] for name in ENVELOPE_FIELDS if name in message}
    payload = {name: value for name, value in message.items() if name not in ENVELOPE_FIELDS[:6]}
    return {"envelope": envelope, "payload": payload}


def _tool_result(message: Json) -> Json:
    text = msgspec.json.encode(message).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": message, "isError": False}


def _flat(_method: str, params: Json) -> Json:
    return params


# In the order in which they are tried.
FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("RPC", lambda message: (_method(message), message), _flat, lambda message: message),
        Form(
            "RPC_CHOOSE_PARITY", lambda message: (_other_method(message), message), lambda *_: None, lambda given: given
        ),
        Form(
            "TYPE",
            lambda message: (message["message_type"], message),
            lambda method, params: params if method.isupper() else None,
            lambda message: message,
        ),
        Form(
            "MESSAGE",
            lambda message: ("handle_message", {"message": message}),
            lambda _, params: params["message"] if isinstance(params.get("message"), dict) else None,
            lambda message: message | {"message": message},
        ),
        Form(
            "TOOLS",
            lambda message: ("tools/call", {"name": _tool(message), "arguments": message}),
            lambda method, params: (
                params["arguments"] if method == "tools/call" and isinstance(params.get("arguments"), dict) else None
            ),
            _tool_result,
        ),
        Form(
            "ENVELOPE",
            lambda message: ("league.handle", _enveloped(message)),
            lambda _, params: unwrap_message(params) if "envelope" in params else None,
            lambda message: message | _enveloped(message),
        ),
    )
}
# The standard form is what is left when it is none of the others.
_RECOGNISED = ("TOOLS", "ENVELOPE", "MESSAGE", "TYPE", "RPC")


def recognise_form(method: str, params: Json) -> tuple[Form, Json]:
    """The form of a request, and the message in it."""
    found = ((FORMS[name], FORMS[name].read(method, params)) for name in _RECOGNISED)
    return next((form, message) for form, message in found if message is not None)
