"""The SQLite log: durable against kill -9, one writer, one commit for many, and clear words when it cannot go on."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from leaguekit.store.base import StoreError
from leaguekit.store.sqlite import SqliteLog

WRITER = Path(__file__).with_name("writer_program.py")
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "league.db"


def outside(path: Path) -> sqlite3.Connection:
    """A connection of somebody else's."""
    return sqlite3.connect(path, isolation_level=None)


def run(program: str, *args: object) -> list[str]:
    """The lines a program prints, in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", program, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def opened_and_closed(path: Path) -> None:
    await (await SqliteLog.open(path)).close()


def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as refused:
        asyncio.run(opened_and_closed(path))
    return str(refused.value)


# Durability


def test_every_acknowledged_event_survives_kill_9_and_the_numbering_has_no_gap(path: Path) -> None:
    acknowledged: dict[int, bytes] = {}
    for patience in (1, 3, 200, 10, 1000, 57, 400, 2):
        with subprocess.Popen([sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(patience)]
            writer.kill()
            lines += writer.stdout.readlines()
        for line in lines:
            number, _, event = line.rstrip(b"\n").partition(b" ")
            assert int(number) not in acknowledged, "a number was given twice"
            acknowledged[int(number)] = event

    async def everything() -> dict[int, bytes]:
        log = await SqliteLog.open(path)
        stored = await log.read()
        await log.close()
        return dict(stored)

    stored = asyncio.run(everything())
    assert len(acknowledged) >= 1673
    assert list(stored) == list(range(1, len(stored) + 1))
    assert acknowledged.items() <= stored.items()
    with closing(outside(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        assert log._writer.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
        assert log._writer.execute("PRAGMA synchronous").fetchone() == (2,)
        await log.close()

    asyncio.run(main())


def test_a_store_is_for_its_owner_only_because_it_holds_keys(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"{}"])
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        await log.close()
        assert modes == {0o600}

    asyncio.run(main())


def test_people_can_query_the_events_as_json(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b'{"type":"started"}'])
        with closing(outside(path)) as connection:
            query = "SELECT json_extract(event, '$.type'), typeof(event) FROM events"
            assert connection.execute(query).fetchall() == [("started", "text")]
        await log.close()

    asyncio.run(main())


# Group commit


def test_appends_that_wait_together_share_a_commit_and_the_loop_goes_on_meanwhile(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        statements: list[str] = []
        log._writer.set_trace_callback(statements.append)
        with closing(outside(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            futures = [log.append([b"1"])]
            for _ in range(100):
                futures += [log.append([b"2", b"3"]) for _ in range(5)]
                await asyncio.sleep(0)
            assert not any(future.done() for future in futures), "the writer waits for the lock, the loop does not"
            other.execute("COMMIT")
        finished: list[int] = []
        for future in futures:
            future.add_done_callback(lambda done: finished.append(done.result()))
        assert await futures[-1] == 1001
        assert finished == list(range(1, 1002, 2)), "told in order"
        assert statements.count("COMMIT") <= 2
        await log.close()

    asyncio.run(main())


def test_fifty_tasks_need_far_fewer_commits_than_events(path: Path) -> None:
    async def work(log: SqliteLog) -> None:
        for _ in range(20):
            await log.append([b"{}"])

    async def main() -> None:
        log = await SqliteLog.open(path)
        statements: list[str] = []
        log._writer.set_trace_callback(statements.append)
        await asyncio.gather(*(work(log) for _ in range(50)))
        assert len(await log.read()) == 1000
        assert statements.count("COMMIT") <= 200
        await log.close()

    asyncio.run(main())


def test_reading_a_long_log_does_not_wait_for_the_writer(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"1"] * 1000)
        with closing(outside(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = log.append([b"2"])
            assert len(await log.read()) == 1000
            assert not waiting.done()
            other.execute("COMMIT")
        assert await waiting == 1001
        await log.close()

    asyncio.run(main())


def test_a_program_that_forgets_to_close_still_ends(path: Path) -> None:
    program = """
import asyncio, sys
from leaguekit.store.sqlite import SqliteLog
async def main():
    global log
    log = await SqliteLog.open(sys.argv[1])
    print(await log.append([b"1"]), len(await log.read()))
    log.append([b"2"] * 1000)
asyncio.run(main())
"""
    assert run(program, path) == ["1 1"]


# Failure


def poison(path: Path) -> None:
    with closing(outside(path)) as connection:
        connection.execute(
            "CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.event LIKE '%poison%' "
            "BEGIN SELECT RAISE(ABORT, 'poisoned'); END"
        )


def test_a_failed_commit_fails_every_later_append_and_leaves_no_gap(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        poison(path)
        assert await log.append([b"1"]) == 1
        futures = [log.append([text]) for text in (b"2", b'"poison"', b"3")]
        for future in futures[1:]:
            with pytest.raises(StoreError, match=r"league\.db could not be written: poisoned"):
                await future
        # The one before shares the fate of its group, if it was in it.
        kept = 1 + (futures[0].exception() is None)
        for attempt in (log.append([b"4"]), log.append([]), log.keep("text", b"text")):
            with pytest.raises(StoreError, match="poisoned"):
                await attempt
        assert [stored.number for stored in await log.read()] == list(range(1, kept + 1)), "reading still works"
        assert await log.kept("text") is None
        await log.close()

        log = await SqliteLog.open(path)
        assert len(await log.read()) == kept
        assert await log.append([b"5"]) == kept + 1
        await log.close()

    asyncio.run(main())


def test_an_append_of_what_is_no_text_fails_the_log_and_hangs_nobody(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        for events in ([object()], [b"1"]):
            with pytest.raises(StoreError, match="could not be written"):
                await log.append(events)  # type: ignore[list-item]
        await log.close()

    asyncio.run(main())


def test_a_disk_that_takes_no_more_is_told_and_loses_nothing_acknowledged(path: Path) -> None:
    program = """
import asyncio, resource, sys
from leaguekit.store.base import StoreError
from leaguekit.store.sqlite import SqliteLog

async def main():
    log = await SqliteLog.open(sys.argv[1])
    await log.append([b"1"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    last = 1
    for _ in range(2):
        try:
            while True:
                last = await log.append([b"%s" % (b"x" * 10_000)])
        except StoreError as error:
            print(last, error)
    await log.close()

asyncio.run(main())
"""
    first, second = run(program, path)
    assert first == second
    last, _, words = first.partition(" ")
    assert int(last) > 5
    assert f"{path} could not be written: disk I/O error. Look after its disk" in words

    async def main() -> None:
        log = await SqliteLog.open(path)
        assert [stored.number for stored in await log.read()] == list(range(1, int(last) + 1))
        await log.close()

    asyncio.run(main())


def test_a_full_database_says_to_make_room(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        log._writer.execute("PRAGMA max_page_count = 20")
        with pytest.raises(StoreError, match=r"database or disk is full\. Make room on its disk"):
            await log.append([b"x" * 100_000])
        await log.close()

    asyncio.run(main())


def test_a_gap_that_somebody_made_is_noticed(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"1", b"2", b"3"])
        with closing(outside(path)) as connection:
            connection.execute("DELETE FROM events WHERE number = 2")
        with pytest.raises(StoreError, match="has a gap"):
            await log.read()
        await log.close()

    asyncio.run(main())


# Opening


def test_a_second_writer_is_told_who_has_the_store_and_what_to_do(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        alias = path.with_name("alias.db")
        alias.symlink_to(path)
        for name in (path, alias):
            with pytest.raises(StoreError) as refused:
                await SqliteLog.open(name)
            words = str(refused.value)
            assert str(path) in words
            assert f"(process {os.getpid()})" in words
            assert "Stop that one first, or name another file." in words
        assert await log.append([b"1"]) == 1, "the first is not disturbed"
        await log.close()
        await opened_and_closed(path)

    asyncio.run(main())


def test_the_lock_holds_between_processes_and_is_free_when_its_holder_is_killed(path: Path) -> None:
    with subprocess.Popen([sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert f"(process {writer.pid})" in refusal(path)
        writer.kill()
        writer.stdout.read()
    asyncio.run(opened_and_closed(path))


def test_a_refused_opening_holds_no_lock(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)
    refusal(path)
    path.unlink()
    asyncio.run(opened_and_closed(path))


def test_a_store_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    asyncio.run(opened_and_closed(path))
    with closing(outside(path)) as connection:
        connection.execute("UPDATE leaguekit SET version = 2")
    before = path.read_bytes()
    words = refusal(path)
    assert "newer leaguekit: its version is 2, and this program knows 1. Upgrade leaguekit" in words
    assert path.read_bytes() == before


def test_what_is_no_store_is_refused_and_left_alone(path: Path, tmp_path: Path) -> None:
    text = b"Dear diary, " * 1000
    path.write_bytes(text)
    assert "file is not a database. It is no SQLite database: name another file." in refusal(path)
    assert path.read_bytes() == text

    other = tmp_path / "other.db"
    with closing(outside(other)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = other.read_bytes()
    assert "database of some other program" in refusal(other)
    assert other.read_bytes() == before

    assert f"{tmp_path} is a folder" in refusal(tmp_path)
    assert "Name a folder that exists" in refusal(tmp_path / "missing" / "league.db")
    assert "cannot be opened" in refusal(path / "league.db")


OPEN_AS_NOBODY = f"""
import asyncio, os, sys
from leaguekit.store.base import StoreError
from leaguekit.store.sqlite import SqliteLog

# root may write anywhere
if os.getuid() == 0:
    os.setuid({NOBODY})

async def main():
    log = await SqliteLog.open(sys.argv[1])
    await log.close()

try:
    asyncio.run(main())
except StoreError as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_refused_in_plain_words(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    (words,) = run(OPEN_AS_NOBODY, open_folder / "league.db")
    assert f"{open_folder}/league.db cannot be written" in words
    assert "Permission denied" in words
    assert "this user may write to" in words

    open_folder.chmod(0o000)
    (words,) = run(OPEN_AS_NOBODY, open_folder / "league.db")
    assert "Permission denied" in words


def test_a_file_that_may_not_be_written_is_refused_in_plain_words(open_folder: Path) -> None:
    store = open_folder / "league.db"
    asyncio.run(opened_and_closed(store))
    store.chmod(0o444)
    store.with_name("league.db.lock").unlink()
    open_folder.chmod(0o777)
    (words,) = run(OPEN_AS_NOBODY, store)
    assert f"{store} cannot be opened as a store: Permission denied." in words
