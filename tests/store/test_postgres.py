"""The PostgreSQL log: an older writer writes no more, and a dropped connection neither loses nor doubles anything."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from leaguekit.store import postgres, postgres_lock, postgres_schema
from leaguekit.store.base import Stored, StoreError
from leaguekit.store.opening import open_log, open_reader, stand_by
from leaguekit.store.postgres import PostgresLog
from tests.postgres import Server, execute
from tests.store.proxy import DatabaseProxy

END_OURS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leaguekit'"
TAKEN_OVER = "another manager has taken this league over"


async def until_waiting(other: asyncpg.Connection, count: int) -> None:
    """Wait until this number of statements waits for a lock."""
    async with asyncio.timeout(30):
        while await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted") != count:
            await other.execute("SELECT pg_sleep(0.005)")


async def numbers_in(url: str) -> list[int]:
    reader = await open_reader(url)
    numbers = [stored.number for stored in await reader.read()]
    await reader.close()
    return numbers


async def until_told(told: asyncio.Queue[str], words: str) -> None:
    """Wait until a standby has said a sentence with these words."""
    async with asyncio.timeout(30):
        while words not in await told.get():
            pass


def run_with_cable(url: str, main: Callable[[DatabaseProxy], Coroutine[Any, Any, None]]) -> None:
    async def plugged() -> None:
        async with DatabaseProxy(url) as proxy:
            await main(proxy)

    asyncio.run(plugged())


# Two managers on one store


def test_the_older_writer_is_told_at_its_next_append_and_writes_nothing(postgres_url: str) -> None:
    async def main() -> None:
        older = await open_log(postgres_url)
        assert await older.append([b"1"]) == 1
        newer = await open_log(postgres_url)
        for attempt in (older.append([b"x"]), older.write_document("x", b""), older.append([])):
            with pytest.raises(StoreError, match=TAKEN_OVER):
                await attempt
        assert await newer.append([b"2"]) == 2
        assert await older.read() == [Stored(1, b"1"), Stored(2, b"2")], "reading does not write"
        assert await newer.document_names() == []
        await older.close()
        assert await newer.append([b"3"]) == 3, "nor does its closing disturb the newer one"
        await newer.close()

    asyncio.run(main())


def test_keeping_a_text_alone_is_refused_to_the_older_writer(postgres_url: str) -> None:
    async def main() -> None:
        older, newer = await open_log(postgres_url), await open_log(postgres_url)
        with pytest.raises(StoreError, match=TAKEN_OVER):
            await older.write_document("snapshot", b"old")
        assert await newer.read_document("snapshot") is None
        await older.close()
        await newer.close()

    asyncio.run(main())


def test_whoever_takes_over_waits_for_what_the_older_writer_has_under_way(postgres_url: str) -> None:
    async def main() -> None:
        older = await open_log(postgres_url)
        await older.write_document("snapshot", b"1")
        other = await asyncpg.connect(postgres_url)
        async with other.transaction():
            await other.execute("SELECT * FROM leaguekit_kept FOR UPDATE")
            append, keep = older.append([b"1"]), asyncio.ensure_future(older.write_document("snapshot", b"2"))
            await until_waiting(other, 1)
            opening = asyncio.ensure_future(open_log(postgres_url))
            await until_waiting(other, 2)
        assert await append == 1
        await keep
        newer = await opening
        assert await newer.append([b"2"]) == 2
        assert await newer.read_document("snapshot") == b"2"
        with pytest.raises(StoreError, match=TAKEN_OVER):
            await older.append([b"3"])
        for connection in (other, older, newer):
            await connection.close()

    asyncio.run(main())


def test_a_machine_that_dies_while_it_opens_the_store_blocks_nobody(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgres_schema._WRITER_SETTINGS, "idle_in_transaction_session_timeout", "200ms")

    async def main() -> None:
        await (await open_log(postgres_url)).close()
        dead = await postgres_schema.connect(postgres_url, to_write=True)
        await dead.execute("BEGIN")
        await dead.execute(postgres.TAKE_OVER, UUID(int=1))
        async with asyncio.timeout(30):
            log = await open_log(postgres_url)
        assert await log.append([b"{}"]) == 1
        await log.close()
        dead.terminate()

    asyncio.run(main())


def test_managers_that_open_a_fresh_database_at_once_make_it_once_and_the_last_may_write(postgres_url: str) -> None:
    async def main() -> None:
        logs = await asyncio.gather(*(PostgresLog.open(postgres_url) for _ in range(6)))
        assert sorted(log._epoch for log in logs) == [1, 2, 3, 4, 5, 6]
        told = await asyncio.gather(*(log.append([b"{}"]) for log in logs), return_exceptions=True)
        assert [one for one in told if isinstance(one, int)] == [1]
        assert sum(isinstance(one, StoreError) and TAKEN_OVER in str(one) for one in told) == 5
        await asyncio.gather(*(log.close() for log in logs))

    asyncio.run(main())
    assert asyncio.run(numbers_in(postgres_url)) == [1]


# A dropped connection


def test_a_connection_dropped_between_appends_is_made_again(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        reader = await open_reader(proxy.url)
        for number in range(1, 4):
            assert await log.append([b"%d" % number]) == number
            proxy.cut()
            assert len(await log.read()) == number
            assert len(await reader.read()) == number
        assert await log.append([]) == 3
        await log.close()
        await reader.close()

    run_with_cable(postgres_url, main)


def test_a_server_that_ends_our_connections_is_come_back_to(postgres_url: str) -> None:
    async def main() -> None:
        log = await open_log(postgres_url)
        await log.append([b"1"])
        await execute(postgres_url, END_OURS)
        assert await log.append([b"2"]) == 2
        assert len(await log.read()) == 2
        await log.close()

    asyncio.run(main())


def test_connections_that_are_dropped_at_any_moment_lose_nothing_and_double_nothing(postgres_url: str) -> None:
    acknowledged: dict[int, bytes] = {}

    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        progress = asyncio.Event()
        is_over = False

        async def append(task: int) -> None:
            step = 0
            while not is_over:
                step += 1
                event = b'{"task":%d,"step":%d}' % (task, step)
                acknowledged[await log.append([event])] = event
                progress.set()

        async with asyncio.TaskGroup() as tasks:
            for task in range(10):
                tasks.create_task(append(task))
            for moment in range(15):
                progress.clear()
                await progress.wait()
                if moment % 3:
                    # A moment later each time.
                    for _ in range(moment):
                        await asyncio.sleep(0)
                    proxy.cut()
                else:
                    await execute(postgres_url, END_OURS)
            is_over = True
        assert {stored.number: stored.event for stored in await log.read()} == acknowledged
        assert list(acknowledged) == list(range(1, len(acknowledged) + 1))
        await log.close()

    run_with_cable(postgres_url, main)


def test_an_append_whose_answer_was_lost_is_counted_once(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        proxy.loses_answers = True
        group = [log.append([b"2", b"3"]), log.append([b"4"])]
        await proxy.lost.wait()
        assert await numbers_in(postgres_url) == [1, 2, 3, 4], "the server has it"
        proxy.cut()
        assert await asyncio.gather(*group) == [3, 4]
        assert await log.append([b"5"]) == 5
        assert [stored.event for stored in await log.read()] == [b"1", b"2", b"3", b"4", b"5"]
        await log.close()

    run_with_cable(postgres_url, main)


def test_an_append_that_never_arrived_is_sent_again(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        proxy.loses_requests = True
        append, keep = log.append([b"2"]), asyncio.ensure_future(log.write_document("snapshot", b"s"))
        await proxy.lost.wait()
        assert await numbers_in(postgres_url) == [1], "the server has it not"
        proxy.cut()
        assert await append == 2
        await keep
        assert await log.read_document("snapshot") == b"s"
        assert await numbers_in(postgres_url) == [1, 2]
        await log.close()

    run_with_cable(postgres_url, main)


def test_an_append_of_a_dropped_connection_is_ended_before_it_is_sent_again(postgres_url: str) -> None:
    """The server is still busy with the first when its connection is dropped, and would finish it after the second."""
    waiting = "SELECT pid FROM pg_locks WHERE NOT granted"

    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        other = await asyncpg.connect(postgres_url)

        async with other.transaction():
            await other.execute("LOCK TABLE leaguekit_events IN SHARE MODE")
            append = log.append([b"2"])
            await until_waiting(other, 1)
            first = await other.fetchval(waiting)
            proxy.cut()
            async with asyncio.timeout(30):
                while await other.fetchval(waiting) in (None, first):
                    await other.execute("SELECT pg_sleep(0.005)")
            await until_waiting(other, 1)
        assert await append == 2
        await until_waiting(other, 0)
        assert await log.append([b"3"]) == 3
        assert [stored.event for stored in await log.read()] == [b"1", b"2", b"3"]
        await other.close()
        await log.close()

    run_with_cable(postgres_url, main)


def test_who_comes_back_and_finds_another_manager_writes_no_more(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        proxy.cut()
        newer = await open_log(postgres_url)
        with pytest.raises(StoreError, match=TAKEN_OVER):
            await log.append([b"2"])
        assert await newer.append([b"2"]) == 2
        await newer.close()
        await log.close()

    run_with_cable(postgres_url, main)


def test_an_event_of_another_manager_is_not_taken_for_the_own_that_never_arrived(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other takes over between coming back and looking, and writes just as many."""
    really_fetch = asyncpg.Connection.fetchval

    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])

        async def fetch_a_little_later(self: asyncpg.Connection, query: str, *args: Any) -> Any:
            if query == postgres.LAST:
                monkeypatch.undo()
                newer = await open_log(postgres_url)
                assert await newer.append([b"other"]) == 2
                await newer.close()
            return await really_fetch(self, query, *args)

        monkeypatch.setattr(asyncpg.Connection, "fetchval", fetch_a_little_later)
        proxy.cut()
        with pytest.raises(StoreError, match=TAKEN_OVER):
            await log.append([b"mine"])
        assert [stored.event for stored in await log.read()] == [b"1", b"other"]
        await log.close()

    run_with_cable(postgres_url, main)


def test_a_server_that_lost_what_it_had_acknowledged_is_noticed(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1", b"2", b"3"])
        proxy.cut()
        await execute(postgres_url, "DELETE FROM leaguekit_events WHERE number = 3")
        with pytest.raises(StoreError, match="its last event is number 2 and should be 3: the server has lost"):
            await log.append([b"4"])
        await log.close()

    run_with_cable(postgres_url, main)
    assert asyncio.run(numbers_in(postgres_url)) == [1, 2]


def test_a_server_that_is_away_is_waited_for_and_nothing_is_lost(postgres_url: str) -> None:
    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        proxy.close_all()
        append = log.append([b"2"])
        assert isinstance(log, PostgresLog)
        async with asyncio.timeout(30):
            while log.problem is None:  # noqa: ASYNC110 - the log tells nobody
                await asyncio.sleep(0)
        assert "Connect call failed" in log.problem
        with pytest.raises(StoreError, match=r"cannot be read: .*Connect call failed.*Check that the server"):
            await log.read()
        await proxy.open()
        assert await append == 2
        assert log.problem is None
        assert len(await log.read()) == 2
        await log.close()

    run_with_cable(postgres_url, main)


def test_a_log_that_is_closed_while_its_server_is_away_says_what_was_not_written(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "CLOSE_SECONDS", 0.3)

    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        proxy.close_all()
        append = log.append([b"1"])
        await log.close()
        with pytest.raises(StoreError, match=r"could not be written: .*Connect call failed"):
            await append

    run_with_cable(postgres_url, main)
    assert asyncio.run(numbers_in(postgres_url)) == []


def test_a_server_that_does_not_answer_is_given_up_in_time(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_schema, "STATEMENT_SECONDS", 0.2)

    async def main(proxy: DatabaseProxy) -> None:
        log = await open_log(proxy.url)
        await log.append([b"1"])
        proxy.loses_answers = True
        append = log.append([b"2"])
        await proxy.lost.wait()
        proxy.loses_answers = False
        assert await append == 2, "it was asked again over another connection"
        assert len(await log.read()) == 2
        await log.close()

    run_with_cable(postgres_url, main)


# The lock


def test_a_standby_takes_over_when_the_writer_has_closed_its_log(postgres_url: str) -> None:
    async def main() -> None:
        told = asyncio.Queue[str]()
        older = await open_log(postgres_url)
        await older.append([b"1"])
        waiting = asyncio.ensure_future(stand_by(postgres_url, told.put_nowait))
        await until_told(told, "serves this league")
        assert not waiting.done()
        await older.close()
        lock = await waiting
        newer = await open_log(postgres_url)
        lock.release()
        assert await newer.append([b"2"]) == 2
        assert told.get_nowait() == "The manager on the machine of the database is gone: this one takes over."
        await newer.close()

    asyncio.run(main())


def test_a_writer_that_is_silent_is_replaced_and_writes_no_more(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_lock, "SILENT_SECONDS", 0.5)

    async def main() -> None:
        told = asyncio.Queue[str]()
        older = await open_log(postgres_url)
        lock = await stand_by(postgres_url, told.put_nowait)
        newer = await open_log(postgres_url)
        lock.release()
        await until_told(told, "serves this league")
        assert re.search(r"has not been heard of for [\d.]+ s: its connection is ended", told.get_nowait())
        with pytest.raises(StoreError, match=TAKEN_OVER):
            await older.append([b"old"])
        assert await newer.append([b"new"]) == 1
        await older.close()
        await newer.close()

    asyncio.run(main())


def test_a_writer_that_is_heard_of_or_busy_keeps_its_log(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_lock, "SILENT_SECONDS", 1.0)

    async def main() -> None:
        told = asyncio.Queue[str]()
        log = await open_log(postgres_url)
        assert isinstance(log, PostgresLog)
        waiting = asyncio.ensure_future(stand_by(postgres_url, told.put_nowait))
        for _ in range(10):
            await log.confirm()
            await execute(postgres_url, "SELECT pg_sleep(0.2)")
        other = await asyncpg.connect(postgres_url)
        async with other.transaction():
            await other.execute("LOCK TABLE leaguekit_events IN SHARE MODE")
            append = log.append([b"1"])
            await other.execute("SELECT pg_sleep(2)")
        assert await append == 1, "a slow statement is not silence"
        assert not waiting.done()
        assert told.qsize() == 1
        waiting.cancel()
        await asyncio.wait([waiting])
        await other.close()
        await log.close()

    asyncio.run(main())


def test_a_manager_that_is_started_as_usual_takes_the_lock_from_the_one_before(postgres_url: str) -> None:
    async def main() -> None:
        told = asyncio.Queue[str]()
        older = await open_log(postgres_url)
        newer = await open_log(postgres_url)
        waiting = asyncio.ensure_future(stand_by(postgres_url, told.put_nowait))
        await until_told(told, "serves this league")
        await older.close()
        assert await newer.append([b"1"]) == 1
        assert not waiting.done()
        await newer.close()
        (await waiting).release()

    asyncio.run(main())


def test_a_standby_waits_for_a_server_that_is_away(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_lock, "RECONNECT_SECONDS", 0.1)

    async def main(proxy: DatabaseProxy) -> None:
        told = asyncio.Queue[str]()
        log = await open_log(postgres_url)
        waiting = asyncio.ensure_future(stand_by(proxy.url, told.put_nowait))
        await until_told(told, "serves this league")
        proxy.close_all()
        await until_told(told, "The database cannot be reached, and is tried again")
        await proxy.open()
        await log.close()
        (await waiting).release()
        await until_told(told, "this one takes over")

    run_with_cable(postgres_url, main)


def test_a_standby_that_cannot_see_the_writer_says_why(postgres_server: Server) -> None:
    url = postgres_server.schema()
    postgres_server.execute("CREATE ROLE stranger LOGIN")

    async def main() -> None:
        log = await open_log(url)
        with pytest.raises(
            StoreError, match=r"connected as postgres, and a standby cannot see .* Give both the same user"
        ):
            await stand_by(url.replace("postgres@", "stranger@"), lambda _: None)
        await log.close()

    postgres_server.execute(f"GRANT USAGE ON SCHEMA {url.rpartition('=')[2]} TO stranger")
    asyncio.run(main())


@pytest.mark.parametrize("address", ["memory:", "league.db"])
def test_a_store_of_this_machine_alone_has_no_standby(address: str) -> None:
    with pytest.raises(StoreError, match="is on this machine only: a standby needs --store postgresql://"):
        asyncio.run(stand_by(address, lambda _: None))


# What the server has to say


def test_every_commit_is_synced_whatever_the_server_is_set_to(postgres_server: Server) -> None:
    url = postgres_server.database("synchronous_commit = off", "default_transaction_isolation = 'serializable'")

    async def main() -> None:
        log = await PostgresLog.open(url)
        assert await log._writer.fetchval("SHOW synchronous_commit") == "on"
        assert await log._writer.fetchval("SHOW transaction_isolation") == "read committed"
        await log.close()

    asyncio.run(main())


def test_a_full_disk_says_to_make_room_and_keeps_what_was_acknowledged(postgres_url: str) -> None:
    async def main() -> None:
        log = await open_log(postgres_url)
        await log.append([b"1"])
        await execute(
            postgres_url,
            "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN "
            "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$ "
            "LANGUAGE plpgsql; "
            "CREATE TRIGGER full_disk BEFORE INSERT ON leaguekit_events EXECUTE FUNCTION full_disk()",
        )
        with pytest.raises(StoreError, match=r"No space left on device\. Make room on the server's disk"):
            await log.append([b"2"])
        await log.close()

    asyncio.run(main())
    assert asyncio.run(numbers_in(postgres_url)) == [1]


def test_a_server_that_takes_no_writes_is_refused_and_can_be_read(postgres_url: str) -> None:
    async def append(url: str) -> None:
        log = await open_log(url)
        await log.append([b"1"])
        await log.close()

    asyncio.run(append(postgres_url))
    with pytest.raises(StoreError, match=r"read-only transaction\. This server takes no writes"):
        asyncio.run(append(f"{postgres_url}&default_transaction_read_only=on"))
    assert asyncio.run(numbers_in(postgres_url)) == [1]


def test_leagues_in_schemas_of_one_database_do_not_meet(postgres_server: Server) -> None:
    url = postgres_server.url()

    async def main() -> None:
        await execute(url, "CREATE SCHEMA spring; CREATE SCHEMA autumn")
        spring, autumn = [await open_log(f"{url}&search_path={name}") for name in ("spring", "autumn")]
        assert [await log.append([text]) for log, text in ((spring, b"1"), (autumn, b"2"))] == [1, 1]
        assert (await spring.read(), await autumn.read()) == ([Stored(1, b"1")], [Stored(1, b"2")])
        await spring.close()
        await autumn.close()
        with pytest.raises(StoreError, match="Make the schema first that search_path names"):
            await open_log(f"{url}&search_path=winter")

    asyncio.run(main())


def test_a_database_that_cannot_hold_every_name_is_refused(postgres_server: Server) -> None:
    postgres_server.execute(
        "CREATE DATABASE narrow ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    with pytest.raises(StoreError, match="has the encoding SQL_ASCII: make a database with the encoding UTF8"):
        asyncio.run(open_log(postgres_server.url("narrow")))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://u:s3cret@127.0.0.1:1/league", "Check that the server runs"),
        ("postgresql://u:s3/cret@h/league", "cannot be read as an address"),
        ("postgresql://u:s3cret@h:port/league", "cannot be read as an address"),
        ("postgresql://u:12@s3cret@h/league", "percent-encoded"),
        ("postgresql://u:x@h/league?s3cret", "cannot be read as an address"),
        ("postgresql://postgres:s3cret@/nowhere?host={folder}", "Make the database first"),
        ("postgresql://nobody:s3cret@/postgres?host={folder}", "Check the user and the password"),
        ("postgresql://postgres@/postgres?host={folder}&password=s3cret&odd=1", "unrecognized configuration parameter"),
    ],
)
def test_what_cannot_be_opened_says_why_and_never_shows_the_password(
    postgres_server: Server, caplog: pytest.LogCaptureFixture, address: str, words: str
) -> None:
    caplog.set_level(logging.DEBUG)
    for opening in (open_log, open_reader):
        with pytest.raises(StoreError, match=words) as refused:
            asyncio.run(opening(address.format(folder=postgres_server.folder)))
        told = "".join(traceback.format_exception(refused.value))
        assert not re.search("s3|cret", told + caplog.text)
