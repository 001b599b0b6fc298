"""Files in memory. A crash can lose content that was not yet durable, and writes can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from leaguekit.sim.processes import Process
from leaguekit.store.base import StoreError
from leaguekit.store.disk import AppendFile

# Decides whether a write fails, by the kind of file.
DiskFaults = Callable[[str], bool]


@dataclass(slots=True)
class _File:
    content: bytes
    durable: bytes | None
    # The process that wrote the content, until the content is durable.
    writer: Process | None


class SimulatedDisk:
    """The files of all agents. They survive crashes."""

    def __init__(self) -> None:
        self.files: dict[Path, _File] = {}
        self.locks: dict[Path, Process] = {}

    def crash(self, process: Process, rng: Random) -> None:
        """Crash a process: what it wrote and is not durable is kept, lost or truncated. Its locks are released."""
        for path in [path for path, file in self.files.items() if file.writer is process]:
            file = self.files[path]
            kept = file.durable or b""
            if file.durable is not None and file.content.startswith(kept):
                # Lines were being appended. The last one may be incomplete.
                file.content = file.content[: rng.randint(len(kept), len(file.content))]
            elif rng.random() < 0.5:
                if file.durable is None:
                    del self.files[path]
                file.content = kept
            file.durable, file.writer = file.content, None
        for path in [path for path, holder in self.locks.items() if holder is process]:
            del self.locks[path]


class MemoryFiles:
    """The files of a disk, as one process accesses them."""

    def __init__(self, disk: SimulatedDisk, process: Process, fails: DiskFaults = lambda _kind: False) -> None:
        self._disk = disk
        self._process = process
        self._fails = fails

    def read(self, path: Path) -> bytes | None:
        file = self._disk.files.get(path)
        return None if file is None else file.content

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        self._check_alive()
        content = content if isinstance(content, bytes) else b"".join(content)
        if self._fails("state" if private else "view"):
            raise StoreError(f"{path} cannot be written: No space left on device.")
        before = self._disk.files.get(path)
        if private:
            self._disk.files[path] = _File(content, content, None)
        else:
            # The previous content is durable by now.
            self._disk.files[path] = _File(content, None if before is None else before.content, self._process)

    def open_to_append(self, path: Path, content: bytes) -> AppendFile:
        self.write(path, content, private=True)
        return _Growing(self._disk.files[path], self._process, self._fails)

    def lock(self, path: Path) -> _Lock:
        self._check_alive()
        if path in self._disk.locks:
            raise StoreError(f"{path} is in use by {self._disk.locks[path].name}.")
        self._disk.locks[path] = self._process
        return _Lock(self._disk, path, self._process)

    def _check_alive(self) -> None:
        if not self._process.alive:
            raise StoreError(f"{self._process.name} is dead.")


class _Lock:
    def __init__(self, disk: SimulatedDisk, path: Path, holder: Process) -> None:
        self._disk = disk
        self._path = path
        self._holder = holder

    def release(self) -> None:
        if self._disk.locks.get(self._path) is self._holder:
            del self._disk.locks[self._path]


class _Growing:
    def __init__(self, file: _File, process: Process, fails: DiskFaults) -> None:
        self._file = file
        self._process = process
        self._fails = fails

    def write(self, line: bytes) -> None:
        self._check()
        self._file.writer = self._process
        if self._fails("journal"):
            self._file.content += line[: len(line) // 2]
            raise OSError(28, "No space left on device")
        self._file.content += line

    def sync(self) -> None:
        self._check()
        if self._fails("journal"):
            raise OSError(5, "Input/output error")
        self._file.durable, self._file.writer = self._file.content, None

    def close(self) -> None:
        """There is nothing to close."""

    def _check(self) -> None:
        if not self._process.alive:
            raise OSError(0, "the process is dead")
