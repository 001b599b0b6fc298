"""Leagues with faults: each ends correctly, the same seed gives the same log, and planted bugs are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from leaguekit import games
from leaguekit.games import parse_game
from leaguekit.league import events as e
from leaguekit.league.outage import OutageDetector
from leaguekit.manager.rounds.outages import Outages
from leaguekit.player.strategies import strategies_for
from leaguekit.referee.match_messages import MatchMessages
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.campaign import (
    FAILURES,
    GAMES,
    LONG_GAME,
    SUCCESS,
    Scenario,
    random_scenario,
    run_campaign,
    run_scenario,
    soak,
)
from leaguekit.sim.checks import find_violations
from leaguekit.sim.faults import MEANINGS, FaultKind, make_fault_plan
from leaguekit.sim.log import SimLog
from leaguekit.sim.outcome import LeagueSetup
from leaguekit.store.journal import Journal

SETUP = LeagueSetup(players=4, referees=2)


def campaign(seeds: range, faults: FaultKind = "all", *, as_json: bool = False) -> int:
    return run_campaign((Scenario(seed, LeagueSetup(), faults) for seed in seeds), len(seeds), as_json=as_json)


@pytest.mark.parametrize("kinds", ["none", "network", "crash", "outage", "all"])
def test_leagues_end_as_they_must_whatever_goes_wrong(kinds: FaultKind) -> None:
    results = [run_scenario(Scenario(seed, SETUP, kinds)) for seed in range(1, 7)]
    assert [(one.scenario.command(), one.violations) for one in results if one.violations] == []
    assert any(one.outcome.crashes for one in results) == (kinds in ("crash", "all"))
    assert any("lost" in one.outcome.injected for one in results) == (kinds in ("network", "all"))
    if kinds != "all":
        hosts = {"outage", "shortage"}
        assert any(hosts & one.outcome.injected.keys() for one in results) == (kinds == "outage")


def test_a_third_of_the_leagues_with_all_faults_have_outages_of_networks_and_of_hosts() -> None:
    plans = [make_fault_plan(seed, "all", SETUP.agent_names()) for seed in range(1, 301)]
    hit = [plan for plan in plans if plan.outages]
    assert 80 <= len(hit) <= 120
    assert {None, "manager", "referee 1", "player 4"} <= {outage.agent for plan in hit for outage in plan.outages}
    assert {outage.fault for plan in hit for outage in plan.outages} == {"lost", "refused", "unable", "no route"}
    assert all(outage.ends <= plan.faults_end_at for plan in hit for outage in plan.outages)
    assert {random_scenario(seed).faults for seed in range(1, 60)} == {"network", "crash", "outage", "all", "standby"}


def test_the_strategies_of_a_varied_league_can_play_its_game() -> None:
    setups = [random_scenario(seed).setup for seed in range(1, 200)]
    assert {setup.game for setup in setups} == {*GAMES}
    assert {parse_game(name)[0] for name in GAMES} == {*games.GAMES}
    assert all(set(setup.strategies) <= set(strategies_for(setup.game)) for setup in setups)


def test_a_seed_keeps_its_league() -> None:
    """A change of what seeds mean belongs into the changelog."""
    assert random_scenario(10) == Scenario(
        10,
        LeagueSetup(
            players=4,
            referees=1,
            game="rock_paper_scissors",
            strategies=("random", "history_based", "frequency", "history_based"),
            format="knockout",
        ),
        "all",
    )


def test_varied_leagues_end_as_they_must() -> None:
    results = [run_scenario(random_scenario(seed)) for seed in range(6, 13)]
    assert [(one.scenario.command(), one.violations) for one in results if one.violations] == []
    assert len({one.scenario.setup.players for one in results}) > 3
    assert {one.scenario.setup.game for one in results} == {*GAMES}
    # Records that are posted before the report.
    posted = [sum(b'"record_sha256":"' in text for text in one.outcome.events) for one in results]
    assert [one.scenario.setup.game == LONG_GAME for one in results] == [count > 0 for count in posted]


_OPEN_LOOPS = """
import asyncio, gc
from leaguekit.sim.campaign import Scenario, run_scenario
from leaguekit.sim.outcome import LeagueSetup
setup = LeagueSetup(players=4, referees=2)
crashes = sum(run_scenario(Scenario(seed, setup, "crash")).outcome.crashes for seed in range(1, 7))
loops = [one for one in gc.get_objects() if isinstance(one, asyncio.AbstractEventLoop) and not one.is_closed()]
print(crashes > 0, len(loops))
"""


def test_leagues_with_crashes_leave_no_event_loop_open() -> None:
    done = subprocess.run([sys.executable, "-c", _OPEN_LOOPS], capture_output=True, text=True, check=True)
    assert done.stdout == "True 0\n"


@pytest.mark.parametrize(
    ("seed", "setup"),
    [
        (701745, LeagueSetup(players=6, referees=2, game="rock_paper_scissors")),
        (710382, LeagueSetup(players=6, referees=1, strategies=("always_even", "always_odd", "always_odd"))),
        (
            2510773,
            LeagueSetup(
                players=6,
                referees=3,
                game="rock_paper_scissors",
                strategies=("history_based", "frequency", "history_based"),
            ),
        ),
        (4011013, LeagueSetup(players=4, referees=2, game="tic_tac_toe")),
    ],
)
def test_an_outage_at_an_odd_moment_costs_nobody_a_match(seed: int, setup: LeagueSetup) -> None:
    # In these leagues it once did.
    assert run_scenario(Scenario(seed, setup, "outage")).violations == []


_DIGESTS = """
import sys
from leaguekit.sim.campaign import random_scenario, run_scenario
for seed in sys.argv[1:]:
    print(seed, run_scenario(random_scenario(int(seed))).digest)
"""


def _digests(hash_seed: str, seeds: Sequence[int]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _DIGESTS, *map(str, seeds)],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines())


def test_the_same_seed_gives_the_same_bytes_in_the_log_in_any_process_and_any_order() -> None:
    seeds = range(7, 10)
    first = _digests("1", seeds)
    assert len({line.split()[1] for line in first}) == len(seeds)
    assert _digests("2", seeds[::-1]) == first


def found(kinds: FaultKind, seeds: int, what: str) -> bool:
    """Whether one of the first seeds shows this to be wrong."""
    results = (run_scenario(Scenario(seed, SETUP, kinds)) for seed in range(1, seeds + 1))
    return any(what in text for one in results for text in one.violations)


def test_a_log_that_loses_a_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    written = SimLog._write

    def forgetful(self: SimLog) -> None:
        results = any(isinstance(e.decode(text), e.ResultRecorded) for _, events in self._writing for text in events)
        if results and self.content.documents.setdefault("planted", b"") == b"":
            self.content.documents["planted"] = b"once"
            self._writing = []
        written(self)

    monkeypatch.setattr(SimLog, "_write", forgetful)
    assert found("none", 1, "expected")


def test_a_record_that_is_missing_and_payoffs_that_are_told_otherwise_are_found() -> None:
    setup = LeagueSetup(players=2, referees=1, game=LONG_GAME)
    outcome = run_scenario(Scenario(1, setup, "none")).outcome
    assert find_violations(outcome, setup) == []
    (name,) = [name for name in outcome.documents if name.startswith("record/")]
    outcome.game_overs[0].message.game_result.payoffs = {"P01": 5, "P02": 0}
    del outcome.documents[name]
    record, payoffs = find_violations(outcome, setup)
    assert "(R1M1): expected the record " in record
    assert "received the payoffs {'P01': 5, 'P02': 0}" in payoffs


def test_a_referee_that_tells_without_writing_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "write", lambda self, entry: None)
    assert found("crash", 60, "received the nonce")


@pytest.mark.parametrize("method", ["find_reachable", "find_unreachable"])
def test_a_manager_that_takes_a_referees_route_for_the_players_fault_is_found(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def wrong(_outages: Outages, players: Sequence[str]) -> Sequence[str]:
        return players if method == "find_unreachable" else []

    monkeypatch.setattr(Outages, method, wrong)
    assert found("outage", 40, "only hosts were at fault")


def test_a_manager_that_takes_an_outage_for_the_players_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OutageDetector, "update", lambda *_: False)
    assert found("outage", 40, "only hosts were at fault")


def test_a_fault_of_ours_while_answering_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RefereeAgent, *_: Any) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(RefereeAgent, "_announce_round", broken)
    assert found("none", 1, "planted")


def test_a_token_that_is_shown_to_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    invite = MatchMessages.invitation

    def indiscreet(self: MatchMessages, side: Any) -> Any:
        invitation = invite(self, side)
        invitation.conversation_id += "-tok-ref01-" + "x" * 43
        return invitation

    monkeypatch.setattr(MatchMessages, "invitation", indiscreet)
    assert found("none", 1, "the token of")


def test_a_campaign_says_what_it_came_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign(range(1, 4)) == 0
    out = capsys.readouterr().out
    assert "3 seeds in" in out
    assert "18 matches" in out
    assert "crashes" in out
    assert out.startswith("Leagues of even_odd with 4 players (random) and 2 referees\n")
    assert out.endswith(f"{SUCCESS}\n")


def test_a_campaign_explains_every_fault_that_it_injected(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign(range(1, 9)) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.endswith("other faults:"))
    explained = {kind for line in lines[first + 1 : -1] for kind, meaning in MEANINGS.items() if meaning in line}
    assert len(lines) - first - 2 == len(explained) > 5
    assert explained >= {"lost", "mute", "slow"}


def test_a_campaign_prints_the_one_command_that_replays_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.sim.campaign.find_violations", lambda outcome, setup, faults: ["planted"])
    assert campaign(range(7, 9), "crash") == 1
    out = capsys.readouterr().out
    command = "league simulate --faults crash --players 4 --referees 2 --game even_odd --strategies random"
    assert "seed 7 failed:\n  planted\n" in out
    assert f"  to replay it: {command} --seed 7 --seeds 1\n" in out
    assert f"  to replay it: {command} --seed 8 --seeds 1\n" in out
    assert "2 failed: 7, 8" in out
    assert out.endswith(f"{FAILURES}\n")


def test_a_campaign_can_be_read_by_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign(range(1, 3), as_json=True) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["seeds"], values["matches"], values["failed"]) == (2, 12, [])


def test_a_soak_lasts_as_long_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak(0.005) == 0
    assert "seeds in" in capsys.readouterr().out
    assert soak(0, 10, min_seeds=2) == 0
    assert "2 seeds in" in capsys.readouterr().out
