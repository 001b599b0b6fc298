"""The terminal of a manager says how far its league is: what it waits for, where it goes on, where it was left."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from leaguekit.cli.commands import host
from leaguekit.cli.stages import CLASS_LIMITS, SilencePrinter, print_interruption, print_stage
from leaguekit.cli.stored_plans import StartPlan
from leaguekit.league import commands
from leaguekit.protocol.messages import MatchProgress
from tests.agents.leagues import Hall, in_virtual_time
from tests.league.play import Play, won

AT = "2025-01-15T10:30:00Z"
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


@in_virtual_time
async def test_a_silent_player_is_named_once_per_attempt_and_shorter_limits_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Hall(tmp_path) as hall:
        _, first, _ = [await hall.scripted("referee", 1), *[await hall.scripted("player", number) for number in (1, 2)]]
        name = hall.league.players[first.id].meta.display_name
        SilencePrinter(hall.manager.runner, hall.league, URL, tmp_path)
        of_match = {"league_id": "l", "round_id": 1, "stage": "COLLECTING_CHOICES", "entered_at": AT, "max_tries": 4}
        head = {"protocol": "league.v2", "conversation_id": "c", "timestamp": AT, "sender": "referee:REF01"}

        def report(match: str, attempt: int, tried: int, missing: list[str]) -> None:
            fields: dict[str, Any] = head | of_match
            hall.manager.runner.progress.note(
                MatchProgress(**fields, match_id=match, attempt=attempt, try_number=tried, missing=missing)
            )

        report("R1M2", 1, 1, [first.id])
        await asyncio.sleep(9)
        report("R1M2", 1, 1, [])
        report("R1M1", 1, 1, [first.id])
        await asyncio.sleep(9)
        assert hall.manager.runner.waits_for == []
        await asyncio.sleep(2)
        assert hall.manager.runner.waits_for == [f"{name} (P01) in R1M1: try 1 of 4"]
        assert (await hall.operate("problems"))["waits_for"] == hall.manager.runner.waits_for
        for tried in (2, 3):
            report("R1M1", 1, tried, [first.id])
        report("R1M1", 2, 2, [first.id])
        report("R1M2", 1, 2, [])
        who = f"The league waits for {name} (P01) in R1M1: try"
        said = capsys.readouterr().err.splitlines()
        assert [said[0][10:], said[2][10:]] == [f"{who} 1 of 4", f"{who} 2 of 4"]
        assert said[1].startswith("Shorter time limits, such as for a class: league set announce_lead=5 ")
        assert len(said) == 3
        assert hall.manager.runner.waits_for == [f"{name} (P01) in R1M1: try 2 of 4"]


def test_the_limits_for_a_class_are_those_of_the_documentation() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    recipe = documented.partition("for a class")[2].split("```")[1].removeprefix("toml\n")
    assert recipe.replace(" ", "").split() == CLASS_LIMITS.split()
    assert CLASS_LIMITS in host.EXAMPLES


def test_a_league_that_is_continued_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(players=4, referees=1).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01"))
    where = "round 1 of 3, 1 of 6 matches played"
    assert stage(play, capsys) == [f"The league goes on: {where}"]
    print_interruption(play.league)
    interrupted = f"The league is interrupted in {where}. Nothing is lost: players that go on running wait for it.\n"
    assert capsys.readouterr().err == interrupted
    play.play_all()
    (over,) = stage(play, capsys)
    assert re.match(r"The league is over: round 3 of 3, 6 of 6 matches played\. .*Agent \d \(P0\d\)", over)
    print_interruption(play.league)
    assert capsys.readouterr().err == ""
