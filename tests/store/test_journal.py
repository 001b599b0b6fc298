"""The referee's journal: a ruling is durable before anybody hears of it, and delivered after a restart."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leaguekit.store.base import StoreError
from leaguekit.store.disk import DISK, AppendFile
from leaguekit.store.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "league" / "REF01" / "journal.jsonl"


@contextmanager
def opened(path: Path) -> Iterator[Journal]:
    journal = Journal(path)
    try:
        yield journal
    finally:
        journal.close()


def ruling(match: int, attempt: int = 1) -> bytes:
    return b'{"match_id":"R1M%d","attempt":%d,"ruling":"WIN","winner":"P01"}' % (match, attempt)


def test_what_was_ruled_and_not_delivered_is_pending_after_reopening(path: Path) -> None:
    with opened(path) as journal:
        assert journal.pending() == []
        for match in (1, 2, 3):
            journal.write(ruling(match))
        journal.write(ruling(2, attempt=2))
        journal.mark_delivered("R1M1", 1)
        journal.mark_delivered("R1M2", 1)
        journal.mark_delivered("R9M9", 1)
        assert journal.pending() == [ruling(3), ruling(2, attempt=2)]
    with opened(path) as journal:
        assert journal.pending() == [ruling(3), ruling(2, attempt=2)]
        journal.mark_delivered("R1M3", 1)
    with opened(path) as journal:
        assert journal.pending() == [ruling(2, attempt=2)]


def test_opening_drops_what_was_delivered_but_not_that_it_was(path: Path) -> None:
    with opened(path) as journal:
        for match in range(1, 51):
            journal.write(ruling(match))
            if match != 7:
                journal.mark_delivered(f"R1M{match}", 1)
    done = [(f"R1M{match}", 1) for match in range(1, 51) if match != 7]
    for _ in range(2):
        with opened(path) as journal:
            assert journal.pending() == [ruling(7)]
            assert journal.delivered_keys() == done
        assert path.read_bytes().count(b"ruling") == 2 * 1
        assert path.stat().st_size < 60 * 50 + len(ruling(7))


def test_what_is_delivered_is_noted_with_the_next_ruling_when_that_is_asked_for_or_at_the_end(path: Path) -> None:
    with opened(path) as journal:
        for match in (1, 2, 3):
            journal.write(ruling(match))
        journal.mark_delivered("R1M1", 1)
        assert b"delivered" not in path.read_bytes()
        journal.write(ruling(4))
        assert path.read_bytes().count(b"delivered") == 1
        journal.mark_delivered("R1M2", 1)
        journal.flush_delivered()
        journal.flush_delivered()
        assert path.read_bytes().count(b"delivered") == 2
        journal.mark_delivered("R1M3", 1)
    assert path.read_bytes().count(b"delivered") == 3
    with opened(path) as journal:
        assert journal.pending() == [ruling(4)]
        assert journal.delivered_keys() == [("R1M1", 1), ("R1M2", 1), ("R1M3", 1)]


def test_a_note_that_cannot_be_written_is_made_up_for(path: Path) -> None:
    disk = _Sick()
    journal = Journal(path, disk)
    journal.write(ruling(1), ruling(2))
    journal.mark_delivered("R1M1", 1)
    disk.fails = "write"
    with pytest.raises(StoreError):
        journal.flush_delivered()
    disk.fails = ""
    journal.mark_delivered("R1M2", 1)
    journal.flush_delivered()
    assert path.read_bytes().count(b"delivered") == 2
    journal.close()
    with opened(path) as again:
        assert (again.pending(), len(again.delivered_keys())) == ([], 2)


def test_a_torn_last_line_is_ignored_wherever_it_was_torn(path: Path) -> None:
    with opened(path) as journal:
        journal.write(ruling(1))
        whole = path.read_bytes()
        journal.write(ruling(2))
        both = path.read_bytes()
    for end in range(len(whole), len(both)):
        path.write_bytes(both[:end])
        with opened(path) as journal:
            assert journal.pending() == [ruling(1)]
            journal.write(ruling(3))
        with opened(path) as journal:
            assert journal.pending() == [ruling(1), ruling(3)]


@pytest.mark.parametrize("line", [b"nonsense", b'{"ruling":{"match_id":"R1M1"}}', b'{"delivered":"\xff"}', b"\x00" * 9])
def test_a_damaged_line_elsewhere_is_told_and_the_file_left_alone(path: Path, line: bytes) -> None:
    with opened(path) as journal:
        journal.write(ruling(1))
    damaged = path.read_bytes() + line + b"\n" + path.read_bytes()
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match=r"journal\.jsonl, line 2, is not a line of a journal"):
        Journal(path)
    assert path.read_bytes() == damaged


def test_every_ruling_is_synced_before_write_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append(path.read_bytes())

    with opened(path) as journal:
        monkeypatch.setattr(os, "fsync", fsync)
        for match in (1, 2):
            journal.write(ruling(match))
            assert ruling(match) in synced[-1]
        journal.mark_delivered("R1M1", 1)
        assert len(synced) == 2


def test_rulings_survive_kill_9(path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from leaguekit.store.journal import Journal
journal = Journal(Path(sys.argv[1]))
for match in range(1, 10**6):
    journal.write(b'{"match_id":"R1M%d","attempt":1}' % match)
    os.write(1, b"%d\\n" % match)
"""
    for patience in (1, 30, 5):
        path.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(patience):
                writer.stdout.readline()
            with pytest.raises(StoreError, match=rf"in use by another program \(process {writer.pid}\)"):
                Journal(path)
            writer.kill()
            told = patience + len(writer.stdout.readlines())
        with opened(path) as journal:
            pending = journal.pending()
        assert len(pending) - told in {0, 1}
        assert pending == [b'{"match_id":"R1M%d","attempt":1}' % match for match in range(1, len(pending) + 1)]


def test_threads_may_share_a_journal_and_its_syncs(path: Path) -> None:
    with opened(path) as journal, ThreadPoolExecutor(8) as pool:
        list(pool.map(journal.write, (ruling(match) for match in range(200))))
        assert sorted(journal.pending()) == sorted(ruling(match) for match in range(200))
    with opened(path) as journal:
        assert sorted(journal.pending()) == sorted(ruling(match) for match in range(200))


@pytest.mark.parametrize("entry", [b"", b"[]", b'{"match_id":"R1M1"}', b'{"match_id":"R1M1","attempt":1}\n'])
def test_an_entry_that_could_not_be_found_again_is_refused(path: Path, entry: bytes) -> None:
    with opened(path) as journal:
        with pytest.raises(ValueError, match="a ruling is"):
            journal.write(entry)
        journal.write(ruling(1))
        assert journal.pending() == [ruling(1)]


def test_a_full_disk_is_told_and_nothing_is_written_behind_a_torn_line(path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal
journal = Journal(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
match = 0
for _ in range(3):
    try:
        while True:
            journal.write(b'{"match_id":"R1M%d","attempt":1}' % (match + 1))
            match += 1
    except StoreError as error:
        print(match, len(journal.pending()), error)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    first, *later = done.stdout.splitlines()
    assert later == [first, first]
    ruled, pending, words = first.split(" ", 2)
    assert ruled == pending
    assert f"The journal {path} could not be written" in words
    with opened(path) as journal:
        assert len(journal.pending()) == int(ruled)


def test_a_disk_that_is_full_when_a_journal_is_opened_is_told_and_the_lock_is_free(path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    Journal(Path(sys.argv[1]))
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
Journal(Path(sys.argv[1])).close()
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert f"{path} cannot be written: {path.name}.lock beside it cannot be written (File too large)." in done.stdout


class _Sick:
    """The real disk, but for a sync or a write that fails when the test says so."""

    def __init__(self) -> None:
        self.fails = ""

    def read(self, path: Path) -> bytes | None:
        return DISK.read(path)

    def write(self, path: Path, content: bytes, *, private: bool = False) -> None:
        DISK.write(path, content, private=private)

    def open_to_append(self, path: Path, content: bytes) -> AppendFile:
        if self.fails == "open":
            raise StoreError("no")
        return _SickFile(self, DISK.open_to_append(path, content))

    def lock(self, path: Path) -> Any:
        return DISK.lock(path)


class _SickFile:
    def __init__(self, disk: _Sick, file: AppendFile) -> None:
        self.disk, self.file = disk, file

    def write(self, line: bytes) -> None:
        if self.disk.fails == "write":
            self.file.write(line[:10])
            raise OSError(28, "No space left on device")
        self.file.write(line)

    def sync(self) -> None:
        if self.disk.fails == "sync":
            raise OSError(5, "Input/output error")
        self.file.sync()

    def close(self) -> None:
        self.file.close()


@pytest.mark.parametrize("fails", ["write", "sync"])
def test_a_journal_that_failed_is_rewritten_when_the_disk_is_well_again(path: Path, fails: str) -> None:
    disk = _Sick()
    journal = Journal(path, disk)
    journal.write(ruling(1))
    for sickness in (fails, "open"):
        disk.fails = sickness
        with pytest.raises(StoreError):
            journal.write(ruling(2))
        assert journal.pending() == [ruling(1)]
    disk.fails = ""
    journal.write(ruling(3))
    journal.mark_delivered("R1M1", 1)
    journal.close()
    with opened(path) as again:
        assert again.pending() == [ruling(3)]


def test_a_ruling_that_another_ones_failure_took_along_is_not_taken_for_written(path: Path) -> None:
    disk = _Sick()
    journal = Journal(path, disk)
    # The first has written its line, and is about to sync when the disk fails for another and is well again.
    syncing = journal._syncing

    class Late:
        def __enter__(self) -> None:
            journal._syncing = syncing
            for sickness in ("sync", ""):
                disk.fails = sickness
                if sickness:
                    with pytest.raises(StoreError):
                        journal.write(ruling(2))
                else:
                    journal.write(ruling(3))
            syncing.acquire()

        def __exit__(self, *_: object) -> None:
            syncing.release()

    journal._syncing = Late()  # type: ignore[assignment]
    with pytest.raises(StoreError, match="rewritten without this ruling"):
        journal.write(ruling(1))
    journal.close()
    with opened(path) as again:
        assert again.pending() == [ruling(3)]


def test_a_journal_is_its_owners_only_and_closing_twice_is_harmless(path: Path) -> None:
    journal = Journal(path)
    journal.write(ruling(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="closed"):
        journal.write(ruling(2))


def test_a_journal_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="its folder cannot be made"):
        Journal(tmp_path / "file" / "league" / "journal.jsonl")
