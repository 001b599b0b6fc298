"""Checks that an answer is what it should be, made from tables: that it came, its JSON-RPC form, and field by field.

A scene keeps the exchange with the agent under a name (``seen``); all checks of that answer look there. Each field is
judged by the published schema of the message alone, so that one wrong field fails one check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from leaguekit.kit.checks import Area, Check, Evidence, Failed
from leaguekit.kit.exchanges import Exchange, Json, Seen, Unreadable
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import Violation
from leaguekit.protocol.messages import Message, message_type

ANYTHING = object()


class Scene(Protocol):
    """A scene keeps its exchanges by name."""

    seen: Seen


SceneT = TypeVar("SceneT", bound=Scene)


class Field(NamedTuple, Generic[SceneT]):
    """A field of an answer. ``wanted`` gives the value that it must have; without it, any that the schema allows."""

    path: str
    sentence: str
    requirements: tuple[str, ...]
    wanted: Callable[[SceneT], Any] = lambda _scene: ANYTHING
    is_required: bool = True
    # Whether the answer may leave it out, though if it is there it must be right.
    may_be_absent: bool = False


def came_in_time(exchange: Exchange) -> Evidence:
    """That there was an HTTP answer, of whatever kind."""
    expected = f"an HTTP answer within {exchange.limit:g} s"
    if exchange.answer is None:
        raise exchange.failed(expected)
    return exchange.evidence(expected)


def has_gone(ping: Exchange) -> Evidence:
    """That nobody answered a ping."""
    if ping.answer is not None:
        raise ping.failed("nobody there")
    return ping.evidence("nobody there")


def is_result(exchange: Exchange) -> Evidence:
    """That the answer is JSON-RPC's, to this call, with an object as its result."""
    expected = f'{{"jsonrpc": "2.0", "result": {{…}}, "id": {msgspec.json.encode(exchange.call_id).decode()}}}'
    value = exchange.value
    if isinstance(value, Unreadable):
        raise exchange.failed(expected, value.why)
    for wrong, what in (
        (not isinstance(value, dict), "no object"),
        (exchange.error is not None, "an error"),
        (not isinstance(exchange.result, dict), "no object as the result"),
        (isinstance(value, dict) and value.get("jsonrpc") != "2.0", "another jsonrpc than 2.0, or none"),
        (isinstance(value, dict) and not same(value.get("id"), exchange.call_id), "another id"),
    ):
        if wrong:
            raise exchange.failed(expected, what)
    return exchange.evidence(expected)


def is_refusal(exchange: Exchange, code: int | None = None) -> Evidence:
    """That the answer is JSON-RPC's error, with that number if one is given."""
    expected = f'{{"jsonrpc": "2.0", "error": {{"code": {code or "a number"}, "message": …}}, "id": …}}'
    error = exchange.error
    if not isinstance(error, dict) or type(error.get("code")) is not int or not isinstance(error.get("message"), str):
        raise exchange.failed(expected, "no error with a number and a text")
    if code is not None and error["code"] != code:
        raise exchange.failed(expected, f"the number {error['code']}")
    return exchange.evidence(expected)


def has_data(exchange: Exchange, *names: str) -> Evidence:
    """That the error, of an answer that is a refusal, has these in its data."""
    data = exchange.error.get("data")
    expected = f"data with {' and '.join(names)}"
    if not isinstance(data, dict) or not {*names} <= data.keys():
        raise exchange.failed(expected)
    return exchange.evidence(expected)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: to JSON, unlike Python, true is not 1 and 1 not 1.0."""
    return type(one) is type(other) and bool(one == other)


def wrong_in(message: Json, kind: type[Message], path: str | None = None) -> list[Violation]:
    """What the schema of a type finds wrong with a message, whatever type it says it is: in all, or about one field."""
    found = violations(message | {"message_type": message_type(kind)})
    return [one for one in found if path is None or _within(one.path, path) or _within(path, one.path)]


def field_is(exchange: Exchange, kind: type[Message], path: str, wanted: Any = ANYTHING) -> Evidence:
    """That one field of the result is as the schema says, and has the wanted value."""
    message = exchange.result if isinstance(exchange.result, dict) else {}
    came = "nothing" if path not in message else msgspec.json.encode(message[path]).decode()
    if wanted is ANYTHING:
        found = wrong_in(message, kind, path)
        expected = f"{path}: {'; '.join(one.expected for one in found) or 'as it is'}"
        if found:
            raise exchange.failed(expected, f"{path}: {came}")
    else:
        expected = f"{path}: {msgspec.json.encode(wanted).decode()}"
        if not same(message.get(path), wanted):
            raise exchange.failed(expected, f"{path}: {came}")
    return exchange.evidence(expected, f"{path}: {came}")


def judged(
    area: Area[SceneT],
    exchange: str,
    kind: Callable[[SceneT], type[Message]],
    fields: Sequence[Field[SceneT]],
    needs: Iterable[Check[SceneT]],
) -> list[Check[SceneT]]:
    """Add a check for each field of an answer, whose type may depend on the scene; its id is the field's name."""
    made = []
    for one in fields:
        add = area.required if one.is_required else area.recommended
        decorate = add(one.path, one.sentence, *one.requirements, needs=needs)
        made.append(decorate(_looking_at(exchange, kind, one)))
    return made


def _looking_at(name: str, kind: Callable[[SceneT], type[Message]], field: Field[SceneT]) -> Callable[[SceneT], Any]:
    async def look(scene: SceneT) -> Evidence:
        exchange = scene.seen[name]
        result = exchange.result
        if field.may_be_absent and isinstance(result, dict) and field.path not in result:
            return exchange.evidence(f"{field.path}, if it is there, is right", "it is left out")
        return field_is(exchange, kind(scene), field.path, field.wanted(scene))

    return look


def nothing_else_wrong(exchange: Exchange, kind: type[Message], but: Iterable[str] = ()) -> Evidence:
    """That the schema finds nothing wrong with the result, in the fields that have no check of their own."""
    message = exchange.result if isinstance(exchange.result, dict) else {}
    apart = {*but}
    found = [one for one in violations(message | {"message_type": message_type(kind)}) if _head(one.path) not in apart]
    expected = f"a valid {message_type(kind)}"
    if found:
        raise Failed(exchange.evidence(expected, "; ".join(map(str, found))))
    return exchange.evidence(expected)


def _within(path: str, other: str) -> bool:
    """Whether a path is the other, or leads on from there."""
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _head(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
