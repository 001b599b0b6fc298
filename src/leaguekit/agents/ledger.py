"""The manager's memory: the league's state, and the log that it is the fold of.

What is decided is folded at once, in order, and written down; whatever depends on it and leaves the process waits until
it is written. A failed write ends everything: the manager never carries on with a state that is ahead of the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from leaguekit.league.events import Event, decode, encode
from leaguekit.league.state import League
from leaguekit.store.base import EventLog


class Ledger:
    """A league and its log. ``failed`` holds the error once a write has failed."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.league = League()
        # Called with each event right after it was folded; what it sends must wait for ``settled``.
        self.listeners: list[Callable[[Event], None]] = []
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        # The write of what was recorded last.
        self.latest: asyncio.Future[int] | None = None

    async def recover(self) -> int:
        """Fold what the log holds; how many events that were."""
        stored = await self.log.read()
        for one in stored:
            self.league.apply(decode(one.event))
        return len(stored)

    def record(self, events: Sequence[Event]) -> None:
        """Fold events and hand them to the log. Nothing may happen between deciding on events and recording them."""
        if not events:
            return
        for event in events:
            self.league.apply(event)
        self.latest = self.log.append([encode(event) for event in events])
        self.latest.add_done_callback(self._written)
        for event in events:
            for listener in self.listeners:
                listener(event)

    def _written(self, append: asyncio.Future[int]) -> None:
        if not append.cancelled() and (error := append.exception()) is not None and not self.failed.done():
            self.failed.set_result(error)

    async def settled(self, upto: asyncio.Future[int] | None = None) -> None:
        """Wait until everything recorded so far, or up to an earlier ``latest``, is written. Raises StoreError if not.

        What leaves the process is made before this is called: afterwards the league may know more than the disk.
        """
        if (write := upto or self.latest) is not None:
            # Others wait for the same write: one that gives up must not take it from them.
            await asyncio.shield(write)
