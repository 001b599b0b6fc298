"""The manager's memory: the league's state, and the log that it is the fold of.

What is decided is folded at once, in order, and written down; whatever depends on it and leaves the process waits until
it is written. A failed write ends everything: the manager never carries on with a state that is ahead of the disk.

Now and then a snapshot of the state is kept beside the log, so that a start folds only what came after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from time import perf_counter

from leaguekit.league.events import Event, LeagueCompleted, RoundCompleted, decode, encode
from leaguekit.league.snapshot import BadSnapshot, restore, save
from leaguekit.league.state import League
from leaguekit.manager.metrics import Histogram
from leaguekit.store.base import EventLog, StoreError

log = logging.getLogger(__name__)

SNAPSHOT = "snapshot"
# To fold so many takes less than a second. To save a league of 100,000 matches holds up everything else for 40 ms.
SNAPSHOT_EVERY = 50_000
# So many events of a long log are in memory at once.
PAGE = 2_000


class Ledger:
    """A league and its log. ``failed`` holds the error once a write has failed."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.league = League()
        # Of the event folded last.
        self.number = 0
        self.snapshot_every = SNAPSHOT_EVERY
        self._saved = 0
        self._saving: asyncio.Task[None] | None = None
        # Called with each event right after it was folded; what it sends must wait for ``settled``.
        self.listeners: list[Callable[[Event], None]] = []
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        # How long it took from recording events until they were durable.
        self.writes = Histogram()
        # The write of what was recorded last.
        self.latest: asyncio.Future[int] | None = None

    async def recover(self) -> int:
        """Take the league up from the log, beginning with its snapshot if that is of use; how many events there are."""
        await self._restore()
        if self._saved and not await self.log.read(self._saved - 1, 1):
            log.warning("the snapshot is ahead of the log: all events are folded instead")
            self.league, self._saved = League(), 0
        self.number = self._saved
        async for number, event in self.events_after(self._saved):
            self.league.apply(event)
            self.number = number
        return self.number

    async def events_after(self, number: int) -> AsyncIterator[tuple[int, Event]]:
        """What the log has after an event, each with its number."""
        while page := await self.log.read(number, PAGE):
            for one in page:
                yield one.number, decode(one.event)
            number = page[-1].number

    async def created_at(self) -> str:
        """When the league was created, which its first event tells."""
        (first,) = await self.log.read(0, 1)
        return decode(first.event).at

    async def _restore(self) -> None:
        if (snapshot := await self.log.kept(SNAPSHOT)) is not None:
            try:
                self.league, self._saved = restore(snapshot)
            except BadSnapshot as error:
                log.warning("the snapshot is not used, all events are folded instead: %s", error)

    def record(self, events: Sequence[Event]) -> None:
        """Fold events and hand them to the log. Nothing may happen between deciding on events and recording them."""
        if not events:
            return
        for event in events:
            self.league.apply(event)
        self.latest = self.log.append([encode(event) for event in events])
        self.latest.add_done_callback(partial(self._written, perf_counter()))
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
        """Keep a snapshot once the events in it are written."""
        # Without it a start takes longer, and that is all; that the log cannot be written is heard of anyway.
        with contextlib.suppress(StoreError):
            await self.settled()
            await self.log.keep(SNAPSHOT, snapshot)
        self._saving = None

    async def close(self) -> None:
        """Write what waits, and release the log."""
        if self._saving is not None:
            await self._saving
        await self.log.close()

    def _written(self, began: float, append: asyncio.Future[int]) -> None:
        if append.cancelled():
            return
        if (error := append.exception()) is None:
            self.writes.add(perf_counter() - began)
        elif not self.failed.done():
            self.failed.set_result(error)

    def is_settled(self) -> bool:
        """Whether everything recorded so far is written. Raises StoreError if it cannot be."""
        if self.latest is None:
            return True
        if not self.latest.done():
            return False
        self.latest.result()
        return True

    async def settled(self, upto: asyncio.Future[int] | None = None) -> None:
        """Wait until everything recorded so far, or up to an earlier ``latest``, is written. Raises StoreError if not.

        What leaves the process is made before this is called: afterwards the league may know more than the disk.
        """
        if (write := upto or self.latest) is not None:
            if write.done():
                write.result()
            else:
                # Others wait for the same write: one that gives up must not take it from them.
                await asyncio.shield(write)
