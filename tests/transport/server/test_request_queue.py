"""MCP requests and batches wait in a queue, so that they hold up no others."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from leaguekit.transport.base import Peer
from leaguekit.transport.mcp.lazy_app import LazyMcpApp, Served
from leaguekit.transport.server import request_queue
from leaguekit.transport.server.request_queue import (
    MAX_WAITING,
    MAX_WAITING_PER_ADDRESS,
    TURNS_BETWEEN,
    FairScheduler,
    RequestQueue,
)
from tests.transport.running import Client, Run, post, serving

INITIALIZE = b'{"jsonrpc":"2.0","method":"initialize","params":{},"id":1}'
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'


def reset(client: Client) -> None:
    """End a connection so that its server knows that nobody waits for an answer."""
    client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


class House:
    """An application that counts its requests."""

    def __init__(self) -> None:
        self.begun = 0

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[Served]:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            self.begun += 1
            await PlainTextResponse("mcp")(scope, receive, send)

        yield Served(app, lambda: None)

    def load(self) -> Any:
        return self._served()


def test_a_new_connection_is_served_before_the_mcp_requests_that_came_earlier(run: Run) -> None:
    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            clients = [await running.say(post(INITIALIZE)) for _ in range(80)]
            assert (await (await running.say(post(PING))).answer())[2] == PING
            assert house.begun < 41
            assert {(await client.answer())[0] for client in clients} == {200}
            assert house.begun == 81

    run(main())


def test_a_new_connection_is_served_before_the_batches_that_came_earlier(run: Run) -> None:
    served = 0

    async def counted(body: bytes, peer: Peer) -> bytes:
        nonlocal served
        served += body.startswith(b"[")
        return body

    async def main() -> None:
        async with serving(counted) as running:
            clients = [await running.say(post(b"[%d]" % number)) for number in range(80)]
            assert (await (await running.say(post(PING))).answer())[2] == PING
            assert served < 41
            assert [(await client.answer())[2] for client in clients] == [b"[%d]" % number for number in range(80)]

    run(main())


def test_a_known_sender_waits_in_its_own_queue_if_that_of_its_address_is_full(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "MAX_WAITING_PER_ADDRESS", 3)
    known = INITIALIZE.replace(b"{}", b'{"code":"good"}')

    def sender_of(body: bytes, _peer: Peer) -> str | None:
        return "P01" if b"good" in body else None

    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load, sender_of=sender_of)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            # None of these is started for now.
            monkeypatch.setattr(request_queue, "TURNS_BETWEEN", 1_000_000)
            queue = running.server._endpoint.queue
            for number in range(3):
                await running.say(post(INITIALIZE))
                while queue._count <= number:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0)
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 429
            seat = await running.say(post(known))
            while "agent P01" not in queue._waiting:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
            monkeypatch.setattr(request_queue, "TURNS_BETWEEN", 0)
            queue._run_turn(0)
            queue._run_turn(0)
            assert (await seat.answer())[0] == 200

    run(main())


def test_of_more_mcp_requests_than_may_wait_the_last_are_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # None is begun meanwhile.
    monkeypatch.setattr(request_queue, "TURNS_BETWEEN", 1_000_000)
    monkeypatch.setattr(request_queue, "MAX_WAITING_PER_ADDRESS", 3)

    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            waiting = [await running.say(post(INITIALIZE)) for _ in range(3)]
            refused = await running.say(post(INITIALIZE))
            assert (await refused.answer())[0] == 429
            # Pages and calls of the league are answered.
            assert (await (await running.say(post(PING))).answer())[2] == PING
            # One that has gone leaves its place to another, and is not begun.
            queue = running.server._endpoint.queue
            reset(waiting[0])
            while not queue.has_room("127.0.0.1"):  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            waiting.append(await running.say(post(INITIALIZE)))
            while queue.has_room("127.0.0.1"):  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            for client in waiting[1:]:
                reset(client)
            while queue._waiting:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            assert house.begun == 1

    run(main())


def test_the_addresses_take_turns_and_others_have_theirs_between(run: Run) -> None:
    async def main() -> None:
        waiting, begun, turns, at = RequestQueue(), [], 0, []
        loop = asyncio.get_running_loop()
        everything = asyncio.Event()

        def count() -> None:
            nonlocal turns
            turns += 1
            if not everything.is_set():
                loop.call_soon(count)

        def begin(name: str) -> None:
            begun.append(name)
            at.append(turns)
            if len(begun) == 5:
                everything.set()

        count()
        for name in ("a1", "a2", "a3", "b1", "gone", "c1"):
            waiting.add(name[0], name, lambda name=name: begin(name), lambda: None)
        waiting.remove("g", "gone")
        waiting.remove("a", "unknown")
        await everything.wait()
        assert begun == ["a1", "b1", "c1", "a2", "a3"]
        assert all(later - earlier > TURNS_BETWEEN for earlier, later in pairwise(at))
        # The next is begun at once.
        while waiting._is_running:  # noqa: ASYNC110 - there is no event for that
            await asyncio.sleep(0)
        waiting.add("d", "d1", lambda: begin("d1"), lambda: None)
        await asyncio.sleep(0)
        assert begun[-1] == "d1"

    run(main())


def test_so_many_wait_in_all_and_of_each_address(run: Run) -> None:
    async def main() -> None:
        waiting, added, gave_way = RequestQueue(), Counter[str](), list[str]()

        def add(address: str) -> None:
            name = f"{address}{added[address]}"
            waiting.add(address, name, lambda: None, lambda: gave_way.append(name))
            added[address] += 1

        for address in "abcd":
            while waiting.has_room(address):
                add(address)
        assert set(added.values()) == {MAX_WAITING_PER_ADDRESS}
        assert added.total() == MAX_WAITING
        assert not gave_way
        # For another address, the newest of those that have most give way, until all have as many as it.
        while waiting.has_room("e"):
            add("e")
        assert gave_way[:5] == ["d99", "c99", "b99", "a99", "d98"]
        assert len(gave_way) == added["e"] == MAX_WAITING // 5
        assert {len(of_address) for of_address in waiting._waiting.values()} == {MAX_WAITING // 5}
        assert not any(waiting.has_room(address) for address in "abcde")
        assert waiting.has_room("f")
        waiting.remove("a", "a0")
        assert waiting.has_room("b")

    run(main())


def test_mcp_requests_of_many_addresses_keep_out_none_of_another(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # None is begun meanwhile.
    monkeypatch.setattr(request_queue, "TURNS_BETWEEN", 1_000_000)
    monkeypatch.setattr(request_queue, "MAX_WAITING", 4)

    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            queue = running.server._endpoint.queue

            async def waits(source: str, more: bytes = b"") -> Client:
                client = await running.say(post(INITIALIZE) + more, source=source)
                waiting: Any = queue._waiting
                known = {one for of_address in waiting.values() for one in of_address}
                while not {one for of_address in waiting.values() for one in of_address} - known:  # noqa: ASYNC110
                    await asyncio.sleep(0)
                return client

            first, second = await waits("127.0.0.2"), await waits("127.0.0.2")
            third = await waits("127.0.0.3")
            # Half of a further request has come with it.
            fourth = await waits("127.0.0.3", post(PING)[:-1])
            # The newest gives way, and is answered.
            honest = await running.say(post(INITIALIZE), source="127.0.0.4")
            gives_way, served = (asyncio.ensure_future(client.answer()) for client in (fourth, honest))
            await asyncio.wait({gives_way, served}, return_when=asyncio.FIRST_COMPLETED)
            assert not served.done()
            assert gives_way.result()[0] == 429
            assert await fourth.ends()
            assert (await (await running.say(post(INITIALIZE), source="127.0.0.3")).answer())[0] == 429
            # The others are begun.
            monkeypatch.setattr(request_queue, "TURNS_BETWEEN", 1)
            queue._run_turn(0)
            assert (await served)[0] == 200
            for client in (first, second, third):
                assert (await client.answer())[0] == 200
            assert house.begun == 5

    run(main())


def test_in_shared_turns_the_addresses_take_turns_and_a_fault_stops_nobody(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "SECONDS_PER_TURN", 0.0)
    done: list[str] = []

    def fail() -> None:
        done.append("fault")
        raise RuntimeError("a fault")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, _context: None)
        shared = FairScheduler()
        shared.add("a", fail)
        for number in range(3):
            shared.add("a", lambda number=number: done.append(f"a{number}"))
        shared.add("b", lambda: done.append("b0"))
        for turn in range(1, 7):
            await asyncio.sleep(0)
            assert len(done) <= turn
        assert not shared.is_busy

    run(main())
    assert done == ["fault", "b0", "a0", "a1", "a2"]
