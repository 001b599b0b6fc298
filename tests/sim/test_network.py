"""The network between simulated processes, and its faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from leaguekit.sim.network import Delivery, Network, SimCaller
from leaguekit.sim.processes import OWNER, Process, ProcessLoop
from leaguekit.transport.base import CallerUnable, CallFailed, HttpAnswer, Peer, TimedOut, Unreachable
from leaguekit.transport.memory import Address

URL = "http://127.0.0.1:8001/mcp"


class NetworkFixture:
    """A caller, a listener, and a network between them whose next deliveries are given."""

    def __init__(self, loop: ProcessLoop) -> None:
        self.loop = loop
        self.deliveries: list[Delivery] = []
        self.arrived: list[tuple[float, bytes, str]] = []
        self.seconds = 0.0
        self.network = Network(self.next_delivery, Random(1), self.on_message)
        self.seen: list[tuple[str, str, bytes]] = []
        self.caller, self.listener = Process(loop, "caller"), Process(loop, "listener")
        self.network.listen(URL, self.listener, self.handle)

    def next_delivery(self, _caller: str, _address: Address) -> Delivery:
        return self.deliveries.pop(0) if self.deliveries else Delivery()

    def on_message(self, *what: Any) -> None:
        self.seen.append(what)  # type: ignore[arg-type]

    async def handle(self, body: bytes, _peer: Peer) -> bytes | None:
        owner = OWNER.get()
        self.arrived.append((self.loop.time(), body, "" if owner is None else owner.name))
        await asyncio.sleep(self.seconds)
        return b"answer to " + body if body else None

    async def post(self, *deliveries: Delivery, seconds: float = 5.0, body: bytes = b"x", url: str = URL) -> Any:
        """What a call comes to, and when."""
        self.deliveries += deliveries
        call = SimCaller(self.network, self.caller).post(url, body, seconds)
        done = self.loop.create_future()

        async def calling() -> None:
            try:
                answer: Any = await call
            except (CallFailed, CallerUnable) as failure:
                answer = type(failure)
            done.set_result((answer, self.loop.time()))

        self.caller.start(calling())
        return await done


def in_virtual_time(test: Callable[[NetworkFixture], Awaitable[None]]) -> Callable[[], None]:
    def run_test() -> None:
        loop = ProcessLoop()

        async def main() -> None:
            await test(NetworkFixture(loop))

        try:
            loop.run_until_complete(main())
        finally:
            loop.discard_processes()
            loop.close()

    run_test.__name__ = test.__name__
    return run_test


@in_virtual_time
async def test_an_exchange_takes_its_time_each_way(fixture: NetworkFixture) -> None:
    assert await fixture.post(Delivery(request_delay=1.0, response_delay=0.5)) == (HttpAnswer(200, b"answer to x"), 1.5)
    assert fixture.arrived == [(1.0, b"x", "listener")]
    assert fixture.seen == [("caller", "listener", b"x"), ("listener", "caller", b"answer to x")]
    assert not fixture.network.open_exchanges


@in_virtual_time
async def test_an_answer_at_the_very_limit_is_too_late(fixture: NetworkFixture) -> None:
    assert await fixture.post(Delivery(request_delay=4.0, response_delay=1.0)) == (TimedOut, 5.0)
    assert not fixture.network.open_exchanges


@in_virtual_time
async def test_no_answer_is_a_204_and_what_is_not_served_a_404(fixture: NetworkFixture) -> None:
    assert (await fixture.post(body=b""))[0].status == 204
    assert (await fixture.post(url="http://127.0.0.1:8001/else"))[0].status == 404
    assert (await fixture.post(url="http://127.0.0.1:9/mcp"))[0] is Unreachable


@pytest.mark.parametrize(
    ("delivery", "answer", "at", "arrived"),
    [
        (Delivery(1.0, 1.0, "lost"), TimedOut, 5.0, 0),
        (Delivery(1.0, 1.0, "refused"), Unreachable, 1.0, 0),
        (Delivery(1.0, 1.0, "unable"), CallerUnable, 0.0, 0),
        (Delivery(1.0, 1.0, "reset"), Unreachable, 1.0, 1),
        (Delivery(1.0, 1.0, "mute"), TimedOut, 5.0, 1),
        (Delivery(1.0, 1.0, "twice", 0.5), HttpAnswer(200, b"answer to x"), 2.0, 2),
    ],
)
def test_faults(delivery: Delivery, answer: Any, at: float, arrived: int) -> None:
    @in_virtual_time
    async def fault(fixture: NetworkFixture) -> None:
        assert await fixture.post(delivery) == (answer, at)
        await asyncio.sleep(10)
        assert len(fixture.arrived) == arrived
        assert not fixture.network.open_exchanges

    fault()


@in_virtual_time
async def test_whoever_waits_for_a_process_that_dies_sees_a_reset_at_once(fixture: NetworkFixture) -> None:
    fixture.seconds = 3.0
    fixture.loop.call_later(2.0, lambda: (fixture.listener.kill(), fixture.network.crash(fixture.listener)))
    assert await fixture.post(Delivery(request_delay=1.0, response_delay=1.0)) == (Unreachable, 2.0)
    assert await fixture.post() == (Unreachable, 2.0)


@in_virtual_time
async def test_an_answer_that_was_sent_survives_its_sender(fixture: NetworkFixture) -> None:
    fixture.loop.call_later(2.0, lambda: (fixture.listener.kill(), fixture.network.crash(fixture.listener)))
    assert await fixture.post(Delivery(request_delay=1.0, response_delay=3.0)) == (HttpAnswer(200, b"answer to x"), 4.0)


@in_virtual_time
async def test_a_request_may_arrive_although_its_caller_is_dead(fixture: NetworkFixture) -> None:
    for number in range(20):
        process = Process(fixture.loop, "caller")
        fixture.deliveries.append(Delivery(request_delay=1.0))
        process.start(SimCaller(fixture.network, process).post(URL, b"%d" % number, 5.0))
        await asyncio.sleep(0.5)
        process.kill()
        fixture.network.crash(process)
    await asyncio.sleep(10)
    assert 0 < len(fixture.arrived) < 20
    assert not fixture.network.open_exchanges
