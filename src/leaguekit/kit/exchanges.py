"""How the kit sends and receives: it can post any body, and it records every answer and every request.

RecordingClient  posts bodies and returns exchanges; raises nothing because of what a peer does
Observed         an answer or a request of the agent, as evidence
Exchange         one request of the kit and its answer
ExchangesByName  exchanges that several checks look at
Inbox            the endpoint of one agent of the kit: records every request, and answers as its script says
IncomingRequest  one request that an inbox has received
KitAgent         a player or a referee of the kit
Network          where inboxes listen: over HTTP, or in memory
"""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from leaguekit.agents.world import World
from leaguekit.kit.checks import NO_ANSWER, NOTHING_CAME, Evidence, Failed, NotRun
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import check_text
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import BY_TYPE, Message
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST, PING
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, RpcRequest
from leaguekit.transport.base import Caller, CallerLate, CallFailed, HttpAnswer, Peer

Json = dict[str, Any]
# The longest body that the kit accepts.
MAX_BYTES = MAX_TRUSTED_BYTES
# The most requests that an inbox keeps. An agent with a fault may send requests without end.
MAX_REQUESTS = 10_000
# How often the person at the terminal reads that the agent has not come yet.
PROGRESS_SECONDS = 10.0


class Unreadable(NamedTuple):
    """The value of a text that is not JSON."""

    why: str


def read_json(body: bytes) -> Any:
    """Return the JSON value in a body, or Unreadable."""
    try:
        check_text(body)
        return msgspec.json.decode(body)
    except ProtocolError as error:
        return Unreadable(error.detail)
    except DECODE_ERRORS as error:
        return Unreadable(f"it is not JSON: {error}")


def _object(value: Any) -> Json:
    """Return a JSON value if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(body: bytes) -> str:
    return body.decode(errors="replace")


class Observed(ABC):
    """What the kit has seen of an agent: an answer, or a request that the agent has sent."""

    @property
    @abstractmethod
    def message(self) -> Json:
        """The message; empty if there is none."""

    @abstractmethod
    def evidence(self, expected: str, came: str = "") -> Evidence:
        """Return it as evidence. ``came`` names the part that matters."""

    def fail_if(self, is_wrong: bool, expected: str, came: str = "") -> Evidence:
        """Raise Failed if something is wrong, and show ``came`` then; else return the evidence."""
        if is_wrong:
            raise self.failed(expected, came)
        return self.evidence(expected)

    def failed(self, expected: str, came: str = "") -> Failed:
        """Return the failure of a check that expected something else."""
        return Failed(self.evidence(expected, came))


@dataclass(frozen=True)
class Exchange(Observed):
    """A request and its HTTP answer. Without an answer, ``failure`` says why there is none."""

    url: str
    sent: bytes
    call_id: int | str | None
    limit_seconds: float
    answer: HttpAnswer | None
    failure: str
    seconds: float

    @property
    def value(self) -> Any:
        """The body of the answer as JSON, or Unreadable."""
        return Unreadable(self.failure) if self.answer is None else read_json(self.answer.body)

    @property
    def result(self) -> Any:
        """The ``result`` of a JSON-RPC answer, or None."""
        return _object(self.value).get("result")

    @property
    def message(self) -> Json:
        return _object(self.result)

    @property
    def error(self) -> Any:
        """The ``error`` of a JSON-RPC answer, or None."""
        return _object(self.value).get("error")

    @property
    def error_data(self) -> Json:
        """The ``data`` of the error; empty if there are none."""
        return _object(_object(self.error).get("data"))

    @property
    def came(self) -> str:
        """The answer, or the reason why there is none, for a report."""
        if self.answer is None:
            return self.failure
        body = text_of(self.answer.body) or "(an empty body)"
        return f"HTTP {self.answer.status} after {self.seconds:.2f} s: {body}"

    def evidence(self, expected: str, came: str = "") -> Evidence:
        return Evidence(text_of(self.sent), f"{came} in {self.came}" if came else self.came, expected)


class ExchangesByName(dict[str, Exchange]):
    """Exchanges that several checks look at. A missing one means that the check cannot run."""

    def __missing__(self, name: str) -> Exchange:
        raise NotRun(f"there is no answer to look at: {name} was not asked")


class RecordingClient:
    """Posts bodies to agents, and numbers its calls."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._ids = itertools.count(1)

    async def post(self, url: str, body: bytes, seconds: float, call_id: int | str | None = None) -> Exchange:
        """Post any body. Raises NotRun only if this machine was too slow to measure the answer."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer, failure = None, ""
        try:
            answer = await self._caller.post(url, body, seconds, MAX_BYTES)
        except CallFailed as error:
            failure = f"{NO_ANSWER} ({error.code}): {error}"
        except CallerLate as late:
            raise NotRun(f"this machine was too busy to measure that: {late}") from late
        return Exchange(url, body, call_id, seconds, answer, failure, loop.time() - began)

    async def call(
        self, url: str, method: str, params: Json | Message, seconds: float, call_id: int | str | None = None
    ) -> Exchange:
        """Call a method. Without ``call_id``, the id is the next number."""
        number = next(self._ids) if call_id is None else call_id
        body = encode_request(method, params, number)
        return await self.post(url, body, seconds, number)


def encode_request(method: str, params: Json | Message, call_id: int | str | None) -> bytes:
    """Return a JSON-RPC request, or a notification if ``call_id`` is None."""
    whole: Json = {"jsonrpc": "2.0", "method": method, "params": msgspec.to_builtins(params)}
    return encode(whole if call_id is None else whole | {"id": call_id})


def with_changes(message: Message | Json, changes: Json) -> Json:
    """Return a message with other values in some fields. The value ``...`` removes the field."""
    changed: Json = msgspec.to_builtins(message) | changes
    return {name: value for name, value in changed.items() if value is not ...}


def conversation_in(message: Json) -> str:
    """Return the conversation_id of a message for the answer to it, or the kit's own if it has none."""
    conversation = message.get("conversation_id")
    return conversation if isinstance(conversation, str) and conversation else "conv-check"


def encode(value: Any) -> bytes:
    """Return JSON in ASCII, because an agent may send characters that UTF-8 cannot encode."""
    return json.dumps(value).encode()


@dataclass(frozen=True)
class IncomingRequest(Observed):
    """A request that an inbox has received. ``value`` is its body as JSON, or Unreadable."""

    body: bytes
    peer: Peer
    received_at: datetime
    loop_time: float
    value: Any
    # Method and path of a request that was not POST /mcp, such as ``GET /``.
    other_target: str = ""

    @property
    def method(self) -> str:
        method = _object(self.value).get("method")
        return method if isinstance(method, str) else ""

    @property
    def message(self) -> Json:
        return _object(_object(self.value).get("params"))

    @property
    def message_type(self) -> str:
        return str(self.message.get("message_type", ""))

    @property
    def kind(self) -> type[Message] | None:
        """The type of the message, by its message_type or else by its method."""
        method = BY_NAME.get(self.method)
        return BY_TYPE.get(self.message_type) or (None if method is None else method.request)

    def evidence(self, expected: str, came: str = "") -> Evidence:
        body = text_of(self.body)
        return Evidence(came=f"{came} in {body}" if came else body, expected=expected)

    def __str__(self) -> str:
        """The method or the target, for progress and evidence."""
        return self.other_target or self.method or text_of(self.body) or "an empty body"


def is_a(kind: type[Message]) -> Callable[[IncomingRequest], bool]:
    """Return a predicate: whether a request has a message of that type."""
    return lambda request: request.kind is kind


class Refusal(Exception):
    """Raised by a script that answers with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        super().__init__(message)


# Returns the ``result`` of the answer, or the whole body as bytes. Raises Refusal for an error.
Script = Callable[[IncomingRequest], Awaitable[Any]]


@dataclass
class Inbox:
    """The endpoint of one agent of the kit. ``requests`` has every request in the order of arrival."""

    script: Script
    now: Callable[[], datetime]
    requests: list[IncomingRequest] = field(default_factory=list)
    _has_new: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Record a request and answer it. Each request of a batch is recorded and answered."""
        return await self.handle(request.body, peer)

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """The same for the body of a request."""
        value = read_json(body)
        if isinstance(value, list):
            answers = [await self._answer(encode(one), peer, one) for one in value]
            bodies = [answer for answer in answers if answer is not None]
            return b"[%b]" % b",".join(bodies) if bodies else None
        return await self._answer(body, peer, value)

    async def _answer(self, body: bytes, peer: Peer, value: Any) -> bytes | None:
        request = IncomingRequest(body, peer, self.now(), asyncio.get_running_loop().time(), value)
        self.record(request)
        call_id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(value, dict):
            why = value.why if isinstance(value, Unreadable) else "a request is an object"
            return encode({"jsonrpc": "2.0", "error": {"code": -32700, "message": why}, "id": None})
        try:
            result = await self.script(request)
        except Refusal as refusal:
            return encode({"jsonrpc": "2.0", "error": refusal.error, "id": call_id})
        if isinstance(result, bytes):
            return result
        answer = encode({"jsonrpc": "2.0", "result": msgspec.to_builtins(result), "id": call_id})
        return answer if "id" in value else None

    def record(self, request: IncomingRequest) -> None:
        if len(self.requests) < MAX_REQUESTS:
            self.requests.append(request)
        self._has_new.set()

    async def wait_for(self, wanted: Callable[[IncomingRequest], bool], seconds: float) -> IncomingRequest | None:
        """Return the first request that is wanted, or None if none arrives in time."""
        seen = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for request in self.requests[seen:]:
                        seen += 1
                        if wanted(request):
                            return request
                    self._has_new.clear()
                    await self._has_new.wait()
        except TimeoutError:
            return None

    async def wait_with_progress(
        self, wanted: Callable[[IncomingRequest], bool], seconds: float, role: str, on_progress: Callable[[str], None]
    ) -> IncomingRequest | None:
        """Do the same as ``wait_for``, and report regularly which other requests have arrived."""
        left, reported = seconds, 0
        while left > 0:
            request = await self.wait_for(wanted, min(left, PROGRESS_SECONDS))
            if request is not None:
                return request
            left -= PROGRESS_SECONDS
            strays = [f"{one.peer.host} asked for {one}" for one in self.requests[reported:]]
            reported = len(self.requests)
            on_progress("; ".join([f"no {role} yet, {max(left, 0):g} s left", *strays[:3]]))
        return None

    def missing(self, expected: str) -> Failed:
        """Return the failure of a check that expected another request. It shows the first requests that arrived."""
        return Failed(Evidence(came="; ".join(map(str, self.requests[:5])) or NOTHING_CAME, expected=expected))


class KitAgent(ABC):
    """A player or a referee of the kit. It records every request, and answers those that its role may get."""

    def __init__(self, world: World, role: Role) -> None:
        self.role: Role = role
        self.inbox = Inbox(self._respond, world.now)
        self.url = ""
        self.now = world.now

    def received(self, kind: type[Message]) -> list[IncomingRequest]:
        """Return the requests of a kind that it has received."""
        return [one for one in self.inbox.requests if one.kind is kind]

    async def _respond(self, request: IncomingRequest) -> Any:
        if (kind := request.kind) is not None and self.role in BY_REQUEST[kind].receivers:
            return await self.reply(kind, request)
        if request.method == PING:
            return {"status": "ok"}
        raise Refusal(-32601, f"a {self.role} has no method {request.method!r}")

    @abstractmethod
    async def reply(self, kind: type[Message], request: IncomingRequest) -> Any:
        """Return the answer to a message of a kind that its role may get."""


class Network(Protocol):
    """Where the kit's inboxes listen, and from where it calls agents."""

    @property
    def caller(self) -> Caller: ...

    def another_caller(self) -> Caller:
        """Return a caller with its own connections."""

    async def open(self, inbox: Inbox, port: int = 0) -> str:
        """Listen for an inbox. Return the URL at which agents reach it."""

    async def close(self) -> None:
        """Close all listeners and connections."""
