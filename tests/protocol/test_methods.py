"""The methods: names, messages, receivers, and calls that do not fit."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import InvalidMessage, ProtocolError, rpc_number
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST, METHODS, PING, prepare_decoders, read_call, read_pong
from leaguekit.protocol.patterns import checker
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, Call, decode_valid_call, request
from tests.samples import samples_of

ROLES = ("league_manager", "referee", "player")


def _row(requirement: str, *values):
    """A method of document 001. The recorded league proves the requirement; here our table is compared with it."""
    return pytest.param(*values, id=f"{requirement}-{values[0]}")


DOCUMENT_001 = (
    _row("001-L0097", "register_referee", m.RefereeRegisterRequest, m.RefereeRegisterResponse, "league_manager", 10),
    _row("001-L0241", "register_player", m.LeagueRegisterRequest, m.LeagueRegisterResponse, "league_manager", 10),
    _row("001-L0371", "notify_round", m.RoundAnnouncement, m.RoundAnnouncementAck, "player", 10),
    _row("001-L0506", "update_standings", m.LeagueStandingsUpdate, m.StandingsUpdateAck, "player", 10),
    _row("001-L0652", "notify_round_completed", m.RoundCompleted, m.RoundCompletedAck, "player", 10),
    _row("001-L0749", "notify_league_completed", m.LeagueCompleted, m.LeagueCompletedAck, "player", 10),
    _row("001-L0904", "handle_game_invitation", m.GameInvitation, m.GameJoinAck, "player", 5),
    _row("001-L1045", "parity_choose", m.ChooseParityCall, m.ChooseParityResponse, "player", 30),
    _row("001-L1203", "notify_match_result", m.GameOver, m.GameOverAck, "player", 5),
    _row("001-L1325", "report_match_result", m.MatchResultReport, m.MatchResultAck, "league_manager", 10),
    _row("001-L1563", "notify_game_error", m.GameError, m.GameErrorAck, "player", 10),
    _row("001-L1677", "league_query", m.LeagueQuery, m.LeagueQueryResponse, "league_manager", 10),
)


def call_of(name: str, message: m.Message) -> Call:
    return Call(b"1", name, Raw(encode(message)))


def refused(call: Call, role) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        read_call(call, role)
    return caught.value


@pytest.mark.parametrize(("name", "request_type", "answer_type", "receiver", "seconds"), DOCUMENT_001)
def test_every_method_of_document_001_is_there(name, request_type, answer_type, receiver, seconds):
    method = BY_NAME[name]
    assert (method.name, method.request, method.answer, method.seconds) == (name, request_type, answer_type, seconds)
    assert BY_REQUEST[request_type] is method
    assert receiver in method.receivers
    for sample in samples_of(m.message_type(request_type)):
        assert read_call(call_of(name, sample), receiver) == (method, sample)
        assert read_call(decode_valid_call(request(name, encode(sample), 1), MAX_TRUSTED_BYTES), receiver)[1] == sample


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_message_type_is_a_name_of_the_method_in_either_case(method):
    wire = m.message_type(method.request)
    for name in (wire, wire.lower()):
        for sample in samples_of(wire):
            assert read_call(call_of(name, sample), method.receivers[0]) == (method, sample)


def test_a_role_gets_ready_for_what_it_is_sent():
    prepare_decoders("player")
    made = checker.cache_info().misses
    for method in METHODS:
        if "player" in method.receivers:
            checker(method.request)
    assert checker.cache_info().misses == made


def test_choose_parity_is_another_name_of_parity_choose():
    (sample, *_) = samples_of("CHOOSE_PARITY_CALL")
    method, message = read_call(call_of("choose_parity", sample), "player")
    assert (method.name, message) == ("parity_choose", sample)


def test_no_two_methods_share_a_name_or_a_message():
    assert len(BY_NAME) == len({(name, method.name) for method in METHODS for name in method.names})
    assert len(BY_REQUEST) == len(METHODS)
    assert PING not in BY_NAME


@pytest.mark.proves("001-L1482")
def test_a_league_error_has_no_method_of_its_own_in_001_and_goes_by_its_type():
    method = BY_REQUEST[m.LeagueError]
    assert {"LEAGUE_ERROR", "league_error"} < {*method.names}
    assert method.receivers == ("player", "referee")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "name",
    [
        "",
        "no_such_method",
        "Register_Player",
        "REGISTER_PLAYER",
        "rpc.discover",
        "ping",
        " parity_choose",
    ],
)
def test_an_unknown_method_is_e042_whatever_it_carries(name, role):
    for params in (Raw(b""), Raw(b"[]"), Raw(b"{}"), Raw(encode(samples_of("LEAGUE_QUERY")[0]))):
        error = refused(Call(b"1", name, params), role)
        assert error.code == "E042"
        assert rpc_number(name, error.code)[0] == -32601


@pytest.mark.parametrize(
    ("method", "role"),
    [(method, role) for method in METHODS for role in ROLES if role not in method.receivers],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_the_methods_of_another_role_are_unknown_here(method, role):
    (sample, *_) = samples_of(m.message_type(method.request))
    for name in method.names:
        assert refused(call_of(name, sample), role).code == "E042"


def test_who_calls_an_unknown_method_is_told_which_there_are():
    detail = refused(Call(b"1", "x" * 1000, Raw(b"{}")), "referee").detail
    assert detail.endswith(
        "here; there are start_match, game_join_ack, choose_parity_response, game_move_response, notify_round, "
        "notify_round_completed, notify_league_completed, league_error, ping."
    )
    assert "x" * 50 in detail
    assert "x" * 51 not in detail


@pytest.mark.proves("000-L1503")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_message_of_another_type_does_not_fit_the_method(method):
    for other in METHODS:
        if other is not method:
            (sample, *_) = samples_of(m.message_type(other.request))
            error = refused(call_of(method.name, sample), method.receivers[0])
            assert isinstance(error, InvalidMessage)
            assert error.code == "E045"
            assert rpc_number(method.name, error.code) == (-32602, "Invalid params")
            assert m.message_type(method.request) in error.detail


@pytest.mark.proves("000-L1503")
@pytest.mark.parametrize(
    "value", ["NO_SUCH_TYPE", "league_query", "League_Query", "LEAGUE_QUERY ", 7, ["LEAGUE_QUERY"]]
)
def test_an_unknown_message_type_is_e045(value):
    message = json.loads(encode(samples_of("LEAGUE_QUERY")[0])) | {"message_type": value}
    assert refused(Call(b"1", "league_query", Raw(json.dumps(message).encode())), "league_manager").code == "E045"


@pytest.mark.parametrize(
    ("params", "code"), [(b"", "E003"), (b"[]", "E043"), (b"{}", "E003"), (b'{"message_type":"LEAGUE_QUERY"}', "E003")]
)
def test_params_without_a_message_are_refused(params, code):
    assert refused(Call(b"1", "league_query", Raw(params)), "league_manager").code == code


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_another_protocol_is_e018_under_every_method(method):
    (sample, *_) = samples_of(m.message_type(method.request))
    message = json.loads(encode(sample)) | {"protocol": "league.v1"}
    error = refused(Call(b"1", method.name, Raw(json.dumps(message).encode())), method.receivers[0])
    assert error.code == "E018"
    assert rpc_number(method.name, error.code)[0] == -32602


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (
            b'{"jsonrpc":"2.0","result":{"player_id":"P01","league_id":"x"},"id":1}',
            {"player_id": "P01", "league_id": "x"},
        ),
        (b'{"result":{}}', {}),
        (b'{"result":"pong"}', {}),
        (b'{"error":{}}', {}),
        (b"\xff", {}),
        (b'{"result":"\xff"}', {}),
        (b"[" * 100_000, {}),
    ],
)
def test_the_answer_to_a_ping_may_have_any_form(body: bytes, fields: dict[str, object]) -> None:
    assert read_pong(body) == fields
