"""Requests and answers as agents in the field put them: each form both ways, each answer found, each fault named."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import BY_TYPE
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.transport.dialects import forms, requests, responses
from leaguekit.transport.dialects.repairs import MAX_TEXT, Repaired, repair
from leaguekit.transport.dialects.responses import Acknowledged, Deferred, NoUsableAnswer, find_answer, is_refusal
from tests.requirements import REQUIREMENTS
from tests.samples import samples_of

Json = dict[str, Any]
PACKAGE = Path(forms.__file__).parent
TO_PLAYERS = (
    "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER", "GAME_ERROR", "ROUND_ANNOUNCEMENT",
    "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED",
)  # fmt: skip
KNOWN = {
    "protocol": "league.v2",
    "timestamp": "2025-01-15T10:30:00Z",
    "arrival_timestamp": "2025-01-15T10:30:00Z",
    "conversation_id": "conv-r1m1-001",
    "match_id": "R1M1",
    "player_id": "P01",
    "sender": "player:P01",
}
CERTAIN = {"player_id": "P01", "sender": "player:P01"}
JOIN: Json = {
    **KNOWN,
    "message_type": "GAME_JOIN_ACK",
    "auth_token": "tok-p01-secret",
    "accept": True,
}
CHOICE: Json = {
    **{name: KNOWN[name] for name in KNOWN if name != "arrival_timestamp"},
    "message_type": "CHOOSE_PARITY_RESPONSE",
    "parity_choice": "even",
}


def sample(kind: str) -> m.Message:
    return samples_of(kind)[0]


def written_in(form: str, kind: str, player_id: str = "P01") -> Json:
    made = next(requests.encode_in_forms(sample(kind), player_id, form))
    assert made.form == form
    return dict(json.loads(made.body(7)))


# What is sent


@pytest.mark.parametrize("kind", TO_PLAYERS)
@pytest.mark.parametrize("form", forms.FORMS)
def test_a_message_that_is_written_in_a_form_is_read_in_it_again(form: str, kind: str) -> None:
    call = written_in(form, kind)
    read = requests.read_request(json.dumps(call).encode())
    assert read is not None
    assert read.kind is BY_TYPE[kind]
    same = {"RPC_CHOOSE_PARITY": "RPC"}
    assert read.form is not None
    assert read.form.name == same.get(form, form)
    assert violations(read.message) == []


def test_each_form_looks_as_it_is_known_to() -> None:
    assert written_in("RPC", "CHOOSE_PARITY_CALL")["method"] == "parity_choose"
    assert written_in("RPC_CHOOSE_PARITY", "CHOOSE_PARITY_CALL")["method"] == "choose_parity"
    assert written_in("RPC_CHOOSE_PARITY", "GAME_INVITATION")["method"] == "handle_game_invitation"
    assert written_in("TYPE", "GAME_INVITATION")["method"] == "GAME_INVITATION"
    assert written_in("MESSAGE", "GAME_OVER")["params"]["message"]["message_type"] == "GAME_OVER"
    tools = {kind: written_in("TOOLS", kind)["params"]["name"] for kind in TO_PLAYERS[:4]}
    assert tools["GAME_INVITATION"] == "receive_game_invitation"
    assert tools["CHOOSE_PARITY_CALL"] == "choose_parity"
    assert tools["GAME_OVER"] == "receive_game_over"
    envelope = written_in("ENVELOPE", "GAME_MOVE_CALL")
    assert envelope["method"] == "league.handle"
    assert envelope["params"]["envelope"]["message_type"] == "GAME_MOVE_CALL"
    assert "move_request" in envelope["params"]["payload"]
    assert "auth_token" not in envelope["params"]["payload"]


@pytest.mark.parametrize("kind", TO_PLAYERS)
def test_every_message_to_a_player_has_all_that_somebody_insists_on(kind: str) -> None:
    message = requests.add_expected_fields(sample(kind), "P07") | {"auth_token": "drv-1"}
    assert message["player_id"] == getattr(sample(kind), "player_id", "P07")
    assert message["sender"] != "league_manager"
    nested = {"GAME_INVITATION": "game_invitation", "CHOOSE_PARITY_CALL": "parity_context"}.get(kind)
    if nested is not None:
        inner = message[nested] | {"auth_token": "drv-1"}
        assert inner == message.get("context", {}) | {name: message[name] for name in message if name != nested}


def test_the_context_of_a_call_has_the_opponent_and_the_own_record_beside_the_fields_of_the_call() -> None:
    context = requests.add_expected_fields(sample("CHOOSE_PARITY_CALL"), "P01")["parity_context"]
    assert {"opponent_id", "round_id", "match_id", "your_standings", "context", "deadline"} <= set(context)


def test_the_manager_has_the_name_that_everybody_takes() -> None:
    assert requests.add_expected_fields(sample("LEAGUE_COMPLETED"), "P01")["sender"] == "league_manager:LM01"


def test_forms_are_tried_in_their_order_the_one_that_worked_first_and_no_request_twice() -> None:
    def tried(kind: str, first: str | None) -> list[str]:
        return [made.form for made in requests.encode_in_forms(sample(kind), "P01", first)]

    assert tried("CHOOSE_PARITY_CALL", None) == ["RPC", "RPC_CHOOSE_PARITY", "TYPE", "MESSAGE", "TOOLS", "ENVELOPE"]
    assert tried("GAME_INVITATION", "TOOLS") == ["TOOLS", "RPC", "TYPE", "MESSAGE", "ENVELOPE"]
    assert tried("GAME_INVITATION", "RPC_CHOOSE_PARITY")[0] == "RPC_CHOOSE_PARITY"
    assert tried("GAME_INVITATION", "of a later release")[0] == "RPC"


@pytest.mark.parametrize("form", ["TYPE", "of a later release", None])
def test_a_broadcast_is_written_in_its_receivers_form(form: str | None) -> None:
    params = json.dumps({"sender": "league_manager", "message_type": "ROUND_COMPLETED", "auth_token": "drv-1"}).encode()
    call = json.loads(requests.broadcast(params, "P03", form, 12))
    assert call["method"] == ("ROUND_COMPLETED" if form == "TYPE" else "notify_round_completed")
    assert call["id"] == 12
    assert call["params"]["player_id"] == "P03"
    assert call["params"]["sender"] == "league_manager:LM01"


# What comes

META = {
    "display_name": "Alpha",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": "http://127.0.0.1:8101/mcp",
}
REGISTRATION: Json = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_REQUEST",
    "sender": "player:alpha",
    "timestamp": "2025-01-15T10:30:00Z",
    "conversation_id": "conv-1",
    "player_meta": META,
}
ENVELOPED = {
    "envelope": {name: REGISTRATION[name] for name in REGISTRATION if name != "player_meta"},
    "payload": {"player_meta": META},
}


def came(method: str, params: Any, **more: Any) -> requests.Incoming | None:
    return requests.read_request(json.dumps({"jsonrpc": "2.0", "method": method, "params": params} | more).encode())


@pytest.mark.parametrize(
    ("method", "params", "form", "broken"),
    [
        ("register_player", REGISTRATION, "RPC", []),
        ("league_register", REGISTRATION, "RPC", ["001-L0241"]),
        ("LEAGUE_REGISTER_REQUEST", REGISTRATION, "TYPE", []),
        ("handle_message", {"message": REGISTRATION}, "MESSAGE", ["001-L0241"]),
        ("tools/call", {"name": "register_player", "arguments": REGISTRATION}, "TOOLS", ["001-L0241"]),
        ("tools/call", {"name": "whatever", "arguments": REGISTRATION}, "TOOLS", ["001-L0241"]),
        ("league.handle", ENVELOPED, "ENVELOPE", ["001-L0241"]),
        ("register_player", {"player_meta": META}, "RPC", []),
        ("whatever", {"player_meta": META}, "RPC", ["001-L0241"]),
    ],
)
def test_a_registration_is_read_in_every_form(method: str, params: Json, form: str, broken: list[str]) -> None:
    read = came(method, params, id=3)
    assert read is not None
    assert read.form is not None
    assert (read.form.name, read.kind, read.id) == (form, m.LeagueRegisterRequest, b"3")
    assert read.message["player_meta"] == META
    assert [one.rule for one in read.broken] == broken
    standard = json.loads(requests.encode_standard(read))
    assert standard == {"jsonrpc": "2.0", "method": "register_player", "params": read.message, "id": 3}


def test_a_message_with_nothing_around_it_is_read_and_answered_so() -> None:
    read = requests.read_request(json.dumps(JOIN).encode())
    assert read is not None
    assert (read.form, read.kind, read.method) == (None, m.GameJoinAck, "game_join_ack")
    assert [one.rule for one in read.broken] == ["001-L0030"]
    answer = b'{"jsonrpc":"2.0","result":{"status":"ACKNOWLEDGED"},"id":null}'
    assert json.loads(requests.encode_answer(read, answer)) == {"status": "ACKNOWLEDGED"}


@pytest.mark.parametrize(
    "body",
    [
        b"no JSON",
        b"\xff",
        b"[" * 100 + b"]" * 100,
        b"[]",
        b"1",
        b"{}",
        b'{"method":7,"params":{}}',
        b'{"method":"ping"}',
        b'{"method":"ping","params":[]}',
        b'{"message_type":"NO_SUCH_TYPE"}',
        b'{"message_type":["GAME_JOIN_ACK"]}',
    ],
)
def test_what_is_no_request_with_an_object_is_left_to_others(body: bytes) -> None:
    assert requests.read_request(body) is None


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ping", {}),
        ("operator", {"command": "start"}),
        ("initialize", {"protocolVersion": "2025-06-18"}),
        ("tools/call", {"name": "register_player", "arguments": "none"}),
        # Of a known method and another message nobody can say which is meant.
        ("register_player", {**REGISTRATION, "message_type": "LEAGUE_QUERY"}),
    ],
)
def test_what_is_no_message_of_a_known_kind_has_no_kind(method: str, params: Json) -> None:
    read = came(method, params)
    assert read is not None
    assert read.kind is None
    assert (read.id, json.loads(requests.encode_standard(read))["method"]) == (None, method)


def test_an_answer_has_the_message_where_the_form_of_its_request_looks_for_it() -> None:
    given: Json = {"message_type": "LEAGUE_REGISTER_RESPONSE", "sender": "league_manager", "status": "ACCEPTED"}
    answer = json.dumps({"jsonrpc": "2.0", "result": given, "id": "x"}).encode()
    sent = given | {"sender": "league_manager:LM01"}

    def result(method: str, params: Json) -> Json:
        read = came(method, params, id="x")
        assert read is not None
        whole = json.loads(requests.encode_answer(read, answer))
        assert whole.keys() == {"jsonrpc", "result", "id"}
        assert whole["id"] == "x"
        return dict(whole["result"])

    assert result("register_player", REGISTRATION) == sent
    assert result("LEAGUE_REGISTER_REQUEST", REGISTRATION) == sent
    assert result("handle_message", {"message": REGISTRATION})["message"] == sent
    tool = result("tools/call", {"name": "register_player", "arguments": REGISTRATION})
    assert json.loads(tool["content"][0]["text"]) == tool["structuredContent"] == sent
    parts = result("league.handle", ENVELOPED)
    assert parts["payload"] | parts["envelope"] == sent


@pytest.mark.parametrize(("version", "status"), [("league.v2", "REGISTERED"), ("2.1.0", "ACCEPTED")])
@pytest.mark.parametrize("is_taken", [True, False])
def test_one_is_told_that_it_is_registered_in_the_word_that_it_knows(version: str, status: str, is_taken: bool) -> None:
    read = came("register_player", REGISTRATION | {"player_meta": META | {"protocol_version": version}}, id=1)
    assert read is not None
    given = {"status": "ACCEPTED" if is_taken else "REJECTED"}
    answer = json.loads(requests.encode_answer(read, json.dumps({"result": given, "id": 1}).encode()))
    assert answer["result"]["status"] == (status if is_taken else "REJECTED")


@pytest.mark.parametrize("data", [{"sender": "league_manager", "error_code": "E012"}, None])
def test_an_error_is_an_error_in_every_form(data: Json | None) -> None:
    read = came("tools/call", {"name": "register_player", "arguments": REGISTRATION}, id=1)
    assert read is not None
    error = {"code": 3001, "message": "no", "data": data}
    answer = json.loads(requests.encode_answer(read, json.dumps({"error": error, "id": 1}).encode()))
    assert answer["error"]["code"] == 3001
    assert answer["error"]["data"] == (None if data is None else data | {"sender": "league_manager:LM01"})


# Answers

RESULT = {"jsonrpc": "2.0", "id": 7}


def found(answer: Any, wanted: Any = m.GameJoinAck) -> Any:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return find_answer(body, 7, wanted, KNOWN, CERTAIN)


def rules(answer: Any, wanted: Any = m.GameJoinAck) -> list[str]:
    """The rules that a good answer breaks."""
    result = found(answer, wanted)
    assert isinstance(result, Repaired), result
    word: Any = result.message
    if wanted is m.GameJoinAck:
        assert word.accept
    else:
        assert word.parity_choice == "even"
    assert (word.player_id, word.match_id) == ("P01", "R1M1")
    return [one.rule for one in result.broken]


def without(message: Json, *names: str) -> Json:
    return {name: value for name, value in message.items() if name not in names}


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        (RESULT | {"result": JOIN}, []),
        (RESULT | {"result": JOIN, "error": None}, ["001-L0051"]),
        ({"id": 7, "result": JOIN}, ["001-L0043"]),
        (RESULT | {"jsonrpc": "1.0", "result": JOIN}, ["001-L0043"]),
        (RESULT | {"id": "7", "result": JOIN}, ["001-L0045"]),
        (RESULT | {"id": 7.0, "result": JOIN}, ["001-L0045"]),
        ({"jsonrpc": "2.0", "result": JOIN}, ["001-L0045"]),
        (JOIN, ["001-L0044"]),
        ({"jsonrpc": "2.0", "method": "GAME_JOIN_ACK", "params": JOIN, "id": 7}, ["001-L0044"]),
        ({"method": "m", "params": {"message": JOIN}}, ["001-L0044"]),
        ({"message": JOIN}, ["001-L0044"]),
        (RESULT | {"result": {"content": [{"type": "text", "text": json.dumps(JOIN)}]}}, ["001-L0044"]),
        (
            RESULT | {"result": {"content": [{"text": "Done."}, 7, {"text": json.dumps(JOIN)}, {"text": "7"}]}},
            ["001-L0044"],
        ),
        (RESULT | {"result": {"content": "Done.", "structuredContent": JOIN}}, ["001-L0044"]),
        (RESULT | {"result": {"envelope": JOIN, "payload": {"accept": True}}}, ["001-L0044"]),
        (RESULT | {"result": {"envelope": JOIN}}, ["001-L0044"]),
        (RESULT | {"result": {"message": JOIN}}, ["001-L0044"]),
    ],
)
def test_the_message_is_found_wherever_it_is(answer: Json, broken: list[str]) -> None:
    assert rules(answer) == broken


@pytest.mark.parametrize(
    ("join", "broken"),
    [
        (without(JOIN, "player_id"), ["000-L0609"]),
        (without(JOIN, "arrival_timestamp"), ["000-L0610"]),
        (without(JOIN, "accept"), ["000-L0614"]),
        (without(JOIN, "accept") | {"status": "ACCEPTED"}, ["000-L0614"]),
        (without(JOIN, "accept") | {"status": "ACK"}, ["000-L0614"]),
        (without(JOIN, "match_id"), ["000-L0608"]),
        (without(JOIN, "message_type"), ["000-L1371"]),
        (without(JOIN, "message_type") | {"type": "GAME_JOIN_ACK"}, ["000-L1371"]),
        (without(JOIN, "message_type", "accept") | {"type": "GAME_JOIN_ACK"}, ["000-L1371", "000-L0614"]),
        (without(JOIN, "accept") | {"accepted": True}, ["000-L0614"]),
        (without(JOIN, "protocol"), ["000-L1370"]),
        (without(JOIN, "timestamp"), ["000-L1373"]),
        (JOIN | {"message_type": "GAME_INVITATION_RESPONSE"}, ["000-L1503"]),
        (JOIN | {"player_id": "P02"}, ["000-L0609"]),
        (JOIN | {"player_id": 1}, ["000-L0609"]),
        (JOIN | {"sender": "heron-agent"}, ["000-L1372"]),
        (JOIN | {"sender": "player:P02"}, ["000-L1372"]),
        (JOIN | {"auth_token": ""}, ["000-L1377"]),
        (JOIN | {"timestamp": "20261115T174103Z"}, ["decision 5"]),
        (JOIN | {"timestamp": "2026-11-15 17:41:03"}, ["000-L1373"]),
        (JOIN | {"timestamp": "2026-11-15T17:41:03.123456+00:00"}, []),
        (JOIN | {"arrival_timestamp": "2026-11-15T17:41:03.123Z"}, []),
        (JOIN | {"conversation_id": ""}, ["000-L1374"]),
        # What answers may leave out breaks nothing.
        (without(JOIN, "sender", "auth_token", "conversation_id"), []),
        ({"status": "ACCEPTED"}, ["000-L1371", "000-L1370", "000-L1373", "000-L0608", "000-L0609", "000-L0610",
                                  "000-L0614"]),
    ],
)  # fmt: skip
def test_what_a_join_lacks_or_has_wrong_is_put_right_and_named(join: Json, broken: list[str]) -> None:
    assert sorted(rules(RESULT | {"result": join})) == sorted(broken)


@pytest.mark.parametrize("status", ["REJECTED", "declined"])
def test_a_join_that_is_refused_in_other_words_is_refused(status: str) -> None:
    refused = found(RESULT | {"result": without(JOIN, "accept") | {"status": status}})
    assert refused.message.accept is False


@pytest.mark.parametrize(
    ("choice", "broken"),
    [
        (CHOICE, []),
        (without(CHOICE, "parity_choice") | {"choice": "even"}, ["000-L0832"]),
        (without(CHOICE, "player_id"), ["000-L0831"]),
        ({"choice": "even"}, ["000-L0830", "000-L0831", "000-L0832", "000-L1370", "000-L1371", "000-L1373"]),
    ],
)
def test_a_choice_is_found_by_either_name(choice: Json, broken: list[str]) -> None:
    assert sorted(rules(RESULT | {"result": choice}, m.ChooseParityResponse)) == broken


@pytest.mark.parametrize(
    ("info", "read"),
    [
        ({"origin": "replaced", "reason": "down"}, m.MoveInfo(origin="replaced", reason="down")),
        ({"origin": "Own", "reason": "y" * 300}, m.MoveInfo()),
        ("mine", UNSET),
        (None, UNSET),
    ],
)
def test_a_move_counts_whatever_is_stated_about_it(info: Any, read: Any) -> None:
    message = found(RESULT | {"result": CHOICE | {"move_info": info}}, m.ChooseParityResponse).message
    assert (message.parity_choice, message.move_info) == ("even", read)


@pytest.mark.parametrize("field", ["move_data", "move", "choice"])
def test_a_move_is_found_by_any_name(field: str) -> None:
    move = without(CHOICE, "parity_choice") | {"message_type": "GAME_MOVE_RESPONSE", field: 4}
    assert found(RESULT | {"result": move}, m.GameMoveResponse).message.move_data == 4


def test_what_came_is_told_in_the_agents_own_words_made_harmless_and_short() -> None:
    choice = found({"choice": "even"}, m.ChooseParityResponse).broken
    told = {one.rule: (one.came, one.expected) for one in choice}
    assert told["000-L0832"] == ('choice: got "even"', 'parity_choice: "even" or "odd"')
    assert told["000-L0831"] == ("player_id: missing", 'text in the form "P01"')
    long = found(RESULT | {"result": JOIN | {"sender": "\x1b[31m" + "x" * 5_000}}).broken
    assert len(long[0].came) <= MAX_TEXT
    assert "\x1b" not in long[0].came
    token = found(RESULT | {"result": JOIN | {"sender": "tok-p01-" + "s" * 40}}).broken
    assert "sssss" not in token[0].came


@pytest.mark.parametrize("status", ["ACK", "ok", "acknowledged", "success"])
@pytest.mark.parametrize("around", [{}, {"jsonrpc": "2.0", "id": 7}])
def test_a_mere_acknowledgement_is_no_join_yet(status: str, around: Json) -> None:
    answer = {**around, "result": {"status": status}} if around else {"status": status}
    result = found(answer)
    assert isinstance(result, Acknowledged)
    assert [one.rule for one in result.broken] == ["001-L0044"]


@pytest.mark.parametrize("wanted", [m.GameJoinAck, m.ChooseParityResponse])
def test_a_promise_is_waited_for(wanted: Any) -> None:
    assert isinstance(found({"status": "RECEIVED"}, wanted), Deferred)
    assert isinstance(found(RESULT | {"result": {"status": "received"}}, wanted), Deferred)


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "unknown_message_type"},
        {"status": "error"},
        {"status": 7},
        {"message_type": "GAME_JOIN_ACK", "status": "error"},
        RESULT | {"error": {"code": -32601, "message": "Method not found"}},
        RESULT | {"result": None},
        RESULT | {"result": "even"},
        {},
        [],
        [JOIN],
        RESULT | {"result": {"content": [{"text": '{"accept":' * 900 + "1" + "}" * 900}]}},
        "even",
        b"Internal Server Error",
        b"",
        b"\xff\xfe",
        b"[" * 5_000,
        b'{"result":' * 40 + b"1" + b"}" * 40,
    ],
)
def test_nothing_of_use_is_nothing_however_well_it_looks(answer: Any) -> None:
    assert isinstance(found(answer), NoUsableAnswer)
    assert isinstance(found(answer, m.ChooseParityResponse), NoUsableAnswer)


@pytest.mark.parametrize("broken", [{"accept": "yes"}, {"accept": 1}, {"protocol": ["league.v1"], "accept": 7}])
def test_a_word_that_cannot_be_understood_is_an_error(broken: Json) -> None:
    with pytest.raises(ProtocolError):
        found(RESULT | {"result": JOIN | broken})


def in_parts(*parts: Json) -> Json:
    content = [{"type": "text", "text": json.dumps(part)} for part in parts]
    return {"jsonrpc": "2.0", "id": 7, "result": {"content": content}}


def test_of_many_wrong_parts_only_the_first_few_are_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def counted(value: Json, *rest: Any) -> Repaired:
        seen.append(value)
        return repair(value, *rest)

    monkeypatch.setattr(responses, "repair", counted)
    with pytest.raises(ProtocolError, match="accept"):
        found(in_parts(*[{"accept": 1}] * 389))
    assert len(seen) < 10
    # A good part after a wrong one is found, unless many others come first.
    assert isinstance(found(in_parts({"accept": 1}, {"accept": True})), Repaired)
    assert isinstance(found(in_parts(*[{"x": 1}] * (forms.MAX_PARTS - 1), {"accept": True})), Repaired)
    assert isinstance(found(in_parts(*[{"x": 1}] * forms.MAX_PARTS, {"accept": True})), NoUsableAnswer)


@pytest.mark.parametrize("number", [b"1e308", b"1E-250"])
def test_a_message_with_many_numbers_that_take_long_to_decode_is_not_decoded(number: bytes) -> None:
    """Each takes 10 µs per decoding, and a message that is repaired is decoded up to five times."""
    body = b'{"jsonrpc":"2.0","id":7,"result":{"message_type":"GAME_JOIN_ACK","accept":true,"x":[%b]}}'
    few, many = (body % b",".join([*[number] * count, *[b"1"] * 1_000]) for count in (100, 101))
    assert isinstance(found(few), Repaired)
    assert len(many) < MAX_BYTES
    assert isinstance(found(many), NoUsableAnswer)
    request = b'{"jsonrpc":"2.0","method":"register_player","params":{"x":[%b]},"id":1}'
    assert requests.read_request(request % b",".join([number] * 200)) is None
    assert requests.read_request(request % b",".join([number] * 100)) is not None


def test_another_matchs_id_is_left_for_the_referee_to_judge() -> None:
    assert found(RESULT | {"result": JOIN | {"match_id": "R9M9"}}).message.match_id == "R9M9"


@pytest.mark.parametrize(
    ("status", "body", "is_refused"),
    [
        (200, b'{"jsonrpc":"2.0","result":{"status":"ACKNOWLEDGED"},"id":1}', False),
        (200, b'{"result":{},"error":null}', False),
        (200, b'{"status":"ok"}', False),
        (200, b"fine", False),
        (200, b"\xff", False),
        (200, b"[]", False),
        (204, b"", False),
        (200, b'{"error":{"code":-32601}}', True),
        (200, b'{"status":"unknown_message_type"}', True),
        (200, b'{"result":{"status":"error"}}', True),
        (404, b'{"status":"ok"}', True),
        (500, b"Internal Server Error", True),
    ],
)
def test_a_message_was_taken_unless_the_answer_says_otherwise(status: int, body: bytes, is_refused: bool) -> None:
    assert is_refusal(status, body) == is_refused


# Repairs of requests


def test_a_registration_with_nothing_but_its_meta_is_filled_in() -> None:
    known = KNOWN | {"player_meta.version": "0.0.0", "player_meta.game_types": ["even_odd"], "sender": "player:unknown"}
    meta = without(META, "version", "game_types")
    value = {"player_meta": meta}
    message, broken = repair(value, m.LeagueRegisterRequest, known, {})
    assert isinstance(message, m.LeagueRegisterRequest)
    assert (message.player_meta.version, message.player_meta.game_types) == ("0.0.0", ["even_odd"])
    assert {"000-L0235", "000-L0239", "000-L1371"} <= {one.rule for one in broken}
    # What came is left as it came.
    assert value == {"player_meta": without(META, "version", "game_types")}


def test_a_declared_version_that_is_none_is_left_out() -> None:
    value = REGISTRATION | {"player_meta": META | {"protocol_version": "league.v2"}}
    message, broken = repair(value, m.LeagueRegisterRequest, KNOWN, {})
    assert isinstance(message, m.LeagueRegisterRequest)
    assert not message.player_meta.protocol_version
    assert [one.rule for one in broken] == ["003-L0279"]


@pytest.mark.parametrize("meta", [7, without(META, "contact_endpoint"), META | {"display_name": ""}])
def test_what_nobody_can_know_is_refused(meta: Any) -> None:
    with pytest.raises(ProtocolError):
        repair(REGISTRATION | {"player_meta": meta}, m.LeagueRegisterRequest, KNOWN, {})


# The package


def test_every_rule_that_is_named_here_exists() -> None:
    texts = [
        node.value
        for path in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:2] == "00"
    ]
    assert len(texts) > 10
    assert set(texts) <= set(REQUIREMENTS)


def test_the_package_does_no_input_or_output() -> None:
    imported = {
        name.name if isinstance(node, ast.Import) else str(node.module)
        for path in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert not imported & {"asyncio", "time", "random", "secrets", "os", "pathlib", "socket", "datetime"}


def test_a_found_word_is_of_the_kind_that_was_wanted() -> None:
    assert isinstance(responses.find_message(JOIN, m.GameJoinAck, KNOWN, CERTAIN), Repaired)
    assert responses.find_message(JOIN, m.ChooseParityResponse, KNOWN, CERTAIN) is None


# Whatever comes

_FIELDS = ("message_type", "status", "accept", "choice", "parity_choice", "params", "result", "content", "text",
           "envelope", "payload", "message", "structuredContent", "method", "id", "player_id", "sender", "timestamp",
           "player_meta", "match_id", "auth_token", "arguments", "name", "error")  # fmt: skip
_WORDS = ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "LEAGUE_REGISTER_REQUEST", "tools/call", "RECEIVED", "ACK", "even")
_ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(_WORDS) | st.text()
_ANYTHING = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=3), inner, max_size=5)
        | inner.map(json.dumps)
    ),
    max_leaves=12,
)


@given(_ANYTHING)
@example({"jsonrpc": "2.0", "id": 7, "result": JOIN | {"round_id": 10**30}})
@example({"jsonrpc": "2.0", "id": 7, "result": CHOICE | {"parity_choice": 10**400}})
@example(JOIN | {"player_id": 10**25})
def test_whatever_is_answered_amounts_to_something(answer: Any) -> None:
    for wanted in (m.GameJoinAck, m.ChooseParityResponse, m.GameMoveResponse):
        try:
            result = found(answer, wanted)
        except ProtocolError:
            continue
        assert isinstance(result, Repaired | Deferred | Acknowledged | NoUsableAnswer)
        if isinstance(result, Repaired):
            assert isinstance(result.message, wanted)


@given(_ANYTHING)
@example({"method": "register_player", "params": {"player_meta": META | {"version": 10**30}}, "id": 1})
def test_whatever_is_sent_is_read_or_left_alone(body: Any) -> None:
    read = requests.read_request(json.dumps(body).encode())
    if read is None or read.kind is None:
        return
    try:
        good = repair(read.message, read.kind, KNOWN, {})
    except ProtocolError:
        assert json.loads(requests.encode_standard(read))
    else:
        assert json.loads(requests.encode_standard(read, good.message))
