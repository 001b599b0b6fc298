"""Files of agents: read and written as a whole, or appended to line by line. The disk is real or simulated.

A file is written as a whole under a temporary name and then renamed. So a reader never sees a part of it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from leaguekit.store.base import StoreError
from leaguekit.store.lock import WriterLock

# Windows would write each newline as two characters.
_BINARY = getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY


class AppendFile(Protocol):
    """A file to which one program appends lines. Its methods raise OSError."""

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError if only a part of it was written."""

    def sync(self) -> None:
        """Make the written lines durable."""

    def close(self) -> None:
        """Close the file. It may be closed twice."""


class Files(Protocol):
    """Access to files. Every method raises StoreError if it fails."""

    def read(self, path: Path) -> bytes | None:
        """The content of a file, or None if it does not exist."""

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        """Write a file atomically: a reader sees the old content or the new one.

        With ``private`` only the owner may read the file, and it is durable when this returns. An iterable is written
        piece by piece, so that its content is never in memory as a whole.
        """

    def open_to_append(self, path: Path, content: bytes) -> AppendFile:
        """Replace a private file by this content, and open it to append lines."""

    def lock(self, path: Path) -> Lock:
        """Lock a file, so that no other program writes it."""


class Lock(Protocol):
    def release(self) -> None:
        """Release the lock."""


class Disk:
    """The disk of this machine."""

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}.") from error

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        # No other file has this name, because no safe name begins with a dot.
        folder, name = os.path.split(path)
        beside = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")  # noqa: PTH118 - pathlib takes as long as the disk
        mode = 0o600 if private else 0o666
        try:
            try:
                descriptor = os.open(beside, _NEW, mode)
            except (FileNotFoundError, NotADirectoryError):
                _make_folder_of(path)
                descriptor = os.open(beside, _NEW, mode)
            try:
                try:
                    for piece in [content] if isinstance(content, bytes) else content:
                        _write_all(descriptor, piece)
                    if private:
                        os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                os.replace(beside, path)  # noqa: PTH105
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(beside)  # noqa: PTH108
                raise
            if private:
                sync(path.parent)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error

    def open_to_append(self, path: Path, content: bytes) -> AppendFile:
        self.write(path, content, private=True)
        try:
            return _DiskAppendFile(os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error

    def lock(self, path: Path) -> Lock:
        _make_folder_of(path)
        # Every name of a file must lead to the same lock.
        return WriterLock(Path(os.path.realpath(path)))


DISK = Disk()


class _DiskAppendFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, line: bytes) -> None:
        if os.write(self._descriptor, line) < len(line):
            raise OSError(0, "only a part of the line was written; its disk may be full")

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: its folder cannot be made ({error.strerror}).") from error


def sync(path: Path) -> None:
    """Make the content of a file, or the names in a folder, durable."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        # Windows cannot open a folder as a file.
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
