"""A simulated network between simulated processes. It can delay, lose, repeat and reset exchanges.

What happens to an exchange is decided when it begins. The handler runs in the process that listens. If that process
crashes, the caller sees a reset connection. If the caller crashes, its request may still arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from leaguekit.sim.processes import NO_OWNER, Process
from leaguekit.transport.base import (
    BodyHandler,
    CallerUnable,
    HttpAnswer,
    NoRoute,
    Peer,
    TimedOut,
    Unreachable,
)
from leaguekit.transport.memory import NOT_FOUND, Address, address_of, run_handler

NetworkFault = Literal["lost", "refused", "unable", "no route", "reset", "mute", "twice"]
# Answers requests to paths other than /mcp: (path, body) → answer.
PathHandler = Callable[[str, bytes], Awaitable[HttpAnswer]]


class Delivery(NamedTuple):
    """How an exchange is delivered: the delay in each direction in seconds, and the fault, if any.

    lost      the request never arrives, and the caller gets no answer
    refused   the connection is refused
    unable    the caller's machine cannot open a connection
    no route  the caller's machine has no route to the address
    reset     the request is handled, but the connection is reset before the answer
    mute      the request is handled, but the answer never arrives
    twice     the request arrives a second time, ``repeat_delay`` seconds later
    """

    request_delay: float = 0.0
    response_delay: float = 0.0
    fault: NetworkFault | None = None
    repeat_delay: float = 0.0


class _ParsedUrl(NamedTuple):
    """The parts of a URL that the network needs."""

    address: Address
    path: str
    query: str


@lru_cache(maxsize=1_000)
def _parse_url(url: str) -> _ParsedUrl:
    parts = urlsplit(url)
    return _ParsedUrl(address_of(url), parts.path, parts.query)


class Listener(NamedTuple):
    process: Process
    handler: BodyHandler
    path_handler: PathHandler | None


@dataclass(slots=True, eq=False)
class Exchange:
    """A request, and the future of its answer."""

    caller: Process
    url: str
    body: bytes
    deadline: float
    delivery: Delivery
    future: asyncio.Future[HttpAnswer]
    # The process that is handling the request now.
    handled_by: Process | None = None
    # The process that the request reached first. A connection leads to one process: a repeated request never
    # reaches another process that has since been started at the same address.
    connected_to: Process | None = None
    is_in_transit: bool = True


class Network:
    """The listeners and the open exchanges.

    ``delivery_for`` decides how an exchange is delivered, by the caller's name and the address that is called.
    ``on_message`` is called with sender, receiver and body of every request that arrives and every answer that is sent.
    """

    def __init__(
        self,
        delivery_for: Callable[[str, Address], Delivery],
        rng: Random,
        on_message: Callable[[str, str, bytes], None],
    ) -> None:
        self._delivery_for = delivery_for
        self._rng = rng
        self._on_message = on_message
        self._listeners: dict[Address, Listener] = {}
        # A dict and not a set: it keeps the order, so that every run is the same.
        self.open_exchanges: dict[Exchange, None] = {}
        # The tasks that handle requests, each with its process.
        self._answering: dict[asyncio.Task[Any], Process] = {}
        self.exchanges = 0

    def listen(self, url: str, process: Process, handler: BodyHandler, path_handler: PathHandler | None = None) -> None:
        """Serve at the host and port of a URL."""
        address = address_of(url)
        if address in self._listeners:
            raise ValueError(f"{self._listeners[address].process.name} already listens at {url}")
        self._listeners[address] = Listener(process, handler, path_handler)

    def close(self, url: str) -> None:
        """Stop listening. Requests that have arrived are still answered."""
        self._listeners.pop(address_of(url), None)

    def is_answering(self, process: Process) -> bool:
        """Whether a process is handling a request, even if the caller has given up."""
        return any(one is process for one in self._answering.values())

    def crash(self, process: Process) -> None:
        """Remove a process that has crashed: close its listeners, and reset the exchanges that it was handling."""
        for address in [address for address, one in self._listeners.items() if one.process is process]:
            del self._listeners[address]
        for task in [task for task, one in self._answering.items() if one is process]:
            del self._answering[task]
        for exchange in list(self.open_exchanges):
            if exchange.caller is process:
                del self.open_exchanges[exchange]
                if exchange.future.done() and not exchange.future.cancelled():
                    # Mark the exception as retrieved: nothing else will.
                    exchange.future.exception()
                exchange.is_in_transit = exchange.is_in_transit and self._rng.random() < 0.5
            elif exchange.handled_by is process:
                self._fail(exchange, Unreachable(f"{exchange.url} reset the connection"))

    def begin(self, caller: Process, url: str, body: bytes, deadline: float) -> Exchange:
        loop = asyncio.get_running_loop()
        delivery = self._delivery_for(caller.name, _parse_url(url).address)
        exchange = Exchange(caller, url, body, deadline, delivery, loop.create_future())
        self.open_exchanges[exchange] = None
        self.exchanges += 1
        if delivery.fault == "refused":
            refused = Unreachable(f"{url} refused the connection")
            loop.call_later(delivery.request_delay, self._fail, exchange, refused, context=NO_OWNER)
        elif delivery.fault == "unable":
            unable = CallerUnable(url, "too many open files")
            loop.call_soon(self._fail, exchange, unable, context=NO_OWNER)
        elif delivery.fault == "no route":
            loop.call_soon(self._fail, exchange, NoRoute(url, "network is unreachable"), context=NO_OWNER)
        elif delivery.fault != "lost":
            loop.call_later(delivery.request_delay, self._deliver_request, exchange, context=NO_OWNER)
        return exchange

    def end(self, exchange: Exchange) -> None:
        """Forget an exchange: the caller no longer waits for the answer."""
        self.open_exchanges.pop(exchange, None)

    def _deliver_request(self, exchange: Exchange, *, is_repeat: bool = False) -> None:
        if not (exchange.is_in_transit or is_repeat):
            return
        exchange.is_in_transit = False
        url = _parse_url(exchange.url)
        listener = self._listeners.get(url.address)
        if listener is None:
            if not is_repeat:
                self._fail(exchange, Unreachable(f"no process listens at {exchange.url}"))
            return
        if is_repeat and listener.process is not exchange.connected_to:
            return
        self._on_message(exchange.caller.name, listener.process.name, exchange.body)
        work: Any
        exchange.handled_by = exchange.connected_to = listener.process
        if url.path in ("/mcp", "/mcp/"):
            work = run_handler(listener.handler, exchange.body, Peer("127.0.0.1", url.query, url.address))
        elif listener.path_handler is not None:
            work = listener.path_handler(url.path, exchange.body)
        else:
            self._deliver_answer(exchange, NOT_FOUND)
            return
        task = listener.process.start(work)
        self._answering[task] = listener.process
        task.add_done_callback(partial(self._handled, exchange), context=NO_OWNER)
        if exchange.delivery.fault == "twice" and not is_repeat:
            loop = asyncio.get_running_loop()
            loop.call_later(
                exchange.delivery.repeat_delay,
                partial(self._deliver_request, exchange, is_repeat=True),
                context=NO_OWNER,
            )

    def _handled(self, exchange: Exchange, task: asyncio.Task[bytes | HttpAnswer | None]) -> None:
        self._answering.pop(task, None)
        fault, handled_by = exchange.delivery.fault, exchange.handled_by
        # An answer that has been sent arrives even if its sender crashes now.
        exchange.handled_by = None
        if fault == "mute" or exchange not in self.open_exchanges:
            return
        if task.cancelled() or fault == "reset":
            self._fail(exchange, Unreachable(f"{exchange.url} closed the connection without an answer", connected=True))
            return
        answer = task.result()
        if answer is not None and handled_by is not None:
            body = answer if isinstance(answer, bytes) else answer.body
            self._on_message(handled_by.name, exchange.caller.name, body)
        if answer is None:
            answer = HttpAnswer(204, b"", "")
        elif isinstance(answer, bytes):
            answer = HttpAnswer(200, answer)
        asyncio.get_running_loop().call_later(
            exchange.delivery.response_delay, self._deliver_answer, exchange, answer, context=NO_OWNER
        )

    def _deliver_answer(self, exchange: Exchange, answer: HttpAnswer) -> None:
        # An answer at exactly the deadline is too late, whichever of the two timers fires first.
        if not exchange.future.done() and asyncio.get_running_loop().time() < exchange.deadline:
            exchange.future.set_result(answer)

    def _fail(self, exchange: Exchange, failure: Unreachable | CallerUnable) -> None:
        if exchange in self.open_exchanges and not exchange.future.done():
            exchange.future.set_exception(failure)


class SimCaller:
    """The ``Caller`` of one process."""

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
        connected = exchange.connected_to is not None
        exchange.future.set_exception(TimedOut(f"no answer from {exchange.url} in time", connected=connected))
