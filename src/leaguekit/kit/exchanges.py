"""The kit's side of the wire: it posts what it likes and keeps whatever comes back, and takes whatever it is sent.

Line      posts bodies and keeps the exchanges; nothing that a peer does raises anything here
Exchange  one request of ours and what came of it
Seen      exchanges by name
Desk      one of the kit's own agents: keeps every request that comes, and answers as its script says
Arrived   one request that came
Ground    where desks are put up: HTTP, or a network in memory
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from leaguekit.kit.checks import Evidence, Failed, NotRun
from leaguekit.protocol.decoding import check_text
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import Message
from leaguekit.protocol.rpc import MAX_BYTES_FROM_ABOVE, RpcRequest
from leaguekit.transport.base import Caller, CallerLate, CallFailed, HttpAnswer, Peer

Json = dict[str, Any]
# What the kit takes in an answer; more is said to be too much.
MAX_BYTES = MAX_BYTES_FROM_ABOVE
# At most so many requests are kept: an agent may go mad.
MAX_ARRIVED = 10_000
# How often it is told that nobody has come yet.
TELL_SECONDS = 10.0


class Unreadable(NamedTuple):
    """In the place of a value: a text that is no JSON, and why."""

    why: str


def read_json(body: bytes) -> Any:
    """Any JSON value, or Unreadable."""
    try:
        check_text(body)
        return msgspec.json.decode(body)
    except ProtocolError as error:
        return Unreadable(error.detail)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unreadable(f"it is not JSON: {error}")


def text_of(body: bytes) -> str:
    return body.decode(errors="replace")


@dataclass(frozen=True)
class Exchange:
    """A request and what came of it: an HTTP answer, or the words for why there is none."""

    url: str
    sent: bytes
    call_id: int | str | None
    limit: float
    answer: HttpAnswer | None
    failure: str
    seconds: float

    @property
    def value(self) -> Any:
        """The answer's body as JSON, or Unreadable."""
        return Unreadable(self.failure) if self.answer is None else read_json(self.answer.body)

    @property
    def result(self) -> Any:
        """The ``result`` of the answer if it is JSON-RPC; None if it has none."""
        value = self.value
        return value.get("result") if isinstance(value, dict) else None

    @property
    def error(self) -> Any:
        """The ``error`` of the answer if it is JSON-RPC; None if it has none."""
        value = self.value
        return value.get("error") if isinstance(value, dict) else None

    @property
    def came(self) -> str:
        """What came back, for a report."""
        if self.answer is None:
            return self.failure
        body = text_of(self.answer.body) or "(an empty body)"
        return f"HTTP {self.answer.status} after {self.seconds:.2f} s: {body}"

    def evidence(self, expected: str, came: str = "") -> Evidence:
        """The exchange as the evidence of a check; ``came`` says first what in it matters."""
        return Evidence(text_of(self.sent), f"{came} in {self.came}" if came else self.came, expected)

    def failed(self, expected: str, came: str = "") -> Failed:
        return Failed(self.evidence(expected, came))


class Seen(dict[str, Exchange]):
    """Exchanges by name, for all checks that look at the same one."""

    def __missing__(self, name: str) -> Exchange:
        raise NotRun(f"there is no answer to look at: {name} was not asked")


class Line:
    """Posts bodies to agents. One call at a time or many; ids count up."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._ids = itertools.count(1)

    async def post(self, url: str, body: bytes, seconds: float, call_id: int | str | None = None) -> Exchange:
        """Post a body, whatever it is. Raises NotRun only if this machine was too slow to tell what came of it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer, failure = None, ""
        try:
            answer = await self._caller.post(url, body, seconds, MAX_BYTES)
        except CallFailed as error:
            failure = f"no answer ({error.code}): {error}"
        except CallerLate as late:
            raise NotRun(f"this machine was too busy to tell: {late}") from late
        return Exchange(url, body, call_id, seconds, answer, failure, loop.time() - began)

    async def call(
        self, url: str, method: str, params: Json | Message, seconds: float, call_id: int | str | None = None
    ) -> Exchange:
        """Call a method; the id is the next number, if none is given."""
        number = next(self._ids) if call_id is None else call_id
        body = request(method, params, number)
        return await self.post(url, body, seconds, number)


def request(method: str, params: Json | Message, call_id: int | str | None) -> bytes:
    """A request of JSON-RPC; without an id, a notification."""
    whole: Json = {"jsonrpc": "2.0", "method": method, "params": msgspec.to_builtins(params)}
    return encode(whole if call_id is None else whole | {"id": call_id})


def conversation_in(message: Json) -> str:
    """The conversation of a message, for the answer to it; one of the kit's own if it has none."""
    conversation = message.get("conversation_id")
    return conversation if isinstance(conversation, str) and conversation else "conv-check"


def encode(value: Any) -> bytes:
    """JSON in ASCII: whatever strange letters came from an agent, it can be written."""
    return json.dumps(value).encode()


@dataclass(frozen=True)
class Arrived:
    """A request that came to a desk: the body, and as much of it as could be read."""

    body: bytes
    peer: Peer
    when: datetime
    at: float
    value: Any
    # What was asked for elsewhere than at POST /mcp, such as ``GET /``.
    elsewhere: str = ""

    @property
    def method(self) -> str:
        method = self.value.get("method") if isinstance(self.value, dict) else None
        return method if isinstance(method, str) else ""

    @property
    def message(self) -> Json:
        """The message in it, where a message stands in a request; empty if there is none."""
        params = self.value.get("params") if isinstance(self.value, dict) else None
        return params if isinstance(params, dict) else {}

    @property
    def type(self) -> str:
        return str(self.message.get("message_type", ""))

    def __str__(self) -> str:
        """What was asked for, in short."""
        return self.elsewhere or self.method or text_of(self.body) or "an empty body"


class Refusal(Exception):
    """What a script raises to answer with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        super().__init__(message)


# What a desk answers a request with: the ``result``, raised Refusal, or a body as it is to go out.
Script = Callable[[Arrived], Awaitable[Any]]


@dataclass
class Desk:
    """One of the kit's own agents. Put it up on a Ground; what comes is in ``arrived``, in order."""

    script: Script
    now: Callable[[], datetime]
    arrived: list[Arrived] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Keep a request and answer it, member by member if it is a batch."""
        return await self.handle(request.body, peer)

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """The same for the body of a request."""
        value = read_json(body)
        if isinstance(value, list):
            answers = [await self._one(encode(one), peer, one) for one in value]
            there = [one for one in answers if one is not None]
            return b"[%b]" % b",".join(there) if there else None
        return await self._one(body, peer, value)

    async def _one(self, body: bytes, peer: Peer, value: Any) -> bytes | None:
        arrived = Arrived(body, peer, self.now(), asyncio.get_running_loop().time(), value)
        self.keep(arrived)
        call_id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(value, dict):
            why = value.why if isinstance(value, Unreadable) else "a request is an object"
            return encode({"jsonrpc": "2.0", "error": {"code": -32700, "message": why}, "id": None})
        try:
            result = await self.script(arrived)
        except Refusal as refusal:
            return encode({"jsonrpc": "2.0", "error": refusal.error, "id": call_id})
        if isinstance(result, bytes):
            return result
        answer = encode({"jsonrpc": "2.0", "result": msgspec.to_builtins(result), "id": call_id})
        return answer if "id" in value else None

    def keep(self, arrived: Arrived) -> None:
        if len(self.arrived) < MAX_ARRIVED:
            self.arrived.append(arrived)
        self._came.set()

    async def until(self, wanted: Callable[[Arrived], bool], seconds: float) -> Arrived | None:
        """The first request that is wanted, if it has come or comes in time."""
        seen = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for arrived in self.arrived[seen:]:
                        seen += 1
                        if wanted(arrived):
                            return arrived
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            return None

    async def comes(
        self, wanted: Callable[[Arrived], bool], seconds: float, who: str, tell: Callable[[str], None]
    ) -> Arrived | None:
        """As ``until``; from time to time it is told that nobody has come yet, and what came instead."""
        left, told = seconds, 0
        while left > 0:
            arrived = await self.until(wanted, min(left, TELL_SECONDS))
            if arrived is not None:
                return arrived
            left -= TELL_SECONDS
            strays = [f"{one.peer.host} asked for {one}" for one in self.arrived[told:]]
            told = len(self.arrived)
            tell("; ".join([f"no {who} yet, {max(left, 0):g} s left", *strays[:3]]))
        return None

    def nobody(self, expected: str) -> Failed:
        """That who was expected has not come, but others perhaps."""
        return Failed(Evidence(came="; ".join(map(str, self.arrived[:5])) or "nothing at all", expected=expected))


class Ground(Protocol):
    """Where the kit's agents listen, and from where it calls."""

    @property
    def caller(self) -> Caller: ...

    def another_caller(self) -> Caller:
        """A caller with connections of its own."""

    async def open(self, desk: Desk, port: int = 0) -> str:
        """Put up a desk; the URL at which agents reach it."""

    async def close(self) -> None:
        """Take everything down."""
