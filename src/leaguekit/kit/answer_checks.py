"""Checks of the answers of an agent: whether there is one, and its JSON-RPC form.

The functions ``came_in_time``, ``is_result`` and so on return evidence, or raise Failed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from leaguekit.kit.checks import Evidence
from leaguekit.kit.exchanges import Exchange, Unreadable


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
