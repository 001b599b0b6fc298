"""The ledger: what is decided is folded at once, and written down before anything that depends on it goes out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from leaguekit.agents.ledger import Ledger
from leaguekit.league import commands
from leaguekit.league import events as e
from leaguekit.league.settings import Settings
from leaguekit.store.base import StoreError
from leaguekit.store.memory import MemoryDisk, MemoryLog
from tests.agents.leagues import LEAGUE, Hall, HeldLog, in_virtual_time

AT = "2025-01-15T10:30:00Z"
CREATED = commands.create(Settings(league_id=LEAGUE), AT)


@in_virtual_time
async def test_an_event_is_folded_at_once_and_settled_when_it_is_written() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    log.hold()
    ledger.record(CREATED)
    assert ledger.league.settings.league_id == LEAGUE
    waiting = asyncio.create_task(ledger.settled())
    await asyncio.sleep(60)
    assert not waiting.done()
    assert log.disk.events == []
    log.release()
    await waiting
    assert len(log.disk.events) == 1


@in_virtual_time
async def test_listeners_hear_of_each_event_when_all_that_were_recorded_with_it_are_folded() -> None:
    ledger = Ledger(MemoryLog())
    heard: list[tuple[str, bool]] = []
    ledger.listeners.append(lambda event: heard.append((type(event).__name__, ledger.league.paused)))
    ledger.record([*CREATED, e.LeaguePaused(at=AT, reason="lunch")])
    assert heard == [("LeagueCreated", True), ("LeaguePaused", True)]
    await ledger.settled()


@in_virtual_time
async def test_nothing_recorded_is_settled_and_recording_nothing_writes_nothing() -> None:
    ledger = Ledger(log := MemoryLog())
    ledger.record([])
    await ledger.settled()
    assert log.disk.events == []
    assert not ledger.failed.done()


@in_virtual_time
async def test_one_that_gives_up_waiting_does_not_take_the_write_from_the_others() -> None:
    log = HeldLog()
    ledger = Ledger(log)
    log.hold()
    ledger.record(CREATED)
    impatient, patient = [asyncio.create_task(ledger.settled()) for _ in range(2)]
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
    waiting = [asyncio.create_task(ledger.settled()) for _ in range(2)]
    await asyncio.sleep(1)
    log.break_down()
    for one in waiting:
        with pytest.raises(StoreError, match="The disk is full"):
            await one
    assert isinstance(await ledger.failed, StoreError)
    ledger.record([e.LeaguePaused(at=AT, reason="lunch")])
    with pytest.raises(StoreError):
        await ledger.settled()


@in_virtual_time
async def test_a_league_is_recovered_by_folding_its_log_again(tmp_path: Path) -> None:
    disk = MemoryDisk()
    async with Hall(tmp_path, log=MemoryLog(disk)) as hall:
        await hall.fill("random", "always_even", "always_odd")
        await hall.operate("start")
        await hall.end()
        digest = hall.league.digest()
    ledger = Ledger(MemoryLog(disk))
    assert await ledger.recover() == len(disk.events)
    assert ledger.league.digest() == digest
    assert await Ledger(MemoryLog()).recover() == 0


@in_virtual_time
async def test_a_manager_that_is_opened_again_knows_its_league_and_its_agents(tmp_path: Path) -> None:
    disk = MemoryDisk()
    async with Hall(tmp_path, log=MemoryLog(disk)) as hall:
        before = await hall.scripted("player", 1)
    async with Hall(tmp_path, log=MemoryLog(disk), game_type="tic_tac_toe") as hall:
        assert hall.league.settings.game_type == "even_odd"
        before.hall = hall
        assert (await before.query("GET_STATUS"))["result"]["data"]["status"]["players"] == 1
