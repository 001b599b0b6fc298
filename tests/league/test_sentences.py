"""Events as sentences and as JSON: every kind has a sentence, and none discloses a secret."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from leaguekit.league import events as e
from leaguekit.league.sentences import EventFormatter, add_player_names, describe_event, describe_result
from leaguekit.protocol import messages as m
from tests.league.play import Play
from tests.played import by_hand, played

SECRETS = ("verifier", "key", "seat", "conversation_id", "timestamp", "sender", "seed_hex")


def events(lines: list[bytes]) -> list[e.Event]:
    return [e.decode(line) for line in lines]


def test_every_kind_of_event_is_told_in_a_sentence_of_its_own() -> None:
    told: dict[type, str] = {}
    for event in events(by_hand().log):
        told.setdefault(type(event), describe_event(event))
    assert [re.sub(r"number \d+", "number ?", text) for text in told.values()] == [
        "The league league_2025_even_odd is created: even_odd, single round-robin",
        "REF01 is registered: Referee",
        "P01 is registered: Agent 1",
        "Registrations are closed",
        "The league starts: 5 rounds, 10 matches",
        "Round 1 is announced",
        "R1M1: REF01 is given attempt 1",
        "P01 leaves calls unanswered, 5 in a row",
        "P01 is suspended",
        "P01 answers again",
        "R1M1: attempt 1 is void: late",
        "R1M1: waits for the operator, too many attempts were void",
        "R1M1: is to be played again: again",
        "REF01 is lost: silent",
        "REF01 answers again",
        "R1M1: P01 beats P02 (P01 even; P02 odd; number ?), as REF02 reports",
        "Round 1 is over",
        "R1M1: corrected by the operator, P01 and P02 draw (P01 odd; P02 odd; number ?): wrong",
        "The operator pauses the league: lunch",
        "The operator lets the league go on: go on",
        "P02 is withdrawn from the league: ill",
        "P03 is disqualified: cheated",
        "R2M1: lost by P03 (DISQUALIFICATION): cheated",
        "The league is over",
        "Late tried to register as a player and is refused: Registration closed - league already started (E019)",
        "P01 understands requests in the form TYPE",
        "P01 broke rules, which is tolerated: decision 1",
        "The operator gives out S01 to S02",
        "The seat S02 is revoked",
        "Referees come in with a new code",
        "The token of P05 is void",
        "R1M2: for the operator to look at: REF01 reported it a second time, and differently",
    ]
    assert describe_event(events(by_hand().log)[-2]) == "The operator gives out S03 for P05"


def test_an_agent_that_registers_again_is_back() -> None:
    formatter = EventFormatter()
    registrations = {type(one): one for one in events(Play(players=1, referees=1).log)}
    both = [registrations[e.RefereeRegistered], registrations[e.PlayerRegistered]]
    first, again = ([formatter.as_text(one) for one in both] for _ in range(2))
    assert (first, again) == (
        ["REF01 is registered: Referee", "P01 is registered: Agent 1"],
        ["REF01 is back: Referee", "P01 is back: Agent 1"],
    )


def test_an_answer_after_failures_is_told_as_one() -> None:
    answered = e.FailuresCounted(at="2025-01-15T10:30:00Z", player_id="P01", in_a_row=0)
    assert describe_event(answered) == "P01 answers"


def test_players_are_named_where_their_names_are_known() -> None:
    said = add_player_names("P01 and P02 draw (P01 P1; P100)", {"P01": "Ada", "P02": "P01"})
    assert said == "Ada (P01) and P01 (P02) draw (Ada (P01) P1; P100)"


def test_an_event_of_a_later_version_is_told_by_its_name_only() -> None:
    class DrawPostponed(e._Event, frozen=True, kw_only=True):
        secret: str

    event: Any = DrawPostponed(at="2025-01-15T10:30:00Z", secret="s")
    assert describe_event(event) == "DrawPostponed"
    assert EventFormatter().as_json(event) == {"event": "DrawPostponed", "at": "2025-01-15T10:30:00Z"}


@pytest.mark.parametrize(
    ("winner", "score", "details", "said"),
    [
        ("P02", (0, 3), {"status": "WIN", "choices": {}}, "P02 beats P01"),
        ("P01", (3, 0), {"status": "TECHNICAL_LOSS", "choices": {}}, "P01 wins, P02 loses technically"),
        (
            "P01",
            (3, 0),
            {"status": "TECHNICAL_LOSS", "choices": {}, "ruling": "JOIN_TIMEOUT"},
            "P01 wins, P02 loses technically (JOIN_TIMEOUT)",
        ),
        (None, (0, 0), {"status": "TECHNICAL_LOSS", "choices": {}}, "P01 and P02 both lose technically"),
        (None, (1, 1), {"status": "DRAW", "choices": {"P01": "rock", "P02": None}}, "P01 and P02 draw (P01 rock)"),
        # The moves of a longer game are in its replay.
        ("P02", (0, 3), {"status": "WIN", "choices": {"P01": "4", "P02": "1,7"}}, "P02 beats P01"),
    ],
)
def test_outcomes_are_told_with_what_is_known_of_them(
    winner: str | None, score: tuple[Any, Any], details: dict[str, Any], said: str
) -> None:
    points: Any = dict(zip(("P01", "P02"), score, strict=True))
    assert describe_result(m.MatchResult(winner=winner, score=points, details=m.ResultDetails(**details))) == said


@pytest.mark.parametrize("endpoints", [False, True])
def test_nothing_that_opens_anything_is_told_to_programs(endpoints: bool) -> None:
    for lines in (played().log, by_hand().log):
        formatter = EventFormatter(endpoints=endpoints)
        told = [formatter.as_json(event) for event in events(lines)]
        text = json.dumps([one for one in told if one["event"] != "LeagueCompleted"])
        for line in lines:
            event = json.loads(line)
            secrets = [event[name] for name in SECRETS if name in event and name != "timestamp"]
            secrets += [verifier for _, verifier in event.get("seats", ())]
            assert not any(json.dumps(secret) in text for secret in secrets)
        assert not any(f'"{name}"' in text for name in SECRETS)
        assert ("contact_endpoint" in text) == endpoints


@pytest.mark.parametrize("endpoints", [False, True])
def test_the_address_of_a_registration_is_told_with_endpoints_and_its_sender_never(endpoints: bool) -> None:
    play = Play()
    play.player(1, sender="player:alpha", address="10.0.0.7")
    assert b"player:alpha" in play.log[-1]
    told = json.dumps([EventFormatter(endpoints=endpoints).as_json(event) for event in events(play.log)])
    assert ("10.0.0.7" in told) == endpoints
    assert "player:alpha" not in told


def test_the_seed_is_told_with_the_leagues_end_and_not_before() -> None:
    *before, last = events(played().log)
    formatter = EventFormatter()
    assert "5e5e" not in json.dumps([formatter.as_json(event) for event in before])
    assert formatter.as_json(last)["seed_hex"] == "5e" * 32
    formatter = EventFormatter()
    assert "5e5e" not in "".join(formatter.as_text(event) for event in before)
    assert formatter.as_text(last) == f"The league is over; its seed was {'5e' * 32}"


def test_changed_settings_are_told_with_their_values_and_the_reason() -> None:
    event = e.SettingsChanged(at="", settings={"title": "Winter Cup", "announce_lead": 5.0}, reason="late")
    assert describe_event(event) == "The operator sets title = Winter Cup, announce_lead = 5.0: late"
