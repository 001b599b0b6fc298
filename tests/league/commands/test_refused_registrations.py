"""Agents that were refused are remembered until they are registered, and only the latest of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leaguekit.league import commands
from leaguekit.league.agent_folds import MAX_REFUSED
from leaguekit.league.sentences import EventFormatter, describe_event
from tests.league.play import Play, refused


def test_a_refused_agent_is_remembered_with_its_latest_reason_and_the_number_of_its_attempts() -> None:
    play = Play(players=2)
    first = refused(play.now)
    play.do([first])
    play.do([refused(play.now, code="E048", reason="Contact endpoint unreachable", count=3)])
    [one] = play.league.refused.values()
    assert (one.first_at, one.count, one.code, one.reason) == (first.at, 4, "E048", "Contact endpoint unreachable")


def test_only_the_latest_refused_agents_are_remembered() -> None:
    play = Play(players=2)
    for number in range(MAX_REFUSED + 5):
        play.do([refused(play.now, endpoint=f"http://127.0.0.1:{20_000 + number}/mcp")])
    assert len(play.league.refused) == MAX_REFUSED
    assert next(iter(play.league.refused)) == "player http://127.0.0.1:20005/mcp"


def test_agents_without_an_endpoint_differ_by_their_name_and_address() -> None:
    play = Play(players=2)
    for name, address in (("Anna", "10.0.0.1"), ("Bert", "10.0.0.1"), ("Anna", "10.0.0.2"), ("Anna", "10.0.0.1")):
        play.do([refused(play.now, endpoint="", display_name=name, address=address)])
    assert sorted(one.count for one in play.league.refused.values()) == [1, 1, 2]


def test_an_agent_that_is_registered_after_all_is_no_longer_a_refused_one() -> None:
    play = Play(players=0)
    one = play.player_applicant(1)
    play.do([refused(play.now, endpoint=one.meta.contact_endpoint), refused(play.now, display_name="Other")])
    play.enter(one)
    assert [one.display_name for one in play.league.refused.values()] == ["Other"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Late tried to register as a player and is refused: Registration closed - league already started (E019)"),
        (
            {"display_name": "", "role": "referee", "count": 8, "code": "E058", "reason": "no code"},
            "A referee without a name tried to register as a referee 8 times and is refused: no code (E058)",
        ),
    ],
)
def test_a_refusal_is_told_in_a_sentence(changes: dict[str, object], text: str) -> None:
    assert describe_event(refused("2026-11-15T10:00:00Z", **changes)) == text


def test_addresses_of_refused_agents_are_only_for_those_that_may_see_endpoints() -> None:
    event = refused("2026-11-15T10:00:00Z", reason="nothing listens at 10.0.0.7:8101")
    public = json.dumps(EventFormatter().as_json(event))
    assert not [address for address in ("127.0.0.1", "10.0.0.7", "8999") if address in public]
    whole = EventFormatter(endpoints=True).as_json(event)
    assert (whole["endpoint"], whole["address"]) == ("http://127.0.0.1:8999/mcp", "127.0.0.1")
    assert "10.0.0.7" in whole["reason"]


# Names


def numbered(play: Play, number: int, name: str, **more: Any) -> Any:
    return commands.number_name(play.league, play.player_applicant(number, meta={"display_name": name}, **more))


def test_a_default_name_that_players_at_other_endpoints_have_gets_a_number() -> None:
    play = Play(players=0)
    for number, name in ((1, "Player P01"), (2, "Player P01"), (3, "player  P01")):
        play.enter(numbered(play, number, name))
    names = [one.meta.display_name for one in play.league.players.values()]
    assert names == ["Player P01", "Player P01 2", "player P01 3"]
    # Programs at the same endpoint, and players with their tokens, keep the names that they have.
    assert numbered(play, 1, "Player P01").meta.display_name == "Player P01"
    assert numbered(play, 2, "Player P01").meta.display_name == "Player P01 2"
    assert numbered(play, 9, "Player P01", returning_id="P02").meta.display_name == "Player P01 2"


def test_the_holder_of_a_seat_keeps_its_name_at_another_endpoint() -> None:
    play = Play(players=0)
    play.do(commands.issue_seats(play.league, [b"a seat"], play.now))
    seat = b"a seat".hex()
    play.enter(numbered(play, 1, "Player P01", seat=seat))
    assert numbered(play, 2, "Player P01", seat=seat).meta.display_name == "Player P01"


def test_a_numbered_name_is_not_longer_than_a_name_may_be() -> None:
    play = Play(players=0)
    name = "N" * 50
    play.enter(numbered(play, 1, name))
    assert numbered(play, 2, name).meta.display_name == f"{'N' * 48} 2"
