"""The event log of a simulated manager. Its commits can be slow or fail, and a crash can interrupt them."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Sequence
from random import Random
from typing import Literal, Protocol

from leaguekit.store.base import StoreError
from leaguekit.store.memory import MemoryLog, MemoryLogContent


class CommitFaults(Protocol):
    """Decides what happens to commits."""

    def delay(self) -> float:
        """The duration of the next commit in seconds."""

    def failure(self) -> Literal["lost", "written"] | None:
        """Whether the next commit fails, and if so, whether its events are on the disk nevertheless."""

    def reach(self, moment: Literal["before", "after"]) -> bool:
        """Called immediately before and after each commit. Returns whether the process is still alive."""


class SimLog(MemoryLog):
    """An ``EventLog`` on a disk that survives crashes.

    One commit is written at a time. Events that are appended meanwhile share the next commit.
    """

    def __init__(self, content: MemoryLogContent, faults: CommitFaults) -> None:
        super().__init__(content)
        self._faults = faults
        self._queued: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._writing: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._is_scheduled = False
        self._failure: StoreError | None = None

    def append(self, events: Sequence[bytes]) -> Future[int]:
        loop = asyncio.get_running_loop()
        future: Future[int] = loop.create_future()
        if self._failure is not None:
            future.set_exception(StoreError(str(self._failure)))
            return future
        self._queued.append((future, tuple(events)))
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._begin)
        return future

    def crash(self, rng: Random) -> None:
        """Crash: the commit that is being written reaches the disk completely or not at all."""
        if rng.random() < 0.5:
            self._write()
        self._writing, self._queued = [], []

    async def close(self) -> None:
        while self._writing or self._queued:
            self._writing, self._queued = self._writing or self._queued, self._queued if self._writing else []
            self._finish()
        self._failure = self._failure or StoreError("The log is closed.")
        await super().close()

    def _begin(self) -> None:
        self._writing, self._queued = self._queued, []
        if delay := self._faults.delay():
            asyncio.get_running_loop().call_later(delay, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        if not self._writing or not self._faults.reach("before"):
            return
        if (failure := self._faults.failure()) is not None:
            self._fail(written=failure == "written")
            return
        count = len(self.content.events)
        batch = self._writing
        self._write()
        if not self._faults.reach("after"):
            return
        for future, events in batch:
            count += len(events)
            if not future.done():
                future.set_result(count)
        self._is_scheduled = bool(self._queued)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._begin)

    def _write(self) -> None:
        for _, events in self._writing:
            self.content.events += events
        self._writing = []

    def _fail(self, *, written: bool) -> None:
        self._failure = StoreError("The log could not be written: No space left on device.")
        waiting = [future for future, _ in [*self._writing, *self._queued]]
        if written:
            self._write()
        self._writing, self._queued = [], []
        for future in waiting:
            if not future.done():
                future.set_exception(StoreError(str(self._failure)))
