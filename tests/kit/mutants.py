"""Our own referee and manager on a network in memory, with one thing about them changed on the wire.

A mutant sees every request that its agent sends and every answer that it gives, and may change, drop, delay or repeat
them; everything else about the agent is as it is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from leaguekit.kit.exchanges import Desk
from leaguekit.transport.base import Caller, Handler, HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

Json = dict[str, Any]
BEGAN = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
# In the place of a message: it is not sent, and whoever sends it believes that it was taken.
DROPPED = object()


def clock() -> datetime:
    return BEGAN + timedelta(seconds=asyncio.get_running_loop().time())


class MemoryGround:
    """The kit on a network in memory."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.caller: Caller = MemoryCaller(network)
        self._network = network
        self._ports = iter(range(9_000, 60_000))

    async def open(self, desk: Desk, port: int = 0) -> str:
        url = f"http://127.0.0.1:{port or next(self._ports)}/mcp"
        self._network.listen(url, desk.handle)
        return url

    async def close(self) -> None: ...


# What a mutant makes of a request that its agent sends, or of the answer to one that it gets (request, answer): the
# body in its place, several, or DROPPED. Coroutines may wait.
Outgoing = Callable[[Json], Any]
Answering = Callable[[Json, Any], Any]
Incoming = Callable[[Json], Any]


@dataclass
class Mutant:
    """One thing that is changed. ``calls`` is what came of it, for those who count."""

    sends: Outgoing = lambda request: request
    answers: Answering = lambda _request, answer: answer
    # What it hears, in the place of what was sent to it: a request, or DROPPED for one that it never answers.
    hears: Incoming = lambda request: request
    # What it takes for the answer to its own request.
    gets: Answering = lambda _request, answer: answer
    seen: dict[str, int] = field(default_factory=dict)

    def handler(self, handle: Handler) -> Handler:
        async def handled(body: bytes, peer: Peer) -> bytes | None:
            try:
                request = json.loads(body)
            except (ValueError, RecursionError):
                request = {"not JSON": body}
            heard = await _settled(self.hears(request))
            if heard is DROPPED:
                await asyncio.Event().wait()
            changed = body if heard is request or not isinstance(heard, dict) else json.dumps(heard).encode()
            answer = await handle(changed, peer)
            value = None if answer is None else json.loads(answer)
            given = await _settled(self.answers(request, value))
            if isinstance(given, bytes):
                return given
            return None if given is None else json.dumps(given).encode()

        return handled

    def caller(self, network: MemoryNetwork) -> Caller:
        return _MutantCaller(network, self)


class _MutantCaller(MemoryCaller):
    def __init__(self, network: MemoryNetwork, mutant: Mutant) -> None:
        super().__init__(network)
        self._mutant = mutant

    async def post(self, url: str, body: bytes, seconds: float, most_bytes: int = 1_048_576) -> HttpAnswer:
        request = json.loads(body)
        sent = await _settled(self._mutant.sends(request))
        if sent is DROPPED:
            return HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "result": {}, "id": request.get("id")}).encode())
        bodies = sent if isinstance(sent, list) else [sent]
        for one in bodies:
            came = await super().post(url, json.dumps(one).encode(), seconds, most_bytes)
        if self._mutant.gets is not Mutant.gets and came.body:
            return came._replace(body=json.dumps(self._mutant.gets(request, json.loads(came.body))).encode())
        return came


async def _settled(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


# What mutants are made of

WRONG = -1


def type_of(request: Any) -> str:
    params = request.get("params") if isinstance(request, dict) else None
    return str(params.get("message_type", "")) if isinstance(params, dict) else ""


def put(value: Any, path: str, wrong: Any = WRONG) -> Any:
    """A value with another one at a path; ... takes the field away, and ``[]`` stands for every member of a list."""
    head, _, rest = path.partition(".")
    if head.endswith("[]"):
        members = value[head[:-2]]
        return value | {head[:-2]: [put(one, rest, wrong) for one in members]}
    if rest:
        return value | {head: put(value.get(head) or {}, rest, wrong)}
    return {name: one for name, one in value.items() if name != head} if wrong is ... else value | {head: wrong}


def sending(kind: str, path: str, wrong: Any = WRONG, match: str | None = None) -> Mutant:
    """Sends a field of a message wrongly, in one match or in all. ``wrong`` may be made from the message."""

    def change(request: Json) -> Json:
        if type_of(request) != kind or match not in (None, request["params"].get("match_id")):
            return request
        value = wrong(request["params"]) if callable(wrong) else wrong
        return request | {"params": put(request["params"], path, value)}

    return Mutant(sends=change)


def answering(kind: str, path: str, wrong: Any = WRONG) -> Mutant:
    """Answers a message with a field of the result wrong."""

    def change(request: Json, answer: Any) -> Any:
        if type_of(request) != kind or not isinstance(answer, dict) or "result" not in answer:
            return answer
        value = wrong(answer["result"]) if callable(wrong) else wrong
        return answer | {"result": put(answer["result"], path, value)}

    return Mutant(answers=change)


def dropping(kind: str, when: Callable[[Json], bool] = lambda _params: True) -> Mutant:
    """Never sends a message, and believes that it was taken."""
    return Mutant(sends=lambda request: DROPPED if type_of(request) == kind and when(request["params"]) else request)
