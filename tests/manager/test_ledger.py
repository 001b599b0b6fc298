"""The ledger: events are applied at once, and are written before anything that depends on them is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from leaguekit.league import commands
from leaguekit.league import events as e
from leaguekit.league.fold import fold
from leaguekit.league.settings import Settings
from leaguekit.league.snapshot import restore, save
from leaguekit.league.state import League
from leaguekit.manager.ledger import SNAPSHOT, Ledger
from leaguekit.manager.writer_check import CONFIRMED_SECONDS
from leaguekit.store.base import Stored, StoreError
from leaguekit.store.memory import MemoryLog, MemoryLogContent
from leaguekit.store.postgres_lock import SILENT_SECONDS
from leaguekit.store.sqlite import SqliteLog
from tests.agents.leagues import LEAGUE, Hall, HeldLog, in_virtual_time

AT = "2025-01-15T10:30:00Z"
CREATED = commands.create(Settings(league_id=LEAGUE), AT)
PAUSED, RESUMED = e.LeaguePaused(at=AT, reason="lunch"), e.LeagueResumed(at=AT, reason="go on")


@in_virtual_time
async def test_an_event_is_applied_at_once_and_awaited_until_it_is_written() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    log.hold()
    ledger.record(CREATED)
    assert ledger.league.settings.league_id == LEAGUE
    waiting = asyncio.create_task(ledger.wait_written())
    await asyncio.sleep(60)
    assert not waiting.done()
    assert log.content.events == []
    log.release()
    await waiting
    assert len(log.content.events) == 1


@in_virtual_time
async def test_listeners_hear_of_each_event_when_all_that_were_recorded_with_it_are_folded() -> None:
    ledger = Ledger(MemoryLog())
    heard: list[tuple[str, bool]] = []
    ledger.listeners.append(lambda event: heard.append((type(event).__name__, ledger.league.paused)))
    ledger.record([*CREATED, e.LeaguePaused(at=AT, reason="lunch")])
    assert heard == [("LeagueCreated", True), ("LeaguePaused", True)]
    await ledger.wait_written()


@in_virtual_time
async def test_without_events_nothing_is_awaited_and_nothing_is_written() -> None:
    ledger = Ledger(log := MemoryLog())
    ledger.record([])
    await ledger.wait_written()
    assert log.content.events == []
    assert not ledger.failed.done()


@in_virtual_time
async def test_one_that_gives_up_waiting_does_not_take_the_write_from_the_others() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    log.hold()
    ledger.record(CREATED)
    impatient, patient = [asyncio.create_task(ledger.wait_written()) for _ in range(2)]
    await asyncio.sleep(1)
    impatient.cancel()
    await asyncio.sleep(1)
    log.release()
    await patient
    assert impatient.cancelled()


@in_virtual_time
async def test_a_failed_write_is_told_to_everybody_who_waits_and_to_whoever_watches() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    log.hold()
    ledger.record(CREATED)
    waiting = [asyncio.create_task(ledger.wait_written()) for _ in range(2)]
    await asyncio.sleep(1)
    log.break_down()
    for one in waiting:
        with pytest.raises(StoreError, match="The disk is full"):
            await one
    assert isinstance(await ledger.failed, StoreError)
    ledger.record([e.LeaguePaused(at=AT, reason="lunch")])
    with pytest.raises(StoreError):
        await ledger.wait_written()


@in_virtual_time
async def test_a_league_is_recovered_by_folding_its_log_again(tmp_path: Path) -> None:
    content = MemoryLogContent()
    async with Hall(tmp_path, log=MemoryLog(content)) as hall:
        await hall.fill("random", "always_even", "always_odd")
        await hall.operate("start")
        await hall.end()
        digest = hall.league.digest()
    ledger = Ledger(MemoryLog(content))
    assert await ledger.recover() == len(content.events)
    assert ledger.league.digest() == digest
    assert await Ledger(MemoryLog()).recover() == 0


@in_virtual_time
async def test_a_manager_that_is_opened_again_knows_its_league_and_its_agents(tmp_path: Path) -> None:
    content = MemoryLogContent()
    async with Hall(tmp_path, log=MemoryLog(content)) as hall:
        before = await hall.scripted("player", 1)
    async with Hall(tmp_path, log=MemoryLog(content), game_type="tic_tac_toe") as hall:
        assert hall.league.settings.game_type == "even_odd"
        before.hall = hall
        assert (await before.query("GET_STATUS"))["result"]["data"]["status"]["players"] == 1


@in_virtual_time
async def test_a_long_log_is_folded_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaguekit.manager.ledger.PAGE", 3)
    ledger = Ledger(log := WatchedLog(_content([*CREATED, *[PAUSED, RESUMED] * 3, PAUSED])))
    assert await ledger.recover() == 8
    assert log.read_after == [0, 3, 6, 8]
    assert ledger.league.paused


# Snapshots


def _of(events: Sequence[bytes]) -> League:
    return fold(e.decode(event) for event in events)


def _content(events: Sequence[e.Event], snapshot: bytes | None = None) -> MemoryLogContent:
    content = MemoryLogContent()
    content.events += [e.encode(event) for event in events]
    if snapshot is not None:
        content.documents[SNAPSHOT] = snapshot
    return content


class WatchedLog(MemoryLog):
    """Records from which event on it was read, and each state of the disk that a crash could leave."""

    def __init__(self, content: MemoryLogContent | None = None) -> None:
        super().__init__(content)
        self.read_after: list[int] = []
        self.moments: list[MemoryLogContent] = []

    async def read(self, after: int = 0, most: int | None = None) -> list[Stored]:
        self.read_after.append(after)
        return await super().read(after, most)

    def _commit(self) -> None:
        super()._commit()
        self._note()

    async def write_document(self, name: str, content: bytes) -> None:
        await super().write_document(name, content)
        self._note()

    def _note(self) -> None:
        moment = MemoryLogContent()
        moment.events, moment.documents = list(self.content.events), dict(self.content.documents)
        self.moments.append(moment)


@in_virtual_time
async def test_whatever_moment_a_manager_dies_at_snapshot_and_log_make_the_league(tmp_path: Path) -> None:
    hall = Hall(tmp_path, log=(log := WatchedLog()))
    hall.manager.ledger.snapshot_every = 4
    async with hall:
        await hall.fill("random", "always_even", "always_odd", "alternating")
        await hall.operate("start")
        await hall.end()
    numbers = set()
    for moment in log.moments:
        ledger = Ledger(again := WatchedLog(moment))
        assert await ledger.recover() == len(moment.events)
        assert save(ledger.league, 1) == save(_of(moment.events), 1)
        if SNAPSHOT in moment.documents:
            _, number = restore(moment.documents[SNAPSHOT])
            assert again.read_after[:2] == [number - 1, number]
            numbers.add(number)
    assert len(numbers) > 5
    assert max(numbers) > len(log.content.events) - 8


@in_virtual_time
async def test_a_snapshot_waits_until_the_events_in_it_are_written() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    ledger.snapshot_every = 2
    log.hold()
    ledger.record([*CREATED, PAUSED])
    ledger.record([RESUMED])
    await asyncio.sleep(60)
    assert log.content.documents == {}
    log.release()
    await ledger.close()
    league, number = restore(log.content.documents[SNAPSHOT])
    assert (number, league.paused) == (2, True)


@in_virtual_time
async def test_a_snapshot_comes_again_only_after_as_many_events() -> None:
    log = WatchedLog()
    ledger = Ledger(log)
    ledger.snapshot_every = 3
    ledger.record([*CREATED, PAUSED, RESUMED])
    for event in [PAUSED, RESUMED] * 4:
        await asyncio.sleep(1)
        ledger.record([event])
    await ledger.close()
    kept = {restore(moment.documents[SNAPSHOT])[1] for moment in log.moments if moment.documents}
    assert kept == {3, 6, 9}


@in_virtual_time
async def test_a_recovered_ledger_counts_on_from_its_log() -> None:
    events = [*CREATED, PAUSED, RESUMED]
    content = _content(events, save(_of([e.encode(event) for event in events[:2]]), 2))
    ledger = Ledger(MemoryLog(content))
    ledger.snapshot_every = 2
    await ledger.recover()
    ledger.record([PAUSED])
    await ledger.close()
    assert restore(content.documents[SNAPSHOT])[1] == 4


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (b"nonsense", "written by 'nonsense'"),
        (b"leaguekit-99.0.0-1 2 3\n...", "written by 'leaguekit-99.0.0-1'"),
        (save(fold([*CREATED, PAUSED]), 2)[:-1], "damaged"),
        (save(fold([*CREATED, PAUSED]), 4), "ahead of the log"),
    ],
)
@in_virtual_time
async def test_a_snapshot_that_is_of_no_use_is_ignored_and_noted(
    snapshot: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(MemoryLog(_content([*CREATED, PAUSED, RESUMED], snapshot)))
    with caplog.at_level(logging.WARNING):
        assert await ledger.recover() == 3
    assert ledger.league.digest() == fold([*CREATED, PAUSED, RESUMED]).digest()
    assert [reason in record.message for record in caplog.records] == [True]


@in_virtual_time
async def test_that_a_snapshot_cannot_be_kept_harms_nobody() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    ledger.snapshot_every = 1
    log.hold()
    ledger.record(CREATED)
    await asyncio.sleep(1)
    log.break_down()
    await asyncio.sleep(1)
    assert isinstance(await ledger.failed, StoreError)
    await ledger.close()
    assert log.content.documents == {}


def test_a_snapshot_in_a_file_is_taken_up_again(tmp_path: Path) -> None:
    async def play() -> None:
        ledger = Ledger(await SqliteLog.open(tmp_path / "league.db"))
        ledger.snapshot_every = 2
        ledger.record([*CREATED, PAUSED])
        await ledger.wait_written()
        ledger.record([RESUMED])
        await ledger.close()
        log = await SqliteLog.open(tmp_path / "league.db")
        assert restore(await log.read_document(SNAPSHOT) or b"")[1] == 2
        again = Ledger(log)
        assert await again.recover() == 3
        assert again.league.digest() == ledger.league.digest()
        await again.close()

    asyncio.run(play())


def test_a_manager_stops_answering_before_a_standby_ends_its_session() -> None:
    assert CONFIRMED_SECONDS < SILENT_SECONDS
