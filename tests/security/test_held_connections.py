"""Nobody holds all connections of a manager or a gateway by requests that wait. ``make stress`` does it for longer."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from leaguekit.cli.program import raise_file_limit
from leaguekit.gateway import gateway as houses
from leaguekit.gateway import mcp_surface
from leaguekit.gateway.gateway import MAX_WAITS_PER_SEAT, TooManyWaiting
from leaguekit.manager import admission, reachability
from tests.gateway.served_gateway import ServedGateway, served_gateway
from tests.stress import slots
from tests.stress.lines import Line, Seen, post
from tests.transport.mcp.served_league import ServedLeague
from tests.transport.mcp.served_league import registration as registering

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback addresses")


def run(work: Coroutine[Any, Any, None]) -> None:
    raise_file_limit()
    asyncio.run(asyncio.wait_for(work, 60))


def port_of(place: ServedGateway) -> int:
    return int(place.base.rpartition(":")[2])


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(slots.polls, marks=pytest.mark.long),
        slots.relay_calls,
        pytest.param(slots.registrations, marks=pytest.mark.long),
        slots.unfinished_bodies,
    ],
    ids=lambda one: one.__name__,
)
def test_a_thousand_requests_that_wait_keep_no_other_away(tmp_path: Path, attack: slots.Attack) -> None:
    async def attacked() -> None:
        async with (
            ServedLeague(tmp_path) as house,
            served_gateway(house.url, tmp_path) as place,
            slots.hanging_endpoint() as hanging,
            slots.under(attack, slots.Target(house.port, port_of(place), hanging)) as port,
        ):
            seen = await slots.pings(port)
            assert seen.statuses == {200: slots.PINGS}
            # A seat is its owner's all the while.
            code, version = await slots.joined(port_of(place), "Honest")
            line = Line(port_of(place), "127.0.0.1", Seen())
            waiting = asyncio.ensure_future(line.ask(slots.look(code, version)))
            (seat,) = [seat for seat in place.gateway.seats.values() if seat.name == "Honest"]
            while not place.gateway._waits_of_seats[seat]:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            seat._notify()
            assert (await waiting)[0] == 200
            line.close()

    run(attacked())


async def _poll(port: int, code: str, version: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(slots.look(code, version))
    return reader, writer


def test_a_seat_has_so_many_polls_at_a_time_and_one_that_is_closed_makes_room(tmp_path: Path) -> None:
    async def polled() -> None:
        async with (
            ServedLeague(tmp_path) as house,
            served_gateway(house.url, tmp_path) as place,
            AsyncExitStack() as stack,
        ):
            port, waits = port_of(place), place.gateway._waits_of_seats
            code, version = await slots.joined(port, "Ada")
            (seat,) = place.gateway.seats.values()
            held = [await _poll(port, code, version) for _ in range(MAX_WAITS_PER_SEAT)]
            for _, writer in held:
                stack.callback(writer.close)
            while waits[seat] < MAX_WAITS_PER_SEAT:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            reader, writer = await _poll(port, code, version)
            stack.callback(writer.close)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 429 ")
            assert b"retry-after: 1\r\n" in head
            assert b"Too many requests wait for this seat's news" in await reader.read(1_000)
            async with Client(f"{place.url}?seat={code}") as client:
                refused = await client.call_tool("wait_for_turn", {"seconds": 45})
                assert refused.is_error
                assert "Too many requests wait" in refused.content[0].text
            held[0][1].close()
            while waits[seat] == MAX_WAITS_PER_SEAT:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            further = await _poll(port, code, version)
            stack.callback(further[1].close)
            while waits[seat] < MAX_WAITS_PER_SEAT:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)

    run(polled())


def test_who_waits_by_mcp_and_goes_away_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_surface, "PROGRESS_SECONDS", 0.05)

    async def waited() -> None:
        async with ServedLeague(tmp_path) as house, served_gateway(house.url, tmp_path) as place:
            code, _ = await slots.joined(port_of(place), "Ada")
            (seat,) = place.gateway.seats.values()
            held = place.server._endpoint.slots
            call = {"name": "wait_for_turn", "arguments": {"code": code, "seconds": 45}}
            body = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": call, "id": 1}).encode()
            accept = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length"
            _, writer = await asyncio.open_connection("127.0.0.1", port_of(place))
            writer.write(post(body).replace(b"content-length", accept, 1))
            while not place.gateway._waits_of_seats[seat]:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0.001)
            # Meanwhile it needs no place.
            assert len(held._without_slot) == 1
            writer.transport.abort()
            while place.gateway._waits_of_seats[seat]:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0.001)

    run(waited())


def test_every_seat_has_one_poll_however_many_others_have_from_the_same_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(houses, "MAX_EXTRA_WAITS_PER_ADDRESS", 2)

    async def polled() -> None:
        async with (
            ServedLeague(tmp_path) as house,
            served_gateway(house.url, tmp_path) as place,
            AsyncExitStack() as stack,
        ):
            gateway = place.gateway
            seats = [(await gateway.join(None, name, "10.0.0.1"))[1] for name in ("Ada", "Bob", "Eve")]
            for seat in seats:
                stack.enter_context(gateway.counted_wait(seat, "10.0.0.1", None))
            for seat in seats[:2]:
                stack.enter_context(gateway.counted_wait(seat, "10.0.0.1", None))
            with pytest.raises(TooManyWaiting), gateway.counted_wait(seats[2], "10.0.0.1", None):
                pass
            with gateway.counted_wait(seats[2], "10.0.0.2", None):
                pass

    run(polled())


def test_registrations_that_are_being_checked_are_limited_by_address_but_not_for_known_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_CHECKS", 5)
    monkeypatch.setattr(admission, "MAX_CHECKS_PER_ADDRESS", 3)
    # The endpoints that do not answer hang up when the test says so, and not after a time.
    monkeypatch.setattr(admission, "PING_SECONDS", 60)
    monkeypatch.setattr(reachability, "PING_SECONDS", 60)
    called = asyncio.Queue[asyncio.Transport]()

    class Hanging(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            called.put_nowait(transport)

    async def hang_up() -> None:
        while True:
            (await called.get()).abort()

    async def registered() -> None:
        async with ServedLeague(tmp_path) as house, AsyncExitStack() as stack:
            server = await asyncio.get_running_loop().create_server(Hanging, "127.0.0.1", 0)
            await stack.enter_async_context(server)
            hanging = server.sockets[0].getsockname()[1]
            numbers, answers = count(1), asyncio.Queue[dict[str, Any]]()

            async def register(source: str, query: str = "", **more: Any) -> None:
                name = f"Crowd {next(numbers)}"
                message = registering(f"http://127.0.0.1:{hanging}/{name[6:]}", name) | more
                call = {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": name}
                line = Line(house.port, source, Seen())
                stack.callback(line.close)
                _, body = await line.ask(post(json.dumps(call).encode(), f"/mcp{query}"))
                await answers.put(json.loads(body))

            async def after_hanging_up(tasks: list[asyncio.Future[None]]) -> list[str]:
                """The answers of those that are being checked."""
                hanging_up = asyncio.create_task(hang_up())
                await asyncio.gather(*tasks)
                hanging_up.cancel()
                return [_cause(answers.get_nowait()) for _ in range(answers.qsize())]

            async def soonest(checked: int, *sent: Coroutine[Any, Any, None]) -> list[str]:
                """The answers to registrations in their order. ``checked`` of them are being checked until the last."""
                tasks = [asyncio.ensure_future(one) for one in sent]
                at_once = [_cause(await answers.get()) for _ in tasks[checked:]]
                return at_once + await after_hanging_up(tasks)

            # Three are called at once, and the rest hears so at once.
            assert await soonest(3, *(register("127.0.5.1") for _ in range(5))) == ["E059"] * 2 + ["E048"] * 3
            both = [register(f"127.0.5.{1 + number % 2}") for number in range(8)]
            assert await soonest(5, *both) == ["E059"] * 3 + ["E048"] * 5
            # An agent with a token or a seat code is counted by itself.
            await house.player("Ada")
            (ada,) = house.league.players.values()
            token = house.manager._admission._issued[ada.id].token
            full = [register(f"127.0.5.{1 + number % 2}") for number in range(6)]
            returning = registering(ada.meta.contact_endpoint, "Ada") | {"auth_token": token}
            call = {"jsonrpc": "2.0", "method": "register_player", "params": returning, "id": 1}
            tasks = [asyncio.ensure_future(one) for one in full]
            assert _cause(await answers.get()) == "E059"
            line = Line(house.port, "127.0.5.1", Seen())
            stack.callback(line.close)
            _, body = await line.ask(post(json.dumps(call).encode()))
            assert json.loads(body)["result"]["status"] == "ACCEPTED"
            assert answers.empty()
            # A stranger whose endpoint answers takes the place of one whose endpoint does not.
            await house.player("Bob")
            assert _cause(await answers.get()) == "E059"
            assert answers.empty()
            assert await after_hanging_up(tasks) == ["E048"] * 4

    run(registered())


def _cause(answer: dict[str, Any]) -> str:
    told = answer["error"]["data"] if "error" in answer else answer["result"]
    return str(told["error_code"])


def test_the_connection_of_an_agent_with_a_token_outlives_a_crowd_of_strangers(tmp_path: Path) -> None:
    async def crowded() -> None:
        async with ServedLeague(tmp_path, players=9) as house, AsyncExitStack() as stack:
            await house.player("Ada")
            (ada,) = house.league.players.values()
            query = {
                "protocol": "league.v2",
                "message_type": "LEAGUE_QUERY",
                "sender": f"player:{ada.id}",
                "timestamp": "2025-01-15T10:30:00Z",
                "conversation_id": "conv-1",
                "auth_token": house.manager._admission._issued[ada.id].token,
                "league_id": house.manager.league_id,
                "query_type": "GET_STANDINGS",
            }
            asked = post(json.dumps({"jsonrpc": "2.0", "method": "league_query", "params": query, "id": 1}).encode())

            async def answer(reader: asyncio.StreamReader) -> bytes:
                head = await reader.readuntil(b"\r\n\r\n")
                return await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))

            reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
            stack.callback(writer.close)
            writer.write(asked)
            assert b'"result"' in await answer(reader)
            for number in range(1_200):
                source = (f"127.0.6.{1 + number % 5}", 0)
                _, other = await asyncio.open_connection("127.0.0.1", house.port, local_addr=source)
                stack.callback(other.close)
            writer.write(asked)
            assert b'"result"' in await answer(reader)

    run(crowded())
