"""The cache of the API's responses: each is made once for all clients that want it within a quarter of a second."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from time import perf_counter, thread_time
from typing import NamedTuple

import msgspec
from starlette.types import Receive

from leaguekit.manager.ledger import Ledger
from leaguekit.web.api_types import JsonObject
from leaguekit.web.responses import Content, etag_of
from leaguekit.web.shared_work import Busy, SharedTask, TimeShareLimiter
from leaguekit.web.stream import INTERVAL_SECONDS, MAX_TIME_SHARE

MAX_CACHED, MAX_CACHED_BYTES = 256, 8_000_000
# Different responses that are made at the same time: in all, and for one address.
MAX_IN_PROGRESS, MAX_IN_PROGRESS_PER_ADDRESS = 64, 16
# The share of the time that may be spent on making responses.
RESPONSES_TIME_SHARE = 0.25
# Shorter bodies are not compressed.
MIN_COMPRESSED_BYTES = 1_000

MakePage = Callable[[], Awaitable[JsonObject]]


class _Cached(NamedTuple):
    expires_at: float
    content: Content

    @property
    def size(self) -> int:
        return len(self.content.body) + len(self.content.compressed or b"")


class ResponseCache:
    """Makes responses and keeps each for a moment, by a key that says what it answers."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._cached: dict[str, _Cached] = {}
        self._in_progress: dict[str, SharedTask[Content]] = {}
        self._limiter = TimeShareLimiter(RESPONSES_TIME_SHARE)
        self._is_closed = False

    async def get(
        self, key: str, prepare: Callable[[], Awaitable[None]], make: MakePage, address: str, receive: Receive
    ) -> Content:
        """The response for a key. If it is not cached, it is made: ``prepare`` is awaited, and then ``make`` in turn.

        Raises Busy, and what ``prepare`` and ``make`` raise. Raises ClientDisconnect if the client leaves.
        """
        cached = self._cached.get(key)
        if cached is not None and asyncio.get_running_loop().time() < cached.expires_at:
            return cached.content
        task = self._in_progress.get(key)
        if task is None or task.is_over:
            self._check_limits(address)
            task = self._in_progress[key] = SharedTask(self._make(key, prepare, make), address)
        return await task.result(receive)

    def close(self) -> None:
        """Make no more responses. Clients that wait for one are refused."""
        self._is_closed = True
        for task in self._in_progress.values():
            task.cancel()

    def _check_limits(self, address: str) -> None:
        self._in_progress = {key: task for key, task in self._in_progress.items() if not task.is_over}
        of_address = sum(task.address == address for task in self._in_progress.values())
        if self._is_closed:
            raise Busy("The manager is stopping.")
        if len(self._in_progress) >= MAX_IN_PROGRESS or of_address >= MAX_IN_PROGRESS_PER_ADDRESS:
            raise Busy("Too many different pages are asked for at once. Try again in a second.")

    async def _make(self, key: str, prepare: Callable[[], Awaitable[None]], make: MakePage) -> Content:
        await prepare()
        await self._limiter.wait()
        began = thread_time()
        body = msgspec.json.encode(await make())
        # In thread time, because waiting for the log is not work.
        making = thread_time() - began
        self._limiter.record(making)
        # Nothing is published before it is durable.
        await self._ledger.wait_to_answer()
        began = perf_counter()
        compressed = gzip.compress(body, 6, mtime=0) if len(body) >= MIN_COMPRESSED_BYTES else None
        content = Content(body, compressed, etag_of(body))
        compressing = perf_counter() - began
        self._limiter.record(compressing)
        lifetime = max(INTERVAL_SECONDS, (making + compressing) / MAX_TIME_SHARE)
        self._store(key, _Cached(asyncio.get_running_loop().time() + lifetime, content))
        return content

    def _store(self, key: str, new: _Cached) -> None:
        size = sum(cached.size for cached in self._cached.values())
        if len(self._cached) >= MAX_CACHED or size + new.size > MAX_CACHED_BYTES:
            self._cached.clear()
        self._cached[key] = new
