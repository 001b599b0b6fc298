"""How strangers' programs put what they have to say: answers, refusals and times, by their traits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tests.zoo.dialects import forms
from tests.zoo.dialects.forms import Json

_TIMES = {
    "times-microseconds": "%Y-%m-%dT%H:%M:%S.%fZ",
    "times-offset": "%Y-%m-%dT%H:%M:%S.%f+00:00",
    "times-compact": "%Y%m%dT%H%M%SZ",
}
_STATUSES = {f"refuses-{status}": status for status in (400, 401, 404, 422, 500)}
_SHRUGS = {"refuses-ok": "ok", "refuses-unknown": "unknown_message_type", "refuses-error": "error"}


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Refused(Exception):
    """What a program does not take, with the HTTP status and the JSON-RPC code by which it says so."""

    def __init__(self, status: int, why: str, code: int = -32602) -> None:
        self.status = status
        self.code = code
        super().__init__(why)


def in_json(status: int, content: Json) -> Answer:
    return Answer(status, json.dumps(content).encode())


def wrapped(traits: frozenset[str], call_id: Any, message: Json) -> Answer:
    """A message where a program puts it in its answer."""
    if "answers-bare" in traits:
        return in_json(200, message)
    if "answers-request" in traits:
        method = message.get("message_type", "")
        return in_json(200, {"jsonrpc": "2.0", "method": method, "params": message, "id": call_id})
    result = message
    if traits & {"answers-text", "tools"}:
        result = {"content": [{"type": "text", "text": json.dumps(message)}]}
    elif "answers-structured" in traits:
        result = {"content": [{"type": "text", "text": "Done."}], "structuredContent": message}
    elif "envelope" in traits:
        result = forms.sealed(message)
    answer: Json = {"jsonrpc": "2.0", "id": call_id, "result": result}
    return in_json(200, answer | {"error": None} if "error-null" in traits else answer)


def unknown(traits: frozenset[str], call: Json) -> Answer:
    """What a program says to a request that it makes nothing of."""
    if shrug := next((status for trait, status in _SHRUGS.items() if trait in traits), None):
        return in_json(200, {"status": shrug})
    status = next((status for trait, status in _STATUSES.items() if trait in traits), 200)
    return refusal(traits, call.get("id"), Refused(status, f"Method not found: {call.get('method')}", -32601))


def refusal(traits: frozenset[str], call_id: Any, refused: Refused) -> Answer:
    """A refusal in JSON-RPC, or in plain text, which no program sends with HTTP 200."""
    if "refuses-in-text" in traits:
        return Answer(500 if refused.status == 200 else refused.status, str(refused).encode(), "text/plain")
    error = {"code": refused.code, "message": str(refused)}
    return in_json(refused.status, {"jsonrpc": "2.0", "id": call_id, "error": error})


def written(traits: frozenset[str], moment: datetime) -> str:
    """A moment as a program writes it."""
    utc = moment.astimezone(UTC)
    if "times-milliseconds" in traits:
        return utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03}Z"
    form = next((form for trait, form in _TIMES.items() if trait in traits), "%Y-%m-%dT%H:%M:%SZ")
    return utc.strftime(form)
