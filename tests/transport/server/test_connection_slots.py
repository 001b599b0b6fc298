"""The number of connections, and which are closed first. Over real sockets: on Linux, 127.0.0.0/8 is this machine."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest
from starlette.types import Receive, Scope, Send

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import LOOPBACK
from leaguekit.transport.base import Peer
from leaguekit.transport.server.connection_base import CONNECTION_EXTENSION
from leaguekit.transport.server.connection_slots import CONNECTIONS_PER_SOCKET
from leaguekit.transport.server.server import Limits
from tests.transport.running import Client, Run, Running, post, serving

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
        for limits in (Limits(connections=3), Limits(connections_per_address=3)):
            async with serving(limits=limits) as running:
                holding = [await running.say(start) for _ in range(3)]
                for held in holding:
                    assert await is_served(await running.connect())
                    assert await is_told_to_go(held)

    run(main())


def test_a_server_that_players_share_has_more_connections_for_each_of_them(run: Run) -> None:
    async def main() -> None:
        for limits in (Limits(connections=3), Limits(connections_per_address=3)):
            async with serving(sockets=3, limits=limits) as running:
                ports = running.server.ports
                held = [await running.connect(ports[number % 3]) for number in range(3 + 2 * CONNECTIONS_PER_SOCKET)]
                for client in held:
                    assert await is_served(client)
                assert await is_served(await running.connect(ports[2]))
                assert await is_told_to_go(held[0])

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


def test_beyond_the_most_requests_none_that_is_being_answered_gives_way(run: Run) -> None:
    async def main() -> None:
        go, under_way = asyncio.Event(), asyncio.Semaphore(0)

        async def wait(body: bytes, peer: Peer) -> bytes:
            under_way.release()
            await go.wait()
            return body

        async with serving(wait, limits=Limits(connections=2, requests=0)) as running:
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
        async with serving(limits=Limits(connections=4, connections_per_address=2)) as running:
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
        async with serving(limits=Limits(connections=3, connections_per_address=3)) as running:
            stays = await running.connect()
            for _ in range(20):
                leaves = await running.say(post(b"x", b"connection: close"))
                assert (await leaves.answer())[0] == 200
                assert await leaves.ends()
                aborts = await running.connect()
                aborts.writer.transport.abort()
                assert await is_served(stays)
            endpoint = running.server._endpoint
            while endpoint.slots._count > 1:
                # The server hears of the last one later than it answers the other.
                endpoint.connection_closed.clear()
                await endpoint.connection_closed.wait()
            assert endpoint.slots._count == 1
            assert endpoint.slots._count_by_address == {HERE: 1}

    run(main())


def begun(size: int) -> bytes:
    """A request of which only this number of bytes of the body comes."""
    return b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n" + b"x" * size


def bytes_held(running: Running) -> int:
    return sum(size for _, size in running.server._endpoint.slots._held_bytes.values())


async def until_held(running: Running, size: int) -> None:
    """Wait until the server has read, or let go of, as much as that."""
    while bytes_held(running) != size:
        assert await is_served(await running.connect(source=ELSEWHERE))


def test_bodies_that_never_end_hold_no_more_than_the_servers_budget(run: Run) -> None:
    async def main() -> None:
        # The head of a request counts too, until it is parsed.
        limits = Limits(held_bytes=2_001_000, held_bytes_per_address=1_001_000)
        async with serving(limits=limits, max_bytes=1_000_000) as running:
            honest = await running.connect(source=ELSEWHERE)
            for source in (HERE, THERE, "127.0.0.4"):
                for _ in range(40):
                    await running.say(begun(100_000), source)
                    assert await is_served(honest)
                    assert bytes_held(running) <= limits.held_bytes
            await until_held(running, 2_000_000)
            for client in running.clients[1:41]:
                assert await is_told_to_go(client)

    run(main())


def test_of_one_address_the_body_gives_way_that_began_first_and_other_addresses_keep_theirs(run: Run) -> None:
    async def main() -> None:
        limits = Limits(held_bytes=10_000_000, held_bytes_per_address=250_000)
        async with serving(limits=limits, max_bytes=1_000_000) as running:
            other = await running.say(begun(200_000), THERE)
            await until_held(running, 200_000)
            first = await running.say(begun(100_000))
            await until_held(running, 300_000)
            second = await running.say(begun(100_000))
            await until_held(running, 400_000)
            third = await running.say(begun(100_000))
            assert await is_told_to_go(first)
            await until_held(running, 400_000)
            assert not any(client.reader.at_eof() for client in (other, second, third))

    run(main())


def test_what_is_answered_or_has_gone_holds_nothing(run: Run) -> None:
    async def main() -> None:
        async with serving(max_bytes=1_000_000) as running:
            client = await running.say(begun(400_000))
            await until_held(running, 400_000)
            await client.send(b"x" * 600_000)
            assert len((await client.answer())[2]) == 1_000_000
            await until_held(running, 0)
            gone = await running.say(begun(300_000))
            await until_held(running, 300_000)
            gone.writer.transport.abort()
            await until_held(running, 0)
            slots = running.server._endpoint.slots
            assert (slots._total_bytes, dict(slots._bytes_by_address)) == (0, {})

    run(main())


def test_requests_that_wait_unparsed_behind_others_hold_no_more_than_the_budget(run: Run) -> None:
    """A connection that is being answered does not give way to others. So the one that sends more does."""
    waiting = Waiting()

    async def main() -> None:
        limits = Limits(held_bytes=1_000_000, held_bytes_per_address=500_000)
        async with serving(waiting.handle, limits=limits) as running:
            honest = await running.connect(source=ELSEWHERE)
            for source in (HERE, THERE, "127.0.0.4"):
                for _ in range(10):
                    client = await running.say(post(b"wait"), source)
                    await client.send(post(b"x") * 2_000)
                    assert await is_served(honest)
                    kept = [len(one.flow.unread) for one in running.server._state.connections]
                    assert sum(kept) <= bytes_held(running) <= 1_000_000
            assert bytes_held(running) > 800_000
            waiting.go.set()
            first = running.clients[1]
            assert [(await first.answer())[0] for _ in range(2_001)] == [200] * 2_001
            assert await is_told_to_go(client)

    run(main())


class Waiting:
    """A handler, and an application, that wait until they may go on."""

    def __init__(self, *, releases: bool = False) -> None:
        self.go, self.begun = asyncio.Event(), asyncio.Semaphore(0)
        self._releases = releases

    async def handle(self, body: bytes, peer: Peer) -> bytes:
        if body == b"x":
            return body
        self.begun.release()
        await self.go.wait()
        return body

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            while (message := await receive()).get("more_body"):
                pass
            if message["type"] == "http.disconnect":
                return
            if self._releases:
                scope["extensions"][CONNECTION_EXTENSION][CONNECTION_EXTENSION].release()
            self.begun.release()
            await self.go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
            await send({"type": "http.response.body", "body": b"x"})


PAGE = b"GET /page HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize("kind", ["message", "page that waits for news"])
def test_a_request_that_waits_gives_its_place_to_others_and_is_answered_all_the_same(run: Run, kind: str) -> None:
    async def main() -> None:
        for limits in (Limits(connections=3), Limits(connections_per_address=3)):
            waiting = Waiting(releases=True)
            async with serving(waiting.handle, app=waiting.app, limits=limits) as running:
                held = []
                for _ in range(20):
                    held.append(await running.say(post(b"wait") if kind == "message" else PAGE))
                    await waiting.begun.acquire()
                for _ in range(5):
                    assert await is_served(await running.connect())
                waiting.go.set()
                for client in held:
                    assert (await client.answer())[0] == 200
                # All came back as connections, and there is room for three.
                slots = running.server._endpoint.slots
                assert (slots._count, len(slots._idle), len(slots._without_slot), len(slots._pages)) == (3, 3, 0, 0)

    run(main())


def test_pages_cannot_hold_all_places(run: Run) -> None:
    async def main() -> None:
        waiting = Waiting()
        async with serving(waiting.handle, app=waiting.app, limits=Limits(connections=10)) as running:
            held = [await running.say(PAGE) for _ in range(8)]
            for _ in held:
                await waiting.begun.acquire()
            assert await is_told_to_go(await running.say(PAGE))
            messages = [await running.connect() for _ in range(2)]
            for client in messages * 2:
                assert await is_served(client)
            waiting.go.set()
            for client in held:
                assert (await client.answer())[0] == 200
            assert (await (await running.say(PAGE)).answer())[0] == 200

    run(main())


def test_pages_of_one_address_cannot_hold_all_of_its_places(run: Run) -> None:
    async def main() -> None:
        waiting = Waiting()
        async with serving(waiting.handle, app=waiting.app, limits=Limits(connections_per_address=5)) as running:
            held = [await running.say(PAGE) for _ in range(4)]
            for _ in held:
                await waiting.begun.acquire()
            assert await is_told_to_go(await running.say(PAGE))
            assert await is_served(await running.connect())
            other = await running.say(PAGE, source=THERE)
            await waiting.begun.acquire()
            waiting.go.set()
            for client in [*held, other]:
                assert (await client.answer())[0] == 200

    run(main())


def test_a_body_that_does_not_come_holds_no_place_wherever_it_was_sent(run: Run) -> None:
    async def main() -> None:
        waiting = Waiting()
        async with serving(waiting.handle, app=waiting.app, limits=Limits(connections=5)) as running:
            for _ in range(3):
                holding = [await running.say(post(b"body", target=b"/page")[:-1]) for _ in range(5)]
                for held in holding:
                    assert await is_served(await running.connect())
                    assert await is_told_to_go(held)
            # One that does come is answered.
            late = await running.say(post(b"body", target=b"/page")[:-1])
            waiting.go.set()
            await late.send(b"y")
            assert (await late.answer())[0] == 200

    run(main())


def test_an_answer_that_is_not_taken_holds_no_place(run: Run) -> None:
    async def main() -> None:
        large, begun = b"y" * 10_000_000, asyncio.Semaphore(0)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                begun.release()
                await send({"type": "http.response.body", "body": large, "more_body": True})
                await send({"type": "http.response.body", "body": large})

        async with serving(app=app, limits=Limits(connections=5)) as running:
            for _ in range(8):
                await running.say(PAGE)
                await begun.acquire()
            for _ in range(8):
                assert await is_served(await running.connect())

    run(main())


def test_connections_of_known_agents_give_way_last(run: Run) -> None:
    async def main() -> None:
        def identify(request: RpcRequest) -> str | None:
            return "P01" if request.body == b"x" else None

        async with serving(limits=Limits(connections=10), identify=identify) as running:
            known = [await running.connect() for _ in range(2)]
            for client in known:
                assert await is_served(client)
            for _ in range(50):
                await running.say(post(b"stranger"))
            assert await is_served(await running.connect())
            for client in known:
                assert await is_served(client)
            # No more than the fifth that is reserved.
            assert len(running.server._endpoint.slots._known) == 2

    run(main())


def test_connections_of_a_proxy_are_counted_by_the_address_that_it_speaks_for(run: Run) -> None:
    async def main() -> None:
        def of(address: bytes) -> bytes:
            return post(b"x", b"x-forwarded-for: 192.0.2.7, " + address)

        async with serving(limits=Limits(connections=20, connections_per_address=3), proxies=LOOPBACK) as running:
            honest = await running.say(of(b"198.51.100.1"))
            assert (await honest.answer())[0] == 200
            greedy = []
            for _ in range(10):
                greedy.append(await running.say(of(b"203.0.113.9")))
                assert (await greedy[-1].answer())[0] == 200
            for client in greedy[:7]:
                assert await is_told_to_go(client)
            slots = running.server._endpoint.slots
            assert slots._count_by_address == {"198.51.100.1": 1, "203.0.113.9": 3}
            await honest.send(of(b"198.51.100.1"))
            assert (await honest.answer())[0] == 200
            # A proxy uses its connections for one client after another.
            await honest.send(of(b"198.51.100.2"))
            assert (await honest.answer())[0] == 200
            assert slots._count_by_address == {"198.51.100.2": 1, "203.0.113.9": 3}

    run(main())


def test_a_proxy_is_refused_what_an_address_has_too_many_of(run: Run) -> None:
    async def main() -> None:
        waiting = Waiting()
        by_proxy = post(b"wait", b"x-forwarded-for: 203.0.113.9")
        limits = Limits(connections=20, connections_per_address=2, requests=0)
        async with serving(waiting.handle, limits=limits, proxies=LOOPBACK) as running:
            held = [await running.say(by_proxy) for _ in range(2)]
            for _ in held:
                await waiting.begun.acquire()
            assert await is_told_to_go(await running.say(by_proxy))
            assert await is_served(await running.connect())
            waiting.go.set()
            for client in held:
                assert (await client.answer())[0] == 200

    run(main())


def test_a_last_answer_that_is_not_taken_holds_no_place(run: Run) -> None:
    async def main() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"y" * 60_000})

        last = PAGE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
        async with serving(app=app, limits=Limits(connections=5)) as running:
            # The system takes part of the answer, and what is left is less than what pauses writing.
            running.server._sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
            for _ in range(8):
                sock = socket.socket()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                sock.setblocking(False)
                await asyncio.get_running_loop().sock_connect(sock, (HERE, running.server.port))
                reader, writer = await asyncio.open_connection(sock=sock)
                writer.transport.pause_reading()
                client = Client(reader, writer)
                running.clients.append(client)
                await client.send(last)
                while not any(one.unsent() for one in running.server._state.connections):  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0)
            for _ in range(8):
                assert await is_served(await running.connect())
                assert (await (await running.say(PAGE)).head())[0] == 200

    run(main())
