"""Opens a store by its address: SQLite for a file name, PostgreSQL for ``postgresql://user@host/database``.

A store has one league. Several leagues on one PostgreSQL server need a database each, or a schema each. The address
names the schema as ``?search_path=spring``; the schema must exist. ``memory:`` is a log in memory, for tests and
measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from leaguekit.store.base import MEMORY, EventLog, LogReader, StoreError, is_postgres, redact_address
from leaguekit.store.memory import MemoryLog
from leaguekit.store.sqlite import SqliteLog
from leaguekit.store.sqlite_reader import SqliteReader


async def open_log(address: str | Path) -> EventLog:
    """Open a store as its writer, or create it."""
    if address == MEMORY:
        return MemoryLog()
    if not is_postgres(address):
        return await SqliteLog.open(address)
    log: EventLog = await _import_postgres(address).PostgresLog.open(str(address))
    return log


class StandbyLock(Protocol):
    """Keeps other standbys from taking a store over. ``was_served`` says whether another manager served the league."""

    was_served: bool

    def release(self) -> None: ...


async def stand_by(address: str | Path, notify: Callable[[str], None]) -> StandbyLock:
    """Wait until the writer of a store is gone. Open the store then, and release the lock.

    ``notify`` is called with a sentence about each step.
    """
    if address == MEMORY or not is_postgres(address):
        raise StoreError(f"{address} is on this machine only: a standby needs --store postgresql://user@host/database.")
    _import_postgres(address)
    lock = import_module("leaguekit.store.postgres_lock")
    held: StandbyLock = await lock.stand_by(str(address), notify)
    return held


async def open_reader(address: str | Path) -> LogReader:
    """Open an existing store for reading, also while its manager writes it."""
    if address == MEMORY:
        raise StoreError(
            f"{MEMORY} can be read by its manager only, and is gone when that ends: name a store that is kept."
        )
    if not is_postgres(address):
        return await SqliteReader.open(address)
    reader: LogReader = await _import_postgres(address).PostgresReader.open(str(address))
    return reader


def _import_postgres(address: str | Path) -> Any:
    try:
        return import_module("leaguekit.store.postgres")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{redact_address(address)} cannot be opened: {error.name} is not installed. "
            "Install it with: pip install 'leaguekit[postgres]'"
        ) from None
