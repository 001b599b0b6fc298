"""Access to a league: seats, the referees' code, and tokens that are taken away."""

from __future__ import annotations

from typing import Any

import pytest

from leaguekit.league import commands
from leaguekit.league.commands import Rejected
from leaguekit.league.commands.access import seat_of
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from tests.league.play import Play

ELSEWHERE = {"contact_endpoint": "http://10.0.0.7:9101/mcp"}


def code(number: int) -> bytes:
    return b"code %d" % number


def seat(number: int) -> str:
    return code(number).hex()


def _play(seats: int = 2, **more: Any) -> Play:
    play = Play(referees=1, **more)
    play.do(commands.issue_seats(play.league, [code(number) for number in range(1, seats + 1)], play.now))
    return play


def _refused(play: Play, role: str, number: int, **more: Any) -> str:
    before = play.league.digest()
    with pytest.raises(Rejected) as caught:
        getattr(play, role)(number, **more)
    assert (caught.value.code, caught.value.number) == ("E058", None)
    assert play.league.digest() == before
    return caught.value.reason


def test_seats_have_ids_of_their_own_and_the_log_no_code() -> None:
    play = _play()
    play.do(commands.issue_seats(play.league, [code(3)], play.now))
    assert [one.id for one in play.league.seats.values()] == ["S01", "S02", "S03"]


def test_a_seat_gives_the_same_id_with_a_new_token_from_anywhere_and_at_any_time() -> None:
    play = _play()
    first = play.enter(play.player_applicant(1, seat=seat(1)))
    assert play.player(2, seat=seat(2)) == "P02"
    play.begin()
    second = play.enter(play.player_applicant(1, seat=seat(1), meta=ELSEWHERE))
    assert (first[0], second[0]) == ("P01", "P01")
    assert play.league.agent_with(tokens.verifier(first[1])) is None
    assert play.league.agent_with(tokens.verifier(second[1])) is play.league.players["P01"]
    assert play.league.players["P01"].meta.contact_endpoint == ELSEWHERE["contact_endpoint"]


def test_a_free_seat_can_be_taken_with_a_token() -> None:
    play = _play()
    play.player(1)
    assert play.player(1, returning_id="P01", seat=seat(1)) == "P01"
    assert play.league.seats[seat(1)].holder == "P01"
    assert play.player(1, seat=seat(1), meta=ELSEWHERE) == "P01"


def test_a_taken_seat_says_more_than_a_token() -> None:
    play = _play()
    play.player(1, seat=seat(1))
    play.player(2, seat=seat(2))
    assert play.player(1, seat=seat(1), returning_id="P02") == "P01"


def test_after_the_start_a_free_seat_is_late() -> None:
    play = _play(players=2)
    play.begin()
    with pytest.raises(Rejected, match="E019"):
        play.player(3, seat=seat(1))


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_code_that_opens_nothing_is_refused(role: str) -> None:
    assert "opens nothing" in _refused(_play(), role, 2, seat=seat(9))


def test_a_revoked_seat_opens_nothing_any_more_but_its_holders_token_holds() -> None:
    play = _play()
    play.player(1, seat=seat(1))
    assert play.do(commands.revoke_seat(play.league, "s01", play.now)) == ["SeatRevoked"]
    assert "opens nothing" in _refused(play, "player", 1, seat=seat(1))
    assert "opens nothing" in _refused(play, "player", 1, seat=seat(1), returning_id="P01")
    assert play.player(1, returning_id="P01") == "P01"
    assert commands.revoke_seat(play.league, "S01", play.now) == []
    assert play.do(commands.revoke_seat(play.league, seat(2), play.now)) == ["SeatRevoked"]
    assert "opens nothing" in _refused(play, "player", 2, seat=seat(2))


@pytest.mark.parametrize("unknown", ["S03", "", seat(3)])
def test_only_a_seat_that_there_is_can_be_revoked(unknown: str) -> None:
    play = _play()
    with pytest.raises(ProtocolError, match="E044") as caught:
        commands.revoke_seat(play.league, unknown, play.now)
    assert "S07" in caught.value.detail


def test_a_seat_of_a_player_that_has_left_lets_nobody_in() -> None:
    play = _play()
    play.player(1, seat=seat(1))
    play.do(commands.withdraw(play.league, "P01", "ill", play.now))
    assert _refused(play, "player", 1, seat=seat(1)) == "This player has left the league: ill"


def test_a_players_seat_makes_nobody_a_referee() -> None:
    play = _play()
    play.player(1, seat=seat(1))
    for number in (1, 2):
        assert _refused(play, "referee", 2, seat=seat(number)) == "That seat does not belong to a referee"


def test_where_seats_are_required_nobody_plays_without() -> None:
    play = _play(require_seat=True)
    assert "/mcp?seat=CODE" in _refused(play, "player", 1)
    applicant = play.player_applicant(1, seat=seat(1))
    assert play.enter(applicant)[0] == "P01"
    # To the letter, but without the seat: that is somebody else.
    assert "/mcp?seat=CODE" in _refused(
        play, "player", 1, conversation_id=applicant.conversation_id, timestamp=applicant.timestamp
    )
    assert play.player(1, returning_id="P01") == "P01"


def test_who_has_a_seat_is_not_known_by_a_repeat_without_it() -> None:
    play = _play()
    same = {"conversation_id": "conv-1", "timestamp": "2025-01-15T10:00:00Z"}
    play.player(1, seat=seat(1), **same)
    with pytest.raises(ProtocolError, match="E047"):
        play.player(1, **same)
    assert play.player(1, seat=seat(1), **same) == "P01"


def test_a_referee_needs_the_code_unless_it_comes_back_with_its_token() -> None:
    play = Play(referees=1)
    applicant = play.referee_applicant(1)
    assert "/mcp?referee=CODE" in _refused(play, "referee", 2, may_be_referee=False)
    repeat = {"conversation_id": applicant.conversation_id, "timestamp": applicant.timestamp}
    assert "/mcp?referee=CODE" in _refused(play, "referee", 1, may_be_referee=False, **repeat)
    assert play.referee(1, may_be_referee=False, returning_id="REF01") == "REF01"


def test_the_newest_referee_code_is_the_only_one() -> None:
    play = Play()
    for number in (1, 2):
        play.do(commands.set_referee_code(code(number), play.now))
    assert play.league.referee_code == seat(2)


@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_agent_whose_token_was_taken_away_comes_back_by_the_seat_that_it_got(role: str) -> None:
    play = Play()
    name, token = play.enter(getattr(play, f"{role}_applicant")(1))
    play.player(2), play.player(3)
    key = play.league.agent(name).key
    names = play.do(commands.void_token(play.league, name, key=b"k" * 32, code=code(1), at=play.now))
    assert names == ["TokenVoided", "SeatsIssued"]
    assert play.league.agent_with(tokens.verifier(token)) is None
    assert play.league.agent(name).key == b"k" * 32 != key
    if role == "player":
        play.referee(2)
    play.begin()
    assert getattr(play, role)(1, seat=seat(1), meta=ELSEWHERE, may_be_referee=False) == name
    assert play.league.agent(name).key != b"k" * 32


def test_an_agent_that_has_a_seat_gets_no_other() -> None:
    play = _play()
    play.player(1, seat=seat(1))
    assert play.do(commands.void_token(play.league, "P01", key=b"", code=code(9), at=play.now)) == ["TokenVoided"]
    assert play.player(1, seat=seat(1)) == "P01"
    play.do(commands.revoke_seat(play.league, "S01", play.now))
    assert seat_of(play.league, "P01") is None
    play.do(commands.void_token(play.league, "P01", key=b"", code=code(9), at=play.now))
    assert seat_of(play.league, "P01").id == "S03"
    assert play.player(1, seat=seat(9)) == "P01"


def test_a_token_that_was_taken_away_is_not_got_back_by_a_repeat() -> None:
    play = Play()
    applicant = play.player_applicant(1)
    play.enter(applicant)
    play.do(commands.void_token(play.league, "P01", key=b"", code=code(1), at=play.now))
    with pytest.raises(ProtocolError, match="E047"):
        play.enter(applicant)


def test_a_token_is_taken_away_twice_and_of_somebody_who_leaves() -> None:
    play = Play(players=2)
    for number in (1, 2):
        play.do(commands.void_token(play.league, "P01", key=b"", code=code(number), at=play.now))
    play.do(commands.withdraw(play.league, "P01", "ill", play.now))
    assert "P01" not in play.league.verifiers.values()


def test_nobody_loses_a_token_who_is_not_there() -> None:
    play = Play(players=1)
    with pytest.raises(ProtocolError, match="E005"):
        commands.void_token(play.league, "P77", key=b"", code=b"", at=play.now)
