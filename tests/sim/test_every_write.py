"""The manager crashes at every write of the log, and the league comes to the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.state import fold
from leaguekit.sim.checks import violations
from leaguekit.sim.faults import Plan
from leaguekit.sim.outcome import Cast, Outcome
from leaguekit.sim.runner import play
from leaguekit.sim.simulated_league import House

CAST = Cast(players=6, referees=2)


def league(prepare: Callable[[House], None]) -> Outcome:
    """A league in which messages take their time, and nothing else goes wrong by itself."""
    return play(Plan(1, "network", CAST.agents()), CAST, prepare)


def came_to(outcome: Outcome) -> Any:
    """The final standings, and how often each match was begun."""
    ended = fold(map(e.decode, outcome.events))
    return queries.final_standings(ended), {match.id: match.attempt for match in ended.matches.values()}


def undisturbed() -> tuple[Outcome, int]:
    commits = [0]

    def count(_moment: str, number: int) -> bool:
        commits[0] = number
        return False

    outcome = league(lambda house: setattr(house, "at_commit", count))
    return outcome, commits[0]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.longest), 8])
def test_a_crash_of_the_manager_at_any_write_changes_nothing(step: int, moment: Literal["before", "after"]) -> None:
    expected, commits = undisturbed()
    assert commits > 25
    for number in range(1, commits + 1, step):
        crash = lambda when, which, number=number: (when, which) == (moment, number)  # noqa: E731
        outcome = league(lambda house, crash=crash: setattr(house, "at_commit", crash))
        assert outcome.crashes == 1
        assert violations(outcome, CAST) == []
        assert came_to(outcome) == came_to(expected)
