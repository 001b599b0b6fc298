"""What is refused, and how: by document, with the code, the path and the requirement."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import (
    MAX_CONTAINERS,
    MAX_EXPLAINED_BYTES,
    MAX_EXTREME_NUMBERS,
    MAX_VIOLATIONS,
    check_text,
    decode,
    describe_schema,
    encode,
    of_type,
    violations,
)
from leaguekit.protocol.errors import InvalidMessage, ProtocolError, Violation
from tests.samples import samples_of

VALID_CHOICE = msgspec.json.decode(encode(samples_of("CHOOSE_PARITY_RESPONSE")[0]))
VALID_JOIN = msgspec.json.decode(encode(samples_of("GAME_JOIN_ACK")[0]))
VALID_REFEREE = msgspec.json.decode(encode(samples_of("REFEREE_REGISTER_REQUEST")[0]))
INVITATION = msgspec.json.decode(encode(samples_of("GAME_INVITATION")[0]))


def _refusal(value: Any) -> InvalidMessage:
    with pytest.raises(InvalidMessage) as refusal:
        decode(msgspec.json.encode(value))
    return refusal.value


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param(choice, marks=pytest.mark.proves(f"000-L{line:04d}"))
        for line, choice in ((839, "even"), (840, "odd"))
    ],
)
def test_the_two_valid_choices_are_right(choice: str) -> None:
    assert violations(VALID_CHOICE | {"parity_choice": choice}) == []


@pytest.mark.proves("000-L0834", "000-L1387", "000-L1388", "000-L1421", "004-L0227", "004-L0576", "000-L0874")
@pytest.mark.parametrize(
    "choice",
    [
        pytest.param(choice, marks=pytest.mark.proves(f"000-L{line:04d}"))
        for line, choice in (
            (843, "Even"),
            (844, "EVEN"),
            (845, "e"),
            (846, "maybe"),
            (847, 0),
            (848, False),
            (849, None),
            (850, ""),
        )
    ],
)
def test_the_eight_invalid_choices_are_e004_and_left_to_the_referee_to_judge(choice: Any) -> None:
    (violation,) = violations(VALID_CHOICE | {"parity_choice": choice})
    assert (violation.path, violation.code) == ("parity_choice", "E004")
    assert violation.requirement == "000-L0832"
    # The decoder lets it pass: the sender is checked before the content.
    message = decode(msgspec.json.encode(VALID_CHOICE | {"parity_choice": choice}))
    assert isinstance(message, m.ChooseParityResponse)
    assert message.parity_choice == choice


def test_an_absent_choice_is_a_missing_field() -> None:
    refusal = _refusal({name: value for name, value in VALID_CHOICE.items() if name != "parity_choice"})
    assert (refusal.code, refusal.violations[0].path) == ("E003", "parity_choice")


@pytest.mark.parametrize(
    "timestamp",
    [
        pytest.param(text, marks=pytest.mark.proves(*ids))
        for text, ids in (
            ("2025-01-15T10:30:00Z", ["003-L0105", "000-L1412", "000-L1408", "004-L0582"]),
            ("2025-01-15T10:30:00+00:00", ["003-L0106", "000-L1413"]),
            ("20250115T10:30:00Z", ["000-L1409"]),
        )
    ],
)
def test_a_valid_timestamp_is_taken(timestamp: str) -> None:
    assert decode(msgspec.json.encode(VALID_JOIN | {"timestamp": timestamp, "arrival_timestamp": timestamp}))


@pytest.mark.proves("003-L0099", "003-L0110", "000-L1534", "000-L1588", "000-L0622", "000-L1465", "000-L1232")
@pytest.mark.parametrize(
    "timestamp",
    [
        pytest.param("2025-01-15T10:30:00+02:00", marks=pytest.mark.proves("003-L0107", "000-L1414")),
        pytest.param("2025-01-15T10:30:00", marks=pytest.mark.proves("003-L0108")),
        "2025-01-15 10:30:00Z",
        "2025-02-29T10:30:00Z",
        "2025-13-01T10:30:00Z",
        "2025-01-15T24:00:00Z",
        "yesterday",
        "",
        1736937000,
    ],
)
@pytest.mark.parametrize("field", ["timestamp", "arrival_timestamp"])
def test_an_invalid_timestamp_is_e021(timestamp: Any, field: str) -> None:
    refusal = _refusal(VALID_JOIN | {field: timestamp})
    assert refusal.code == "E021"
    assert [violation.path for violation in refusal.violations] == [field]


@pytest.mark.proves("000-L1430", "000-L1431", "000-L1506", "000-L1533", "000-L1226")
@pytest.mark.parametrize("field", ["protocol", "sender", "timestamp", "conversation_id", "message_type", "opponent_id"])
def test_a_missing_or_null_required_field_is_e003(field: str) -> None:
    missing = _refusal({name: value for name, value in INVITATION.items() if name != field})
    assert (missing.code, [violation.path for violation in missing.violations]) == ("E003", [field])
    null = _refusal(INVITATION | {field: None})
    assert (null.code, [violation.path for violation in null.violations]) == ("E003", [field])


@pytest.mark.proves("000-L1425", "000-L1426", "000-L1427", "000-L1397", "000-L1589", "004-L0578", "000-L1464")
@pytest.mark.parametrize(
    ("message", "field", "value"),
    [
        (VALID_JOIN, "accept", 1),
        (VALID_JOIN, "accept", 0),
        (VALID_JOIN, "accept", "true"),
        (VALID_JOIN, "match_id", 11),
        (VALID_JOIN, "player_id", True),
        (INVITATION, "round_id", "1"),
        (INVITATION, "round_id", True),
        (INVITATION, "league_id", 7),
        (INVITATION, "opponent_id", ["P02"]),
    ],
)
def test_a_value_of_another_type_is_never_converted(message: dict[str, Any], field: str, value: Any) -> None:
    refusal = _refusal(message | {field: value})
    assert (refusal.code, [violation.path for violation in refusal.violations]) == ("E043", [field])


@pytest.mark.proves("000-L1590")
@pytest.mark.parametrize(("value", "taken"), [(2**31 - 1, True), (2**31, False), (-(2**31) - 1, False), (2**70, False)])
def test_integers_are_signed_and_of_32_bits(value: int, taken: bool) -> None:
    broken = INVITATION | {"round_id": value}
    if taken:
        assert decode(msgspec.json.encode(broken))
    else:
        with pytest.raises(InvalidMessage):
            decode(json.dumps(broken).encode())


@pytest.mark.proves("000-L1568")
@pytest.mark.parametrize(("length", "taken"), [(0, False), (1, True), (50, True), (51, False)])
def test_a_display_name_has_1_to_50_characters(length: int, taken: bool) -> None:
    meta = VALID_REFEREE["referee_meta"] | {"display_name": "é" * length}
    assert (violations(VALID_REFEREE | {"referee_meta": meta}) == []) is taken


@pytest.mark.proves("000-L1370")
@pytest.mark.parametrize("protocol", ["league.v1", "LEAGUE.V2", "", 2])
def test_another_protocol_is_e018_before_anything_else(protocol: Any) -> None:
    refusal = _refusal({"message_type": "GAME_INVITATION", "protocol": protocol, "timestamp": "now"})
    assert refusal.code == "E018"
    assert len(refusal.violations) > 2


@pytest.mark.parametrize("name", ["GAME_INVITE", "game_invitation", "", 5])
def test_an_unknown_message_type_is_e045_and_the_envelope_is_still_judged(name: Any) -> None:
    refusal = _refusal(INVITATION | {"message_type": name, "timestamp": "now"})
    assert refusal.code == "E045"
    assert [violation.path for violation in refusal.violations] == ["message_type", "timestamp"]


def test_all_violations_are_listed_and_not_only_the_first() -> None:
    meta = {
        "display_name": "",
        "version": "1",
        "game_types": [],
        "contact_endpoint": "ftp://x",
        "max_concurrent_matches": 11,
    }
    refusal = _refusal(VALID_REFEREE | {"referee_meta": meta, "sender": "somebody"})
    assert {violation.path for violation in refusal.violations} == {
        "sender",
        "referee_meta.display_name",
        "referee_meta.version",
        "referee_meta.game_types",
        "referee_meta.contact_endpoint",
        "referee_meta.max_concurrent_matches",
    }
    assert all(violation.requirement for violation in refusal.violations)
    assert len(refusal.context["violations"]) == 6


@pytest.mark.proves("000-L1594")
def test_unknown_fields_are_ignored() -> None:
    message = decode(msgspec.json.encode(INVITATION | {"colour": "red", "deep": {"er": [1, 2, 3]}}))
    assert message == samples_of("GAME_INVITATION")[0]


@pytest.mark.parametrize("token", [None, "", 7])
def test_a_token_that_is_none_is_a_missing_token(token: Any) -> None:
    assert _refusal(INVITATION | {"auth_token": token}).code == "E011"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"status": "ACCEPTED"}, "player_id"),
        ({"status": "ACCEPTED", "player_id": None}, "player_id"),
    ],
)
def test_an_accepted_registration_has_an_id(value: dict[str, Any], path: str) -> None:
    envelope = {
        "protocol": "league.v2",
        "timestamp": "2025-01-15T10:30:00Z",
        "message_type": "LEAGUE_REGISTER_RESPONSE",
    }
    refusal = _refusal(envelope | value)
    assert [(violation.path, violation.code) for violation in refusal.violations] == [(path, "E003")]


def test_a_condition_between_fields_cannot_be_broken_by_building_either() -> None:
    with pytest.raises(ValueError, match="matches_completed, matches_played is needed"):
        m.RoundCompleted(
            protocol="league.v2",
            sender="league_manager",
            timestamp="2025-01-15T10:30:00Z",
            conversation_id="c",
            league_id="l",
            round_id=1,
            next_round_id=None,
        )
    with pytest.raises(ValueError, match="winner_player_id is needed when status is 'WIN'"):
        m.GameResult(status="WIN", choices={}, winner_player_id=None)


def test_a_map_must_have_player_ids_as_keys() -> None:
    report = msgspec.json.decode(encode(samples_of("MATCH_RESULT_REPORT")[0]))
    report["result"]["score"] = {"alice": 3, "P02": 0}
    assert [violation.expected for violation in _refusal(report).violations] == ["player ids as keys"]


def test_what_is_wrong_inside_an_object_that_may_be_null_is_named() -> None:
    response = msgspec.json.decode(encode(samples_of("LEAGUE_QUERY_RESPONSE")[1]))
    response["data"]["next_match"]["round_id"] = "2"
    assert [violation.path for violation in _refusal(response).violations] == ["data.next_match.round_id"]


def test_a_message_is_an_object() -> None:
    assert _refusal([1, 2]).violations == [Violation("(message)", "E043", "got [1,2]", "an object")]


def test_a_long_value_is_cut_short_in_the_text() -> None:
    (violation,) = _refusal(INVITATION | {"match_id": "M" * 500}).violations
    assert len(violation.came) < 80


@pytest.mark.parametrize("number", [b"1e400", b"9" * 5000])
def test_a_number_too_large_to_read_is_a_violation(number: bytes) -> None:
    with pytest.raises(InvalidMessage) as refusal:
        decode(b'{"message_type":"GAME_INVITATION","extra":%b,"round_id":%b}' % (number, number))
    assert refusal.value.violations


def test_of_type_refuses_another_type() -> None:
    invitation = samples_of("GAME_INVITATION")[0]
    assert of_type(m.GameInvitation, invitation) is invitation
    with pytest.raises(ProtocolError, match="got 'GAME_INVITATION'; expected 'GAME_OVER'"):
        of_type(m.GameOver, invitation)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"enum": ["a", 1]}, '"a" or 1'),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "a whole number of at least 1 or null"),
        ({"type": "number"}, "a number"),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "a whole number from 1 to 10"),
        ({"type": "array"}, "a list"),
        ({"type": "array", "minItems": 2}, "a list of at least 2"),
        ({"type": "object"}, "an object"),
        ({"$ref": "#/$defs/X"}, "an object"),
        ({"type": "string"}, "text"),
        ({"type": "boolean"}, "true or false"),
        ({}, "a value"),
    ],
)
def test_a_rule_is_put_into_words(schema: dict[str, Any], words: str) -> None:
    assert describe_schema(schema) == words


def refused(message: Any) -> InvalidMessage:
    with pytest.raises(InvalidMessage) as raised:
        decode(msgspec.json.encode(message))
    return raised.value


@pytest.mark.parametrize("item", [1, {}, [], None, "x"])
def test_a_limited_number_of_violations_is_listed_in_an_error_of_limited_length(item: Any) -> None:
    error = refused({"message_type": "LEAGUE_STANDINGS_UPDATE", "standings": [item] * 2_000})
    assert len(error.violations) == MAX_VIOLATIONS
    assert len(error.detail) < 5_000


def test_a_violation_behind_many_items_that_are_right_is_found() -> None:
    message = msgspec.to_builtins(samples_of("ROUND_ANNOUNCEMENT")[0])
    right = message["matches"][0]
    message["matches"] = [right] * 150 + [right | {"match_id": ""}] + [{}]
    paths = [one.path for one in violations(message)]
    assert len(paths) == 1
    assert paths[0].startswith(("matches[150]", "matches[151]"))


def test_of_a_long_message_only_the_first_violation_is_named() -> None:
    padding = "x" * MAX_EXPLAINED_BYTES
    update = msgspec.to_builtins(samples_of("LEAGUE_STANDINGS_UPDATE")[0]) | {"padding": padding}
    assert [one.path for one in refused(update | {"standings": [1] * 9}).violations] == ["standings[0]"]
    assert [one.path for one in refused(update | {"timestamp": "today"}).violations] == ["(message)"]
    assert refused(update | {"message_type": "X" * 2_000}).detail.count("X") < 300
    with pytest.raises(ProtocolError, match="E040"):
        decode(msgspec.json.encode(update)[:-1])


def test_the_path_of_a_violation_is_cut() -> None:
    report = msgspec.to_builtins(samples_of("MATCH_RESULT_REPORT")[0])
    report["result"]["score"] = {"k" * 5_000: "much", "P01": 0}
    assert max(len(one.path) for one in violations(report)) <= 201


def test_a_token_in_a_long_value_is_not_shown() -> None:
    token = "tok-p01-" + "A" * 43
    (error,) = (one for one in violations({"message_type": "x" * 30 + " " + token + "y" * 9_000}) if one.code == "E045")
    assert "AAAA" not in error.came


@pytest.mark.parametrize("number", [b"1e308", b"1.5E-310", b"2e+0291"])
def test_a_text_may_have_only_so_many_numbers_that_take_long_to_decode(number: bytes) -> None:
    check_text(b"[%b]" % b",".join([*[number] * MAX_EXTREME_NUMBERS, *[b"1"] * MAX_EXPLAINED_BYTES]))
    with pytest.raises(ProtocolError, match="more than 100 numbers with exponents of 200 or more"):
        check_text(b"[%b]" % b",".join([*[number] * (MAX_EXTREME_NUMBERS + 1), *[b"1"] * MAX_EXPLAINED_BYTES]))


def test_a_text_may_have_many_ordinary_numbers_and_digests() -> None:
    digest = hashlib.sha256(b"").hexdigest()
    check_text(msgspec.json.encode({"numbers": [1e99, 2.5e-7, 1_000_000] * 1_000, "digests": [digest] * 900}))


@pytest.mark.parametrize("part", [b"{}", b"[]"])
def test_a_text_may_have_only_so_many_objects_and_lists(part: bytes) -> None:
    check_text(b"[%b]" % b",".join([part] * (MAX_CONTAINERS - 1)))
    with pytest.raises(ProtocolError, match="more than 20,000 objects and lists"):
        check_text(b"[%b]" % b",".join([part] * MAX_CONTAINERS))
