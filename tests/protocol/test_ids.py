"""Ids, senders and protocol versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.protocol import ids
from leaguekit.protocol.fields import ConversationId, MatchId, PlayerId, RefereeId
from leaguekit.protocol.fields import Sender as SenderField
from leaguekit.protocol.patterns import valid


@pytest.mark.parametrize(("number", "text"), [(1, "P01"), (9, "P09"), (10, "P10"), (99, "P99"), (100, "P100")])
def test_a_player_id_has_two_digits_at_least(number, text):
    assert ids.player_id(number) == text


@pytest.mark.settles("003-L0066")
@pytest.mark.parametrize(("number", "text"), [(1, "REF01"), (10, "REF10"), (99, "REF99"), (100, "REF100")])
def test_a_referee_id_has_two_digits_at_least(number, text):
    assert ids.referee_id(number) == text


@pytest.mark.proves("003-L0063")
@pytest.mark.parametrize(("round_id", "number", "text"), [(1, 1, "R1M1"), (3, 2, "R3M2"), (10, 12, "R10M12")])
def test_a_match_id_names_its_round_and_its_place_in_it(round_id, number, text):
    assert ids.match_id(round_id, number) == text
    assert ids.match_numbers(text) == (round_id, number)


@given(st.integers(1, 10**9 - 1), st.integers(1, 10**9 - 1))
def test_a_match_id_can_be_taken_apart_again(round_id, number):
    text = ids.match_id(round_id, number)
    assert ids.match_numbers(text) == (round_id, number)
    assert valid(MatchId, text)


def test_matches_sort_by_number_and_not_by_text():
    assert sorted(["R10M1", "R2M10", "R2M9"], key=ids.match_numbers) == ["R2M9", "R2M10", "R10M1"]


@pytest.mark.proves("003-L0063")
@pytest.mark.parametrize("text", ["", "R1", "M1", "r1m1", "R0M1", "R1M0", "R01M1", "R1M1 ", "R1M1\n", " R1M1", "R1M١"])
def test_what_is_no_match_id_is_not_taken_apart(text):
    with pytest.raises(ValueError, match="not of the form R1M1"):
        ids.match_numbers(text)


@given(st.integers(1, 10**9 - 1))
def test_the_ids_we_give_are_ids_that_messages_take(number):
    assert valid(PlayerId, ids.player_id(number))
    assert valid(RefereeId, ids.referee_id(number))


@pytest.mark.parametrize(
    ("kind", "text"), [(PlayerId, "P01"), (RefereeId, "REF01"), (MatchId, "R1M1"), (SenderField, "player:P01")]
)
def test_an_id_with_a_line_break_behind_it_is_none(kind, text):
    assert valid(kind, text)
    assert not valid(kind, f"{text}\n")


@pytest.mark.parametrize(
    ("arguments", "text"), [(("R1M1",), "conv-r1m1-001"), (("R10M2", 3), "conv-r10m2-003"), (("R1M1", 1000), None)]
)
def test_each_attempt_at_a_match_has_a_conversation(arguments, text):
    conversation = ids.match_conversation(*arguments)
    assert conversation == (text or "conv-r1m1-1000")
    assert valid(ConversationId, conversation)


@pytest.mark.parametrize(
    ("text", "role", "agent"),
    [
        pytest.param("league_manager", "league_manager", None, marks=pytest.mark.proves("003-L0125")),
        ("league_manager:LM01", "league_manager", "LM01"),
        pytest.param("referee:REF01", "referee", "REF01", marks=pytest.mark.proves("003-L0126")),
        pytest.param("player:P01", "player", "P01", marks=pytest.mark.proves("003-L0127")),
        ("player:a:b", "player", "a:b"),
        ("player:Agent Alpha", "player", "Agent Alpha"),
    ],
)
def test_a_sender_is_a_role_and_an_id(text, role, agent):
    assert valid(SenderField, text)
    assert ids.read_sender(text) == ids.Sender(role, agent)


@pytest.mark.parametrize(
    ("role", "agent", "text"),
    [
        pytest.param("referee", "REF01", "referee:REF01", marks=pytest.mark.proves("003-L0126")),
        pytest.param("player", "P01", "player:P01", marks=pytest.mark.proves("003-L0127")),
    ],
)
def test_a_sender_is_written_as_type_and_id(role, agent, text):
    assert ids.sender_of(role, agent) == text
    assert ids.read_sender(text) == (role, agent)


def test_the_manager_sends_under_the_bare_word():
    assert ids.MANAGER == "league_manager"
    assert valid(SenderField, ids.MANAGER)


@pytest.mark.parametrize("text", ["", "player", "player:", "referee", "referee:", "P01", "Player:P01", "umpire:U1"])
def test_what_is_no_sender_is_refused(text):
    assert not valid(SenderField, text)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(ids.PROTOCOL_VERSION, marks=pytest.mark.proves("003-L0286", "000-L1596")),
        pytest.param(ids.OLDEST_VERSION, marks=pytest.mark.proves("003-L0287")),
        "2.0.1",
        "2.2.0",
        "2.10.30",
        "2.1.0+build.7",
    ],
)
def test_we_speak_every_release_from_2_0_0_on(version):
    assert ids.is_supported_version(version)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("1.9.9", marks=pytest.mark.proves("003-L0287")),
        pytest.param("1.0.0", marks=pytest.mark.proves("003-L0287")),
        "0.0.0",
        "2.0.0-rc.1",
        "2.1.0-beta",
        "3.0.0",
        "20.0.0",
        "2.0",
        "2",
        "",
        "v2.1.0",
        "2.01.0",
        "2.1.00",
        "2.1.0.0",
        " 2.1.0",
        "2.1.0\n",
        "2.1.0+",
        "2.x.0",
        "٢.1.0",
    ],
)
def test_we_speak_no_other_version(version):
    assert not ids.is_supported_version(version)


def test_the_current_and_the_oldest_version_are_the_documents():
    assert (ids.PROTOCOL_VERSION, ids.OLDEST_VERSION) == ("2.1.0", "2.0.0")
