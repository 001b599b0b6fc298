"""Faults of the referees' host, in virtual time: attempts are void, pauses follow, and no match is held for nothing."""

from __future__ import annotations

import asyncio
import errno
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.league.commands.results import MAX_VOIDS
from leaguekit.manager.rounds.league_runner import VOID_PAUSES
from leaguekit.store.base import StoreError
from leaguekit.store.disk import AppendFile, Disk
from leaguekit.web.projection import Projection
from tests.agents.leagues import LEAGUE, Hall, Scripted, in_virtual_time


class _FullDisk(Disk):
    """The disk of this machine, without room at some times."""

    def __init__(self, is_full: Callable[[], bool]) -> None:
        self._is_full = is_full

    def open_to_append(self, path: Path, content: bytes) -> AppendFile:
        if self._is_full():
            raise StoreError(f"{path} cannot be written: No space left on device.")
        return _FullFile(super().open_to_append(path, content), self._is_full)


class _FullFile:
    def __init__(self, file: AppendFile, is_full: Callable[[], bool]) -> None:
        self._file = file
        self._is_full = is_full

    def write(self, line: bytes) -> None:
        if self._is_full():
            raise OSError(errno.ENOSPC, "No space left on device")
        self._file.write(line)

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()


class _DiskHall(Hall):
    """A hall whose referees have a disk that may be full."""

    def __init__(self, root: Path, **more: Any) -> None:
        self.full_until = 0.0
        # Whose disk that is: all referees', or the named one's.
        self.whose = "referee"
        super().__init__(root, **more)

    def world(self, name: str) -> World:
        full = _FullDisk(lambda: name.startswith(self.whose) and self.now < self.full_until)
        return replace(super().world(name), files=full)

    def recorded(self, kind: type[e.Event]) -> list[Any]:
        return [event for text in self.log.content.events if isinstance(event := e.decode(text), kind)]


async def _thinks(kind: str) -> None:
    if kind == "CHOOSE_PARITY_CALL":
        await asyncio.sleep(1)


async def _started(hall: Hall, referees: int) -> None:
    await hall.fill(referees=referees)
    for _ in range(6):
        await hall.player("random", _thinks)
    await hall.operate("start")


async def _void(hall: Hall, referee: Scripted, attempt: int) -> None:
    await hall.until(lambda: hall.league.matches and hall.league.matches["R1M1"].attempt == attempt)
    of_match = {"league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "attempt": attempt}
    await hall.post("report_match_void", referee.message("MATCH_VOID_REPORT", **of_match, reason="a full disk"))


@pytest.mark.parametrize("referees", [1, 2])
@pytest.mark.parametrize("seconds", [1.0, 15.0, 60.0])
@in_virtual_time
async def test_a_disk_that_is_full_for_up_to_a_minute_holds_no_match(
    tmp_path: Path, seconds: float, referees: int
) -> None:
    async with _DiskHall(tmp_path) as hall:
        await _started(hall, referees)
        await hall.until(lambda: hall.league.current_round == 2)
        hall.full_until = hall.now + seconds
        await hall.end(600)
        assert hall.recorded(e.AttemptVoided)
        assert hall.recorded(e.MatchHeld) == []
        assert len(hall.recorded(e.ResultRecorded)) == 15


@in_virtual_time
async def test_the_match_of_a_referee_that_cannot_write_goes_to_another(tmp_path: Path) -> None:
    async with _DiskHall(tmp_path) as hall:
        await _started(hall, 2)
        hall.full_until, hall.whose = 100_000.0, "referee 1"
        await hall.end(3_600)
        assert {one.referee_id for one in hall.recorded(e.ResultRecorded)} == {"REF02"}
        assert {one.attempt for one in hall.recorded(e.AttemptVoided)} == {1}


@in_virtual_time
async def test_the_pauses_between_void_attempts_grow_and_the_status_tells_of_them(tmp_path: Path) -> None:
    assert len(VOID_PAUSES) == MAX_VOIDS - 1
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        for attempt in (1, 2, 3):
            await _void(hall, referee, attempt)
            status = await hall.operate("status")
            shown = Projection(hall.league, hall.manager.runner).league_view().waits_for
            if attempt < MAX_VOIDS:
                # The commands are for operators, and not for spectators.
                assert shown == ["a pause to end: the last attempt at R1M1 was void"]
                assert status["waits_for"] == [
                    "a pause to end: the last attempt at R1M1 was void; `league log` says why"
                ]
        begun = [one.at for one in referee.got("MATCH_ASSIGNMENT")]
        assert [after - before for before, after in itertools.pairwise(begun)] == pytest.approx(VOID_PAUSES, abs=0.1)
        assert status["held"] == ["R1M1"]
        (waits,) = status["waits_for"]
        assert waits.startswith("the operator: R1M1 came to nothing too often (`league rematch --held`")
        assert shown == ["the operator: R1M1 came to nothing too often"]


@in_virtual_time
async def test_a_manager_that_is_started_again_keeps_the_pause(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await _void(hall, referee, 1)
        await hall.crash()
        await hall.restart()
        await asyncio.sleep(VOID_PAUSES[0] - 1)
        assert hall.league.matches["R1M1"].attempt == 1
        await hall.until(lambda: hall.league.matches["R1M1"].attempt == 2, seconds=5)


@in_virtual_time
async def test_the_match_of_a_lost_referee_goes_to_another_without_a_pause(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        first, second, *_ = await hall.scripted_league(players=2, referees=2)
        await hall.until(lambda: first.got("MATCH_ASSIGNMENT"))
        hall.network.close(first.url)
        await hall.until(lambda: hall.league.referees[first.id].lost)
        await hall.until(lambda: second.got("MATCH_ASSIGNMENT"), seconds=1)


@in_virtual_time
async def test_a_match_that_is_corrected_in_its_pause_is_not_waited_for_any_more(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await _void(hall, referee, 1)
        assert any("a pause to end" in one for one in (await hall.operate("status"))["waits_for"])
        await hall.operate("correct", match_id="R1M1", outcome="P01", reason="agreed")
        assert not any("a pause to end" in one for one in (await hall.operate("status"))["waits_for"])
