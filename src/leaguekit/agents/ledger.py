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
    """A league and its log."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.league = League()
        # Called with each event right after it was folded; what it sends must wait for ``settled``.
        self.listeners: list[Callable[[Event], None]] = []
        self._latest: asyncio.Future[int] | None = None

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
        self._latest = self.log.append([encode(event) for event in events])
        for event in events:
            for listener in self.listeners:
                listener(event)

    async def settled(self) -> None:
        """Wait until everything recorded so far is written. Raises StoreError if it cannot be."""
        if self._latest is not None:
            # Others wait for the same write: one that gives up must not take it from them.
            await asyncio.shield(self._latest)
