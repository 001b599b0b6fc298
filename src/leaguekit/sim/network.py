"""A network between simulated processes that delays, loses, repeats and breaks off what goes over it.

Each exchange has a fate, decided when it begins. A handler runs in the process that listens. When that dies, whoever
waits for its answer sees the connection reset; when the caller dies, its request may still arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from leaguekit.sim.processes import NOBODY, Process
from leaguekit.transport.base import BodyHandler, CallerUnable, HttpAnswer, NoRoute, Peer, TimedOut, Unreachable
from leaguekit.transport.memory import NOT_FOUND, Address, address_of, answered

Trouble = Literal["lost", "refused", "unable", "no route", "reset", "mute", "twice"]
# What else a process serves beside /mcp: a path and a body → the answer.
Aside = Callable[[str, bytes], Awaitable[HttpAnswer]]


class Fate(NamedTuple):
    """What becomes of an exchange: how long it travels each way, and what goes wrong.

    lost      the request never arrives, and the caller waits in vain
    refused   there is no connection
    unable    the caller's own machine cannot call
    no route  the caller's own machine has no way to that address
    reset     the request is carried out, but the connection breaks before the answer
    mute      the request is carried out, but the answer never arrives
    twice     the request arrives again, ``again`` seconds later
    """

    out: float = 0.0
    back: float = 0.0
    trouble: Trouble | None = None
    again: float = 0.0


class _Place(NamedTuple):
    """A URL, taken apart."""

    address: Address
    path: str
    query: str


@lru_cache(maxsize=1_000)
def _place(url: str) -> _Place:
    parts = urlsplit(url)
    return _Place(address_of(url), parts.path, parts.query)


class Listener(NamedTuple):
    process: Process
    handler: BodyHandler
    aside: Aside | None


class Exchange:
    """A request on its way, and whoever waits for its answer."""

    __slots__ = ("body", "callee", "caller", "deadline", "fate", "future", "reached", "travels", "url")

    def __init__(self, caller: Process, url: str, body: bytes, deadline: float, fate: Fate) -> None:
        self.caller = caller
        self.url = url
        self.body = body
        self.deadline = deadline
        self.fate = fate
        self.future: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        # Who is carrying it out.
        self.callee: Process | None = None
        # Whom it has reached: a connection leads to one process, and what it carries never to the next in its place.
        self.reached: Process | None = None
        # Whether it has not arrived yet.
        self.travels = True


class Network:
    """Who listens where, and what is under way. ``fate_of`` decides by the caller's name and the address called.

    ``saw`` is told of every request that arrives and every answer that is sent: from whom, for whom, and the body.
    """

    def __init__(
        self, fate_of: Callable[[str, Address], Fate], chance: Random, saw: Callable[[str, str, bytes], None]
    ) -> None:
        self._fate_of = fate_of
        self._chance = chance
        self._saw = saw
        self._listeners: dict[Address, Listener] = {}
        # In order, and without a set.
        self.open: dict[Exchange, None] = {}
        # Who is at work on an answer.
        self._answering: dict[asyncio.Task[Any], Process] = {}
        self.exchanges = 0

    def listen(self, url: str, process: Process, handler: BodyHandler, aside: Aside | None = None) -> None:
        """Serve at the host and port of a URL."""
        address = address_of(url)
        if address in self._listeners:
            raise ValueError(f"{self._listeners[address].process.name} already listens at {url}")
        self._listeners[address] = Listener(process, handler, aside)

    def close(self, url: str) -> None:
        """Listen no more; what is being answered is still answered."""
        self._listeners.pop(address_of(url), None)

    def busy(self, process: Process) -> bool:
        """Whether a process is answering somebody, be it one who has given up meanwhile."""
        return any(one is process for one in self._answering.values())

    def crash(self, process: Process) -> None:
        """A process has died: nobody listens in its place, and what it was doing for others is broken off."""
        for address in [address for address, one in self._listeners.items() if one.process is process]:
            del self._listeners[address]
        for task in [task for task, one in self._answering.items() if one is process]:
            del self._answering[task]
        for exchange in list(self.open):
            if exchange.caller is process:
                del self.open[exchange]
                if exchange.future.done() and not exchange.future.cancelled():
                    # Nobody else will ever look at it.
                    exchange.future.exception()
                exchange.travels = exchange.travels and self._chance.random() < 0.5
            elif exchange.callee is process:
                self._fail(exchange, Unreachable(f"{exchange.url} reset the connection"))

    def begin(self, caller: Process, url: str, body: bytes, deadline: float) -> Exchange:
        loop = asyncio.get_running_loop()
        fate = self._fate_of(caller.name, _place(url).address)
        exchange = Exchange(caller, url, body, deadline, fate)
        self.open[exchange] = None
        self.exchanges += 1
        if fate.trouble == "refused":
            refused = Unreachable(f"{url} refused the connection")
            loop.call_later(fate.out, self._fail, exchange, refused, context=NOBODY)
        elif fate.trouble == "unable":
            unable = CallerUnable(url, "too many open files")
            loop.call_soon(self._fail, exchange, unable, context=NOBODY)
        elif fate.trouble == "no route":
            loop.call_soon(self._fail, exchange, NoRoute(url, "network is unreachable"), context=NOBODY)
        elif fate.trouble != "lost":
            loop.call_later(fate.out, self._arrive, exchange, context=NOBODY)
        return exchange

    def end(self, exchange: Exchange) -> None:
        """Nobody waits for the answer any more."""
        self.open.pop(exchange, None)

    def _arrive(self, exchange: Exchange, *, again: bool = False) -> None:
        if not (exchange.travels or again):
            return
        exchange.travels = False
        place = _place(exchange.url)
        listener = self._listeners.get(place.address)
        if listener is None:
            if not again:
                self._fail(exchange, Unreachable(f"nobody listens at {exchange.url}"))
            return
        if again and listener.process is not exchange.reached:
            return
        self._saw(exchange.caller.name, listener.process.name, exchange.body)
        work: Any
        exchange.callee = exchange.reached = listener.process
        if place.path in ("/mcp", "/mcp/"):
            work = answered(listener.handler, exchange.body, Peer("127.0.0.1", place.query, place.address))
        elif listener.aside is not None:
            work = listener.aside(place.path, exchange.body)
        else:
            self._back(exchange, NOT_FOUND)
            return
        task = listener.process.start(work)
        self._answering[task] = listener.process
        task.add_done_callback(partial(self._carried_out, exchange), context=NOBODY)
        if exchange.fate.trouble == "twice" and not again:
            loop = asyncio.get_running_loop()
            loop.call_later(exchange.fate.again, partial(self._arrive, exchange, again=True), context=NOBODY)

    def _carried_out(self, exchange: Exchange, task: asyncio.Task[bytes | HttpAnswer | None]) -> None:
        self._answering.pop(task, None)
        trouble, callee = exchange.fate.trouble, exchange.callee
        # What has been sent survives its sender.
        exchange.callee = None
        if trouble == "mute" or exchange not in self.open:
            return
        if task.cancelled() or trouble == "reset":
            self._fail(exchange, Unreachable(f"{exchange.url} closed the connection without an answer", connected=True))
            return
        came = task.result()
        if isinstance(came, bytes) and callee is not None:
            self._saw(callee.name, exchange.caller.name, came)
        if came is None:
            came = HttpAnswer(204, b"", "")
        elif isinstance(came, bytes):
            came = HttpAnswer(200, came)
        asyncio.get_running_loop().call_later(exchange.fate.back, self._back, exchange, came, context=NOBODY)

    def _back(self, exchange: Exchange, came: HttpAnswer) -> None:
        # At the very moment of the limit it is over, whichever of the two woke first.
        if not exchange.future.done() and asyncio.get_running_loop().time() < exchange.deadline:
            exchange.future.set_result(came)

    def _fail(self, exchange: Exchange, failure: Unreachable | CallerUnable) -> None:
        if exchange in self.open and not exchange.future.done():
            exchange.future.set_exception(failure)


class SimCaller:
    """A Caller of one process."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._process = process

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        exchange = self._network.begin(self._process, url, body, loop.time() + seconds)
        limit = loop.call_at(exchange.deadline, _give_up, exchange)
        try:
            answer = await exchange.future
        finally:
            limit.cancel()
            self._network.end(exchange)
        if len(answer.body) > max_bytes:
            raise Unreachable(f"the answer from {url} has more than {max_bytes:,} bytes", connected=True)
        return answer

    async def close(self) -> None:
        """There are no connections to close."""


def _give_up(exchange: Exchange) -> None:
    if not exchange.future.done():
        connected = exchange.reached is not None
        exchange.future.set_exception(TimedOut(f"no answer from {exchange.url} in time", connected=connected))
