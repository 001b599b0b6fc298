"""How a referee writes its rulings down: those that come while others are being written share the next sync."""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future, TimerHandle
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from leaguekit.agents.world import World
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal

log = logging.getLogger(__name__)

# What is noted as delivered waits so long for a ruling to be written with.
NOTING_SECONDS = 0.2

Group = list[tuple[bytes, "Future[None]"]]


class RulingJournal:
    """The way to a journal."""

    def __init__(self, world: World, journal: Journal) -> None:
        self.journal = journal
        self._world = world
        self._loop = asyncio.get_running_loop()
        self._waiting: Group = []
        self._is_writing = False
        self._inline: asyncio.Task[None] | None = None
        self._noting: TimerHandle | None = None
        self._groups: SimpleQueue[Group | None] = SimpleQueue()
        if not world.inline:
            # To hand a group to a thread of its own takes 14 µs, and by asyncio.to_thread 40.
            Thread(target=self._write_groups, name="rulings", daemon=True).start()

    def write(self, entry: bytes) -> Future[None]:
        """Write a ruling; it is durable when this is done. Raises StoreError."""
        durable: Future[None] = self._loop.create_future()
        self._waiting.append((entry, durable))
        if not self._is_writing:
            self._is_writing = True
            # Not at once: several may be ruled on in one turn of the loop.
            self._loop.call_soon(self._begin)
        return durable

    def delivered(self, match_id: str, attempt: int) -> None:
        """Note that the manager has a ruling, soon."""
        self.journal.delivered(match_id, attempt)
        if self._noting is None:
            self._noting = self._loop.call_later(NOTING_SECONDS, self._note)

    async def close(self) -> None:
        if self._noting is not None:
            self._noting.cancel()
        if self._inline is not None:
            self._inline.cancel()
            await asyncio.gather(self._inline, return_exceptions=True)
        self._groups.put(None)
        self.journal.close()

    def _note(self) -> None:
        self._noting = None
        try:
            self.journal.note()
        except StoreError as error:
            # Then it is delivered again after the next start, which is harmless.
            log.warning("%s", error)

    def _begin(self) -> None:
        group, self._waiting = self._waiting, []
        if self._world.inline:
            self._inline = self._loop.create_task(self._write_inline(group))
        else:
            self._groups.put(group)

    async def _write_inline(self, group: Group) -> None:
        self._tell(group, await self._world.blocking(self._failure, group))

    def _tell(self, group: Group, failure: str | None) -> None:
        for _, durable in group:
            if not durable.done():
                if failure is None:
                    durable.set_result(None)
                else:
                    durable.set_exception(StoreError(failure))
        if self._waiting:
            self._begin()
        else:
            self._is_writing = False

    # In a thread

    def _write_groups(self) -> None:
        while (group := self._groups.get()) is not None:
            failure = self._failure(group)
            # A closed loop: nobody waits any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._tell, group, failure)

    def _failure(self, group: Group) -> str | None:
        """Write a group; what went wrong, if something did."""
        try:
            self.journal.write(*(entry for entry, _ in group))
        except Exception as error:  # noqa: BLE001 - whatever it was, those who wait must hear of it
            return str(error)
        return None
