"""Files as agents need them: read and written whole, or growing line by line. A real disk, or a simulated one.

Nobody who reads a file that is written whole ever sees half of it: it is written beside its place and then moved there.
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

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class AppendFile(Protocol):
    """A file that lines are added to, by one program at a time. Raises OSError."""

    def write(self, line: bytes) -> None:
        """Add a line; one that is only partly written raises."""

    def sync(self) -> None:
        """Make durable what was written."""

    def close(self) -> None:
        """Let others have the file."""


class Files(Protocol):
    """A place for files. Every method raises StoreError if it cannot do what it is for."""

    def read(self, path: Path) -> bytes | None:
        """What a file holds, or None if there is none."""

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        """Write a file, all of it or nothing. A private one only its owner may read, and it is durable.

        What comes in pieces is never in memory as a whole.
        """

    def grow(self, path: Path, *, kept: bytes) -> AppendFile:
        """Open a private file that holds ``kept`` and grows from there."""

    def lock(self, path: Path) -> Lock:
        """Be the one program that writes a file."""


class Lock(Protocol):
    def release(self) -> None:
        """Let another program write it."""


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
        # No safe name begins with a dot, so this is nobody's file.
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
                        _write_whole(descriptor, piece)
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
                _sync_folder(path.parent)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error

    def grow(self, path: Path, *, kept: bytes) -> AppendFile:
        self.write(path, kept, private=True)
        try:
            return _Growing(os.open(path, os.O_WRONLY | os.O_APPEND))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error

    def lock(self, path: Path) -> Lock:
        _make_folder_of(path)
        # By another name it would have another lock.
        return WriterLock(Path(os.path.realpath(path)))


DISK = Disk()


class _Growing:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, line: bytes) -> None:
        if os.write(self._descriptor, line) < len(line):
            raise OSError(0, "only a part of the line was written; its disk may be full")

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def _write_whole(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: its folder cannot be made ({error.strerror}).") from error


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
