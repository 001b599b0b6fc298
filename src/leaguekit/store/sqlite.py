"""The event log on SQLite: one file, one writer, and one commit for all appends that wait together.

A thread of its own writes. While it is busy with one commit, appends queue up; when it is free, it takes all of them
into the next. Reading has a connection and a thread of its own, and sees what is committed.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate, chain
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, TypeVar

from leaguekit.store.base import Stored, StoreError
from leaguekit.store.lock import WriterLock

SCHEMA_VERSION = 1

# Events are JSON texts, and stored as such so that people can query them with SQLite's JSON functions.
_SCHEMA = (
    "CREATE TABLE leaguekit (version INTEGER NOT NULL)",
    "INSERT INTO leaguekit VALUES (1)",
    "CREATE TABLE events (number INTEGER PRIMARY KEY, event TEXT NOT NULL)",
    "CREATE TABLE kept (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
)
_APPEND = "INSERT INTO events VALUES (?, CAST(? AS TEXT))"
_KEEP = "INSERT INTO kept VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"

_WHAT_TO_DO = {
    sqlite3.SQLITE_NOTADB: "It is no SQLite database: name another file.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore a copy, or name another file.",
    sqlite3.SQLITE_READONLY: "Make the file and its folder writable for this user, or name another file.",
    sqlite3.SQLITE_CANTOPEN: "Make the file and its folder writable for this user, or name another file.",
    sqlite3.SQLITE_FULL: "Make room on its disk, then start again: everything acknowledged so far is kept.",
    sqlite3.SQLITE_IOERR: "Look after its disk, then start again: everything acknowledged so far is kept.",
    sqlite3.SQLITE_BUSY: "Another program holds the database: end it, then start again.",
}

_T = TypeVar("_T")


class _Waiting(NamedTuple):
    """An append or a text to keep, on its way to the writer."""

    future: Future[int]
    events: tuple[bytes, ...]
    texts: tuple[tuple[str, bytes], ...] = ()


class SqliteLog:
    """An EventLog in one SQLite file. Made by ``open``; belongs to the event loop that opened it."""

    def __init__(self, path: Path, loop: AbstractEventLoop) -> None:
        """Open the file; blocks, so coroutines use ``open``."""
        # By another name it would have another lock.
        self.path = Path(os.path.realpath(path))
        if os.path.isdir(self.path):  # noqa: PTH112  Path.is_dir raises where a folder above may not be entered
            raise StoreError(f"{path} is a folder: name a file in it.")
        self._loop = loop
        self._lock = WriterLock(self.path)
        try:
            self._writer, self._last = _open_writer(self.path)
            self._reader = _connect(self.path)
        except (sqlite3.Error, OSError) as error:
            self._lock.release()
            raise _store_error(f"{path} cannot be opened as a store", error) from error
        except StoreError:
            self._lock.release()
            raise
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._failure: str | None = None
        self._closed: Future[None] | None = None
        # Whoever exits without closing waits for no acknowledgement: the thread must not hold up the exit.
        Thread(target=self._write, name="store-writer", daemon=True).start()

    @classmethod
    async def open(cls, path: str | Path) -> SqliteLog:
        """Open a store, or make one; raises StoreError if it is in use, newer than this program, or no store."""
        return await asyncio.to_thread(cls, Path(path), asyncio.get_running_loop())

    def append(self, events: Sequence[bytes]) -> Future[int]:
        return self._enqueue(_Waiting(self._loop.create_future(), tuple(events)))

    async def keep(self, name: str, content: bytes) -> None:
        await self._enqueue(_Waiting(self._loop.create_future(), (), ((name, content),)))

    def _enqueue(self, waiting: _Waiting) -> Future[int]:
        if self._closed is None:
            self._queue.put(waiting)
        else:
            waiting.future.set_exception(self._is_closed())
        return waiting.future

    async def read(self, after: int = 0) -> list[Stored]:
        return await self._in_reader(lambda: self._read(max(after, 0)))

    async def kept(self, name: str) -> bytes | None:
        return await self._in_reader(lambda: self._kept(name))

    async def close(self) -> None:
        if self._closed is None:
            self._closed = self._loop.create_future()
            self._queue.put(None)
        # Several may close; one that stops waiting must not stop the others.
        await asyncio.shield(self._closed)

    def _is_closed(self) -> StoreError:
        return StoreError(f"The store {self.path} is closed.")

    # In the reader's thread

    async def _in_reader(self, work: Callable[[], _T]) -> _T:
        if self._closed is not None:
            raise self._is_closed()
        try:
            return await self._loop.run_in_executor(self._reading, work)
        except sqlite3.Error as error:
            raise _store_error(f"{self.path} cannot be read", error) from error

    def _read(self, after: int) -> list[Stored]:
        rows = self._reader.execute("SELECT number, event FROM events WHERE number > ? ORDER BY number", (after,))
        events = [Stored(number, event) for number, event in rows]
        if events and events[-1].number != after + len(events):
            raise StoreError(
                f"{self.path} has a gap: {len(events)} events behind number {after}, the last of them numbered "
                f"{events[-1].number}. Somebody has changed the file: restore a copy."
            )
        return events

    def _kept(self, name: str) -> bytes | None:
        row = self._reader.execute("SELECT content FROM kept WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    # In the writer's thread

    def _write(self) -> None:
        is_last = False
        while not is_last:
            group = [self._queue.get()]
            with suppress(Empty):
                while True:
                    group.append(self._queue.get_nowait())
            is_last = group[-1] is None
            waiting = [one for one in group if one is not None]
            if waiting:
                self._write_group(waiting)
        self._reading.shutdown()
        with suppress(sqlite3.Error):
            self._reader.close()
            self._writer.close()
        self._lock.release()
        self._tell(self._tell_closed)

    def _write_group(self, waiting: list[_Waiting]) -> None:
        before = self._last
        if self._failure is None:
            try:
                self._commit(waiting)
            except Exception as error:  # noqa: BLE001  whatever it was, those who wait must hear of it
                self._failure = str(_store_error(f"The store {self.path} could not be written", error))
        if self._failure is None:
            self._tell(_tell_numbers, waiting, before)
        else:
            self._tell(_tell_failure, waiting, self._failure)

    def _commit(self, waiting: list[_Waiting]) -> None:
        """One transaction. If it fails it is left open, for nothing is written after it; closing rolls it back."""
        events = list(enumerate(chain.from_iterable(one.events for one in waiting), self._last + 1))
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.executemany(_APPEND, events)
        self._writer.executemany(_KEEP, chain.from_iterable(one.texts for one in waiting))
        self._writer.execute("COMMIT")
        self._last += len(events)

    def _tell(self, tell: Callable[..., None], *args: object) -> None:
        # A closed loop: nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tell, *args)

    def _tell_closed(self) -> None:
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)


def _tell_numbers(waiting: list[_Waiting], before: int) -> None:
    counts = (len(one.events) for one in waiting)
    for one, number in zip(waiting, list(accumulate(counts, initial=before))[1:], strict=True):
        if not one.future.done():
            one.future.set_result(number)


def _tell_failure(waiting: list[_Waiting], reason: str) -> None:
    for one in waiting:
        if not one.future.done():
            one.future.set_exception(StoreError(reason))


def _connect(path: Path) -> sqlite3.Connection:
    # Opened in one thread, used in another; never in two at once.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.text_factory = bytes
    return connection


def _open_writer(path: Path) -> tuple[sqlite3.Connection, int]:
    """The writing connection, and the number of the last event."""
    # Made here and not by SQLite, because a log holds the keys that tokens are derived under.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = _connect(path)
    try:
        _check_schema(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if not _tables(connection):
            for statement in _SCHEMA:
                connection.execute(statement)
        (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection, last


def _tables(connection: sqlite3.Connection) -> set[bytes]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is not ours, before anything in it is changed."""
    tables = _tables(connection)
    if not tables:
        return
    if b"leaguekit" not in tables:
        raise StoreError(f"{path} is the SQLite database of some other program: name another file.")
    (version,) = connection.execute("SELECT max(version) FROM leaguekit").fetchone()
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer leaguekit: its version is {version}, and this program knows "
            f"{SCHEMA_VERSION}. Upgrade leaguekit, or name another file."
        )


def _store_error(what: str, error: Exception) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    advice = _WHAT_TO_DO.get(code & 0xFF, "") if code is not None else ""
    reason = error.strerror if isinstance(error, OSError) else error
    return StoreError(f"{what}: {reason}. {advice}".rstrip())
