"""The dashboard behind the manager's real server: streams beside agents, limits, stopping, and figures."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from pathlib import Path
from typing import Any, Self

from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.connection import HttpConnection
from leaguekit.transport.server.server import listen
from leaguekit.web.app import Dashboard
from tests.web.dashboard_clients import Got, Json, events, shown, unchunked

PATIENCE = 10


class ServedDashboard:
    """A manager and its dashboard at a real port."""

    def __init__(self, root: Path) -> None:
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self._caller = HttpCaller(AddressPolicy.local())
        settings = Settings(league_id="house", announce_lead=0.0, seed_hex="5e" * 32)
        url = f"http://127.0.0.1:{self.port}/mcp"
        self.manager = Manager(World(self._caller, root), MemoryLog(), settings, url, "adm")
        self.made: list[Dashboard] = []

    def _make(self, manager: Manager) -> Dashboard:
        self.made.append(Dashboard(manager))
        return self.made[0]

    async def __aenter__(self) -> Self:
        await self.manager.open()
        self.server = manager_server(self.manager, self._socket, web=self._make)
        await self.server.start()
        self._running = asyncio.create_task(self.manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await self.server.stop()
        await self.manager.close()
        await self._caller.close()

    async def connected(self, request: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request.encode())
        return reader, writer

    async def get(self, path: str) -> Got:
        reader, writer = await self.connected(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE)).partition(b"\r\n\r\n")
        writer.close()
        first, *rest = head.decode().split("\r\n")
        return Got(int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body)

    async def operate(self, **params: Any) -> Json:
        body = json.dumps({"jsonrpc": "2.0", "method": "operator", "params": {"admin_token": "adm"} | params, "id": 1})
        origin = f"Origin: http://127.0.0.1:{self.port}\r\nHost: 127.0.0.1:{self.port}\r\n"
        head = f"POST /mcp HTTP/1.1\r\n{origin}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        reader, writer = await self.connected(head + body)
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        return dict(json.loads(answer.partition(b"\r\n\r\n")[2]))

    async def watch(self, *headers: str) -> Watching:
        more = "".join(f"{header}\r\n" for header in headers)
        reader, writer = await self.connected(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        return Watching(reader, writer, head.decode())


class Watching:
    """A subscriber of the stream over a real connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str) -> None:
        self.reader, self.writer, self.head = reader, writer, head
        self._raw = b""

    async def until(self, count: int) -> list[tuple[str, str, Json]]:
        """Wait until ``count`` events have come. Returns all of them."""
        async with asyncio.timeout(PATIENCE):
            while len(found := self._events()) < count:
                came = await self.reader.read(65_536)
                if not came:
                    raise EOFError
                self._raw += came
        return found

    def _events(self) -> list[tuple[str, str, Json]]:
        # Only whole chunks can be read.
        if not self._raw.endswith(b"\r\n"):
            return []
        body = unchunked(self._raw)
        if "content-encoding: gzip" in self.head:
            body = zlib.decompressobj(wbits=31).decompress(body)
        return list(events(body.decode()))


def test_a_stream_over_http_shows_what_the_operator_does_from_the_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            plain, small = await served.watch(), await served.watch("Accept-Encoding: gzip, deflate, br")
            assert "content-type: text/event-stream" in plain.head
            assert "cache-control: no-store" in plain.head
            assert "content-encoding: gzip" in small.head
            for one in (plain, small):
                (first,) = await one.until(1)
                assert first[:2] == ("snapshot", "1")
            assert "result" in await served.operate(command="pause", reason="lunch")
            for one in (plain, small):
                _, (name, number, data) = await one.until(2)
                assert (name, number) == ("change", "2")
                assert data["set"]["league"]["paused"] is True
                (news,) = data["set"]["news"].values()
                assert (news["text"], news["by_operator"]) == ("The operator pauses the league: lunch", True)
                one.writer.close()

    asyncio.run(main())


def test_a_page_that_comes_back_with_the_last_id_it_saw_ends_in_the_same_state(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            before = await served.watch()
            await before.until(1)
            before.writer.close()
            await served.operate(command="pause")
            back = await served.watch("Last-Event-ID: 1")
            told = await back.until(1)
            if not shown(told)["league"]["paused"]:
                # What was published before it came back; the rest follows.
                told = await back.until(2)
            assert told[0][0] == "snapshot"
            assert told[-1][1] == "2"
            assert shown(told)["league"]["paused"] is True
            back.writer.close()

    asyncio.run(main())


def test_spectators_take_no_agents_place_and_stopping_does_not_wait_for_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            slots = served.server._endpoint.slots
            crowd = [await served.watch() for _ in range(20)]
            for one in crowd:
                await one.until(1)
            assert len(served.made[0].broadcaster) == 20
            assert slots._count == 0
            assert (await served.get("/health")).status == 200
            loop = asyncio.get_running_loop()
            began = loop.time()
            await served.server.stop()
            assert loop.time() - began < 2
            for one in crowd:
                assert await asyncio.wait_for(one.reader.read(), PATIENCE) == b""
                one.writer.close()

    asyncio.run(main())


def test_the_dashboard_is_made_when_somebody_first_looks(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            assert (await served.get("/health")).status == 200
            assert served.made == []
            page = await served.get("/")
            assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
            assert "script-src 'self'" in page.headers["content-security-policy"]
            assert (await served.get("/api/league")).json["league"]["league_id"] == "house"
            assert len(served.made) == 1

    asyncio.run(main())


def test_a_connection_that_streams_no_longer_counts_and_ends_when_told_to(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            watching = await served.watch()
            await watching.until(1)
            (line,) = served.made[0].broadcaster._subscribers
            assert isinstance(line, HttpConnection)
            assert line.unsent() == 0
            line.end()
            line.end()
            assert await asyncio.wait_for(watching.reader.read(), PATIENCE) == b""
            watching.writer.close()

    asyncio.run(main())


LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+')


def test_metrics_are_what_prometheus_reads(tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            watching = await served.watch()
            await watching.until(1)
            await served.get("/api/standings")
            await served.operate(command="pause")
            await served.operate(command="make_tea")
            got = await served.get("/metrics")
            watching.writer.close()
            assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
            lines = got.body.decode().splitlines()
            families = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
            for line in lines:
                assert line.startswith("# ") or LINE.fullmatch(line), line
                if not line.startswith("#"):
                    name = re.split(r"[{ ]", line)[0]
                    assert name in families or re.sub(r"_(bucket|sum|count)$", "", name) in families
            assert 'league_http_requests_total{route="/api/standings",status="200"} 1' in lines
            assert 'league_rpc_errors_total{method="operator",code="E044"} 1' in lines
            assert "league_spectators 1" in lines
            assert "league_paused 1" in lines
            assert "league_log_events_total 2" in lines
            assert 'league_log_commit_seconds_bucket{le="+Inf"} 2' in lines
            assert 'league_rpc_seconds_count{method="operator"} 1' in lines
            wanted = ("answer", "loop_lag", "standings", "rpc", "log_commit")
            assert all(families[f"league_{name}_seconds"] == "histogram" for name in wanted)
            assert {"league_matches_in_play", "league_match_retries_total", "league_agents"} <= set(families)

    asyncio.run(main())


def test_one_address_may_look_often_but_not_without_end_and_agents_there_are_not_held_up_by_it() -> None:
    allowances, school = RateLimiter(), Peer("192.0.2.1", "", ("127.0.0.1", 8000))
    # Five hundred people open a page of ten files at once.
    assert not any(allowances.acquire_for_page(school) for _ in range(5_000))
    assert sum(allowances.acquire_for_page(school) > 0 for _ in range(5_000)) > 4_000
    assert allowances.acquire_for_message("", school) == 0
    assert allowances.acquire_for_page(school._replace(host="198.51.100.1")) == 0
