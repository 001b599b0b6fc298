"""The lock that allows one writer per store. The operating system releases it when its holder dies."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from leaguekit.store.base import StoreError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

# Two programs that lock at the same moment may both have to try again.
_BUSY_SECONDS = 0.5


class WriterLock:
    """A lock that is held from its creation until ``release``. It has two files beside the guarded file.

    ``<name>.lock.sqlite`` is locked by an exclusive transaction of SQLite, on every system. ``<name>.lock`` has the
    number of the process. Where the system can, it is locked as well: by this lock older releases see that the store
    is in use. The files stay when the lock is released. If they were removed, two writers could lock two files of the
    same name.
    """

    def __init__(self, guarded: Path) -> None:
        self._guarded = guarded
        path = guarded.with_name(f"{guarded.name}.lock")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._cannot_write(
                path.name, "opened", error.strerror, "Name a folder that exists and that this user may write to."
            ) from None
        try:
            self._transaction = self._lock(path)
        except BaseException:
            os.close(self._file)
            raise
        try:
            self._write_holder(b"%d\n" % os.getpid())
        except OSError as error:
            self._close()
            remedy = "Make room on the disk, and try again."
            raise self._cannot_write(path.name, "written", error.strerror, remedy) from None

    def release(self) -> None:
        # The file must not name a process that no longer holds the lock.
        with contextlib.suppress(OSError):
            self._write_holder(b"")
        self._close()

    def _lock(self, path: Path) -> sqlite3.Connection:
        """Lock both files. Raises StoreError."""
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._in_use() from None
        except OSError as error:
            raise self._cannot_lock(error.strerror) from None
        beside = path.with_name(f"{path.name}.sqlite")
        try:
            # SQLite itself would create a file that others may read. An existing file is not opened here: on POSIX
            # systems, closing it would release every lock of this process on it.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            # The lock is released in another thread than it was made in.
            transaction = sqlite3.connect(beside, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._cannot_lock(error) from None
        try:
            # No journal, and nothing is ever written to the file: no disk can be too full for it.
            transaction.execute("PRAGMA journal_mode = MEMORY")
            transaction.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            transaction.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise self._in_use() from None
            raise self._cannot_lock(error) from None
        return transaction

    def _close(self) -> None:
        self._transaction.close()
        os.close(self._file)

    def _write_holder(self, text: bytes) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, text)

    def _in_use(self) -> StoreError:
        holder = os.read(self._file, 20).decode(errors="replace").strip()
        return StoreError(
            f"{self._guarded} is in use by another program{f' (process {holder})' if holder else ''}. "
            "Stop that one first, or name another file."
        )

    def _cannot_lock(self, why: object) -> StoreError:
        return StoreError(
            f"{self._guarded} cannot be locked ({why}). Name a file on a local disk, in a folder "
            "that this user may write to."
        )

    def _cannot_write(self, name: str, what: str, why: str | None, remedy: str) -> StoreError:
        return StoreError(f"{self._guarded} cannot be written: {name} beside it cannot be {what} ({why}). {remedy}")
