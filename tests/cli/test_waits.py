"""``league run`` prints what it waits for, with the command that helps. Resumed, it plays held matches again."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
from pathlib import Path

import pytest

from leaguekit.cli.run_progress import RunDisplay, RunningLeague, print_waits
from leaguekit.cli.stored_plans import RunPlan
from leaguekit.league import commands
from leaguekit.league.commands.results import MAX_VOIDS
from leaguekit.league.events import Event, decode, encode
from leaguekit.league.fold import apply, fold
from leaguekit.store.opening import open_log
from tests.agents.leagues import Hall, Json, in_virtual_time
from tests.league.play import Play
from tests.played import Played
from tests.programs import Program, league

FOUR = ("--port", "0", "--players", "4", "--referees", "1", "--announce-lead", "1")


async def _hold(store: Path, match_id: str) -> None:
    """Void every attempt at a match that there may be."""
    log = await open_log(store)
    league, events = fold(decode(one.event) for one in await log.read(0, 1_000)), []
    at = "2025-01-15T10:30:00Z"

    def do(new: list[Event]) -> None:
        for event in new:
            apply(league, event)
            events.append(encode(event))

    while not league.matches[match_id].held:
        if not league.matches[match_id].in_play:
            do(commands.assign(league, at))
        do(commands.void_attempt(league, match_id, None, "The referee could not write its ruling down.", at))
    await log.append(events)
    await log.close()


@pytest.mark.long
def test_a_run_that_is_resumed_plays_held_matches_again(tmp_path: Path) -> None:
    with Program("run", *FOUR, "--data-dir", tmp_path) as program:
        program.said("Round 1 of 3")
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 130
        command = shlex.split(program.said("Go on with: (.*)")[1])
    asyncio.run(_hold(Path(command[-1]), "R1M1"))
    done = league(*command[1:], "--json", seconds=60)
    assert done.process.returncode == 0, done.stderr
    assert done.stderr == "R1M1 came to nothing too often, and is played again\n"
    assert json.loads(done.stdout)["matches"] == 6


def test_a_run_that_is_paused_says_so_and_the_command_that_it_prints_lets_it_go_on(tmp_path: Path) -> None:
    with Program("run", *FOUR, "--data-dir", tmp_path) as program:
        manager = program.said("manager: (.*)")[1]
        program.said("Round 1 of 3")
        paused = league("pause", "--manager", manager, "--data-dir", tmp_path)
        assert paused.process.returncode == 0, paused.stderr
        program.said("The league waits for the operator: it is paused\n")
        remedy = shlex.split(program.said("Let it go on with: (.*)")[1])
        resumed = league(*remedy[1:])
        assert resumed.process.returncode == 0, resumed.stderr
        assert program.ended() == 0


def _league(tmp_path: Path) -> RunningLeague:
    plan = RunPlan(
        league_id="league_1", players=2, referees=1, game="even_odd", strategies=["random"], max_concurrent=1,
        announce_lead=0.0, data_dir=str(tmp_path),
    )  # fmt: skip
    manager = "http://127.0.0.1:8000/mcp"
    store, folder = tmp_path / "league.db", tmp_path / "of manager"
    return RunningLeague(plan, store, folder, manager, stays_after_end=False, is_resumed=False)


@in_virtual_time
async def test_a_run_that_waits_for_the_operator_says_so_once_with_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_run, show = _league(tmp_path), RunDisplay(quiet=True, paced=False, resumed=False)

    async def shown(hall: Hall) -> list[str]:
        print_waits(of_run, await hall.operate("status"), show)
        return capsys.readouterr().err.splitlines()

    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        for attempt in range(1, MAX_VOIDS + 1):
            await hall.until(lambda: hall.league.matches["R1M1"].in_play)
            assert await shown(hall) == []
            of_match: Json = {"league_id": hall.league.settings.league_id, "round_id": 1, "match_id": "R1M1"}
            void = referee.message("MATCH_VOID_REPORT", **of_match, attempt=attempt, reason="a full disk")
            await hall.post("report_match_void", void)
            said = await shown(hall)
            if attempt < MAX_VOIDS:
                assert said == [
                    "The league waits for a pause to end: the last attempt at R1M1 was void; `league log` says why"
                ]
        why = "R1M1 came to nothing too often (`league rematch --held`, or `league correct`)"
        token = shlex.quote(str(tmp_path / "of manager" / "admin_token"))
        where = f"--manager http://127.0.0.1:8000/mcp --admin-token-file {token}"
        assert said == [
            f"The league waits for the operator: {why}",
            f"Play what came to nothing again with: league rematch --held {where}",
        ]
        assert await shown(hall) == []


@in_virtual_time
async def test_a_league_that_needs_more_players_says_so_and_a_run_is_starting_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Hall(tmp_path, format="swiss(rounds=4)", max_players=6) as hall:
        for number in (1, 2):
            await hall.scripted("player", number)
        status = await hall.operate("status")
        needs = "a Swiss of 2 players has at most 1 round, not 4: nobody meets twice"
        assert status["waits_for"] == [f"more players: {needs}"]
        print_waits(_league(tmp_path), status, RunDisplay(quiet=True, paced=False, resumed=False))
        assert capsys.readouterr().err == ""
    async with Hall(tmp_path / "small", format="swiss(rounds=4)", max_players=3) as hall:
        for number in (1, 2):
            await hall.scripted("player", number)
        assert (await hall.operate("status"))["waits_for"] == [f"the operator: {needs}"]


@pytest.mark.long
def test_rematch_of_what_is_held_plays_all_of_it_again(tmp_path: Path) -> None:
    store = tmp_path / "league.db"
    play = Play(players=4, referees=1).begin()
    with Program("manager", "--port", "0", "--store", _stored(play, store), "--data-dir", tmp_path) as program:
        url = program.said("is at (http.*)")[1]
        where = ("--manager", url, "--data-dir", tmp_path, "--json")
        assert json.loads(league("status", *where).stdout)["held"] == ["R1M1", "R1M2"]
        done = league("rematch", "--held", *where)
        assert done.process.returncode == 0, done.stderr
        assert json.loads(done.stdout)["held"] == []
        nothing = league("rematch", *where)
        assert (nothing.process.returncode, nothing.stdout) == (2, "")
        assert nothing.stderr.endswith("name matches, such as R2M3, or add --held for all that wait for the operator\n")


def _stored(play: Play, store: Path) -> Path:
    for name in ("R1M1", "R1M2"):
        while not play.league.matches[name].held:
            play.assign()
            play.do(commands.void_attempt(play.league, name, None, "a full disk", play.now))
    return Played(play.log, {}).store(store)
