"""The cache of a league's figures: computed in a thread, one computation at a time, for a limited share of the time."""

from __future__ import annotations

import asyncio
import threading
from time import perf_counter, sleep
from typing import NamedTuple

from leaguekit.agents.world import World
from leaguekit.league.analysis.figures import figures
from leaguekit.league.snapshot import restore, save
from leaguekit.web import pages
from leaguekit.web.page_types import FiguresPage
from leaguekit.web.projection import Projection
from leaguekit.web.shared_work import SharedTask, TimeShareLimiter
from leaguekit.web.stream import INTERVAL_SECONDS, MAX_TIME_SHARE

# Fitting ratings takes a third of a second for a hundred players, and eight times that for twice as many.
MAX_RATED_PLAYERS = 200
# The share of the time that may be spent on computing figures.
FIGURES_TIME_SHARE = 0.25


class _Stopped(Exception):
    """No client waits for the figures any more."""


class _Cached(NamedTuple):
    """The figures after an event, and how long they are used although there are later events."""

    number: int
    expires_at: float
    page: FiguresPage


class FiguresCache:
    """The figures of all players. ``refresh`` them before reading ``page``."""

    def __init__(self, world: World, projection: Projection) -> None:
        self._world = world
        self._projection = projection
        self._cached: _Cached | None = None
        self._task: SharedTask[None] | None = None
        self._limiter = TimeShareLimiter(FIGURES_TIME_SHARE)
        self._lock = asyncio.Lock()

    @property
    def page(self) -> FiguresPage | None:
        """The figures as they were last computed; None if there are too many players."""
        return None if self._cached is None or self._is_too_large else self._cached.page

    @property
    def _is_too_large(self) -> bool:
        return len(self._projection.league.table.rows) > MAX_RATED_PLAYERS

    async def refresh(self) -> None:
        """Compute the figures, unless the cached ones are recent enough."""
        if self._is_recent or self._is_too_large:
            return
        if self._task is None or self._task.is_over:
            self._task = SharedTask(self._compute())
        await self._task.result()

    @property
    def _is_recent(self) -> bool:
        cached = self._cached
        return cached is not None and (
            cached.number == self._projection.number or asyncio.get_running_loop().time() < cached.expires_at
        )

    async def _compute(self) -> None:
        """Compute the figures in a thread. If this is cancelled, it waits for the thread to end."""
        async with self._lock:
            await self._limiter.wait()
            began, stop, number = perf_counter(), threading.Event(), self._projection.number
            # The thread computes with a copy, because the league goes on meanwhile.
            work = self._world.blocking(_computed, save(self._projection.league, number), stop)
            computing = asyncio.ensure_future(work)
            try:
                await asyncio.wait((computing,))
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait((computing,))
                raise
            finally:
                seconds = perf_counter() - began
                self._limiter.record(seconds)
            if (page := computing.result()) is not None:
                lifetime = max(INTERVAL_SECONDS, seconds / MAX_TIME_SHARE)
                self._cached = _Cached(number, asyncio.get_running_loop().time() + lifetime, page)


def _computed(snapshot: bytes, stop: threading.Event) -> FiguresPage | None:
    """The figures of all players; None if ``stop`` was set before they were complete."""

    def check() -> None:
        # Let the event loop's thread run first.
        sleep(0)
        if stop.is_set():
            raise _Stopped

    league, number = restore(snapshot)
    try:
        return pages.figures_page(number, figures(league, check))
    except _Stopped:
        return None
