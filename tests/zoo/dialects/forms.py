"""How a request may be put, as strangers' programs read it, and how they put their registration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
MATCH_KINDS = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER", "GAME_ERROR")
BROADCASTS = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
METHODS = {
    "handle_game_invitation": "GAME_INVITATION",
    "notify_match_result": "GAME_OVER",
    "notify_game_error": "GAME_ERROR",
    "notify_round": "ROUND_ANNOUNCEMENT",
    "update_standings": "LEAGUE_STANDINGS_UPDATE",
    "notify_round_completed": "ROUND_COMPLETED",
    "notify_league_completed": "LEAGUE_COMPLETED",
}
CHOICE_METHODS = {
    "rpc": ("parity_choose", "choose_parity"),
    "rpc-choose": ("choose_parity",),
    "rpc-parity": ("parity_choose",),
}
TOOLS = {
    "receive_game_invitation": "GAME_INVITATION",
    "choose_parity": "CHOOSE_PARITY_CALL",
    "receive_game_over": "GAME_OVER",
}


class Understood(NamedTuple):
    """A request that a program made sense of: in which form, what it is about, and the message in it."""

    form: str
    kind: str
    message: Json


def understood(call: Json, forms: frozenset[str]) -> Understood | None:
    """What a program that knows these forms makes of a request."""
    return next((read for form in sorted(forms) if (read := _read(call, form)) is not None), None)


def _read(call: Json, form: str) -> Understood | None:
    method, params = call.get("method"), call.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        return None
    kind: Any = None
    message: Any = params
    if form in CHOICE_METHODS:
        kind = "CHOOSE_PARITY_CALL" if method in CHOICE_METHODS[form] else METHODS.get(method)
    elif form == "type":
        kind = method if method in MATCH_KINDS + BROADCASTS else None
    elif form == "tools" and method == "tools/call":
        kind, message = TOOLS.get(params.get("name", "")), params.get("arguments")
    elif form == "message":
        message = params.get("message")
        kind = message.get("message_type") if isinstance(message, dict) else None
    elif form == "envelope" and method == "league.handle":
        message = opened(params)
        kind = message.get("message_type")
    return Understood(form, kind, message) if isinstance(kind, str) and isinstance(message, dict) else None


def knows(forms: frozenset[str], kind: str) -> bool:
    """Whether any of the forms has a way to say this kind of message."""
    if forms == {"tools"}:
        return kind in TOOLS.values()
    if kind == "GAME_MOVE_CALL":
        return "envelope" in forms
    return kind in MATCH_KINDS + BROADCASTS


def anywhere(call: Any) -> Json:
    """The message in a request in whatever form, for the record only: no agent in the field is that clever."""
    places = [message for message in _places(call) if "message_type" in message]
    return places[-1] if places else {}


def _places(call: Any) -> Iterator[Json]:
    if isinstance(call, dict) and isinstance(params := call.get("params"), dict):
        yield params
        yield from (params[name] for name in ("arguments", "message") if isinstance(params.get(name), dict))
        yield opened(params)


def sealed(message: Json) -> Json:
    """A message in the two parts of league.handle."""
    return {
        "envelope": {name: message[name] for name in ENVELOPE if name in message},
        "payload": {name: value for name, value in message.items() if name not in ENVELOPE},
    }


def opened(parts: Json) -> Json:
    """The message in the two parts of league.handle; empty where they are not there."""
    envelope, payload = parts.get("envelope"), parts.get("payload")
    return envelope | payload if isinstance(envelope, dict) and isinstance(payload, dict) else {}


# Registration


def registration(form: str, message: Json) -> tuple[str, Json]:
    """The method and the params by which a program registers."""
    if form == "registers-message":
        return "handle_message", {"message": message}
    if form == "registers-tools":
        return "tools/call", {"name": "register_player", "arguments": message}
    if form == "registers-envelope":
        return "league.handle", sealed(message)
    methods = {"registers-league_register": "league_register", "registers-type": "LEAGUE_REGISTER_REQUEST"}
    return methods.get(form, "register_player"), message


def registered(form: str, answer: Json) -> Json:
    """What a program finds in the answer to its registration: it looks only where its own form has the message."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return {}
    if form == "registers-tools":
        try:
            text = result["content"][0]["text"]
            found = json.loads(text)
        except (KeyError, IndexError, TypeError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
    if form == "registers-envelope":
        return opened(result)
    # Nobody has seen whether the message comes back in result or in its message: both are in the form that was used.
    if form == "registers-message" and isinstance(result.get("message"), dict):
        return dict(result["message"])
    return result
