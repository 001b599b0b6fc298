"""The head file: the number of the last durable event, never too high, and logs that end before it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from leaguekit.league.events import LeagueCompleted, RoundCompleted, decode
from leaguekit.manager.ledger import Ledger
from leaguekit.store import head_file, sqlite_schema
from leaguekit.store.base import StoreError
from leaguekit.store.head_file import HeadFileWriter, head_path, read_head
from leaguekit.store.sqlite import SqliteLog
from leaguekit.store.sqlite_reader import SqliteReader
from tests.played import played

WRITER = Path(__file__).with_name("writer_program.py")
LONG = 3_600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "league.db"


class Writings:
    """The numbers that are written to head files; a test can wait for one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.numbers: list[int] = []
        self._came = threading.Condition()
        self._write = head_file.write_head
        monkeypatch.setattr(head_file, "write_head", self._count)

    def _count(self, store: Path, number: int) -> None:
        try:
            self._write(store, number)
        finally:
            with self._came:
                self.numbers.append(number)
                self._came.notify_all()

    def wait(self, count: int) -> list[int]:
        """Wait until this number was written."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.numbers) >= count, 30), self.numbers
            return [*self.numbers]


@pytest.fixture
def writings(monkeypatch: pytest.MonkeyPatch) -> Writings:
    return Writings(monkeypatch)


async def appended(path: Path, *events: bytes) -> None:
    log = await SqliteLog.open(path)
    if events:
        await log.append(events)
    await log.close()


def last_in(path: Path) -> int:
    with closing(sqlite_schema.connect(path)) as connection:
        return sqlite_schema.last_number(connection, sqlite_schema.version_of(connection, path))


# When it is written


def test_the_pause_leaves_time_to_write_within_a_second() -> None:
    assert head_file.PAUSE_SECONDS < 1


def test_the_number_is_written_while_the_log_is_open(
    path: Path, writings: Writings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_file, "PAUSE_SECONDS", 0.01)

    async def main() -> None:
        log = await SqliteLog.open(path)
        for number in (1, 2, 3):
            await log.append([b"{}"])
            await asyncio.to_thread(writings.wait, number)
            assert read_head(path) == number
        await log.close()

    asyncio.run(main())
    assert writings.numbers == [1, 2, 3]


def test_a_burst_of_events_is_written_twice_and_not_event_by_event(
    path: Path, writings: Writings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_file, "PAUSE_SECONDS", LONG)

    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"{}"])
        await asyncio.to_thread(writings.wait, 1)
        for _ in range(50):
            await log.append([b"{}"])
        assert writings.numbers == [1]
        await log.close()

    asyncio.run(main())
    assert (writings.numbers, read_head(path)) == ([1, 51], 51)


def test_nothing_is_written_if_nothing_has_changed(path: Path, writings: Writings) -> None:
    asyncio.run(appended(path, b"{}", b"{}"))
    assert writings.numbers == [2]
    asyncio.run(appended(path))
    assert writings.numbers == [2]


def test_a_store_of_an_earlier_release_gets_a_head_file_when_it_is_opened(path: Path) -> None:
    asyncio.run(appended(path, b"{}", b"{}"))
    head_path(path).unlink()
    asyncio.run(appended(path))
    assert read_head(path) == 2


def test_the_end_of_each_round_and_of_the_league_is_written_without_a_pause(
    path: Path, writings: Writings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_file, "PAUSE_SECONDS", LONG)
    ends: list[int] = []
    events = [decode(line) for line in played().log]

    async def main() -> None:
        ledger = Ledger(await SqliteLog.open(path))
        for number, event in enumerate(events, 1):
            ledger.record([event])
            await ledger.wait_written()
            if isinstance(event, (RoundCompleted, LeagueCompleted)):
                ends.append(number)
                await asyncio.to_thread(writings.wait, 1 + len(ends))
        # Before it is closed.
        assert writings.numbers[1:] == ends
        await ledger.close()

    asyncio.run(main())
    assert len(ends) == 4


def test_at_the_end_of_each_round_everything_so_far_is_in_the_store_without_its_journal(
    path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    found: dict[int, int] = {}
    events = [decode(line) for line in played().log]

    async def main() -> None:
        ledger = Ledger(await SqliteLog.open(path))
        for number, event in enumerate(events, 1):
            ledger.record([event])
            await ledger.wait_written()
            if isinstance(event, (RoundCompleted, LeagueCompleted)):
                # The writer does one thing after the other: what was asked for before the first is done at the second.
                for _ in range(2):
                    await ledger.log.write_document("text", b"")
                shutil.copy(path, copy)
                found[number] = last_in(copy)
        await ledger.close()

    asyncio.run(main())
    assert len(found) == 4
    assert all(number == last for number, last in found.items())


# What cannot be written


def test_a_head_file_that_cannot_be_written_is_logged_once_and_stops_nothing(
    path: Path, writings: Writings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(head_file, "PAUSE_SECONDS", 0.01)
    caplog.set_level(logging.WARNING)

    async def main() -> None:
        log = await SqliteLog.open(path)
        # What is there cannot be replaced by a file.
        head_path(path).mkdir()
        for _ in range(3):
            await log.append([b"{}"])
        await asyncio.to_thread(writings.wait, 3)
        assert await log.append([b"{}"]) == 4
        head_path(path).rmdir()
        await log.close()

    asyncio.run(main())
    assert read_head(path) == 4
    (record,) = caplog.records
    assert f"{head_path(path)} cannot be written: Is a directory. The league goes on" in record.getMessage()


def test_closing_tries_once_to_write_what_cannot_be_written(path: Path, writings: Writings) -> None:
    writer = HeadFileWriter(path, 0)
    head_path(path).mkdir()
    writer.committed(1)
    writings.wait(1)
    writer.close()
    assert set(writings.numbers) == {1}


# Never too high


def test_a_killed_writer_leaves_a_number_that_its_log_has_reached(path: Path) -> None:
    for lines in (1, 50, 400):
        with subprocess.Popen([sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(lines):
                writer.stdout.readline()
            writer.kill()
            writer.stdout.read()
        number = read_head(path)
        assert number is None or number <= last_in(path)
        # It goes on, with no word of a log that is not complete.
        asyncio.run(appended(path))
        assert read_head(path) == last_in(path)


def test_events_that_could_not_be_committed_are_not_counted(path: Path, writings: Writings) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"{}"])
        log._writer.execute("DROP TABLE events")
        with pytest.raises(StoreError):
            await log.append([b"{}"])
        await log.close()

    asyncio.run(main())
    assert writings.numbers == [1]


# A log that ends before it


def test_a_log_that_ends_before_its_head_is_not_opened_for_writing_and_left_alone(path: Path) -> None:
    asyncio.run(appended(path, b"{}", b"{}"))
    head_path(path).write_text("5\n")
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        asyncio.run(appended(path))
    assert str(refused.value) == (
        f"{path} ends at event 2, but league.db.head says that event 5 was written: the last 3 events are missing. If "
        "they are in the journal league.db-wal, put it back beside the store; if not, restore a backup with `league "
        "restore`. Copy a store with `league backup`, not with cp. To go on without these events, remove "
        "league.db.head."
    )
    assert path.read_bytes() == before
    assert read_head(path) == 5
    head_path(path).unlink()
    asyncio.run(appended(path, b"{}"))
    assert read_head(path) == 3


def test_a_log_whose_journal_is_put_back_is_opened_again(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "league.db"
    copy.parent.mkdir()
    lost = "ends at event 0, but league[.]db[.]head says that event 5"

    async def main() -> None:
        log = await SqliteLog.open(path)
        for _ in range(5):
            await log.append([b"{}"])
        shutil.copy(path, copy)
        head_path(copy).write_text("5\n")
        with pytest.raises(StoreError, match=lost):
            await SqliteLog.open(copy)
        # Not even the tables are in it.
        with pytest.raises(StoreError, match=lost):
            await SqliteReader.open(copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
        again = await SqliteLog.open(copy)
        assert len(await again.read()) == 5
        await again.close()
        await log.close()

    asyncio.run(main())


# What is in it


def test_an_empty_head_file_is_none_and_any_other_text_is_named(path: Path) -> None:
    assert read_head(path) is None
    head_path(path).write_text("")
    assert read_head(path) is None
    head_path(path).write_text("many")
    with pytest.raises(StoreError, match=r"league\.db\.head holds no event number: b'many'\. Remove it if"):
        read_head(path)


def test_postgresql_has_no_head_file() -> None:
    assert read_head("postgresql://me@db/league") is None
