"""Costly pages: made once for all, a few at a time, and only while a client waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from leaguekit.league import commands
from leaguekit.league.analysis.figures import figures
from leaguekit.league.state import League
from leaguekit.web import figures_cache, metrics_exporter, response_cache
from leaguekit.web.app import Dashboard
from leaguekit.web.pages import NotFound
from leaguekit.web.response_cache import MAX_IN_PROGRESS_PER_ADDRESS
from leaguekit.web.shared_work import SharedTask, TimeShareLimiter
from tests.agents.leagues import Hall, in_virtual_time
from tests.web.dashboard_clients import get
from tests.web.test_api import Visit
from tests.web.test_serving import PATIENCE, ServedDashboard

GET = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n"


class Computations:
    """Computations of figures that end only when they are stopped."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)
        self.at_once, self.max_at_once = 0, 0

    def figures(self, _league: League, check: Callable[[], None]) -> Any:
        self.at_once += 1
        self.max_at_once = max(self.max_at_once, self.at_once)
        self.begun.release()
        try:
            while True:
                check()
        finally:
            self.at_once -= 1
            self.ended.release()

    async def has(self, what: threading.Semaphore) -> None:
        assert await asyncio.to_thread(what.acquire, timeout=PATIENCE)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computations]:
    computations = Computations()
    monkeypatch.setattr(figures_cache, "figures", computations.figures)
    yield computations
    assert computations.at_once == 0


@in_virtual_time
async def test_figures_are_computed_once_for_each_event_whatever_part_of_them_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []

    def counted(league: League, check: Callable[[], None]) -> Any:
        computed.append(league)
        return figures(league, check)

    monkeypatch.setattr(figures_cache, "figures", counted)
    async with Visit(tmp_path) as visit:
        parts = await asyncio.gather(*(visit.json(f"/api/figures?offset={n}&limit=1") for n in range(4)))
        whole = await visit.json("/api/figures")
        assert [part["players"] for part in parts] == [[one] for one in whole["players"]]
        assert [(part["total"], part["offset"]) for part in parts] == [(4, n) for n in range(4)]
        await asyncio.sleep(3600)
        await visit.json("/api/figures?limit=2")
        assert len(computed) == 1
        hall = visit.hall
        hall.manager.ledger.record(commands.learn_form(hall.league, "P01", "TYPE", hall.timestamp))
        await asyncio.sleep(3600)
        later = await visit.json("/api/figures")
        assert (len(computed), later["seq"]) == (2, whole["seq"] + 1)


@in_virtual_time
async def test_offsets_beyond_the_end_are_one_and_the_same_page(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        for path, most in (
            ("/api/figures?offset={}", 4),
            ("/api/standings?offset={}", 4),
            ("/api/points?offset={}", 4),
            ("/api/times?offset={}", 4),
            ("/api/crosstable?offset={}", 4),
            ("/api/crosstable?columns_offset={}", 4),
            ("/api/rounds?offset={}", 3),
            ("/api/rounds/1?offset={}", 6),
            ("/api/agents?offset={}", 6),
            ("/api/agents/P01?offset={}", 6),
            ("/api/news?after={}", visit.hall.manager.ledger.number),
        ):
            before = len(visit.dashboard.responses._cached)
            answers = [await visit.json(path.format(number)) for number in (most, 1_000, 999_999)]
            assert answers[0] == answers[1] == answers[2], path
            assert len(visit.dashboard.responses._cached) == before + 1, path
            name = path.partition("?")[2].partition("=")[0]
            assert answers[0][name] == most, path


def test_a_computation_that_no_client_waits_for_is_stopped(tmp_path: Path, endless: Computations) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            writers = []
            for offset in (0, 0, 1):
                _, writer = await served.connected(GET.format(f"/api/figures?offset={offset}", ""))
                writers.append(writer)
            await endless.has(endless.begun)
            for writer in writers[:2]:
                writer.close()
                await writer.wait_closed()
            # One still waits, and others are served meanwhile.
            assert (await served.get("/api/standings")).status == 200
            assert endless.at_once == 1
            writers[2].close()
            await endless.has(endless.ended)
            # Another client begins another computation, after the first has ended.
            _, writer = await served.connected(GET.format("/api/figures", ""))
            await endless.has(endless.begun)
            writer.close()
            await endless.has(endless.ended)
            assert endless.max_at_once == 1

    asyncio.run(main())


def test_an_address_that_asks_for_many_pages_at_once_is_refused_before_they_are_made(
    tmp_path: Path, endless: Computations
) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            # The league has no players: only the limits differ.
            paths = [f"/api/figures?limit={limit}" for limit in range(2 * MAX_IN_PROGRESS_PER_ADDRESS)]
            waiting = [await served.connected(GET.format(path, "Connection: close\r\n")) for path in paths]
            refused = [
                await asyncio.wait_for(reader.read(), PATIENCE) for reader, _ in waiting[MAX_IN_PROGRESS_PER_ADDRESS:]
            ]
            assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in refused)
            assert all(b"retry-after: 1\r\n" in answer and b"Try again in a second" in answer for answer in refused)
            assert len(served.made[0].responses._in_progress) == MAX_IN_PROGRESS_PER_ADDRESS
            for _, writer in waiting:
                writer.close()
            await endless.has(endless.ended)
            assert endless.max_at_once == 1
            assert (await served.get("/api/standings")).status == 200

    asyncio.run(main())


def test_a_manager_that_stops_while_figures_are_computed_stops_at_once_and_without_a_word(
    tmp_path: Path, endless: Computations, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with ServedDashboard(tmp_path) as served:
            reader, writer = await served.connected(GET.format("/api/figures", ""))
            await endless.has(endless.begun)
            loop = asyncio.get_running_loop()
            began = loop.time()
            await served.server.stop()
            assert loop.time() - began < 3
            assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
            writer.close()
            await endless.has(endless.ended)

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.records == []


@in_virtual_time
async def test_pages_of_other_sites_get_nothing_that_is_costly(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = Dashboard(hall.manager)
        for path in ("/api/figures", "/api/live", "/api/crosstable", "/metrics", "/events", "/openapi.json"):
            got = await get(dashboard, path, sec_fetch_site="cross-site")
            assert got.status == 403, path
            assert "other sites" in got.json["error"]
        assert dashboard._catching_up is None
        # A link on another site leads to the page, and the page to the rest.
        for path, site in (("/", "cross-site"), ("/static/page.js", "same-origin"), ("/api/figures", "same-origin")):
            assert (await get(dashboard, path, sec_fetch_site=site)).status == 200
        assert (await get(dashboard, "/api/figures", sec_fetch_site="none")).status == 200


@in_virtual_time
async def test_the_answers_that_are_kept_are_bounded_by_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_cache, "MAX_CACHED_BYTES", 10_000)
    async with Visit(tmp_path) as visit:
        for limit in range(100):
            await visit.json(f"/api/standings?limit={limit}")
            kept = visit.dashboard.responses._cached.values()
            assert sum(len(one.content.body) + len(one.content.compressed or b"") for one in kept) <= 10_000


@pytest.mark.parametrize("turns", range(5))
def test_work_that_fails_just_when_its_client_leaves_is_not_logged(
    turns: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise NotFound

    async def main() -> None:
        leaving = asyncio.Event()

        async def receive() -> Any:
            await leaving.wait()
            return {"type": "http.disconnect"}

        for is_cancelled in (False, True):
            client = asyncio.create_task(SharedTask(fails()).result(receive))
            for _ in range(turns):
                await asyncio.sleep(0)
            if is_cancelled:
                client.cancel()
            else:
                leaving.set()
            with contextlib.suppress(NotFound, ClientDisconnect, asyncio.CancelledError):
                await client
            await asyncio.sleep(0)
            gc.collect()

    asyncio.run(main())
    assert caplog.records == []


@in_virtual_time
async def test_work_takes_no_more_than_its_part_of_the_time(tmp_path: Path) -> None:
    limiter, loop, began = TimeShareLimiter(0.25), asyncio.get_running_loop(), []

    async def work() -> None:
        await limiter.wait()
        began.append(loop.time())
        limiter.record(2.0)

    start = loop.time()
    await asyncio.gather(*(work() for _ in range(4)))
    assert [round(at - start, 6) for at in began] == [0.0, 6.0, 12.0, 18.0]


@in_virtual_time
async def test_metrics_are_made_once_for_all_that_ask_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(*arguments: Any) -> bytes:
        made.append(arguments)
        return b"league_round 0\n"

    monkeypatch.setattr(metrics_exporter.MetricsExporter, "_make_text", counted)
    async with Hall(tmp_path) as hall:
        dashboard = Dashboard(hall.manager)
        assert {(await get(dashboard, "/metrics")).body for _ in range(100)} == {b"league_round 0\n"}
        assert len(made) == 1
        await asyncio.sleep(1)
        await get(dashboard, "/metrics")
        assert len(made) == 2
