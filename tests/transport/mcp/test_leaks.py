"""Nothing is left of clients that have gone: a thousand of them, half while they listen. Some 20 s."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from inspect import getclosurevars
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client

from tests.transport.mcp.served_league import ServedLeague
from tests.transport.running import post

pytestmark = pytest.mark.long

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "leak", "version": "1"},
}
ACCEPT = b"accept: application/json, text/event-stream"
JSON = b"content-type: application/json"
BATCH = 50
MAX_GROWTH = 6_000_000


def modern(method: str, **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    named = [f"mcp-name: {params['name']}".encode()] if "name" in params else []
    headers = [b"mcp-protocol-version: 2026-07-28", f"mcp-method: {method}".encode(), ACCEPT, JSON, *named]
    return post(json.dumps(body).encode(), *headers)


LISTEN = modern("subscriptions/listen", notifications={"resourceSubscriptions": ["league://standings"]})
CALL = modern("tools/call", name="get_standings", arguments={})
INITIALIZE = post(
    json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "l", "version": "1"}},
    }).encode(),
    ACCEPT, JSON,
)  # fmt: skip


async def come_and_go(house: ServedLeague, number: int) -> None:
    """One client: every other listens; some hang up, some reset, some do not wait for the answer."""
    # Each from another address. Otherwise they would be refused because they come too often.
    source = f"127.0.{1 + number // 200}.{1 + number % 200}"
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port, local_addr=(source, 0))
    listens = number % 2 == 0
    writer.write(LISTEN if listens else CALL if number % 4 == 1 else INITIALIZE)
    if listens or number % 8 < 6:
        assert b" 200 OK" in await reader.readline()
    if listens:
        assert b"acknowledged" in await reader.readuntil(b"acknowledged")
        await asyncio.sleep(0.05)
    if number % 3:
        writer.transport.abort()
    else:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def at_rest(house: ServedLeague) -> int:
    """How many tasks there are once the server has noticed who has gone."""
    for _ in range(200):
        if not house.server._state.connections:
            break
        await asyncio.sleep(0.05)
    assert not house.server._state.connections
    await asyncio.sleep(0.2)
    gc.collect()
    return len(asyncio.all_tasks())


def test_a_thousand_clients_leave_neither_tasks_nor_memory_behind(run: Any, tmp_path: Path) -> None:
    async def main() -> None:
        process = psutil.Process()
        async with ServedLeague(tmp_path) as house:
            before = len(asyncio.all_tasks())
            tasks, memory = [], []
            for start in range(0, 1_400, BATCH):
                await asyncio.gather(*(come_and_go(house, start + one) for one in range(BATCH)))
                if start >= 350:
                    tasks.append(await at_rest(house))
                    memory.append(process.memory_info().rss)
            # The door itself keeps a few, and the manager looks for outages.
            assert len(set(tasks)) == 1
            assert tasks[0] <= before + 6
            assert memory[-1] - memory[0] < MAX_GROWTH, memory
            managers = getclosurevars(house.server._mcp._opening.result().app).nonlocals
            assert [managers[name]._server_instances for name in ("in_events", "in_json")] == [{}, {}]
            # What the manager tells goes to nobody.
            assert not house.server._endpoint.answer_tasks

    run(main())


def test_official_clients_that_are_cut_off_while_they_listen_leave_nothing_behind(run: Any, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:

            async def listening(mode: Any) -> None:
                async with Client(house.url, mode=mode) as client:
                    await client.list_tools()
                    if mode == "auto":
                        async with client.listen(resource_subscriptions=["league://standings"]):
                            await asyncio.sleep(60)
                    await asyncio.sleep(60)

            before = await at_rest(house)
            for _ in range(3):
                clients = [asyncio.create_task(listening(mode)) for mode in ("auto", "legacy") * 5]
                await asyncio.sleep(1.5)
                for client in clients:
                    client.cancel()
                await asyncio.gather(*clients, return_exceptions=True)
            assert await at_rest(house) <= before + 3

    run(main())


def test_a_server_with_listeners_stops_at_once_and_takes_leave_of_them(run: Any, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:
            reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
            writer.write(LISTEN)
            await reader.readuntil(b"acknowledged")
            began = asyncio.get_running_loop().time()
            await house.server.stop(5.0)
            assert asyncio.get_running_loop().time() - began < 1.0
            # The last thing that it says is that the stream ends by its own will.
            assert b'"result"' in await reader.read()
            writer.close()
            await writer.wait_closed()

    run(main())
