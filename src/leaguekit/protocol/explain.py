"""Explains texts of the protocol to authors of agents: what a text is, and what is wrong with it.

A text is a bare message, a JSON-RPC request, response or batch, or an exchange (a list of requests and responses).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from leaguekit.protocol.decoding import check_text, shorten_json, violations
from leaguekit.protocol.errors import ProtocolError, Violation
from leaguekit.protocol.messages import BY_TYPE, Answer, message_type
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST, PING


class Explanation(NamedTuple):
    """One part of the text: what it is, and what is wrong with it."""

    what: str
    wrong: list[Violation]


def explain(text: bytes) -> list[Explanation]:
    """Explain a text, part by part. Raises ProtocolError if it is not JSON."""
    check_text(text)
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ProtocolError("E040", f"This is not JSON: {error}.") from None
    parts = value if isinstance(value, list) else [value]
    if not parts:
        return [Explanation("An empty batch", [Violation("(message)", "E041", "got []", "at least one request")])]
    answers = [part for part in parts if isinstance(part, dict) and ("result" in part or "error" in part)]
    explained = []
    for part in parts:
        what, wrong = _explain_part(part)
        explained.append(Explanation(what, wrong + _check_answer(part, answers)))
    return explained


def _explain_part(value: Any) -> Explanation:
    if not isinstance(value, dict):
        return Explanation("No message", [Violation("(message)", "E041", f"got {shorten_json(value)}", "an object")])
    if "message_type" in value:
        return _explain_message(value, "")
    if "method" in value:
        return _explain_request(value)
    if "result" in value or "error" in value or "jsonrpc" in value:
        return _explain_response(value)
    return _explain_message(value, "")


def _explain_message(value: dict[str, Any], prefix: str) -> Explanation:
    found = [one._replace(path=f"{prefix}{one.path}") for one in violations(value)]
    name = value.get("message_type")
    kind = BY_TYPE.get(name) if isinstance(name, str) else None
    if kind is None:
        return Explanation(f"A message of unknown type {shorten_json(name)}", found)
    description = (kind.__doc__ or "").partition("\n")[0]
    return Explanation(f"{message_type(kind)}: {description}", found)


def _explain_request(value: dict[str, Any]) -> Explanation:
    wrong = _check_envelope(value)
    name, params = value["method"], value.get("params")
    if name == PING:
        return Explanation("A JSON-RPC request, ping: checks that somebody is there", wrong)
    method = BY_NAME.get(name) if isinstance(name, str) else None
    if method is None:
        known = ", ".join(one.name for one in BY_REQUEST.values())
        wrong.append(Violation("method", "E042", f"got {shorten_json(name)}", f"one of {known}", "001-L0036"))
    if not isinstance(params, dict):
        came = "missing" if params is None else f"got {shorten_json(params)}"
        wrong.append(Violation("params", "E003" if params is None else "E043", came, "an object", "001-L0037"))
        return Explanation(f"A JSON-RPC request, {shorten_json(name)}", wrong)
    inner = _explain_message(params, "params.")
    kind = BY_TYPE.get(str(params.get("message_type")))
    if method is not None and kind is not None and kind is not method.request:
        came, expected = shorten_json(message_type(kind)), shorten_json(message_type(method.request))
        wrong.append(Violation("params.message_type", "E045", f"got {came}", expected, "000-L1503"))
    form = "request" if "id" in value else "notification (no id, so no answer)"
    return Explanation(f"A JSON-RPC {form}, {shorten_json(name)} with {inner.what}", wrong + inner.wrong)


def _explain_response(value: dict[str, Any]) -> Explanation:
    wrong = _check_envelope(value)
    error, result = value.get("error"), value.get("result")
    if "id" not in value:
        wrong.append(Violation("id", "E003", "missing", "the request's id", "001-L0045"))
    if error is not None and result is not None:
        wrong.append(Violation("error", "E041", "is beside a result", "either of the two", "001-L0051"))
    if error is not None:
        return _explain_error(error, wrong)
    if not isinstance(result, dict):
        came = "missing" if "result" not in value else f"got {shorten_json(result)}"
        wrong.append(Violation("result", "E003" if result is None else "E043", came, "an object", "001-L0044"))
        return Explanation("A JSON-RPC answer", wrong)
    inner = _explain_message(result, "result.")
    kind = BY_TYPE.get(str(result.get("message_type")))
    if kind is not None and not issubclass(kind, Answer):
        found = f"got {shorten_json(message_type(kind))}"
        wrong.append(Violation("result.message_type", "E045", found, "the type of an answer", "001-L0044"))
    return Explanation(f"A JSON-RPC answer with {inner.what}", wrong + inner.wrong)


def _explain_error(error: Any, wrong: list[Violation]) -> Explanation:
    if not isinstance(error, dict):
        wrong.append(Violation("error", "E043", f"got {shorten_json(error)}", "an object", "001-L0051"))
        return Explanation("A JSON-RPC error", wrong)
    code, text, data = error.get("code"), error.get("message"), error.get("data")
    meaning = ""
    if type(code) is int:
        meaning = f" ({_STANDARD[code]})" if code in _STANDARD else ""
    else:
        wrong.append(Violation("error.code", "E043", f"got {shorten_json(code)}", "a whole number", "001-L0052"))
    if not isinstance(text, str):
        wrong.append(Violation("error.message", "E043", f"got {shorten_json(text)}", "text", "001-L0053"))
    what = f"A JSON-RPC error, {shorten_json(code)} {shorten_json(text)}{meaning}"
    if isinstance(data, dict) and "message_type" in data:
        inner = _explain_message(data, "error.data.")
        return Explanation(f"{what}, with {inner.what}", wrong + inner.wrong)
    return Explanation(what, wrong)


# The standard error numbers, which mean the same under every method.
_STANDARD = {
    -32700: "not JSON",
    -32600: "no JSON-RPC request",
    -32601: "unknown method",
    -32602: "wrong fields",
    -32603: "the server failed",
}


def _check_envelope(value: dict[str, Any]) -> list[Violation]:
    wrong = []
    if value.get("jsonrpc") != "2.0":
        came = f"got {shorten_json(value['jsonrpc'])}" if "jsonrpc" in value else "missing"
        wrong.append(Violation("jsonrpc", "E041", came, '"2.0"', "001-L0035"))
    if "id" in value and (isinstance(value["id"], bool) or not isinstance(value["id"], str | int | float | None)):
        wrong.append(Violation("id", "E041", f"got {shorten_json(value['id'])}", "text or a number", "001-L0038"))
    return wrong


def _check_answer(part: Any, answers: list[dict[str, Any]]) -> list[Violation]:
    """Check that, in an exchange, a request with an id has exactly one answer of the right type."""
    if not answers or not isinstance(part, dict) or "method" not in part or "id" not in part:
        return []
    matching = [one for one in answers if "id" in one and _same_id(one["id"], part["id"])]
    if len(matching) != 1:
        found = f"{len(matching)} answers to {shorten_json(part['id'])}"
        return [Violation("id", "E041", found, "exactly one", "001-L0045")]
    method = BY_NAME.get(part["method"]) if isinstance(part["method"], str) else None
    result = matching[0].get("result")
    came = result.get("message_type") if isinstance(result, dict) else None
    if method is None or came is None or came == message_type(method.answer):
        return []
    return [
        Violation(
            "(answer)", "E045", f"got {shorten_json(came)}", shorten_json(message_type(method.answer)), "001-L0044"
        )
    ]


def _same_id(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
