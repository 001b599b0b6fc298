"""The event log in memory, for tests and simulations. It has no threads, so the order of commits is deterministic."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Sequence

from leaguekit.store.base import Stored, StoreError

_CLOSED = "The log in memory is closed."


class MemoryDisk:
    """The committed content of a log. It outlives the log, as a disk outlives a process."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.kept: dict[str, bytes] = {}


class MemoryLog:
    """An EventLog on a MemoryDisk. Appends of one iteration of the event loop are committed together in the next."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()
        self._waiting: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._closed = False

    def append(self, events: Sequence[bytes]) -> Future[int]:
        loop = asyncio.get_running_loop()
        future: Future[int] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError(_CLOSED))
            return future
        if not self._waiting:
            loop.call_soon(self._commit)
        self._waiting.append((future, tuple(events)))
        return future

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future, events in waiting:
            self.disk.events += events
            if not future.done():
                future.set_result(len(self.disk.events))

    async def read(self, after: int = 0, limit: int | None = None) -> list[Stored]:
        self._check_open()
        after = max(after, 0)
        events = self.disk.events[after : None if limit is None else after + limit]
        return [Stored(number, event) for number, event in enumerate(events, after + 1)]

    async def keep(self, name: str, content: bytes) -> None:
        self._check_open()
        self.disk.kept[name] = content

    async def kept(self, name: str) -> bytes | None:
        self._check_open()
        return self.disk.kept.get(name)

    async def names(self, prefix: str = "") -> list[str]:
        self._check_open()
        return sorted(name for name in self.disk.kept if name.startswith(prefix))

    def checkpoint(self) -> None:
        """Does nothing: there are no files."""

    async def close(self) -> None:
        self._commit()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(_CLOSED)
