"""Checks of the answers of an agent: whether there is one, its JSON-RPC form, and one check for each field.

A harness keeps its exchanges with the agent under a name. All checks of an answer look there. The published schema
decides about each field separately, so that one wrong field fails one check.

The functions ``came_in_time``, ``is_result`` and so on return evidence, or raise Failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from leaguekit.kit.checks import Area, Check, CheckFunction, Evidence
from leaguekit.kit.exchanges import Exchange, ExchangesByName, Json, Unreadable
from leaguekit.kit.field_checks import ANYTHING, Field, add_field_check
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import Violation
from leaguekit.protocol.messages import Message, message_type


class Harness(Protocol):
    """What these checks need of a harness."""

    answers: ExchangesByName


HarnessT = TypeVar("HarnessT", bound=Harness)


def came_in_time(exchange: Exchange) -> Evidence:
    """Check that there is an HTTP answer of any kind."""
    expected = f"an HTTP answer within {exchange.limit_seconds:g} s"
    return exchange.fail_if(exchange.answer is None, expected)


def has_gone(ping: Exchange) -> Evidence:
    """Check that a ping has no answer."""
    return ping.fail_if(ping.answer is not None, "nobody there")


def is_result(exchange: Exchange) -> Evidence:
    """Check that the answer is a JSON-RPC answer to this call, and that its result is an object."""
    expected = f'{{"jsonrpc": "2.0", "result": {{…}}, "id": {msgspec.json.encode(exchange.call_id).decode()}}}'
    value = exchange.value
    if isinstance(value, Unreadable):
        raise exchange.failed(expected, value.why)
    for wrong, what in (
        (not isinstance(value, dict), "no object"),
        (exchange.error is not None, "an error"),
        (not isinstance(exchange.result, dict), "no object as the result"),
        (isinstance(value, dict) and value.get("jsonrpc") != "2.0", "another jsonrpc than 2.0, or none"),
        (isinstance(value, dict) and not is_same(value.get("id"), exchange.call_id), "another id"),
    ):
        if wrong:
            raise exchange.failed(expected, what)
    return exchange.evidence(expected)


def is_refusal(exchange: Exchange, code: int | None = None) -> Evidence:
    """Check that the answer is a JSON-RPC error, with the number ``code`` if it is given."""
    expected = f'{{"jsonrpc": "2.0", "error": {{"code": {code or "a number"}, "message": …}}, "id": …}}'
    error = exchange.error
    if not isinstance(error, dict) or type(error.get("code")) is not int or not isinstance(error.get("message"), str):
        raise exchange.failed(expected, "no error with a number and a text")
    return exchange.fail_if(code is not None and error["code"] != code, expected, f"the number {error['code']}")


def has_data(exchange: Exchange, *names: str) -> Evidence:
    """Check that the data of an error have these fields."""
    return exchange.fail_if(not {*names} <= exchange.error_data.keys(), f"data with {' and '.join(names)}")


def is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. In JSON, unlike in Python, true is not 1, and 1 is not 1.0."""
    return type(one) is type(other) and bool(one == other)


def violations_in(message: Json, kind: type[Message], path: str | None = None) -> list[Violation]:
    """Return the violations of a schema in a message or in one of its fields, whatever type the message names."""
    found = violations(message | {"message_type": message_type(kind)})
    return [one for one in found if path is None or is_within(one.path, path) or is_within(path, one.path)]


def field_is(exchange: Exchange, kind: type[Message], path: str, wanted: Any = ANYTHING) -> Evidence:
    """Check that a field of the result has the wanted value, or else a value that the schema allows."""
    message = exchange.message
    came = "nothing" if path not in message else msgspec.json.encode(message[path]).decode()
    if wanted is ANYTHING:
        found = violations_in(message, kind, path)
        expected = f"{path}: {'; '.join(one.expected for one in found) or 'as it is'}"
        if found:
            raise exchange.failed(expected, f"{path}: {came}")
    else:
        expected = f"{path}: {msgspec.json.encode(wanted).decode()}"
        if not is_same(message.get(path), wanted):
            raise exchange.failed(expected, f"{path}: {came}")
    return exchange.evidence(expected, f"{path}: {came}")


def add_answer_checks(
    area: Area[HarnessT],
    exchange: str,
    kind: type[Message],
    fields: Iterable[Field],
    needs: Sequence[Check[HarnessT]],
    *,
    kind_in: Callable[[HarnessT], type[Message]] | None = None,
) -> list[Check[HarnessT]]:
    """Add a check for each field of an answer.

    ``exchange`` is the name under which the answer is kept. Where the type of the answer depends on the harness,
    ``kind_in`` gives it, and ``kind`` is the type whose requirements are cited.
    """
    return [
        add_field_check(area, kind, field, needs, _field_check(exchange, kind_in or (lambda _: kind), field))
        for field in fields
    ]


def _field_check(name: str, kind_in: Callable[[HarnessT], type[Message]], field: Field) -> CheckFunction[HarnessT]:
    async def check(harness: HarnessT) -> Evidence:
        exchange, kind = harness.answers[name], kind_in(harness)
        result = exchange.result
        if field.may_be_absent and isinstance(result, dict) and field.path not in result:
            return exchange.evidence(f"{field.path}, if it is there, is right", "it is left out")
        wanted = field.value if field.value_in is None else field.value_in(harness)
        if field.path == "message_type":
            wanted = message_type(kind)
        return field_is(exchange, kind, field.path, wanted)

    return check


def is_valid(exchange: Exchange, kind: type[Message]) -> Evidence:
    """Check that the schema finds nothing wrong with the result."""
    found = violations_in(exchange.message, kind)
    expected = f"a valid {message_type(kind)}"
    return exchange.fail_if(bool(found), expected, "; ".join(map(str, found)))


def is_within(path: str, other: str) -> bool:
    """Return whether a path is the other one, or a path within it."""
    return path == other or path.startswith((f"{other}.", f"{other}["))
