"""Checks of JSON-RPC 2.0 in detail: ids, batches, notifications, and how invalid requests are refused.

``add_rpc_checks`` adds the same checks for a referee and for a manager. The harness of each provides a valid call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from leaguekit.kit.answer_checks import is_refusal, is_result, is_same
from leaguekit.kit.checks import Area, Check, Evidence
from leaguekit.kit.exchanges import Exchange, Json, RecordingClient, encode, encode_request, with_changes
from leaguekit.protocol.messages import Request
from leaguekit.protocol.methods import BY_REQUEST

SECONDS = 10.0
INVALID_PARAMS = -32602
STRING_ID = "check-7f3a"


class AgentUnderTest(Protocol):
    """A harness with an agent to call."""

    client: RecordingClient

    @property
    def url(self) -> str: ...


class Harness(AgentUnderTest, Protocol):
    """A harness with a call that its agent must accept any number of times."""

    def good_call(self) -> Request: ...


HarnessT = TypeVar("HarnessT", bound=Harness)


class InvalidCall(NamedTuple):
    """A change to a valid call, because of which the call must be refused with -32602 (invalid params)."""

    name: str
    sentence: str
    requirements: tuple[str, ...]
    changes: Json
    # The code of the catalogue that the data of the error should name, if any.
    code: str
    is_required: bool = True


class InvalidBody(NamedTuple):
    """A body that must be refused with a standard number of JSON-RPC."""

    name: str
    what: str
    text: bytes
    number: int


_INVALID_CALLS = (
    InvalidCall(
        "missing_field",
        "A message without a required field is refused with -32602.",
        ("000-L1430", "000-L1226"),
        {"league_id": ...},
        "E003",
    ),
    InvalidCall(
        "null_field",
        "A message with null in a required field is refused with -32602.",
        ("000-L1431",),
        {"league_id": None},
        "E003",
    ),
    InvalidCall(
        "wrong_type",
        "A message with a number where text belongs is refused with -32602.",
        ("000-L1425",),
        {"league_id": 7},
        "",
    ),
    InvalidCall(
        "wrong_protocol",
        "A message of another protocol than league.v2 is refused with -32602.",
        ("000-L1230", "000-L0062"),
        {"protocol": "league.v1"},
        "E018",
        is_required=False,
    ),
    InvalidCall(
        "no_zone",
        "A timestamp without a time zone is refused with -32602.",
        ("000-L1232", "000-L1412"),
        {"timestamp": "2025-01-15T10:30:00"},
        "E021",
        is_required=False,
    ),
    InvalidCall(
        "wrong_zone",
        "A timestamp of another zone than UTC is refused with -32602.",
        ("000-L1232", "000-L1414"),
        {"timestamp": "2025-01-15T10:30:00+02:00"},
        "E021",
        is_required=False,
    ),
    InvalidCall(
        "other_message",
        "A message that does not fit its method is refused with -32602.",
        ("000-L1503", "decision 1"),
        {"message_type": "GAME_JOIN_ACK"},
        "",
        is_required=False,
    ),
)
_INVALID_BODIES = (
    InvalidBody("no_json", "A body that is no JSON", b'{"jsonrpc": "2.0", "method": ', -32700),
    InvalidBody("not_utf8", "A body that is not UTF-8", b'{"jsonrpc": "2.0", "method": "\xff", "id": 1}', -32700),
    InvalidBody("too_deep", "JSON nested 5,000 levels deep", b"[" * 5_000 + b"]" * 5_000, -32700),
    InvalidBody("no_request", "JSON that is no request", b'"league.v2"', -32600),
    InvalidBody("no_method", "A request without a method", b'{"jsonrpc": "2.0", "params": {}, "id": 1}', -32600),
    InvalidBody("empty_batch", "An empty batch", b"[]", -32600),
)
# The agent may answer these as it likes, but it must go on working.
HOSTILE_BODIES: tuple[bytes, ...] = (
    b"",
    b"\xff\xfe\x00league",
    b"null",
    b"{" * 2_000,
    b'{"jsonrpc":"2.0","method":null,"params":7,"id":{}}',
    b'{"jsonrpc":"2.0","method":"report_match_result","params":[],"id":1}',
    b'{"jsonrpc":"2.0","method":"start_match","params":{"match_id":{}},"id":1}',
    b'{"jsonrpc":"2.0","method":"ping","params":{},"id":1e400}',
)


def add_rpc_checks(area: Area[HarnessT], agent: str, needs: Iterable[Check[HarnessT]], *, is_strict: bool) -> None:
    """Add the checks of JSON-RPC to an area. ``agent`` is its name in sentences, such as "The referee".

    With ``is_strict``, the refusals that other agents rely on are required. Without it, they are recommended.
    """
    needs = [*needs]
    _add_ids(area, agent, needs)
    _add_methods_and_fields(area, agent, needs)
    for call in _INVALID_CALLS:
        _add_invalid_call(area, call if is_strict else call._replace(is_required=False), needs)
    for body in _INVALID_BODIES:
        _add_invalid_body(area, body, needs)
    _add_batch_and_notification(area, agent, needs)

    @area.required(
        "000-L1542", sentence=f"After all that nobody should send, {agent.lower()} still answers.", needs=needs
    )
    async def alive(harness: HarnessT) -> Evidence:
        for body in HOSTILE_BODIES:
            await harness.client.post(harness.url, body, SECONDS)
        return is_result(await _make_good_call(harness, 40_962))


def _add_ids(area: Area[HarnessT], agent: str, needs: list[Check[HarnessT]]) -> None:
    @area.required(
        "001-L0045", "002-L0073", name="ids", sentence=f"{agent} repeats an id that is a number.", needs=needs
    )
    async def number_id(harness: HarnessT) -> Evidence:
        return _repeats_id(await _make_good_call(harness, 40_961), 40_961)

    @area.recommended("001-L0045", "decision 2", sentence=f"{agent} repeats an id that is text.", needs=needs)
    async def string_id(harness: HarnessT) -> Evidence:
        return _repeats_id(await _make_good_call(harness, STRING_ID), STRING_ID)


def _add_methods_and_fields(area: Area[HarnessT], agent: str, needs: list[Check[HarnessT]]) -> None:
    @area.recommended(
        "002-L0064",
        "decision 1",
        sentence=f"{agent} also takes the message type as the method, as document 002 has it.",
        needs=needs,
    )
    async def type_as_method(harness: HarnessT) -> Evidence:
        message = msgspec.to_builtins(harness.good_call())
        return is_result(await harness.client.call(harness.url, message["message_type"], message, SECONDS))

    @area.required("000-L1594", sentence=f"{agent} ignores fields that it does not know.", needs=needs)
    async def unknown_fields(harness: HarnessT) -> Evidence:
        return is_result(await call_with_changes(harness, {"from_a_later_version": {"of": ["league.v2"]}}))

    @area.recommended("001-L0051", sentence=f"{agent} refuses a method that it does not have with -32601.", needs=needs)
    async def unknown_method(harness: HarnessT) -> Evidence:
        return is_refusal(await harness.client.call(harness.url, "no_such_method", {}, SECONDS), -32601)


def _add_batch_and_notification(area: Area[HarnessT], agent: str, needs: list[Check[HarnessT]]) -> None:
    @area.recommended(
        "001-L0009", "decision 2", sentence=f"{agent} answers a batch with a list, an answer for each id.", needs=needs
    )
    async def batch(harness: HarnessT) -> Evidence:
        return await answers_batch(harness, *_good_call(harness))

    @area.recommended(
        "001-L0038",
        "decision 2",
        sentence=f"{agent} answers a notification, a request without an id, with no JSON-RPC answer.",
        needs=needs,
    )
    async def notification(harness: HarnessT) -> Evidence:
        return await answers_notification(harness, *_good_call(harness))


def _add_invalid_call(area: Area[HarnessT], call: InvalidCall, needs: list[Check[HarnessT]]) -> None:
    @area.check(*call.requirements, name=call.name, sentence=call.sentence, is_required=call.is_required, needs=needs)
    async def refused(harness: HarnessT) -> Evidence:
        return is_refusal(await call_with_changes(harness, call.changes), INVALID_PARAMS)

    if call.code:
        sentence = f"{call.sentence.rstrip('.')}, and {call.code} in its data."

        @area.recommended(
            *call.requirements, "001-L1518", name=f"{call.name}_code", sentence=sentence, needs=[*needs, refused]
        )
        async def refused_with_code(harness: HarnessT) -> Evidence:
            return has_error_code(await call_with_changes(harness, call.changes), call.code)


def _add_invalid_body(area: Area[HarnessT], body: InvalidBody, needs: list[Check[HarnessT]]) -> None:
    sentence = f"{body.what} is refused with {body.number}."

    @area.recommended("001-L0009", "001-L1860", name=body.name, sentence=sentence, needs=needs)
    async def refused(harness: HarnessT) -> Evidence:
        return is_refusal(await harness.client.post(harness.url, body.text, SECONDS), body.number)


async def answers_batch(harness: AgentUnderTest, method: str, message: Request) -> Evidence:
    """Check that a batch of two calls is answered with a list of two answers."""
    calls = [json.loads(encode_request(method, message, number)) for number in (901, 902)]
    exchange = await harness.client.post(harness.url, encode(calls), SECONDS)
    answers = exchange.value if isinstance(exchange.value, list) else []
    ids = sorted(str(one.get("id")) for one in answers if isinstance(one, dict))
    return exchange.fail_if(ids != ["901", "902"], "a list of two answers, with the ids 901 and 902")


async def answers_notification(harness: AgentUnderTest, method: str, message: Request) -> Evidence:
    """Check that a notification has an HTTP answer, but no JSON-RPC answer."""
    exchange = await harness.client.post(harness.url, encode_request(method, message, None), SECONDS)
    is_silent = exchange.answer is not None and not exchange.answer.body.strip()
    return exchange.fail_if(not is_silent, "an HTTP answer with an empty body")


def has_error_code(exchange: Exchange, code: str) -> Evidence:
    """Check that the answer is an error whose data name a code of the catalogue."""
    is_refusal(exchange)
    found = exchange.error_data.get("error_code")
    return exchange.fail_if(found != code, f'"error": {{"data": {{"error_code": "{code}", …}}}}')


def _good_call(harness: Harness) -> tuple[str, Request]:
    message = harness.good_call()
    return BY_REQUEST[type(message)].name, message


async def _make_good_call(harness: Harness, call_id: int | str) -> Exchange:
    return await harness.client.call(harness.url, *_good_call(harness), SECONDS, call_id)


async def call_with_changes(harness: Harness, changes: Json) -> Exchange:
    """Make the valid call with other values in some fields. The value ``...`` removes the field."""
    method, message = _good_call(harness)
    return await harness.client.call(harness.url, method, with_changes(message, changes), SECONDS)


def _repeats_id(exchange: Exchange, call_id: int | str) -> Evidence:
    value = exchange.value
    came = value.get("id") if isinstance(value, dict) else None
    return exchange.fail_if(not is_same(came, call_id), f'"id": {json.dumps(call_id)}')
