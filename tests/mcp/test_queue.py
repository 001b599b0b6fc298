"""MCP requests wait in a queue, so that they hold up no others."""

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

from leaguekit.transport.mcp import queue
from leaguekit.transport.mcp.door import Door, Served
from leaguekit.transport.mcp.queue import MOST_WAITING, MOST_WAITING_AN_ADDRESS, TURNS_BETWEEN, McpQueue
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
        async with serving(mcp=Door(house.load)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            clients = [await running.say(post(INITIALIZE)) for _ in range(80)]
            assert (await (await running.say(post(PING))).answer())[2] == PING
            assert house.begun < 41
            assert {(await client.answer())[0] for client in clients} == {200}
            assert house.begun == 81

    run(main())


def test_of_more_mcp_requests_than_may_wait_the_last_are_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # None is begun meanwhile.
    monkeypatch.setattr(queue, "TURNS_BETWEEN", 1_000_000)
    monkeypatch.setattr(queue, "MOST_WAITING_AN_ADDRESS", 3)

    async def main() -> None:
        house = House()
        async with serving(mcp=Door(house.load)) as running:
            assert (await (await running.say(post(INITIALIZE))).answer())[0] == 200
            waiting = [await running.say(post(INITIALIZE)) for _ in range(3)]
            refused = await running.say(post(INITIALIZE))
            assert (await refused.answer())[0] == 429
            # Pages and calls of the league are answered.
            assert (await (await running.say(post(PING))).answer())[2] == PING
            # One that has gone leaves its place to another, and is not begun.
            mcp_queue = running.server._endpoint.mcp_queue
            reset(waiting[0])
            while not mcp_queue.has_room("127.0.0.1"):  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            waiting.append(await running.say(post(INITIALIZE)))
            while mcp_queue.has_room("127.0.0.1"):  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            for client in waiting[1:]:
                reset(client)
            while mcp_queue._waiting:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            assert house.begun == 1

    run(main())


def test_the_addresses_take_turns_and_others_have_theirs_between(run: Run) -> None:
    async def main() -> None:
        waiting, begun, turns, at = McpQueue(), [], 0, []
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
            waiting.add(name[0], name, lambda name=name: begin(name))
        waiting.remove("g", "gone")
        waiting.remove("a", "unknown")
        await everything.wait()
        assert begun == ["a1", "b1", "c1", "a2", "a3"]
        assert all(later - earlier > TURNS_BETWEEN for earlier, later in pairwise(at))
        # The next is begun at once.
        while waiting._runs:  # noqa: ASYNC110 - there is no event for that
            await asyncio.sleep(0)
        waiting.add("d", "d1", lambda: begin("d1"))
        await asyncio.sleep(0)
        assert begun[-1] == "d1"

    run(main())


def test_so_many_wait_in_all_and_of_each_address(run: Run) -> None:
    async def main() -> None:
        waiting, added = McpQueue(), Counter[str]()
        for address in "abcdef":
            while waiting.has_room(address):
                waiting.add(address, added[address], lambda: None)
                added[address] += 1
        assert set(added.values()) == {MOST_WAITING_AN_ADDRESS}
        assert added.total() == MOST_WAITING
        for number in range(MOST_WAITING_AN_ADDRESS):
            waiting.remove("a", number)
        assert waiting.has_room("f")
        assert not waiting.has_room("b")

    run(main())
