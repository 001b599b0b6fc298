"""What every store promises that outlives its process: nothing acknowledged is lost, others may read, versions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from leaguekit.store.base import EventLog, Stored, StoreError, check_version
from tests.store.stores import DurableStore

WRITER = Path(__file__).with_name("writer_program.py")


async def opened_and_closed(durable: DurableStore) -> None:
    await (await durable.open()).close()


async def refusal(opening: object) -> str:
    with pytest.raises(StoreError) as refused:
        await opening  # type: ignore[misc]
    return str(refused.value)


def test_every_acknowledged_event_survives_kill_9_and_the_numbering_has_no_gap(durable: DurableStore) -> None:
    acknowledged: dict[int, bytes] = {}
    for patience in (1, 200, 10, 1000, 57):
        with subprocess.Popen([sys.executable, str(WRITER), str(durable.address)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(patience)]
            writer.kill()
            lines += writer.stdout.readlines()
        for line in lines:
            number, _, event = line.rstrip(b"\n").partition(b" ")
            assert int(number) not in acknowledged, "a number was given twice"
            acknowledged[int(number)] = event

    async def everything() -> dict[int, bytes]:
        log = await durable.open()
        stored = await log.read()
        await log.close()
        return dict(stored)

    stored = asyncio.run(everything())
    assert len(acknowledged) >= 1268
    assert list(stored) == list(range(1, len(stored) + 1))
    assert acknowledged.items() <= stored.items()


# Group commit


def test_appends_that_wait_together_share_a_commit_and_the_loop_goes_on_meanwhile(durable: DurableStore) -> None:
    async def main() -> None:
        log = await durable.open()
        commits = durable.commits(log)
        async with durable.held():
            futures = [log.append([b"1"])]
            for _ in range(100):
                futures += [log.append([b"2", b"3"]) for _ in range(5)]
                await asyncio.sleep(0)
            assert not any(future.done() for future in futures), "the writer waits, the loop does not"
        finished: list[int] = []
        for future in futures:
            future.add_done_callback(lambda done: finished.append(done.result()))
        assert await futures[-1] == 1001
        assert finished == list(range(1, 1002, 2)), "told in order"
        assert 1 <= len(commits) <= 2
        await log.close()

    asyncio.run(main())


def test_fifty_tasks_need_far_fewer_commits_than_events(durable: DurableStore) -> None:
    async def work(log: EventLog) -> None:
        for _ in range(20):
            await log.append([b"{}"])

    async def main() -> None:
        log = await durable.open()
        commits = durable.commits(log)
        await asyncio.gather(*(work(log) for _ in range(50)))
        assert len(await log.read()) == 1000
        assert 20 <= len(commits) <= 200
        await log.close()

    asyncio.run(main())


def test_reading_does_not_wait_for_the_writer(durable: DurableStore) -> None:
    async def main() -> None:
        log = await durable.open()
        await log.append([b"1"] * 1000)
        async with durable.held():
            waiting = log.append([b"2"])
            assert len(await log.read()) == 1000
            assert not waiting.done()
        assert await waiting == 1001
        await log.close()

    asyncio.run(main())


# Failure


def test_a_failed_commit_fails_every_later_append_and_leaves_no_gap(durable: DurableStore) -> None:
    asyncio.run(opened_and_closed(durable))
    durable.execute(*durable.poison)

    async def main() -> None:
        log = await durable.open()
        assert await log.append([b"1"]) == 1
        futures = [log.append([text]) for text in (b"2", b'"poison"', b"3")]
        for future in futures[1:]:
            with pytest.raises(StoreError, match="could not be written: poisoned"):
                await future
        # The one before shares the fate of its group, if it was in it.
        kept = 1 + (futures[0].exception() is None)
        for attempt in (log.append([b"4"]), log.append([]), log.write_document("text", b"text")):
            with pytest.raises(StoreError, match="poisoned"):
                await attempt
        assert [stored.number for stored in await log.read()] == list(range(1, kept + 1)), "reading still works"
        assert await log.read_document("text") is None
        await log.close()

        log = await durable.open()
        assert len(await log.read()) == kept
        assert await log.append([b"5"]) == kept + 1
        await log.close()

    asyncio.run(main())


def test_an_append_of_what_is_no_text_fails_the_log_and_hangs_nobody(durable: DurableStore) -> None:
    async def main() -> None:
        log = await durable.open()
        for events in ([object()], [b"1"]):
            with pytest.raises(StoreError, match="could not be written"):
                await log.append(events)  # type: ignore[list-item]
        await log.close()

    asyncio.run(main())


def test_a_gap_that_somebody_made_is_noticed(durable: DurableStore) -> None:
    async def append() -> None:
        log = await durable.open()
        await log.append([b"1", b"2", b"3"])
        await log.close()

    asyncio.run(append())
    durable.execute(f"DELETE FROM {durable.events} WHERE number = 2")

    async def main() -> None:
        for reader in (await durable.open(), await durable.reader()):
            with pytest.raises(StoreError, match="has a gap: 2 events behind number 0, the last of them numbered 3"):
                await reader.read()
            await reader.close()

    asyncio.run(main())


# Readers


def test_a_reader_sees_what_is_committed_while_the_writer_goes_on(durable: DurableStore) -> None:
    async def main() -> None:
        log = await durable.open()
        await log.append([b"1"])
        reader = await durable.reader()
        assert await reader.read() == [Stored(1, b"1")]
        await log.append([b"2"])
        await log.write_document("snapshot", b"s")
        async with durable.held():
            assert await reader.read(after=1) == [Stored(2, b"2")]
            assert (await reader.document_names("snap"), await reader.read_document("snapshot")) == (["snapshot"], b"s")
            assert (await reader.document_names("t"), await reader.read_document("t")) == ([], None)
        assert await log.append([b"3"]) == 3, "the reader does not disturb it"
        await log.close()
        assert len(await reader.read()) == 3, "nor does it need the writer"
        await reader.close()
        await reader.close()
        with pytest.raises(StoreError, match="closed"):
            await reader.read()
        await opened_and_closed(durable)

    asyncio.run(main())


def test_many_reads_at_once_all_get_their_answer(durable: DurableStore) -> None:
    async def main() -> None:
        log = await durable.open()
        await log.append([b"%d" % number for number in range(1, 21)])
        reader = await durable.reader()
        found = await asyncio.gather(*(reader.read(after=number) for number in range(20)))
        assert [len(events) for events in found] == list(range(20, 0, -1))
        await asyncio.gather(reader.close(), log.close())

    asyncio.run(main())


# Versions


def test_a_store_that_version_1_made_is_opened_and_has_everything(durable: DurableStore) -> None:
    durable.execute(*durable.version_1)

    async def main() -> None:
        log = await durable.open()
        assert await log.append([b"2"]) == 2
        assert await log.read_document("snapshot") == b"old"
        reader = await durable.reader()
        assert await reader.read() == [Stored(1, b"{}"), Stored(2, b"2")]
        await reader.close()
        await log.close()

    asyncio.run(main())


def test_a_store_of_version_1_can_be_read_as_it_is_and_is_of_the_newest_version_once_it_is_written_to(
    durable: DurableStore,
) -> None:
    durable.execute(*durable.version_1)

    async def read() -> list[Stored]:
        reader = await durable.reader()
        try:
            return await reader.read()
        finally:
            await reader.close()

    assert asyncio.run(read()) == [Stored(1, b"{}")]
    assert len(durable.schema.MIGRATIONS) == 4
    asyncio.run(opened_and_closed(durable))
    # An older release refuses it: to one that knows version 2 it is newer.
    with pytest.raises(StoreError, match="written by a newer leaguekit: its version is 4, and this program knows 2"):
        check_version("league.db", 4, 2)
    assert asyncio.run(read()) == [Stored(1, b"{}")]


def test_an_older_store_is_brought_up_to_date_in_order_by_its_writer_only(
    durable: DurableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    durable.execute(*durable.version_1)
    later = [
        ("CREATE TABLE notes (note TEXT)", "INSERT INTO notes VALUES ('two')"),
        ("INSERT INTO notes VALUES ('three')", f"INSERT INTO {durable.events} SELECT 2, max(note) FROM notes"),
    ]
    monkeypatch.setattr(durable.schema, "MIGRATIONS", [*durable.schema.MIGRATIONS, *later])

    async def main() -> None:
        words = await refusal(durable.reader())
        assert "older leaguekit: its version is 1, and this program reads 6. Start a manager on it once" in words
        for _ in range(2):
            await opened_and_closed(durable)
            reader = await durable.reader()
            assert await reader.read() == [Stored(1, b"{}"), Stored(2, b"two")]
            await reader.close()

    asyncio.run(main())
    monkeypatch.undo()
    assert "newer leaguekit: its version is 6, and this program knows 4" in asyncio.run(refusal(durable.open()))


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    durable: DurableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    durable.execute(*durable.version_1)
    later = [("CREATE TABLE notes (note TEXT)",), (f"DELETE FROM {durable.events}", "INSERT INTO nowhere VALUES (1)")]
    monkeypatch.setattr(durable.schema, "MIGRATIONS", [*durable.schema.MIGRATIONS, *later])
    words = asyncio.run(refusal(durable.open()))
    assert "cannot be opened as a store" in words
    assert "nowhere" in words
    monkeypatch.undo()

    async def main() -> None:
        log = await durable.open()
        assert await log.read() == [Stored(1, b"{}")]
        await log.close()

    asyncio.run(main())


def test_a_store_of_a_newer_version_is_refused_and_left_alone(durable: DurableStore) -> None:
    asyncio.run(opened_and_closed(durable))
    durable.execute("UPDATE leaguekit SET version = 5")
    for opening in (durable.open, durable.reader):
        words = asyncio.run(refusal(opening()))
        assert "newer leaguekit: its version is 5, and this program knows 4. Upgrade leaguekit" in words
    durable.execute("UPDATE leaguekit SET version = 4")
    asyncio.run(opened_and_closed(durable))


def test_a_place_without_a_league_is_told_to_its_reader(durable: DurableStore) -> None:
    # The file of a manager that was killed before it made its tables.
    if isinstance(durable.address, Path):
        durable.address.touch()
    assert "holds no league yet" in asyncio.run(refusal(durable.reader()))
