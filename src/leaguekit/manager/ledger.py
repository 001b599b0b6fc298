"""The ledger: the state of the league, and the log of the events from which it is computed.

New events are applied to the state at once, in order, and are then written to the log. Everything that depends on them
and leaves the process waits until they are written. A failed write ends the manager: it never goes on with a state that
is ahead of the disk.

From time to time a snapshot of the state is stored beside the log, so that a start applies only the later events.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from leaguekit.league.events import Event, LeagueCompleted, RoundCompleted, decode, encode
from leaguekit.league.fold import apply
from leaguekit.league.snapshot import BadSnapshot, restore, save
from leaguekit.league.state import League
from leaguekit.manager.metrics import Histogram
from leaguekit.manager.writer_check import WriterCheck
from leaguekit.store.base import EventLog, StoreError, TakeoverLog

log = logging.getLogger(__name__)

SNAPSHOT = "snapshot"
# The number of events between two snapshots. A start applies this many events in less than a second. A snapshot of a
# league with 100,000 matches blocks the process for 40 ms.
SNAPSHOT_EVERY = 50_000
# The number of events that are read from the log at a time, so that a long log does not fill the memory.
PAGE = 2_000
# How long a caller waits at most for events to be written to a shared log. It is less than the time limits of callers.
ANSWER_SECONDS = 5.0
# How long ``close`` waits for a snapshot.
SAVE_SECONDS = 5.0


class Ledger:
    """A league and its log. ``failed`` holds the error once a write has failed."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.league = League()
        # The number of the last event that was applied.
        self.number = 0
        self.snapshot_every = SNAPSHOT_EVERY
        # The number of the last event in the latest snapshot.
        self._saved = 0
        self._saving: asyncio.Task[None] | None = None
        # Called with each event after it was applied. Before a listener sends anything, it must call ``wait_written``.
        self.listeners: list[Callable[[Event], None]] = []
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        # The durations from ``record`` until the events were written.
        self.writes = Histogram()
        # The latest write.
        self.latest: asyncio.Future[int] | None = None
        # From ``recover`` on, if another program may take the log over.
        self.writer_check: WriterCheck | None = None

    async def recover(self) -> int:
        """Restore the league from its snapshot and its log. Returns the number of events in the log."""
        if isinstance(self.log, TakeoverLog):
            self.writer_check = WriterCheck(self.log, self._fail)
        if (snapshot := await self.log.read_document(SNAPSHOT)) is not None:
            try:
                self.league, self._saved = restore(snapshot)
            except BadSnapshot as error:
                log.warning("the snapshot is not used, all events are applied instead: %s", error)
        if self._saved and not await self.log.read(self._saved - 1, 1):
            log.warning("the snapshot is ahead of the log: all events are applied instead")
            self.league, self._saved = League(), 0
        self.number = self._saved
        async for number, event in self.events_after(self._saved):
            apply(self.league, event)
            self.number = number
        return self.number

    async def events_after(self, number: int) -> AsyncIterator[tuple[int, Event]]:
        """The events in the log after a number, each with its own number."""
        while page := await self.log.read(number, PAGE):
            for one in page:
                yield one.number, decode(one.event)
            number = page[-1].number

    async def created_at(self) -> str:
        """The time at which the league was created, from its first event."""
        (first,) = await self.log.read(0, 1)
        return decode(first.event).at

    def record(self, events: Sequence[Event]) -> None:
        """Apply events to the league and write them to the log.

        The caller must not await anything between deciding on events and recording them.
        """
        if not events:
            return
        for event in events:
            apply(self.league, event)
        self.latest = self.log.append([encode(event) for event in events])
        self.latest.add_done_callback(partial(self._end_write, perf_counter()))
        if any(isinstance(event, (RoundCompleted, LeagueCompleted)) for event in events):
            self.latest.add_done_callback(lambda _append: self.log.checkpoint())
        self.number += len(events)
        if self.number - self._saved >= self.snapshot_every and self._saving is None:
            self._saved = self.number
            self._saving = asyncio.create_task(self._save(save(self.league, self.number)))
        for event in events:
            for listener in self.listeners:
                listener(event)

    async def _save(self, snapshot: bytes) -> None:
        """Store a snapshot once the events in it are written."""
        # An error only means that the next start takes longer. If the log cannot be written, ``failed`` reports that.
        with contextlib.suppress(StoreError):
            await self.wait_written()
            await self.log.write_document(SNAPSHOT, snapshot)
        self._saving = None

    async def close(self) -> None:
        """Finish all writes, and close the log."""
        if self.writer_check is not None:
            await self.writer_check.close()
        if self._saving is not None:
            await asyncio.wait([self._saving], timeout=SAVE_SECONDS)
        await self.log.close()

    def _end_write(self, began: float, append: asyncio.Future[int]) -> None:
        if append.cancelled():
            return
        if (error := append.exception()) is None:
            self.writes.add(perf_counter() - began)
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_result(error)

    @property
    def problem(self) -> str | None:
        """Why the log cannot be written at the moment; None if it can."""
        return None if self.writer_check is None else self.writer_check.problem

    @property
    def is_written(self) -> bool:
        """Whether everything recorded so far is written, no write has failed, and this is certainly the writer."""
        is_done = self.latest is None or (self.latest.done() and self.latest.exception() is None)
        return is_done and (self.writer_check is None or self.writer_check.is_confirmed)

    async def health(self) -> tuple[str, str | None]:
        """``ok``, ``waiting`` or ``failed``, and why."""
        if (problem := self.problem) is not None:
            return "waiting", problem
        try:
            await self.wait_to_answer()
        except StoreError as error:
            return "failed", str(error)
        return "ok", None

    async def wait_to_answer(self) -> None:
        """Wait as ``wait_written`` does, but not longer than a caller waits. Raises StoreError."""
        if self.writer_check is None:
            await self.wait_written()
        else:
            await self._in_time(self.wait_written())

    async def keep_in_time(self, name: str, content: bytes) -> None:
        """Store a text beside the log. Raises StoreError if that takes longer than a caller waits."""
        if self.writer_check is None:
            await self.log.write_document(name, content)
        else:
            await self._in_time(self.log.write_document(name, content))

    async def _in_time(self, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(writing)
        try:
            # This may run outside of a task, where ``asyncio.timeout`` is not possible.
            if not (await asyncio.wait([task], timeout=ANSWER_SECONDS))[0]:
                raise StoreError(self.problem or "it is slow")
            task.result()
        finally:
            task.cancel()

    async def wait_written(self, upto: asyncio.Future[int] | None = None) -> None:
        """Wait until everything recorded so far is written, or up to ``upto``, which is an earlier value of ``latest``.

        Raises StoreError.

        Make an answer before you call this, and send it afterwards. An answer that is made afterwards may depend on
        newer events, which are not written yet.
        """
        if (write := upto or self.latest) is not None:
            if write.done():
                write.result()
            else:
                # Others may wait for the same write. If this caller is cancelled, the write must go on.
                await asyncio.shield(write)
        if self.writer_check is not None:
            await self.writer_check.confirm()
