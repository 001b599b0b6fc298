"""The lock that allows one writer per store. The operating system releases it when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from leaguekit.store.base import StoreError


class WriterLock:
    """A lock that is held from its creation until ``release``. Its file is ``<name>.lock`` beside the guarded file.

    The file stays when the lock is released. If it were removed, two writers could lock two files of the same name.
    """

    def __init__(self, guarded: Path) -> None:
        path = guarded.with_name(f"{guarded.name}.lock")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(
                f"{guarded} cannot be written: {path.name} beside it cannot be opened ({error.strerror}). "
                "Name a folder that exists and that this user may write to."
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 20).decode(errors="replace").strip()
            os.close(self._file)
            if not isinstance(error, BlockingIOError):
                raise StoreError(
                    f"{guarded} cannot be locked ({error.strerror}). Name a file on a local disk."
                ) from None
            raise StoreError(
                f"{guarded} is in use by another program{f' (process {holder})' if holder else ''}. "
                "Stop that one first, or name another file."
            ) from None
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"%d\n" % os.getpid(), 0)
        except OSError as error:
            os.close(self._file)
            raise StoreError(
                f"{guarded} cannot be written: {path.name} beside it cannot be written ({error.strerror}). "
                "Make room on the disk, and try again."
            ) from None

    def release(self) -> None:
        # The file must not name a process that no longer holds the lock.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
        os.close(self._file)
