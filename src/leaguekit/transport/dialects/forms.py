"""The forms of a request: how each is written, recognised and answered.

The answer of a form has the message where agents of that form look for it, and also its fields at the top level.
Additional fields do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from leaguekit.match.move_messages import CALL_TYPES
from leaguekit.protocol.decoding import check_depth
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_NAME, OTHER_NAME_FORM

Json = dict[str, Any]
# The maximum number of parts of a tool's result that are read. Agents put the message into one of the first.
MAX_PARTS = 8
# Longer texts are searched for extreme numbers, because a message is decoded up to five times to repair it.
UNSCANNED_BYTES = 1_024

ENVELOPE_FIELDS = (
    "protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id", "round_id",
    "match_id", "game_type",
)  # fmt: skip


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
    """The message that is wrapped in an object in any known way, or None."""
    return next((inner for _, inner in unwrapped_messages(value)), None)


def unwrapped_messages(value: Json) -> Iterator[tuple[str, Json]]:
    """The messages that may be wrapped in an object, each with its location."""
    if isinstance(value.get("structuredContent"), dict):
        yield "structuredContent", value["structuredContent"]
    content = value.get("content")
    for number, part in enumerate(content[:MAX_PARTS] if isinstance(content, list) else ()):
        if (inner := _decode_text_part(part)) is not None:
            yield f"content[{number}].text", inner
    if isinstance(value.get("envelope"), dict):
        payload = value.get("payload")
        yield "envelope and payload", (payload if isinstance(payload, dict) else {}) | value["envelope"]
    if isinstance(value.get("message"), dict):
        yield "message", value["message"]


def stated_type(message: Json) -> Any:
    """The type that a message states. Some agents write it into the field ``type``."""
    return message["message_type"] if "message_type" in message else message.get("type")


def _decode_text_part(part: Any) -> Json | None:
    """The object in a part of a tool's result that is JSON text, or None."""
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str):
        return None
    try:
        check_depth(text.encode())
        value = msgspec.json.decode(text)
    except (ProtocolError, msgspec.DecodeError):
        return None
    return value if isinstance(value, dict) else None


def _method_name(message: Json) -> str:
    return BY_NAME[message["message_type"]].name


def _other_method(message: Json) -> str:
    """The other name of a method, if it has one."""
    method = BY_NAME[message["message_type"]]
    return (*method.other_names, method.name)[0]


def _tool_name(message: Json) -> str:
    name: str = message["message_type"]
    return _other_method(message) if name in CALL_TYPES else f"receive_{name.lower()}"


def _split_envelope(message: Json) -> Json:
    envelope = {name: message[name] for name in ENVELOPE_FIELDS if name in message}
    payload = {name: value for name, value in message.items() if name not in ENVELOPE_FIELDS[:6]}
    return {"envelope": envelope, "payload": payload}


def _tool_result(message: Json) -> Json:
    text = msgspec.json.encode(message).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": message, "isError": False}


def _params_as_message(_method_name: str, params: Json) -> Json:
    return params


# In the order in which they are tried.
FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("RPC", lambda message: (_method_name(message), message), _params_as_message, lambda message: message),
        Form(
            OTHER_NAME_FORM,
            lambda message: (_other_method(message), message),
            lambda *_: None,
            lambda given: given,
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
            lambda message: ("tools/call", {"name": _tool_name(message), "arguments": message}),
            lambda method, params: (
                params["arguments"] if method == "tools/call" and isinstance(params.get("arguments"), dict) else None
            ),
            _tool_result,
        ),
        Form(
            "ENVELOPE",
            lambda message: ("league.handle", _split_envelope(message)),
            lambda _, params: unwrap_message(params) if "envelope" in params else None,
            lambda message: message | _split_envelope(message),
        ),
    )
}
# The standard form is the last: it reads every request.
_READ_ORDER = ("TOOLS", "ENVELOPE", "MESSAGE", "TYPE", "RPC")


def recognise_form(method: str, params: Json) -> tuple[Form, Json]:
    """The form of a request, and the message in it."""
    found = ((FORMS[name], FORMS[name].read(method, params)) for name in _READ_ORDER)
    return next((form, message) for form, message in found if message is not None)
