"""Each trait alone: a fake that is proper but for it does what the trait says, and nothing else out of the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from tests.agents.leagues import in_virtual_time
from tests.zoo.dialects import TIC_TAC_TOE, TRAITS, Died
from tests.zoo.dialects.forms import BROADCASTS, sealed
from tests.zoo.dialects.scene import AROUND, ENDPOINT, FIXED, MATCH, REFEREE, Scene, message, put
from tests.zoo.dialects.traits import INSISTENCES, REFUSALS

CHOICES = ("parity_choose", "choose_parity")

Check = Callable[[Scene], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def shows(*traits: str) -> Callable[[Check], Check]:
    """The check that a fake with one of these traits alone has it."""

    def keep(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(traits, check))
        return check

    return keep


@pytest.mark.parametrize("trait", TRAITS)
@in_virtual_time
async def test_a_trait_does_what_it_says(trait: str) -> None:
    scene = Scene(TIC_TAC_TOE.name if trait == "envelope" else f"only-{trait}")
    await CHECKS[trait](scene)
    await scene.fake.leave()


def _trait(scene: Scene) -> str:
    return scene.fake.species.name.removeprefix("only-")


@shows("rpc", "rpc-choose", "rpc-parity")
async def _knows_001(scene: Scene) -> None:
    for kind in ("GAME_INVITATION", "GAME_OVER", "GAME_ERROR", *BROADCASTS):
        assert "result" in (await scene.say("rpc", kind)).json
    known = {"rpc": 2, "rpc-choose": 1, "rpc-parity": 1}[_trait(scene)]
    answers = [(await scene.call(name, message("CHOOSE_PARITY_CALL"))).json for name in CHOICES]
    assert ["result" in answer for answer in answers] == [_trait(scene) != "rpc-choose", _trait(scene) != "rpc-parity"]
    assert len(scene.fake.chose) == known
    refused = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert refused == [-32601] * (2 - known)


@shows("type")
async def _knows_types(scene: Scene) -> None:
    for kind in (*MATCH, "GAME_ERROR", *BROADCASTS):
        assert "result" in (await scene.say("type", kind)).json
        assert "error" in (await scene.say("rpc", kind)).json


@shows("tools")
async def _knows_tools(scene: Scene) -> None:
    kinds = ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_OVER_ACK")
    for kind, answer in zip(MATCH, kinds, strict=True):
        content = (await scene.say("tools", kind)).json["result"]["content"]
        assert json.loads(content[0]["text"])["message_type"] == answer
    for kind in ("GAME_ERROR", *BROADCASTS):
        assert "error" in (await scene.say("tools", kind)).json
    assert "error" in (await scene.call("initialize", {})).json


@shows("message")
async def _reads_params_message(scene: Scene) -> None:
    for number, kind in enumerate((*MATCH, *BROADCASTS)):
        assert "result" in (await scene.call(f"whatever-{number}", {"message": message(kind)})).json
        assert "error" in (await scene.say("type", kind)).json
    assert "error" in (await scene.call("handle_message", {"message": {"message_type": "NEWS"}})).json


@shows("envelope")
async def _knows_league_handle(scene: Scene) -> None:
    scene.around = sealed
    await scene.fake.come()
    assert scene.registrations[0]["params"]["payload"]["player_meta"]["game_types"] == ["tic_tac_toe"]
    result = (await scene.say("envelope", "GAME_INVITATION")).json["result"]
    assert set(result) == {"envelope", "payload"}
    assert result["envelope"]["message_type"] == "GAME_JOIN_ACK"
    assert result["payload"]["accept"] is True
    moved = (await scene.say("envelope", "GAME_MOVE_CALL")).json["result"]
    assert moved["payload"]["move_data"] == 4
    assert "error" in (await scene.say("rpc", "GAME_INVITATION")).json


# Registrations


@shows("registers-league_register", "registers-type", "registers-without-envelope", "registers-bare-meta")
async def _registers_in_flat_params(scene: Scene) -> None:
    await scene.fake.come()
    [call] = scene.registrations
    methods = {"registers-league_register": "league_register", "registers-type": "LEAGUE_REGISTER_REQUEST"}
    assert call["method"] == methods.get(_trait(scene), "register_player")
    fields = {"protocol", "message_type", "sender", "timestamp", "conversation_id", "player_meta"}
    lacking = {
        "registers-without-envelope": {"sender", "timestamp", "conversation_id"},
        "registers-bare-meta": fields - {"player_meta"},
    }
    assert set(call["params"]) == fields - lacking.get(_trait(scene), set())
    meta = call["params"]["player_meta"]
    assert meta["contact_endpoint"] == ENDPOINT
    assert ("version" in meta) is (_trait(scene) != "registers-bare-meta")
    assert scene.fake.registered


@shows("registers-message")
async def _registers_in_a_message(scene: Scene) -> None:
    await scene.fake.come()
    [call] = scene.registrations
    assert call["method"] == "handle_message"
    assert call["params"]["message"]["message_type"] == "LEAGUE_REGISTER_REQUEST"
    assert scene.fake.registered
    scene.around = lambda sent: {"message": sent | {"player_id": "P08"}}
    await scene.fake.register()
    assert scene.fake.given_id == "P08"


@shows("registers-tools", "registers-envelope")
async def _registers_and_reads_in_a_form_of_its_own(scene: Scene) -> None:
    await scene.fake.come()
    assert not scene.fake.registered
    assert "auth_token in the registration's answer" in scene.fake.broken
    scene.around = AROUND[_trait(scene)]
    await scene.fake.register()
    assert scene.fake.registered
    assert scene.fake.broken == []
    params = scene.registrations[0]["params"]
    if _trait(scene) == "registers-tools":
        assert scene.registrations[0]["method"] == "tools/call"
        assert params["arguments"]["player_meta"]["contact_endpoint"] == ENDPOINT
    else:
        assert scene.registrations[0]["method"] == "league.handle"
        assert params["envelope"]["message_type"] == "LEAGUE_REGISTER_REQUEST"
        assert params["payload"]["player_meta"]["contact_endpoint"] == ENDPOINT


@shows("wants-REGISTERED")
async def _wants_registered(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.registrations[0]["params"]["player_meta"]["protocol_version"] == "league.v2"
    assert not scene.fake.registered
    assert scene.fake.broken == ["status REGISTERED in the registration's answer"]
    scene.welcome["status"] = "REGISTERED"
    await scene.fake.register()
    assert scene.fake.registered


@shows("never-registers")
async def _never_registers(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.fake.listening
    assert scene.registrations == []
    assert "auth_token" not in await scene.result("GAME_INVITATION")


@shows("own-id")
async def _keeps_its_own_id(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.registrations[0]["params"]["sender"] == "player:P41"
    assert scene.fake.given_id == "P07"
    join = await scene.result("GAME_INVITATION")
    assert (join["player_id"], join["sender"]) == ("P41", "player:P41")
    assert scene.fake.notes() == {"player-id", "sender"}
    assert scene.fake.notes(given_id="P41") == frozenset()


@shows("opens-late")
async def _opens_late(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.listened_meanwhile == [False]
    assert scene.fake.listening


@pytest.mark.parametrize("field", ["sender", "conversation_id", "player_id", "auth_token", "league_id"])
@in_virtual_time
async def test_a_registration_without_a_field_in_its_answer_is_none(field: str) -> None:
    scene = Scene("only-rpc")
    del scene.welcome[field]
    await scene.fake.come()
    assert not scene.fake.registered
    assert scene.fake.broken == [f"{field} in the registration's answer"]


@in_virtual_time
async def test_a_registration_is_answered_in_five_seconds_or_not_at_all() -> None:
    scene = Scene("only-opens-late")
    scene.welcome_after = 5.0
    await scene.fake.come()
    assert (scene.fake.registered, scene.fake.listening) == (False, False)
    assert scene.fake.broken == ["registration answered within 5 s"]
    scene.welcome_after = 4.9
    await scene.fake.come()
    assert (scene.fake.registered, scene.fake.listening) == (True, True)
    await scene.fake.leave()


@in_virtual_time
async def test_whoever_is_rejected_is_not_registered_and_was_done_no_wrong() -> None:
    scene = Scene("only-rpc")
    scene.welcome |= {"status": "REJECTED", "player_id": None, "reason": "League already started"}
    await scene.fake.come()
    assert (scene.fake.registered, scene.fake.status, scene.fake.broken) == (False, "REJECTED", [])
    await scene.fake.leave()


@in_virtual_time
async def test_a_proper_agent_adopts_its_id_and_opens_its_port_first() -> None:
    scene = Scene("only-rpc")
    await scene.fake.come()
    assert scene.listened_meanwhile == [True]
    join = await scene.result("GAME_INVITATION")
    assert join == {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": "player:P07",
        "timestamp": "2026-11-15T17:41:03Z",
        "conversation_id": "conv-r1m1",
        "auth_token": "tok-p07",
        "player_id": "P07",
        "match_id": "R1M1",
        "arrival_timestamp": "2026-11-15T17:41:03Z",
        "accept": True,
    }
    assert (await scene.result("CHOOSE_PARITY_CALL"))["parity_choice"] in ("even", "odd")
    assert scene.fake.notes() == frozenset()
    await scene.fake.leave()


# Answers


@shows("answers-bare", "answers-request", "answers-text", "answers-structured")
async def _answers_elsewhere(scene: Scene) -> None:
    found: dict[str, Callable[[Any], Any]] = {
        "answers-bare": lambda answer: answer,
        "answers-request": lambda answer: answer["params"],
        "answers-text": lambda answer: json.loads(answer["result"]["content"][0]["text"]),
        "answers-structured": lambda answer: answer["result"]["structuredContent"],
    }
    for kind, key in (("GAME_INVITATION", "accept"), ("CHOOSE_PARITY_CALL", "parity_choice")):
        came = (await scene.say("rpc", kind)).json
        assert key in found[_trait(scene)](came)
        assert key not in came.get("result", {})
    if _trait(scene) == "answers-request":
        assert came["method"] == "CHOOSE_PARITY_RESPONSE"
        assert "result" not in came
    if _trait(scene) == "answers-bare":
        assert "jsonrpc" not in came


@shows("joins-later", "joins-at-fixed-port")
async def _joins_later(scene: Scene) -> None:
    scene.open_fixed_ports()
    await scene.fake.come()
    assert (await scene.say("rpc", "ROUND_ANNOUNCEMENT")).status == 200
    for referee in ("REF01", "REF02", "REF03"):
        came = await scene.say("rpc", "GAME_INVITATION", sender=f"referee:{referee}")
        assert came.json == {"status": "RECEIVED"}
    assert scene.posted == []
    await asyncio.sleep(1)
    first, second = (f"http://127.0.0.1:{port}/mcp" for port in FIXED.values())
    where = [REFEREE] * 3 if _trait(scene) == "joins-later" else [first, second, first]
    assert [url for url, _ in scene.posted] == where
    joins = [call["params"] for _, call in scene.posted]
    assert [(join["message_type"], join["auth_token"], join["accept"]) for join in joins] == [
        ("GAME_JOIN_ACK", "tok-p07", True)
    ] * 3
    assert [came.status for _, _, came in scene.fake.posted] == [200] * 3
    assert "parity_choice" in await scene.result("CHOOSE_PARITY_CALL")


@in_virtual_time
async def test_a_join_that_finds_nobody_is_kept_as_that() -> None:
    scene = Scene("only-joins-at-fixed-port")
    await scene.fake.come()
    await scene.say("rpc", "GAME_INVITATION")
    await asyncio.sleep(1)
    [(_, _, came)] = scene.fake.posted
    assert isinstance(came, ConnectionError)
    await scene.fake.leave()


@shows("chooses-in-choice")
async def _chooses_in_choice(scene: Scene) -> None:
    chosen = await scene.result("CHOOSE_PARITY_CALL")
    assert chosen["choice"] in ("even", "odd")
    assert "parity_choice" not in chosen


@shows("joins-by-ack")
async def _joins_by_ack(scene: Scene) -> None:
    assert await scene.result("GAME_INVITATION") == {"status": "ACK"}


@shows("joins-by-status", "no-accept", "no-arrival_timestamp", "no-conversation_id")
async def _leaves_out(scene: Scene) -> None:
    join = await scene.result("GAME_INVITATION")
    field = {"joins-by-status": "accept"}.get(_trait(scene), _trait(scene).removeprefix("no-"))
    assert field not in join
    assert {"accept", "arrival_timestamp", "conversation_id"} - {field} <= set(join)
    assert join.get("status") == ("ACCEPTED" if _trait(scene) == "joins-by-status" else None)


@shows("joins-by-accepted")
async def _joins_by_accepted(scene: Scene) -> None:
    join = await scene.result("GAME_INVITATION")
    assert join["accepted"] is True
    assert "accept" not in join


@shows("joins-by-accept-alone")
async def _joins_by_accept_alone(scene: Scene) -> None:
    assert await scene.result("GAME_INVITATION") == {"accept": True}


@shows("writes-type")
async def _writes_type(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.registrations[0]["params"]["type"] == "LEAGUE_REGISTER_REQUEST"
    for kind, answer in (("GAME_INVITATION", "GAME_JOIN_ACK"), ("GAME_OVER", "GAME_OVER_ACK")):
        result = await scene.result(kind)
        assert result["type"] == answer
        assert "message_type" not in result


@shows("error-null")
async def _adds_an_error(scene: Scene) -> None:
    came = (await scene.say("rpc", "GAME_INVITATION")).json
    assert came["error"] is None
    assert came["result"]["accept"] is True


@shows("other-ids")
async def _answers_with_other_ids(scene: Scene) -> None:
    assert (await scene.say("rpc", "GAME_INVITATION")).json["id"] not in (7, "7", None)


@shows("player_id-wrong", "player_id-missing", "sender-wrong", "sender-missing")
@shows("token-wrong", "token-missing", "token-echoed")
async def _says_who_it_is_not(scene: Scene) -> None:
    await scene.fake.come()
    name, _, how = _trait(scene).partition("-")
    field = "auth_token" if name == "token" else name
    truth = {"player_id": "P07", "sender": "player:P07", "auth_token": "tok-p07"}
    for kind in (*MATCH, "ROUND_ANNOUNCEMENT"):
        answer = await scene.result(kind)
        assert {other: answer[other] for other in truth if other != field} == {
            other: value for other, value in truth.items() if other != field
        }
        if how == "missing":
            assert field not in answer
        elif how == "echoed":
            assert answer[field] == "tok-of-the-caller"
        else:
            assert answer[field] not in ("", truth[field], "tok-of-the-caller")


# Refusals


@shows(*REFUSALS)
async def _refuses(scene: Scene) -> None:
    came = await scene.say("rpc", "GAME_INVITATION")
    how = _trait(scene).removeprefix("refuses-")
    if how.isdigit():
        assert came.status == int(how)
        assert came.json["error"]["code"] == -32601
        assert came.json["id"] == 7
    elif how == "in-text":
        assert (came.status, came.content_type) == (500, "text/plain")
    else:
        shrug = {"unknown": "unknown_message_type"}.get(how, how)
        assert (came.status, came.json) == (200, {"status": shrug})
    assert scene.fake.joined == []
    assert "result" in (await scene.say("type", "GAME_INVITATION")).json


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'{"method": 7}', b'{"method": "GAME_OVER", "params": []}'])
@in_virtual_time
async def test_what_is_no_request_is_refused_like_what_is_unknown(body: bytes) -> None:
    scene = Scene("only-refuses-422")
    assert (await scene.fake.handle(body)).status == 422


# Insistences


def _without(kind: str, field: str) -> dict[str, Any]:
    return message(kind, **{field: ...})


def _call_without_opponent() -> dict[str, Any]:
    context = message("CHOOSE_PARITY_CALL")["parity_context"]
    return {name: value for name, value in context.items() if name != "opponent_id"}


BREAKS: dict[str, tuple[int, Callable[[], Iterable[dict[str, Any]]]]] = {
    "insists-timestamp": (
        400,
        lambda: (
            message(kind, timestamp=time)
            for kind in (*MATCH, "ROUND_ANNOUNCEMENT")
            for time in (..., "2026-11-15T17:41:03.123Z", "2026-11-15T17:41:03+00:00", "20261115T174103Z")
        ),
    ),
    "insists-token": (401, lambda: (message(kind, auth_token=token) for kind in MATCH for token in ("", None, ...))),
    "insists-envelope": (
        422,
        lambda: (
            _without(kind, field)
            for kind in (*MATCH, *BROADCASTS)
            for field in ("protocol", "sender", "timestamp", "conversation_id")
        ),
    ),
    "insists-conversation_id": (400, lambda: (_without(kind, "conversation_id") for kind in (*MATCH, *BROADCASTS))),
    "insists-player_id": (500, lambda: [_without("GAME_INVITATION", "player_id")]),
    "insists-league-and-round": (
        500,
        lambda: (_without(kind, field) for kind in (*MATCH, "GAME_ERROR") for field in ("league_id", "round_id")),
    ),
    "insists-nested": (
        422,
        lambda: [
            _without("GAME_INVITATION", "game_invitation"),
            message("GAME_INVITATION", game_invitation={"match_id": "R1M1"}),
            _without("CHOOSE_PARITY_CALL", "parity_context"),
            message("CHOOSE_PARITY_CALL", parity_context={"match_id": "R1M1"}),
            message("CHOOSE_PARITY_CALL", parity_context=_call_without_opponent()),
        ],
    ),
    "insists-senders": (
        401,
        lambda: [
            *(message(kind, sender="referee:REF03") for kind in MATCH),
            *(message(kind, sender="league_manager") for kind in BROADCASTS),
        ],
    ),
}


@shows(*BREAKS)
async def _insists(scene: Scene) -> None:
    status, messages = BREAKS[_trait(scene)]
    broken = list(messages())
    for number, sent in enumerate(broken, 1):
        came = await scene.call(*put("rpc", sent))
        assert came.status == status
        assert came.json["error"]["code"] == -32602
        assert len(scene.fake.broken) == number
    assert scene.fake.joined == scene.fake.chose == scene.fake.over == []
    for kind in (*MATCH, *BROADCASTS):
        assert "result" in (await scene.say("rpc", kind)).json
    assert len(scene.fake.broken) == len(broken)


@shows("insists-integer-id")
async def _insists_on_an_integer(scene: Scene) -> None:
    for call_id in ("7", "req-007", None, 7.0, True):
        came = await scene.call("handle_game_invitation", message("GAME_INVITATION"), call_id)
        assert came.status == 422
    assert scene.fake.broken == ["integer id"] * 5
    assert scene.fake.joined == []
    assert "result" in (await scene.say("rpc", "GAME_INVITATION")).json


@in_virtual_time
async def test_the_sender_of_the_registrations_answer_matters_to_who_knows_the_manager_by_name() -> None:
    scene = Scene("only-insists-senders")
    scene.welcome["sender"] = "league_manager"
    await scene.fake.come()
    assert not scene.fake.registered
    assert scene.fake.broken == ["league_manager:LM01 as the sender of the registration's answer"]
    await scene.fake.leave()


# Manners


@shows("refuses-second-invitation")
async def _refuses_the_second(scene: Scene) -> None:
    accepted = [(await scene.result("GAME_INVITATION", match_id=name))["accept"] for name in ("R1M1", "R1M1", "R2M1")]
    assert accepted == [True, False, True]
    assert scene.fake.broken == ["one invitation a match"]
    assert "parity_choice" in await scene.result("CHOOSE_PARITY_CALL")


@shows("stuck-until-game-over")
async def _is_stuck(scene: Scene) -> None:
    assert (await scene.result("GAME_INVITATION"))["accept"] is True
    assert (await scene.result("GAME_INVITATION"))["accept"] is True
    assert (await scene.result("GAME_INVITATION", match_id="R2M1"))["accept"] is False
    assert scene.fake.broken == ["GAME_OVER before the next invitation"]
    await scene.result("GAME_OVER", match_id="R9M9")
    assert (await scene.result("GAME_INVITATION", match_id="R2M1"))["accept"] is False
    await scene.result("GAME_OVER")
    assert (await scene.result("GAME_INVITATION", match_id="R2M1"))["accept"] is True


@shows("knows-half-the-broadcasts")
async def _knows_half(scene: Scene) -> None:
    known = [kind for kind in BROADCASTS if "result" in (await scene.say("rpc", kind)).json]
    assert known == ["ROUND_ANNOUNCEMENT", "LEAGUE_COMPLETED"]


@shows("exits-on-LEAGUE_COMPLETED")
async def _exits(scene: Scene) -> None:
    await scene.fake.come()
    assert (await scene.result("ROUND_COMPLETED"))["status"] == "ACKNOWLEDGED"
    assert scene.fake.listening
    assert (await scene.result("LEAGUE_COMPLETED"))["status"] == "ACKNOWLEDGED"
    assert (scene.fake.listening, scene.fake.exited) == (False, True)
    # Its place is free.
    scene.network.listen(ENDPOINT, scene.fake.handle)


@shows("stalls-without-8001")
async def _stalls(scene: Scene) -> None:
    before = scene.time
    assert (await scene.result("GAME_INVITATION"))["accept"] is True
    assert scene.time - before == pytest.approx(12)
    scene.open_fixed_ports()
    assert (await scene.result("GAME_INVITATION"))["accept"] is True
    assert scene.time - before == pytest.approx(12)


@shows("times-milliseconds", "times-microseconds", "times-offset", "times-compact")
async def _writes_times(scene: Scene) -> None:
    await scene.fake.come()
    expected = {
        "times-milliseconds": "2026-11-15T17:41:03.123Z",
        "times-microseconds": "2026-11-15T17:41:03.123456Z",
        "times-offset": "2026-11-15T17:41:03.123456+00:00",
        "times-compact": "20261115T174103Z",
    }[_trait(scene)]
    join = await scene.result("GAME_INVITATION")
    registered = scene.registrations[0]["params"]["timestamp"]
    assert {registered, join["timestamp"], join["arrival_timestamp"]} == {expected}


# Whom nobody can host


@shows("never-comes")
async def _never_comes(scene: Scene) -> None:
    await scene.fake.come()
    assert not scene.fake.listening
    assert scene.registrations == []


@shows("dies-registering")
async def _dies_registering(scene: Scene) -> None:
    with pytest.raises(Died):
        await scene.fake.come()
    assert not scene.fake.listening
    assert scene.registrations == []


@shows("dies-joining")
async def _dies_joining(scene: Scene) -> None:
    await scene.fake.come()
    assert scene.fake.registered
    for form in ("rpc", "rpc"):
        assert (await scene.say(form, "GAME_INVITATION")).status == 500
    assert scene.fake.joined == []


def test_every_trait_has_a_check() -> None:
    assert set(CHECKS) == set(TRAITS)
    assert set(BREAKS) | {"insists-integer-id"} == set(INSISTENCES)
