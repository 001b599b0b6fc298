"""Checks of JSON-RPC 2.0 in detail: ids, batches, notifications, and how invalid requests are refused.

``add_rpc_checks`` adds the same checks for a referee and for a manager. The harness of each provides a valid call.
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from leaguekit.kit.answer_checks import is_refusal, is_result, is_same
from leaguekit.kit.checks import Area, Check, Evidence
from leaguekit.kit.exchanges import Exchange, Json, encode, encode_request, with_changes
from leaguekit.kit.harness import SECONDS, Harness

INVALID_PARAMS = -32602
STRING_ID = "check-7f3a"
HarnessT = TypeVar("HarnessT", bound=Harness)

# Changes to a valid call, because of which it must be refused with -32602 (invalid params): the name of the check, what
# is wrong, the changes, and the code that the data of the error should name, if any.
_INVALID_CALLS: tuple[tuple[str, str, Json, str], ...] = (
    ("missing_field", "A message without a required field", {"league_id": ...}, "E003"),
    ("null_field", "A message with null in a required field", {"league_id": None}, "E003"),
    ("wrong_type", "A message with a number where text belongs", {"league_id": 7}, ""),
    ("wrong_protocol", "A message of another protocol than league.v2", {"protocol": "league.v1"}, "E018"),
    ("no_zone", "A timestamp without a time zone", {"timestamp": "2025-01-15T10:30:00"}, "E021"),
    ("wrong_zone", "A timestamp of another zone than UTC", {"timestamp": "2025-01-15T10:30:00+02:00"}, "E021"),
    ("other_message", "A message that does not fit its method", {"message_type": "GAME_JOIN_ACK"}, ""),
)
_REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "missing_field": ("000-L1430", "000-L1226"),
    "null_field": ("000-L1431",),
    "wrong_type": ("000-L1425",),
    "wrong_protocol": ("000-L1230", "000-L0062"),
    "no_zone": ("000-L1232", "000-L1412"),
    "wrong_zone": ("000-L1232", "000-L1414"),
    "other_message": ("000-L1503", "decision 1"),
}
# The refusals that other agents rely on.
_RELIED_ON = ("missing_field", "null_field", "wrong_type")
# Bodies that must be refused with a standard number of JSON-RPC.
_INVALID_BODIES: tuple[tuple[str, str, bytes, int], ...] = (
    ("no_json", "A body that is no JSON", b'{"jsonrpc": "2.0", "method": ', -32700),
    ("not_utf8", "A body that is not UTF-8", b'{"jsonrpc": "2.0", "method": "\xff", "id": 1}', -32700),
    ("too_deep", "JSON nested 5,000 levels deep", b"[" * 5_000 + b"]" * 5_000, -32700),
    ("no_request", "JSON that is not a request", b'"league.v2"', -32600),
    ("no_method", "A request without a method", b'{"jsonrpc": "2.0", "params": {}, "id": 1}', -32600),
    ("empty_batch", "An empty batch", b"[]", -32600),
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


def add_rpc_checks(area: Area[HarnessT], agent: str, needs: list[Check[HarnessT]], *, is_strict: bool) -> None:
    """Add the checks of JSON-RPC to an area. ``agent`` is its name in sentences, such as "The referee".

    With ``is_strict``, the refusals that other agents rely on are required. Without it, they are recommended.
    """

    @area.required("001-L0045", "002-L0073", name="ids", needs=needs, agent=agent)
    async def number_id(harness: HarnessT) -> Evidence:
        """{agent} repeats an id that is a number."""
        return await _repeats_id(harness, 40_961)

    @area.recommended("001-L0045", "decision 2", needs=needs, agent=agent)
    async def string_id(harness: HarnessT) -> Evidence:
        """{agent} repeats an id that is text."""
        return await _repeats_id(harness, STRING_ID)

    _add_method_names(area, agent, needs)

    @area.required("000-L1594", needs=needs, agent=agent)
    async def unknown_fields(harness: HarnessT) -> Evidence:
        """{agent} ignores fields that it does not know."""
        return is_result(await _call_with_changes(harness, {"from_a_later_version": {"of": ["league.v2"]}}))

    _add_refusals(area, needs, is_strict=is_strict)

    @area.recommended("001-L0009", "decision 2", needs=needs, agent=agent)
    async def batch(harness: HarnessT) -> Evidence:
        """{agent} answers a batch with a list, an answer for each id."""
        return await answers_batch(harness)

    @area.recommended("001-L0038", "decision 2", needs=needs, agent=agent)
    async def notification(harness: HarnessT) -> Evidence:
        """{agent} answers a notification, a request without an id, with no JSON-RPC answer."""
        return await answers_notification(harness)

    @area.required("000-L1542", needs=needs, agent=agent.lower())
    async def alive(harness: HarnessT) -> Evidence:
        """After all that nobody should send, {agent} still answers."""
        for body in HOSTILE_BODIES:
            await harness.post(body)
        return is_result(await harness.call(harness.good_call(), call_id=40_962))


def _add_method_names(area: Area[HarnessT], agent: str, needs: list[Check[HarnessT]]) -> None:
    @area.recommended("002-L0064", "decision 1", needs=needs, agent=agent)
    async def type_as_method(harness: HarnessT) -> Evidence:
        """{agent} also takes the message type as the method, as document 002 has it."""
        message = msgspec.to_builtins(harness.good_call())
        return is_result(await harness.call(message, method=message["message_type"]))

    @area.required("001-L0036", needs=needs, agent=agent)
    async def method_names(harness: HarnessT) -> Evidence:
        """{agent} knows every method that the kit has called by its first name in document 001."""
        return knows_usual_names(harness, await harness.call(harness.good_call()))

    @area.recommended("001-L0051", needs=needs, agent=agent)
    async def unknown_method(harness: HarnessT) -> Evidence:
        """{agent} refuses a method that it does not have with -32601."""
        return await refuses_unknown_method(harness)


def _add_refusals(area: Area[HarnessT], needs: list[Check[HarnessT]], *, is_strict: bool) -> None:
    def add_call(name: str, what: str, changes: Json, code: str) -> None:
        requirements = _REQUIREMENTS[name]

        @area.check(*requirements, name=name, is_required=is_strict and name in _RELIED_ON, needs=needs, what=what)
        async def refused(harness: HarnessT) -> Evidence:
            """{what} is refused with {INVALID_PARAMS}."""
            return is_refusal(await _call_with_changes(harness, changes), INVALID_PARAMS)

        if code:

            @area.recommended(
                *requirements, "001-L1518", name=f"{name}_code", needs=[*needs, refused], what=what, code=code
            )
            async def refused_with_code(harness: HarnessT) -> Evidence:
                """{what} is refused with {INVALID_PARAMS}, and {code} in its data."""
                return has_error_code(await _call_with_changes(harness, changes), code)

    def add_body(name: str, what: str, body: bytes, number: int) -> None:
        @area.recommended("001-L0009", "001-L1860", name=name, needs=needs, what=what, number=number)
        async def refused(harness: HarnessT) -> Evidence:
            """{what} is refused with {number}."""
            return is_refusal(await harness.post(body), number)

    for call in _INVALID_CALLS:
        add_call(*call)
    for body in _INVALID_BODIES:
        add_body(*body)


def knows_usual_names(harness: Harness, understood: Exchange) -> Evidence:
    """Check that no method had to be called by another name. ``understood`` is evidence if that is so."""
    for name, (other, refusal) in harness.other_names.items():
        raise refusal.failed(f"a result of {name}", f"it is known only as {other}, and the kit went on with that")
    return understood.evidence("no method is known only by another name")


async def refuses_unknown_method(harness: Harness) -> Evidence:
    """Check that a method that no agent has is refused."""
    return is_refusal(await harness.client.call(harness.url, "no_such_method", {}, SECONDS), -32601)


async def answers_batch(harness: Harness) -> Evidence:
    """Check that a batch of two calls is answered with a list of two answers."""
    message = harness.good_call()
    calls = [json.loads(encode_request(harness.method_name(type(message)), message, number)) for number in (901, 902)]
    exchange = await harness.post(encode(calls))
    answers = exchange.value if isinstance(exchange.value, list) else []
    ids = sorted(str(one.get("id")) for one in answers if isinstance(one, dict))
    return exchange.fail_if(ids != ["901", "902"], "a list of two answers, with the ids 901 and 902")


async def answers_notification(harness: Harness) -> Evidence:
    """Check that a notification has an HTTP answer, but no JSON-RPC answer."""
    message = harness.good_call()
    exchange = await harness.post(encode_request(harness.method_name(type(message)), message, None))
    is_silent = exchange.answer is not None and not exchange.answer.body.strip()
    return exchange.fail_if(not is_silent, "an HTTP answer with an empty body")


def has_error_code(exchange: Exchange, code: str) -> Evidence:
    """Check that the answer is an error whose data name a code of the catalogue."""
    is_refusal(exchange)
    found = exchange.error_data.get("error_code")
    return exchange.fail_if(found != code, f'"error": {{"data": {{"error_code": "{code}", …}}}}')


async def _call_with_changes(harness: Harness, changes: Json) -> Exchange:
    """Make the valid call with other values in some fields. The value ``...`` removes the field."""
    message = harness.good_call()
    return await harness.call(with_changes(message, changes), method=harness.method_name(type(message)))


async def _repeats_id(harness: Harness, call_id: int | str) -> Evidence:
    exchange = await harness.call(harness.good_call(), call_id=call_id)
    came = exchange.value.get("id") if isinstance(exchange.value, dict) else None
    return exchange.fail_if(not is_same(came, call_id), f'"id": {json.dumps(call_id)}')
