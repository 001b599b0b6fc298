"""Finds the message in an agent's answer. It may be anywhere, or be promised for later, or be missing.

An answer is successful only if it contains the expected message. That there is no error is not enough: several agents
answer "ok" to requests that they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from leaguekit.match.move_messages import DOCUMENTED, GENERAL, MoveResponse
from leaguekit.protocol import messages as m
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import check_text, shorten_json
from leaguekit.protocol.errors import ProtocolError
from leaguekit.transport.dialects.forms import UNSCANNED_BYTES, Json, stated_type, unwrapped_messages
from leaguekit.transport.dialects.repairs import Repaired, broken_rule, repair

# After this number of faults no further location is checked. To describe a fault takes long.
MAX_FAULTS = 3

PlayerAnswer: TypeAlias = m.GameJoinAck | MoveResponse


class Deferred(NamedTuple):
    """The agent has received the request, and will post its answer."""

    broken: list[m.BrokenRule]


class Acknowledged(NamedTuple):
    """The agent only says that it has received the request. That may be its way to join, or it has not understood."""

    broken: list[m.BrokenRule]


class NoUsableAnswer(NamedTuple):
    """The answer contains neither the message nor an acknowledgement."""

    why: str


AnswerOutcome: TypeAlias = Repaired | Deferred | Acknowledged | NoUsableAnswer

_ACCEPTED, _DECLINED = ("ACCEPTED", "ACCEPT", "JOINED"), ("REJECTED", "REJECT", "DECLINED", "REFUSED")
_DEFERRED = ("RECEIVED", "PENDING", "PROCESSING", "QUEUED")
_NOT_UNDERSTOOD = ("error", "unknown_message_type", "unknown", "failed")
_ACKNOWLEDGED = ("ACK", "ACKNOWLEDGED", "OK", "SUCCESS")
# The field with the choice, and the fields that some agents use instead.
_CHOICE_FIELDS: dict[type[m.Message], tuple[str, ...]] = {
    DOCUMENTED.response: (DOCUMENTED.field, "choice"),
    GENERAL.response: (GENERAL.field, "move", "choice"),
}


class _Candidate(NamedTuple):
    value: Json
    broken: list[m.BrokenRule]


def find_answer(
    body: bytes, call_id: int, wanted: type[PlayerAnswer], known: Mapping[str, Any], certain: Mapping[str, str]
) -> AnswerOutcome:
    """Find the expected message in an answer. ``known`` and ``certain`` are those of ``repairs.repair``."""
    try:
        check_text(body, UNSCANNED_BYTES)
        value = msgspec.json.decode(body)
    except (ProtocolError, *DECODE_ERRORS):
        return NoUsableAnswer(f"no JSON: {shorten_json(body[:100].decode(errors='replace'))}")
    if not isinstance(value, dict):
        return NoUsableAnswer(f"no object: {shorten_json(value)}")
    candidates = list(_candidates(value, call_id))
    faults: list[ProtocolError] = []
    for candidate in candidates:
        try:
            if (found := find_message(candidate.value, wanted, known, certain)) is not None:
                return Repaired(found.message, [*candidate.broken, *found.broken])
        except ProtocolError as error:
            faults.append(error)
            if len(faults) == MAX_FAULTS:
                break
    if faults:
        raise faults[0]
    statuses = [
        str(candidate.value["status"]).upper()
        for candidate in candidates
        if isinstance(candidate.value.get("status"), str)
    ]
    broken = [broken_rule("001-L0044", f"only {shorten_json(value)}", f"a {m.message_type(wanted)} in result")]
    if any(status in _DEFERRED for status in statuses):
        return Deferred(broken)
    if any(status in _ACKNOWLEDGED for status in statuses):
        return Acknowledged(broken)
    return NoUsableAnswer(shorten_json(value))


def find_objects(body: bytes) -> list[Json]:
    """The objects in an answer that may be a message: the answer itself, its result, and what is wrapped in these."""
    try:
        check_text(body, UNSCANNED_BYTES)
        value = msgspec.json.decode(body)
    except (ProtocolError, *DECODE_ERRORS):
        return []
    if not isinstance(value, dict):
        return []
    inside = [value[name] for name in ("result", "params") if isinstance(value.get(name), dict)]
    return [*(inner for one in [*inside, value] for _, inner in unwrapped_messages(one)), *inside, value]


def is_refusal(status: int, body: bytes) -> bool:
    """Whether an answer says that a message was refused or not understood."""
    if status >= 400:
        return True
    try:
        value = msgspec.json.decode(body)
    except DECODE_ERRORS:
        return False
    if not isinstance(value, dict):
        return False
    broken = [one.get("status") for one in (value, value.get("result")) if isinstance(one, dict)]
    return value.get("error") is not None or any(str(one).lower() in _NOT_UNDERSTOOD for one in broken)


def find_message(
    value: Json, wanted: type[PlayerAnswer], known: Mapping[str, Any], certain: Mapping[str, str]
) -> Repaired | None:
    """The expected message, if it is in this object. Raises ProtocolError if it cannot be repaired."""
    if wanted is m.GameJoinAck:
        return _find_join(value, known, certain)
    field, *alternatives = _CHOICE_FIELDS[wanted]
    if field in value:
        return repair(value, wanted, known, certain)
    alternative = next((name for name in alternatives if name in value), None)
    if alternative is None:
        return None
    replaced_by = {field: f"{alternative}: got {shorten_json(value[alternative])}"}
    return repair(value, wanted, {**known, field: value[alternative]}, certain, replaced_by)


def _find_join(value: Json, known: Mapping[str, Any], certain: Mapping[str, str]) -> Repaired | None:
    if value.get("accept") is not None:
        return repair(value, m.GameJoinAck, known, certain)
    if isinstance(accepted := value.get("accepted"), bool):
        replaced_by = {"accept": f"accepted: got {shorten_json(accepted)}"}
        return repair(value, m.GameJoinAck, {**known, "accept": accepted}, certain, replaced_by)
    is_join_ack, status = stated_type(value) == "GAME_JOIN_ACK", value.get("status")
    status_text = str(status).upper()
    if status_text in _DECLINED:
        accepts = False
    elif status_text in _ACCEPTED or (is_join_ack and (status is None or status_text in (*_ACKNOWLEDGED, *_DEFERRED))):
        accepts = True
    else:
        return None
    replaced_by = {} if status is None else {"accept": f"status: got {shorten_json(status)}"}
    return repair(value, m.GameJoinAck, {**known, "accept": accepts}, certain, replaced_by)


def _candidates(body: Json, call_id: int) -> Iterator[_Candidate]:
    """The objects in an answer that may be the message, the right location first."""
    result = body.get("result")
    if isinstance(result, dict):
        envelope_faults = list(_envelope_faults(body, call_id))
        yield _Candidate(result, envelope_faults)
        for path, inner in unwrapped_messages(result):
            yield _Candidate(inner, [*envelope_faults, _wrong_location(f"the message in result.{path}")])
    elif isinstance(body.get("params"), dict) and "method" in body:
        for path, inner in [("params", body["params"]), *unwrapped_messages(body["params"])]:
            yield _Candidate(inner, [_wrong_location(f"a request with the message in {path}")])
    else:
        for path, inner in [("", body), *unwrapped_messages(body)]:
            location = f"the message in {path}" if path else "the message with no JSON-RPC around it"
            yield _Candidate(inner, [_wrong_location(location)])


def _envelope_faults(body: Json, call_id: int) -> Iterator[m.BrokenRule]:
    """The broken rules of the JSON-RPC around a result."""
    if body.get("jsonrpc") != "2.0":
        found = f"jsonrpc: got {shorten_json(body['jsonrpc'])}" if "jsonrpc" in body else "jsonrpc: missing"
        yield broken_rule("001-L0043", found, '"2.0"')
    if body.get("id") != call_id or isinstance(body.get("id"), bool | float):
        found = f"id: got {shorten_json(body['id'])}" if "id" in body else "id: missing"
        yield broken_rule("001-L0045", found, "the request's id, an integer")
    if "error" in body:
        yield broken_rule("001-L0051", f"error: {shorten_json(body['error'])} beside a result", "either of the two")


def _wrong_location(found: str) -> m.BrokenRule:
    return broken_rule("001-L0044", found, "the message in result")
