"""Reads a SQLite store: without a lock, also while it is written, and also from a read-only disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from leaguekit.store import sqlite_schema
from leaguekit.store.base import Stored, StoreError, check_numbers, check_readable
from leaguekit.store.head_file import check_not_missing

_READ = "SELECT number, event FROM events WHERE number > ? ORDER BY number LIMIT ?"

_T = TypeVar("_T")

# Raises StoreError for a store that is not acceptable, by its name, its version, and the known migrations.
Check = Callable[[str, int, Sequence[Sequence[str]]], None]


class SqliteReader:
    """A LogReader on one SQLite file. Use ``open`` to create it. It belongs to the event loop that opened it."""

    def __init__(
        self,
        path: Path,
        loop: AbstractEventLoop,
        connection: sqlite3.Connection,
        copies: TemporaryDirectory[str] | None = None,
    ) -> None:
        self.path = path
        self._loop = loop
        self._connection = connection
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._copies = copies

    @classmethod
    async def open(cls, path: str | Path) -> SqliteReader:
        """Open an existing store. Raises StoreError if it is missing, of another version, or not a store."""
        real = Path(await asyncio.to_thread(os.path.realpath, path))
        return SqliteReader(real, asyncio.get_running_loop(), *await asyncio.to_thread(connect_readonly, real))

    async def read(self, after: int = 0, limit: int | None = None) -> list[Stored]:
        return await self._in_thread(lambda: self._read(max(after, 0), limit))

    async def read_document(self, name: str) -> bytes | None:
        return await self._in_thread(lambda: self._kept(name))

    async def document_names(self, prefix: str = "") -> list[str]:
        return await self._in_thread(lambda: self._names(prefix))

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await asyncio.to_thread(self._end_reading)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        if self._is_closed:
            raise self._closed_error()
        try:
            return await self._loop.run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise sqlite_schema.store_error(f"{self.path} cannot be read", error) from error

    def _closed_error(self) -> StoreError:
        return StoreError(f"The store {self.path} is closed.")

    # In the reader's thread

    def _read(self, after: int, limit: int | None) -> list[Stored]:
        # In SQLite a negative limit means no limit.
        rows = self._connection.execute(_READ, (after, -1 if limit is None else limit))
        events = [Stored(number, event) for number, event in rows]
        check_numbers(str(self.path), after, events)
        return events

    def _kept(self, name: str) -> bytes | None:
        row = self._connection.execute("SELECT content FROM kept WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _names(self, prefix: str) -> list[str]:
        rows = self._connection.execute("SELECT name FROM kept WHERE name >= ? ORDER BY name", (prefix,))
        return list(takewhile(lambda name: name.startswith(prefix), (name.decode() for (name,) in rows)))

    def _end_reading(self) -> None:
        self._thread.shutdown()
        with suppress(sqlite3.Error):
            self._connection.close()
        if self._copies is not None:
            self._copies.cleanup()


def connect_readonly(
    path: Path, check: Check = check_readable
) -> tuple[sqlite3.Connection, TemporaryDirectory[str] | None]:
    """A read-only connection, and the temporary folder that it needs, if any. ``check`` checks the version.

    Raises StoreError.
    """
    try:
        # In all these cases SQLite says only that it is unable to open the file.
        os.close(os.open(path, os.O_RDONLY))
        if path.is_dir():
            raise StoreError(f"{path} is a folder: name the file in it.")
        return _connect_readonly(Path(os.path.realpath(path)), check)
    except FileNotFoundError:
        raise StoreError(f"There is no store {path}: name the file that the league's manager writes.") from None
    except (sqlite3.Error, OSError) as error:
        raise sqlite_schema.store_error(f"{path} cannot be read as a store", error) from error


def _connect_readonly(path: Path, check: Check) -> tuple[sqlite3.Connection, TemporaryDirectory[str] | None]:
    journal = path.with_name(f"{path.name}-wal")
    is_left = _has_content(journal)
    try:
        # To read a file in WAL mode, SQLite makes two files beside it. It removes them with the last connection, but
        # only if that may write. The last commits of a writer that was killed stay where they are.
        return _checked(sqlite_schema.connect(path, "ro" if is_left else "rw"), path, check), None
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
    # The two files cannot be created here. So no program writes here either, and the file can be read as immutable.
    # There is one exception: a writer that was killed may have left its last commits in the journal. Then the file and
    # its journal are copied.
    if not is_left:
        return _checked(sqlite_schema.connect(path, "ro&immutable=1"), path, check), None
    copies = TemporaryDirectory(prefix="leaguekit-")
    try:
        for source in (path, journal):
            shutil.copyfile(source, Path(copies.name, source.name))
        return _checked(sqlite_schema.connect(Path(copies.name, path.name), "ro"), path, check), copies
    except BaseException:
        copies.cleanup()
        raise


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _checked(connection: sqlite3.Connection, path: Path, check: Check) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA query_only = ON")
        version = sqlite_schema.version_of(connection, path)
        if version == 0:
            check_not_missing(path)
        check(str(path), version, sqlite_schema.MIGRATIONS)
    except BaseException:
        connection.close()
        raise
    return connection
