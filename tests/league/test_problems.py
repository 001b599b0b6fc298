"""Agents with problems: what the operator sees first, and which registrations were refused."""

from __future__ import annotations

from typing import Any

import pytest

from leaguekit.league import commands
from leaguekit.league.events import decode
from leaguekit.league.problems import MAX_REFUSALS_PER_ADDRESS, find_problems
from leaguekit.league.sentences import EventFormatter
from leaguekit.league.snapshot import restore, save
from leaguekit.protocol import messages as m
from tests.league.play import Play, failed, won
from tests.league.test_audit import audited


def refuse(play: Play, name: str, code: str = "E048", address: str = "10.0.0.7", role: str = "player") -> list[str]:
    reason = "Contact endpoint unreachable: nothing answered at http://10.0.0.7:8101/mcp"
    return play.do(
        commands.note_refusal(play.league, role, name, address=address, code=code, reason=reason, at=play.now)
    )


def evidence(**events: list[str]) -> dict[str, Any]:
    """Evidence of requests that ended like this, by player."""
    entries = {
        player: [{"at": 0.1, "what": what, "ask": number} for number, what in enumerate(whats)]
        for player, whats in events.items()
    }
    return {"evidence": {"players": {player: {"events": found} for player, found in entries.items()}}}


def test_a_league_without_problems_has_none() -> None:
    problems = find_problems(Play(players=4, referees=2).begin().play_all().league)
    assert (problems.agents, problems.refused) == ([], [])


def test_the_worst_agent_comes_first_and_each_problem_is_named() -> None:
    play = Play(players=4, referees=2).begin()
    first, second = play.match("R1M1"), play.match("R1M2")
    play.record(first.id, failed(first, first.b))
    origins = {second.a: m.MoveOrigins(own=3, replaced=1)}
    whats = ["E004", "E045", "E001", "E009", "joined", "moved"]
    play.record(second.id, won(second, second.a, ruling="WIN", move_origins=origins, **evidence(**{second.b: whats})))
    broken = m.BrokenRule(rule="decision 19", came="a", expected="b", count=3)
    play.do(commands.note_broken_rules(play.league, "REF02", [broken], play.now))
    found = find_problems(play.league).agents
    assert [(one.agent_id, one.sentences) for one in found] == [
        (first.b, ["1 technical loss", "4 calls in a row not answered"]),
        (
            second.b,
            ["1 illegal move", "1 answer that did not count", "1 time-out", "1 request without a connection"],
        ),
        (second.a, ["1 move replaced by another legal move"]),
        ("REF02", ["1 rule of the protocol broken"]),
    ]
    assert found[0].unreachable_since is not None
    assert found[0].state == "ACTIVE"
    assert found[3].breaches == 3


def test_an_agent_is_unreachable_since_its_first_unanswered_call_until_it_answers() -> None:
    play = Play(players=2, referees=1).begin()
    play.do(commands.note_failures(play.league, "P01", 1, at := play.now))
    play.do(commands.note_failures(play.league, "P01", 1, play.now))
    assert [(one.agent_id, one.unreachable_since) for one in find_problems(play.league).agents] == [("P01", at)]
    play.do(commands.note_answer(play.league, "P01", play.now))
    assert find_problems(play.league).agents == []


def test_a_lost_referee_is_a_problem_until_it_returns() -> None:
    play = Play(players=2, referees=1)
    play.do(commands.referee_lost(play.league, "REF01", "no answer", at := play.now))
    (lost,) = find_problems(play.league).agents
    assert (lost.agent_id, lost.sentences, lost.unreachable_since) == ("REF01", ["does not answer"], at)
    play.do(commands.referee_returned(play.league, "REF01", play.now))
    assert find_problems(play.league).agents == []


def test_agents_that_have_left_come_last() -> None:
    play = Play(players=4, referees=2).begin()
    bad = play.match("R1M1").b
    play.record("R1M1", failed(play.match("R1M1"), bad))
    play.do(commands.note_failures(play.league, play.match("R1M2").a, 1, play.now))
    play.do(commands.disqualify(play.league, bad, "it hangs", play.now))
    assert [(one.agent_id, one.out) for one in find_problems(play.league).agents] == [
        (play.match("R1M2").a, None),
        (bad, "DISQUALIFICATION"),
    ]


def test_a_player_that_left_before_the_start_is_no_longer_in_the_table() -> None:
    play = Play(players=3, referees=1)
    play.do(commands.note_broken_rules(play.league, "P03", [m.BrokenRule(rule="r", came="", expected="")], play.now))
    play.do(commands.withdraw(play.league, "P03", "", play.now))
    assert [(one.agent_id, one.technical_losses) for one in find_problems(play.league).agents] == [("P03", 0)]


@pytest.mark.parametrize(("role", "name"), [("player", "Agent 1"), ("referee", "Referee")])
def test_a_refusal_is_kept_once_per_reason_until_the_applicant_registers(role: str, name: str) -> None:
    play = Play(players=0, referees=0)
    assert refuse(play, name, role=role) == ["RegistrationRefused"]
    assert refuse(play, name, role=role) == []
    assert refuse(play, name, "E049", role=role) == ["RegistrationRefused"]
    assert refuse(play, name, role=role) == []
    refused = find_problems(play.league).refused
    assert [(one.role, one.display_name, one.code) for one in refused] == [(role, name, "E049"), (role, name, "E048")]
    (play.player if role == "player" else play.referee)(1)
    assert find_problems(play.league).refused == []
    assert not audited(play.log).findings


def test_refusals_are_limited_per_address_and_their_texts_are_harmless() -> None:
    play = Play(players=0, referees=0)
    for number in range(MAX_REFUSALS_PER_ADDRESS):
        refuse(play, f"\x1b[31m{number}{'x' * 200}")
    assert refuse(play, "one more") == []
    assert refuse(play, "another", address="10.0.0.8") == ["RegistrationRefused"]
    refused = find_problems(play.league).refused
    assert refused[0].display_name == "another"
    assert refused[1].display_name.startswith("�[31m99x")
    assert max(len(one.display_name) for one in refused) == 60


def test_the_log_shows_a_refusal_without_addresses_unless_they_are_asked_for() -> None:
    play = Play(players=0, referees=0)
    refuse(play, "Bob")
    event = decode(play.log[-1])
    for as_shown in (EventFormatter().as_text(event), str(EventFormatter().as_json(event))):
        assert "Bob" in as_shown
        assert "E048" in as_shown
        assert "10.0.0.7" not in as_shown
    assert "10.0.0.7:8101" in EventFormatter(endpoints=True).as_text(event)
    assert EventFormatter(endpoints=True).as_json(event)["address"] == "10.0.0.7"


def test_problems_survive_a_snapshot() -> None:
    play = Play(players=2, referees=1)
    refuse(play, "Bob")
    play.begin()
    play.do(commands.note_failures(play.league, "P01", 2, play.now))
    again, _ = restore(save(play.league, 1))
    assert find_problems(again) == find_problems(play.league)
