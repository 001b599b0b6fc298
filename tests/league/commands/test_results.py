"""Results: what counts, what is refused and why, what is void, and which players are suspended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.league import commands
from leaguekit.league.events import MatchAssigned, PlayerSuspended
from leaguekit.league.records import Match, failures_after
from leaguekit.match.draw import commitment
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError, rpc_number
from tests.league.play import Play, drawn, failed, number, won
from tests.played import audited
from tests.samples import NOW as _NOW


def _play(players: int = 4, referees: int = 2, **settings: Any) -> Play:
    return Play(players=players, referees=referees, **settings).begin()


def committed(drawn_number: int) -> dict[str, str]:
    """What a referee adds that had committed to its draw."""
    nonce = bytes(16)
    return {"draw_commitment": commitment(nonce, drawn_number), "draw_nonce": nonce.hex()}


def _refused(play: Play, name: str, referee: str, result: m.MatchResult | None = None, **changes: Any) -> ProtocolError:
    """The refusal of a report, which has changed nothing."""
    before = play.league.digest()
    match = play.league.matches.get(name) or Match(id=name, round_id=1, a="P01", b="P02", attempt=1)
    fields = {"match_id": name, "round_id": match.round_id, "attempt": match.attempt} | changes
    report = m.MatchResultReport(
        **m.envelope("referee:REF01", _NOW, "conv-1"),
        **{"league_id": play.settings.league_id, "game_type": "even_odd"} | fields,
        result=result or won(match, match.a),
    )
    with pytest.raises(ProtocolError) as caught:
        commands.record_result(play.league, report, referee, play.now)
    assert play.league.digest() == before
    return caught.value


@pytest.mark.proves("000-L0887", "001-L1463", "001-L1464", "001-L1465", "000-L0932", "002-L0225", "003-L0021")
def test_a_reported_win_counts_three_to_nothing() -> None:
    play = _play()
    play.record("R1M1", won(play.match("R1M1"), "P02"))
    assert play.points() == {"P02": 3, "P01": 0, "P03": 0, "P04": 0}
    assert play.league.table.rows["P01"].losses == 1


@pytest.mark.proves("000-L0926", "000-L0933")
def test_a_reported_draw_counts_one_each() -> None:
    play = _play()
    play.record("R1M1", drawn(play.match("R1M1")))
    assert play.points() == {"P01": 1, "P02": 1, "P03": 0, "P04": 0}


@pytest.mark.proves("000-L0943")
def test_a_reported_technical_loss_counts_for_the_other() -> None:
    play = _play()
    play.record("R1M1", failed(play.match("R1M1"), "P01"))
    assert play.points()["P02"] == 3
    assert play.league.rounds[0].technical_losses == 1


def test_when_both_failed_nobody_gets_a_point() -> None:
    play = _play()
    play.record("R1M1", failed(play.match("R1M1"), "P01", "P02"))
    assert set(play.points().values()) == {0}
    assert [play.league.table.rows[name].technical_losses for name in ("P01", "P02")] == [1, 1]


def test_a_reported_match_is_out_of_its_referees_hands() -> None:
    play = _play()
    play.record("R1M1")
    assert not play.match("R1M1").in_play
    assert play.league.referees["REF01"].assigned_matches == {}
    assert play.league.players["P01"].playing is None


def test_a_result_lies_in_the_log_with_its_evidence_in_a_few_hundred_bytes() -> None:
    play = _play()
    match = play.match("R1M1")
    more = {"ruling": "WIN", "evidence": {"late_ms": 0}, **committed(number(match))}
    play.record("R1M1", won(match, "P01", failures={"P01": 0, "P02": 0}, **more))
    assert len(play.log[-1]) < 600
    stored = msgspec.json.decode(play.log[-1])
    assert stored["event"] == "ResultRecorded"
    assert stored["result"]["details"].items() >= more.items()


def test_a_report_without_an_attempt_is_for_the_one_in_hand() -> None:
    play = _play()
    play.record("R1M1", attempt=UNSET)
    assert play.match("R1M1").result is not None


@pytest.mark.parametrize(
    ("choice", "status"),
    [("even", "WIN"), (None, "TECHNICAL_LOSS")],
)
def test_a_win_whose_referee_names_no_status_is_technical_if_a_choice_is_missing(
    choice: str | None, status: str
) -> None:
    play = _play()
    result = m.MatchResult(
        winner="P01", score={"P01": 3, "P02": 0}, details=m.ResultDetails(choices={"P01": "even", "P02": choice})
    )
    play.record("R1M1", result)
    assert play.match("R1M1").result.details.status == status


def test_a_draw_needs_no_status() -> None:
    play = _play()
    play.record("R1M1", m.MatchResult(winner=None, score={"P01": 1, "P02": 1}, details=m.ResultDetails(choices={})))
    assert play.league.rounds[0].draws == 1


def test_a_report_before_the_start_is_refused() -> None:
    assert _refused(Play(players=2, referees=1), "R1M1", "REF01").code == "E030"


def test_a_report_after_the_end_is_refused_and_a_duplicate_even_then_named_so() -> None:
    play = _play(players=2).play_all()
    assert _refused(play, "R9M9", "REF01").code == "E031"
    assert _refused(play, "R1M1", "REF02").code == "E031"
    assert _refused(play, "R1M1", "REF01").code == "E054"


def test_an_unknown_match_and_another_referees_are_refused_alike() -> None:
    play = _play()
    for name, referee in (("R9M9", "REF01"), ("R1M1", "REF02"), ("R2M1", "REF01")):
        error = _refused(play, name, referee)
        assert rpc_number("report_match_result", error.code) == (5002, "Match not found")


def test_a_second_report_is_refused_and_told_when_the_first_came() -> None:
    play = _play()
    at = play.now
    play.record("R1M1")
    error = _refused(play, "R1M1", "REF01", won(play.match("R1M1"), "P02"))
    assert rpc_number("report_match_result", error.code) == (5003, "Duplicate report")
    assert error.data == {"match_id": "R1M1", "previous_report_time": at}


def test_another_leagues_report_is_refused() -> None:
    assert _refused(_play(), "R1M1", "REF01", league_id="other").code == "E053"


@pytest.mark.parametrize("wrong", [{"round_id": 2}, {"game_type": "tic_tac_toe"}])
def test_a_report_must_fit_its_match(wrong: dict[str, Any]) -> None:
    assert _refused(_play(), "R1M1", "REF01", **wrong).code == "E056"


def _result(
    winner: str | None, score: dict[str, int], status: str | None = None, choices: dict[str, str | None] | None = None
) -> m.MatchResult:
    details = m.ResultDetails(choices=choices or {}, status=UNSET if status is None else status)
    return m.MatchResult(winner=winner, score=score, details=details)


@pytest.mark.proves("000-L0930", "000-L0943")
@pytest.mark.parametrize(
    "result",
    [
        _result("P01", {"P01": 3, "P03": 0}, "WIN"),
        _result("P03", {"P01": 3, "P02": 0}, "WIN"),
        _result("P01", {"P01": 0, "P02": 3}, "WIN"),
        _result("P01", {"P01": 3, "P02": 3}, "WIN"),
        _result("P01", {"P01": 3, "P02": 1}, "WIN"),
        _result("P01", {"P01": 1, "P02": 1}, "DRAW"),
        _result("P01", {"P01": 3, "P02": 0}, "DRAW"),
        _result(None, {"P01": 3, "P02": 0}, "WIN"),
        _result(None, {"P01": 1, "P02": 1}, "WIN"),
        _result(None, {"P01": 1, "P02": 1}, "TECHNICAL_LOSS"),
        _result(None, {"P01": 0, "P02": 0}, "DRAW"),
        _result(None, {"P01": 1, "P02": 0}),
        _result("P01", {"P01": 3, "P02": 0}, "WIN", {"P09": "even"}),
        m.MatchResult(
            winner="P01",
            score={"P01": 3, "P02": 0},
            details=m.ResultDetails(choices={}, status="WIN", failures={"P09": 1}),
        ),
        m.MatchResult(
            winner="P01",
            score={"P01": 3, "P02": 0},
            details=m.ResultDetails(choices={}, status="WIN", move_origins={"P09": m.MoveOrigins(own=1)}),
        ),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(result: m.MatchResult) -> None:
    assert _refused(_play(), "R1M1", "REF01", result).code == "E056"


# --- what the rules say


@pytest.mark.parametrize(
    ("drawn_number", "choices", "winner"),
    [
        (8, ("even", "odd"), "P02"),
        (7, ("even", "odd"), "P01"),
        (8, ("even", "even"), "P01"),
        (8, ("even", "odd"), None),
        (8, ("Even", "odd"), "P01"),
        (8, ("rock", "odd"), "P01"),
    ],
)
def test_a_result_that_even_odd_does_not_give_is_refused(
    drawn_number: int, choices: tuple[str, str], winner: str | None
) -> None:
    score = {player: 1 if winner is None else 3 if player == winner else 0 for player in ("P01", "P02")}
    details = m.ResultDetails(choices=dict(zip(("P01", "P02"), choices, strict=True)), drawn_number=drawn_number)
    error = _refused(_play(), "R1M1", "REF01", m.MatchResult(winner=winner, score=score, details=details))
    assert error.code == "E056"
    assert "R1M1 cannot have ended so" in error.detail


@pytest.mark.parametrize(
    ("game_type", "choices", "winner"),
    [
        ("tic_tac_toe", ("0,1,2", "3,4"), "P02"),
        ("tic_tac_toe", ("0,1", "3,4"), "P01"),
        ("tic_tac_toe", ("0,1,2", "3,3"), "P01"),
        ("rock_paper_scissors", ("rock", "paper"), "P01"),
        ("rock_paper_scissors", ("rock", "rock"), "P01"),
    ],
)
def test_a_result_that_another_game_does_not_give_is_refused(
    game_type: str, choices: tuple[str, str], winner: str
) -> None:
    played = {"P01": choices[0], "P02": choices[1]}
    score = {player: 3 if player == winner else 0 for player in played}
    result = m.MatchResult(winner=winner, score=score, details=m.ResultDetails(choices=played, status="WIN"))
    play = Play(game_type=game_type)
    play.referee(1, meta={"game_types": [game_type]})
    for one in (1, 2):
        play.player(one, meta={"game_types": [game_type]})
    assert _refused(play.begin(), "R1M1", "REF01", result, game_type=game_type).code == "E056"


def test_a_referee_that_has_committed_to_a_number_reports_that_one_and_the_seeds() -> None:
    play = _play()
    match = play.match("R1M1")
    drawn_number = number(match)
    of_same_parity = (drawn_number + 1) % 10 + 1
    for told in (
        committed(of_same_parity),
        committed(drawn_number) | {"draw_nonce": UNSET},
        committed(of_same_parity) | {"drawn_number": of_same_parity},
    ):
        assert _refused(play, "R1M1", "REF01", won(match, "P01", **told)).code == "E056"
    assert play.record("R1M1", won(match, "P01", **committed(drawn_number))) == ["ResultRecorded"]


def test_a_referee_with_a_draw_of_its_own_counts_and_is_flagged() -> None:
    play = _play()
    match = play.match("R1M1")
    of_same_parity = (number(match) + 1) % 10 + 1
    assert play.record("R1M1", won(match, "P01", drawn_number=of_same_parity)) == ["ResultRecorded", "ResultFlagged"]
    assert play.points()["P01"] == 3
    assert play.league.flags == {"R1M1": ["REF01 drew a number of its own"]}


@pytest.mark.parametrize(
    ("details", "flag"),
    [
        (m.ResultDetails(choices={}, drawn_number=8), "REF01 did not report what was chosen"),
        (m.ResultDetails(choices={"P01": "odd", "P02": "odd"}), "REF01 did not report what was drawn"),
    ],
)
def test_a_result_that_cannot_be_checked_counts_and_is_flagged(details: m.ResultDetails, flag: str) -> None:
    play = _play()
    play.record("R1M1", m.MatchResult(winner=None, score={"P01": 1, "P02": 1}, details=details))
    assert play.league.rounds[0].draws == 1
    assert flag in play.league.flags["R1M1"]


# --- second reports


def _dispute(play: Play, result: m.MatchResult, referee: str = "REF01") -> list[str]:
    return play.do(commands.flag_second_report(play.league, play.report("R1M1", result), referee, play.now))


def test_a_different_second_report_is_flagged_once_with_what_it_said() -> None:
    play = _play()
    match = play.match("R1M1")
    play.record("R1M1", won(match, "P01"))
    assert _dispute(play, won(match, "P02")) == ["ResultFlagged"]
    flagged = msgspec.json.decode(play.log[-1])
    assert (flagged["match_id"], flagged["referee_id"]) == ("R1M1", "REF01")
    assert flagged["reported"]["winner"] == "P02"
    assert play.points() == {"P01": 3, "P02": 0, "P03": 0, "P04": 0}
    assert play.league.flags == {"R1M1": ["REF01 reported it a second time, and differently"]}
    assert _dispute(play, drawn(match)) == []


def test_an_equal_second_report_is_no_news() -> None:
    play = _play()
    match = play.match("R1M1")
    play.record("R1M1", won(match, "P01", evidence={"late_ms": 0}))
    assert _dispute(play, won(match, "P01", evidence={"late_ms": 9})) == []


@pytest.mark.parametrize("settled", ["corrected", "forfeited"])
def test_a_result_that_is_not_the_referees_own_is_not_disputed_by_it(settled: str) -> None:
    play = _play()
    match = play.match("R1M1")
    if settled == "corrected":
        play.record("R1M1", won(match, "P01"))
        play.do(commands.correct(play.league, "R1M1", won(match, "P02"), "erred", play.now))
    else:
        play.do(commands.withdraw(play.league, "P01", "ill", play.now))
    assert _dispute(play, won(match, "P01")) == []


@pytest.mark.parametrize("settle", ["correct", "rematch"])
def test_what_the_operator_settles_is_flagged_no_more(settle: str) -> None:
    play = _play()
    match = play.match("R1M1")
    play.record("R1M1", won(match, "P01"))
    _dispute(play, won(match, "P02"))
    if settle == "correct":
        play.do(commands.correct(play.league, "R1M1", won(match, "P02"), "erred", play.now))
    else:
        play.do(commands.rematch(play.league, "R1M1", "again", play.now))
    assert play.league.flags == {}


# --- void attempts and lost referees


def _void(play: Play, name: str, **more: Any) -> list[str]:
    match = play.match(name)
    return play.do(commands.void_attempt(play.league, name, match.attempt, "referee late", play.now, **more))


def test_a_void_attempt_counts_for_nothing_and_is_made_again() -> None:
    play = _play()
    assert _void(play, "R1M1", referee_id="REF01") == ["AttemptVoided"]
    assert set(play.points().values()) == {0}
    assert play.assign() == ["R1M1"]
    assert (play.match("R1M1").attempt, play.match("R1M1").voids) == (2, 1)
    play.record("R1M1")
    assert play.match("R1M1").result is not None


def test_a_late_result_of_a_void_attempt_is_refused() -> None:
    play = _play()
    _void(play, "R1M1")
    assert _refused(play, "R1M1", "REF01").code == "E050"
    play.assign()
    assert play.match("R1M1").attempt == 2
    assert _refused(play, "R1M1", str(play.match("R1M1").referee_id), attempt=1).code == "E050"


def test_after_a_void_attempt_rather_another_referee_is_asked() -> None:
    play = _play()
    _void(play, "R1M1", referee_id="REF01")
    play.assign()
    assert play.match("R1M1").referee_id == "REF02"


def test_only_the_attempt_in_hand_can_be_voided_and_only_by_its_referee() -> None:
    play = _play()
    for attempt, referee in ((2, None), (1, "REF02")):
        with pytest.raises(ProtocolError, match="E050"):
            commands.void_attempt(play.league, "R1M1", attempt, "late", play.now, referee_id=referee)
    play.record("R1M1")
    with pytest.raises(ProtocolError, match="E054"):
        _void(play, "R1M1")


def test_after_three_void_attempts_a_match_waits_for_the_operator() -> None:
    play = _play()
    _void(play, "R1M1")
    play.assign()
    _void(play, "R1M1")
    play.assign()
    assert _void(play, "R1M1") == ["AttemptVoided", "MatchHeld"]
    assert (list(play.league.held), play.match("R1M1").held) == (["R1M1"], True)
    assert play.assign() == []
    assert play.record("R1M2") == ["ResultRecorded"]
    assert play.league.round_in_play


def test_a_match_that_rests_is_not_given_out_and_others_are() -> None:
    play = _play()
    _void(play, "R1M1")
    _void(play, "R1M2")
    (assigned,) = commands.assign(play.league, play.now, {"R1M1"})
    assert isinstance(assigned, MatchAssigned)
    assert assigned.match_id == "R1M2"


def test_outages_do_not_count_towards_the_void_attempts_after_which_a_match_waits() -> None:
    play = _play()
    for _ in range(5):
        events = commands.void_attempt(play.league, "R1M1", None, "an outage", play.now, outage=True)
        assert play.do(events) == ["AttemptVoided"]
        assert play.match("R1M1").voids == 0
        play.assign()


@pytest.mark.parametrize(("losers", "points"), [(["P01"], (0, 3)), (["P01", "P02"], (0, 0))])
def test_a_player_that_neither_its_referee_nor_the_manager_can_call_loses(
    losers: list[str], points: tuple[int, int]
) -> None:
    play = Play(players=4, referees=1)
    play.begin()
    assert play.match("R1M1").players == ("P01", "P02")

    def ruled(attempt: int) -> list[str]:
        return play.do(commands.forfeit_unreachable(play.league, "R1M1", attempt, losers, play.now, referee_id="REF01"))

    with pytest.raises(ProtocolError, match="void"):
        ruled(2)
    assert ruled(1) == ["MatchForfeited"]
    outcome = play.match("R1M1").outcome
    assert outcome is not None
    assert (outcome.points_a, outcome.points_b, outcome.status, outcome.ruling) == (
        *points,
        "TECHNICAL_LOSS",
        "UNREACHABLE",
    )
    assert play.league.referees["REF01"].assigned_matches == {"R1M2": None}
    play.record("R1M2")
    assert play.league.rounds[0].completed
    assert [str(finding) for finding in audited(play.log).findings if not finding.is_warning] == []


def test_a_lost_referees_matches_are_void_and_others_stay() -> None:
    play = _play(players=8)
    lost = play.do(commands.referee_lost(play.league, "REF01", "three pings unanswered", play.now))
    assert lost == ["RefereeLost", "AttemptVoided", "AttemptVoided"]
    assert play.in_play == ["R1M2", "R1M4"]
    referee = play.league.referees["REF01"]
    assert (referee.free, referee.state, referee.assigned_matches) == (0, "SUSPENDED", {})
    assert commands.referee_lost(play.league, "REF01", "again", play.now) == []


def test_without_a_referee_the_league_waits_and_goes_on_when_one_is_back() -> None:
    play = _play(referees=1)
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert play.assign() == []
    assert play.do(commands.referee_returned(play.league, "REF01", play.now)) == ["RefereeReturned"]
    assert commands.referee_returned(play.league, "REF01", play.now) == []
    assert play.league.referees["REF01"].state == "ACTIVE"
    assert play.assign() == ["R1M1", "R1M2"]


def test_a_result_of_a_match_that_went_to_another_referee_is_refused() -> None:
    play = _play()
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    play.assign()
    play.do(commands.referee_returned(play.league, "REF01", play.now))
    assert _refused(play, "R1M1", "REF01", attempt=1).code == "E050"
    play.record("R1M1")
    assert _refused(play, "R1M1", "REF01", attempt=1).code == "E050"


# --- who does not answer


@pytest.mark.parametrize(
    ("before", "choice", "told", "after"),
    [
        (3, "even", UNSET, 0),
        (3, None, UNSET, 3),
        (3, None, {"P02": 4}, 3),
        (3, None, {"P01": 0}, 0),
        (3, None, {"P01": 4}, 7),
        (3, "even", {"P01": 1}, 1),
        (2**31 - 1, None, {"P01": 2**31 - 1}, 2**31 - 1),
    ],
)
def test_failures_are_counted_in_a_row(before: int, choice: str | None, told: Any, after: int) -> None:
    details = m.ResultDetails(choices={"P01": choice}, failures=told)
    assert failures_after(before, details, "P01") == after


@pytest.mark.proves("003-L0193", "003-L0198d", "002-L0332")
def test_five_failures_in_a_row_over_calls_and_broadcasts_suspend_a_player() -> None:
    play = _play()
    play.record("R1M1", failed(play.match("R1M1"), "P01", failures=4))
    assert play.league.players["P01"].state == "ACTIVE"
    assert play.do(commands.note_failures(play.league, "P01", 1, play.now)) == ["FailuresCounted", "PlayerSuspended"]
    assert play.league.players["P01"].state == "SUSPENDED"
    assert commands.note_failures(play.league, "P01", 1, play.now) == []


@pytest.mark.proves("003-L0198d")
def test_five_failures_in_a_match_suspend_at_once() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 1, play.now))
    names = play.record("R1M1", failed(play.match("R1M1"), "P01", failures=4))
    assert names == ["ResultRecorded", "PlayerSuspended"]
    assert play.league.players["P02"].state == "ACTIVE"


def test_an_answer_in_between_begins_the_count_anew() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 4, play.now))
    assert play.do(commands.note_answer(play.league, "P01", play.now)) == ["FailuresCounted"]
    assert commands.note_answer(play.league, "P01", play.now) == []
    play.do(commands.note_failures(play.league, "P01", 4, play.now))
    assert play.league.players["P01"].state == "ACTIVE"


@pytest.mark.proves("003-L0198e")
def test_a_suspended_player_that_answers_is_active_again() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    assert play.do(commands.note_answer(play.league, "P01", play.now)) == ["FailuresCounted", "PlayerReturned"]
    assert (play.league.players["P01"].state, play.league.players["P01"].failures) == ("ACTIVE", 0)
    assert not commands.has_missed_calls(play.league, "P01")
    # Whatever it was suspended for.
    play.do([PlayerSuspended(at=play.now, player_id="P01")])
    assert play.do(commands.note_answer(play.league, "P01", play.now)) == ["PlayerReturned"]


@pytest.mark.proves("003-L0198e")
def test_a_suspended_player_that_plays_its_match_is_active_again() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    result = won(play.match("R1M1"), "P01", failures={"P01": 0, "P02": 0})
    assert play.record("R1M1", result) == ["ResultRecorded", "PlayerReturned"]
    assert play.league.players["P01"].state == "ACTIVE"


def test_a_suspended_player_that_is_silent_stays_so_and_is_still_given_matches() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    assert play.record("R1M1", failed(play.match("R1M1"), "P01", failures=1)) == ["ResultRecorded"]
    play.record("R1M2")
    play.announce()
    assert "R2M1" in play.assign()


@pytest.mark.parametrize(
    ("events", "left"),
    [
        (["joined", "E001"], True),
        (["joined", "moved", "E001", "E009"], True),
        (["E001", "joined", "E001", "moved"], False),
        (["E001", "E001"], False),
        (["joined", "E003", "E003"], False),
        ([], False),
    ],
)
def test_a_match_that_ended_because_of_an_unanswered_move_is_remembered_until_the_next(
    events: list[str], left: bool
) -> None:
    play = _play()
    result = failed(play.match("R1M1"), "P01")
    entries = [{"at": 0.0, "what": what, "ask": number} for number, what in enumerate(events)]
    result.details.evidence = {"players": {"P01": {"events": entries}}}
    play.record("R1M1", result)
    player = play.league.players["P01"]
    assert player.left_move_unanswered is left
    # It has not been suspended, and a new registration gives the retries back.
    assert player.state == "ACTIVE"
    play.player(1, returning_id="P01")
    assert not play.league.players["P01"].left_move_unanswered


def test_a_suspended_player_that_comes_back_with_its_token_is_active_again() -> None:
    play = _play()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    play.player(1, returning_id="P01")
    assert (play.league.players["P01"].state, play.league.players["P01"].failures) == ("ACTIVE", 0)


def test_failures_and_answers_of_others_are_no_news() -> None:
    play = Play(players=2, referees=1)
    for name in ("P01", "REF01", "P99"):
        assert commands.note_failures(play.league, name, 5, play.now) == []
        assert commands.note_answer(play.league, name, play.now) == []
    play.begin()
    assert commands.note_failures(play.league, "P01", 0, play.now) == []
    assert commands.note_answer(play.league, "P01", play.now) == []


def test_a_suspended_player_is_done_when_the_league_is() -> None:
    play = _play(players=2)
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    play.record("R1M1", failed(play.match("R1M1"), "P01", failures=1))
    assert play.league.players["P01"].state == "SHUTDOWN"


def test_a_referee_that_goes_after_the_end_is_not_missed() -> None:
    play = _play(players=2).play_all()
    assert commands.referee_lost(play.league, "REF01", "silent", play.now) == []


def test_a_referee_that_returns_after_the_end_is_done_too() -> None:
    play = _play(players=2, referees=2)
    play.do(commands.referee_lost(play.league, "REF02", "silent", play.now))
    play.record("R1M1")
    play.do(commands.referee_returned(play.league, "REF02", play.now))
    assert play.league.referees["REF02"].state == "SHUTDOWN"


def test_a_referee_that_was_not_given_the_seed_draws_as_it_likes_and_nothing_is_flagged() -> None:
    play = Play(players=2)
    play.referee(1, meta={"token_scheme": UNSET})
    play.begin()
    match = play.match("R1M1")
    # It may draw what the seed gives, by chance, and that proves nothing.
    play.record("R1M1", drawn(match, drawn_number=number(match)))
    assert play.league.flags == {}
    audit = audited(play.log)
    assert audit.faults == 0
    assert audit.counts.draws_derived == 0
    assert audit.counts.not_checkable["the referee does not know the league's seed"] == 1
