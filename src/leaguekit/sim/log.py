"""The event log of a simulated manager: slow or failing when the faults say so, and gone with its process."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Sequence
from random import Random
from typing import Literal, Protocol

from leaguekit.store.base import StoreError
from leaguekit.store.memory import MemoryDisk, MemoryLog


class CommitTrouble(Protocol):
    """What happens to commits."""

    def delay(self) -> float:
        """How long the next one takes."""

    def fails(self) -> Literal["lost", "written"] | None:
        """Whether the next one fails, and whether its events are on the disk nevertheless."""

    def at(self, moment: Literal["before", "after"]) -> bool:
        """Called right before and right after each; whether the process is still alive."""


class SimLog(MemoryLog):
    """An EventLog on a disk that outlives it. One commit is under way at a time; what comes then shares the next."""

    def __init__(self, disk: MemoryDisk, trouble: CommitTrouble) -> None:
        super().__init__(disk)
        self._trouble = trouble
        self._next: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._under_way: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._busy = False
        self._failure: StoreError | None = None

    def append(self, events: Sequence[bytes]) -> Future[int]:
        loop = asyncio.get_running_loop()
        future: Future[int] = loop.create_future()
        if self._failure is not None:
            future.set_exception(StoreError(str(self._failure)))
            return future
        self._next.append((future, tuple(events)))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin)
        return future

    def crash(self, chance: Random) -> None:
        """Its process has died: a commit that was under way has reached the disk whole, or not at all."""
        if chance.random() < 0.5:
            self._write()
        self._under_way, self._next = [], []

    async def close(self) -> None:
        while self._under_way or self._next:
            self._under_way, self._next = self._under_way or self._next, self._next if self._under_way else []
            self._finish()
        self._failure = self._failure or StoreError("The log is closed.")
        await super().close()

    def _begin(self) -> None:
        self._under_way, self._next = self._next, []
        if delay := self._trouble.delay():
            asyncio.get_running_loop().call_later(delay, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        if not self._under_way or not self._trouble.at("before"):
            return
        if (failure := self._trouble.fails()) is not None:
            self._fail(written=failure == "written")
            return
        count = len(self.disk.events)
        batch = self._under_way
        self._write()
        if not self._trouble.at("after"):
            return
        for future, events in batch:
            count += len(events)
            if not future.done():
                future.set_result(count)
        self._busy = bool(self._next)
        if self._busy:
            asyncio.get_running_loop().call_soon(self._begin)

    def _write(self) -> None:
        for _, events in self._under_way:
            self.disk.events += events
        self._under_way = []

    def _fail(self, *, written: bool) -> None:
        self._failure = StoreError("The log could not be written: No space left on device.")
        waiting = [future for future, _ in [*self._under_way, *self._next]]
        if written:
            self._write()
        self._under_way, self._next = [], []
        for future in waiting:
            if not future.done():
                future.set_exception(StoreError(str(self._failure)))
