"""Relays: calls for players behind a router wait here until the player takes them, and then for its answer.

A relay is the gateway's end of one such player. The player asks for its calls by a long poll (``relay_take``), and
hands in each answer (``relay_give``). The gateway keeps nothing of a relay but the calls in progress. A player that has
not asked again within a few seconds has gone. Then the connections of its callers are closed, as for a player that
cannot be reached, and the callers may try again.

A player says how its manager and its referees are recognised: by their tokens. Their calls are counted by token. Calls
of all other senders have a small share. A ping carries no token. All pings to a relay at the same time get the same
answer.
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

from leaguekit.agents.credentials import TokenOwner, credentials_in
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
from leaguekit.transport.eager import ensure_task
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION
from leaguekit.transport.token_buckets import TokenBuckets
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

# How long a relay stays without a poll.
GRACE_SECONDS = 3.0
# Every caller has a shorter time limit of its own.
MAX_CALL_SECONDS = 900.0
# When the limit is reached, a new relay replaces the oldest one that has answered no call.
MAX_RELAYS = 2_000
MAX_RELAYS_PER_ADDRESS = 200
# Calls to one relay: in all, and with the same token.
MAX_CALLS, MAX_CALLS_PER_TOKEN = 32, 8
# Two calls at a time to a relay are always allowed. Further calls also count towards two limits: of all relays
# together, and of all relays of one address.
GUARANTEED_CALLS = 2
MAX_EXTRA_CALLS, MAX_EXTRA_CALLS_PER_ADDRESS = 1_000, 200
# Calls of unknown senders to one relay: at the same time, per second, and at once after a pause. The rates are the same
# for pings.
MAX_UNKNOWN_CALLS = 2
UNKNOWN_CALLS_PER_SECOND, UNKNOWN_CALLS_BURST = 20.0, 40.0
# The bytes of bodies that wait: for one relay, for all relays of an address, and for all relays. Small bodies do not
# count towards the last two.
MAX_BYTES = 2_097_152
MAX_BYTES_PER_ADDRESS, MAX_TOTAL_BYTES = 33_554_432, 134_217_728
# The time limit for the answer to a ping.
PONG_SECONDS = 10.0


class _Ping(Struct):
    method: Literal["ping"]
    id: int | str


class _Pong(Struct):
    jsonrpc: str
    result: msgspec.Raw | UnsetType = UNSET
    error: msgspec.Raw | UnsetType = UNSET
    id: int | str | None = None


_ping_decoder = msgspec.json.Decoder(_Ping)


class TooManyUnknownCalls(Exception):
    """The limit for calls of unknown senders to a relay is reached; the next may come in ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"too many calls of unknown senders; the next in {seconds:.1f} s")


@dataclass(slots=True)
class _Call:
    body: bytes
    answer: asyncio.Future[bytes | None]


@dataclass(slots=True, eq=False)
class _Relay:
    address: str
    has_answered: bool
    was_evicted: bool = False
    calls: dict[int, _Call] = field(default_factory=dict)
    # The latest long poll of the player. An earlier one that still waits has been superseded.
    poll: object = None
    # Set when there is a call to take, or when the latest poll has changed.
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    expiry: asyncio.TimerHandle | None = None
    # How the player's callers are recognised; None if it does not say.
    callers: CallerVerifier | None = None
    takes_large: bool = True
    # The answer to a ping in progress, and the last one with its time.
    pending_pong: asyncio.Future[bytes | None] | None = None
    last_pong: tuple[float, bytes | None] | None = None

    def identify_sender(self, beginning: bytes) -> TokenOwner | None:
        """The caller whose token is in the beginning of a body; None if the player does not know it."""
        return None if self.callers is None else self.callers.recognise(credentials_in(beginning))


class Relays:
    """All relays of a gateway, by recipient: the id in the query of the URL at which its player is called.

    ``endpoint`` gives that URL.
    """

    def __init__(self, endpoint: Callable[[str], str], entropy: Callable[[int], bytes]) -> None:
        self._endpoint = endpoint
        # They start at random, so that calls of an earlier run have other numbers.
        self._numbers = count(int.from_bytes(entropy(6)))
        self._relays: dict[str, _Relay] = {}
        self._addresses: Counter[str] = Counter()
        # Recipients of relays that had answered a call and have gone, the latest last.
        self._answered_before: dict[str, None] = {}
        # Set when the relay of a recipient has come.
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._calls = WaitLimits(sys.maxsize, MAX_CALLS)
        self._calls_by_token = WaitLimits(sys.maxsize, MAX_CALLS_PER_TOKEN)
        self._pings = WaitLimits(sys.maxsize, MAX_CALLS)
        self._extra_calls = WaitLimits(MAX_EXTRA_CALLS, MAX_EXTRA_CALLS_PER_ADDRESS)
        self._unknown_calls = WaitLimits(sys.maxsize, MAX_UNKNOWN_CALLS)
        self._rate_limiter = TokenBuckets(
            UNKNOWN_CALLS_PER_SECOND, UNKNOWN_CALLS_BURST, clock=lambda: asyncio.get_running_loop().time()
        )
        # Bytes of the large bodies that wait, by the relay's address.
        self._bytes: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._relays)

    def __contains__(self, recipient: str) -> bool:
        return recipient in self._relays

    def has_secret(self, secret: str) -> bool:
        """Whether a secret is that of a relay."""
        return endpoint_id("relay", secret) in self._relays

    async def wait_for(self, recipient: str, seconds: float) -> None:
        """Wait until a recipient has a relay, for ``seconds`` at most."""
        await ensure_task()
        arrived, waiting = asyncio.Event(), self._waiters.setdefault(recipient, set())
        waiting.add(arrived)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await arrived.wait()
        finally:
            waiting.remove(arrived)
            if not waiting:
                self._waiters.pop(recipient, None)

    def admits_large_body(self, recipient: str, beginning: bytes) -> bool:
        """Whether the rest of a large body is read: if the player takes calls of its sender."""
        relay = self._relays[recipient]
        return relay.takes_large or relay.identify_sender(beginning) is not None

    def identify_sender(self, recipient: str, beginning: bytes, host: str) -> TokenOwner | None:
        """The caller whose token is in the beginning of a body. If the player knows no tokens, the caller's address."""
        relay = self._relays[recipient]
        return TokenOwner("manager", address_block(host)) if relay.callers is None else relay.identify_sender(beginning)

    async def forward(self, recipient: str, body: bytes) -> bytes | None:
        """The player's answer to a call. Raises NoAnswer if the player is not there, and TooManyUnknownCalls."""
        relay = self._relays.get(recipient)
        if relay is None:
            raise NoAnswer
        if (call_id := ping_id(body)) is not None:
            pong = await self._pong(relay, recipient)
            return None if pong is None else _with_request_id(pong, call_id)
        try:
            with self._counted_call(relay, recipient, body):
                return await self._forward(relay, body)
        except WaitLimitReached:
            raise NoAnswer from None

    @contextmanager
    def _counted_call(self, relay: _Relay, recipient: str, body: bytes) -> Iterator[None]:
        """Count a call while the context lasts. Raises WaitLimitReached or TooManyUnknownCalls."""
        known = relay.identify_sender(body[:BYTES_BEFORE_ADMISSION])
        if relay.callers is not None and known is None:
            if seconds := self._rate_limiter.take(recipient):
                raise TooManyUnknownCalls(seconds)
            try:
                with self._unknown_calls.counted(relay):
                    yield
            except WaitLimitReached:
                raise TooManyUnknownCalls(1.0) from None
            return
        with (
            nullcontext() if known is None else self._calls_by_token.counted((relay, known.id)),
            self._counted_place(self._calls, relay),
            self._counted_bytes(relay, len(body)),
        ):
            yield

    @contextmanager
    def _counted_place(self, waits: WaitLimits, relay: _Relay) -> Iterator[None]:
        is_guaranteed = waits[relay] < GUARANTEED_CALLS
        with waits.counted(relay), nullcontext() if is_guaranteed else self._extra_calls.counted(relay.address):
            yield

    @contextmanager
    def _counted_bytes(self, relay: _Relay, size: int) -> Iterator[None]:
        if size + sum(len(call.body) for call in relay.calls.values()) > MAX_BYTES:
            raise WaitLimitReached
        if size <= BYTES_BEFORE_ADMISSION:
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
        number, answer = self._add_call(relay, body)
        try:
            return await _wait_for_answer(answer, MAX_CALL_SECONDS)
        finally:
            relay.calls.pop(number, None)

    def _add_call(self, relay: _Relay, body: bytes) -> tuple[int, asyncio.Future[bytes | None]]:
        number, call = next(self._numbers), _Call(body, asyncio.get_running_loop().create_future())
        relay.calls[number] = call
        relay.changed.set()
        return number, call.answer

    async def _pong(self, relay: _Relay, recipient: str) -> bytes | None:
        """The player's answer to a ping, or its last answer if there are too many pings."""
        if relay.pending_pong is None and self._rate_limiter.take(("ping", recipient)):
            return self._last_pong(relay)
        try:
            with self._counted_place(self._pings, relay):
                return await self._next_pong(relay)
        except WaitLimitReached:
            return self._last_pong(relay)

    def _last_pong(self, relay: _Relay) -> bytes | None:
        at, pong = relay.last_pong or (-math.inf, None)
        if asyncio.get_running_loop().time() - at > GRACE_SECONDS:
            raise NoAnswer
        return pong

    async def _next_pong(self, relay: _Relay) -> bytes | None:
        if relay.pending_pong is None:
            number, relay.pending_pong = self._add_call(relay, _PING)

            def keep_pong(answer: asyncio.Future[bytes | None]) -> None:
                relay.calls.pop(number, None)
                relay.pending_pong = None
                if answer.exception() is None:
                    relay.last_pong = (asyncio.get_running_loop().time(), answer.result())

            relay.pending_pong.add_done_callback(keep_pong)
        return await _wait_for_answer(asyncio.shield(relay.pending_pong), PONG_SECONDS)

    async def poll_calls(self, request: RelayTakeRequest, host: str) -> RelayTakeResponse:
        """The calls that a player does not have yet, as soon as there is one. After a while, an empty list."""
        recipient = _recipient(request.secret)
        relay = self._relay(recipient, host)
        if relay.expiry is not None:
            relay.expiry.cancel()
        # A player that polls twice has not received the answer to its first poll, so that one is of no use any more.
        poll = relay.poll = object()
        if relay.callers != request.callers:
            # Another player took over the secret, or the player has just registered. The last pong is outdated.
            relay.callers, relay.last_pong = request.callers or relay.callers, None
        relay.takes_large = request.takes_large
        relay.changed.set()
        has = frozenset(request.has)
        try:
            await ensure_task()
            async with asyncio.timeout(min(request.seconds, TAKE_SECONDS)):
                while relay.poll is poll and not relay.calls.keys() - has:
                    relay.changed.clear()
                    await relay.changed.wait()
        except TimeoutError:
            pass
        finally:
            if relay.poll is poll and self._relays.get(recipient) is relay:
                loop = asyncio.get_running_loop()
                relay.expiry = loop.call_later(GRACE_SECONDS, self._remove, recipient)
        if relay.was_evicted:
            raise _too_many_relays()
        calls = [RelayedCall(number, call.body) for number, call in relay.calls.items() if number not in has]
        return RelayTakeResponse(endpoint=self._endpoint(recipient), calls=calls if relay.poll is poll else [])

    def deliver_answer(self, answer: RelayGiveRequest) -> RelayGiveResponse:
        """Pass an answer on to the caller that waits for it."""
        relay = self._relays.get(_recipient(answer.secret))
        call = None if relay is None else relay.calls.get(answer.number)
        if relay is None or call is None or call.answer.done():
            return RelayGiveResponse(in_time=False)
        relay.has_answered = True
        call.answer.set_result(answer.body)
        return RelayGiveResponse(in_time=True)

    def close(self) -> None:
        for waiting in self._waiters.values():
            for arrived in waiting:
                arrived.set()
        for recipient in [*self._relays]:
            self._remove(recipient)

    def _relay(self, recipient: str, host: str) -> _Relay:
        relay, address = self._relays.get(recipient), address_block(host)
        if relay is None:
            if self._addresses[address] >= MAX_RELAYS_PER_ADDRESS:
                self._evict_one(address)
            elif len(self._relays) >= MAX_RELAYS:
                self._evict_one(None)
            relay = self._relays[recipient] = _Relay(address, has_answered=recipient in self._answered_before)
            self._answered_before.pop(recipient, None)
            self._addresses[address] += 1
            for arrived in self._waiters.get(recipient, ()):
                arrived.set()
        return relay

    def _evict_one(self, address: str | None) -> None:
        """Remove the oldest unused relay, of an address or of all. Raises ProtocolError if there is none."""
        for recipient, relay in self._relays.items():
            if address in (None, relay.address) and not relay.has_answered and not relay.calls:
                relay.was_evicted = True
                self._remove(recipient)
                return
        raise _too_many_relays()

    def _remove(self, recipient: str) -> None:
        relay = self._relays.pop(recipient)
        if relay.has_answered:
            self._answered_before[recipient] = None
            if len(self._answered_before) > MAX_RELAYS:
                del self._answered_before[next(iter(self._answered_before))]
        self._addresses[relay.address] -= 1
        if not self._addresses[relay.address]:
            del self._addresses[relay.address]
        if relay.expiry is not None:
            relay.expiry.cancel()
        for call in relay.calls.values():
            if not call.answer.done():
                call.answer.set_exception(NoAnswer())
        relay.poll = None
        relay.changed.set()


_PING = request("ping", b"{}", 1)


async def _wait_for_answer(answer: asyncio.Future[bytes | None], seconds: float) -> bytes | None:
    try:
        await ensure_task()
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise NoAnswer from None


def ping_id(body: bytes) -> int | str | None:
    """The request id of a ping; None if the body is something else."""
    if len(body) > BYTES_BEFORE_ADMISSION:
        return None
    try:
        return _ping_decoder.decode(body).id
    except DECODE_ERRORS:
        return None


def _with_request_id(pong: bytes, call_id: int | str) -> bytes:
    """An answer to a ping, with the request id of another ping."""
    try:
        answer = msgspec.json.decode(pong, type=_Pong)
    except DECODE_ERRORS:
        return pong
    answer.id = call_id
    return msgspec.json.encode(answer)


def _too_many_relays() -> ProtocolError:
    return ProtocolError("E059", "Too many players are called through this gateway.")


def _recipient(secret: str) -> str:
    if len(secret) < 2 * SECRET_BYTES:
        raise ProtocolError("E043", f"A relay's secret has {2 * SECRET_BYTES} characters at least.")
    return endpoint_id("relay", secret)
