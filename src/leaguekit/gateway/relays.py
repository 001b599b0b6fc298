"""Players behind a router: what is called at their addresses here waits until they take it, and for their answers.

Nothing of a relay is kept but the calls that are under way. One that has not come back within a few seconds is gone:
whoever waits for it finds the connection closed, as with a player that cannot be reached, and may try again.

A player says by what its manager and its referees are recognised. Their calls are counted by token, and those of all
others have a small share. A ping shows no token. All who ping a relay at the same time get the same answer.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.credentials import Known, credentials_in
from leaguekit.player.caller_checks import CallerVerifier
from leaguekit.player.relay import (
    SECRET_BYTES,
    TAKE_SECONDS,
    RelayedCall,
    RelayGiveRequest,
    RelayGiveResponse,
    RelayTakeRequest,
    RelayTakeResponse,
    endpoint_id,
)
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import request
from leaguekit.transport.base import NoAnswer
from leaguekit.transport.eager import in_a_task
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import FREE_BYTES
from leaguekit.transport.token_buckets import TokenBuckets
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

# Between one question for calls and the next.
GRACE_SECONDS = 3.0
# Every caller has a limit of its own, and none waits as long as this.
MAX_SECONDS = 900.0
# When there are as many as may be, those give way that have answered no call, the oldest first.
MAX_RELAYS = 2_000
MAX_RELAYS_PER_ADDRESS = 200
# Of one relay, and of those the calls that show the same token.
MAX_CALLS, MAX_CALLS_PER_TOKEN = 32, 8
# Calls that every relay may have at the same time, and further ones of all relays together and of those of an address.
GUARANTEED_CALLS = 2
MAX_EXTRA_CALLS, MAX_EXTRA_CALLS_PER_ADDRESS = 1_000, 200
# Calls of strangers to one relay: at the same time, in a second, and at once after a pause. The same for pings.
MAX_UNKNOWN_CALLS = 2
UNKNOWN_CALLS_PER_SECOND, UNKNOWN_CALLS_BURST = 20.0, 40.0
# Bodies that wait: those of one relay, and the large ones of all relays of an address and of all relays.
MAX_BYTES = 2_097_152
MAX_BYTES_PER_ADDRESS, MAX_TOTAL_BYTES = 33_554_432, 134_217_728
# How long the answer to a ping is waited for.
PONG_SECONDS = 10.0


class _Ping(Struct):
    method: Literal["ping"]
    id: int | str


class _Pong(Struct):
    jsonrpc: str
    result: msgspec.Raw | UnsetType = UNSET
    error: msgspec.Raw | UnsetType = UNSET
    id: int | str | None = None


_ping = msgspec.json.Decoder(_Ping)


class TooManyUnknownCalls(Exception):
    """As many calls that show no token of a relay's callers wait or came as may; ``seconds`` until the next may."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"too many calls of strangers; the next in {seconds:.1f} s")


@dataclass(slots=True)
class _Call:
    body: bytes
    answer: asyncio.Future[bytes | None]


@dataclass(slots=True, eq=False)
class _Relay:
    address: str
    # It has answered a call.
    is_known: bool
    gave_way: bool = False
    calls: dict[int, _Call] = field(default_factory=dict)
    # Set when there is something to take, or when another question took the place of the one that waits.
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    question: object = None
    leaving: asyncio.TimerHandle | None = None
    callers: CallerVerifier | None = None
    takes_large: bool = True
    # The answer to a ping that is under way, and the last one with its time.
    pinging: asyncio.Future[bytes | None] | None = None
    pong: tuple[float, bytes | None] | None = None

    def caller(self, beginning: bytes) -> Known | None:
        """Whose token the beginning of a body shows, if the player said by what that is known."""
        return None if self.callers is None else self.callers.recognise(credentials_in(beginning))


class Relays:
    """All relays of a gateway, by their places. ``endpoint`` says how a place is called from outside."""

    def __init__(self, endpoint: Callable[[str], str], entropy: Callable[[int], bytes]) -> None:
        self._endpoint = endpoint
        # Nobody takes a call of an earlier run for one of this.
        self._numbers = count(int.from_bytes(entropy(6)))
        self._relays: dict[str, _Relay] = {}
        self._addresses: Counter[str] = Counter()
        # The places of known relays that have gone.
        self._known_gone: dict[str, bool] = {}
        # Set when the relay at a place has come.
        self._awaited: dict[str, set[asyncio.Event]] = {}
        self._calls = WaitLimits(sys.maxsize, MAX_CALLS)
        self._calls_of_tokens = WaitLimits(sys.maxsize, MAX_CALLS_PER_TOKEN)
        self._pings = WaitLimits(sys.maxsize, MAX_CALLS)
        self._further_calls = WaitLimits(MAX_EXTRA_CALLS, MAX_EXTRA_CALLS_PER_ADDRESS)
        self._strangers = WaitLimits(sys.maxsize, MAX_UNKNOWN_CALLS)
        self._rates = TokenBuckets(
            UNKNOWN_CALLS_PER_SECOND, UNKNOWN_CALLS_BURST, clock=lambda: asyncio.get_running_loop().time()
        )
        # Of large bodies that wait, by the relay's address.
        self._bytes: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._relays)

    def __contains__(self, place: str) -> bool:
        return place in self._relays

    def is_one(self, secret: str) -> bool:
        """Whether a secret is a relay's."""
        return endpoint_id("relay", secret) in self._relays

    async def wait_for(self, place: str, seconds: float) -> None:
        """Wait until there is a relay at a place, for so many seconds at most."""
        await in_a_task()
        came, waiting = asyncio.Event(), self._awaited.setdefault(place, set())
        waiting.add(came)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await came.wait()
        finally:
            waiting.remove(came)
            if not waiting:
                self._awaited.pop(place, None)

    def admits(self, place: str, beginning: bytes) -> bool:
        """Whether the rest of a large body is read: if the player at a place takes its sender's calls."""
        relay = self._relays[place]
        return relay.takes_large or relay.caller(beginning) is not None

    def caller(self, place: str, beginning: bytes, host: str) -> Known | None:
        """Whose token the beginning of a body shows; where the player does not say, each address counts by itself."""
        relay = self._relays[place]
        return Known("manager", address_block(host)) if relay.callers is None else relay.caller(beginning)

    async def forward(self, place: str, body: bytes) -> bytes | None:
        """What the player at a place answers. Raises NoAnswer if it is not there, or goes, and TooManyStrangers."""
        relay = self._relays.get(place)
        if relay is None:
            raise NoAnswer
        if (call_id := ping_id(body)) is not None:
            pong = await self._pong(relay, place)
            return None if pong is None else _with_id(pong, call_id)
        try:
            with self._counted(relay, place, body):
                return await self._forward(relay, body)
        except WaitLimitReached:
            raise NoAnswer from None

    @contextmanager
    def _counted(self, relay: _Relay, place: str, body: bytes) -> Iterator[None]:
        """Count a call for as long as this lasts. Raises TooManyWait or TooManyStrangers."""
        known = relay.caller(body[:FREE_BYTES])
        if relay.callers is not None and known is None:
            if seconds := self._rates.take(place):
                raise TooManyUnknownCalls(seconds)
            try:
                with self._strangers.one(relay):
                    yield
            except WaitLimitReached:
                raise TooManyUnknownCalls(1.0) from None
            return
        with (
            nullcontext() if known is None else self._calls_of_tokens.one((relay, known.id)),
            self._one(self._calls, relay),
            self._counted_bytes(relay, len(body)),
        ):
            yield

    @contextmanager
    def _one(self, waits: WaitLimits, relay: _Relay) -> Iterator[None]:
        is_free = waits[relay] < GUARANTEED_CALLS
        with waits.one(relay), nullcontext() if is_free else self._further_calls.one(relay.address):
            yield

    @contextmanager
    def _counted_bytes(self, relay: _Relay, size: int) -> Iterator[None]:
        if size + sum(len(call.body) for call in relay.calls.values()) > MAX_BYTES:
            raise WaitLimitReached
        if size <= FREE_BYTES:
            yield
            return
        if size + self._bytes[relay.address] > MAX_BYTES_PER_ADDRESS or size + self._bytes.total() > MAX_TOTAL_BYTES:
            raise WaitLimitReached
        self._bytes[relay.address] += size
        try:
            yield
        finally:
            self._bytes[relay.address] -= size
            if not self._bytes[relay.address]:
                del self._bytes[relay.address]

    async def _forward(self, relay: _Relay, body: bytes) -> bytes | None:
        number, answer = self._call(relay, body)
        try:
            await in_a_task()
            async with asyncio.timeout(MAX_SECONDS):
                return await answer
        except TimeoutError:
            raise NoAnswer from None
        finally:
            relay.calls.pop(number, None)

    def _call(self, relay: _Relay, body: bytes) -> tuple[int, asyncio.Future[bytes | None]]:
        number, call = next(self._numbers), _Call(body, asyncio.get_running_loop().create_future())
        relay.calls[number] = call
        relay.wake.set()
        return number, call.answer

    async def _pong(self, relay: _Relay, place: str) -> bytes | None:
        """The player's answer to a ping. Its last answer will do when too many ask."""
        if relay.pinging is None and self._rates.take(("ping", place)):
            return self._last_pong(relay)
        try:
            with self._one(self._pings, relay):
                return await self._next_pong(relay)
        except WaitLimitReached:
            return self._last_pong(relay)

    def _last_pong(self, relay: _Relay) -> bytes | None:
        at, pong = relay.pong or (-math.inf, None)
        if asyncio.get_running_loop().time() - at > GRACE_SECONDS:
            raise NoAnswer
        return pong

    async def _next_pong(self, relay: _Relay) -> bytes | None:
        if relay.pinging is None:
            number, relay.pinging = self._call(relay, _PING)

            def ponged(answer: asyncio.Future[bytes | None]) -> None:
                relay.calls.pop(number, None)
                relay.pinging = None
                if answer.exception() is None:
                    relay.pong = (asyncio.get_running_loop().time(), answer.result())

            relay.pinging.add_done_callback(ponged)
        answer = relay.pinging
        try:
            await in_a_task()
            async with asyncio.timeout(PONG_SECONDS):
                return await asyncio.shield(answer)
        except TimeoutError:
            raise NoAnswer from None

    async def take(self, asked: RelayTakeRequest, host: str) -> RelayTakeResponse:
        """The calls that a player does not have yet, as soon as there is one, or else none after a while."""
        place = _place(asked.secret)
        relay = self._relay(place, host)
        if relay.leaving is not None:
            relay.leaving.cancel()
        # A player asks again because the answer to its last question did not reach it; that one is of no use any more.
        question = relay.question = object()
        if relay.callers != asked.callers:
            # It is another player than that which answered the last ping, or has just registered.
            relay.callers, relay.pong = asked.callers or relay.callers, None
        relay.takes_large = asked.takes_large
        relay.wake.set()
        has = frozenset(asked.has)
        try:
            await in_a_task()
            async with asyncio.timeout(min(asked.seconds, TAKE_SECONDS)):
                while relay.question is question and not relay.calls.keys() - has:
                    relay.wake.clear()
                    await relay.wake.wait()
        except TimeoutError:
            pass
        finally:
            if relay.question is question and self._relays.get(place) is relay:
                loop = asyncio.get_running_loop()
                relay.leaving = loop.call_later(GRACE_SECONDS, self._drop, place)
        if relay.gave_way:
            raise _too_many_relays()
        calls = [RelayedCall(number, call.body) for number, call in relay.calls.items() if number not in has]
        return RelayTakeResponse(endpoint=self._endpoint(place), calls=calls if relay.question is question else [])

    def give(self, given: RelayGiveRequest) -> RelayGiveResponse:
        """Pass an answer on to whoever waits for it."""
        relay = self._relays.get(_place(given.secret))
        call = None if relay is None else relay.calls.get(given.number)
        if relay is None or call is None or call.answer.done():
            return RelayGiveResponse(in_time=False)
        relay.is_known = True
        call.answer.set_result(given.body)
        return RelayGiveResponse(in_time=True)

    def close(self) -> None:
        for waiting in self._awaited.values():
            for came in waiting:
                came.set()
        for place in [*self._relays]:
            self._drop(place)

    def _relay(self, place: str, host: str) -> _Relay:
        relay, address = self._relays.get(place), address_block(host)
        if relay is None:
            if self._addresses[address] >= MAX_RELAYS_PER_ADDRESS:
                self._make_room(address)
            elif len(self._relays) >= MAX_RELAYS:
                self._make_room(None)
            relay = self._relays[place] = _Relay(address, is_known=self._known_gone.pop(place, False))
            self._addresses[address] += 1
            for came in self._awaited.get(place, ()):
                came.set()
        return relay

    def _make_room(self, address: str | None) -> None:
        """Drop the oldest relay that had no call, at that address or at any. Raises ProtocolError if there is none."""
        for place, relay in self._relays.items():
            if address in (None, relay.address) and not relay.is_known and not relay.calls:
                relay.gave_way = True
                self._drop(place)
                return
        raise _too_many_relays()

    def _drop(self, place: str) -> None:
        relay = self._relays.pop(place)
        if relay.is_known:
            self._known_gone[place] = True
            if len(self._known_gone) > MAX_RELAYS:
                del self._known_gone[next(iter(self._known_gone))]
        self._addresses[relay.address] -= 1
        if not self._addresses[relay.address]:
            del self._addresses[relay.address]
        if relay.leaving is not None:
            relay.leaving.cancel()
        for call in relay.calls.values():
            if not call.answer.done():
                call.answer.set_exception(NoAnswer())
        relay.question = None
        relay.wake.set()


_PING = request("ping", b"{}", 1)


def ping_id(body: bytes) -> int | str | None:
    """The id of a ping; None for anything else."""
    if len(body) > FREE_BYTES:
        return None
    try:
        return _ping.decode(body).id
    except DECODE_ERRORS:
        return None


def _with_id(pong: bytes, call_id: int | str) -> bytes:
    """An answer as it is for the caller with that id."""
    try:
        answer = msgspec.json.decode(pong, type=_Pong)
    except DECODE_ERRORS:
        return pong
    answer.id = call_id
    return msgspec.json.encode(answer)


def _too_many_relays() -> ProtocolError:
    return ProtocolError("E059", "Too many players are called through this gateway.")


def _place(secret: str) -> str:
    if len(secret) < 2 * SECRET_BYTES:
        raise ProtocolError("E043", f"A relay's secret has {2 * SECRET_BYTES} characters at least.")
    return endpoint_id("relay", secret)
