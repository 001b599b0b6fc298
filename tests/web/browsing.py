"""A real browser for the dashboard's pages, and dashboards of any log, served in this process.

Everything that a page must never do is recorded, and checked at the end: errors in its console, and requests to another
server than the manager.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect, sync_playwright

from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.protocol.messages import MatchProgress
from leaguekit.store.memory import MemoryLog, MemoryLogContent
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen
from leaguekit.web.app import Dashboard
from tests.league.play import Play

ADMIN = "adm-the-operators-own"
# No browser of its own is downloaded: whatever Chromium the machine has will do.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The compressed bytes of each file that a page has loaded.
SIZES = (
    "['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))"
    ".filter(one => !one.name.endsWith('/events')).map(one => one.encodedBodySize)"
)
PHONE, DESK = (390, 800), (1280, 860)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium, without a window. Skips the test, with the reason, where there is none.

    As long as it is open, this thread has a running event loop: what needs one of its own needs another thread.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(PROGRAMS)} is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page that one reader looks at."""

    def __init__(self, browser: Browser, base: str, *, dark: bool = False, size: tuple[int, int] = DESK) -> None:
        self.base = base
        self.faults: list[str] = []
        self._opened = 0
        width, height = size
        context = browser.new_context(
            color_scheme="dark" if dark else "light", viewport={"width": width, "height": height}
        )
        self.page: Page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.route("**/*", self._passed)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def _passed(self, route: Route) -> None:
        if route.request.url.startswith(f"{self.base}/"):
            route.continue_()
        else:
            self.faults.append(f"request to {route.request.url}")
            route.abort()

    def _said(self, message: ConsoleMessage) -> None:
        # The browser itself reports that a killed manager cannot be reached.
        if message.type in ("error", "warning") and "net::ERR_" not in message.text:
            self.faults.append(f"{message.type}: {message.text}")

    def open(self, route: str = "") -> Page:
        """Load one of the dashboard's pages, and wait until it is there."""
        self._opened += 1
        self.page.goto(f"{self.base}/?{self._opened}#/{route}")
        self.page.wait_for_selector("main:not([aria-busy]) h1")
        return self.page

    def table(self) -> list[tuple[str, ...]]:
        """The standings as they are shown: rank, id, won, drawn, lost, points."""
        rows = self.page.locator(".standings tbody tr").evaluate_all(
            "rows => rows.map(row => [row.dataset.key, ...[...row.cells].map(cell => cell.textContent)])"
        )
        return [(row[1], row[0], *row[6:9], row[-1]) for row in rows]

    def ended(self) -> None:
        """Close the page, and check that it did nothing that it must not."""
        self.page.context.close()
        assert not self.faults, self.faults


def fetched(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=15) as answer:
        return json.load(answer)


def expected_table(base: str) -> list[tuple[str, ...]]:
    """The standings as the API tells them, in the form of ``Visit.table``."""
    return [
        tuple(str(row[name]) for name in ("shown_rank", "id", "wins", "draws", "losses", "points"))
        for row in fetched(f"{base}/api/standings")["rows"]
    ]


@contextmanager
def served(
    log: list[bytes],
    settings: Settings,
    root: Path,
    reports: Queue[MatchProgress] | None = None,
    *,
    start_when: tuple[int, int] | None = None,
    gateway_page: str | None = None,
) -> Iterator[str]:
    """Where a manager that resumes the league of this log has its dashboard, in a thread of its own.

    It takes the ``reports`` that a referee would send, as soon as they are there.
    """
    socket = listen("127.0.0.1", 0)
    base = f"http://127.0.0.1:{socket.getsockname()[1]}"
    content = MemoryLogContent()
    content.events += log
    ready = threading.Event()
    ending: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        caller, end = HttpCaller(AddressPolicy.local()), asyncio.Event()
        world = World(caller, root)
        manager = Manager(world, MemoryLog(content), settings, f"{base}/mcp", ADMIN, gateway_page=gateway_page)
        manager.runner.start_when = start_when
        await manager.open()
        server = manager_server(manager, socket, web=Dashboard)
        await server.start()
        ending.append((asyncio.get_running_loop(), end))
        ready.set()
        taking = None if reports is None else asyncio.create_task(take(manager, reports))
        await end.wait()
        if taking is not None:
            taking.cancel()
        await server.stop()
        await manager.close()
        await caller.close()

    async def take(manager: Manager, reports: Queue[MatchProgress]) -> None:
        while True:
            while not reports.empty():
                manager.runner.progress.note(reports.get())
            await asyncio.sleep(0.05)

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(asyncio.run, main())
        while not ready.wait(0.05):
            if running.done():
                running.result()
        try:
            yield base
        finally:
            loop, end = ending[0]
            loop.call_soon_threadsafe(end.set)
            running.result(30)


def hundred_players() -> Play:
    """A whole league of a hundred players."""
    play = Play(players=100)
    for number in range(1, 6):
        play.referee(number, capacity=10)
    return play.begin().play_all()


def loaded(browser: Browser, base: str) -> tuple[list[int], float]:
    """The bytes of each file that a first visit loads, and the milliseconds until the table is shown."""
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    page = context.new_page()
    page.goto(base)
    expect(page.locator(".standings tbody tr")).to_have_count(100)
    sizes = page.evaluate(SIZES)
    shown_after = page.evaluate("performance.getEntriesByName('shown')[0].startTime")
    context.close()
    return sizes, shown_after
