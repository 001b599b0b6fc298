"""The event log: an append-only list of events, each a JSON text, numbered from 1."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class StoreError(Exception):
    """The store cannot be opened, read or written; the text says why and what to do."""


class Stored(NamedTuple):
    """One event as it lies in the log."""

    number: int
    event: bytes


class LogReader(Protocol):
    """A log as others read it, also while its writer is at work."""

    async def read(self, after: int = 0, most: int | None = None) -> list[Stored]:
        """The committed events behind a number, in order: all, or the first so many of them."""

    async def kept(self, name: str) -> bytes | None:
        """What is kept beside the log under a name."""

    async def names(self, prefix: str = "") -> list[str]:
        """The names that begin so and under which something is kept, sorted."""

    async def close(self) -> None:
        """Release the store; a writer first commits what waits."""


class EventLog(LogReader, Protocol):
    """Where a league's events are kept. One writer a log."""

    def append(self, events: Sequence[bytes]) -> Future[int]:
        """Take events in order, at once; the future holds the last one's number when all are durable.

        Appends that are waiting together share one commit. A failed commit fails this future and all later ones.
        """

    async def keep(self, name: str, content: bytes) -> None:
        """Keep a text beside the log under a name, replacing what was there (transcripts, the snapshot)."""

    def checkpoint(self) -> None:
        """Bring the store's files up to date: what is in a journal, and the number of the last durable event.

        A store without such files does nothing.
        """
