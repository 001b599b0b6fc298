"""The event log on SQLite: one file, one writer, and one commit for all appends that wait together.

A thread of its own writes. While it is busy with one commit, appends queue up; when it is free, it takes all of them
into the next. A text to be kept beside the log waits a moment for events to go with. Reading has a connection and a
thread of its own (sqlite_reader.py), and sees what is committed.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, Literal

from leaguekit.store import sqlite_schema
from leaguekit.store.base import StoreError
from leaguekit.store.group_commit import Waiting, events_of, tell_failure, tell_numbers, texts_of
from leaguekit.store.head import HeadWriter, check_head
from leaguekit.store.integrity import check_version
from leaguekit.store.lock import WriterLock
from leaguekit.store.sqlite_reader import SqliteReader

_APPEND = "INSERT INTO events VALUES (?, CAST(? AS TEXT))"
_KEEP = "INSERT INTO kept VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"
_CHECKPOINT: Final = "checkpoint"
_END: Final = "end"
# So long: in a busy league results come oftener. To wake the writer and to sync the disk takes a quarter of a
# millisecond of processor time, and every match has a transcript.
TEXT_DELAY_SECONDS = 0.01
# A little more than SQLite's journal needs: after 1,000 pages it is written from its beginning again.
JOURNAL_BYTES = 4_500_000


class SqliteLog(SqliteReader):
    """An EventLog in one SQLite file. Made by ``open``; belongs to the event loop that opened it."""

    def __init__(self, path: Path, loop: AbstractEventLoop) -> None:
        """Open the file; blocks, so coroutines use ``open``."""
        # By another name it would have another lock.
        real = Path(os.path.realpath(path))
        if os.path.isdir(real):  # noqa: PTH112  Path.is_dir raises where a folder above may not be entered
            raise StoreError(f"{path} is a folder: name a file in it.")
        self._lock = WriterLock(real)
        try:
            self._writer, self._last = _open_writer(real)
            super().__init__(real, loop, sqlite_schema.connect(real))
            self._head = HeadWriter(real, self._last)
            # The store and its journal, as they were opened.
            self._files = {one: one.stat() for one in (real, Path(f"{real}-wal"))}
        except (sqlite3.Error, OSError) as error:
            self._lock.release()
            raise sqlite_schema.store_error(f"{path} cannot be opened as a store", error) from error
        except StoreError:
            self._lock.release()
            raise
        self._queue: SimpleQueue[Waiting | Literal["checkpoint", "end"]] = SimpleQueue()
        # Texts that wait for events, and what ends their waiting.
        self._texts: list[Waiting] = []
        self._texts_due: TimerHandle | None = None
        self._failure: str | None = None
        self._ended: Future[None] = loop.create_future()
        # Whoever exits without closing waits for no acknowledgement: the thread must not hold up the exit.
        Thread(target=self._write, name="store-writer", daemon=True).start()

    @classmethod
    async def open(cls, path: str | Path) -> SqliteLog:
        """Open a store, or make one; raises StoreError if it is in use, newer than this program, or no store."""
        return await asyncio.to_thread(cls, Path(path), asyncio.get_running_loop())

    def append(self, events: Sequence[bytes]) -> Future[int]:
        self._enqueue_texts()
        return self._enqueue(Waiting(self._loop.create_future(), tuple(events)))

    async def keep(self, name: str, content: bytes) -> None:
        text = Waiting(self._loop.create_future(), (), ((name, content),))
        if self._is_closed:
            self._enqueue(text)
        else:
            self._texts.append(text)
            if self._texts_due is None:
                self._texts_due = self._loop.call_later(TEXT_DELAY_SECONDS, self._enqueue_texts)
        await text.future

    def checkpoint(self) -> None:
        self._head.hurry()
        if not self._is_closed:
            self._queue.put(_CHECKPOINT)

    def _enqueue_texts(self) -> None:
        if self._texts_due is not None:
            self._texts_due.cancel()
            texts, self._texts, self._texts_due = self._texts, [], None
            for text in texts:
                self._enqueue(text)

    def _enqueue(self, waiting: Waiting) -> Future[int]:
        if self._is_closed:
            waiting.future.set_exception(self._closed_error())
        else:
            self._queue.put(waiting)
        return waiting.future

    async def close(self) -> None:
        if not self._is_closed:
            self._enqueue_texts()
            self._is_closed = True
            self._queue.put(_END)
        # Several may close; one that stops waiting must not stop the others.
        await asyncio.shield(self._ended)

    # In the writer's thread

    def _write(self) -> None:
        _make_room(Path(f"{self.path}-wal"))
        is_last = False
        while not is_last:
            group = [self._queue.get()]
            with suppress(Empty):
                while True:
                    group.append(self._queue.get_nowait())
            is_last = group[-1] == _END
            waiting = [one for one in group if isinstance(one, Waiting)]
            if waiting:
                self._write_group(waiting)
            if _CHECKPOINT in group:
                # Without it the whole of a small league would be in the journal.
                with suppress(sqlite3.Error):
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._end_reading()
        with suppress(sqlite3.Error):
            self._writer.close()
        self._head.close()
        self._lock.release()
        self._tell(self._tell_ended)

    def _write_group(self, waiting: list[Waiting]) -> None:
        before = self._last
        if self._failure is None:
            try:
                self._commit(waiting)
            except Exception as error:  # noqa: BLE001  whatever it was, those who wait must hear of it
                self._failure = str(sqlite_schema.store_error(f"The store {self.path} could not be written", error))
        if self._failure is None:
            self._head.committed(self._last)
            self._tell(tell_numbers, waiting, before)
        else:
            self._tell(tell_failure, waiting, self._failure)

    def _commit(self, waiting: list[Waiting]) -> None:
        """One transaction. If it fails it is left open, for nothing is written after it; closing rolls it back."""
        events = list(enumerate(events_of(waiting), self._last + 1))
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.executemany(_APPEND, events)
        self._writer.executemany(_KEEP, texts_of(waiting).items())
        self._writer.execute("COMMIT")
        for path, opened in self._files.items():
            _check_in_place(path, opened)
        self._last += len(events)

    def _tell(self, tell: Callable[..., None], *args: object) -> None:
        # A closed loop: nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tell, *args)

    def _tell_ended(self) -> None:
        self._ended.set_result(None)


def _check_in_place(path: Path, opened: os.stat_result) -> None:
    """Raises StoreError if a path no longer leads to the file that was opened: SQLite goes on writing to that."""
    try:
        is_in_place = os.path.samestat(path.stat(), opened)
    except OSError:
        is_in_place = False
    if not is_in_place:
        remedy = "Put the file back, or restore a backup with `league restore`"
        raise StoreError(f"{path.name} was removed or replaced, or its disk was taken away. {remedy}")


def _make_room(journal: Path) -> None:
    """Give the journal its full length at once: a file system has to write down each change of a file's length.

    ext4 does so in a journal of its own, and waits for whatever others have in it: with agents that write beside it, a
    commit took 4.5 instead of 1.8 ms. To SQLite, zeros are no part of a journal.
    """
    with suppress(OSError), journal.open("r+b", buffering=0) as file:
        length = file.seek(0, os.SEEK_END)
        missing = JOURNAL_BYTES - length
        if missing > 0:
            if file.write(bytes(missing)) < missing:
                # A disk that is almost full: others need what is left.
                file.truncate(length)
            os.fsync(file.fileno())


def _open_writer(path: Path) -> tuple[sqlite3.Connection, int]:
    """The writing connection, and the number of the last event."""
    # Made here and not by SQLite, because a log holds the keys that tokens are derived under.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        names = os.fstat(descriptor).st_nlink
        os.close(descriptor)
    except PermissionError as error:
        remedy = "Make the file and its folder writable for this user, or name another file."
        raise StoreError(f"{path} cannot be opened as a store: {error.strerror}. {remedy}") from None
    if names > 1:
        # SQLite finds the journal by the name, and so do we the lock.
        raise StoreError(
            f"{path} has {names} names (hard links), and its journal belongs to one of them only. Remove the others, "
            f"which `find FOLDER -samefile {path.name}` shows, and use `league backup` for copies."
        )
    connection = sqlite_schema.connect(path)
    try:
        check_version(str(path), sqlite_schema.version_of(connection, path), len(sqlite_schema.MIGRATIONS))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        # Before anything is changed: the missing journal may be put back later.
        check_head(path, sqlite_schema.last_number(connection, path))
        sqlite_schema.migrate(connection, path)
        last = sqlite_schema.last_number(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection, last
