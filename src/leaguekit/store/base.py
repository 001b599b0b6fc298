"""The event log: an append-only list of events, each a JSON text, numbered from 1.

A store holds one log. Its address is the name of a file, ``postgresql://user@host/database``, or ``memory:``.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from asyncio import Future
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, urlencode

# A log in memory, which ends with its manager.
MEMORY = "memory:"
# ``Path`` turns two slashes into one.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//?)", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres"}


class StoreError(Exception):
    """The store cannot be opened, read or written; the text says why and what to do."""


class Stored(NamedTuple):
    """An event in the log."""

    number: int
    event: bytes


class LogReader(Protocol):
    """Reads a log, also while another program writes it."""

    async def read(self, after: int = 0, limit: int | None = None) -> list[Stored]:
        """The committed events after a number, in order; at most ``limit`` of them."""

    async def read_document(self, name: str) -> bytes | None:
        """The document that is stored beside the log under a name; None if there is none."""

    async def document_names(self, prefix: str = "") -> list[str]:
        """The sorted names of the documents that begin with a prefix."""

    async def close(self) -> None:
        """Release the store. A writer commits pending writes first."""


class EventLog(LogReader, Protocol):
    """Stores the events of a league. A log has one writer."""

    def append(self, events: Sequence[bytes]) -> Future[int]:
        """Queue events to be written in order. The future has the number of the last one when all are durable.

        Pending appends share one commit. A failed commit fails this future and all later ones.
        """

    async def write_document(self, name: str, content: bytes) -> None:
        """Store a document beside the log under a name, and replace an earlier one (transcripts, the snapshot)."""

    def checkpoint(self) -> None:
        """Bring the files of the store up to date: apply the journal, and write the number of the last durable event.

        A store without such files does nothing.
        """


class TakeoverLog(ABC):
    """The part of a log that another program may take over from its writer, or that may be away for a time."""

    # The last moment, by the time of the loop, at which this program was certainly the writer.
    confirmed_at: float
    # Why the store cannot be reached at the moment; None if it can, or if that is not known yet.
    problem: str | None = None

    @abstractmethod
    async def confirm(self) -> None:
        """Confirm that this program is the writer; wait while the store is away. Raises StoreError if it is not."""


def is_postgres(address: str | Path) -> bool:
    """Whether an address names a PostgreSQL database. Raises StoreError if it names neither that nor a file."""
    found = _SCHEME.match(str(address))
    if found is None:
        return False
    if found[1].lower() in _POSTGRES and found[2] == "//":
        return True
    raise StoreError(
        f"{redact_address(address)} is not the address of a store: "
        "name a file, or a database as in postgresql://user@host/database."
    )


def redact_address(address: str | Path) -> str:
    """An address without its password."""
    text = str(address)
    if _SCHEME.match(text) is None:
        return text
    # Up to the last @, because a password that is not percent-encoded may contain any character.
    text, mark, query = re.sub(r"(:/[^:@]*):.*@", r"\1:***@", text).partition("?")
    fields = [(name, "***" if "password" in name else value) for name, value in parse_qsl(query)]
    return f"{text}{mark}{urlencode(fields, safe='*/,:')}"


def check_version(store: str, version: int, known: int) -> None:
    """Raise StoreError if a newer program wrote the store, before anything in it is changed."""
    if version > known:
        raise StoreError(
            f"{store} was written by a newer leaguekit: its version is {version}, and this program knows {known}. "
            "Upgrade leaguekit, or name another store."
        )


def check_readable(store: str, version: int, migrations: Sequence[Sequence[str]]) -> None:
    """Raise StoreError if a reader, which cannot migrate a store, cannot read it."""
    known = len(migrations)
    check_version(store, version, known)
    if version == 0:
        raise StoreError(f"{store} holds no league yet: a manager that is started with this store makes one.")
    if any(migrations[version:]):
        raise StoreError(
            f"{store} was written by an older leaguekit: its version is {version}, and this program reads {known}. "
            "Start a manager on it once, which brings it up to date."
        )


def check_numbers(store: str, after: int, events: Sequence[Stored]) -> None:
    """Raise StoreError if events are missing."""
    if events and events[-1].number != after + len(events):
        raise StoreError(
            f"{store} has a gap: {len(events)} events behind number {after}, the last of them numbered "
            f"{events[-1].number}. Somebody has changed the store: restore a copy."
        )
