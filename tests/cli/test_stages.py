"""The terminal of a manager says where its league stands: what it waits for, where it goes on, where it was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.cli.stages import print_interruption, print_stage
from leaguekit.cli.stored_plans import StartPlan
from leaguekit.league import commands
from tests.league.play import Play, won

URL = "http://10.0.0.1:8000/mcp"


def stage(play: Play, capsys: pytest.CaptureFixture[str], plan: StartPlan = StartPlan()) -> list[str]:  # noqa: B008
    print_stage(play.league, plan, URL, Path("some where"))
    return capsys.readouterr().err.splitlines()


def test_a_new_league_says_who_is_missing_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(referees=1, require_seat=True)
    start = f"0 players registered so far. Start the league with: league start --manager {URL} --data-dir 'some where'"
    seats = f"Players need seat codes: league seats new 30 --manager {URL} --data-dir 'some where'"
    assert stage(play, capsys) == [seats, start]
    play.do(commands.issue_seats(play.league, [b"a code"], play.now))
    assert stage(play, capsys) == [start]
    plan = StartPlan(players=12, referees=2)
    (when,) = stage(play, capsys, plan)
    assert when == "The league starts with 12 players and 2 referees; 0 players registered so far"
    (at,) = stage(play, capsys, StartPlan(at="2025-01-15T10:30:00Z"))
    assert at.startswith("The league starts at 2025-01-15 ")
    print_interruption(play.league)
    assert "interrupted before its start. Nothing is lost" in capsys.readouterr().err


def test_a_league_that_is_continued_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(players=4, referees=1).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01"))
    where = "round 1 of 3, 1 of 6 matches played"
    assert stage(play, capsys) == [f"The league goes on: {where}"]
    print_interruption(play.league)
    interrupted = f"The league is interrupted in {where}. Nothing is lost: players that go on running wait for it.\n"
    assert capsys.readouterr().err == interrupted
    play.play_all()
    assert stage(play, capsys) == ["The league is over: round 3 of 3, 6 of 6 matches played"]
    print_interruption(play.league)
    assert capsys.readouterr().err == ""
