"""Agents with one thing about them changed on the wire.

A mutant stands between a real agent and the network: it sees every request that its agent sends, every request that it
gets and the answers to both, and may change, drop, delay, fake or repeat them. All else about the agent is as it is.
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
# In the place of a request: it is never answered, or not sent at all.
DROPPED = object()
# What stands at a path that is wrong: neither text nor list nor object, and no number that is allowed.
WRONG = -1


class Also(NamedTuple):
    """A request that is sent, and others, each to a URL, after so many seconds."""

    request: Json
    others: list[tuple[str, Json]]
    after: float = 0.0


class Faked(NamedTuple):
    """A request that is sent, if there is one, while its agent at once gets an answer that nobody gave."""

    request: Json | None
    result: Json
    after: float = 0.0


@dataclass
class Mutant:
    """What is changed; each may be a coroutine function."""

    # (request, URL) → what is sent in its place: a request, DROPPED, Also or Faked.
    sends: Callable[[Json, str], Any] = lambda request, _url: request
    # (request, answer) → what is answered in its place; bytes go out as they are.
    answers: Callable[[Any, Any], Any] = lambda _request, answer: answer
    # request → what its agent hears in its place, or DROPPED.
    hears: Callable[[Any], Any] = lambda request: request
    # (request, answer) → what its agent gets in the place of an answer, which is None if none came.
    gets: Callable[[Json, Any], Any] = lambda _request, answer: answer
    # Whether its program goes on when the league is over.
    stays: bool = False
    # For a manager: from the announcement of a round to its first match.
    lead: float = 60.0

    def handler(self, handle: Handler) -> Handler:
        async def handled(body: bytes, peer: Peer) -> bytes | None:
            try:
                request = json.loads(body)
            except (ValueError, RecursionError):
                request = body
            heard = await _settled(self.hears(request))
            if heard is DROPPED:
                await asyncio.Event().wait()
            answer = await handle(body if heard is request else json.dumps(heard).encode(), peer)
            given = await _settled(self.answers(request, None if answer is None else json.loads(answer)))
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
        sent = await _settled(self._mutant.sends(request, url))
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
            if (answer := self._mutant.gets(request, None)) is None:
                raise
            return HttpAnswer(200, json.dumps(answer).encode())
        try:
            answer = json.loads(came.body)
        except (ValueError, RecursionError):
            return came
        return replace(came, body=json.dumps(self._mutant.gets(request, answer)).encode())

    def _later(self, url: str, request: Json, after: float) -> None:
        async def post() -> HttpAnswer:
            await asyncio.sleep(after)
            return await MemoryCaller.post(self, url, json.dumps(request).encode(), 10.0)

        self._background.add(asyncio.ensure_future(post()))


def _answered(request: Json, result: Json) -> HttpAnswer:
    return HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "result": result, "id": request.get("id")}).encode())


async def _settled(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


# What mutants are made of

When = Callable[[Json], bool]


def params_of(request: Any) -> Json:
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}


def is_a(kind: str, **fields: Any) -> When:
    """Whether a request has a message of a type, with these values in some fields; __ stands for a dot."""

    def holds(request: Json) -> bool:
        params = params_of(request)
        found = {name: at(params, name.replace("__", ".")) for name in fields}
        return params.get("message_type") == kind and found == fields

    return holds


def at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def put(value: Any, path: str, wrong: Any = WRONG) -> Any:
    """A value with another one at a path; ... takes the field away, and ``[]`` stands for every member of a list."""
    head, _, rest = path.partition(".")
    if head.endswith("[]"):
        return value | {head[:-2]: [put(one, rest, wrong) for one in value[head[:-2]]]}
    if rest:
        return value | {head: put(value.get(head) or {}, rest, wrong)}
    return {name: one for name, one in value.items() if name != head} if wrong is ... else value | {head: wrong}


def made(wrong: Any, message: Json) -> Any:
    return wrong(message) if callable(wrong) else wrong


def once(when: When) -> When:
    """The first time only."""
    done: list[bool] = []

    def holds(request: Json) -> bool:
        if done or not when(request):
            return False
        done.append(True)
        return True

    return holds


def sending(when: When, path: str, wrong: Any = WRONG) -> Mutant:
    """Sends a field of a message wrongly; ``wrong`` may be made from the message."""

    def change(request: Json, _url: str) -> Json:
        if not when(request):
            return request
        return request | {"params": put(request["params"], path, made(wrong, request["params"]))}

    return Mutant(sends=change)


def answering(when: When, path: str, wrong: Any = WRONG) -> Mutant:
    """Gives an answer with something wrong in it; the path begins with result or error."""

    def change(request: Any, answer: Any) -> Any:
        if not isinstance(answer, dict) or not isinstance(request, dict) or not when(request):
            return answer
        if path.partition(".")[0] not in answer:
            return answer
        return put(answer, path, made(wrong, answer))

    return Mutant(answers=change)


def taking(when: Callable[[Any], bool]) -> Mutant:
    """Takes what it should refuse."""

    def change(request: Any, answer: Any) -> Any:
        if not when(request):
            return answer
        return {"jsonrpc": "2.0", "result": {}, "id": request.get("id") if isinstance(request, dict) else None}

    return Mutant(answers=change)


def refusing(when: Callable[[Any], bool], code: int = -32603) -> Mutant:
    """Refuses what it should take."""

    def change(request: Any, answer: Any) -> Any:
        if not when(request):
            return answer
        return {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": request.get("id")}

    return Mutant(answers=change)


def dropping(when: When) -> Mutant:
    """Never sends a message."""
    return Mutant(sends=lambda request, _url: DROPPED if when(request) else request)


def deaf(when: Callable[[Any], bool]) -> Mutant:
    """Never answers a message."""
    return Mutant(hears=lambda request: DROPPED if when(request) else request)


def delaying(when: When, seconds: float) -> Mutant:
    """Sends a message later."""

    async def later(request: Json, _url: str) -> Json:
        await asyncio.sleep(seconds if when(request) else 0)
        return request

    return Mutant(sends=later)


def repeating(when: When) -> Mutant:
    """Sends a message twice."""
    return Mutant(sends=lambda request, url: Also(request, [(url, request)]) if when(request) else request)


# The mutants of kit.rpc, which are the same for every agent: ``good`` recognises the call that it is tried with.


def of_rpc(good: When) -> dict[str, Callable[[], Mutant]]:
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
    mutants: dict[str, Callable[[], Mutant]] = {f"rpc.{name}": partial(taking, when) for name, when in wrong.items()}
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
    mutants |= {f"rpc.{name}": partial(taking, when) for name, when in bodies.items()}

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
        "rpc.unknown_fields": lambda: refusing(lambda request: "from_a_later_version" in params_of(request)),
        "rpc.unknown_method": lambda: taking(
            lambda request: isinstance(request, dict) and request.get("method") == "no_such_method"
        ),
        "rpc.other_message": lambda: taking(
            lambda request: (
                params_of(request).get("message_type") == "GAME_JOIN_ACK"
                and request["method"] not in ("game_join_ack", "GAME_JOIN_ACK")
            )
        ),
        "rpc.batch": lambda: Mutant(answers=short),
        "rpc.notification": lambda: Mutant(answers=talkative),
        "rpc.alive": lambda: refusing(of_id(40_962)),
    }


# What the tests of mutants share


def failed(outcomes: Sequence[Outcome]) -> set[str]:
    """The checks that failed; that the kit itself did not is a condition."""
    assert not [one for one in outcomes if one.is_our_fault], [one.reason for one in outcomes if one.is_our_fault]
    return {one.check.id for one in outcomes if one.state == "failed"}


def about(check: Check[Any], checks: Sequence[Check[Any]]) -> list[Check[Any]]:
    """The checks of the same area, and all that they rest on."""
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


def quick(checks: Sequence[Check[Any]], mutants: Mapping[str, object]) -> list[Check[Any]]:
    """All checks but those of fields that are made from tables, of which one a message stands for the others.

    All of them are tried by the long tests.
    """
    return [
        one
        for one in checks
        if not isinstance(mutants[one.id], partial) or one.id.endswith((".message_type", "s[].points"))
    ]


def check_registry(checks: Sequence[Check[Any]], mutants: Mapping[str, object]) -> None:
    """Ids are of their own, sources exist, each check has its mutant, and nothing required rests on advice."""
    assert mutants.keys() == {check.id for check in checks}
    assert len(mutants) == len(checks)
    for check in checks:
        assert check.sentence.endswith("."), check.id
        assert check.requirements, check.id
        assert not check.is_required or all(need.is_required for need in check.needs), check.id
        for requirement in check.requirements:
            assert requirement in REQUIREMENTS or requirement.startswith("decision "), (check.id, requirement)
