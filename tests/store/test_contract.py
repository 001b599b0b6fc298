"""What every event log promises, run on each of them."""

from __future__ import annotations

import asyncio

import pytest

from leaguekit.store.base import EventLog, Stored, StoreError
from tests.store.stores import OpenableStore


def event(number: int) -> bytes:
    return b'{"n":%d}' % number


def test_events_are_numbered_from_1_and_read_back_in_order(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        assert await log.read() == []
        assert await log.append([event(1)]) == 1
        assert await log.append([event(2), event(3), event(4)]) == 4
        assert await log.read() == [Stored(number, event(number)) for number in (1, 2, 3, 4)]
        assert await log.read(after=2) == [Stored(3, event(3)), Stored(4, event(4))]
        assert await log.read(after=4) == []
        assert await log.read(after=1, limit=2) == [Stored(2, event(2)), Stored(3, event(3))]
        assert [len(await log.read(3, limit)) for limit in (0, 1, 2)] == [0, 1, 1]
        assert len(await log.read(after=-1)) == 4
        await log.close()

    asyncio.run(main())


def test_an_event_comes_back_byte_for_byte(store: OpenableStore) -> None:
    texts = ['{"name":"Łódź ♞ 🂡"}'.encode(), b'{"a":"\\u0000\\n"}', b" [1, 2]\n", b'"%s"' % (b"x" * 300_000)]

    async def main() -> None:
        log = await store.open()
        await log.append(texts)
        assert [stored.event for stored in await log.read()] == texts
        await log.close()

    asyncio.run(main())


def test_appending_nothing_waits_for_all_before_it_and_gives_the_last_number(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        assert await log.append([]) == 0
        before = log.append([event(1), event(2)])
        assert await log.append([]) == 2
        assert before.done()
        await log.close()

    asyncio.run(main())


def test_append_takes_the_events_as_they_are_now(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        events = [event(1)]
        future = log.append(events)
        events.append(event(2))
        assert await future == 1
        assert await log.read() == [Stored(1, event(1))]
        await log.close()

    asyncio.run(main())


def test_only_what_is_committed_can_be_read(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        future = log.append([event(1)])
        assert not future.done()
        seen = await log.read()
        assert len(seen) in {0, 1}
        await future
        assert len(await log.read()) == 1
        await log.close()

    asyncio.run(main())


def test_concurrent_appends_keep_the_order_in_which_they_were_made(store: OpenableStore) -> None:
    made: list[bytes] = []
    done: list[int] = []

    async def work(log: EventLog, task: int) -> None:
        for step in range(25):
            mine = [b'{"task":%d,"step":%d,"part":%d}' % (task, step, part) for part in range(step % 3 + 1)]
            made.extend(mine)
            number = await log.append(mine)
            done.append(number)
            assert made[number - len(mine) : number] == mine

    async def main() -> None:
        log = await store.open()
        await asyncio.gather(*(work(log, task) for task in range(40)))
        assert [stored.event for stored in await log.read()] == made
        assert [stored.number for stored in await log.read()] == list(range(1, len(made) + 1))
        assert done == sorted(done)
        await log.close()

    asyncio.run(main())


def test_who_gives_up_waiting_harms_nobody_and_its_event_is_kept(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        given_up, other = log.append([event(1)]), log.append([event(2)])
        given_up.cancel()
        assert await other == 2
        assert len(await log.read()) == 2
        await log.close()

    asyncio.run(main())


def test_a_reopened_log_has_everything_and_goes_on_with_the_next_number(store: OpenableStore) -> None:
    async def session(first: int) -> None:
        log = await store.open()
        assert [stored.number for stored in await log.read()] == list(range(1, first))
        assert await log.append([event(first), event(first + 1)]) == first + 1
        await log.close()

    for first in (1, 3, 5):
        asyncio.run(session(first))


def test_closing_commits_what_waits(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        futures = [log.append([event(number)]) for number in range(1, 101)]
        await log.close()
        assert [future.result() for future in futures] == list(range(1, 101))
        log = await store.open()
        assert len(await log.read()) == 100
        await log.close()

    asyncio.run(main())


def test_a_closed_log_refuses_everything_but_closing_again(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        await asyncio.gather(log.close(), log.close())
        await log.close()
        for attempt in (
            log.append([event(1)]),
            log.read(),
            log.write_document("a", b"b"),
            log.read_document("a"),
            log.document_names(),
        ):
            with pytest.raises(StoreError, match="closed"):
                await attempt

    asyncio.run(main())


def test_texts_are_kept_by_name_and_replaced(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        assert await log.read_document("R1M1") is None
        await log.write_document("R1M1", b"first\x00\xff")
        assert await log.read_document("R1M1") == b"first\x00\xff"
        await log.write_document("R1M1", b"second")
        await log.write_document("../odd ' name", b"")
        assert await log.append([event(1)]) == 1, "texts take no numbers"
        await log.close()
        log = await store.open()
        assert await log.read_document("R1M1") == b"second"
        assert await log.read_document("../odd ' name") == b""
        await log.close()

    asyncio.run(main())


def test_names_are_found_by_how_they_begin_and_come_sorted(store: OpenableStore) -> None:
    names = [
        "transcript/R1M1",
        "transcript/R10M1",
        "transcript/R1M2",
        "snapshot",
        "transcript",
        "Snapshot",
        "Łódź",
        "_%",
    ]

    async def main() -> None:
        log = await store.open()
        assert await log.document_names() == []
        await asyncio.gather(*(log.write_document(name, b"") for name in names))
        assert await log.document_names() == sorted(names)
        assert await log.document_names("transcript/") == ["transcript/R10M1", "transcript/R1M1", "transcript/R1M2"]
        assert await log.document_names("transcript/R1M") == ["transcript/R1M1", "transcript/R1M2"]
        assert await log.document_names("Łó") == ["Łódź"]
        assert await log.document_names("_") == ["_%"]
        assert await log.document_names("snapshots") == []
        await log.close()

    asyncio.run(main())


def test_of_texts_kept_together_under_one_name_the_last_stays(store: OpenableStore) -> None:
    async def main() -> None:
        log = await store.open()
        await asyncio.gather(*(log.write_document("snapshot", b"%d" % version) for version in range(10)))
        assert await log.read_document("snapshot") == b"9"
        await log.close()

    asyncio.run(main())
