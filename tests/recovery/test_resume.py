"""``league run`` broken off and resumed, and its processes killed under its eyes: the same league comes to its end."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.cli.conftest import CommandResult, command  # noqa: F401  a fixture
from tests.programs import Program, league

# Real processes throughout: together they take too long for `make test`.
pytestmark = pytest.mark.long

Command = Callable[..., CommandResult]
LEAGUE = ("--port", "0", "--players", "6", "--referees", "2", "--seed", "7", "--announce-lead", "0.5")


def resumed(line: str, *more: str) -> dict[str, Any]:
    """What the command that was printed comes to."""
    program, *arguments = shlex.split(line)
    assert program == "league"
    done = league(*arguments, "--json", *more, seconds=90)
    assert (done.process.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


# What cannot be resumed


@pytest.mark.parametrize("option", ["--players", "--seed", "--port", "--store"])
def test_what_is_resumed_is_not_to_be_said_again(command: Command, option: str, tmp_path: Path) -> None:  # noqa: F811
    done = command("run", "--resume", tmp_path / "league.db", option, "9")
    why = f"league run: {option} and --resume exclude each other: the store says what is resumed\n"
    assert done == (2, "", why)


def test_a_store_that_is_not_there_or_not_of_league_run_is_said_in_one_line(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    store = tmp_path / "league.db"
    done = command("run", "--resume", store)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "There is no store" in done.err
    with Program("manager", "--port", "0", "--store", store, "--data-dir", tmp_path) as manager:
        manager.said("admin token")
    done = command("run", "--resume", store)
    assert done.err == (
        f"league run: {store} was not made by `league run`. Serve its league with: league manager --store {store}\n"
    )


# What is resumed


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    done = league("run", *LEAGUE, "--json", "--data-dir", tmp_path_factory.mktemp("undisturbed"), seconds=60)
    return json.loads(done.stdout)["final_standings"]


@pytest.mark.parametrize(
    "by",
    [pytest.param(one, marks=pytest.mark.longest) for one in (signal.SIGINT, signal.SIGTERM)] + [signal.SIGKILL],
    ids=lambda by: by.name,
)
def test_a_run_that_is_broken_off_says_how_to_go_on_and_comes_to_the_same_champion(
    by: signal.Signals, undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Program("run", *LEAGUE, "--data-dir", tmp_path) as program:
        told = program.said(r"if it is broken off: (.*)")[1]
        league_id = program.said(r"League (\S+):")[1]
        program.said("Round 3 of 5")
        program.process.send_signal(by)
        assert program.ended() == (130 if by is not signal.SIGKILL else -9)
    if by is not signal.SIGKILL:
        assert program.stdout.endswith(f"Interrupted; every process is being ended.\nGo on with: {told}\n")
    result = resumed(told)
    assert result["league_id"] == league_id
    assert result["final_standings"] == undisturbed
    assert result["technical_losses"] == 0
    # The result of a league that is over is only printed again.
    assert resumed(told)["final_standings"] == undisturbed


@pytest.mark.longest
def test_a_run_in_postgresql_is_resumed_by_its_address(
    postgres_url: str, undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Program("run", *LEAGUE, "--store", postgres_url, "--data-dir", tmp_path) as program:
        program.said("Round 2 of 5")
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 130
        told = program.said(r"Go on with: (.*)")[1]
    assert shlex.split(told)[-1] == postgres_url
    assert resumed(told)["final_standings"] == undisturbed


@pytest.mark.longest
def test_a_run_that_is_broken_off_before_its_league_starts_is_resumed_as_well(
    undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Program("run", *LEAGUE, "--data-dir", tmp_path) as program:
        told = program.said(r"if it is broken off: (.*)")[1]
        store = tmp_path / Path(shlex.split(told)[-1])
        while not store.exists():
            program.said("manager:")
        program.process.kill()
        program.ended()
    done = league(*shlex.split(told)[1:], "--json", seconds=90)
    if done.process.returncode == 2:
        # It had not even made the league.
        assert "nothing to resume" in done.stderr
    else:
        assert json.loads(done.stdout)["final_standings"] == undisturbed


# Killed under its eyes


def test_a_process_that_is_killed_is_started_again_and_the_league_comes_to_the_same_end(
    undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Program("run", *LEAGUE, "--json", "--data-dir", tmp_path) as program:
        for name in ("manager", "referee", "player"):
            # Those that went on from the program have its command line, and a name of their own.
            victim = next(one for one in _children(program) if one.name() == f"league-{name}" or name in one.cmdline())
            victim.kill()
            program.said(rf"{name}( \d)? ended unexpectedly \(killed by SIGKILL\) and is started again")
        assert program.ended(90) == 0
    assert json.loads(program.stdout)["final_standings"] == undisturbed


@pytest.mark.longest
def test_a_process_that_ends_again_and_again_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import os\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    run = ("run", "--port", "0", "--players", "2", "--strategies", "broken:choose", "--data-dir", tmp_path)
    done = league(*run)
    assert done.process.returncode == 2
    assert done.stderr == "league run: loading broken:choose ends the program with exit code 3\n"
    # In the process that tries to load it, it can be loaded.
    broken.write_text("import os, sys\nif sys.argv[0] != '-c':\n    os._exit(3)\ndef choose(ctx): ...\n")
    done = league(*run)
    assert done.process.returncode == 2
    assert re.search(r"^league run: player \d failed 6 times within a minute: exit code 3$", done.stderr, re.MULTILINE)


def test_a_run_goes_on_without_players_that_left_when_one_is_killed_and_when_it_is_resumed(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    with Program("run", *LEAGUE, "--data-dir", tmp_path) as program:
        told = program.said(r"if it is broken off: (.*)")[1]
        program.said("Round 2 of 5")
        url = program.said(r"manager: (\S+)")[1]
        (token,) = tmp_path.glob("agents/*/manager/admin_token")
        here = ("--manager", url, "--admin-token-file", token)
        assert command("pause", *here).code == 0
        assert command("withdraw", "P02", "--reason", "two\nlines", *here).code == 0
        assert command("disqualify", "P03", *here).code == 0
        agents = json.loads(command("agents", *here, "--json").out)["agents"]
        endpoint = urlsplit(next(one["endpoint"] for one in agents if one["id"] == "P02"))
        next(one for one in _children(program) if endpoint.port in _listened_at(one)).kill()
        program.said("player 2 ended unexpectedly")
        program.said("player 2 has left the league and is not started again\n")
        assert command("resume", *here).code == 0
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 130
    (state,) = tmp_path.glob("agents/*/player-*%203/state.json")
    # Nobody asks for a new token of a player that is out.
    state.unlink()
    done = league(*shlex.split(told)[1:], "--json", seconds=90)
    assert done.process.returncode == 0
    assert done.stderr == "".join(
        f"player {number} is not started: P0{number} has left the league\n" for number in (2, 3)
    )
    assert json.loads(done.stdout)["matches"] == 15


def test_players_that_share_a_process_go_on_when_it_is_killed_but_not_those_that_left(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    with Program("run", *LEAGUE, "--players-per-process", "3", "--data-dir", tmp_path) as program:
        program.said("Round 2 of 5")
        url = program.said(r"manager: (\S+)")[1]
        (token,) = tmp_path.glob("agents/*/manager/admin_token")
        here = ("--manager", url, "--admin-token-file", token)
        assert command("pause", *here).code == 0
        assert command("withdraw", "P02", *here).code == 0
        agents = json.loads(command("agents", *here, "--json").out)["agents"]
        endpoint = urlsplit(next(one["endpoint"] for one in agents if one["id"] == "P02"))
        processes = psutil.Process(program.process.pid).children()
        assert len(processes) == 5
        next(one for one in processes if endpoint.port in _listened_at(one)).kill()
        program.said(r"process of players 1 to 3 ended unexpectedly \(killed by SIGKILL\) and is started again")
        assert command("resume", *here).code == 0
        assert program.ended(90) == 0
    # The other two of that process play on: a number is drawn only where both players have chosen.
    for player in ("P01", "P03"):
        assert re.search(rf"R[45]M\d .*{player}.*, number \d+: ", program.stdout)
    assert not re.search(r"R[45]M\d .*P02.*, number", program.stdout)


def _listened_at(process: psutil.Process) -> set[int]:
    return {one.laddr.port for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN}


def _children(program: Program) -> list[psutil.Process]:
    while len(found := psutil.Process(program.process.pid).children()) < 9:
        program.said("")
    return found


# A host


def test_a_host_that_is_interrupted_says_how_to_go_on_and_comes_back_with_all_its_referees(tmp_path: Path) -> None:
    began = ("host", "--port", "0", "--referees", "2", "--data-dir", tmp_path, "--start-when", "players=2,referees=2")
    with Program(*began) as host:
        url = host.said(r"League \S+ is at (http://\S+)")[1]
        host.said("is registered: Referee 1")
        host.said("is registered: Referee 2")
        # The manager knows them. They come back if they know it, too.
        while len(list(tmp_path.glob("agents/*/referee-*/state.json"))) < 2:
            league("status", "--manager", url)
        host.process.send_signal(signal.SIGINT)
        assert host.ended() == 130
        told = shlex.split(host.said("Start it again, at the same address and port, with: (.*)")[1])
    assert told[:2] == ["league", "host"]
    league_id = told[told.index("--league-id") + 1]
    # How many there were is in the store as well.
    del told[told.index("--referees") : told.index("--referees") + 2]
    with Program(*told[1:]) as host:
        url = host.said(rf"League {league_id} is at (http://\S+)")[1]
        host.said("is back: Referee 1")
        host.said("is back: Referee 2")
        status = json.loads(league("status", "--manager", url, "--json").stdout)
    assert (status["league_id"], status["referees"]) == (league_id, 2)
