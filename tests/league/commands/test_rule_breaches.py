"""Tolerated rule breaches: they take little space, come with results, and change none of them."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from leaguekit.league import commands
from leaguekit.league.commands.rule_breaches import FORMS, MAX_RULES
from leaguekit.league.events import FormLearned, ResultRecorded, RulesBroken, decode
from leaguekit.protocol.fields import INT32_MAX
from leaguekit.protocol.messages import BrokenRule
from leaguekit.transport.dialects import forms as dialects
from tests.league.play import Play, won
from tests.played import Log, audited


def broken(rule: str, came: str = "league_register", count: int = 1) -> BrokenRule:
    return BrokenRule(rule=rule, came=came, expected="register_player", count=count)


def noted(play: Play, agent_id: str, *rules: BrokenRule) -> list[str]:
    return play.do(commands.note_broken_rules(play.league, agent_id, rules, play.now))


def test_of_a_rule_the_first_time_is_kept_in_full_and_then_how_often() -> None:
    play = Play(players=2, referees=1)
    first_at = play.now
    noted(play, "P01", broken("decision 1"), broken("decision 5"), broken("decision 1", "something else"))
    noted(play, "P01", broken("decision 1", "another", count=3))
    breach = play.league.broken_rules["P01"]["decision 1"]
    assert (breach.first_at, breach.came, breach.expected) == (first_at, "league_register", "register_player")
    assert breach.count == 5
    assert play.league.broken_rules["P01"]["decision 5"].count == 1
    # Words are written down once.
    assert b"another" not in play.log[-1]


def test_counts_of_any_size_can_be_read_again() -> None:
    play = Play(players=2, referees=1)
    for _ in range(2):
        noted(play, "P01", broken("decision 1", count=INT32_MAX), broken("decision 1", count=INT32_MAX))
    assert isinstance(decode(play.log[-1]), RulesBroken)
    assert play.league.broken_rules["P01"]["decision 1"].count == INT32_MAX


def test_nothing_broken_is_no_event() -> None:
    play = Play(players=2, referees=1)
    assert noted(play, "P01") == []


def test_of_one_agent_only_so_many_rules_are_kept() -> None:
    play = Play(players=2, referees=1)
    noted(play, "REF01", *(broken(f"decision {number}") for number in range(MAX_RULES + 10)))
    assert noted(play, "REF01", broken("one more")) == []
    noted(play, "REF01", broken("decision 0"), broken("one more"))
    assert len(play.league.broken_rules["REF01"]) == MAX_RULES
    assert play.league.broken_rules["REF01"]["decision 0"].count == 2


def test_a_form_is_news_only_once() -> None:
    play = Play(players=2, referees=1)
    assert play.league.players["P01"].form is None
    assert play.do(commands.learn_form(play.league, "P01", "TYPE", play.now)) == ["FormLearned"]
    assert play.do(commands.learn_form(play.league, "P01", "TYPE", play.now)) == []
    assert play.do(commands.learn_form(play.league, "P01", "RPC", play.now)) == ["FormLearned"]
    assert play.league.players["P01"].form == "RPC"


def test_what_a_referee_has_learned_of_its_players_is_taken_from_its_report_and_kept_apart_from_the_result() -> None:
    learning, plain = (Play(players=2, referees=1).begin() for _ in range(2))
    match = learning.match("R1M1")
    told = {"broken_rules": {"P02": [broken("decision 19")], "P09": [broken("decision 5")]}, "forms": {"P01": "TOOLS"}}
    events = learning.record("R1M1", won(match, "P01", **told))
    assert events[:3] == ["ResultRecorded", "FormLearned", "RulesBroken"]
    plain.record("R1M1", won(match, "P01"))
    recorded = [[one for one in map(decode, play.log) if isinstance(one, ResultRecorded)] for play in (learning, plain)]
    assert recorded[0] == recorded[1]
    assert recorded[0][0].result.details.broken_rules is UNSET
    assert learning.league.players["P01"].form == "TOOLS"
    assert list(learning.league.broken_rules) == ["P02"]
    assert learning.league.table.rows == plain.league.table.rows


@pytest.mark.parametrize(
    ("known", "reported", "misunderstood", "kept"),
    [
        (None, "TOOLS", (), "TOOLS"),
        (None, "\x1b[31mX<b>", (), None),
        ("RPC", "TOOLS", (), "RPC"),
        ("RPC", "TOOLS", ("P02",), "RPC"),
        ("RPC", "TOOLS", ("P01",), "TOOLS"),
        ("RPC", "NONE", ("P01",), "RPC"),
    ],
)
def test_a_report_replaces_only_a_form_that_the_player_has_refused_and_only_by_a_known_one(
    known: str | None, reported: str, misunderstood: tuple[str, ...], kept: str | None
) -> None:
    play = Play(players=2, referees=1)
    if known is not None:
        play.do(commands.learn_form(play.league, "P01", known, play.now))
    play.begin()
    result = won(play.match("R1M1"), "P01", forms={"P01": reported})
    report = play.report("R1M1", result)
    play.do(commands.record_result(play.league, report, "REF01", play.now, misunderstood=misunderstood))
    assert play.league.players["P01"].form == kept


def test_the_forms_that_a_report_may_name_are_those_in_which_requests_are_written() -> None:
    assert tuple(dialects.FORMS) == FORMS


@pytest.mark.parametrize(
    ("event", "found"),
    [
        (("FormLearned", {"player_id": "P07", "form": "RPC"}), "expected a player of the league, found P07"),
        (("RulesBroken", {"agent_id": "REF07", "rules": []}), "expected an agent of the league, found REF07"),
    ],
)
def test_the_audit_knows_whose_they_must_be(event: tuple[str, dict[str, object]], found: str) -> None:
    play = Play(players=2, referees=1)
    commands_of_p01 = [*commands.learn_form(play.league, "P01", "RPC", play.now)]
    play.do(commands_of_p01)
    noted(play, "REF01", broken("decision 1"))
    assert not audited(play.log).findings
    assert {FormLearned, RulesBroken} <= {type(decode(line)) for line in play.log}
    log = Log(play.log)
    log.insert(len(log.events), event[0], **event[1])
    (finding,) = audited(log.lines()).findings
    assert found in str(finding)
