"""The manager of a Swiss and of a knockout is really killed: the same rounds are drawn, and the table is the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from leaguekit.cli import main
from leaguekit.league import events as e
from tests.recovery.league_programs import LeaguePrograms, table

pytestmark = pytest.mark.long

SIZE: dict[str, Any] = {"players": 5, "referees": 2, "lead": 0.5}


def _pairings(events: list[e.Event]) -> list[Any]:
    return [(event.pairs, event.byes, event.label) for event in events if isinstance(event, e.RoundDrawn)]


def _played(root: Path, text: str, is_time: Callable[[dict[str, Any]], bool], kills: int) -> list[e.Event]:
    """The log of a league whose manager was killed ``kills`` times, each time after ``is_time`` of its status."""
    random, done = Random(3), 0
    with LeaguePrograms(root, root / "league.db", format_text=text, **SIZE) as programs:
        while done < kills:
            while not is_time(status := programs.up()):
                time.sleep(0.02)
            # Before, between and after the draw of a round, its announcement and its matches.
            time.sleep(random.uniform(0.0, 0.3))
            programs.start(programs.kill(["manager"]))
            assert status["state"] == "RUNNING_LEAGUE", f"the league was over after {done} kills"
            done += 1
        programs.until_over()
        events = programs.log()
    assert main(["verify", str(root / "league.db")]) == 0
    return events


def _compare(tmp_path: Path, text: str, is_time: Callable[[dict[str, Any]], bool], kills: int) -> list[Any]:
    roots = [tmp_path / "undisturbed", tmp_path / "killed"]
    for root in roots:
        root.mkdir()
    undisturbed = _played(roots[0], text, is_time, 0)
    killed = _played(roots[1], text, is_time, kills)
    assert _pairings(killed) == _pairings(undisturbed)
    assert table(killed) == table(undisturbed)
    return _pairings(killed)


def test_a_swiss_whose_manager_is_killed_in_each_round_but_the_last_has_the_same_pairings(tmp_path: Path) -> None:
    rounds = [1, 2, 3]

    def is_in_next_round(status: dict[str, Any]) -> bool:
        is_reached = status["current_round"] >= rounds[0]
        if is_reached:
            rounds.pop(0)
        return is_reached

    assert len(_compare(tmp_path, "swiss(rounds=4)", is_in_next_round, 3)) == 4


def test_a_knockout_whose_manager_is_killed_in_the_final_has_the_same_champion(tmp_path: Path) -> None:
    def is_final(status: dict[str, Any]) -> bool:
        return "Final" in status["round"]

    drawn = _compare(tmp_path, "knockout(best_of=3, third_place=true)", is_final, 2)
    assert sum("Final" in label for _, _, label in drawn) >= 2
