"""The error catalogue as the documents have it, and the JSON-RPC number that each cause has under each method."""

from __future__ import annotations

import re

import pytest

from leaguekit.protocol.errors import (
    CATALOGUE,
    InvalidMessage,
    ProtocolError,
    Violation,
    documented_number,
    rpc_number,
)


def _row(requirement: str, *values):
    """A row of a document's table. Tests of the programs prove it; here only our table is compared with it."""
    return pytest.param(*values, id=f"{requirement}-{values[0]}")


NAMES = (
    _row("000-L1226", "E003", "MISSING_REQUIRED_FIELD"),
    _row("000-L1227", "E005", "PLAYER_NOT_REGISTERED"),
    _row("000-L1228", "E011", "AUTH_TOKEN_MISSING"),
    _row("000-L1229", "E012", "AUTH_TOKEN_INVALID"),
    _row("000-L1230", "E018", "PROTOCOL_VERSION_MISMATCH"),
    _row("000-L1231", "E019", "LATE_REGISTRATION"),
    _row("000-L1232", "E021", "INVALID_TIMESTAMP"),
    _row("000-L1313", "E001", "TIMEOUT_ERROR"),
    _row("000-L1314", "E004", "INVALID_PARITY_CHOICE"),
    _row("000-L1315", "E009", "CONNECTION_ERROR"),
    _row("000-L1316", "E015", "MATCH_ID_MISMATCH"),
    _row("001-L1544", "E012", "AUTH_TOKEN_INVALID"),
    _row("001-L1546", "E020", "LEAGUE_FULL"),
    _row("001-L1548", "E030", "LEAGUE_NOT_STARTED"),
    _row("001-L1549", "E031", "LEAGUE_ALREADY_COMPLETE"),
    _row("003-L0251", "E001", "TIMEOUT_ERROR"),
    _row("003-L0252", "E003", "MISSING_REQUIRED_FIELD"),
    _row("003-L0253", "E004", "INVALID_PARITY_CHOICE"),
    _row("003-L0254", "E005", "PLAYER_NOT_REGISTERED"),
    _row("003-L0255", "E009", "CONNECTION_ERROR"),
    _row("003-L0256", "E011", "AUTH_TOKEN_MISSING"),
    _row("003-L0257", "E012", "AUTH_TOKEN_INVALID"),
)
SEVERITIES = (
    _row("002-L0290", "E001", "TIMEOUT_ERROR", "High"),
    _row("002-L0291", "E003", "MISSING_REQUIRED_FIELD", "High"),
    _row("002-L0292", "E004", "INVALID_PARITY_CHOICE", "High"),
    _row("002-L0293", "E005", "PLAYER_NOT_REGISTERED", "High"),
    _row("002-L0294", "E009", "CONNECTION_ERROR", "Critical"),
    _row("002-L0295", "E011", "AUTH_TOKEN_MISSING", "High"),
    _row("002-L0296", "E012", "AUTH_TOKEN_INVALID", "High"),
    _row("002-L0297", "E021", "INVALID_TIMESTAMP", "Medium"),
)
# Document 001's own codes and names where another document has taken the code, and what we call the cause.
CLASHES = (
    _row("001-L1541", "E001", "INVALID_PROTOCOL_VERSION", "E018", "PROTOCOL_VERSION_MISMATCH"),
    _row("001-L1542", "E002", "MISSING_REQUIRED_FIELD", "E003", "MISSING_REQUIRED_FIELD"),
    _row("001-L1543", "E003", "INVALID_FIELD_TYPE", "E043", "INVALID_FIELD_TYPE"),
    _row("001-L1545", "E013", "AUTH_TOKEN_MISSING", "E011", "AUTH_TOKEN_MISSING"),
    _row("001-L1547", "E021", "DUPLICATE_NAME", "E047", "DUPLICATE_NAME"),
    ("E002", "INVALID_MOVE", "E057", "INVALID_MOVE"),
    ("E003", "PLAYER_DISCONNECT", "E009", "CONNECTION_ERROR"),
    _row("001-L1655", "E004", "INVALID_STATE", "E051", "MATCH_STATE_ERROR"),
)


@pytest.mark.parametrize(("code", "name"), NAMES)
def test_a_code_has_the_name_that_the_documents_give_it(code, name):
    assert CATALOGUE[code].name == name


@pytest.mark.parametrize(("code", "name", "severity"), SEVERITIES)
def test_a_code_has_the_severity_of_document_002(code, name, severity):
    fault = CATALOGUE[code]
    assert (fault.code, fault.name, fault.severity) == (code, name, severity)


@pytest.mark.parametrize(("theirs", "their_name", "code", "name"), CLASHES)
def test_a_cause_whose_code_clashes_has_one_of_its_own(theirs, their_name, code, name):
    assert theirs not in CATALOGUE or CATALOGUE[theirs].name != their_name
    assert CATALOGUE[code].name == name


@pytest.mark.parametrize("fault", CATALOGUE.values(), ids=lambda fault: fault.code)
def test_every_row_is_complete(fault):
    assert CATALOGUE[fault.code] is fault
    assert re.fullmatch(r"E\d{3}", fault.code)
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", fault.name)
    assert fault.severity in ("Medium", "High", "Critical")
    assert isinstance(fault.retryable, bool)
    assert re.fullmatch(r"[A-Z].*\.", fault.sentence)
    assert re.fullmatch(r"[A-Z].*\.", fault.remedy)


def test_no_two_codes_have_the_same_name():
    assert len({fault.name for fault in CATALOGUE.values()}) == len(CATALOGUE)


def test_our_own_codes_begin_at_e040():
    documented = {row.values[0] for row in (*NAMES, *SEVERITIES)}
    assert {code for code in CATALOGUE if code < "E040"} == documented


@pytest.mark.parametrize(
    "code",
    [*("E001", "E009", "E030", "E048", "E059", "E060")],
)
def test_what_time_may_mend_can_be_tried_again(code):
    assert CATALOGUE[code].retryable


@pytest.mark.parametrize(
    "code",
    [*("E003", "E004", "E005", "E011", "E012", "E015", "E018", "E019", "E020", "E021", "E031", "E043", "E047", "E054")],
)
def test_what_repetition_does_not_mend_cannot_be_tried_again(code):
    assert not CATALOGUE[code].retryable


def _number(requirements: str, *row):
    ids = requirements.split()
    return pytest.param(*row, id=f"{ids[0]}-{row[0]}-{row[1]}")


INVALID_PARAMS = (-32602, "Invalid params")
INTERNAL = (-32603, "Internal error")
TABLES = (
    _number("001-L0201", "register_referee", "E003", *INVALID_PARAMS),
    _number("001-L0201", "register_referee", "E043", *INVALID_PARAMS),
    _number("001-L0202", "register_referee", "E060", *INTERNAL),
    _number("001-L0203", "register_referee", "E020", 1001, "League full"),
    _number("001-L0204", "register_referee", "E048", 1002, "Invalid endpoint"),
    _number("001-L0205", "register_referee", "E049", 1003, "Unsupported game type"),
    _number("001-L0327", "register_player", "E003", *INVALID_PARAMS),
    _number("001-L0327", "register_player", "E043", *INVALID_PARAMS),
    _number("001-L0328", "register_player", "E060", *INTERNAL),
    _number("001-L0329", "register_player", "E020", 2001, "League full"),
    _number("001-L0330", "register_player", "E047", 2002, "Duplicate name"),
    _number("001-L0331", "register_player", "E048", 2003, "Invalid endpoint"),
    _number("001-L0332", "register_player", "E049", 2004, "Unsupported game type"),
    _number("001-L0470", "notify_round", "E003", *INVALID_PARAMS),
    _number("001-L0471", "notify_round", "E012", 3001, "Invalid auth token"),
    _number("001-L0472", "notify_round", "E005", 3002, "Player not registered"),
    _number("001-L0634", "update_standings", "E003", *INVALID_PARAMS),
    _number("001-L0635", "update_standings", "E012", 3001, "Invalid auth token"),
    _number("001-L0731", "notify_round_completed", "E003", *INVALID_PARAMS),
    _number("001-L0732", "notify_round_completed", "E012", 3001, "Invalid auth token"),
    _number("001-L0883", "notify_league_completed", "E003", *INVALID_PARAMS),
    _number("001-L0884", "notify_league_completed", "E012", 3001, "Invalid auth token"),
    _number("001-L0997", "handle_game_invitation", "E003", *INVALID_PARAMS),
    _number("001-L0998", "handle_game_invitation", "E012", 4001, "Invalid auth token"),
    _number("001-L0999", "handle_game_invitation", "E005", 4002, "Player not found"),
    _number("001-L1000", "handle_game_invitation", "E050", 4003, "Match not found"),
    _number("001-L1001 001-L1010", "handle_game_invitation", "E001", -1, "Timeout waiting for GAME_JOIN_ACK"),
    _number("001-L1154", "parity_choose", "E003", *INVALID_PARAMS),
    _number("001-L1155", "parity_choose", "E012", 4001, "Invalid auth token"),
    _number("001-L1156", "parity_choose", "E004", 4004, "Invalid choice"),
    _number("001-L1157", "parity_choose", "E051", 4005, "Match state error"),
    _number("001-L1158 001-L1167", "parity_choose", "E001", -1, "Timeout waiting for CHOOSE_PARITY_RESPONSE"),
    _number("001-L1303", "notify_match_result", "E003", *INVALID_PARAMS),
    _number("001-L1304", "notify_match_result", "E012", 4001, "Invalid auth token"),
    _number("001-L1438", "report_match_result", "E003", *INVALID_PARAMS),
    _number("001-L1439", "report_match_result", "E012", 5001, "Invalid auth token"),
    _number("001-L1440", "report_match_result", "E050", 5002, "Match not found"),
    _number("001-L1441", "report_match_result", "E054", 5003, "Duplicate report"),
    _number("001-L1787", "league_query", "E003", *INVALID_PARAMS),
    _number("001-L1788", "league_query", "E012", 6001, "Invalid auth token"),
    _number("001-L1789", "league_query", "E052", 6002, "Invalid query type"),
    _number("001-L1790", "league_query", "E053", 6003, "League not found"),
)


@pytest.mark.parametrize(("method", "code", "number", "text"), TABLES)
def test_a_cause_has_the_number_and_the_text_of_document_001(method, code, number, text):
    assert rpc_number(method, code) == (number, text)
    assert documented_number(method, code) == (None if number < -1 else number)


@pytest.mark.parametrize(
    ("method", "code", "number", "text"),
    [
        ("game_join_ack", "E012", 4001, "Invalid auth token"),
        ("game_join_ack", "E005", 4002, "Player not found"),
        ("game_join_ack", "E050", 4003, "Match not found"),
        ("game_join_ack", "E051", 4005, "Match state error"),
        ("game_join_ack", "E001", -1, "Timeout waiting for GAME_JOIN_ACK"),
        ("choose_parity_response", "E012", 4001, "Invalid auth token"),
        ("choose_parity_response", "E050", 4003, "Match not found"),
        ("choose_parity_response", "E004", 4004, "Invalid choice"),
        ("choose_parity_response", "E051", 4005, "Match state error"),
        ("choose_parity_response", "E001", -1, "Timeout waiting for CHOOSE_PARITY_RESPONSE"),
        ("choose_move", "E012", 4001, "Invalid auth token"),
        ("choose_move", "E051", 4005, "Match state error"),
        ("choose_move", "E001", -1, "Timeout waiting for GAME_MOVE_RESPONSE"),
        ("game_move_response", "E012", 4001, "Invalid auth token"),
        ("game_move_response", "E050", 4003, "Match not found"),
        ("game_move_response", "E057", 4004, "Invalid choice"),
        ("game_move_response", "E051", 4005, "Match state error"),
        ("game_move_response", "E001", -1, "Timeout waiting for GAME_MOVE_RESPONSE"),
    ],
)
def test_an_answer_that_is_posted_has_the_numbers_of_its_question(method, code, number, text):
    assert rpc_number(method, code) == (number, text)
    assert documented_number(method, code) == number


@pytest.mark.parametrize("method", [None, "league_query", "parity_choose", "no such method"])
@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("E040", -32700, "Parse error"),
        ("E041", -32600, "Invalid Request"),
        ("E046", -32600, "Invalid Request"),
        ("E042", -32601, "Method not found"),
        ("E003", -32602, "Invalid params"),
        ("E018", -32602, "Invalid params"),
        ("E021", -32602, "Invalid params"),
        ("E043", -32602, "Invalid params"),
        ("E044", -32602, "Invalid params"),
        ("E045", -32602, "Invalid params"),
        ("E060", -32603, "Internal error"),
    ],
)
def test_a_malformed_request_has_the_standard_number_under_every_method(method, code, number, text):
    assert rpc_number(method, code) == (number, text)


@pytest.mark.parametrize(
    ("method", "code", "number"),
    [
        (None, "E012", 12),
        ("register_player", "E019", 19),
        ("register_referee", "E019", 19),
        ("report_match_result", "E030", 30),
        ("report_match_result", "E031", 31),
        ("league_query", "E020", 20),
        ("notify_match_result", "E050", 50),
        ("no such method", "E059", 59),
        (None, "E001", 1),
    ],
)
def test_what_no_table_has_gets_the_digits_and_the_name_of_its_code(method, code, number):
    assert rpc_number(method, code) == (number, CATALOGUE[code].name)
    assert documented_number(method or "", code) is None


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_has_a_number_under_every_method(code):
    for method in (None, *(row.values[0] for row in TABLES)):
        number, text = rpc_number(method, code)
        assert number in (-32700, -32600, -32601, -32602, -32603, -1) or 0 < number < 10_000
        assert text


def test_an_error_says_what_the_catalogue_says_unless_told_more():
    plain = ProtocolError("E019")
    assert str(plain) == "E019 LATE_REGISTRATION: The league has started; registration is closed."
    assert (plain.fault, plain.context, plain.data) == (CATALOGUE["E019"], {}, {})
    told = ProtocolError("E054", "R1M1 was reported.", context={"a": 1}, data={"match_id": "R1M1"})
    assert str(told) == "E054 DUPLICATE_REPORT: R1M1 was reported."
    assert (told.detail, told.context, told.data) == ("R1M1 was reported.", {"a": 1}, {"match_id": "R1M1"})


@pytest.mark.proves("000-L1236")
@pytest.mark.parametrize("code", ["E002", "E099", "", "e003"])
def test_an_error_outside_the_catalogue_cannot_be_made(code):
    with pytest.raises(KeyError):
        ProtocolError(code)


def test_a_violation_tells_where_what_came_what_was_expected_and_who_says_so():
    violation = Violation("sender", "E044", 'got "x"', "text", "000-L1372")
    assert str(violation) == 'sender: got "x"; expected text [000-L1372]'
    assert violation.plain() == {
        "path": "sender",
        "code": "E044",
        "came": 'got "x"',
        "expected": "text",
        "requirement": "000-L1372",
    }


def test_a_violation_without_a_requirement_names_none():
    violation = Violation("sender", "E044", 'got "x"', "text")
    assert str(violation) == 'sender: got "x"; expected text'
    assert "requirement" not in violation.plain()


def _violation(code: str) -> Violation:
    return Violation(code.lower(), code, "came", "expected")


@pytest.mark.parametrize(
    ("codes", "worst"),
    [
        (["E004"], "E004"),
        (["E004", "E021"], "E021"),
        (["E021", "E044"], "E044"),
        (["E044", "E043"], "E043"),
        (["E043", "E011"], "E011"),
        (["E011", "E003"], "E003"),
        (["E003", "E045"], "E045"),
        (["E021", "E003", "E018", "E045"], "E018"),
        (["E004", "E057"], "E004"),
    ],
)
def test_an_invalid_message_is_called_by_its_worst_violation_and_lists_all(codes, worst):
    error = InvalidMessage([_violation(code) for code in codes])
    assert error.code == worst
    assert [one.code for one in error.violations] == codes
    assert [one["path"] for one in error.context["violations"]] == [code.lower() for code in codes]
    assert error.detail == "; ".join(f"{code.lower()}: came; expected expected" for code in codes)
