"""Players behind a router: what is called at their addresses here waits until they take it, and for their answers.

Nothing of a relay is kept but the calls that are under way. One that has not come back within a few seconds is gone:
whoever waits for it finds the connection closed, as with a player that cannot be reached, and may try again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count

from leaguekit.agents.relay import SECRET_BYTES, TAKE_SECONDS, Give, Given, Passed, Take, Taken, place_of
from leaguekit.protocol.errors import ProtocolError
from leaguekit.transport.base import NoAnswer
from leaguekit.transport.begun import in_a_task
from leaguekit.transport.origins import neighbourhood
from leaguekit.transport.waits import TooManyWait, Waits

# Between one question for calls and the next.
GRACE_SECONDS = 3.0
# Every caller has a limit of its own, and none waits as long as this.
MOST_SECONDS = 900.0
MOST_RELAYS = 2_000
MOST_RELAYS_AN_ADDRESS = 200
# Of one relay.
MOST_CALLS = 32
# Calls that every relay may have at the same time, and further ones of all relays together and of those of an address.
FREE_CALLS = 2
MOST_FURTHER_CALLS, MOST_FURTHER_CALLS_AN_ADDRESS = 1_000, 200
MOST_BYTES = 2_097_152


@dataclass(slots=True)
class _Call:
    body: bytes
    answer: asyncio.Future[bytes | None]


@dataclass(slots=True, eq=False)
class _Relay:
    address: str
    calls: dict[int, _Call] = field(default_factory=dict)
    # Set when there is something to take, or when another question took the place of the one that waits.
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    question: object = None
    leaving: asyncio.TimerHandle | None = None


class Relays:
    """All relays of a gateway, by their places. ``endpoint`` says how a place is called from outside."""

    def __init__(self, endpoint: Callable[[str], str], entropy: Callable[[int], bytes]) -> None:
        self._endpoint = endpoint
        # Nobody takes a call of an earlier run for one of this.
        self._numbers = count(int.from_bytes(entropy(6)))
        self._relays: dict[str, _Relay] = {}
        self._addresses: Counter[str] = Counter()
        # Set when the relay at a place has come.
        self._awaited: dict[str, set[asyncio.Event]] = {}
        self._further_calls = Waits(MOST_FURTHER_CALLS, MOST_FURTHER_CALLS_AN_ADDRESS)

    def __len__(self) -> int:
        return len(self._relays)

    def __contains__(self, place: str) -> bool:
        return place in self._relays

    def is_one(self, secret: str) -> bool:
        """Whether a secret is a relay's."""
        return place_of("relay", secret) in self._relays

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

    async def forward(self, place: str, body: bytes) -> bytes | None:
        """What the player at a place answers. Raises NoAnswer if it is not there, or goes."""
        relay = self._relays.get(place)
        if relay is None or len(relay.calls) >= MOST_CALLS:
            raise NoAnswer
        if len(body) + sum(len(call.body) for call in relay.calls.values()) > MOST_BYTES:
            raise NoAnswer
        try:
            with nullcontext() if len(relay.calls) < FREE_CALLS else self._further_calls.one(relay.address):
                return await self._forward(relay, body)
        except TooManyWait:
            raise NoAnswer from None

    async def _forward(self, relay: _Relay, body: bytes) -> bytes | None:
        number, call = next(self._numbers), _Call(body, asyncio.get_running_loop().create_future())
        relay.calls[number] = call
        relay.wake.set()
        try:
            await in_a_task()
            async with asyncio.timeout(MOST_SECONDS):
                return await call.answer
        except TimeoutError:
            raise NoAnswer from None
        finally:
            relay.calls.pop(number, None)

    async def take(self, asked: Take, host: str) -> Taken:
        """The calls that a player does not have yet, as soon as there is one, or else none after a while."""
        place = _place(asked.secret)
        relay = self._relay(place, host)
        if relay.leaving is not None:
            relay.leaving.cancel()
        # A player asks again because the answer to its last question did not reach it; that one is of no use any more.
        question = relay.question = object()
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
        calls = [Passed(number, call.body) for number, call in relay.calls.items() if number not in has]
        return Taken(endpoint=self._endpoint(place), calls=calls if relay.question is question else [])

    def give(self, given: Give) -> Given:
        """Pass an answer on to whoever waits for it."""
        relay = self._relays.get(_place(given.secret))
        call = None if relay is None else relay.calls.get(given.number)
        if call is None or call.answer.done():
            return Given(in_time=False)
        call.answer.set_result(given.body)
        return Given(in_time=True)

    def close(self) -> None:
        for waiting in self._awaited.values():
            for came in waiting:
                came.set()
        for place in [*self._relays]:
            self._drop(place)

    def _relay(self, place: str, host: str) -> _Relay:
        relay, address = self._relays.get(place), neighbourhood(host)
        if relay is None:
            if len(self._relays) >= MOST_RELAYS or self._addresses[address] >= MOST_RELAYS_AN_ADDRESS:
                raise ProtocolError("E059", "Too many players are called through this gateway.")
            relay = self._relays[place] = _Relay(address)
            self._addresses[address] += 1
            for came in self._awaited.get(place, ()):
                came.set()
        return relay

    def _drop(self, place: str) -> None:
        relay = self._relays.pop(place)
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


def _place(secret: str) -> str:
    if len(secret) < 2 * SECRET_BYTES:
        raise ProtocolError("E043", f"A relay's secret has {2 * SECRET_BYTES} characters at least.")
    return place_of("relay", secret)
