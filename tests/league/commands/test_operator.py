"""The operator's hand: pause, leave, play again, correct; each with its reason in the log."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from leaguekit.league import commands, queries
from leaguekit.league.events import PlayerReadmitted, decode, encode
from leaguekit.protocol.errors import ProtocolError
from tests.league.play import Play, drawn, failed, whole, won
from tests.played import audited


def _play(players: int = 4, referees: int = 2) -> Play:
    return Play(players=players, referees=referees).begin()


def _withdraw(play: Play, player: str) -> list[str]:
    return play.do(commands.withdraw(play.league, player, "ill", play.now))


def _disqualify(play: Play, player: str) -> list[str]:
    return play.do(commands.disqualify(play.league, player, "cheated", play.now))


def _rematch(play: Play, match: str) -> list[str]:
    return play.do(commands.rematch(play.league, match, "power cut", play.now))


def test_nothing_new_begins_in_a_pause_and_what_is_in_play_counts() -> None:
    play = Play(players=4)
    play.referee(1, capacity=1)
    play.begin()
    assert play.do(commands.pause(play.league, "lunch", play.now)) == ["LeaguePaused"]
    assert commands.pause(play.league, "again", play.now) == []
    assert play.record("R1M1") == ["ResultRecorded"]
    assert play.assign() == []
    assert play.do(commands.resume(play.league, "go on", play.now)) == ["LeagueResumed"]
    assert commands.resume(play.league, "again", play.now) == []
    assert play.assign() == ["R1M2"]


def test_no_round_is_announced_in_a_pause() -> None:
    play = _play()
    play.do(commands.pause(play.league, "lunch", play.now))
    for name in play.in_play:
        play.record(name)
    assert not play.league.round_in_play
    assert play.announce() == []
    play.do(commands.resume(play.league, "go on", play.now))
    assert play.announce() == ["RoundAnnounced"]


@pytest.mark.parametrize(
    ("command", "event", "ruling"),
    [
        (_withdraw, "PlayerWithdrawn", "WITHDRAWAL"),
        (_disqualify, "PlayerDisqualified", "DISQUALIFICATION"),
    ],
)
def test_who_leaves_loses_its_open_match_at_once(command, event: str, ruling: str) -> None:
    play = _play()
    assert command(play, "P02") == [event, "MatchForfeited"]
    match = play.match("R1M1")
    assert match.result is not None
    assert (match.result.winner, match.result.score) == ("P01", {"P01": 3, "P02": 0})
    assert (match.result.details.status, match.result.details.ruling) == ("TECHNICAL_LOSS", ruling)
    assert decode(play.log[-1]).losers == ["P02"]
    assert play.league.referees["REF01"].free == 2
    assert play.league.players["P02"].state == "SHUTDOWN"


def test_who_leaves_loses_later_matches_when_their_round_comes() -> None:
    play = _play()
    _withdraw(play, "P02")
    assert play.points() == {"P01": 3, "P02": 0, "P03": 0, "P04": 0}
    play.record("R1M2")
    assert play.announce() == ["RoundAnnounced", "MatchForfeited"]
    assert play.match("R2M2").result.winner == "P04"
    assert play.assign() == ["R2M1"]
    play.play_all()
    assert play.league.state == "LEAGUE_COMPLETED"
    assert {row.player_id: row.played for row in queries.standings(play.league)} == dict.fromkeys(
        ("P01", "P02", "P03", "P04"), 3
    )
    assert play.league.table.rows["P02"].technical_losses == 3


def test_what_has_been_played_stands() -> None:
    play = _play()
    play.record("R1M1", won(play.match("R1M1"), "P02"))
    assert _withdraw(play, "P02") == ["PlayerWithdrawn"]
    assert play.points()["P02"] == 3


def test_two_who_have_left_both_lose_their_match_and_a_round_of_nothing_else_is_over_at_once() -> None:
    play = _play()
    assert _withdraw(play, "P02") == ["PlayerWithdrawn", "MatchForfeited"]
    assert _disqualify(play, "P04") == ["PlayerDisqualified", "MatchForfeited", "RoundCompleted"]
    play.announce()
    forfeit = decode(play.log[-1])
    assert (forfeit.match_id, forfeit.losers, forfeit.reason) == ("R2M2", ["P02", "P04"], "ill; cheated")
    match = play.match("R2M2")
    assert match.result.winner is None
    assert set(match.result.score.values()) == {0}
    assert match.result.details.ruling == "DISQUALIFICATION"
    play.play_round()
    assert play.announce() == [
        "RoundAnnounced",
        "MatchForfeited",
        "MatchForfeited",
        "RoundCompleted",
        "LeagueCompleted",
    ]


def test_a_departure_before_the_first_round_is_announced_rules_nothing_yet() -> None:
    play = Play(players=4, referees=1)
    play.start()
    assert _withdraw(play, "P02") == ["PlayerWithdrawn"]
    assert play.announce() == ["RoundAnnounced", "MatchForfeited"]


def test_the_last_open_match_of_who_leaves_ends_the_league() -> None:
    play = _play(players=2)
    assert _withdraw(play, "P01") == ["PlayerWithdrawn", "MatchForfeited", "RoundCompleted", "LeagueCompleted"]


def test_a_report_of_a_match_that_was_ruled_meanwhile_is_a_duplicate() -> None:
    play = _play()
    _withdraw(play, "P02")
    with pytest.raises(ProtocolError, match="E054"):
        play.record("R1M1")


def test_a_player_leaves_once_and_not_after_the_end_and_must_exist() -> None:
    play = _play()
    _withdraw(play, "P01")
    with pytest.raises(ProtocolError, match="E058"):
        _disqualify(play, "P01")
    with pytest.raises(ProtocolError, match="E005"):
        _withdraw(play, "P99")
    play.play_all()
    with pytest.raises(ProtocolError, match="E058"):
        _withdraw(play, "P02")


def test_a_match_that_is_played_again_loses_its_result_and_gets_a_new_attempt() -> None:
    play = _play()
    play.record("R1M1")
    assert _rematch(play, "R1M1") == ["MatchReplayed"]
    assert set(play.points().values()) == {0}
    assert play.league.table.rows["P01"].played == 0
    assert play.assign() == ["R1M1"]
    assert play.match("R1M1").attempt == 2
    play.record("R1M1", won(play.match("R1M1"), "P02"))
    assert play.points()["P02"] == 3


def test_a_round_waits_for_a_match_that_is_played_again() -> None:
    play = _play()
    play.record("R1M1")
    _rematch(play, "R1M1")
    assert play.record("R1M2") == ["ResultRecorded"]
    play.assign()
    assert play.record("R1M1") == ["ResultRecorded", "RoundCompleted"]


def test_a_match_of_an_earlier_round_is_played_again_when_its_players_are_free() -> None:
    play = _play()
    for name in play.in_play:
        play.record(name)
    play.announce()
    play.assign()
    _rematch(play, "R1M1")
    # P01 and P02 are both in the second round's matches.
    assert play.assign() == []
    assert list(play.league.players["P01"].unplayed) == ["R1M1", "R2M1", "R3M1"]
    assert play.record("R2M1") == ["ResultRecorded"]
    assert play.record("R2M2") == ["ResultRecorded", "RoundCompleted"]
    assert play.announce() == ["RoundAnnounced"]
    # It waits longest, so it is first; the third round's matches of its players come after it.
    assert play.assign() == ["R1M1"]
    assert play.record("R1M1") == ["ResultRecorded"]
    play.play_round()
    assert play.league.state == "LEAGUE_COMPLETED"


def test_the_league_is_over_only_when_a_match_that_is_played_again_is() -> None:
    play = _play(players=3)
    play.play_round()
    play.announce()
    play.play_round()
    play.announce()
    (last,) = play.assign()
    _rematch(play, "R1M1")
    assert play.record(last) == ["ResultRecorded", "RoundCompleted"]
    assert play.assign() == ["R1M1"]
    assert play.record("R1M1") == ["ResultRecorded", "LeagueCompleted"]


def test_a_match_that_waits_for_the_operator_can_be_played_again() -> None:
    play = _play()
    for attempt in (1, 2, 3):
        play.do(commands.void_attempt(play.league, "R1M1", attempt, "late", play.now))
        play.assign()
    assert list(play.league.held) == ["R1M1"]
    _rematch(play, "R1M1")
    assert (play.league.held, play.match("R1M1").voids) == ({}, 0)
    assert play.assign() == ["R1M1"]
    assert play.match("R1M1").attempt == 4


def test_only_what_has_ended_or_waits_for_the_operator_can_be_played_again() -> None:
    play = _play()
    with pytest.raises(ProtocolError, match="E051"):
        _rematch(play, "R1M1")
    with pytest.raises(ProtocolError, match="E050"):
        _rematch(play, "R9M9")
    _withdraw(play, "P02")
    with pytest.raises(ProtocolError, match="P02 left the league"):
        _rematch(play, "R1M1")
    play.play_all()
    with pytest.raises(ProtocolError, match="E031"):
        _rematch(play, "R1M2")


def test_a_corrected_result_replaces_the_old_one() -> None:
    play = _play()
    play.record("R1M1", failed(play.match("R1M1"), "P01"))
    names = play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "referee's bug", play.now))
    assert names == ["ResultCorrected"]
    assert play.points() == {"P01": 1, "P02": 1, "P03": 0, "P04": 0}
    summary = queries.round_summary(play.league, 1)
    assert (summary.draws, summary.technical_losses) == (1, 0)


def test_a_corrected_match_that_had_no_result_has_ended() -> None:
    play = _play()
    play.do(commands.correct(play.league, "R1M1", won(play.match("R1M1"), "P02"), "settled", play.now))
    assert play.league.referees["REF01"].free == 2
    names = play.do(commands.correct(play.league, "R1M2", won(play.match("R1M2"), "P03"), "settled", play.now))
    assert names == ["ResultCorrected", "RoundCompleted"]


def test_a_match_that_waits_for_the_operator_can_be_settled() -> None:
    play = _play()
    for attempt in (1, 2, 3):
        play.do(commands.void_attempt(play.league, "R1M1", attempt, "late", play.now))
        play.assign()
    play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "settled", play.now))
    assert (play.league.held, play.match("R1M1").held) == ({}, False)


def test_a_result_can_be_corrected_after_the_league() -> None:
    play = _play(players=2).play_all()
    assert queries.champion(play.league).player_id == "P01"
    play.do(commands.correct(play.league, "R1M1", won(play.match("R1M1"), "P02"), "appeal", play.now))
    assert queries.champion(play.league).player_id == "P02"


def test_a_correction_must_fit_itself_and_a_match_of_an_announced_round() -> None:
    play = _play()
    other = play.match("R1M2")
    with pytest.raises(ProtocolError, match="E056"):
        commands.correct(play.league, "R1M1", won(other, other.a), "typo", play.now)
    with pytest.raises(ProtocolError, match="E051"):
        commands.correct(play.league, "R2M1", drawn(play.match("R2M1")), "early", play.now)
    with pytest.raises(ProtocolError, match="E050"):
        commands.correct(play.league, "R9M9", drawn(other), "typo", play.now)


def test_everything_the_operator_does_is_in_the_log_with_its_reason() -> None:
    play = _play()
    play.record("R1M1")
    play.do(commands.pause(play.league, "one", play.now))
    play.do(commands.resume(play.league, "two", play.now))
    play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "three", play.now))
    play.do(commands.rematch(play.league, "R1M1", "four", play.now))
    play.do(commands.withdraw(play.league, "P03", "five", play.now))
    play.do(commands.disqualify(play.league, "P04", "six", play.now))
    lines = [msgspec.json.decode(line) for line in play.log]
    assert [line["reason"] for line in lines if "reason" in line] == [
        "one",
        "two",
        "three",
        "four",
        "five",
        "five",
        "six",
    ]


# Coming back


def test_a_player_that_left_comes_back_and_plays_from_the_next_round_on() -> None:
    play = Play(players=4, referees=2).begin()
    play.do(commands.withdraw(play.league, "P02", "ill", play.now))
    lost = next(match for match in play.league.matches.values() if match.round_id == 1 and "P02" in match.players)
    assert play.do(commands.readmit(play.league, "P02", "well again", play.now)) == ["PlayerReadmitted"]
    player = play.league.players["P02"]
    assert (player.out, player.out_reason, player.state) == (None, "", "ACTIVE")
    play.play_all()
    # The match that it lost stays lost; the operator can have it played again.
    ruled = {match.id: match.result.details.status for match in play.league.matches.values() if "P02" in match.players}
    assert [name for name, status in ruled.items() if status == "TECHNICAL_LOSS"] == [lost.id]


def test_a_player_that_lost_its_token_registers_again_once_with_its_name_and_endpoint() -> None:
    play = Play(players=2, referees=1)
    with pytest.raises(commands.Rejected, match="has already registered with"):
        play.player(1, meta={"display_name": "Another"})
    play.do(commands.readmit(play.league, "P01", "", play.now))
    with pytest.raises(commands.Rejected, match="has already registered with"):
        play.player(1, meta={"display_name": "Another"})
    assert play.player(1, conversation_id="conv-new") == "P01"
    assert not play.league.players["P01"].readmitted
    # Once only. The refusal says what to ask for, before the start and after it.
    again = {"conversation_id": "conv-newer", "timestamp": "2025-01-15T11:00:00Z"}
    with pytest.raises(ProtocolError, match="ask the operator for `league readmit P01`, and start it again"):
        play.player(1, **again)
    play.begin()
    with pytest.raises(commands.Rejected, match="ask the operator for `league readmit P01`"):
        play.player(1, **again)
    with pytest.raises(commands.Rejected, match=r"league already started$"):
        play.player(3, **again)


def test_before_the_start_a_player_comes_back_unless_another_has_its_name_or_endpoint() -> None:
    play = Play(players=3, referees=1)
    play.do(commands.withdraw(play.league, "P01", "", play.now))
    play.do(commands.readmit(play.league, "P01", "", play.now))
    assert [*play.league.table.rows] == ["P02", "P03", "P01"]
    assert play.league.players["P01"].state == "REGISTERED"
    play.do(commands.withdraw(play.league, "P01", "", play.now))
    assert play.player(4, meta={"display_name": play.league.players["P01"].meta.display_name}) == "P04"
    with pytest.raises(ProtocolError, match="Another player has the name or the endpoint of P01 now"):
        commands.readmit(play.league, "P01", "", play.now)
    play.begin()
    with pytest.raises(
        ProtocolError, match="P01 left before the start, and the format round_robin takes nobody after the start"
    ):
        commands.readmit(play.league, "P01", "", play.now)
    with pytest.raises(ProtocolError, match="There is no player P99"):
        commands.readmit(play.league, "P99", "", play.now)
    play.play_all()
    with pytest.raises(ProtocolError, match="The league is over; P02 cannot come back"):
        commands.readmit(play.league, "P02", "", play.now)
    with pytest.raises(ProtocolError, match="The league is over; P02 cannot leave it"):
        commands.withdraw(play.league, "P02", "", play.now)
    with pytest.raises(ProtocolError, match="The league is over; there is nothing to resume"):
        commands.resume(play.league, "", play.now)


# Settings


def test_settings_change_in_mid_season_as_an_event() -> None:
    play = Play(players=2, referees=1).begin()
    changes = {"title": "Winter Cup", "choice_seconds": 60, "max_retries": 3}
    (changed,) = commands.change_settings(play.league, changes, "slow models", play.now)
    # What has its value already is left out.
    assert changed.settings == {"title": "Winter Cup", "choice_seconds": 60.0}
    play.do([changed])
    settings = play.league.settings
    assert (settings.full_name, settings.time_limits.choice_seconds) == (f"Winter Cup ({settings.league_id})", 60.0)
    assert commands.change_settings(play.league, {"title": "Winter Cup"}, "", play.now) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"choise_seconds": 1}, "There is no setting 'choise_seconds'; the nearest is 'choice_seconds'"),
        ({"XYZ": 1}, "There is no setting 'XYZ'; there are league_id, "),
        ({"seed_hex": "00"}, "seed_hex cannot be changed after the league's creation; these can: title, "),
        ({"choice_seconds": 0}, "choice_seconds must be from 0.01 to 86,400, got 0"),
        ({"title": "two\nlines"}, "The settings are wrong: title: expected text matching regex"),
        ({"title": "a line\n"}, "The settings are wrong: title: expected text matching regex"),
        ({"choice_seconds": "long"}, "The settings are wrong: choice_seconds: expected a number, got text"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_remedy(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(why)):
        commands.change_settings(Play().league, changes, "", "2025-01-15T10:30:00Z")


# Seats of people


def test_a_seat_is_found_by_its_id_or_by_its_person() -> None:
    play = Play()
    people = [("Ada", "ada@example.org"), ("Bob", ""), ("Bob", "")]
    play.do(commands.issue_seats(play.league, [b"1", b"2", b"3"], play.now, people=people))
    assert [(seat.name, seat.email) for seat in play.league.seats.values()] == people
    assert play.do(commands.revoke_seat(play.league, "ADA", play.now)) == ["SeatRevoked"]
    for nothing in ("", "S09"):
        with pytest.raises(ProtocolError, match="There is no such seat"):
            commands.revoke_seat(play.league, nothing, play.now)
    with pytest.raises(ProtocolError, match="Bob has S02 and S03; name one of them"):
        commands.revoke_seat(play.league, "Bob", play.now)
    play.do(commands.revoke_seat(play.league, "S02", play.now))
    # Only one seat is left for Bob, so the name says which.
    play.do(commands.revoke_seat(play.league, "Bob", play.now))
    assert [seat.revoked for seat in play.league.seats.values()] == [True, True, True]


def test_people_with_a_seat_get_another_one_only_if_that_is_said() -> None:
    play = Play()
    people = [("Ada", "ada@example.org"), ("Bob", ""), ("Chloé", "")]
    play.do(commands.issue_seats(play.league, [b"1", b"2", b"3"], play.now, people=people))
    new = [("ADA", "ada@example.org"), ("Chloé", ""), ("Ada", "another@example.org")]
    with pytest.raises(ProtocolError, match=r"2 of these people have a seat already \(S01 to S03\)"):
        commands.issue_seats(play.league, [b"4", b"5", b"6"], play.now, people=new)
    play.do(commands.revoke_seat(play.league, "S01", play.now))
    with pytest.raises(ProtocolError, match=r"1 of these people has a seat already \(S03\)"):
        commands.issue_seats(play.league, [b"4", b"5", b"6"], play.now, people=new)
    play.do(commands.issue_seats(play.league, [b"4", b"5", b"6"], play.now, people=new, again=True))
    assert len(play.league.seats) == 6
    # Seats without people, and other people, are not affected.
    play.do(commands.issue_seats(play.league, [b"7"], play.now))
    play.do(commands.issue_seats(play.league, [b"8"], play.now, people=[("Dan", "")]))


def test_the_audit_accepts_a_return_and_new_settings_but_not_of_a_player_outside_the_schedule() -> None:
    play = Play(players=3, referees=1)
    play.do(commands.withdraw(play.league, "P03", "", play.now))
    play.begin()
    play.do(commands.withdraw(play.league, "P02", "", play.now))
    assert play.league.state == "LEAGUE_COMPLETED"
    back = encode(PlayerReadmitted(at=play.now, player_id="P03", reason=""))
    before_end = [line for line in play.log if b"LeagueCompleted" not in line]
    assert "the return of a player that is in the schedule" in str(audited([*before_end, back]).findings)
    assert not [one for one in audited(whole().log).findings if "Readmitted" in str(one) or "setting" in str(one)]
