"""Agents with problems: what the operator sees first, and which registrations were refused."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from leaguekit.league import commands
from leaguekit.league.problems import find_problems
from leaguekit.league.snapshot import restore, save
from leaguekit.protocol import messages as m
from tests.league.play import Play, failed, refused, won


def refuse(play: Play, name: str, endpoint: str = "http://10.0.0.7:8101/mcp") -> None:
    play.do([structs.replace(refused(play.now), display_name=name, endpoint=endpoint)])


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


def test_of_two_that_lost_alike_the_one_that_others_wait_for_comes_first() -> None:
    play = Play(players=4, referees=2).begin()
    first, second = play.match("R1M1"), play.match("R1M2")
    for match, whats in ((first, ["E004"] * 4), (second, ["E001", "E001"])):
        lost = failed(match, match.b)
        details = structs.replace(lost.details, **evidence(**{match.b: whats}))
        play.record(match.id, structs.replace(lost, details=details))
        play.do(commands.note_answer(play.league, match.b, play.now))
    assert [(one.agent_id, one.sentences) for one in find_problems(play.league).agents] == [
        (second.b, ["1 technical loss", "2 time-outs"]),
        (first.b, ["1 technical loss", "4 illegal moves"]),
    ]


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


def test_a_refused_agent_is_shown_until_it_has_registered_under_its_name_at_any_endpoint() -> None:
    play = Play()
    refuse(play, "Agent 1")
    refuse(play, "Agent 2", "http://10.0.0.7:8102/mcp")
    assert [one.display_name for one in find_problems(play.league).refused] == ["Agent 2", "Agent 1"]
    play.player(1)
    assert [one.display_name for one in find_problems(play.league).refused] == ["Agent 2"]
    # It was in the league already, and tries to come back from another host.
    refuse(play, "Agent 1")
    assert [one.display_name for one in find_problems(play.league).refused] == ["Agent 1", "Agent 2"]


def test_problems_survive_a_snapshot() -> None:
    play = Play(players=2, referees=1)
    refuse(play, "Bob")
    play.begin()
    play.do(commands.note_failures(play.league, "P01", 2, play.now))
    again, _ = restore(save(play.league, 1))
    assert find_problems(again) == find_problems(play.league)
