"""JSON-RPC to the letter, for agents that are called in earnest: what nobody should send, and how it is refused.

``letter`` adds the same checks for a referee and a manager; each brings a good call of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from leaguekit.kit.answer_checks import is_refusal, is_result, same
from leaguekit.kit.checks import Area, Check, Evidence
from leaguekit.kit.exchanges import Exchange, Json, Line, encode, request
from leaguekit.protocol.messages import Request
from leaguekit.protocol.methods import BY_REQUEST

SECONDS = 10.0
STRING_ID = "check-7f3a"


class Scene(Protocol):
    """A scene with an agent to call, and a call that it must take however often it comes."""

    line: Line

    @property
    def url(self) -> str: ...

    def good_call(self) -> Request: ...


SceneT = TypeVar("SceneT", bound=Scene)


class Wrong(NamedTuple):
    """A change to a good call, by which it is to be refused with a number, and in its data with a code."""

    name: str
    sentence: str
    requirements: tuple[str, ...]
    changes: Json
    number: int
    code: str
    is_required: bool = True


class Body(NamedTuple):
    """A body that is refused with a number of JSON-RPC's own."""

    name: str
    what: str
    text: bytes
    number: int


_WRONG = (
    Wrong(
        "missing_field",
        "A message without a required field is refused with -32602.",
        ("000-L1430", "000-L1226"),
        {"league_id": ...},
        -32602,
        "E003",
    ),
    Wrong(
        "null_field",
        "A message with null in a required field is refused with -32602.",
        ("000-L1431",),
        {"league_id": None},
        -32602,
        "E003",
    ),
    Wrong(
        "wrong_type",
        "A message with a number where text belongs is refused with -32602.",
        ("000-L1425",),
        {"league_id": 7},
        -32602,
        "",
    ),
    Wrong(
        "wrong_protocol",
        "A message of another protocol than league.v2 is refused with -32602.",
        ("000-L1230", "000-L0062"),
        {"protocol": "league.v1"},
        -32602,
        "E018",
        is_required=False,
    ),
    Wrong(
        "no_zone",
        "A timestamp without a time zone is refused with -32602.",
        ("000-L1232", "000-L1412"),
        {"timestamp": "2025-01-15T10:30:00"},
        -32602,
        "E021",
        is_required=False,
    ),
    Wrong(
        "wrong_zone",
        "A timestamp of another zone than UTC is refused with -32602.",
        ("000-L1232", "000-L1414"),
        {"timestamp": "2025-01-15T10:30:00+02:00"},
        -32602,
        "E021",
        is_required=False,
    ),
    Wrong(
        "other_message",
        "A message that does not fit its method is refused with -32602.",
        ("000-L1503", "decision 1"),
        {"message_type": "GAME_JOIN_ACK"},
        -32602,
        "",
        is_required=False,
    ),
)
_BODIES = (
    Body("no_json", "A body that is no JSON", b'{"jsonrpc": "2.0", "method": ', -32700),
    Body("not_utf8", "A body that is not UTF-8", b'{"jsonrpc": "2.0", "method": "\xff", "id": 1}', -32700),
    Body("too_deep", "JSON nested 5,000 levels deep", b"[" * 5_000 + b"]" * 5_000, -32700),
    Body("no_request", "JSON that is no request", b'"league.v2"', -32600),
    Body("no_method", "A request without a method", b'{"jsonrpc": "2.0", "params": {}, "id": 1}', -32600),
    Body("empty_batch", "An empty batch", b"[]", -32600),
)
# Of these no answer is expected but that the agent lives.
RUBBISH: tuple[bytes, ...] = (
    b"",
    b"\xff\xfe\x00league",
    b"null",
    b"{" * 2_000,
    b'{"jsonrpc":"2.0","method":null,"params":7,"id":{}}',
    b'{"jsonrpc":"2.0","method":"report_match_result","params":[],"id":1}',
    b'{"jsonrpc":"2.0","method":"start_match","params":{"match_id":{}},"id":1}',
    b'{"jsonrpc":"2.0","method":"ping","params":{},"id":1e400}',
)


def letter(area: Area[SceneT], who: str, needs: Iterable[Check[SceneT]], *, is_strict: bool) -> None:
    """Add the checks of JSON-RPC to an area; ``who`` is the agent in words, such as "The referee".

    ``is_strict`` is for an agent whose refusals others rely on: there it is required that it makes them.
    """
    needs = [*needs]
    _add_ids(area, who, needs)
    _add_forms(area, who, needs)
    for wrong in _WRONG:
        _add_wrong(area, wrong if is_strict else wrong._replace(is_required=False), needs)
    for body in _BODIES:
        _add_body(area, body, needs)
    _add_many(area, who, needs)

    @area.required(
        "alive", f"After all that nobody should send, {who.lower()} still answers.", "000-L1542", needs=needs
    )
    async def alive(scene: SceneT) -> Evidence:
        for body in RUBBISH:
            await scene.line.post(scene.url, body, SECONDS)
        return is_result(await _called(scene, 40_962))


def _add_ids(area: Area[SceneT], who: str, needs: list[Check[SceneT]]) -> None:
    @area.required("ids", f"{who} repeats an id that is a number.", "001-L0045", "002-L0073", needs=needs)
    async def number_id(scene: SceneT) -> Evidence:
        return _echoed(await _called(scene, 40_961), 40_961)

    @area.recommended("string_id", f"{who} repeats an id that is text.", "001-L0045", "decision 2", needs=needs)
    async def string_id(scene: SceneT) -> Evidence:
        return _echoed(await _called(scene, STRING_ID), STRING_ID)


def _add_forms(area: Area[SceneT], who: str, needs: list[Check[SceneT]]) -> None:
    @area.recommended(
        "type_as_method",
        f"{who} also takes the message type as the method, as document 002 has it.",
        "002-L0064",
        "decision 1",
        needs=needs,
    )
    async def type_as_method(scene: SceneT) -> Evidence:
        message = msgspec.to_builtins(scene.good_call())
        return is_result(await scene.line.call(scene.url, message["message_type"], message, SECONDS))

    @area.required("unknown_fields", f"{who} ignores fields that it does not know.", "000-L1594", needs=needs)
    async def unknown_fields(scene: SceneT) -> Evidence:
        return is_result(await changed(scene, {"from_a_later_version": {"of": ["league.v2"]}}))

    @area.recommended(
        "unknown_method", f"{who} refuses a method that it does not have with -32601.", "001-L0051", needs=needs
    )
    async def unknown_method(scene: SceneT) -> Evidence:
        return is_refusal(await scene.line.call(scene.url, "no_such_method", {}, SECONDS), -32601)


def _add_many(area: Area[SceneT], who: str, needs: list[Check[SceneT]]) -> None:
    @area.recommended(
        "batch", f"{who} answers a batch with a list, an answer for each id.", "001-L0009", "decision 2", needs=needs
    )
    async def batch(scene: SceneT) -> Evidence:
        calls = [json.loads(request(*_good(scene), number)) for number in (901, 902)]
        exchange = await scene.line.post(scene.url, encode(calls), SECONDS)
        members = exchange.value if isinstance(exchange.value, list) else []
        ids = sorted(str(one.get("id")) for one in members if isinstance(one, dict))
        return _expect(exchange, "a list of two answers, with the ids 901 and 902", is_so=ids == ["901", "902"])

    @area.recommended(
        "notification",
        f"{who} answers a notification, a request without an id, with no JSON-RPC answer.",
        "001-L0038",
        "decision 2",
        needs=needs,
    )
    async def notification(scene: SceneT) -> Evidence:
        exchange = await scene.line.post(scene.url, request(*_good(scene), None), SECONDS)
        is_silent = exchange.answer is not None and not exchange.answer.body.strip()
        return _expect(exchange, "an HTTP answer with an empty body", is_so=is_silent)


def _add_wrong(area: Area[SceneT], wrong: Wrong, needs: list[Check[SceneT]]) -> None:
    add = area.required if wrong.is_required else area.recommended

    @add(wrong.name, wrong.sentence, *wrong.requirements, needs=needs)
    async def refused(scene: SceneT) -> Evidence:
        return is_refusal(await changed(scene, wrong.changes), wrong.number)

    if wrong.code:
        sentence = f"{wrong.sentence.rstrip('.')}, and {wrong.code} in its data."

        @area.recommended(f"{wrong.name}_code", sentence, *wrong.requirements, "001-L1518", needs=[*needs, refused])
        async def told(scene: SceneT) -> Evidence:
            return has_code(await changed(scene, wrong.changes), wrong.code)


def _add_body(area: Area[SceneT], body: Body, needs: list[Check[SceneT]]) -> None:
    sentence = f"{body.what} is refused with {body.number}."

    @area.recommended(body.name, sentence, "001-L0009", "001-L1860", needs=needs)
    async def refused(scene: SceneT) -> Evidence:
        return is_refusal(await scene.line.post(scene.url, body.text, SECONDS), body.number)


def has_code(exchange: Exchange, code: str) -> Evidence:
    """That the answer is an error whose data name a code of the catalogue."""
    is_refusal(exchange)
    data = exchange.error.get("data")
    found = data.get("error_code") if isinstance(data, dict) else None
    return _expect(exchange, f'"error": {{"data": {{"error_code": "{code}", …}}}}', is_so=found == code)


def _good(scene: Scene) -> tuple[str, Request]:
    message = scene.good_call()
    return BY_REQUEST[type(message)].name, message


async def _called(scene: Scene, call_id: int | str) -> Exchange:
    return await scene.line.call(scene.url, *_good(scene), SECONDS, call_id)


async def changed(scene: Scene, changes: Json) -> Exchange:
    """What comes of a good call with other values in some fields; ... takes a field away."""
    method, message = _good(scene)
    whole: Json = msgspec.to_builtins(message) | changes
    sent = {name: value for name, value in whole.items() if value is not ...}
    return await scene.line.call(scene.url, method, sent, SECONDS)


def _echoed(exchange: Exchange, call_id: int | str) -> Evidence:
    value = exchange.value
    came = value.get("id") if isinstance(value, dict) else None
    return _expect(exchange, f'"id": {json.dumps(call_id)}', is_so=same(came, call_id))


def _expect(exchange: Exchange, expected: str, *, is_so: bool) -> Evidence:
    if not is_so:
        raise exchange.failed(expected)
    return exchange.evidence(expected)
