"""The referee and its manager: registration, assignments, reports, transcripts, progress."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.decoding import violations
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.referee import RefereeAgent, RegistrationRefused
from leaguekit.referee.ruling_journal import MARK_DELAY_SECONDS
from leaguekit.referee.transcripts import Transcript
from leaguekit.store.json_files import GATHERING_SECONDS
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import HttpAnswer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import Server, listen
from tests.agents.scene import (
    BEGAN,
    LEAGUE,
    LIMITS,
    MANAGER_URL,
    OTHER,
    PARITY,
    REFEREE_TOKEN,
    REFEREE_URL,
    Json,
    Player,
    Refusal,
    Scene,
    after,
    good,
    in_virtual_time,
    refusing,
    silent,
)
from tests.marks import proves
from tests.transport.running import of_requests

# Registration


@in_virtual_time
async def test_a_referee_pings_the_manager_and_registers_with_all_that_it_is(scene: Scene) -> None:
    referee = await scene.start(version="1.2.3", max_concurrent=4)
    assert [one.method for one in scene.arrivals] == ["ping", "register_referee"]
    (request,) = scene.manager.registrations
    assert request["message_type"] == "REFEREE_REGISTER_REQUEST"
    assert "auth_token" not in request
    assert request["referee_meta"] == {
        "display_name": "Referee Alpha",
        "version": "1.2.3",
        "game_types": ["connect_four", "even_odd", "prisoners_dilemma", "rock_paper_scissors", "tic_tac_toe"],
        "contact_endpoint": REFEREE_URL,
        "max_concurrent_matches": 4,
        "protocol_version": "2.1.0",
        "token_scheme": "derived",
    }
    assert (referee.referee_id, referee.league_id) == ("REF01", LEAGUE)
    state = scene.data_root / "agents" / LEAGUE / "referee-Referee%20Alpha" / "state.json"
    assert json.loads(state.read_text())["auth_token"] == REFEREE_TOKEN
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


proves(
    test_a_referee_pings_the_manager_and_registers_with_all_that_it_is,
    "000-L0087", "000-L0202", "000-L1346", "000-L1509", "001-L0096", "001-L0097", "001-L0098", "001-L1937",
    "002-L0135", "002-L0158", "003-L0028", "003-L0130a", "004-L0007", "004-L0008",
)  # fmt: skip


@pytest.mark.proves("001-L0234")
@in_virtual_time
async def test_a_referee_waits_for_a_manager_that_is_not_there_yet(scene: Scene) -> None:
    scene.network.close(MANAGER_URL)
    registering = asyncio.create_task(scene.start())
    await asyncio.sleep(20)
    pings = [round(one.sent, 3) for one in scene.exchanges]
    assert pings == [0, 0.25, 0.75, 1.75, 3.75, 7.75, 12.75, 17.75]
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    assert (await registering).referee_id == "REF01"
    assert scene.time() == 22.75


@pytest.mark.proves("000-L1571", "001-L0099", "002-L0325", "003-L0177")
@in_virtual_time
async def test_a_registration_whose_answer_was_lost_is_repeated_to_the_letter(scene: Scene) -> None:
    answering = scene.manager.handle
    lost = [True]

    async def losing(body: bytes, peer: Any) -> bytes | None:
        came = await answering(body, peer)
        if b"register_referee" in body and lost:
            lost.clear()
            await asyncio.Event().wait()
        return came

    scene.network.close(MANAGER_URL)
    scene.network.listen(MANAGER_URL, losing)
    await scene.start()
    first, second = scene.manager.registrations
    assert first == second
    assert scene.time() == 10.25


@in_virtual_time
async def test_a_token_is_offered_only_to_the_league_that_it_came_from(scene: Scene) -> None:
    await scene.start()
    await scene.referee.close()
    for league_id, offered in ((LEAGUE, REFEREE_TOKEN), ("league_2026", None), (None, None)):
        scene.manager.league_id = league_id
        scene.network.close(REFEREE_URL)
        await scene.start()
        await scene.referee.close()
        assert scene.manager.registrations[-1].get("auth_token") == offered


@in_virtual_time
async def test_a_state_file_that_cannot_be_read_is_left_aside(scene: Scene) -> None:
    path = scene.data_root / "agents" / LEAGUE / "referee-Referee%20Alpha" / "state.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    await scene.start()
    assert "auth_token" not in scene.manager.registrations[0]


@pytest.mark.proves("000-L0201")
@in_virtual_time
async def test_a_referee_that_is_rejected_says_why_and_asks_no_more(scene: Scene) -> None:
    scene.manager.rejects = "League already started"
    with pytest.raises(
        RegistrationRefused, match=r"^League already started\. Register before the start, or ask the operator\.$"
    ) as refused:
        await scene.start()
    assert refused.value.code == "E019"
    assert len(scene.manager.registrations) == 1


@in_virtual_time
async def test_a_manager_that_answers_with_an_error_has_refused(scene: Scene) -> None:
    async def refusing_manager(body: bytes, peer: Any) -> bytes:
        call = msgspec.json.decode(body)
        failures.append(call["method"])
        code = -32603 if len(failures) == 2 else 58
        error = {"code": code, "message": "NOT_ALLOWED", "data": {"error_code": "E058"}}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": call["id"], "error": error})

    failures: list[str] = []
    scene.network.close(MANAGER_URL)
    scene.network.listen(MANAGER_URL, refusing_manager)
    with pytest.raises(RegistrationRefused, match=r"^NOT_ALLOWED\. Ask the operator\.$") as refused:
        await scene.start()
    assert refused.value.code == "E058"
    # A manager that failed is asked again. A manager that refused is not.
    assert failures == ["ping", "register_referee"] * 2


@in_virtual_time
async def test_what_is_no_manager_is_called_so(scene: Scene) -> None:
    async def web_page(body: bytes, peer: Any) -> bytes:
        return b"<html>it works</html>"

    scene.network.close(MANAGER_URL)
    scene.network.listen(MANAGER_URL, web_page)
    with pytest.raises(RegistrationRefused, match="is not a League Manager"):
        await scene.start()


@in_virtual_time
async def test_old_matches_are_forgotten_but_never_played_twice(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaguekit.referee.match_supervisor.MAX_REMEMBERED", 2)
    scene.player("P01"), scene.player("P02")
    await scene.start(max_concurrent=1)
    for number in range(1, 5):
        await scene.assign(f"R{number}M1")
        await scene.ended()
    assert list(scene.referee.matches.remembered) == ["R3M1", "R4M1"]
    assert (await scene.assign("R1M1"))["status"] == "ACCEPTED"
    await scene.ended()
    assert len(scene.manager.reports) == 4


# Messages of the manager


def _announcement(scene: Scene, **changes: Any) -> Json:
    match = {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "player_A_id": "P01",
        "player_B_id": "P02",
        "referee_endpoint": REFEREE_URL,
    }
    return _from_manager(scene, message_type="ROUND_ANNOUNCEMENT", round_id=1, matches=[match]) | changes


def _from_manager(scene: Scene, **fields: Any) -> Json:
    common = {"auth_token": scene.manager.shown_token(), "league_id": LEAGUE}
    return {**m.envelope("league_manager", scene.now(), "conv-league"), **common, **fields}


def _round_completed(scene: Scene) -> Json:
    return _from_manager(
        scene, message_type="ROUND_COMPLETED", round_id=1, matches_completed=1, matches_played=1, next_round_id=None
    )


def _league_completed(scene: Scene) -> Json:
    champion = {"player_id": "P01", "display_name": "Agent P01", "points": 3}
    standings = [{"rank": 1, "player_id": "P01", "points": 3}]
    return _from_manager(
        scene,
        message_type="LEAGUE_COMPLETED",
        total_rounds=1,
        total_matches=1,
        champion=champion,
        final_standings=standings,
    )


@pytest.mark.proves("003-L0187", "003-L0190", "003-L0191", "003-L0192", "003-L0194")
@pytest.mark.proves("003-L0198a", "003-L0198b", "003-L0198c")
@in_virtual_time
async def test_rounds_and_the_leagues_end_are_acknowledged_and_lead_from_state_to_state(scene: Scene) -> None:
    assert scene.new_referee().state == "INIT"
    referee = await scene.start()
    assert referee.state == "REGISTERED"
    acks = [await scene.post("notify_round", _announcement(scene))]
    assert referee.state == "ACTIVE"
    acks.append(await scene.post("notify_round_completed", _round_completed(scene)))
    acks.append(await scene.post("notify_league_completed", _league_completed(scene)))
    assert referee.state == "SHUTDOWN"
    kinds = ["ROUND_ANNOUNCEMENT_ACK", "ROUND_COMPLETED_ACK", "LEAGUE_COMPLETED_ACK"]
    assert [ack["message_type"] for ack in acks] == kinds
    for ack in acks:
        assert (ack["status"], ack["referee_id"], ack["sender"]) == ("ACKNOWLEDGED", "REF01", "referee:REF01")
        assert (ack["conversation_id"], ack["auth_token"]) == ("conv-league", REFEREE_TOKEN)
    await referee.finished.wait()
    assert (await scene.assign())["reason"] == "The league is over."


@pytest.mark.proves("001-L0471", "001-L0732", "001-L0884")
@pytest.mark.parametrize("shown", [None, "drv-guessed", REFEREE_TOKEN])
@in_virtual_time
async def test_only_the_manager_can_speak_as_the_manager(scene: Scene, shown: str | None) -> None:
    await scene.start()
    calls = {
        "notify_round": _announcement(scene),
        "notify_round_completed": _round_completed(scene),
        "notify_league_completed": _league_completed(scene),
        "start_match": msgspec.to_builtins(scene.assignment()),
    }
    for method, message in calls.items():
        said = {name: value for name, value in message.items() if name != "auth_token"}
        error = await scene.post(method, said | ({} if shown is None else {"auth_token": shown}))
        assert (error["code"], error["data"]["error_code"]) == (3001, "E012")
        assert REFEREE_TOKEN not in json.dumps(error)
    assert scene.referee.state == "REGISTERED"


@in_virtual_time
async def test_the_managers_word_must_be_its_own_and_of_this_league(scene: Scene) -> None:
    await scene.start()
    other_sender = await scene.post("notify_round", _announcement(scene, sender="referee:REF02"))
    assert other_sender["data"]["error_code"] == "E055"
    other_league = await scene.post("notify_round", _announcement(scene, league_id="league_2024"))
    assert other_league["data"]["error_code"] == "E053"


@pytest.mark.proves("001-L0470", "001-L0731", "001-L0883")
@in_virtual_time
async def test_malformed_calls_are_refused_as_json_rpc_says(scene: Scene) -> None:
    await scene.start()
    for method in ("notify_round", "notify_round_completed", "notify_league_completed", "start_match"):
        assert (await scene.post(method, {}))["code"] == -32602
    unknown = await scene.post("register_player", {})
    assert unknown["code"] == -32601
    assert unknown["data"]["message_type"] == "GAME_ERROR"


@pytest.mark.proves("000-L0088", "003-L0026b")
@in_virtual_time
async def test_before_it_has_registered_nobody_can_be_its_manager(scene: Scene) -> None:
    scene.referee = scene.new_referee()
    scene.network.listen(REFEREE_URL, scene.referee.handle)
    assert (await scene.assign())["data"]["error_code"] == "E012"


@pytest.mark.proves("001-L1482", "002-L0129")
@in_virtual_time
async def test_a_league_error_is_acknowledged_and_logged(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    error = _from_manager(
        scene, message_type="LEAGUE_ERROR", error_code="E003", error_description="MISSING_REQUIRED_FIELD"
    )
    scene.referee = scene.new_referee()
    scene.network.listen(REFEREE_URL, scene.referee.handle)
    ack = await scene.post("LEAGUE_ERROR", error)
    assert (ack["sender"], ack["status"]) == ("referee:referee-alpha", "ACKNOWLEDGED")
    await scene.referee.register()
    ack = await scene.post("LEAGUE_ERROR", error)
    assert (ack["message_type"], ack["referee_id"], ack["status"]) == ("LEAGUE_ERROR_ACK", "REF01", "ACKNOWLEDGED")
    assert "The manager reports E003 MISSING_REQUIRED_FIELD." in caplog.text
    refused = await scene.post("LEAGUE_ERROR", error | {"auth_token": "tok-nobody"})
    assert refused["data"]["error_code"] == "E012"


@in_virtual_time
async def test_a_call_that_overtakes_the_answer_to_the_registration_waits_for_it(scene: Scene) -> None:
    answering = scene.manager.handle

    async def slow(body: bytes, peer: Any) -> bytes | None:
        came = await answering(body, peer)
        if b"register_referee" in body:
            acks.append(asyncio.create_task(scene.post("notify_round", _announcement(scene))))
            await asyncio.sleep(1)
        return came

    acks: list[asyncio.Task[Any]] = []
    scene.network.close(MANAGER_URL)
    scene.network.listen(MANAGER_URL, slow)
    await scene.start()
    assert (await acks[0])["status"] == "ACKNOWLEDGED"


@in_virtual_time
async def test_under_another_managers_scheme_any_token_is_taken_and_ours_is_shown_to_nobody(scene: Scene) -> None:
    scene.manager.scheme = None
    await scene.start()
    ack = await scene.post("notify_round", _announcement(scene, auth_token="whatever"))
    assert ack["status"] == "ACKNOWLEDGED"
    assert "auth_token" not in ack


@in_virtual_time
async def test_ping_says_who_is_there(scene: Scene) -> None:
    await scene.start()
    assert await scene.post("ping", {}) == {
        "status": "ok",
        "league_id": LEAGUE,
        "referee_id": "REF01",
        "state": "REGISTERED",
    }


@pytest.mark.proves("001-L1923", "001-L1924")
@in_virtual_time
async def test_where_a_match_stands_is_told_without_the_choices(scene: Scene) -> None:
    scene.player("P01", "even", game_invitation=after(2)), scene.player("P02", choose_parity_call=after(10))
    await scene.start()
    await scene.assign()
    await asyncio.sleep(1)
    state = {"match_id": "R1M1", "attempt": 1, "stage": "WAITING_FOR_PLAYERS", "entered_at": "2025-01-15T10:30:00Z"}
    state |= {"arrived": ["P02"], "deadline": "2025-01-15T10:30:05Z"}
    assert await scene.post("get_match_state", {"match_id": "R1M1"}) == state
    assert await scene.post("get_match_state", {}) == {"matches": [state]}
    await asyncio.sleep(2)
    state |= {"stage": "COLLECTING_CHOICES", "entered_at": "2025-01-15T10:30:02Z"}
    state |= {"arrived": ["P01", "P02"], "deadline": "2025-01-15T10:30:32Z"}
    assert await scene.post("get_match_state", {"match_id": "R1M1"}) == state
    await scene.manager.reported.wait()
    over = await scene.post("get_match_state", {"match_id": "R1M1"})
    assert (over["stage"], over["deadline"]) == ("FINISHED", None)
    assert (await scene.post("get_match_state", {"match_id": "R2M1"}))["data"]["error_code"] == "E050"
    assert (await scene.post("get_match_state", []))["data"]["error_code"] == "E043"


# Assignments


@in_virtual_time
async def test_an_assignment_that_is_repeated_starts_nothing_twice(scene: Scene) -> None:
    scene.player("P01", game_invitation=after(1)), scene.player("P02")
    await scene.start()
    acks = [await scene.assign(), await scene.assign()]
    await scene.manager.reported.wait()
    await scene.ended()
    acks.append(await scene.assign())
    await scene.ended()
    assert [(ack["status"], ack["match_id"], ack["attempt"], ack["reason"]) for ack in acks] == [
        ("ACCEPTED", "R1M1", 1, None)
    ] * 3
    assert len(scene.to("P01", "GAME_INVITATION")) == 1
    assert len(scene.manager.reports) == 1


@pytest.mark.proves("003-L0026a", "001-L1473")
@in_virtual_time
async def test_as_many_matches_are_played_at_once_as_it_takes_and_no_more(scene: Scene) -> None:
    for number in range(1, 7):
        scene.player(f"P0{number}", choose_parity_call=after(10 + number))
    await scene.start(max_concurrent=2)
    pairs = [("P01", "P02"), ("P03", "P04"), ("P05", "P06")]
    acks = [await scene.assign(f"R1M{number}", 1, pair) for number, pair in enumerate(pairs, 1)]
    assert [ack["status"] for ack in acks] == ["ACCEPTED", "ACCEPTED", "REJECTED"]
    assert acks[2]["reason"] == "This referee plays 2 matches at once, and has as many."
    await asyncio.sleep(1)
    assert [one.at for one in scene.arrivals if one.kind == "CHOOSE_PARITY_CALL"] == [0] * 4
    await scene.manager.reported.wait()
    # The manager may send the next match as soon as it has a report.
    assert (await scene.assign("R1M3", 1, pairs[2]))["status"] == "ACCEPTED"
    await scene.ended()
    assert [report["match_id"] for report in scene.manager.reports] == ["R1M1", "R1M2", "R1M3"]


@in_virtual_time
async def test_a_further_attempt_is_played_when_the_one_before_is_over(scene: Scene) -> None:
    scene.player("P01", choose_parity_call=after(10)), scene.player("P02")
    await scene.start(max_concurrent=1)
    await scene.assign()
    await asyncio.sleep(5)
    assert (await scene.assign("R1M1", 2))["status"] == "ACCEPTED"
    assert (await scene.assign("R1M1", 1))["status"] == "REJECTED"
    await scene.manager.reported.wait()
    await scene.ended()
    assert [(one.at, one.params["attempt"]) for one in scene.to("P01", "GAME_INVITATION")] == [(0, 1), (10, 2)]
    assert [one.params["conversation_id"] for one in scene.to("P01", "GAME_OVER")] == ["conv-r1m1-001", "conv-r1m1-002"]
    assert [report["attempt"] for report in scene.manager.reports] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"game_type": "chess"},
            f"This referee judges {', '.join(sorted(GAMES))}, not chess.",
        ),
        ({"match_seed": "no hex"}, "The assignment cannot be carried out"),
    ],
)
@in_virtual_time
async def test_what_it_cannot_play_it_does_not_take(scene: Scene, changes: Any, reason: str) -> None:
    await scene.start()
    ack = await scene.assign(**changes)
    assert ack["status"] == "REJECTED"
    assert ack["reason"].startswith(reason)


@in_virtual_time
async def test_a_referee_takes_no_game_that_it_did_not_declare_and_none_that_nobody_knows(scene: Scene) -> None:
    await scene.start(game_types=["even_odd", "chess"])
    assert (await scene.assign(game_type="tic_tac_toe"))["status"] == "REJECTED"
    unknown = await scene.assign(game_type="chess")
    assert (unknown["status"], "There is no game 'chess'" in unknown["reason"]) == ("REJECTED", True)


# Reports


def _journal(scene: Scene) -> Path:
    return scene.data_root / "agents" / LEAGUE / "referee-Referee%20Alpha" / "journal.jsonl"


@in_virtual_time
async def test_a_ruling_is_written_down_before_anybody_hears_of_it(scene: Scene) -> None:
    seen: list[str] = []

    async def look(player: Any, call: Json) -> Json:
        seen.append(_journal(scene).read_text())
        return await good(player, call)

    scene.player("P01", game_over=look), scene.player("P02")
    await scene.start()
    await scene.play()
    assert json.loads(seen[0])["ruling"]["match_id"] == "R1M1"
    assert REFEREE_TOKEN not in seen[0]
    assert '"delivered"' not in seen[0]
    await asyncio.sleep(MARK_DELAY_SECONDS + 0.01)
    assert '"delivered":{"match_id":"R1M1","attempt":1}' in _journal(scene).read_text()
    assert stat.S_IMODE(_journal(scene).stat().st_mode) == 0o600


@pytest.mark.proves("001-L1471", "002-L0326")
@in_virtual_time
async def test_a_result_is_reported_every_two_seconds_until_the_manager_has_it(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.network.close(MANAGER_URL)
    await scene.assign()
    await asyncio.sleep(5)
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    await scene.manager.reported.wait()
    reports = [one.sent for one in scene.exchanges if one.params.get("message_type") == "MATCH_RESULT_REPORT"]
    assert reports == [0, 2, 4]
    assert scene.time() == 6


@pytest.mark.parametrize(
    ("refusal", "is_given_up"),
    [
        (Refusal(5003, "Duplicate report"), True),
        (Refusal(54, "DUPLICATE_REPORT", {"error_code": "E054"}), True),
        (Refusal(5002, "Match not found", {"error_code": "E050"}), True),
        (Refusal(31, "LEAGUE_ALREADY_COMPLETE", {"error_code": "E031"}), True),
        (Refusal(-32602, "Invalid params", {"error_code": "E044"}), True),
        (Refusal(-32603, "Internal error"), False),
        (Refusal(59, "RATE_LIMITED", {"error_code": "E059"}), False),
        (Refusal(30, "LEAGUE_NOT_STARTED", {"error_code": "E030"}), False),
    ],
)
@in_virtual_time
async def test_what_the_manager_has_or_never_takes_is_reported_no_more(
    scene: Scene, refusal: Refusal, is_given_up: bool
) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.manager.refusals = [refusal]
    await scene.assign()
    await scene.ended()
    assert len(scene.to("manager", "MATCH_RESULT_REPORT")) == (1 if is_given_up else 2)
    await asyncio.sleep(MARK_DELAY_SECONDS + 0.01)
    assert '"delivered"' in _journal(scene).read_text()


@pytest.mark.proves("001-L1951")
@in_virtual_time
async def test_a_referee_whose_token_is_refused_registers_again_with_it_and_reports(scene: Scene) -> None:
    for number in range(1, 5):
        scene.player(f"P0{number}")
    await scene.start()
    new_token = tokens.new_token("REF01", b"n" * 32)
    scene.manager.refusals = [Refusal(5001, "Invalid auth token", {"error_code": "E012"})] * 2
    await scene.assign()
    await scene.assign("R1M2", 1, ("P03", "P04"))
    scene.manager.token = new_token
    await scene.ended()
    assert [one["auth_token"] for one in scene.manager.reports] == [new_token] * 2
    # The referee registers once, although two matches needed it.
    assert [one.get("auth_token") for one in scene.manager.registrations] == [None, REFEREE_TOKEN]
    assert (await scene.assign())["status"] == "ACCEPTED"


@in_virtual_time
async def test_a_ruling_that_nobody_took_is_delivered_after_a_restart(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.network.close(MANAGER_URL)
    await scene.assign()
    await asyncio.sleep(1)
    await scene.referee.close()
    scene.network.close(REFEREE_URL)
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    referee = await scene.start()
    await scene.ended()
    (report,) = scene.manager.reports
    assert (report["match_id"], report["attempt"], report["auth_token"]) == ("R1M1", 1, REFEREE_TOKEN)
    assert scene.manager.registrations[-1]["auth_token"] == REFEREE_TOKEN
    # The match was played. If the manager assigns it again, it is not played twice.
    assert (await scene.assign())["status"] == "ACCEPTED"
    assert len(scene.to("P01", "GAME_INVITATION")) == 1
    await referee.close()
    scene.network.close(REFEREE_URL)
    await scene.start()
    await scene.ended()
    assert len(scene.manager.reports) == 1


@in_virtual_time
async def test_a_late_copy_of_an_assignment_begins_nothing_again_after_a_restart(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    referee = await scene.start()
    await scene.play()
    for _ in range(2):
        await referee.close()
        scene.network.close(REFEREE_URL)
        referee = await scene.start()
        assert (await scene.assign())["status"] == "ACCEPTED"
        await scene.ended()
    assert len(scene.to("P01", "GAME_INVITATION")) == 1
    assert len(scene.manager.reports) == 1
    # A further attempt is played.
    await scene.play(attempt=2)
    assert len(scene.to("P01", "GAME_INVITATION")) == 2


@in_virtual_time
async def test_a_referee_that_is_not_taken_back_keeps_its_ruling_for_a_later_start(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.manager.refusals = [Refusal(5001, "Invalid auth token")]
    scene.manager.rejects = "League already started"
    await scene.assign()
    await scene.ended()
    assert scene.manager.reports == []
    await asyncio.sleep(MARK_DELAY_SECONDS + 0.01)
    assert '"delivered"' not in _journal(scene).read_text()


@in_virtual_time
async def test_a_ruling_that_cannot_be_written_down_is_none(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.referee.matches.journal.file.close()
    await scene.assign()
    await scene.ended()
    (void,) = scene.manager.voids
    assert void["reason"] == "The referee could not write its ruling down."
    assert scene.manager.reports == scene.to("P01", "GAME_OVER") == []


@pytest.mark.proves("001-L1472")
@in_virtual_time
async def test_the_match_is_written_to_its_file(scene: Scene) -> None:
    scene.player("P01", PARITY), scene.player("P02", OTHER)
    await scene.start()
    report = await scene.play()
    await asyncio.sleep(GATHERING_SECONDS + 0.01)
    path = scene.data_root / "data" / "matches" / LEAGUE / "R1M1.json"
    written = json.loads(path.read_text())
    assert written["result"] == report["result"]
    assert (written["match_id"], written["referee_id"], written["attempt"]) == ("R1M1", "REF01", 1)
    assert written["reported_at"] == times.format_timestamp(BEGAN)
    assert written["transcript"][0]["message_type"] == "GAME_INVITATION"
    assert "tok-" not in path.read_text()
    assert "drv-" not in path.read_text()


@in_virtual_time
async def test_the_league_is_finished_when_the_manager_has_every_report(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    referee = await scene.start()
    scene.manager.refusals = [Refusal(-32603)] * 2
    await scene.assign()
    await asyncio.sleep(1)
    assert (await scene.post("notify_league_completed", _league_completed(scene)))["status"] == "ACKNOWLEDGED"
    assert (await scene.post("notify_league_completed", _league_completed(scene)))["status"] == "ACKNOWLEDGED"
    assert not referee.finished.is_set()
    await referee.finished.wait()
    assert len(scene.manager.reports) == 1
    assert scene.time() >= 4


@pytest.mark.proves("000-L1358", "000-L1576", "001-L1327", "003-L0182")
@in_virtual_time
async def test_a_manager_has_ten_seconds_to_answer_a_report(scene: Scene) -> None:
    answering, hangs = scene.manager.handle, [True]

    async def hanging(body: bytes, peer: Any) -> bytes | None:
        if b"report_match_result" in body and hangs:
            hangs.clear()
            await asyncio.Event().wait()
        return await answering(body, peer)

    scene.player("P01"), scene.player("P02")
    await scene.start()
    scene.network.close(MANAGER_URL)
    scene.network.listen(MANAGER_URL, hanging)
    await scene.assign()
    await scene.manager.reported.wait()
    assert scene.time() == 12


@in_virtual_time
async def test_a_delivery_that_cannot_be_noted_is_only_repeated(scene: Scene) -> None:
    async def close_journal(player: Any, call: Json) -> Json:
        scene.referee.matches.journal.file.close()
        return await good(player, call)

    scene.player("P01", game_over=close_journal), scene.player("P02")
    await scene.start()
    await scene.play()
    assert len(scene.transcripts) == 1
    await scene.close()
    scene.network.close(REFEREE_URL)
    await scene.start()
    await scene.ended()
    assert [report["match_id"] for report in scene.manager.reports] == ["R1M1", "R1M1"]


# Transcripts and progress


@in_virtual_time
async def test_the_manager_gets_a_transcript_without_tokens(scene: Scene) -> None:
    scene.player("P01", choose_parity_call=[refusing(), silent, good]), scene.player("P02", game_over=silent)
    await scene.start()
    await scene.play()
    (transcript,) = scene.transcripts
    assert (transcript.match_id, transcript.attempt, transcript.auth_token) == ("R1M1", 1, REFEREE_TOKEN)
    told = [(one.seconds, one.what, one.player_id, one.message_type) for one in transcript.entries]
    assert told[:4] == [
        (0, "sent", "P01", "GAME_INVITATION"),
        (0, "sent", "P02", "GAME_INVITATION"),
        (0, "received", "P01", "GAME_JOIN_ACK"),
        (0, "received", "P02", "GAME_JOIN_ACK"),
    ]
    assert "ruled" in {one.what for one in transcript.entries}
    assert next(one.note for one in transcript.entries if one.what == "failed").startswith("E001")
    entries = msgspec.json.encode(transcript.entries)
    assert b"tok-" not in entries
    assert b"drv-" not in entries
    assert b"auth_token" not in entries


@in_virtual_time
async def test_a_long_transcript_keeps_its_beginning_and_its_end(scene: Scene) -> None:
    transcript = Transcript(scene.time)
    message = m.GameErrorAck(
        **m.envelope("player:P01", BEGAN, "conv"),
        auth_token="tok",
        status="ACKNOWLEDGED",
        player_id="P01",
        match_id="R1M1",
    )
    for number in range(2_000):
        transcript.add("received", "P01", message, note=f"{number} " + "x" * 3_000)
    entries = transcript.entries()
    assert len(msgspec.json.encode(entries)) <= 1024 * 1024
    assert entries[0].note.startswith("0 ")
    assert entries[-1].note.startswith("1999 ")
    (cut,) = [one for one in entries if one.note.endswith("too long.")]
    assert 10 < entries.index(cut) < len(entries) - 10


@pytest.mark.parametrize(
    ("statuses", "tried_for"),
    [([500], 6), ([429], 6), ([*[503] * 50, 500], 106), ([*[502] * 50, 204], 100)],
    ids=["error", "busy", "away, then error", "away, then taken"],
)
@in_virtual_time
async def test_a_transcript_that_is_not_taken_is_tried_a_few_times_while_the_manager_is_there(
    scene: Scene, statuses: list[int], tried_for: int
) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    tries: list[float] = []
    real = scene.referee._world.caller.post

    async def failing(url: str, *rest: Any) -> HttpAnswer:
        if "/transcripts/R1M1" in url:
            tries.append(scene.time())
            # The last one is given again and again.
            return HttpAnswer(statuses[min(len(tries), len(statuses)) - 1], b"")
        return await real(url, *rest)

    scene.referee._world.caller.post = failing  # type: ignore[method-assign]
    await scene.play()
    assert tries == [*range(0, tried_for + 1, 2)]


@pytest.mark.proves("001-L1926", "001-L1190")
@in_virtual_time
async def test_the_manager_hears_where_a_match_stands_that_takes_its_time(scene: Scene) -> None:
    scene.player("P01", game_invitation=after(3), choose_parity_call=after(8)), scene.player("P02")
    await scene.start()
    await scene.play()
    told = [(one.at, one.params["stage"], one.params["arrived"]) for one in scene.to("manager", "MATCH_PROGRESS")]
    assert told == [
        (0.25, "WAITING_FOR_PLAYERS", ["P02"]),
        (3.25, "COLLECTING_CHOICES", ["P01", "P02"]),
    ]
    first, second = scene.manager.progress
    assert (first["entered_at"], first["deadline"]) == ("2025-01-15T10:30:00Z", "2025-01-15T10:30:05Z")
    assert (second["entered_at"], second["deadline"]) == ("2025-01-15T10:30:03Z", "2025-01-15T10:30:33Z")
    stages = [one.params["game_state"] for one in scene.arrivals if "game_state" in one.params]
    assert stages == []
    assert (await scene.post("get_match_state", {"match_id": "R1M1"}))["stage"] == "FINISHED"


@in_virtual_time
async def test_progress_has_the_deadline_of_the_try_that_runs_and_its_number(scene: Scene) -> None:
    scene.player("P01", choose_parity_call=silent), scene.player("P02")
    await scene.start()
    await scene.play()
    told = [
        (one.at, one.params["deadline"][-6:-1], *(one.params[name] for name in ("try_number", "max_tries", "missing")))
        for one in scene.to("manager", "MATCH_PROGRESS")
        if one.params["stage"] == "COLLECTING_CHOICES"
    ]
    # Each try has 30 seconds, and there are 2 seconds before each further one.
    tries = [(0.25, "30:30", 1), (30.25, "31:02", 2), (62.25, "31:34", 3), (94.25, "32:06", 4)]
    assert told == [(*one, 4, ["P01"]) for one in tries]


@in_virtual_time
async def test_progress_never_delays_a_match_and_other_managers_hear_of_none(scene: Scene) -> None:
    scene.manager.scheme = None
    scene.player("P01", choose_parity_call=after(8)), scene.player("P02")
    await scene.start()
    await scene.play()
    assert scene.manager.progress == scene.transcripts == []
    assert len(scene.manager.reports) == 1


@in_virtual_time
async def test_no_progress_shows_how_a_match_ended_while_its_ruling_is_written(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    await scene.start()
    journal = scene.referee.matches.journal
    write = journal.write

    async def write_slowly(entry: bytes) -> None:
        await asyncio.sleep(5)
        await write(entry)

    journal.write = write_slowly  # type: ignore[method-assign]
    await scene.play()
    assert scene.to("manager", "MATCH_RESULT_REPORT")[0].at == 5
    assert scene.manager.progress == []


@in_virtual_time
async def test_progress_that_nobody_takes_is_old_but_a_transcript_waits_for_the_manager(scene: Scene) -> None:
    scene.player("P01", game_invitation=after(1), choose_parity_call=after(8)), scene.player("P02")
    await scene.start()
    scene.network.close(MANAGER_URL)
    await scene.assign()
    await asyncio.sleep(9.5)
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    await scene.manager.reported.wait()
    scene.network.close(MANAGER_URL)
    await asyncio.sleep(600)
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    back = scene.time()
    await scene.ended()
    assert scene.manager.progress == []
    assert scene.time() - back <= 2
    assert len(scene.transcripts) > 100


@in_virtual_time
async def test_after_the_league_a_manager_that_is_gone_is_not_waited_for(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02")
    referee = await scene.start()
    await scene.assign()
    await scene.manager.reported.wait()
    assert (await scene.post("notify_league_completed", _league_completed(scene)))["status"] == "ACKNOWLEDGED"
    scene.network.close(MANAGER_URL)
    async with asyncio.timeout(10):
        await referee.finished.wait()


@in_virtual_time
async def test_after_a_restart_the_players_hear_how_their_match_ended_before_the_manager_does(scene: Scene) -> None:
    scene.player("P01"), scene.player("P02", game_over=[silent, good])
    await scene.start()
    scene.network.close(MANAGER_URL)
    await scene.assign()
    await asyncio.sleep(1)
    await scene.referee.close()
    scene.network.close(REFEREE_URL)
    scene.network.listen(MANAGER_URL, scene.manager.handle)
    told = [len(scene.to(player, "GAME_OVER")) for player in ("P01", "P02")]
    await scene.start()
    await scene.ended()
    assert [len(scene.to(player, "GAME_OVER")) for player in ("P01", "P02")] == [told[0] + 1, told[1] + 1]
    first, second = (scene.to("P01", "GAME_OVER")[place].params for place in (0, -1))
    assert first == second
    (report,) = scene.to("manager", "MATCH_RESULT_REPORT")[-1:]
    assert report.at >= scene.to("P02", "GAME_OVER")[-1].at


@in_virtual_time
async def test_a_referee_can_be_closed_in_the_middle_of_everything(scene: Scene) -> None:
    for player in ("P01", "P03"):
        scene.player(player, game_invitation=silent, game_error=silent)
    scene.player("P02"), scene.player("P04")
    referee = await scene.start()
    await scene.assign()
    await asyncio.sleep(5)
    await scene.assign("R1M2", 1, ("P03", "P04"))
    await scene.post("notify_league_completed", _league_completed(scene))
    await referee.close()
    assert asyncio.all_tasks() - {asyncio.current_task()} == set(scene.network._answering)


@in_virtual_time
async def test_closing_breaks_off_what_a_replaced_attempt_still_tells_its_players(scene: Scene) -> None:
    """The further attempt begins while the ruling on the first is still being written."""
    scene.player("P01", game_over=silent, choose_parity_call=[after(10), good]), scene.player("P02")
    referee = await scene.start(max_concurrent=1)
    await scene.assign()
    await asyncio.sleep(5)
    await scene.assign("R1M1", 2)
    await scene.ended()
    assert [one.params["conversation_id"] for one in scene.to("P01", "GAME_OVER")] == ["conv-r1m1-001", "conv-r1m1-002"]
    await referee.close()
    assert asyncio.all_tasks() - {asyncio.current_task()} == set(scene.network._answering)


@dataclass(frozen=True, slots=True)
class SlowWorld(World):
    """A world whose disk takes a second."""

    async def blocking(self, work: Callable[..., Any], *arguments: Any) -> Any:
        await asyncio.sleep(1)
        return work(*arguments)


@in_virtual_time
async def test_closing_breaks_off_what_a_forgotten_match_still_tells_its_players(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The match is forgotten for a newer one while its ruling is still being written."""
    monkeypatch.setattr("leaguekit.referee.match_supervisor.MAX_REMEMBERED", 1)
    world = scene.world()
    slow = SlowWorld(world.caller, world.data_root, world.now, world.entropy, inline=True)
    monkeypatch.setattr(scene, "world", lambda: slow)
    scene.player("P01", game_over=silent), scene.player("P02")
    referee = await scene.start()
    await scene.assign()
    await asyncio.sleep(0.5)
    await scene.assign("R1M2")
    assert list(referee.matches.remembered) == ["R1M2"]
    await scene.ended()
    await referee.close()
    assert asyncio.all_tasks() - {asyncio.current_task()} == set(scene.network._answering)


@in_virtual_time
async def test_a_match_is_not_idle_while_a_message_waits_for_the_one_before_it(scene: Scene) -> None:
    """GAME_OVER waits for GAME_ERROR, which is acknowledged late. The match is examined between the two."""
    were_idle: list[bool] = []
    examining: list[asyncio.Task[None]] = []

    async def examine(runner: MatchRunner) -> None:
        await runner._notifier._sent["A"].wait()
        were_idle.append(runner.is_idle)

    async def slow(player: Player, call: Json) -> Json:
        examining.append(asyncio.create_task(examine(scene.referee.matches.remembered["R1M1"])))
        return await after(0.05)(player, call)

    scene.player("P01", game_invitation=silent, game_error=slow), scene.player("P02")
    await scene.start()
    await scene.assign()
    await scene.ended()
    assert [one.kind for one in scene.to("P01")][-2:] == ["GAME_ERROR", "GAME_OVER"]
    assert were_idle == [False] * 4


# Over real sockets


@pytest.mark.proves("001-L0008")
def test_a_match_is_played_over_real_http(tmp_path: Path) -> None:
    async def main() -> None:
        scene = Scene(tmp_path)
        scene.player("P01", PARITY), scene.player("P02", OTHER)
        handlers: list[Any] = [scene.manager.handle, scene.players["P01"].handle, scene.players["P02"].handle]
        sockets = [listen("127.0.0.1", 0) for _ in range(4)]
        ports = [sock.getsockname()[1] for sock in sockets]
        urls = [f"http://127.0.0.1:{port}/mcp" for port in ports]
        caller = HttpCaller(AddressPolicy.local())
        referee = RefereeAgent(World(caller, data_root=tmp_path), manager_url=urls[0], endpoint=urls[3], name="Alpha")
        servers = [
            Server(of_requests(handler), sockets=[sock], max_bytes=1_048_576, too_large=b"{}")
            for handler, sock in zip([*handlers, referee.handle], sockets, strict=True)
        ]
        for server in servers:
            await server.start()
        await referee.register()
        assignment = scene.assignment(
            player_A=scene.assigned("P01", "R1M1", 1, endpoint=urls[1]),
            player_B=scene.assigned("P02", "R1M1", 1, endpoint=urls[2]),
            time_limits=LIMITS,
        )
        body = b'{"jsonrpc":"2.0","method":"start_match","params":%b,"id":1}' % msgspec.json.encode(assignment)
        ack = msgspec.json.decode((await caller.post(urls[3], body, 5)).body)["result"]
        assert ack["status"] == "ACCEPTED"
        async with asyncio.timeout(20):
            await scene.manager.reported.wait()
            await scene.post_over(caller, urls[3], "notify_league_completed", _league_completed(scene))
            await referee.finished.wait()
        assert scene.manager.reports[0]["result"]["winner"] == "P01"
        kinds = [one.kind for one in scene.arrivals if one.kind not in ("ping", "MATCH_PROGRESS")]
        assert sorted(kinds[1:3]) == ["GAME_INVITATION"] * 2
        assert kinds[-3:] == ["GAME_OVER", "GAME_OVER", "MATCH_RESULT_REPORT"]
        assert all(violations(one.params) == [] for one in scene.arrivals if one.method != "ping")
        await referee.close()
        await caller.close()
        for server in servers:
            await server.stop()

    asyncio.run(main())
