"""The event log: an append-only list of events, each a JSON text, numbered from 1."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class StoreError(Exception):
    """The store cannot be opened, read or written; the text says why and what to do."""


class Stored(NamedTuple):
    """An event in the log."""

    number: int
    event: bytes


class LogReader(Protocol):
    """Reads a log, also while another program writes it."""

    async def read(self, after: int = 0, most: int | None = None) -> list[Stored]:
        """The committed events after a number, in order; at most ``most`` of them."""

    async def kept(self, name: str) -> bytes | None:
        """The text that is kept beside the log under a name; None if there is none."""

    async def names(self, prefix: str = "") -> list[str]:
        """The sorted names of the kept texts that begin with a prefix."""

    async def close(self) -> None:
        """Release the store. A writer commits pending writes first."""


class EventLog(LogReader, Protocol):
    """Stores the events of a league. A log has one writer."""

    def append(self, events: Sequence[bytes]) -> Future[int]:
        """Queue events to be written in order. The future has the number of the last one when all are durable.

        Pending appends share one commit. A failed commit fails this future and all later ones.
        """

    async def keep(self, name: str, content: bytes) -> None:
        """Store a text beside the log under a name, and replace an earlier one (transcripts, the snapshot)."""

    def checkpoint(self) -> None:
        """Bring the files of the store up to date: apply the journal, and write the number of the last durable event.

        A store without such files does nothing.
        """
