"""The manager crashes at every write of the log, and the result of the league is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.fold import fold
from leaguekit.sim.checks import find_violations
from leaguekit.sim.faults import FaultPlan
from leaguekit.sim.outcome import LeagueSetup, Outcome
from leaguekit.sim.runner import play
from leaguekit.sim.simulated_league import SimulatedLeague

SETUP = LeagueSetup(players=6, referees=2)


def play_league(prepare: Callable[[SimulatedLeague], None]) -> Outcome:
    """Play a league with delayed messages and no other faults."""
    return play(FaultPlan(1, "network", SETUP.agent_names()), SETUP, prepare)


def summarize(outcome: Outcome) -> Any:
    """The final standings, and how often each match was begun."""
    ended = fold(map(e.decode, outcome.events))
    return queries.final_standings(ended), {match.id: match.attempt for match in ended.matches.values()}


def play_undisturbed() -> tuple[Outcome, int]:
    commits = [0]

    def count(_moment: str, number: int) -> bool:
        commits[0] = number
        return False

    outcome = play_league(lambda league: setattr(league, "at_commit", count))
    return outcome, commits[0]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.longest), 8])
def test_a_crash_of_the_manager_at_any_write_changes_nothing(step: int, moment: Literal["before", "after"]) -> None:
    expected, commits = play_undisturbed()
    assert commits > 25
    for number in range(1, commits + 1, step):
        crash = lambda when, which, number=number: (when, which) == (moment, number)  # noqa: E731
        outcome = play_league(lambda league, crash=crash: setattr(league, "at_commit", crash))
        assert outcome.crashes == 1
        assert find_violations(outcome, SETUP) == []
        assert summarize(outcome) == summarize(expected)
