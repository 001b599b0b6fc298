"""What an answer amounts to: the word that was wanted, wherever it is; a promise to post it; or nothing of use.

An answer succeeds if the wanted word is there, and never because no error is: several agents say that all is well
to requests which they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from leaguekit.protocol import messages as m
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import check_text, shorten_json
from leaguekit.protocol.errors import ProtocolError
from leaguekit.transport.dialects.forms import Json, unwrapped_messages
from leaguekit.transport.dialects.repairs import Repaired, broken_rule, repair

# The number of faults after which no further place is looked at. To describe a fault takes long.
MAX_FAULTS = 3

PlayerAnswer: TypeAlias = m.GameJoinAck | m.ChooseParityResponse | m.GameMoveResponse


class Deferred(NamedTuple):
    """The agent has the request, and will post its answer."""

    broken: list[m.BrokenRule]


class Acknowledged(NamedTuple):
    """The agent says that all is well, and no more: that may be its way to join, or of not understanding."""

    broken: list[m.BrokenRule]


class NoUsableAnswer(NamedTuple):
    """There is nothing of use in the answer."""

    why: str


AnswerOutcome: TypeAlias = Repaired | Deferred | Acknowledged | NoUsableAnswer

_JOINED, _DECLINED = ("ACCEPTED", "ACCEPT", "JOINED"), ("REJECTED", "REJECT", "DECLINED", "REFUSED")
_LATER = ("RECEIVED", "PENDING", "PROCESSING", "QUEUED")
_NOT_UNDERSTOOD = ("error", "unknown_message_type", "unknown", "failed")
_WELL = ("ACK", "ACKNOWLEDGED", "OK", "SUCCESS")
# The field that has the word, and those that stand in its place.
_CHOICES: dict[type[m.Message], tuple[str, ...]] = {
    m.ChooseParityResponse: ("parity_choice", "choice"),
    m.GameMoveResponse: ("move_data", "move", "choice"),
}


class _Place(NamedTuple):
    value: Json
    broken: list[m.BrokenRule]


def find_answer(
    body: bytes, call_id: int, wanted: type[PlayerAnswer], known: Mapping[str, Any], certain: Mapping[str, str]
) -> AnswerOutcome:
    """What an answer amounts to; ``known`` and ``certain`` as for ``repairs``."""
    try:
        check_text(body)
        value = msgspec.json.decode(body)
    except (ProtocolError, msgspec.DecodeError, RecursionError):
        return NoUsableAnswer(f"no JSON: {shorten_json(body[:100].decode(errors='replace'))}")
    if not isinstance(value, dict):
        return NoUsableAnswer(f"no object: {shorten_json(value)}")
    places = list(_places(value, call_id))
    faults: list[ProtocolError] = []
    for place in places:
        try:
            if (found := find_message(place.value, wanted, known, certain)) is not None:
                return Repaired(found.message, [*place.broken, *found.broken])
        except ProtocolError as error:
            faults.append(error)
            if len(faults) == MAX_FAULTS:
                break
    if faults:
        raise faults[0]
    statuses = [str(place.value["status"]).upper() for place in places if isinstance(place.value.get("status"), str)]
    said = [broken_rule("001-L0044", f"only {shorten_json(value)}", f"a {m.message_type(wanted)} in result")]
    if any(status in _LATER for status in statuses):
        return Deferred(said)
    if any(status in _WELL for status in statuses):
        return Acknowledged(said)
    return NoUsableAnswer(shorten_json(value))


def is_refusal(status: int, body: bytes) -> bool:
    """Whether an answer says that a message was not taken, or not understood."""
    if status >= 400:
        return True
    try:
        value = msgspec.json.decode(body)
    except DECODE_ERRORS:
        return False
    if not isinstance(value, dict):
        return False
    said = [one.get("status") for one in (value, value.get("result")) if isinstance(one, dict)]
    return value.get("error") is not None or any(str(one).lower() in _NOT_UNDERSTOOD for one in said)


def find_message(
    value: Json, wanted: type[PlayerAnswer], known: Mapping[str, Any], certain: Mapping[str, str]
) -> Repaired | None:
    """The wanted word, if it is in this object. Raises ProtocolError if it cannot be repaired."""
    if wanted is m.GameJoinAck:
        return _join_in(value, known, certain)
    field, *others = _CHOICES[wanted]
    if field in value:
        return repair(value, wanted, known, certain)
    other = next((name for name in others if name in value), None)
    if other is None:
        return None
    instead = {field: f"{other}: got {shorten_json(value[other])}"}
    return repair(value, wanted, {**known, field: value[other]}, certain, instead)


def _join_in(value: Json, known: Mapping[str, Any], certain: Mapping[str, str]) -> Repaired | None:
    if value.get("accept") is not None:
        return repair(value, m.GameJoinAck, known, certain)
    says, status = value.get("message_type") == "GAME_JOIN_ACK", value.get("status")
    word = str(status).upper()
    if word in _DECLINED:
        accepts = False
    elif word in _JOINED or (says and (status is None or word in (*_WELL, *_LATER))):
        accepts = True
    else:
        return None
    instead = {} if status is None else {"accept": f"status: got {shorten_json(status)}"}
    return repair(value, m.GameJoinAck, {**known, "accept": accepts}, certain, instead)


def _places(body: Json, call_id: int) -> Iterator[_Place]:
    """Where a message may be in an answer, the right place first."""
    result = body.get("result")
    if isinstance(result, dict):
        around = list(_around(body, call_id))
        yield _Place(result, around)
        for where, inner in unwrapped_messages(result):
            yield _Place(inner, [*around, _elsewhere(f"the message in result.{where}")])
    elif isinstance(body.get("params"), dict) and "method" in body:
        for where, inner in [("params", body["params"]), *unwrapped_messages(body["params"])]:
            yield _Place(inner, [_elsewhere(f"a request with the message in {where}")])
    else:
        for where, inner in [("", body), *unwrapped_messages(body)]:
            in_there = f"the message in {where}" if where else "the message with no JSON-RPC around it"
            yield _Place(inner, [_elsewhere(in_there)])


def _around(body: Json, call_id: int) -> Iterator[m.BrokenRule]:
    """What is wrong with the JSON-RPC around a result."""
    if body.get("jsonrpc") != "2.0":
        came = f"jsonrpc: got {shorten_json(body['jsonrpc'])}" if "jsonrpc" in body else "jsonrpc: missing"
        yield broken_rule("001-L0043", came, '"2.0"')
    if body.get("id") != call_id or isinstance(body.get("id"), bool | float):
        came = f"id: got {shorten_json(body['id'])}" if "id" in body else "id: missing"
        yield broken_rule("001-L0045", came, "the request's id, an integer")
    if "error" in body:
        yield broken_rule("001-L0051", f"error: {shorten_json(body['error'])} beside a result", "either of the two")


def _elsewhere(came: str) -> m.BrokenRule:
    return broken_rule("001-L0044", came, "the message in result")
