"""Files in memory: like real files, except for what a crash loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from leaguekit.sim.files import MemoryFiles, SimulatedDisk
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.store.base import StoreError
from leaguekit.store.disk import Disk, Files
from leaguekit.store.journal import Journal

PATH = Path("folder") / "file.json"


@pytest.fixture
def loop() -> Iterator[ProcessLoop]:
    loop = ProcessLoop()
    yield loop
    loop.close()


@pytest.fixture
def process(loop: ProcessLoop) -> Process:
    return Process(loop, "a")


@pytest.fixture(params=["real", "in memory"])
def files(request: pytest.FixtureRequest, process: Process) -> Files:
    return Disk() if request.param == "real" else MemoryFiles(SimulatedDisk(), process)


class TestBothDisks:
    def test_a_file_that_is_not_there_is_none(self, files: Files, tmp_path: Path) -> None:
        assert files.read(tmp_path / PATH) is None

    @pytest.mark.parametrize("private", [True, False])
    def test_what_is_written_is_read(self, files: Files, tmp_path: Path, private: bool) -> None:
        for content in (b"one", b"", b"another"):
            files.write(tmp_path / PATH, content, private=private)
            assert files.read(tmp_path / PATH) == content

    def test_a_file_grows_from_what_is_kept(self, files: Files, tmp_path: Path) -> None:
        files.write(tmp_path / PATH, b"before")
        growing = files.open_to_append(tmp_path / PATH, b"kept\n")
        growing.write(b"more\n")
        growing.sync()
        growing.close()
        assert files.read(tmp_path / PATH) == b"kept\nmore\n"

    def test_one_program_has_the_lock(self, files: Files, tmp_path: Path) -> None:
        lock = files.lock(tmp_path / PATH)
        with pytest.raises(StoreError):
            files.lock(tmp_path / PATH)
        lock.release()
        files.lock(tmp_path / PATH).release()


def crashed(write: Callable[[MemoryFiles], None], times: int = 50) -> set[bytes | None]:
    """What may be left of a file after a crash."""
    left = set()
    for number in range(times):
        loop = ProcessLoop()
        disk, process = SimulatedDisk(), Process(loop, "a")
        MemoryFiles(disk, process).write(PATH, b"old", private=True)
        write(MemoryFiles(disk, process))
        process.kill()
        disk.crash(process, Random(number))
        left.add(MemoryFiles(disk, Process(loop, "a")).read(PATH))
        loop.close()
    return left


def test_a_private_file_survives_a_crash() -> None:
    assert crashed(lambda files: files.write(PATH, b"new", private=True)) == {b"new"}


def test_another_file_may_be_the_old_one_after_a_crash_but_is_never_torn() -> None:
    assert crashed(lambda files: files.write(PATH, b"new")) == {b"old", b"new"}


def test_lines_that_were_not_synced_may_be_gone_or_torn_after_a_crash() -> None:
    def grow(files: MemoryFiles) -> None:
        growing = files.open_to_append(PATH, b"kept\n")
        growing.write(b"synced\n")
        growing.sync()
        growing.write(b"not\n")

    assert crashed(grow) == {b"kept\nsynced\n" + b"not\n"[:size] for size in range(5)}


def test_a_new_file_that_was_not_synced_may_not_be_there(loop: ProcessLoop) -> None:
    left = set()
    for number in range(20):
        disk, process = SimulatedDisk(), Process(loop, "a")
        MemoryFiles(disk, process).write(PATH, b"new")
        disk.crash(process, Random(number))
        left.add(MemoryFiles(disk, process).read(PATH))
    assert left == {None, b"new"}


def test_the_dead_write_nothing_and_hold_no_lock(loop: ProcessLoop, process: Process) -> None:
    disk = SimulatedDisk()
    files = MemoryFiles(disk, process)
    growing = files.open_to_append(PATH, b"")
    lock = files.lock(PATH)
    process.kill()
    disk.crash(process, Random(1))
    with pytest.raises(StoreError):
        files.write(PATH, b"ghost")
    with pytest.raises(OSError, match="dead"):
        growing.write(b"ghost")
    MemoryFiles(disk, Process(loop, "a")).lock(PATH)
    # What its finally would do now takes the lock from nobody.
    lock.release()
    with pytest.raises(StoreError):
        MemoryFiles(disk, Process(loop, "b")).lock(PATH)


def test_a_journal_on_a_failing_disk_says_so_and_is_whole_after_a_restart(loop: ProcessLoop, process: Process) -> None:
    disk, fails = SimulatedDisk(), [False]
    journal = Journal(PATH, MemoryFiles(disk, process, lambda what: what == "journal" and fails[0]))
    journal.write(b'{"match_id":"R1M1","attempt":1}')
    fails[0] = True
    with pytest.raises(StoreError, match="No space left"):
        journal.write(b'{"match_id":"R1M2","attempt":1}')
    process.kill()
    disk.crash(process, Random(1))
    again = Journal(PATH, MemoryFiles(disk, Process(loop, "a")))
    assert again.pending() == [b'{"match_id":"R1M1","attempt":1}']
