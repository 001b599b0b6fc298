"""A match in words: why it ended so, and what was said in it."""

from __future__ import annotations

from typing import Any

import pytest

from leaguekit.games import GAMES
from leaguekit.games.even_odd import EvenOdd
from leaguekit.league import commands
from leaguekit.league.records import Match
from leaguekit.league.words import MOST_OF_MESSAGE, entry_in_words, message_in_words, reason, replay
from leaguekit.protocol.messages import MatchResult, ResultDetails, TranscriptEntry
from tests.league.play import Play, drawn, failed, won

AT = "2025-01-15T10:30:00Z"


def match(result: MatchResult | None = None) -> Match:
    one = Match(id="R1M1", round_id=1, a="P01", b="P02", attempt=1)
    if result is not None:
        one.end(result, AT)
    return one


def test_a_match_is_played_again_to_say_why_it_ended_so() -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", won(play.match("R1M1"), "P02"))
    told = reason("even_odd", play.match("R1M1"))
    assert told.startswith("P02 chose ")
    assert " and the number was " in told
    found = replay("even_odd", play.match("R1M1"))
    assert found is not None
    assert found.view["number"] == play.match("R1M1").outcome.drawn_number
    assert found.reason == told


def test_the_last_position_of_a_game_is_shown_as_everybody_may_see_it() -> None:
    details = ResultDetails(choices={"P01": "0,1,2", "P02": "3,4"}, drawn_number=None, status="WIN", ruling="WIN")
    one = match(MatchResult(winner="P01", score={"P01": 3, "P02": 0}, details=details))
    found = replay("tic_tac_toe", one)
    assert found is not None
    assert found.view == {"board": "XXXOO....", "moves": [0, 3, 1, 4, 2]}
    assert found.reason == "P01 has three X in a line, cells 0, 1, 2"


def test_a_technical_loss_is_told_by_its_ruling() -> None:
    one = match()
    one.end(failed(one, "P02"), AT)
    assert reason("even_odd", one) == "P02 did not answer the invitation in time"
    assert replay("even_odd", one) is None
    one.end(failed(one, "P01", "P02"), AT)
    assert reason("even_odd", one) == "P01 and P02 both lose technically (JOIN_TIMEOUT)"


@pytest.mark.parametrize("ruling", ["SOMETHING ELSE", "VOID"])
def test_a_ruling_that_cannot_be_one_is_shown_as_it_is(ruling: str) -> None:
    one = match()
    result = failed(one, "P02")
    result.details.ruling = ruling
    one.end(result, AT)
    assert reason("even_odd", one) == f"P01 wins, P02 loses technically ({ruling})"


def test_what_the_operator_settled_is_told_without_choices() -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", drawn(play.match("R1M1")))
    details = ResultDetails(choices={"P01": None, "P02": None}, drawn_number=None, status="WIN")
    settled = MatchResult(winner="P01", score={"P01": 3, "P02": 0}, details=details)
    play.do(commands.correct(play.league, "R1M1", settled, "the referee erred", play.now))
    assert replay("even_odd", play.match("R1M1")) is None
    assert reason("even_odd", play.match("R1M1")) == "P01 beats P02"


def test_a_match_that_has_not_ended_has_no_reason() -> None:
    assert replay("even_odd", match()) is None
    assert reason("even_odd", match()) == ""


def test_a_game_that_cannot_read_its_choices_is_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dumb(EvenOdd):
        def moves(self, choice: str) -> None:
            return None

    monkeypatch.setitem(GAMES, "even_odd", Dumb())
    one = match()
    one.end(won(one, "P01"), AT)
    assert replay("even_odd", one) is None
    assert reason("even_odd", one).startswith("P01 beats P02 (")


def entry(what: Any, **more: Any) -> TranscriptEntry:
    return TranscriptEntry(seconds=1.5, what=what, **more)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (
            entry("sent", player_id="P01", message_type="GAME_INVITATION", body={"role_in_match": "PLAYER_A"}),
            "to   P01   GAME_INVITATION: you are PLAYER_A against None",
        ),
        (
            entry("received", player_id="P01", message_type="GAME_JOIN_ACK", body={"accept": True}),
            "from P01   GAME_JOIN_ACK: accepted",
        ),
        (entry("failed", player_id="P02", note="no answer"), "with P02   failed no answer"),
        (entry("failed", note="a hole"), "           failed a hole"),
        (entry("ruled", note="WIN"), "           ruled WIN"),
        (
            entry("received", player_id="P02", message_type="GAME_OVER_ACK", note="late"),
            "from P02   GAME_OVER_ACK; late",
        ),
    ],
)
def test_a_line_of_a_transcript_says_to_whom_and_what(one: TranscriptEntry, told: str) -> None:
    assert entry_in_words(one) == told


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        ("GAME_JOIN_ACK", {"accept": "yes"}, "declined"),
        ("CHOOSE_PARITY_CALL", {"deadline": "10:00"}, "even or odd? until 10:00"),
        (
            "CHOOSE_PARITY_CALL",
            {"deadline": "10:00", "context": {"draw_commitment": "0123456789abcdef"}},
            "even or odd? until 10:00; draw committed to as 0123456789ab…",
        ),
        (
            "GAME_MOVE_CALL",
            {"move_request": {"move_type": "place_mark", "valid_options": [1, 2]}, "deadline": "10:00", "context": 7},
            "place_mark, one of [1,2] until 10:00",
        ),
        ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}, '"even"'),
        ("GAME_MOVE_RESPONSE", {"move_data": {"cell": 3}}, '{"cell":3}'),
        ("GAME_ERROR", {"error_code": "E004", "error_name": "X", "context": {"detail": "No."}}, "E004 X: No."),
        ("GAME_OVER", {"reason": "P01 won"}, "P01 won"),
        ("GAME_OVER", {}, ""),
        ("GAME_OVER_ACK", {"status": "ACKNOWLEDGED"}, ""),
        ("WHATEVER", {"a": 1}, '{"a":1}'),
    ],
)
def test_a_message_is_told_in_words_whatever_is_in_it(kind: str, body: dict[str, Any], told: str) -> None:
    assert message_in_words(kind, body) == told


def test_of_a_long_message_only_the_beginning_is_told() -> None:
    told = message_in_words("WHATEVER", {"a": "x" * 1_000})
    assert (len(told), told[-1]) == (MOST_OF_MESSAGE + 1, "…")
