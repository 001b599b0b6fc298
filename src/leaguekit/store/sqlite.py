"""The event log on SQLite: one file, one writer, and one commit for all pending appends.

A thread writes. During a commit, appends wait in a queue. The next commit has all of them. A text to be kept beside the
log waits a moment for events to share its commit. Reading has its own connection and thread (sqlite_reader.py), and
sees what is committed.
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
from leaguekit.store.base import StoreError, check_version
from leaguekit.store.group_commit import PendingWrite, events_of, reject_group, resolve_group, texts_of
from leaguekit.store.head_file import HeadFileWriter, check_head
from leaguekit.store.lock import WriterLock
from leaguekit.store.sqlite_reader import SqliteReader

_APPEND = "INSERT INTO events VALUES (?, CAST(? AS TEXT))"
_KEEP = "INSERT INTO kept VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"
_CHECKPOINT: Final = "checkpoint"
_END: Final = "end"
# A text waits this long for events to share its commit. In a busy league results come more often. Waking the writer and
# syncing the disk take a quarter of a millisecond of processor time, and every match has a transcript.
TEXT_DELAY_SECONDS = 0.01
# A little more than SQLite's journal needs: after 1,000 pages SQLite writes it from its beginning again.
JOURNAL_BYTES = 4_500_000


class SqliteLog(SqliteReader):
    """An EventLog in one SQLite file. Use ``open`` to create it. It belongs to the event loop that opened it."""

    def __init__(self, path: Path, loop: AbstractEventLoop) -> None:
        """Open the file. This blocks, so coroutines use ``open``."""
        # Every name of a file must lead to the same lock.
        real = Path(os.path.realpath(path))
        if os.path.isdir(real):  # noqa: PTH112  Path.is_dir raises where a folder above may not be entered
            raise StoreError(f"{path} is a folder: name a file in it.")
        self._lock = WriterLock(real)
        try:
            self._writer, self._last = _open_writer(real)
            super().__init__(real, loop, sqlite_schema.connect(real))
            self._head = HeadFileWriter(real, self._last)
            # The identity of the opened files: the store and its journal.
            self._files = {one: one.stat() for one in (real, Path(f"{real}-wal"))}
        except (sqlite3.Error, OSError) as error:
            self._lock.release()
            raise sqlite_schema.store_error(f"{path} cannot be opened as a store", error) from error
        except StoreError:
            self._lock.release()
            raise
        self._queue: SimpleQueue[PendingWrite | Literal["checkpoint", "end"]] = SimpleQueue()
        # Texts that wait for events, and the timer that ends the wait.
        self._texts: list[PendingWrite] = []
        self._texts_due: TimerHandle | None = None
        self._failure: str | None = None
        self._ended: Future[None] = loop.create_future()
        # A program that exits without closing the store does not wait for acknowledgements, nor for this thread.
        Thread(target=self._write, name="store-writer", daemon=True).start()

    @classmethod
    async def open(cls, path: str | Path) -> SqliteLog:
        """Open or create a store. Raises StoreError if it is in use, newer than this program, or not a store."""
        return await asyncio.to_thread(cls, Path(path), asyncio.get_running_loop())

    def append(self, events: Sequence[bytes]) -> Future[int]:
        self._enqueue_texts()
        return self._enqueue(PendingWrite(self._loop.create_future(), tuple(events)))

    async def write_document(self, name: str, content: bytes) -> None:
        text = PendingWrite(self._loop.create_future(), (), ((name, content),))
        if self._is_closed:
            self._enqueue(text)
        else:
            self._texts.append(text)
            if self._texts_due is None:
                self._texts_due = self._loop.call_later(TEXT_DELAY_SECONDS, self._enqueue_texts)
        await text.future

    def checkpoint(self) -> None:
        self._head.write_now()
        if not self._is_closed:
            self._queue.put(_CHECKPOINT)

    def _enqueue_texts(self) -> None:
        if self._texts_due is not None:
            self._texts_due.cancel()
            texts, self._texts, self._texts_due = self._texts, [], None
            for text in texts:
                self._enqueue(text)

    def _enqueue(self, waiting: PendingWrite) -> Future[int]:
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
        # Several tasks may close the log. The cancellation of one must not affect the others.
        await asyncio.shield(self._ended)

    # In the writer's thread

    def _write(self) -> None:
        _preallocate(Path(f"{self.path}-wal"))
        is_last = False
        while not is_last:
            group = [self._queue.get()]
            with suppress(Empty):
                while True:
                    group.append(self._queue.get_nowait())
            is_last = group[-1] == _END
            waiting = [one for one in group if isinstance(one, PendingWrite)]
            if waiting:
                self._write_group(waiting)
            if _CHECKPOINT in group:
                # Otherwise a small league would be in the journal only.
                with suppress(sqlite3.Error):
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._end_reading()
        with suppress(sqlite3.Error):
            self._writer.close()
        self._head.close()
        self._lock.release()
        self._call_in_loop(self._ended.set_result, None)

    def _write_group(self, waiting: list[PendingWrite]) -> None:
        before = self._last
        if self._failure is None:
            try:
                self._commit(waiting)
            except Exception as error:  # noqa: BLE001  whatever the error is, the futures must be rejected
                self._failure = str(sqlite_schema.store_error(f"The store {self.path} could not be written", error))
        if self._failure is None:
            self._head.committed(self._last)
            self._call_in_loop(resolve_group, waiting, before)
        else:
            self._call_in_loop(reject_group, waiting, self._failure)

    def _commit(self, waiting: list[PendingWrite]) -> None:
        """Write one transaction. A failed one stays open, for nothing is written after it. Closing rolls it back."""
        events = list(enumerate(events_of(waiting), self._last + 1))
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.executemany(_APPEND, events)
        self._writer.executemany(_KEEP, texts_of(waiting).items())
        self._writer.execute("COMMIT")
        for path, opened in self._files.items():
            _check_in_place(path, opened)
        self._last += len(events)

    def _call_in_loop(self, callback: Callable[..., None], *args: object) -> None:
        # The loop may be closed; then nothing waits for the result.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)


def _check_in_place(path: Path, opened: os.stat_result) -> None:
    """Raise StoreError if a path no longer leads to the opened file. SQLite would continue to write to that file."""
    try:
        is_in_place = os.path.samestat(path.stat(), opened)
    except OSError:
        is_in_place = False
    if not is_in_place:
        remedy = "Put the file back, or restore a backup with `league restore`"
        raise StoreError(f"{path.name} was removed or replaced, or its disk was taken away. {remedy}")


def _preallocate(journal: Path) -> None:
    """Give the journal its full length at once, because a file system has to record each change of a file's length.

    ext4 records it in its own journal, and waits for the other changes there. With agents that write to the same disk,
    a commit took 4.5 ms instead of 1.8 ms. SQLite ignores zeros in its journal.
    """
    with suppress(OSError), journal.open("r+b", buffering=0) as file:
        length = file.seek(0, os.SEEK_END)
        missing = JOURNAL_BYTES - length
        if missing > 0:
            if file.write(bytes(missing)) < missing:
                # The disk is almost full, and other files need the remaining space.
                file.truncate(length)
            os.fsync(file.fileno())


def _open_writer(path: Path) -> tuple[sqlite3.Connection, int]:
    """The writing connection, and the number of the last event."""
    # The file is created here with private permissions, because a log contains the keys of tokens.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        names = os.fstat(descriptor).st_nlink
        os.close(descriptor)
    except PermissionError as error:
        remedy = "Make the file and its folder writable for this user, or name another file."
        raise StoreError(f"{path} cannot be opened as a store: {error.strerror}. {remedy}") from None
    if names > 1:
        # SQLite finds the journal by the name of the file, and the lock is found by the name too.
        raise StoreError(
            f"{path} has {names} names (hard links), and its journal belongs to one of them only. Remove the others, "
            f"which `find FOLDER -samefile {path.name}` shows, and use `league backup` for copies."
        )
    connection = sqlite_schema.connect(path)
    try:
        version = sqlite_schema.version_of(connection, path)
        check_version(str(path), version, len(sqlite_schema.MIGRATIONS))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        # Checked before anything is changed, because a missing journal may be put back later.
        last = sqlite_schema.last_number(connection, version)
        check_head(path, last)
        sqlite_schema.migrate(connection, version)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection, last
