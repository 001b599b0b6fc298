"""The network between simulated processes, and what goes wrong on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from leaguekit.sim.network import Fate, Network, SimCaller
from leaguekit.sim.processes import OWNER, Process, ProcessLoop
from leaguekit.transport.base import CallerUnable, CallFailed, HttpAnswer, Peer, TimedOut, Unreachable

URL = "http://127.0.0.1:8001/mcp"


class Wire:
    """A caller, a listener, and a network between them whose next fates are given."""

    def __init__(self, loop: ProcessLoop) -> None:
        self.loop = loop
        self.fates: list[Fate] = []
        self.arrived: list[tuple[float, bytes, str]] = []
        self.seconds = 0.0
        self.network = Network(lambda _name, _address: self.fates.pop(0) if self.fates else Fate(), Random(1), self.saw)
        self.seen: list[tuple[str, str, bytes]] = []
        self.caller, self.listener = Process(loop, "caller"), Process(loop, "listener")
        self.network.listen(URL, self.listener, self.handle)

    def saw(self, *what: Any) -> None:
        self.seen.append(what)  # type: ignore[arg-type]

    async def handle(self, body: bytes, _peer: Peer) -> bytes | None:
        owner = OWNER.get()
        self.arrived.append((self.loop.time(), body, "" if owner is None else owner.name))
        await asyncio.sleep(self.seconds)
        return b"answer to " + body if body else None

    async def post(self, *fates: Fate, seconds: float = 5.0, body: bytes = b"x", url: str = URL) -> Any:
        """What a call comes to, and when."""
        self.fates += fates
        call = SimCaller(self.network, self.caller).post(url, body, seconds)
        done = self.loop.create_future()

        async def calling() -> None:
            try:
                came: Any = await call
            except (CallFailed, CallerUnable) as failure:
                came = type(failure)
            done.set_result((came, self.loop.time()))

        self.caller.start(calling())
        return await done


def on_a_wire(test: Callable[[Wire], Awaitable[None]]) -> Callable[[], None]:
    def run_it() -> None:
        loop = ProcessLoop()

        async def main() -> None:
            await test(Wire(loop))

        try:
            loop.run_until_complete(main())
        finally:
            loop.bury()
            loop.close()

    run_it.__name__ = test.__name__
    return run_it


@on_a_wire
async def test_an_exchange_takes_its_time_each_way(wire: Wire) -> None:
    assert await wire.post(Fate(out=1.0, back=0.5)) == (HttpAnswer(200, b"answer to x"), 1.5)
    assert wire.arrived == [(1.0, b"x", "listener")]
    assert wire.seen == [("caller", "listener", b"x"), ("listener", "caller", b"answer to x")]
    assert not wire.network.open


@on_a_wire
async def test_an_answer_at_the_very_limit_is_too_late(wire: Wire) -> None:
    assert await wire.post(Fate(out=4.0, back=1.0)) == (TimedOut, 5.0)
    assert not wire.network.open


@on_a_wire
async def test_no_answer_is_a_204_and_what_is_not_served_a_404(wire: Wire) -> None:
    assert (await wire.post(body=b""))[0].status == 204
    assert (await wire.post(url="http://127.0.0.1:8001/else"))[0].status == 404
    assert (await wire.post(url="http://127.0.0.1:9/mcp"))[0] is Unreachable


@pytest.mark.parametrize(
    ("fate", "came", "at", "arrived"),
    [
        (Fate(1.0, 1.0, "lost"), TimedOut, 5.0, 0),
        (Fate(1.0, 1.0, "refused"), Unreachable, 1.0, 0),
        (Fate(1.0, 1.0, "unable"), CallerUnable, 0.0, 0),
        (Fate(1.0, 1.0, "reset"), Unreachable, 1.0, 1),
        (Fate(1.0, 1.0, "mute"), TimedOut, 5.0, 1),
        (Fate(1.0, 1.0, "twice", 0.5), HttpAnswer(200, b"answer to x"), 2.0, 2),
    ],
)
def test_troubles(fate: Fate, came: Any, at: float, arrived: int) -> None:
    @on_a_wire
    async def trouble(wire: Wire) -> None:
        assert await wire.post(fate) == (came, at)
        await asyncio.sleep(10)
        assert len(wire.arrived) == arrived
        assert not wire.network.open

    trouble()


@on_a_wire
async def test_whoever_waits_for_a_process_that_dies_sees_a_reset_at_once(wire: Wire) -> None:
    wire.seconds = 3.0
    wire.loop.call_later(2.0, lambda: (wire.listener.kill(), wire.network.crash(wire.listener)))
    assert await wire.post(Fate(out=1.0, back=1.0)) == (Unreachable, 2.0)
    assert await wire.post() == (Unreachable, 2.0)


@on_a_wire
async def test_an_answer_that_was_sent_survives_its_sender(wire: Wire) -> None:
    wire.loop.call_later(2.0, lambda: (wire.listener.kill(), wire.network.crash(wire.listener)))
    assert await wire.post(Fate(out=1.0, back=3.0)) == (HttpAnswer(200, b"answer to x"), 4.0)


@on_a_wire
async def test_a_request_may_arrive_although_its_caller_is_dead(wire: Wire) -> None:
    for number in range(20):
        process = Process(wire.loop, "caller")
        wire.fates.append(Fate(out=1.0))
        process.start(SimCaller(wire.network, process).post(URL, b"%d" % number, 5.0))
        await asyncio.sleep(0.5)
        process.kill()
        wire.network.crash(process)
    await asyncio.sleep(10)
    assert 0 < len(wire.arrived) < 20
    assert not wire.network.open
