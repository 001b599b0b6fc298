"""A match of a large league costs the manager no more than one of a small league, and leaves little in memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from leaguekit.league import queries
from leaguekit.manager.json_files import rounds_file
from leaguekit.manager.rounds import league_messages, publishing
from leaguekit.manager.rounds.publishing import StandingsPublisher
from leaguekit.protocol.decoding import decode
from leaguekit.store.disk import DISK, Disk
from leaguekit.store.json_files import PAUSES_PER_WRITE, JsonPaths, JsonWriter, as_json
from tests.agents.leagues import BEGAN, LEAGUE, Hall, in_virtual_time
from tests.league.play import Play, whole, won

MEASURE = Path(__file__).parents[2] / "benchmarks" / "memory.py"
PLAYERS = 150


@pytest.mark.longest
def test_a_result_takes_at_most_a_kilobyte_and_files_and_tasks_stay_as_many() -> None:
    done = subprocess.run(
        [sys.executable, MEASURE, str(PLAYERS)], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["matches"] == PLAYERS * (PLAYERS - 1) // 2
    assert found["a_result"] <= 1_024
    assert len(set(found["files"])) == 1
    # During a broadcast there is one task per agent. At the end there are as many tasks as at the beginning.
    assert max(found["tasks"]) < 6 * PLAYERS
    assert found["tasks"][-1] <= found["tasks"][0]


@pytest.mark.parametrize(("seconds_per_player", "times"), [(0.0, [0, 1]), (0.3, [0, 3])])
@in_virtual_time
async def test_standings_are_made_only_as_often_as_anybody_is_sent_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds_per_player: float, times: list[float]
) -> None:
    monkeypatch.setattr(publishing, "PAUSE_SECONDS_PER_PLAYER", seconds_per_player)
    made: list[float] = []

    def noted(self: StandingsPublisher, round_id: int) -> Any:
        made.append(asyncio.get_running_loop().time())
        return really(self, round_id)

    really = StandingsPublisher.make_updates
    monkeypatch.setattr(StandingsPublisher, "make_updates", noted)
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=10, capacity=10)
        await hall.until(lambda: len(hall.league.referees[referee.id].assigned_matches) == 5)
        began = hall.now
        for name in list(hall.league.referees[referee.id].assigned_matches)[:4]:
            await referee.report(name)
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        assert [round(at - began, 1) for at in made] == times
        for player in players:
            last = player.got("LEAGUE_STANDINGS_UPDATE")[-1]
            assert sum(row["played"] for row in last.params["standings"]) == 8


def test_of_many_matches_a_player_is_announced_the_first_ones_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_messages, "MAX_ANNOUNCED", 3)
    play = Play(players=12, referees=2)
    play.begin()
    names = play.league.rounds[0].matches
    messages = league_messages.round_announcements(play.league, 1, names, BEGAN)
    assert messages.keys() == play.league.players.keys()
    for number, name in enumerate(names):
        for player in play.league.matches[name].players:
            announced = [match.match_id for match in decode(messages[player].body).matches]
            assert announced == (names[:3] if number < 3 else [*names[:2], name])
    whole_round = decode(league_messages.round_announcement(play.league, 1, names, BEGAN).body)
    assert [match.match_id for match in whole_round.matches] == names


@in_virtual_time
async def test_standings_that_wait_are_not_sent_after_the_round_they_are_of(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=4)
        await hall.until(lambda: len(hall.league.referees[referee.id].assigned_matches) == 2)
        for name in list(hall.league.referees[referee.id].assigned_matches):
            await referee.report(name)
        await asyncio.sleep(5)
        for player in players:
            told = [one.kind for one in player.got("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")]
            assert told[-1] == "ROUND_COMPLETED"


def test_the_rounds_are_written_piece_by_piece_as_they_were_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.manager.json_files.MATCHES_PER_CHUNK", 3)
    play = whole()
    path, view = rounds_file(play.league, JsonPaths(tmp_path))
    schedule = queries.schedule(play.league)
    match = play.match("R1M1")
    match.end(won(match, match.b), play.now)
    DISK.write(path, as_json(view))
    written = json.loads(path.read_text())
    assert (written["league_id"], written["total_matches"]) == (LEAGUE, 10)
    assert [one["match_id"] for one in written["matches"]] == [one.match_id for one in schedule]
    assert written["matches"][0]["result"]["winner"] == schedule[0].result.winner != match.b
    assert len(list(view())) == 2 + 4


class SlowDisk(Disk):
    """A disk that takes a tenth of a second of virtual time per file."""

    def __init__(self) -> None:
        self.written_at: list[float] = []

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.written_at.append(loop.time())
        loop._now += 0.1  # type: ignore[attr-defined]
        super().write(path, content, private=private)


@in_virtual_time
async def test_what_takes_long_to_write_is_written_less_often(tmp_path: Path) -> None:
    disk = SlowDisk()
    writer = JsonWriter(per_second=2, files=disk, inline=True)
    for version in range(100):
        writer.put(tmp_path / "rounds.json", version)
        await asyncio.sleep(0.1)
    await writer.close()
    pauses = [later - earlier for earlier, later in zip(disk.written_at, disk.written_at[1:-1], strict=False)]
    assert pauses
    assert all(pause >= 0.1 * PAUSES_PER_WRITE for pause in pauses)
    assert json.loads((tmp_path / "rounds.json").read_text()) == 99
