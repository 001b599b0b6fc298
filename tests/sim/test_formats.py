"""Leagues in every format with faults: each ends correctly, and a crash at any write changes no pairing."""

from __future__ import annotations

from typing import Any

import pytest

from leaguekit.league import events as e
from leaguekit.league.fold import fold
from leaguekit.sim.campaign import FORMATS, Scenario, random_scenario, run_scenario
from leaguekit.sim.checks import find_violations
from leaguekit.sim.faults import FaultKind, FaultPlan, make_fault_plan
from leaguekit.sim.outcome import LeagueSetup, Outcome
from leaguekit.sim.runner import play
from leaguekit.sim.simulated_league import SimulatedLeague


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("kinds", ["none", "all"])
def test_a_league_in_each_format_ends_as_it_must_whatever_goes_wrong(text: str, kinds: FaultKind) -> None:
    results = [run_scenario(Scenario(seed, LeagueSetup(players=5, format=text), kinds)) for seed in (1, 2)]
    assert [(one.scenario.command(), one.violations) for one in results if one.violations] == []
    assert all("--format" in one.scenario.command() for one in results)
    for one in results:
        league = fold(map(e.decode, one.outcome.events))
        assert league.state == "LEAGUE_COMPLETED"
        assert league.settings.format_text == text


def test_in_half_of_the_swiss_leagues_with_all_faults_a_player_comes_in_late_and_is_paired() -> None:
    setup = LeagueSetup(players=6, format="swiss")
    assert (setup.late_rounds, LeagueSetup(format="knockout").late_rounds, LeagueSetup().late_rounds) == (2, 0, 0)
    plans = [make_fault_plan(seed, "all", setup.agent_names(), setup.late_rounds) for seed in range(200)]
    late = [plan for plan in plans if plan.late_after_rounds]
    assert 75 <= len(late) <= 125
    assert {plan.late_after_rounds for plan in late} == {1, 2}
    assert {plan.agents[-1] for plan in late} == {"player 7"}
    assert {"player 7" in plan.crashes for plan in late} == {True, False}
    # The other faults of a seed are the same.
    other = make_fault_plan(late[0].seed, "all", setup.agent_names())
    assert (other.rates, other.outages, other.clock_steps) == (late[0].rates, late[0].outages, late[0].clock_steps)
    results = [run_scenario(Scenario(plan.seed, setup, "all")) for plan in late[:4]]
    assert [(one.scenario.command(), one.violations) for one in results if one.violations] == []
    assert all(one.outcome.injected["late player"] for one in results)
    for one in results:
        league = fold(map(e.decode, one.outcome.events))
        (player,) = {*league.players} - {f"P0{number}" for number in range(1, 7)}
        paired = [
            round_.id for round_ in league.rounds for match in round_.matches if player in league.matches[match].players
        ]
        byes = [round_.id for round_ in league.rounds if player in round_.byes]
        assert paired + byes
        assert 1 not in paired + byes


def test_some_random_leagues_have_another_format() -> None:
    formats = {random_scenario(seed).setup.format for seed in range(60)}
    assert formats == {None, *FORMATS}


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.longest), 9])
@pytest.mark.parametrize("text", ["swiss", "knockout"])
def test_a_crash_of_the_manager_at_any_write_changes_no_pairing(text: str, step: int) -> None:
    setup = LeagueSetup(players=5, referees=2, format=text)
    commits = [0]

    def play_league(at_commit: Any) -> Outcome:
        def prepare(league: SimulatedLeague) -> None:
            league.at_commit = at_commit

        return play(FaultPlan(1, "network", setup.agent_names()), setup, prepare)

    def count(_moment: str, number: int) -> bool:
        commits[0] = number
        return False

    expected = _drawn(play_league(count))
    assert len(expected) >= 3
    for number in range(1, commits[0] + 1, step):
        for moment in ("before", "after"):
            outcome = play_league(lambda when, which, at=(moment, number): (when, which) == at)
            assert outcome.crashes == 1
            assert find_violations(outcome, setup) == []
            assert _drawn(outcome) == expected


def _drawn(outcome: Outcome) -> list[Any]:
    """The pairings and the byes of each round."""
    events = map(e.decode, outcome.events)
    return [(event.pairs, event.byes, event.label) for event in events if isinstance(event, e.RoundDrawn)]
