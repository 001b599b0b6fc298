"""The lazy MCP application: it loads the SDK once, at the first request, and reports if that fails."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from leaguekit.transport.mcp import lazy_app
from leaguekit.transport.mcp.lazy_app import LazyMcpApp, Served, lazy_mcp_app
from leaguekit.transport.mcp.surface import Surface
from tests.transport.running import QUICK, Run, Running, echo, post, serving

INITIALIZE = '{"jsonrpc":"2.0","method":"initialize","params":{},"id":"é"}'.encode()
MARK = b"mcp-protocol-version: 2025-11-25"


class House:
    """What a door leads to, and how often it was loaded and left."""

    def __init__(self) -> None:
        self.loads = self.lefts = self.hushes = 0

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Served]:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await PlainTextResponse(f"mcp {scope['method']} {scope['path']}")(scope, receive, send)

        yield Served(app, self.end_streams)
        self.lefts += 1

    def load(self) -> Any:
        self.loads += 1
        return self.served()

    def end_streams(self) -> None:
        self.hushes += 1


async def said(running: Running, request: bytes) -> tuple[int, dict[str, str], bytes]:
    return await (await running.say(request)).answer()


def test_nothing_is_loaded_for_the_league_and_once_is_enough_for_mcp(run: Run) -> None:
    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load)) as running:
            ping = b'{"jsonrpc":"2.0","method":"ping","id":1}'
            assert (await said(running, post(ping)))[2] == ping
            assert house.loads == 0
            answers = await asyncio.gather(*(said(running, post(INITIALIZE)) for _ in range(5)))
            assert {(status, body) for status, _, body in answers} == {(200, b"mcp POST /mcp")}
            assert house.loads == 1
        assert (house.lefts, house.hushes) == (1, 1)

    run(main())


def test_a_door_that_nobody_used_closes_without_loading_anything(run: Run) -> None:
    async def main() -> None:
        house = House()
        async with serving(mcp=LazyMcpApp(house.load)):
            pass
        assert (house.loads, house.lefts, house.hushes) == (0, 0, 0)

    run(main())


def test_other_methods_are_mcps_if_they_are_marked_and_refused_otherwise(run: Run) -> None:
    async def main() -> None:
        async with serving(mcp=LazyMcpApp(House().load)) as running:
            assert (await said(running, post(b"", MARK, method=b"DELETE")))[2] == b"mcp DELETE /mcp"
            assert (await said(running, post(b"", method=b"GET")))[0] == 405
        async with serving(mcp=LazyMcpApp(House().load, only_post=True)) as running:
            status, headers, _ = await said(running, post(b"", MARK, method=b"GET"))
            assert (status, headers["allow"]) == (405, "POST")

    run(main())


def test_without_the_sdk_the_answer_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "leaguekit.transport.mcp.sdk", None)

    async def main() -> None:
        door = lazy_mcp_app(lambda: Surface("x", "X", "x"), 1_000)
        async with serving(mcp=door) as running:
            for _ in range(2):
                status, _, body = await said(running, post(INITIALIZE))
                error = json.loads(body)
                assert (status, error["id"], error["error"]["code"]) == (404, "é", -32601)
                assert "pip install 'leaguekit[mcp]'" in error["error"]["message"]
            status, _, body = await said(running, post(b"no json", MARK))
            assert (status, json.loads(body)["id"]) == (404, None)
            # The league goes on as ever.
            assert (await said(running, post(b'{"method":"ping"}')))[2] == b'{"method":"ping"}'

    run(main())


def test_what_fails_to_load_fails_for_everybody_and_holds_up_nobody(run: Run) -> None:
    async def main() -> None:
        def broken() -> Any:
            raise OSError("no room")

        async with serving(mcp=LazyMcpApp(broken)) as running:
            answers = await asyncio.gather(*(said(running, post(INITIALIZE)) for _ in range(3)))
            assert [status for status, _, _ in answers] == [500, 500, 500]

    run(main())


def test_what_failed_to_load_is_loaded_again_after_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_app, "RETRY_SECONDS", 0.0)
    faults = [OSError("no descriptors")]

    async def main() -> None:
        def load() -> Any:
            if faults:
                raise faults.pop()
            return House().load()

        async with serving(mcp=LazyMcpApp(load)) as running:
            assert [(await said(running, post(INITIALIZE)))[0] for _ in range(2)] == [500, 200]

    run(main())


def test_who_comes_too_often_is_told_when_to_come_back(run: Run) -> None:
    async def main() -> None:
        waits = iter([0.0, 1.5])
        async with serving(mcp=LazyMcpApp(House().load, admit=lambda _peer, _body: next(waits))) as running:
            assert (await said(running, post(INITIALIZE)))[0] == 200
            status, headers, _ = await said(running, post(INITIALIZE))
            assert (status, headers["retry-after"]) == (429, "2")

    run(main())


def test_requests_that_came_together_are_answered_in_their_order(run: Run) -> None:
    async def main() -> None:
        async with serving(mcp=LazyMcpApp(House().load)) as running:
            ping = b'{"jsonrpc":"2.0","method":"ping","id":1}'
            client = await running.say(post(ping) + post(INITIALIZE) + post(ping) + post(b"", MARK, method=b"DELETE"))
            bodies = [(await client.answer())[2] for _ in range(4)]
            assert bodies == [ping, b"mcp POST /mcp", ping, b"mcp DELETE /mcp"]

    run(main())


def test_an_application_hears_that_its_peer_has_gone(run: Run) -> None:
    async def main() -> None:
        gone = asyncio.Event()

        @asynccontextmanager
        async def served() -> AsyncIterator[Served]:
            async def app(_scope: Any, receive: Any, send: Any) -> None:
                assert (await receive())["body"] == INITIALIZE
                await send({"type": "http.response.start", "status": 200, "headers": []})
                assert (await receive())["type"] == "http.disconnect"
                gone.set()

            yield Served(app, lambda: None)

        async with serving(echo, mcp=LazyMcpApp(served), limits=QUICK) as running:
            client = await running.say(post(INITIALIZE))
            await client.head()
            client.writer.close()
            await gone.wait()

    run(main())


def test_a_peer_that_closed_its_side_still_gets_the_answer_to_its_call(run: Run) -> None:
    async def main() -> None:
        at_eof = asyncio.Event()

        @asynccontextmanager
        async def served() -> AsyncIterator[Served]:
            async def app(_scope: Any, receive: Any, send: Any) -> None:
                await receive()
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
                await at_eof.wait()
                await send({"type": "http.response.body", "body": b"answer"})

            yield Served(app, lambda: None)

        async with serving(echo, mcp=LazyMcpApp(served)) as running:
            client = await running.say(post(INITIALIZE))
            client.writer.write_eof()
            await running.at_eof()
            at_eof.set()
            assert (await client.answer())[2] == b"answer"
            assert await client.ends()

    run(main())
