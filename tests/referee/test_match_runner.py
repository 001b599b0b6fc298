"""One match between scripted players: the order of messages, time limits, retries, and every wrong answer."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.games import game
from leaguekit.games.base import Side
from leaguekit.match.draw import opens
from leaguekit.match.rulings import Ruling, verdict_by_fault
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.referee import match_runner, player_notifier
from leaguekit.referee.match_messages import MatchMessages
from leaguekit.sim import loop
from leaguekit.transport.base import CallerLate, CallerUnable, HttpAnswer, Unreachable
from leaguekit.transport.memory import MemoryCaller
from tests.agents.scene import (
    LEAGUE,
    NUMBER,
    OTHER,
    PARITY,
    REFEREE_TOKEN,
    Json,
    Refusal,
    Reply,
    Scene,
    after,
    changed,
    chose,
    derived,
    good,
    in_virtual_time,
    joined,
    player_token,
    player_url,
    promising,
    raw,
    refusing,
    silent,
)
from tests.marks import proves

# The course of a match


@in_virtual_time
async def test_both_are_invited_both_are_called_when_both_have_come_both_hear_the_end_and_then_the_manager(
    scene: Scene,
) -> None:
    scene.player("P01", PARITY, game_invitation=after(1), choose_parity_call=after(3))
    scene.player("P02", OTHER, game_invitation=after(2), choose_parity_call=after(1))
    await scene.start()
    await scene.play()
    course = [(one.at, one.to, one.method) for one in scene.arrivals if one.method not in ("ping", "register_referee")]
    assert [one for one in course if one[2] != "report_match_progress"] == [
        (0, "P01", "handle_game_invitation"),
        (0, "P02", "handle_game_invitation"),
        (2, "P01", "parity_choose"),
        (2, "P02", "parity_choose"),
        (5, "P01", "notify_match_result"),
        (5, "P02", "notify_match_result"),
        (5, "manager", "report_match_result"),
    ]


proves(
    test_both_are_invited_both_are_called_when_both_have_come_both_hear_the_end_and_then_the_manager,
    "000-L0521", "000-L0568", "000-L0630", "000-L0802", "000-L0803", "000-L0886", "000-L0942", "001-L0903",
    "001-L0904", "001-L0905", "001-L1030", "001-L1031", "001-L1044", "001-L1045", "001-L1046", "001-L1202",
    "001-L1203", "001-L1204", "001-L1316", "001-L1324", "001-L1325", "001-L1326", "002-L0209", "002-L0213",
    "002-L0215", "002-L0221", "002-L0224", "003-L0029", "003-L0030", "003-L0032b", "003-L0161a", "003-L0161c",
    "004-L0143", "004-L0144", "004-L0166", "004-L0184", "004-L0185", "004-L0213", "004-L0232", "004-L0233",
    "004-L0264", "004-L0265",
)  # fmt: skip


@pytest.mark.settles("000-L1377b", "001-L1939", "003-L0130b")
@in_virtual_time
async def test_all_messages_of_a_match_carry_its_ids_its_conversation_and_the_token_made_for_their_receiver(
    scene: Scene,
) -> None:
    scene.player("P01", PARITY, choose_parity_call=[changed(parity_choice="Even"), good])
    scene.player("P02", OTHER)
    await scene.start(max_concurrent=2)
    await scene.play()
    assignment = scene.assignment()
    shown = {"P01": assignment.player_A.shown_token, "P02": assignment.player_B.shown_token}
    kinds = set()
    for one in scene.arrivals:
        if one.to in shown:
            kinds.add(one.kind)
            assert one.params["auth_token"] == shown[one.to]
            assert one.params["conversation_id"] == "conv-r1m1-001"
            assert one.params["sender"] == "referee:REF01"
            assert (one.params["league_id"], one.params["round_id"], one.params["match_id"]) == (LEAGUE, 1, "R1M1")
            assert one.params.get("player_id", one.to) == one.to
    assert kinds == {"GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_ERROR", "GAME_OVER"}
    assert scene.manager.reports[0]["auth_token"] == REFEREE_TOKEN
    assert scene.manager.reports[0]["conversation_id"] == "conv-r1m1-001"


proves(
    test_all_messages_of_a_match_carry_its_ids_its_conversation_and_the_token_made_for_their_receiver,
    "000-L0557", "000-L0570", "000-L1378", "000-L1379", "000-L1439", "001-L1057b", "001-L1215b", "004-L0572",
)  # fmt: skip


@pytest.mark.proves("000-L0569", "000-L1516")
@in_virtual_time
async def test_an_invitation_names_role_opponent_game_and_attempt(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    await scene.play()
    for player, opponent, role in (("P01", "P02", "PLAYER_A"), ("P02", "P01", "PLAYER_B")):
        (invitation,) = scene.to(player, "GAME_INVITATION")
        assert invitation.params["player_id"] == player
        assert invitation.params["opponent_id"] == opponent
        assert invitation.params["role_in_match"] == role
        assert invitation.params["game_type"] == "even_odd"
        assert invitation.params["attempt"] == 1


@pytest.mark.proves("000-L0790", "000-L0792", "000-L0804", "000-L0805", "001-L1064b")
@in_virtual_time
async def test_a_call_says_until_when_and_tells_what_helps_to_decide(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02", game_invitation=after(2))
    await scene.start()
    await scene.play()
    (call,) = scene.to("P01", "CHOOSE_PARITY_CALL")
    assert call.params["deadline"] == "2025-01-15T10:30:32Z"
    commitment = call.params["context"].pop("draw_commitment")
    assert len(commitment) == 64
    assert call.params["context"] == {
        "opponent_id": "P02",
        "round_id": 1,
        "your_standings": {"wins": 2, "losses": 1, "draws": 0, "points": 6},
    }


@in_virtual_time
async def test_both_hear_the_same_end_with_choices_number_winner_and_reason(scene: Scene) -> None:
    scene.player("P01", PARITY), scene.player("P02", OTHER)
    await scene.start()
    await scene.play()
    (first,), (second,) = scene.to("P01", "GAME_OVER"), scene.to("P02", "GAME_OVER")
    assert first.params.pop("auth_token") != second.params.pop("auth_token")
    assert first.params == second.params
    result = first.params["game_result"]
    assert result["status"] == "WIN"
    assert result["winner_player_id"] == "P01"
    assert result["choices"] == {"P01": PARITY, "P02": OTHER}
    assert (result["drawn_number"], result["number_parity"]) == (NUMBER, PARITY)
    assert result["reason"] == first.params["reason"]
    assert result["reason"] == f"P01 chose {PARITY} and the number was {NUMBER}, which is {PARITY}"


proves(
    test_both_hear_the_same_end_with_choices_number_winner_and_reason,
    "000-L0712", "000-L0719", "000-L0737", "000-L0738", "000-L0739", "000-L0740", "000-L0741", "000-L1519",
    "001-L1186", "001-L1188", "001-L1189", "002-L0222", "002-L0268", "003-L0032a", "004-L0259",
)  # fmt: skip


@in_virtual_time
async def test_the_number_was_fixed_before_the_choices_and_anyone_can_check_it(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    report = await scene.play()
    commitment = scene.to("P02", "CHOOSE_PARITY_CALL")[0].params["context"]["draw_commitment"]
    result = scene.to("P02", "GAME_OVER")[0].params["game_result"]
    details = report["result"]["details"]
    assert commitment == result["draw_commitment"] == details["draw_commitment"]
    assert result["draw_nonce"] == details["draw_nonce"]
    assert opens(commitment, result["draw_nonce"], result["drawn_number"])


@pytest.mark.proves("000-L0930", "000-L0932", "000-L0944", "000-L1522")
@in_virtual_time
async def test_the_report_has_score_and_everything_that_matters(scene: Scene) -> None:
    scene.player("P01", OTHER), scene.player("P02", PARITY)
    await scene.start()
    report = await scene.play()
    assert (report["league_id"], report["round_id"], report["match_id"]) == (LEAGUE, 1, "R1M1")
    assert (report["game_type"], report["attempt"]) == ("even_odd", 1)
    assert report["result"]["winner"] == "P02"
    assert report["result"]["score"] == {"P01": 0, "P02": 3}
    details = report["result"]["details"]
    assert details["drawn_number"] == NUMBER
    assert details["choices"] == {"P01": OTHER, "P02": PARITY}
    assert (details["status"], details["ruling"]) == ("WIN", "WIN")
    assert details["failures"] == {"P01": 0, "P02": 0}
    assert details["position"] == {"number": NUMBER, "parity": PARITY, "choices": {"A": OTHER, "B": PARITY}}
    assert set(details["evidence"]["players"]) == {"P01", "P02"}


@pytest.mark.proves("000-L0707", "000-L0926", "000-L0933", "004-L0260")
@in_virtual_time
async def test_equal_choices_are_a_draw_for_a_point_each(scene: Scene) -> None:
    scene.player("P01", "odd"), scene.player("P02", "odd")
    await scene.start()
    report = await scene.play()
    assert report["result"]["winner"] is None
    assert report["result"]["score"] == {"P01": 1, "P02": 1}
    result = scene.to("P01", "GAME_OVER")[0].params["game_result"]
    assert (result["status"], result["winner_player_id"]) == ("DRAW", None)


@in_virtual_time
async def test_nothing_is_sent_to_a_player_between_the_others_choice_and_its_own(scene: Scene) -> None:
    scene.player("P01", "even"), scene.player("P02", "odd", choose_parity_call=after(20))
    await scene.start()
    await scene.play()
    assert [(one.at, one.kind) for one in scene.to("P02") if one.at <= 20] == [
        (0, "GAME_INVITATION"),
        (0, "CHOOSE_PARITY_CALL"),
        (20, "GAME_OVER"),
    ]
    told = [one.params for one in scene.arrivals if one.at < 20 and one.to in ("P02", "manager")]
    assert '"even"' not in json.dumps(told)


@pytest.mark.settles("001-L1205", "001-L1315")
@pytest.mark.proves("000-L0632", "000-L0633", "000-L1357", "000-L1575", "003-L0181", "004-L0234")
@in_virtual_time
async def test_the_report_waits_for_no_acknowledgement_of_the_end(scene: Scene) -> None:
    scene.player("P01", game_over=silent), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["details"]["status"] == "DRAW"
    assert scene.times_of("P01", "GAME_OVER") == [0]
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [player_notifier.SENT_AFTER_SECONDS]
    await asyncio.sleep(10)
    (over,) = scene.sent("P01", "GAME_OVER")
    assert over.ended - over.sent == pytest.approx(5)


# Other games


@pytest.mark.proves("003-L0012", "003-L0031", "002-L0025")
@in_virtual_time
async def test_rock_paper_scissors_is_played_with_the_general_messages(scene: Scene) -> None:
    first, second = scene.player("P01"), scene.player("P02")
    first.moves, second.moves = ["rock", "paper", "scissors"] * 3, ["scissors", "rock", "paper"] * 3
    await scene.start()
    report = await scene.play(game_type="rock_paper_scissors")
    assert report["result"]["winner"] == "P01"
    assert report["result"]["details"]["drawn_number"] is None
    assert "draw_commitment" not in report["result"]["details"]
    call = scene.to("P01", "GAME_MOVE_CALL")[0].params
    assert call["move_request"]["valid_options"] == ["rock", "paper", "scissors"]
    assert "draw_commitment" not in call["context"]


@pytest.mark.proves("003-L0012", "003-L0030")
@in_virtual_time
async def test_tic_tac_toe_is_played_turn_by_turn(scene: Scene) -> None:
    first, second = scene.player("P01"), scene.player("P02")
    first.moves, second.moves = [0, 4, 8], [1, 2]
    await scene.start()
    report = await scene.play(game_type="tic_tac_toe")
    asked = [one.to for one in scene.arrivals if one.kind == "GAME_MOVE_CALL"]
    assert asked == ["P01", "P02", "P01", "P02", "P01"]
    assert report["result"]["winner"] == "P01"
    assert report["result"]["details"]["choices"] == {"P01": "0,4,8", "P02": "1,2"}
    assert report["result"]["details"]["position"] == {"board": "XOO.X...X", "moves": [0, 1, 4, 2, 8]}
    last = scene.to("P01", "GAME_MOVE_CALL")[-1].params["move_request"]
    assert last["valid_options"] == [3, 5, 6, 7, 8]
    assert last["context"]["your_mark"] == "X"


@pytest.mark.settles("001-L1653")
@in_virtual_time
async def test_an_illegal_move_is_refused_and_asked_for_again(scene: Scene) -> None:
    first, second = scene.player("P01"), scene.player("P02")
    first.moves, second.moves = [0, 3, 1, 2], [3, 4]
    await scene.start()
    report = await scene.play(game_type="tic_tac_toe")
    (error,) = scene.errors("P01")
    assert error["error_code"] == "E057"
    assert error["context"]["valid_choices"] == [1, 2, 4, 5, 6, 7, 8]
    assert report["result"]["winner"] == "P01"


# Time limits and retries


@in_virtual_time
async def test_a_player_that_never_joins_is_invited_four_times_and_loses(scene: Scene) -> None:
    scene.player("P01", game_invitation=silent)
    scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert scene.times_of("P01", "GAME_INVITATION") == [0, 7, 14, 21]
    assert scene.times_of("P02", "GAME_INVITATION") == [0]
    assert scene.times_of("P01", "GAME_ERROR") == [5, 12, 19, 26]
    assert scene.times_of("P01", "GAME_OVER") == scene.times_of("P02", "GAME_OVER") == [26]
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [26]
    errors = scene.errors("P01")
    assert [error["error_code"] for error in errors] == ["E001"] * 4
    assert [error["retry_count"] for error in errors] == [1, 2, 3, 3]
    assert [error["retryable"] for error in errors] == [True, True, True, False]
    assert [error["retry_info"].get("next_retry_at") for error in errors] == [
        "2025-01-15T10:30:07Z",
        "2025-01-15T10:30:14Z",
        "2025-01-15T10:30:21Z",
        None,
    ]
    result = scene.to("P02", "GAME_OVER")[0].params["game_result"]
    assert (result["status"], result["winner_player_id"]) == ("TECHNICAL_LOSS", "P02")
    assert result["reason"] == "P01 did not answer the invitation in time - P02 wins by default"
    details = report["result"]["details"]
    assert report["result"]["score"] == {"P01": 0, "P02": 3}
    assert (details["ruling"], details["failures"]) == ("JOIN_TIMEOUT", {"P01": 4, "P02": 0})
    assert scene.errors("P02") == []


proves(
    test_a_player_that_never_joins_is_invited_four_times_and_loses,
    "000-L0524", "000-L0571", "000-L0580", "000-L0624", "000-L1313", "000-L1321", "000-L1330", "000-L1331",
    "000-L1353", "000-L1434", "000-L1435", "000-L1436", "000-L1529", "000-L1535", "000-L1573", "000-L1581",
    "000-L1582", "001-L0078", "001-L1032", "001-L1035", "001-L1036", "001-L1037", "001-L1038", "001-L1562",
    "001-L1563", "001-L1564", "001-L1652", "001-L1665", "001-L1666", "001-L1667", "001-L1668", "001-L1849",
    "001-L1956", "002-L0210", "002-L0231", "002-L0323", "002-L0330", "003-L0171", "003-L0179", "003-L0224",
    "003-L0261", "003-L0262", "003-L0265", "003-L0300", "003-L0301", "003-L0302", "004-L0507", "004-L0508",
    "004-L0511", "004-L0529b", "000-L1245",
)  # fmt: skip


@in_virtual_time
async def test_a_player_that_never_chooses_is_called_four_times_and_loses(scene: Scene) -> None:
    scene.player("P01", "odd")
    scene.player("P02", choose_parity_call=silent)
    await scene.start()
    report = await scene.play()
    assert scene.times_of("P02", "CHOOSE_PARITY_CALL") == [0, 32, 64, 96]
    assert scene.times_of("P02", "GAME_ERROR") == [30, 62, 94, 126]
    assert scene.times_of("P01", "CHOOSE_PARITY_CALL") == [0]
    deadlines = [call.params["deadline"] for call in scene.to("P02", "CHOOSE_PARITY_CALL")]
    assert deadlines[:2] == ["2025-01-15T10:30:30Z", "2025-01-15T10:31:02Z"]
    details = report["result"]["details"]
    assert report["result"]["winner"] == "P01"
    assert (details["ruling"], details["drawn_number"]) == ("CHOICE_TIMEOUT", None)
    assert details["choices"] == {"P01": "odd", "P02": None}
    result = scene.to("P01", "GAME_OVER")[0].params["game_result"]
    assert (result["drawn_number"], result["number_parity"]) == (None, None)


proves(
    test_a_player_that_never_chooses_is_called_four_times_and_loses,
    "000-L0711", "000-L0716", "000-L0752", "000-L0806", "000-L0815", "000-L0878", "000-L1355", "000-L1574",
    "001-L0079", "001-L1193", "001-L1194", "001-L1195", "001-L1196", "001-L1850", "001-L1957", "002-L0216",
    "002-L0245", "002-L0324", "003-L0180", "004-L0261", "000-L0943",
)  # fmt: skip


@pytest.mark.proves("001-L1565")
@in_virtual_time
async def test_a_player_that_hangs_at_everything_costs_the_match_a_moment_more(scene: Scene) -> None:
    scene.player("P01", game_invitation=silent, game_error=silent, game_over=silent)
    scene.player("P02")
    await scene.start()
    await scene.play()
    assert scene.times_of("P01", "GAME_ERROR") == [5, 12, 19, 26]
    assert scene.times_of("P01", "GAME_OVER") == [26 + player_notifier.SENT_AFTER_SECONDS]
    assert scene.times_of("P02", "GAME_OVER") == [26]
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [26 + 2 * player_notifier.SENT_AFTER_SECONDS]
    await asyncio.sleep(20)
    assert [one.ended - one.sent for one in scene.sent("P01", "GAME_ERROR")] == [10] * 4


@pytest.mark.settles("001-L1654", "002-L0331")
@pytest.mark.proves("000-L1315", "000-L1322", "000-L1583", "001-L1946", "001-L1947", "001-L1958", "003-L0255")
@in_virtual_time
async def test_a_player_that_cannot_be_reached_is_tried_four_times_two_seconds_apart(scene: Scene) -> None:
    scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert [one.sent for one in scene.sent("P01", "GAME_INVITATION")] == [0, 2, 4, 6]
    assert [one.params["error_code"] for one in scene.sent("P01", "GAME_ERROR")] == ["E009"] * 4
    assert report["result"]["details"]["ruling"] == "UNREACHABLE"
    assert report["result"]["details"]["failures"] == {"P01": 4, "P02": 0}
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [6]


@in_virtual_time
async def test_a_player_that_dies_after_joining_loses(scene: Scene) -> None:
    async def join_and_die(player: Any, call: Json) -> Json:
        scene.network.close(player_url("P01"))
        return await good(player, call)

    scene.player("P01", game_invitation=join_and_die), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["details"]["ruling"] == "UNREACHABLE"
    assert report["result"]["winner"] == "P02"


class CutOffCaller(MemoryCaller):
    """A caller that is cut off from the players of ``lost`` after the first move."""

    lost: tuple[str, ...] = ()
    has_moved = False

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        if self.has_moved and url in map(player_url, self.lost):
            raise Unreachable(f"no connection to {url}")
        answer = await super().post(url, body, seconds, max_bytes)
        self.has_moved |= b"GAME_MOVE_CALL" in body
        return answer


@pytest.mark.parametrize(("lost", "connected"), [(("P01", "P02"), [False, False]), (("P02",), [True, False])])
def test_in_a_game_with_turns_the_evidence_shows_whether_the_referee_was_cut_off_from_both_players(
    tmp_path: Path, lost: tuple[str, ...], connected: list[bool]
) -> None:
    async def main() -> None:
        scene = Scene(tmp_path, caller=type("_", (CutOffCaller,), {"lost": lost}))
        scene.player("P01").moves, scene.player("P02").moves = [0, 4, 8], [1, 2]
        await scene.start()
        details = (await scene.play(game_type="tic_tac_toe"))["result"]["details"]
        assert (details["ruling"], details["failures"]) == ("UNREACHABLE", {"P01": 0, "P02": 4})
        seen = details["evidence"]["players"]
        assert [seen[player].get("connected", True) for player in ("P01", "P02")] == connected
        await scene.close()
        assert scene.faults == []

    loop.run(main())


@pytest.mark.proves("003-L0301")
@in_virtual_time
async def test_a_player_that_answers_a_retry_plays_on(scene: Scene) -> None:
    scene.player("P01", game_invitation=[silent, silent, good], choose_parity_call=[silent, good])
    scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert scene.times_of("P01", "GAME_INVITATION") == [0, 7, 14]
    assert scene.times_of("P01", "CHOOSE_PARITY_CALL") == [14, 46]
    assert report["result"]["details"]["status"] == "DRAW"
    assert report["result"]["details"]["failures"]["P01"] == 0


@pytest.mark.proves("000-L1535")
@in_virtual_time
async def test_an_answer_after_the_limit_counts_for_nothing(scene: Scene) -> None:
    scene.player("P01", choose_parity_call=after(31)), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["details"]["ruling"] == "CHOICE_TIMEOUT"


@in_virtual_time
async def test_retries_may_back_off(scene: Scene) -> None:
    limits = m.TimeLimits(
        join_seconds=5,
        choice_seconds=30,
        game_over_seconds=5,
        max_retries=3,
        retry_seconds=1,
        backoff="exponential",
    )
    scene.player("P02")
    await scene.start()
    await scene.play(time_limits=limits)
    assert [one.sent for one in scene.sent("P01", "GAME_INVITATION")] == [0, 1, 3, 7]


@pytest.mark.settles("000-L0708", "000-L0927")
@pytest.mark.proves("000-L0943")
@in_virtual_time
async def test_when_both_stay_away_nobody_wins(scene: Scene) -> None:
    scene.player("P01", game_invitation=silent), scene.player("P02", game_invitation=silent)
    await scene.start()
    report = await scene.play()
    assert report["result"]["winner"] is None
    assert report["result"]["score"] == {"P01": 0, "P02": 0}
    assert report["result"]["details"]["status"] == "TECHNICAL_LOSS"
    assert scene.times_of("P01", "GAME_OVER") == [26]


@in_virtual_time
async def test_a_suspended_player_is_invited_once_and_without_retries(scene: Scene) -> None:
    scene.player("P01", game_invitation=silent), scene.player("P02")
    await scene.start()
    report = await scene.play(player_A=scene.assigned("P01", "R1M1", 1, state="SUSPENDED"))
    assert scene.times_of("P01", "GAME_INVITATION") == [0]
    assert report["result"]["details"]["ruling"] == "UNREACHABLE"


@in_virtual_time
async def test_a_suspended_player_that_answers_plays(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    report = await scene.play(player_A=scene.assigned("P01", "R1M1", 1, state="SUSPENDED"))
    assert report["result"]["details"]["status"] == "DRAW"
    assert report["result"]["details"]["failures"]["P01"] == 0


# Wrong answers


@pytest.mark.proves("000-L0616", "000-L0623", "000-L1397")
@in_virtual_time
async def test_a_player_that_declines_gives_the_match_away(scene: Scene) -> None:
    scene.player("P01", game_invitation=changed(accept=False)), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["score"] == {"P01": 0, "P02": 3}
    assert report["result"]["details"]["ruling"] == "REFUSED_INVITATION"
    assert scene.to("P02", "CHOOSE_PARITY_CALL") == []
    assert len(scene.to("P01", "GAME_OVER")) == 1


@pytest.mark.settles("000-L1325", "000-L1584")
@in_virtual_time
async def test_a_wrong_choice_is_told_at_once_and_asked_for_again_until_the_same_deadline(scene: Scene) -> None:
    scene.player("P01", PARITY, choose_parity_call=[after(10, changed(parity_choice="Even")), after(5)])
    scene.player("P02", OTHER)
    await scene.start()
    report = await scene.play()
    first, second = scene.to("P01", "CHOOSE_PARITY_CALL")
    assert (first.at, second.at) == (0, 10)
    assert first.params["deadline"] == second.params["deadline"] == "2025-01-15T10:30:30Z"
    order = [one.kind for one in scene.to("P01") if one.at == 10]
    assert order == ["GAME_ERROR", "CHOOSE_PARITY_CALL"]
    (error,) = scene.errors("P01")
    assert (error["error_code"], error["error_name"]) == ("E004", "INVALID_PARITY_CHOICE")
    assert error["error_description"] == "INVALID_PARITY_CHOICE"
    assert error["time_remaining"] == error["retry_info"]["time_remaining"] == 20
    assert (error["retryable"], error["retry_count"], error["max_retries"]) == (True, 1, 3)
    assert error["context"]["invalid_choice"] == "Even"
    assert error["context"]["valid_choices"] == ["even", "odd"]
    assert error["game_state"] == "COLLECTING_CHOICES"
    assert error["affected_player"] == error["player_id"] == "P01"
    assert error["action_required"] == "CHOOSE_PARITY_RESPONSE"
    assert "Technical loss" in error["consequence"]
    assert (report["result"]["winner"], report["result"]["details"]["ruling"]) == ("P01", "WIN")


proves(
    test_a_wrong_choice_is_told_at_once_and_asked_for_again_until_the_same_deadline,
    "000-L0855", "000-L0856", "000-L0865", "000-L0866b", "000-L0877", "000-L1284", "000-L1285", "000-L1314",
    "000-L1332", "000-L1333", "000-L1485", "000-L1528", "000-L1532", "003-L0253",
)  # fmt: skip


@pytest.mark.proves("000-L0857", "000-L1387", "000-L1388", "000-L1421")
@pytest.mark.parametrize("choice", ["Even", "EVEN", "e", "maybe", 0, False, ""])
@in_virtual_time
async def test_a_player_that_only_knows_wrong_choices_loses_with_the_fourth(scene: Scene, choice: Any) -> None:
    scene.player("P01", choose_parity_call=changed(parity_choice=choice)), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert scene.times_of("P01", "CHOOSE_PARITY_CALL") == [0, 0, 0, 0]
    assert [error["error_code"] for error in scene.errors("P01")] == ["E004"] * 4
    assert [error["retryable"] for error in scene.errors("P01")] == [True, True, True, False]
    assert all(error["time_remaining"] == 30 for error in scene.errors("P01"))
    assert report["result"]["details"]["ruling"] == "INVALID_ANSWER"
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [0]


_WRONG_JOINS: dict[str, tuple[Reply, str]] = {
    "another match": (changed(match_id="R9M9"), "E015"),
    "a token of its own making": (changed(auth_token="tok-p01-guessed"), "E012"),
    "the token of the other player": (changed(auth_token=derived("P02")), "E012"),
    "the token of another attempt": (changed(auth_token=derived("P01", attempt=2)), "E012"),
    "an empty token": (changed(auth_token=""), "E011"),
    "the id of the other player": (changed(player_id="P02"), "E055"),
    "the name of the other player": (changed(sender="player:P02"), "E055"),
    "the name of a referee": (changed(sender="referee:P01"), "E055"),
    "another message": (changed(message_type="GAME_OVER_ACK", status="ACKNOWLEDGED"), "E045"),
    "no such message": (changed(message_type="HELLO"), "E045"),
    "no accept": (changed(accept=...), "E003"),
    "null for accept": (changed(accept=None), "E003"),
    "text for accept": (changed(accept="true"), "E043"),
    "no match": (changed(match_id=...), "E003"),
    "another zone": (changed(timestamp="2025-01-15T10:30:00+02:00"), "E021"),
    "another zone for its arrival": (changed(arrival_timestamp="2025-01-15T10:30:00"), "E021"),
    "another protocol": (changed(protocol="league.v1"), "E018"),
    "an error": (refusing(), "E045"),
    "no JSON": (raw(b"<html>it works</html>"), "E040"),
    "an answer to nobody": (raw(b'{"jsonrpc":"2.0","result":{},"id":0}'), "E041"),
    "nothing at all": (raw(b"{}"), "E041"),
}


@pytest.mark.settles("000-L1326")
@pytest.mark.parametrize("name", _WRONG_JOINS)
@in_virtual_time
async def test_a_wrong_acknowledgement_is_told_and_asked_for_again(scene: Scene, name: str) -> None:
    reply, code = _WRONG_JOINS[name]
    scene.player("P01", game_invitation=[reply, good]), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert [error["error_code"] for error in scene.errors("P01")] == [code]
    assert [error["action_required"] for error in scene.errors("P01")] == ["GAME_JOIN_ACK"]
    assert report["result"]["details"]["status"] == "DRAW"


proves(
    test_a_wrong_acknowledgement_is_told_and_asked_for_again,
    "000-L0608b", "000-L0612", "000-L0621", "000-L1316", "000-L1440", "000-L1533", "000-L1534", "000-L1430",
    "000-L1431", "003-L0110", "003-L0252", "003-L0257", "003-L0130c",
)  # fmt: skip


@in_virtual_time
async def test_a_player_that_was_started_again_and_has_not_registered_yet_is_asked_again_later(scene: Scene) -> None:
    async def not_registered(player: Any, call: Json) -> Any:
        await asyncio.sleep(2.5)
        raise Refusal(4002, "Player not found", {"error_code": "E005"})

    scene.player("P01", choose_parity_call=[not_registered, not_registered, good]), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert scene.times_of("P01", "CHOOSE_PARITY_CALL") == [0, 4.5, 9]
    assert [error["error_code"] for error in scene.errors("P01")] == ["E009"] * 2
    assert report["result"]["details"]["status"] != "TECHNICAL_LOSS"


@pytest.mark.proves("000-L0830b", "000-L0876", "000-L0850", "000-L0849")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (changed(match_id="R9M9"), "E015"),
        (changed(auth_token="tok-p01-guessed"), "E012"),
        (changed(player_id="P02"), "E055"),
        (changed(parity_choice=None), "E004"),
        (changed(parity_choice=...), "E003"),
        (changed(message_type="GAME_MOVE_RESPONSE", move_data="even"), "E045"),
        (refusing(), "E045"),
    ],
)
@in_virtual_time
async def test_a_wrong_answer_to_a_call_is_told_and_asked_for_again(scene: Scene, reply: Reply, code: str) -> None:
    scene.player("P01", choose_parity_call=[reply, good]), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert [error["error_code"] for error in scene.errors("P01")] == [code]
    assert report["result"]["details"]["status"] == "DRAW"


@in_virtual_time
async def test_a_wrong_answer_is_in_the_transcript_as_it_came(scene: Scene) -> None:
    wrong = changed(parity_choice=..., note="z" * 100)
    scene.player("P01", choose_parity_call=[wrong, refusing(), good]), scene.player("P02")
    await scene.start()
    await scene.play()
    [transcript] = scene.transcripts
    first, second = (entry.wire for entry in transcript.entries if entry.wire)
    assert "z" * 100 in first
    assert '"error"' in second


@in_virtual_time
async def test_a_player_that_only_shows_wrong_tokens_loses_for_that(scene: Scene) -> None:
    scene.player("P01", game_invitation=changed(auth_token="tok-p01-guessed")), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["details"]["ruling"] == "WRONG_TOKEN"
    assert scene.times_of("manager", "MATCH_RESULT_REPORT") == [0]
    assert "guessed" not in json.dumps(scene.errors("P01"))


@pytest.mark.parametrize("token", [derived("P01"), player_token("P01"), ...])
@in_virtual_time
async def test_an_answer_shows_the_derived_token_the_real_one_or_none(scene: Scene, token: Any) -> None:
    fields = changed(auth_token=token)
    scene.player("P01", game_invitation=fields, choose_parity_call=fields), scene.player("P02")
    await scene.start()
    await scene.play()
    assert scene.errors("P01") == []


@in_virtual_time
async def test_without_anything_to_check_it_by_any_token_is_taken_in_an_answer(scene: Scene) -> None:
    scene.player("P01", game_invitation=changed(auth_token="tok-anything")), scene.player("P02")
    seat = scene.assigned("P01", "R1M1", 1)
    bare = m.AssignedPlayer(
        player_id="P01", endpoint=seat.endpoint, state="ACTIVE", record=seat.record, shown_token=seat.shown_token
    )
    await scene.start()
    await scene.play(player_A=bare)
    assert scene.errors("P01") == []


@in_virtual_time
async def test_answers_need_no_more_of_the_envelope_than_document_001_gives_them(scene: Scene) -> None:
    fields = changed(sender=..., conversation_id=...)
    scene.player("P01", game_invitation=fields, choose_parity_call=fields), scene.player("P02")
    await scene.start()
    await scene.play()
    assert scene.errors("P01") == []


@in_virtual_time
async def test_an_answer_of_five_megabytes_counts_as_none(scene: Scene) -> None:
    scene.player("P01", game_invitation=raw(b" " * 5_000_000)), scene.player("P02")
    await scene.start()
    report = await scene.play()
    assert report["result"]["details"]["ruling"] == "UNREACHABLE"


# What players post by themselves


def _message(scene: Scene, player: str, **changes: Any) -> Json:
    return joined(scene.players[player], {"match_id": "R1M1", "conversation_id": "conv-own"}, **changes)


def _choice(scene: Scene, player: str, choice: Any = "even", **changes: Any) -> Json:
    return chose(scene.players[player], {"match_id": "R1M1", "conversation_id": "conv-own"}, choice, **changes)


@pytest.mark.parametrize("token", [derived("P01"), player_token("P01")])
@in_virtual_time
async def test_a_player_may_post_its_answers_instead_of_returning_them(scene: Scene, token: str) -> None:
    player = scene.player("P01", PARITY, game_invitation=silent, choose_parity_call=silent)
    scene.player("P02", OTHER)
    await scene.start()
    await scene.assign()
    await asyncio.sleep(3)
    first = await player.post("game_join_ack", _message(scene, "P01", auth_token=token))
    await asyncio.sleep(4)
    second = await player.post("choose_parity_response", _choice(scene, "P01", PARITY, auth_token=token))
    for ack in (first, second):
        assert (ack["message_type"], ack["status"]) == ("MATCH_MESSAGE_ACK", "ACKNOWLEDGED")
        assert (ack["match_id"], ack["player_id"], ack["conversation_id"]) == ("R1M1", "P01", "conv-own")
    await scene.manager.reported.wait()
    assert scene.time() == 7
    assert scene.manager.reports[0]["result"]["winner"] == "P01"
    assert scene.errors("P01") == []


@in_virtual_time
async def test_after_the_fourth_wrong_answer_a_player_cannot_post_any_more(scene: Scene) -> None:
    player = scene.player("P01", PARITY, choose_parity_call=changed(parity_choice="Even"))
    scene.player("P02", OTHER, choose_parity_call=after(5))
    await scene.start()
    await scene.assign()
    await asyncio.sleep(2)
    assert (await player.post("choose_parity_response", _choice(scene, "P01", PARITY)))["code"] == 4005
    await scene.manager.reported.wait()
    assert scene.manager.reports[0]["result"]["winner"] == "P02"


@in_virtual_time
async def test_the_first_valid_answer_counts(scene: Scene) -> None:
    player = scene.player("P01", PARITY, choose_parity_call=after(5))
    scene.player("P02", OTHER, choose_parity_call=after(9))
    await scene.start()
    await scene.assign()
    await asyncio.sleep(2)
    assert (await player.post("choose_parity_response", _choice(scene, "P01", OTHER)))["status"] == "ACKNOWLEDGED"
    refused = await player.post("choose_parity_response", _choice(scene, "P01", PARITY))
    assert refused["code"] == 4005
    await scene.manager.reported.wait()
    assert scene.manager.reports[0]["result"]["details"]["choices"] == {"P01": OTHER, "P02": OTHER}


@in_virtual_time
async def test_a_player_may_decline_by_a_post(scene: Scene) -> None:
    player = scene.player("P01", game_invitation=silent)
    scene.player("P02")
    await scene.start()
    await scene.assign()
    await asyncio.sleep(1)
    await player.post("game_join_ack", _message(scene, "P01", accept=False))
    await scene.manager.reported.wait()
    assert scene.manager.reports[0]["result"]["details"]["ruling"] == "REFUSED_INVITATION"


@in_virtual_time
async def test_a_move_may_be_posted_too(scene: Scene) -> None:
    player = scene.player("P01", game_move_call=silent)
    scene.player("P02", game_move_call=silent)
    await scene.start()
    await scene.assign(game_type="tic_tac_toe")
    await asyncio.sleep(1)
    fields = _choice(scene, "P01") | {"message_type": "GAME_MOVE_RESPONSE"}
    wrong = await player.post("game_move_response", fields | {"move_data": 9})
    assert (wrong["code"], wrong["data"]["error_code"]) == (4004, "E057")
    not_its_turn = await player.post(
        "game_move_response",
        fields | {"move_data": 4, "player_id": "P02", "sender": "player:P02", "auth_token": derived("P02")},
    )
    assert (not_its_turn["code"], not_its_turn["data"]["error_code"]) == (4005, "E051")
    of_another_game = await player.post("choose_parity_response", _choice(scene, "P01"))
    assert (of_another_game["code"], of_another_game["data"]["error_code"]) == (-32602, "E045")
    assert (await player.post("game_move_response", fields | {"move_data": 4}))["status"] == "ACKNOWLEDGED"
    await asyncio.sleep(1)
    assert [one.params["move_request"]["context"]["board"] for one in scene.to("P02", "GAME_MOVE_CALL")] == [
        "....X...."
    ]


@pytest.mark.proves("000-L1228", "001-L0999", "001-L1155", "001-L1156", "001-L1157", "003-L0256", "003-L0254")
@in_virtual_time
async def test_a_post_that_does_not_count_is_refused_with_the_reason(scene: Scene) -> None:
    player = scene.player("P01", choose_parity_call=silent)
    scene.player("P02", game_invitation=after(2))
    await scene.start()
    await scene.assign()
    await asyncio.sleep(1)

    async def refused(method: str, message: Json) -> tuple[int, str, str]:
        error = await player.post(method, message)
        assert error["data"]["message_type"] == "GAME_ERROR"
        return error["code"], error["message"], error["data"]["error_code"]

    early = await refused("choose_parity_response", _choice(scene, "P01"))
    assert early == (4005, "Match state error", "E051")
    await asyncio.sleep(2)
    post = "choose_parity_response"
    joined_twice = await refused("game_join_ack", _message(scene, "P01"))
    assert joined_twice == (4005, "Match state error", "E051")
    assert await refused(post, _choice(scene, "P01", auth_token="tok-p01-no")) == (4001, "Invalid auth token", "E012")
    assert await refused(post, _choice(scene, "P01", auth_token=derived("P02"))) == (4001, "Invalid auth token", "E012")
    without = {name: value for name, value in _choice(scene, "P01").items() if name != "auth_token"}
    assert await refused(post, without) == (11, "AUTH_TOKEN_MISSING", "E011")
    assert await refused(post, _choice(scene, "P01", match_id="R7M7")) == (4003, "Match not found", "E050")
    assert (await refused(post, _choice(scene, "P01", player_id="P09")))[2] == "E005"
    unknown = await refused("game_join_ack", _message(scene, "P01", player_id="P09"))
    assert unknown == (4002, "Player not found", "E005")
    assert (await refused(post, _choice(scene, "P01", sender="player:P02")))[2] == "E055"
    assert await refused(post, _choice(scene, "P01", "Even")) == (4004, "Invalid choice", "E004")
    assert (await refused(post, _choice(scene, "P01", "x" * 10_240)))[2] == "E046"
    assert (await refused(post, {"message_type": "CHOOSE_PARITY_RESPONSE"}))[2] == "E003"
    # None of that counts as a fault of the player, or changes anything.
    assert scene.errors("P01") == []
    assert (await player.post(post, _choice(scene, "P01")))["status"] == "ACKNOWLEDGED"


@in_virtual_time
async def test_the_answer_to_a_wrong_choice_says_how_long_the_player_still_has(scene: Scene) -> None:
    player = scene.player("P01", choose_parity_call=silent)
    scene.player("P02")
    await scene.start()
    await scene.assign()
    await asyncio.sleep(12)
    error = await player.post("choose_parity_response", _choice(scene, "P01", "Even"))
    data = error["data"]
    assert (data["time_remaining"], data["retryable"]) == (18, True)
    assert data["context"]["invalid_choice"] == "Even"
    assert data["game_state"] == "COLLECTING_CHOICES"


@in_virtual_time
async def test_a_referee_that_cannot_check_a_token_takes_no_posts(scene: Scene) -> None:
    player = scene.player("P01", game_invitation=silent)
    scene.player("P02")
    seat = scene.assigned("P01", "R1M1", 1)
    bare = m.AssignedPlayer(player_id="P01", endpoint=seat.endpoint, state="ACTIVE", record=seat.record)
    await scene.start()
    await scene.assign(player_A=bare)
    assert (await player.post("game_join_ack", _message(scene, "P01")))["code"] == 4001


@in_virtual_time
async def test_joining_after_the_limit_is_answered_with_the_time_out(scene: Scene) -> None:
    player = scene.player("P01", game_invitation=silent)
    scene.player("P02")
    await scene.start()
    await scene.play()
    error = await player.post("game_join_ack", _message(scene, "P01"))
    assert (error["code"], error["message"]) == (-1, "Timeout waiting for GAME_JOIN_ACK")
    data = error["data"]
    assert (data["player_id"], data["timeout_seconds"]) == ("P01", 5)
    assert (data["retry_count"], data["max_retries"]) == (3, 3)
    # A message that was never asked for gets another error.
    assert (await player.post("choose_parity_response", _choice(scene, "P01")))["code"] == 4005


proves(
    test_joining_after_the_limit_is_answered_with_the_time_out,
    "001-L1001", "001-L1010", "001-L1012", "001-L1013", "001-L1014", "001-L1015",
)  # fmt: skip


@pytest.mark.proves("001-L1158", "001-L1167", "001-L1169", "001-L1170", "001-L1171", "001-L1172")
@in_virtual_time
async def test_choosing_after_the_limit_is_answered_with_the_time_out(scene: Scene) -> None:
    player = scene.player("P01", choose_parity_call=silent)
    scene.player("P02")
    await scene.start()
    await scene.play()
    error = await player.post("choose_parity_response", _choice(scene, "P01"))
    assert (error["code"], error["message"]) == (-1, "Timeout waiting for CHOOSE_PARITY_RESPONSE")
    data = error["data"]
    assert (data["player_id"], data["timeout_seconds"]) == ("P01", 30)
    assert (data["retry_count"], data["max_retries"]) == (3, 3)


# The referee's own faults


class LateCaller(MemoryCaller):
    """A caller that is itself late when it calls a player for its choice."""

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        if b"parity_choose" in body:
            await asyncio.sleep(seconds)
            raise CallerLate(900)
        return await super().post(url, body, seconds, max_bytes)


def test_a_referee_that_is_late_itself_voids_the_attempt(tmp_path: Path) -> None:
    async def main() -> None:
        scene = Scene(tmp_path, caller=LateCaller)
        scene.player("P01"), scene.player("P02")
        await scene.start()
        scene.manager.refusals = [Refusal(-32603)]
        void = await scene.play()
        assert (void["match_id"], void["attempt"]) == ("R1M1", 1)
        assert "late" in void["reason"]
        assert scene.times_of("manager", "MATCH_VOID_REPORT") == [30, 32]
        assert scene.manager.reports == scene.to("P01", "GAME_OVER") == []
        assert scene.transcripts[0].entries[-1].note.startswith("VOID")
        # The match may be played again.
        assert (await scene.assign("R1M1", 2))["status"] == "ACCEPTED"
        await scene.close()
        assert scene.faults == []

    loop.run(main())


class UnableCaller(MemoryCaller):
    """A caller that cannot call players for a number of seconds."""

    seconds = 0.0

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        if b"game_invitation" in body.lower() and asyncio.get_running_loop().time() < self.seconds:
            raise CallerUnable(url, "too many open files")
        return await super().post(url, body, seconds, max_bytes)


@pytest.mark.parametrize("seconds", [0.5, 25.0])
def test_a_call_that_the_referees_machine_cannot_make_is_made_later(tmp_path: Path, seconds: float) -> None:
    async def main() -> None:
        scene = Scene(tmp_path, caller=type("_", (UnableCaller,), {"seconds": seconds}))
        scene.player("P01"), scene.player("P02")
        await scene.start()
        report = await scene.play()
        assert report["result"]["details"]["failures"] == {"P01": 0, "P02": 0}
        assert report["result"]["details"]["ruling"] in ("WIN", "DRAW")
        await scene.close()
        assert scene.faults == []

    loop.run(main())


def test_a_referee_whose_machine_cannot_call_for_long_voids_the_attempt_and_rules_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        scene = Scene(tmp_path, caller=type("_", (UnableCaller,), {"seconds": math.inf}))
        scene.player("P01"), scene.player("P02")
        await scene.start()
        void = await scene.play()
        # Both calls end at the same time.
        player_id = void["could_not_call"]
        assert player_id in ("P01", "P02")
        assert void["reason"] == f"the referee could not call {player_id}: too many open files"
        assert scene.times_of("manager", "MATCH_VOID_REPORT") == [match_runner.MAX_UNABLE_SECONDS]
        assert scene.manager.reports == scene.to("P01", "GAME_OVER") == []
        await scene.close()
        assert scene.faults == []

    loop.run(main())


@in_virtual_time
async def test_a_game_that_breaks_down_voids_the_attempt(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(game("even_odd"), "play", broken, raising=False)
    scene.player("P01"), scene.player("P02")
    await scene.start()
    void = await scene.play()
    assert void["reason"] == "The referee or the game broke down (ZeroDivisionError()); the referee's log says where."
    assert scene.referee.matches.in_play == {}


@in_virtual_time
async def test_whatever_breaks_in_the_referee_itself_voids_the_attempt(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    monkeypatch.delattr("leaguekit.referee.match_messages.MatchMessages.call")
    assert "broke down" in (await scene.play())["reason"]


PROMISED = m.TimeLimits(join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=0, retry_seconds=2)


@in_virtual_time
async def test_a_player_that_promises_to_post_has_until_the_deadline(scene: Scene) -> None:
    player = scene.player("P01", PARITY, choose_parity_call=promising)
    scene.player("P02", OTHER)
    await scene.start()
    await scene.assign(profile="open")
    await asyncio.sleep(29)
    assert (await player.post("choose_parity_response", _choice(scene, "P01", PARITY)))["status"] == "ACKNOWLEDGED"
    await scene.manager.reported.wait()
    assert scene.manager.reports[0]["result"]["winner"] == "P01"
    assert scene.times_of("P01", "CHOOSE_PARITY_CALL") == [0]


@in_virtual_time
async def test_a_deadline_that_the_referee_itself_is_late_for_is_moved(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = scene.player("P01", choose_parity_call=promising)
    scene.player("P02")
    await scene.start()
    delays, sleep = [1.0], asyncio.sleep

    async def oversleep(seconds: float) -> None:
        await sleep(seconds + (delays.pop() if delays and seconds == 30 else 0))

    monkeypatch.setattr(asyncio, "sleep", oversleep)
    await scene.assign(profile="open", time_limits=PROMISED)
    await asyncio.sleep(31.5)
    assert (await player.post("choose_parity_response", _choice(scene, "P01")))["status"] == "ACKNOWLEDGED"


@pytest.mark.parametrize(("late", "moved"), [(0.04, 0.0), (0.06, 0.06), (1.0, 1.0)])
@in_virtual_time
async def test_a_deadline_is_moved_by_as_much_as_the_referee_is_late_beyond_50_ms(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, late: float, moved: float
) -> None:
    scene.player("P01", choose_parity_call=promising)
    scene.player("P02")
    await scene.start()
    delays, sleep = [late], asyncio.sleep

    async def oversleep(seconds: float) -> None:
        await sleep(seconds + (delays.pop() if delays and seconds == 30 else 0))

    monkeypatch.setattr(asyncio, "sleep", oversleep)
    await scene.play(profile="open", time_limits=PROMISED)
    details = scene.manager.reports[0]["result"]["details"]
    assert details["ruling"] == "CHOICE_TIMEOUT"
    ruled = details["evidence"]["players"]["P01"]["events"][-1]
    assert ruled["at"] == pytest.approx(30 + late + moved)
    # The delay is part of the evidence.
    assert ruled["late_ms"] == round((late + moved) * 1000)


@pytest.mark.parametrize("lates", [3, 4])
@in_virtual_time
async def test_a_referee_that_is_late_a_fourth_time_rules_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lates: int
) -> None:
    scene.player("P01", choose_parity_call=promising)
    scene.player("P02")
    await scene.start()
    delays, sleep = [0.1] * lates, asyncio.sleep

    async def oversleep(seconds: float) -> None:
        # Each extension is as long as the referee was late.
        is_alarm = seconds == 30 or 0.09 < seconds < 0.11
        await sleep(seconds + (delays.pop() if delays and is_alarm else 0))

    monkeypatch.setattr(asyncio, "sleep", oversleep)
    ended = await scene.play(profile="open", time_limits=PROMISED)
    assert delays == []
    if lates == 3:
        assert scene.manager.reports[0]["result"]["details"]["ruling"] == "CHOICE_TIMEOUT"
    else:
        assert scene.manager.reports == scene.to("P01", "GAME_OVER") == []
        assert "too late to judge P01: 400 ms" in ended["reason"]


@in_virtual_time
async def test_the_report_stays_small_whatever_happened(scene: Scene) -> None:
    wrong = changed(match_id="R9M9", sender="player:" + "é" * 90)
    replies = [wrong, wrong, wrong, silent] * 3 + [wrong]
    for player in ("P01", "P02"):
        scene.player(player, game_invitation=[*replies, silent], choose_parity_call=silent)
    await scene.start()
    await scene.play()
    assert len(msgspec.json.encode(scene.manager.reports[0])) < 10_240 - 500


@in_virtual_time
async def test_a_report_that_would_be_too_long_leaves_out_the_position_and_then_the_evidence(scene: Scene) -> None:
    given = scene.assignment()
    seats: dict[Side, m.AssignedPlayer] = {"A": given.player_A, "B": given.player_B}
    messages = MatchMessages(scene.world(), given, "REF01", "ab" * 32, "cd" * 16, seats=seats)

    def details(position: int, evidence: int) -> m.ResultDetails:
        about = {"players": {player: {"failures": 1} for player in ("P01", "P02")}, "more": "x" * evidence}
        faults: Any = {"A": Ruling.JOIN_TIMEOUT}
        verdict = verdict_by_fault(
            faults, {"A": "P01", "B": "P02"}, choices={"B": "y" * 100}, make_evidence=lambda: about
        )
        report = messages.report(verdict, {"board": "x" * position})
        assert len(encode(report)) < 9_500
        assert report.result.details.choices == {"P01": None, "P02": "y" * 100}
        assert report.result.details.failures == {"P01": 1, "P02": 1}
        return report.result.details

    assert details(100, 100).position == {"board": "x" * 100}
    assert details(10_000, 100).position is UNSET
    assert "more" in (details(10_000, 100).evidence or {})
    assert details(100, 10_000).evidence == {"left_out": "The evidence is too long for a report."}
