"""Connections: how many, and who gives way. Over real sockets; all of 127.0.0.0/8 is this machine on Linux."""

from __future__ import annotations

import asyncio
import sys

import pytest

from leaguekit.transport.base import Peer
from leaguekit.transport.server import Limits
from tests.transport.running import Client, Run, post, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback addresses")

HERE, THERE, ELSEWHERE = "127.0.0.1", "127.0.0.2", "127.0.0.3"


async def is_told_to_go(client: Client) -> bool:
    status, headers, body = await client.answer()
    assert (status, headers["connection"], headers["retry-after"]) == (429, "close", "1")
    assert b"Too many connections" in body
    return await client.ends()


async def is_served(client: Client) -> bool:
    await client.send(post(b"x"))
    return (await client.answer())[::2] == (200, b"x")


@pytest.mark.parametrize(
    "start", [b"", b"POST /mcp HTTP/1.1\r\nho", post(b"body")[:-1]], ids=["silent", "head", "body"]
)
def test_whoever_only_holds_a_connection_loses_it_to_a_new_one_in_the_order_of_their_coming(
    run: Run, start: bytes
) -> None:
    async def main() -> None:
        for limits in (Limits(connections=3), Limits(connections_an_address=3)):
            async with serving(limits=limits) as running:
                holding = [await running.say(start) for _ in range(3)]
                for held in holding:
                    assert await is_served(await running.connect())
                    assert await is_told_to_go(held)

    run(main())


def test_of_those_that_are_used_the_one_goes_that_was_used_longest_ago(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=Limits(connections=3)) as running:
            first, second, third = [await running.connect() for _ in range(3)]
            for client in (first, second, third, first):
                assert await is_served(client)
            fourth = await running.connect()
            assert await is_told_to_go(second)
            for client in (first, third, fourth):
                assert await is_served(client)

    run(main())


def test_what_is_only_kept_so_that_its_refusal_is_seen_gives_way_too(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=Limits(connections=2)) as running:
            refused = [await running.say(b"nonsense\r\n\r\n") for _ in range(2)]
            for client in refused:
                assert (await client.answer())[0] == 400
            for _ in range(4):
                assert await is_served(await running.connect())

    run(main())


def test_none_that_is_being_answered_gives_way_and_then_the_new_one_is_refused(run: Run) -> None:
    async def main() -> None:
        go, under_way = asyncio.Event(), asyncio.Semaphore(0)

        async def wait(body: bytes, peer: Peer) -> bytes:
            under_way.release()
            await go.wait()
            return body

        async with serving(wait, limits=Limits(connections=2)) as running:
            busy = [await running.say(post(b"x")) for _ in range(2)]
            for _ in busy:
                await under_way.acquire()
            assert await is_told_to_go(await running.connect())
            go.set()
            for client in busy:
                assert (await client.answer())[0] == 200
            assert await is_served(await running.connect())

    run(main())


def test_an_address_gives_way_to_itself_and_to_others_only_when_all_is_full(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=Limits(connections=4, connections_an_address=2)) as running:
            early = await running.connect(source=THERE)
            mine = [await running.connect(source=HERE) for _ in range(2)]
            third = await running.connect(source=HERE)
            assert await is_told_to_go(mine[0])
            others = [await running.connect(source=ELSEWHERE) for _ in range(2)]
            assert await is_told_to_go(early)
            for client in (mine[1], third, *others):
                assert await is_served(client)

    run(main())


def test_what_has_gone_leaves_room(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=Limits(connections=3, connections_an_address=3)) as running:
            stays = await running.connect()
            for _ in range(20):
                leaves = await running.say(post(b"x", b"connection: close"))
                assert (await leaves.answer())[0] == 200
                assert await leaves.ends()
                aborts = await running.connect()
                aborts.writer.transport.abort()
                assert await is_served(stays)
            endpoint = running.server._endpoint
            while endpoint.room._count > 1:
                # The server hears of the last one later than it answers the other.
                endpoint.gone.clear()
                await endpoint.gone.wait()
            assert endpoint.room._count == 1
            assert endpoint.room._held == {HERE: 1}

    run(main())
