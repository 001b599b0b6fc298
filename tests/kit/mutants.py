"""Agents with one thing about them changed on the wire.

A mutant is between a real agent and the network. It sees every request that its agent sends or receives, and the
answers to both. It may change, drop, delay, fake or repeat them. Otherwise the agent is not changed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from leaguekit.kit.checks import Check, Outcome
from leaguekit.transport.base import CallFailed, Handler, HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from tests.requirements import REQUIREMENTS

Json = dict[str, Any]
# Stands for a request that is not sent, or not answered.
DROPPED = object()
# A value that is wrong in every field: it is not a text, a list or an object, and the number is not allowed.
WRONG = -1


class Also(NamedTuple):
    """A request, and others that are sent to other URLs ``after`` that many seconds."""

    request: Json
    others: list[tuple[str, Json]]
    after: float = 0.0


class Faked(NamedTuple):
    """A request, if any, while its agent gets a made-up answer at once."""

    request: Json | None
    result: Json
    after: float = 0.0


@dataclass
class Mutant:
    """What is changed. Each function may be a coroutine function."""

    # (request, URL) → what the agent sends instead: a request, DROPPED, Also or Faked.
    change_request: Callable[[Json, str], Any] = lambda request, _url: request
    # (request, answer) → what the agent answers instead. Bytes are sent as they are.
    change_answer: Callable[[Any, Any], Any] = lambda _request, answer: answer
    # request → what the agent receives instead, or DROPPED.
    change_incoming: Callable[[Any], Any] = lambda request: request
    # (request, answer) → the answer that the agent receives instead. The answer is None if there was none.
    change_received_answer: Callable[[Json, Any], Any] = lambda _request, answer: answer
    # Whether the agent keeps running after the end of the league.
    keeps_running: bool = False
    # For a manager: the seconds from the announcement of a round to its first match.
    announce_lead: float = 60.0

    def handler(self, handle: Handler) -> Handler:
        async def handled(body: bytes, peer: Peer) -> bytes | None:
            try:
                request = json.loads(body)
            except (ValueError, RecursionError):
                request = body
            changed = await _awaited(self.change_incoming(request))
            if changed is DROPPED:
                await asyncio.Event().wait()
            answer = await handle(body if changed is request else json.dumps(changed).encode(), peer)
            given = await _awaited(self.change_answer(request, None if answer is None else json.loads(answer)))
            if given is None or isinstance(given, bytes):
                return given
            return json.dumps(given).encode()

        return handled

    def caller(self, network: MemoryNetwork) -> MemoryCaller:
        return _MutantCaller(network, self)


class _MutantCaller(MemoryCaller):
    def __init__(self, network: MemoryNetwork, mutant: Mutant) -> None:
        super().__init__(network)
        self._mutant = mutant
        self._background: set[asyncio.Task[HttpAnswer]] = set()

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        request = json.loads(body)
        if "method" not in request:
            return await super().post(url, body, seconds, max_bytes)
        sent = await _awaited(self._mutant.change_request(request, url))
        if sent is DROPPED:
            return _answered(request, {})
        if isinstance(sent, Faked):
            if sent.request is not None:
                self._later(url, sent.request, sent.after)
            return _answered(request, sent.result)
        if isinstance(sent, Also):
            for other, more in sent.others:
                self._later(other, more, sent.after)
            sent = sent.request
        try:
            came = await super().post(url, json.dumps(sent).encode(), seconds, max_bytes)
        except CallFailed:
            if (answer := self._mutant.change_received_answer(request, None)) is None:
                raise
            return HttpAnswer(200, json.dumps(answer).encode())
        try:
            answer = json.loads(came.body)
        except (ValueError, RecursionError):
            return came
        return replace(came, body=json.dumps(self._mutant.change_received_answer(request, answer)).encode())

    def _later(self, url: str, request: Json, after: float) -> None:
        async def post() -> HttpAnswer:
            await asyncio.sleep(after)
            return await MemoryCaller.post(self, url, json.dumps(request).encode(), 10.0)

        self._background.add(asyncio.ensure_future(post()))


def _answered(request: Json, result: Json) -> HttpAnswer:
    return HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "result": result, "id": request.get("id")}).encode())


async def _awaited(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


# The parts of a mutant

When = Callable[[Json], bool]


def params_of(request: Any) -> Json:
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}


def is_a(kind: str, **fields: Any) -> When:
    """Return a predicate: whether a request has a message of a type with these values. __ stands for a dot."""

    def holds(request: Json) -> bool:
        params = params_of(request)
        found = {name: value_at(params, name.replace("__", ".")) for name in fields}
        return params.get("message_type") == kind and found == fields

    return holds


def value_at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def with_value(value: Any, path: str, wrong: Any = WRONG) -> Any:
    """Return a value with another one at a path. ``...`` removes the field; ``[]`` stands for every member."""
    head, _, rest = path.partition(".")
    if head.endswith("[]"):
        return value | {head[:-2]: [with_value(one, rest, wrong) for one in value[head[:-2]]]}
    if rest:
        return value | {head: with_value(value.get(head) or {}, rest, wrong)}
    return {name: one for name, one in value.items() if name != head} if wrong is ... else value | {head: wrong}


def wrong_value(wrong: Any, message: Json) -> Any:
    return wrong(message) if callable(wrong) else wrong


def once(when: When) -> When:
    """Return a predicate that is true only the first time."""
    done: list[bool] = []

    def holds(request: Json) -> bool:
        if done or not when(request):
            return False
        done.append(True)
        return True

    return holds


def sending(when: When, path: str, wrong: Any = WRONG) -> Mutant:
    """Send a wrong value in a field. ``wrong`` may be a function of the message."""

    def change(request: Json, _url: str) -> Json:
        if not when(request):
            return request
        return request | {"params": with_value(request["params"], path, wrong_value(wrong, request["params"]))}

    return Mutant(change_request=change)


def answering(when: When, path: str, wrong: Any = WRONG) -> Mutant:
    """Answer with a wrong value. The path begins with result or error."""

    def change(request: Any, answer: Any) -> Any:
        if not isinstance(answer, dict) or not isinstance(request, dict) or not when(request):
            return answer
        if path.partition(".")[0] not in answer:
            return answer
        return with_value(answer, path, wrong_value(wrong, answer))

    return Mutant(change_answer=change)


def accepting(when: Callable[[Any], bool]) -> Mutant:
    """Accept a request that should be refused."""

    def change(request: Any, answer: Any) -> Any:
        if not when(request):
            return answer
        return {"jsonrpc": "2.0", "result": {}, "id": request.get("id") if isinstance(request, dict) else None}

    return Mutant(change_answer=change)


def refusing(when: Callable[[Any], bool], code: int = -32603) -> Mutant:
    """Refuse a request that should be accepted."""

    def change(request: Any, answer: Any) -> Any:
        if not when(request):
            return answer
        return {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": request.get("id")}

    return Mutant(change_answer=change)


def dropping(when: When) -> Mutant:
    """Do not send a message."""
    return Mutant(change_request=lambda request, _url: DROPPED if when(request) else request)


def ignoring(when: Callable[[Any], bool]) -> Mutant:
    """Do not answer a message."""
    return Mutant(change_incoming=lambda request: DROPPED if when(request) else request)


def delaying(when: When, seconds: float) -> Mutant:
    """Send a message later."""

    async def later(request: Json, _url: str) -> Json:
        await asyncio.sleep(seconds if when(request) else 0)
        return request

    return Mutant(change_request=later)


def repeating(when: When) -> Mutant:
    """Send a message twice."""
    return Mutant(change_request=lambda request, url: Also(request, [(url, request)]) if when(request) else request)


# The mutants of kit.rpc_checks, which are the same for every agent. ``good`` recognises the valid call.


def rpc_mutants(good: When) -> dict[str, Callable[[], Mutant]]:
    def with_field(name: str, *values: Any) -> When:
        return lambda request: good(request) and params_of(request).get(name, ...) in values

    wrong: dict[str, When] = {
        "missing_field": with_field("league_id", ...),
        "null_field": with_field("league_id", None),
        "wrong_type": with_field("league_id", 7),
        "wrong_protocol": with_field("protocol", "league.v1"),
        "no_zone": with_field("timestamp", "2025-01-15T10:30:00"),
        "wrong_zone": with_field("timestamp", "2025-01-15T10:30:00+02:00"),
    }
    mutants: dict[str, Callable[[], Mutant]] = {f"rpc.{name}": partial(accepting, when) for name, when in wrong.items()}
    mutants |= {
        f"rpc.{name}_code": partial(answering, when, "error.data", ...)
        for name, when in wrong.items()
        if name != "wrong_type"
    }
    bodies: dict[str, Callable[[Any], bool]] = {
        "no_json": lambda body: body == b'{"jsonrpc": "2.0", "method": ',
        "not_utf8": lambda body: isinstance(body, bytes) and b'\xff"' in body,
        "too_deep": lambda body: isinstance(body, bytes) and body.startswith(b"[[["),
        "no_request": lambda body: body == "league.v2",
        "no_method": lambda body: isinstance(body, dict) and "method" not in body,
        "empty_batch": lambda body: body == [],
    }
    mutants |= {f"rpc.{name}": partial(accepting, when) for name, when in bodies.items()}

    def of_id(call_id: Any) -> Callable[[Any], bool]:
        return lambda request: isinstance(request, dict) and request.get("id") == call_id

    def talkative(request: Any, answer: Any) -> Any:
        is_notification = isinstance(request, dict) and "id" not in request and good(request)
        return {"jsonrpc": "2.0", "result": {}, "id": None} if is_notification else answer

    def short(_request: Any, answer: Any) -> Any:
        return answer[:1] if isinstance(answer, list) else answer

    return mutants | {
        "rpc.ids": lambda: answering(of_id(40_961), "id", 7),
        "rpc.string_id": lambda: answering(of_id("check-7f3a"), "id", 7),
        "rpc.type_as_method": lambda: refusing(
            lambda request: good(request) and request["method"] == params_of(request)["message_type"]
        ),
        "rpc.method_names": lambda: refusing(
            lambda request: good(request) and request["method"] != params_of(request)["message_type"], -32601
        ),
        "rpc.unknown_fields": lambda: refusing(lambda request: "from_a_later_version" in params_of(request)),
        "rpc.unknown_method": lambda: accepting(
            lambda request: isinstance(request, dict) and request.get("method") == "no_such_method"
        ),
        "rpc.other_message": lambda: accepting(
            lambda request: (
                params_of(request).get("message_type") == "GAME_JOIN_ACK"
                and request["method"] not in ("game_join_ack", "GAME_JOIN_ACK")
            )
        ),
        "rpc.batch": lambda: Mutant(change_answer=short),
        "rpc.notification": lambda: Mutant(change_answer=talkative),
        "rpc.alive": lambda: refusing(of_id(40_962)),
    }


# Helpers of the tests


def failed(outcomes: Sequence[Outcome]) -> set[str]:
    """Return the ids of the checks that failed. The kit itself must not have failed."""
    assert not [one for one in outcomes if one.is_our_fault], [one.reason for one in outcomes if one.is_our_fault]
    return {one.check.id for one in outcomes if one.state == "failed"}


def checks_of_area(check: Check[Any], checks: Sequence[Check[Any]]) -> list[Check[Any]]:
    """Return the checks of the same area, and all checks that they need."""
    wanted: set[str] = set()

    def add(one: Check[Any]) -> None:
        if one.id not in wanted:
            wanted.add(one.id)
            for need in one.needs:
                add(need)

    for one in checks:
        if one.area == check.area:
            add(one)
    return [one for one in checks if one.id in wanted]


def without_table_checks(checks: Sequence[Check[Any]], mutants: Mapping[str, object]) -> list[Check[Any]]:
    """Return all checks but those of fields that are made from tables. One field of each message is kept.

    The long tests try all of them.
    """
    return [
        one
        for one in checks
        if not isinstance(mutants[one.id], partial) or one.id.endswith((".message_type", "s[].points"))
    ]


def check_registry(checks: Sequence[Check[Any]], mutants: Mapping[str, object]) -> None:
    """Assert that ids are unique, that requirements exist, and that each check has a mutant.

    A required check must not need a check that is only recommended.
    """
    assert mutants.keys() == {check.id for check in checks}
    assert len(mutants) == len(checks)
    for check in checks:
        assert check.sentence.endswith("."), check.id
        assert check.requirements, check.id
        assert not check.is_required or all(need.is_required for need in check.needs), check.id
        for requirement in check.requirements:
            assert requirement in REQUIREMENTS or requirement.startswith("decision "), (check.id, requirement)
