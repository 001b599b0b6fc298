"""A refused call as the manager, a referee and a player answer it."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from leaguekit.protocol import messages as m
from leaguekit.protocol import rpc
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import CATALOGUE, ProtocolError, rpc_number
from leaguekit.protocol.methods import read_call
from leaguekit.protocol.refusals import manager_refusal, player_refusal, referee_refusal
from leaguekit.protocol.rpc import NULL, Call, InvalidCall, RpcError
from tests.marks import proves
from tests.samples import NOW, samples_of

SENDER = "referee:REF01"
by_manager = manager_refusal(lambda: NOW)
by_referee = referee_refusal(SENDER, lambda: NOW)
EVERYBODY = pytest.mark.parametrize(
    "refuse", [by_manager, by_referee, player_refusal], ids=["manager", "referee", "player"]
)

KNOWN = b'{"message_type":"MATCH_RESULT_REPORT","conversation_id":"conv-r1m1-001","match_id":"R1M1","player_id":"P01"}'
BROKEN = (
    b"",
    b"{}",
    b"[]",
    b"[1,2]",
    b"null",
    b"7",
    b'"text"',
    b"not json",
    b'{"match_id":',
    b'{"match_id":7,"player_id":[],"conversation_id":{},"message_type":null}',
    b'{"match_id":"","player_id":"","conversation_id":"","message_type":""}',
    b'{"match_id":"R0M0","player_id":"P1","conversation_id":true,"message_type":1e999}',
    b'{"conversation_id":"%b","message_type":"%b"}' % (b"c" * 201, b"M" * 201),
)


def call_of(params: bytes, method: str = "report_match_result") -> Call:
    return Call(b"1", method, Raw(params))


def whole(error: RpcError) -> m.Message:
    """The message in an error's data, which must be valid on the wire and by the published schema."""
    text = msgspec.json.encode(error.data)
    assert violations(json.loads(text)) == []
    return decode(text)


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_managers_data_is_a_whole_league_error(code):
    error = by_manager(ProtocolError(code, "What went wrong.", context={"why": 1}), call_of(KNOWN))
    assert (error.code, error.message) == rpc_number("report_match_result", code)
    assert whole(error) == m.LeagueError(
        protocol="league.v2",
        sender="league_manager",
        timestamp="2025-01-15T10:30:00Z",
        conversation_id="conv-r1m1-001",
        error_code=code,
        error_description=CATALOGUE[code].name,
        error_name=CATALOGUE[code].name,
        original_message_type="MATCH_RESULT_REPORT",
        affected_player="P01",
        action_required=CATALOGUE[code].remedy,
        retryable=CATALOGUE[code].retryable,
        consequence="This message does not count.",
        context={"detail": "What went wrong.", "action": "MATCH_RESULT_REPORT", "why": 1},
    )


proves(
    test_the_managers_data_is_a_whole_league_error,
    "001-L1482", "001-L1518", "000-L1236", "000-L1238", "000-L1527", "001-L0054", "000-L1239", "000-L1237",
)  # fmt: skip


@pytest.mark.proves("000-L1528", "001-L0054")
@pytest.mark.parametrize("code", CATALOGUE)
def test_a_referees_data_is_a_whole_game_error(code):
    error = by_referee(
        ProtocolError(code, "What went wrong.", context={"why": 1}), call_of(KNOWN, "choose_parity_response")
    )
    assert (error.code, error.message) == rpc_number("choose_parity_response", code)
    assert whole(error) == m.GameError(
        protocol="league.v2",
        sender=SENDER,
        timestamp="2025-01-15T10:30:00Z",
        conversation_id="conv-r1m1-001",
        error_code=code,
        error_description=CATALOGUE[code].name,
        error_name=CATALOGUE[code].name,
        match_id="R1M1",
        affected_player="P01",
        player_id="P01",
        action_required=CATALOGUE[code].remedy,
        retry_info=m.RetryInfo(retry_count=0, max_retries=0),
        retry_count=0,
        max_retries=0,
        retryable=CATALOGUE[code].retryable,
        consequence="This message does not count.",
        context={"detail": "What went wrong.", "action": "MATCH_RESULT_REPORT", "why": 1},
    )


@pytest.mark.proves("001-L0054")
@pytest.mark.parametrize("code", CATALOGUE)
def test_a_players_data_has_code_name_and_context_and_is_no_message(code):
    error = player_refusal(
        ProtocolError(code, "What went wrong.", context={"why": 1}), call_of(KNOWN, "handle_game_invitation")
    )
    assert (error.code, error.message) == rpc_number("handle_game_invitation", code)
    assert error.data == {
        "error_code": code,
        "error_name": CATALOGUE[code].name,
        "context": {"detail": "What went wrong.", "remedy": CATALOGUE[code].remedy, "why": 1},
    }


@pytest.mark.proves("001-L1518", "001-L1941")
def test_a_wrong_token_is_e012_under_the_number_12_where_no_table_says_otherwise():
    error = by_manager(ProtocolError("E012"), call_of(KNOWN, "register_player"))
    assert (error.code, error.message) == (12, "AUTH_TOKEN_INVALID")
    message = whole(error)
    assert isinstance(message, m.LeagueError)
    assert (message.error_code, message.error_description) == ("E012", "AUTH_TOKEN_INVALID")


@EVERYBODY
@pytest.mark.parametrize(
    "data",
    [
        {"max_referees": 10, "current_referees": 10},
        {"display_name": "Agent Alpha", "suggestion": "Choose a different display_name."},
        {"player_id": "P01"},
        {"player_id": "P01", "timeout_seconds": 5, "retry_count": 3, "max_retries": 3},
        {"match_id": "R1M1", "previous_report_time": "2025-01-15T10:30:00Z"},
    ],
    ids="+".join,
)
def test_the_data_fields_of_document_001_stand_beside_the_message(refuse, data):
    for params in (KNOWN, *BROKEN):
        error = refuse(ProtocolError("E054", data=data), call_of(params))
        assert data.items() <= error.data.items()
        assert error.data["error_code"] == "E054"
        if refuse is not player_refusal:
            whole(error)


@EVERYBODY
@pytest.mark.parametrize("params", BROKEN)
def test_whatever_is_wrong_with_the_params_the_refusal_is_whole(refuse, params):
    error = refuse(ProtocolError("E003"), call_of(params))
    assert (error.code, error.message) == (-32602, "Invalid params")
    if refuse is player_refusal:
        assert "message_type" not in error.data
        return
    message = whole(error)
    assert message.conversation_id == "conv-error"
    assert message.affected_player is None
    assert message.context["action"] == "report_match_result"
    if isinstance(message, m.GameError):
        assert message.match_id is msgspec.UNSET
        assert message.player_id is None


@EVERYBODY
def test_each_field_is_used_if_it_alone_is_valid(refuse):
    params = b'{"match_id":7,"player_id":"P07","conversation_id":"conv-x","message_type":[],"timestamp":"never"}'
    data = refuse(ProtocolError("E021"), call_of(params)).data
    if refuse is not player_refusal:
        assert data["affected_player"] == "P07"
        assert data["conversation_id"] == "conv-x"
        assert "match_id" not in data


@EVERYBODY
@pytest.mark.parametrize("method", [None, "no_such_method", "league_query", "x" * 5000, "é\n"])
@pytest.mark.parametrize("code", ["E040", "E041", "E046"])
def test_what_is_no_request_is_refused_too(refuse, method, code):
    refused = InvalidCall(NULL, method, ProtocolError(code))
    error = refuse(refused.error, refused)
    assert (error.code, error.message) == rpc_number(None, code)
    if refuse is not player_refusal:
        action = whole(error).context["action"]
        assert action == (method or "unknown") or len(method) > 100


@pytest.mark.parametrize("length", [100, 101, 200, 201, 9_000])
@pytest.mark.parametrize("refuse", [by_manager, by_referee])
def test_a_long_name_of_a_method_or_message_does_not_spoil_a_refusal(refuse, length):
    long = "M" * length
    whole(refuse(ProtocolError("E042"), call_of(b"{}", long)))
    whole(refuse(ProtocolError("E045"), call_of(b'{"message_type":"%b"}' % long.encode())))
    whole(refuse(ProtocolError("E045"), call_of(b'{"message_type":"%b"}' % long.encode(), long)))


@EVERYBODY
@pytest.mark.parametrize("name", ["register_player", "LEAGUE_REGISTER_REQUEST", "league_register_request"])
def test_a_method_has_its_numbers_under_each_of_its_names(refuse, name):
    error = refuse(ProtocolError("E047"), call_of(b"{}", name))
    assert (error.code, error.message) == (2002, "Duplicate name")


@EVERYBODY
def test_an_unknown_method_has_no_numbers_of_its_own(refuse):
    error = refuse(ProtocolError("E047"), call_of(b"{}", "no_such_method"))
    assert (error.code, error.message) == (47, "DUPLICATE_NAME")


@pytest.mark.parametrize(
    ("refuse", "field"), [(by_manager, "player_id"), (by_referee, "player_id"), (by_referee, "match_id")]
)
def test_an_id_with_a_line_break_behind_it_is_not_repeated(refuse, field):
    value = {"player_id": "P01\n", "match_id": "R1M1\n"}[field]
    message = whole(refuse(ProtocolError("E003"), call_of(json.dumps({field: value}).encode())))
    assert message.affected_player is None


@pytest.mark.proves("000-L1430", "000-L1533", "000-L1239", "000-L1238")
def test_a_call_with_missing_fields_is_answered_with_everything_that_is_wrong():
    message = json.loads(encode(samples_of("LEAGUE_QUERY")[0])) | {"sender": "nobody"}
    del message["query_type"]

    async def handle(call: Call):
        return read_call(call, "league_manager")

    body = rpc.request("league_query", json.dumps(message).encode(), 7)
    came = json.loads(asyncio.run(rpc.answer(rpc.RpcRequest(body), handle, by_manager)))
    assert (came["id"], came["error"]["code"], came["error"]["message"]) == (7, -32602, "Invalid params")
    data = decode(json.dumps(came["error"]["data"]).encode())
    assert isinstance(data, m.LeagueError)
    assert (data.error_code, data.original_message_type) == ("E003", "LEAGUE_QUERY")
    assert {(one["path"], one["code"]) for one in data.context["violations"]} == {
        ("query_type", "E003"),
        ("sender", "E044"),
    }


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMED = st.sampled_from(["message_type", "conversation_id", "match_id", "player_id", "protocol", "sender"])


@given(st.dictionaries(NAMED, ANY_JSON) | ANY_JSON, st.sampled_from(sorted(CATALOGUE)), st.text(max_size=80))
def test_no_params_and_no_method_spoil_a_refusal(params, code, method):
    call = call_of(json.dumps(params).encode(), method)
    assert isinstance(whole(by_manager(ProtocolError(code), call)), m.LeagueError)
    assert isinstance(whole(by_referee(ProtocolError(code), call)), m.GameError)
    assert player_refusal(ProtocolError(code), call).data["error_code"] == code
