"""A store is opened by its address: SQLite for the name of a file, PostgreSQL for ``postgresql://user@host/database``.

A store holds one league. Several leagues in one PostgreSQL have a database each, or a schema each, which the address
names as ``?search_path=spring`` and which must be there. ``memory:`` is a log that nobody keeps, to try or to measure
something.
"""

from __future__ import annotations

from pathlib import Path

from leaguekit.store.addresses import MEMORY, is_postgres, shown
from leaguekit.store.base import EventLog, LogReader, StoreError
from leaguekit.store.memory import MemoryLog
from leaguekit.store.sqlite import SqliteLog
from leaguekit.store.sqlite_reader import SqliteReader

__all__ = ["open_log", "open_reader", "shown"]


async def open_log(address: str | Path) -> EventLog:
    """Open a store as its one writer, or make it."""
    if address == MEMORY:
        return MemoryLog()
    if not is_postgres(address):
        return await SqliteLog.open(address)
    try:
        from leaguekit.store.postgres import PostgresLog  # noqa: PLC0415  asyncpg is optional
    except ModuleNotFoundError as error:
        raise _missing(address, error) from None
    return await PostgresLog.open(str(address))


async def open_reader(address: str | Path) -> LogReader:
    """Open a store that is there to read it, also while its manager is at work."""
    if address == MEMORY:
        raise StoreError(
            f"{MEMORY} can be read by its manager only, and is gone when that ends: name a store that is kept."
        )
    if not is_postgres(address):
        return await SqliteReader.open(address)
    try:
        from leaguekit.store.postgres_reader import PostgresReader  # noqa: PLC0415  asyncpg is optional
    except ModuleNotFoundError as error:
        raise _missing(address, error) from None
    return await PostgresReader.open(str(address))


def _missing(address: str | Path, error: ModuleNotFoundError) -> StoreError:
    return StoreError(
        f"{shown(address)} cannot be opened: {error.name} is not installed. "
        "Install it with: pip install 'leaguekit[postgres]'"
    )
