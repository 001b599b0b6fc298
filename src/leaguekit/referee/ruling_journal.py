"""The queue in front of a referee's journal file: rulings that arrive during a write are written together after it."""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future, TimerHandle
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal

log = logging.getLogger(__name__)

# A mark "delivered" waits this long for a ruling, so that both are written together.
MARK_DELAY_SECONDS = 0.2

# Entries that are written together, each with the future that is done when it is durable.
Group = list[tuple[bytes, "Future[None]"]]


class RulingJournal:
    """Writes to a journal file in a thread of its own, or in the loop if the world is ``inline``."""

    def __init__(self, world: World, file: Journal) -> None:
        self.file = file
        self._world = world
        self._loop = asyncio.get_running_loop()
        self._waiting: Group = []
        self._is_writing = False
        self._inline_write: asyncio.Task[None] | None = None
        self._mark_timer: TimerHandle | None = None
        self._groups: SimpleQueue[Group | None] = SimpleQueue()
        if not world.inline:
            # It takes 14 µs to pass a group to this thread, and 40 µs with asyncio.to_thread.
            Thread(target=self._write_groups, name="rulings", daemon=True).start()

    def write(self, entry: bytes) -> Future[None]:
        """Write a ruling. It is durable when the future is done. The future raises StoreError."""
        durable: Future[None] = self._loop.create_future()
        self._waiting.append((entry, durable))
        if not self._is_writing:
            self._is_writing = True
            # Several matches may be ruled on in one iteration of the loop, so the write begins after it.
            self._loop.call_soon(self._start_write)
        return durable

    def mark_delivered(self, match_id: str, attempt: int) -> None:
        """Mark a ruling as delivered to the manager. The mark is written after a short delay."""
        self.file.mark_delivered(match_id, attempt)
        if self._mark_timer is None:
            self._mark_timer = self._loop.call_later(MARK_DELAY_SECONDS, self._write_marks)

    async def close(self) -> None:
        if self._mark_timer is not None:
            self._mark_timer.cancel()
        await cancel(self._inline_write)
        self._groups.put(None)
        self.file.close()

    def _write_marks(self) -> None:
        self._mark_timer = None
        try:
            self.file.flush_delivered()
        except StoreError as error:
            # The rulings are then delivered again after the next start, which is harmless.
            log.warning("%s", error)

    def _start_write(self) -> None:
        group, self._waiting = self._waiting, []
        if self._world.inline:
            self._inline_write = self._loop.create_task(self._write_inline(group))
        else:
            self._groups.put(group)

    async def _write_inline(self, group: Group) -> None:
        self._settle(group, await self._world.blocking(self._write_group, group))

    def _settle(self, group: Group, failure: str | None) -> None:
        for _, durable in group:
            if not durable.done():
                if failure is None:
                    durable.set_result(None)
                else:
                    durable.set_exception(StoreError(failure))
        if self._waiting:
            self._start_write()
        else:
            self._is_writing = False

    # In the thread

    def _write_groups(self) -> None:
        while (group := self._groups.get()) is not None:
            failure = self._write_group(group)
            # If the loop is closed, no task waits for the result.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._settle, group, failure)

    def _write_group(self, group: Group) -> str | None:
        """Write a group. Returns the error as text, or None."""
        try:
            self.file.write(*(entry for entry, _ in group))
        except Exception as error:  # noqa: BLE001 - every error must reach the waiting tasks
            return str(error)
        return None
