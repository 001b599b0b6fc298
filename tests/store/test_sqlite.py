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
from leaguekit.store.group_commit import PendingWrite
from leaguekit.store.sqlite import JOURNAL_BYTES, SqliteLog
from leaguekit.store.sqlite_reader import SqliteReader

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


def files_of(path: Path) -> list[bytes]:
    """The file and its journal as they lie there while the writer lives; closing it would tidy up."""
    return [Path(f"{path}{end}").read_bytes() for end in ("", "-wal")]


def used(journal: bytes) -> int:
    """How much of a journal is its head and whole pages with theirs; zeros at its end are only room."""
    return 32 + -(-(len(journal.rstrip(b"\0")) - 32) // 4120) * 4120


def lay(path: Path, *files: bytes) -> None:
    """Put a file and its journal somewhere, and nothing else of that name."""
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    for end, content in zip(("", "-wal"), files, strict=True):
        Path(f"{path}{end}").write_bytes(content)


async def opened_and_closed(path: Path) -> None:
    await (await SqliteLog.open(path)).close()


def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as refused:
        asyncio.run(opened_and_closed(path))
    return str(refused.value)


# Texts beside the log


def test_a_text_goes_with_the_next_events_and_by_itself_if_there_are_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[tuple[int, int]] = []
    commit = SqliteLog._commit

    def counted(log: SqliteLog, waiting: list[PendingWrite]) -> None:
        groups.append((sum(len(one.events) for one in waiting), sum(len(one.texts) for one in waiting)))
        commit(log, waiting)

    async def main() -> None:
        log = await SqliteLog.open(path)
        keeping = [asyncio.create_task(log.write_document(name, b"kept")) for name in ("one", "other")]
        await asyncio.sleep(0)
        assert not groups
        await log.append([b"1"])
        await asyncio.gather(*keeping)
        assert groups == [(1, 2)]
        await log.write_document("alone", b"kept")
        assert groups == [(1, 2), (0, 1)]
        last = asyncio.create_task(log.write_document("last", b"kept"))
        await asyncio.sleep(0)
        await log.close()
        await last
        assert groups == [(1, 2), (0, 1), (0, 1)]

    monkeypatch.setattr(SqliteLog, "_commit", counted)
    asyncio.run(main())
    with closing(outside(path)) as reader:
        assert reader.execute("SELECT name FROM kept ORDER BY name").fetchall() == [
            ("alone",), ("last",), ("one",), ("other",),
        ]  # fmt: skip


# Durability


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        assert log._writer.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
        assert log._writer.execute("PRAGMA synchronous").fetchone() == (2,)
        await log.close()

    asyncio.run(main())


def test_no_commit_changes_the_length_of_the_journal(path: Path) -> None:
    journal = path.with_name("league.db-wal")

    async def main() -> None:
        log = await SqliteLog.open(path)
        for _ in range(60):
            await log.append([b'"%s"' % (b"x" * 100_000)])
            assert journal.stat().st_size == JOURNAL_BYTES
        await log.close()
        assert not journal.exists()

    asyncio.run(main())


def test_a_disk_that_is_almost_full_keeps_the_room_that_it_has(path: Path) -> None:
    program = """
import asyncio, os, resource, sys
from leaguekit.store.sqlite import JOURNAL_BYTES, SqliteLog

async def main():
    log = await SqliteLog.open(sys.argv[1])
    await log.append([b'"first"'])
    print(os.path.getsize(sys.argv[1] + "-wal") < 100_000, len(await log.read()))
    await log.close()

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
asyncio.run(main())
"""
    assert run(program, path) == ["True 1"]


def test_a_store_is_for_its_owner_only_because_it_holds_keys(path: Path) -> None:
    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"{}"])
        files = [Path(f"{path}{end}") for end in ("", "-wal", "-shm", ".lock", ".lock.sqlite")]
        modes = {stat.S_IMODE(file.stat().st_mode) for file in files}
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


def test_a_torn_last_write_is_gone_and_everything_acknowledged_before_is_there(path: Path, tmp_path: Path) -> None:
    """As after a power cut: the journal ends, or goes wrong, somewhere in what was written last."""
    sizes = [0]

    async def write() -> list[bytes]:
        log = await SqliteLog.open(path)
        for number in range(1, 6):
            await log.append([b'"%d %s"' % (number, b"x" * 3000 * number)])
            content, journaled = files_of(path)
            sizes.append(used(journaled))
        await log.close()
        return [content, journaled]

    async def found(content: bytes, journaled: bytes) -> int:
        torn = tmp_path / "torn.db"
        lay(torn, content, journaled)
        reader = await SqliteReader.open(torn)
        seen = await reader.read()
        await reader.close()
        log = await SqliteLog.open(torn)
        assert await log.read() == seen
        assert await log.append([b"next"]) == len(seen) + 1, "and it goes on from there"
        await log.close()
        return len(seen)

    async def main() -> None:
        content, journaled = await write()
        assert sizes == sorted(sizes), "nothing was moved to the file meanwhile"
        for cut in sorted({size + more for size in sizes[1:] for more in (-4096, -1, 0, 1, 2000)}):
            for room in (b"", bytes(JOURNAL_BYTES - cut)):
                assert await found(content, journaled[:cut] + room) == sum(size <= cut for size in sizes[1:])
        for at in (sizes[4] + 100, sizes[5] - 1):
            wrong = bytearray(journaled)
            wrong[at] ^= 1
            assert await found(content, bytes(wrong)) == 4

    asyncio.run(main())


def test_a_program_that_forgets_to_close_still_ends(path: Path) -> None:
    program = """
import asyncio, sys
from leaguekit.store.sqlite import JOURNAL_BYTES, SqliteLog
async def main():
    global log
    log = await SqliteLog.open(sys.argv[1])
    print(await log.append([b"1"]), len(await log.read()))
    log.append([b"2"] * 1000)
asyncio.run(main())
"""
    assert run(program, path) == ["1 1"]


# Failure


def test_a_disk_that_takes_no_more_is_told_and_loses_nothing_acknowledged(path: Path) -> None:
    program = """
import asyncio, resource, sys
from leaguekit.store.base import StoreError
from leaguekit.store.group_commit import PendingWrite
from leaguekit.store.sqlite import JOURNAL_BYTES, SqliteLog

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


@pytest.mark.parametrize("lost", ["league.db", "league.db-wal", "replaced", "folder"])
def test_a_store_that_is_taken_away_is_told_and_nothing_more_is_acknowledged(path: Path, lost: str) -> None:
    def take_away() -> None:
        if lost == "folder":
            path.parent.rename(path.parent.with_name("elsewhere"))
        elif lost == "replaced":
            path.rename(path.with_name("other.db"))
            path.write_bytes(b"")
        else:
            path.with_name(lost).unlink()

    async def main() -> None:
        log = await SqliteLog.open(path)
        assert await log.append([b"1"]) == 1
        take_away()
        for _ in range(2):
            with pytest.raises(StoreError, match="was removed or replaced, or its disk was taken away"):
                await log.append([b"2"])
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


def test_a_store_with_a_second_name_is_refused_because_its_journal_has_only_one(path: Path) -> None:
    """A manager under the other name saw neither the lock nor the journal, and began a new league in the same file."""

    async def main() -> None:
        log = await SqliteLog.open(path)
        await log.append([b"1"])
        other = path.with_name("other.db")
        other.hardlink_to(path)
        before = other.read_bytes()
        with pytest.raises(StoreError) as refused:
            await SqliteLog.open(other)
        assert str(refused.value) == (
            f"{other} has 2 names (hard links), and its journal belongs to one of them only. Remove the others, which "
            "`find FOLDER -samefile other.db` shows, and use `league backup` for copies."
        )
        assert (other.read_bytes(), await log.append([b"2"])) == (before, 2), "the first is not disturbed"
        await log.close()
        other.unlink()
        await opened_and_closed(path)

    asyncio.run(main())


@pytest.mark.proves("003-L0017", "002-L0032")
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


def test_what_is_no_store_is_refused_and_left_alone(path: Path, tmp_path: Path) -> None:
    text = b"Dear diary, " * 1000
    path.write_bytes(text)
    assert "file is not a database. It is not a SQLite database: name another file." in refusal(path)
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
from leaguekit.store.group_commit import PendingWrite
from leaguekit.store.sqlite import JOURNAL_BYTES, SqliteLog

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
    for name in ("league.db.lock", "league.db.lock.sqlite"):
        store.with_name(name).unlink()
    open_folder.chmod(0o777)
    (words,) = run(OPEN_AS_NOBODY, store)
    assert f"{store} cannot be opened as a store: Permission denied." in words


# Reading


READ_AS_NOBODY = OPEN_AS_NOBODY.replace(
    "log = await SqliteLog.open(sys.argv[1])\n",
    """
    from leaguekit.store.opening import open_reader
    log = await open_reader(sys.argv[1])
    print([event.decode() for _, event in await log.read()], await log.document_names())
""".lstrip(),
)


async def filled(path: Path) -> SqliteLog:
    log = await SqliteLog.open(path)
    await log.append([b"1", b"2"])
    await log.write_document("snapshot", b"s")
    return log


def protect(folder: Path, *, no_more: bool = False) -> None:
    """Let nobody write, or the owner again."""
    for file in folder.iterdir():
        file.chmod(0o644 if no_more else 0o444)
    folder.chmod(0o755 if no_more else 0o555)


def test_a_store_that_was_closed_can_be_read_where_nothing_may_be_written(open_folder: Path) -> None:
    async def main() -> None:
        await (await filled(open_folder / "league.db")).close()

    asyncio.run(main())
    protect(open_folder)
    assert run(READ_AS_NOBODY, open_folder / "league.db") == ["['1', '2'] ['snapshot']"]
    assert {file.name for file in open_folder.iterdir()} == {
        f"league.db{end}" for end in ("", ".head", ".lock", ".lock.sqlite")
    }


def test_what_a_killed_writer_left_beside_the_file_can_be_read_where_nothing_may_be_written(open_folder: Path) -> None:
    path, other = open_folder / "league.db", open_folder / "other.db"

    async def main() -> None:
        log = await filled(path)
        lay(other, *files_of(path))
        await log.close()

    asyncio.run(main())
    before = set(Path(tempfile.gettempdir()).glob("leaguekit-*"))
    protect(open_folder)
    assert run(READ_AS_NOBODY, other) == ["['1', '2'] ['snapshot']"]
    assert set(Path(tempfile.gettempdir()).glob("leaguekit-*")) <= before, "no copy is left behind"


def test_a_store_that_is_written_by_somebody_else_can_be_read_without_leave_to_write(open_folder: Path) -> None:
    async def main() -> None:
        log = await filled(open_folder / "league.db")
        protect(open_folder)
        assert run(READ_AS_NOBODY, open_folder / "league.db") == ["['1', '2'] ['snapshot']"]
        protect(open_folder, no_more=True)
        assert await log.append([b"3"]) == 3
        await log.close()

    asyncio.run(main())


def test_a_reader_takes_no_lock_and_needs_none(path: Path) -> None:
    async def main() -> None:
        await opened_and_closed(path)
        path.with_name("league.db.lock").unlink()
        reader = await SqliteReader.open(path)
        assert not path.with_name("league.db.lock").exists()
        log = await filled(path)
        assert len(await reader.read()) == 2
        await log.close()
        await reader.close()

    asyncio.run(main())


def test_a_reader_leaves_the_folder_as_it_was_if_nobody_writes(path: Path) -> None:
    async def main() -> None:
        log = await filled(path)
        left = files_of(path)
        await log.close()
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        assert "league.db-wal" not in before
        reader = await SqliteReader.open(path)
        assert len(await reader.read()) == 2
        await reader.close()
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
        # The last commits of a writer that was killed stay in its journal.
        lay(path, *left)
        reader = await SqliteReader.open(path)
        assert len(await reader.read()) == 2
        await reader.close()
        assert files_of(path) == left

    asyncio.run(main())


def test_a_reader_is_told_what_is_wrong_and_makes_nothing(path: Path, open_folder: Path) -> None:
    def words(path: Path) -> str:
        with pytest.raises(StoreError) as refused:
            asyncio.run(SqliteReader.open(path))
        return str(refused.value)

    assert f"There is no store {path}" in words(path)
    assert list(path.parent.iterdir()) == []
    assert f"{path.parent} is a folder" in words(path.parent)
    path.write_bytes(b"Dear diary, " * 1000)
    assert "It is not a SQLite database: name another file." in words(path)
    other = path.with_name("other.db")
    with closing(outside(other)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    assert "database of some other program" in words(other)

    private = open_folder / "league.db"
    asyncio.run(opened_and_closed(private))
    assert run(READ_AS_NOBODY, private) == [f"{private} cannot be read as a store: Permission denied."]
