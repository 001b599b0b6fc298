"""``league players``: many players in one process, in leagues of real processes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from leaguekit.cli import main
from tests.programs import Program, league

MAX_BYTES_A_PLAYER = 2_000_000


@contextmanager
def hosted(folder: Path, *options: str) -> Iterator[str]:
    """A league that is waiting for players; its manager's URL."""
    shared = ["--port", "0", "--announce-lead", "0", "--data-dir", str(folder)]
    with Program("host", *shared, *options) as host:
        url = host.said(r"is at (http://127\.0\.0\.1:\d+/mcp)")[1]
        host.said("is registered: Referee 1")
        yield url


def test_many_players_in_one_process_play_a_league_to_its_end(tmp_path: Path) -> None:
    with hosted(tmp_path / "host", "--start-when", "players=6,referees=1") as manager:
        files = ["--data-dir", tmp_path / "players"]
        with Program(
            "players", "--count", "6", "--port", "0", "--manager", manager, "--strategy", "frequency,random",
            "--name", "Bot", *files,
        ) as players:  # fmt: skip
            assert players.ended() == 0, players.stderr
        assert "6 players are registered" in players.stderr
        table = json.loads(league("standings", "--manager", manager, "--json").stdout)["standings"]
    # A few have their ids in the order of their names.
    names = {row["player_id"]: row["display_name"] for row in table}
    assert names == {f"P0{number}": f"Bot {number}" for number in range(1, 7)}
    assert {row["played"] for row in table} == {5}
    assert {row["technical_losses"] for row in table} == {0}
    histories = [*(tmp_path / "players" / "data" / "players").glob("P0?/history.json")]
    assert [len(json.loads(file.read_text())["matches"]) for file in histories] == [5] * 6


@pytest.mark.long
def test_those_that_the_league_does_not_take_are_told_and_the_others_play(tmp_path: Path) -> None:
    """Two seconds."""
    with hosted(tmp_path / "host", "--start-when", "players=3,referees=1", "--max-players", "3") as manager:
        options = ["--port", "0", "--manager", manager, "--data-dir", tmp_path / "players"]
        with Program("players", "--count", "5", *options) as players:
            assert players.ended() == 1, players.stderr
    # Full, or begun: whichever the next of them hears.
    assert players.stderr.count(" is not taken: ") == 1
    assert "3 players are registered" in players.stderr


def test_ctrl_c_ends_all_players_cleanly_while_there_is_no_manager(tmp_path: Path) -> None:
    options = ["--port", "0", "--manager", "http://127.0.0.1:1/mcp", "--data-dir", tmp_path]
    with Program("players", "--count", "3", *options) as players:
        players.said("3 players listen at free ports")
    assert players.ended() == 130
    assert "Traceback" not in players.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--count", "0"], "--count must be at least 1, got 0"),
        (["--count", "50", "--port", "65500"], "50 ports from 65500 on go beyond 65535; take a lower --port, or 0"),
        (["--strategy", "random,clever"], "There is no strategy 'clever'"),
        (["--name", "x" * 60], "a player's name has 1 to 50 characters"),
        (["--manager", "http://127.0.0.1:1/mcp?seat=7K2M-Q9XD-0RTB-5HVN"], "a seat is one player's"),
    ],
)
def test_what_cannot_be_hosted_is_said_with_a_remedy(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main(["players", *arguments]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.long
def test_two_hundred_players_register_at_once_and_take_less_than_2_mb_each(tmp_path: Path) -> None:
    """Five seconds."""
    with hosted(tmp_path / "host") as manager:
        options = ["--port", "0", "--manager", manager, "--data-dir", tmp_path / "players"]
        with Program("players", "--count", "200", *options) as players:
            players.said("200 players are registered", seconds=60)
            pss = psutil.Process(players.process.pid).memory_full_info().pss
    assert pss / 200 < MAX_BYTES_A_PLAYER


@pytest.mark.long
def test_a_player_prints_each_of_its_results_with_the_time(tmp_path: Path) -> None:
    with hosted(tmp_path / "host", "--start-when", "players=2") as manager:
        page = manager.removesuffix("mcp")
        options = ["--port", "0", "--manager", page, "--data-dir", tmp_path]
        with Program("player", *options, "--name", "Ann") as ann, Program("player", *options, "--name", "Bob") as bob:
            assert (ann.ended(), bob.ended()) == (0, 0)
    for player in (ann, bob):
        assert re.search(r"^\d\d:\d\d:\d\d R1M1: (WIN|LOSS|DRAW)\. \S", player.stderr, re.MULTILINE), player.stderr
