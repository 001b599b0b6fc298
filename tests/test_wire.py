"""On the wire: what manager, referees and players really say to each other, recorded between real processes."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import msgspec
import pytest

from leaguekit.match.draw import opens
from leaguekit.protocol.decoding import decode, violations
from leaguekit.protocol.messages import SPECIFIED, message_type
from tests.documents.forms import EXCEPTIONS, MORE_EXCEPTIONS, departures, message_types
from tests.marks import proves
from tests.recorder import Exchange
from tests.requirements import DOCUMENTS, FIELDS
from tests.wire import (
    CLUMSY,
    LAST_ROUND,
    LEAGUE,
    MANAGER,
    OURS,
    PLAYERS,
    REFEREES,
    STRANGER,
    STRATEGIES,
    WRONG_TOKEN,
    Spoken,
    Wire,
    play,
)

AGENTS = [*PLAYERS, *REFEREES]
ROUNDS = [1, 2, 3]

# Document 001's methods: who calls whom, with what, and what comes back. The last ones are ours.
METHODS = {
    "REFEREE_REGISTER_REQUEST": ("register_referee", "referee", "league_manager", "REFEREE_REGISTER_RESPONSE"),
    "LEAGUE_REGISTER_REQUEST": ("register_player", "player", "league_manager", "LEAGUE_REGISTER_RESPONSE"),
    "ROUND_ANNOUNCEMENT": ("notify_round", "league_manager", "player or referee", "ROUND_ANNOUNCEMENT_ACK"),
    "ROUND_COMPLETED": ("notify_round_completed", "league_manager", "player or referee", "ROUND_COMPLETED_ACK"),
    "LEAGUE_COMPLETED": ("notify_league_completed", "league_manager", "player or referee", "LEAGUE_COMPLETED_ACK"),
    "LEAGUE_STANDINGS_UPDATE": ("update_standings", "league_manager", "player", "STANDINGS_UPDATE_ACK"),
    "GAME_INVITATION": ("handle_game_invitation", "referee", "player", "GAME_JOIN_ACK"),
    "CHOOSE_PARITY_CALL": ("parity_choose", "referee", "player", "CHOOSE_PARITY_RESPONSE"),
    "GAME_OVER": ("notify_match_result", "referee", "player", "GAME_OVER_ACK"),
    "GAME_ERROR": ("notify_game_error", "referee", "player", "GAME_ERROR_ACK"),
    "MATCH_RESULT_REPORT": ("report_match_result", "referee", "league_manager", "MATCH_RESULT_ACK"),
    "LEAGUE_QUERY": ("league_query", "player or referee", "league_manager", "LEAGUE_QUERY_RESPONSE"),
    "MATCH_ASSIGNMENT": ("start_match", "league_manager", "referee", "MATCH_ASSIGNMENT_ACK"),
    "MATCH_PROGRESS": ("report_match_progress", "referee", "league_manager", "MATCH_PROGRESS_ACK"),
    "MATCH_VOID_REPORT": ("report_match_void", "referee", "league_manager", "MATCH_VOID_ACK"),
}
BROADCASTS = ["ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "LEAGUE_STANDINGS_UPDATE"]
OF_THE_LEAGUE = [*BROADCASTS, "LEAGUE_QUERY", "MATCH_RESULT_REPORT", "GAME_INVITATION"]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Wire:
    return asyncio.run(play(tmp_path_factory.mktemp("wire")))


def role(agent: str) -> str:
    return MANAGER if agent == MANAGER else "referee" if agent.startswith("REF") else "player"


def is_deliberate(spoken: Spoken) -> bool:
    """Whether this is the one invalid message, which the player by hand sends once."""
    return spoken.value.get("parity_choice") == "Even"


def registrations(wire: Wire, status: str) -> list[Exchange]:
    found = [*wire.sent("REFEREE_REGISTER_REQUEST"), *wire.sent("LEAGUE_REGISTER_REQUEST")]
    return [one for one in found if one.result["status"] == status]


def id_given(answer: dict[str, Any]) -> Any:
    return answer["referee_id"] if answer["message_type"] == "REFEREE_REGISTER_RESPONSE" else answer["player_id"]


def players_of(match: dict[str, Any]) -> list[str]:
    return [match["player_A_id"], match["player_B_id"]]


# What is said


def test_all_eighteen_message_types_of_document_000_occur(wire: Wire) -> None:
    assert {message_type(one) for one in SPECIFIED} - {spoken.kind for spoken in wire.spoken} == set()
    assert len(SPECIFIED) == 18


proves(
    test_all_eighteen_message_types_of_document_000_occur,
    "000-L0042", "000-L0043", "000-L0044", "000-L0045", "000-L0046", "000-L0047", "000-L0048", "003-L0201",
)  # fmt: skip


@pytest.mark.proves("000-L1542", "000-L1543", "000-L1544", "000-L1503")
def test_every_message_but_the_deliberate_mistake_is_valid_and_can_be_read(wire: Wire) -> None:
    wrong = [spoken for spoken in wire.spoken if violations(spoken.value)]
    assert [(one.sender, one.kind, one.value["parity_choice"]) for one in wrong] == [
        (CLUMSY, "CHOOSE_PARITY_RESPONSE", "Even")
    ]
    for spoken in wire.spoken:
        assert message_type(decode(msgspec.json.encode(spoken.value))) == spoken.kind


@pytest.mark.proves("000-L0036", "000-L0039", "001-L1866", "004-L0002", "000-L1505")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.number)
def test_every_message_has_the_form_of_each_document_that_describes_it(wire: Wire, document: Any) -> None:
    described = message_types(document)
    found = set()
    for spoken in wire.spoken:
        if spoken.kind in described and not is_deliberate(spoken):
            paths = departures(document, spoken.kind, spoken.value)
            found |= {(document.number, spoken.kind, path) for path in paths}
    assert found - set(EXCEPTIONS) - set(MORE_EXCEPTIONS) == set()
    assert {one for one in MORE_EXCEPTIONS if one[0] == document.number} - found == set()
    assert set(described) & {message_type(one) for one in SPECIFIED} <= {spoken.kind for spoken in wire.spoken}


@pytest.mark.settles("000-L0064", "000-L1372", "003-L0094")
def test_every_message_carries_the_whole_envelope_and_names_its_real_sender(wire: Wire) -> None:
    for spoken in wire.spoken:
        said = spoken.value
        assert said["protocol"] == "league.v2"
        assert all(isinstance(said[name], str) and said[name] for name in ("timestamp", "conversation_id"))
        assert said["sender"].partition(":")[0] == role(spoken.sender) or spoken.sender == STRANGER
        if not said["message_type"].endswith("REGISTER_REQUEST") and spoken.sender != STRANGER:
            assert said["sender"] == (MANAGER if spoken.sender == MANAGER else f"{role(spoken.sender)}:{spoken.sender}")


proves(
    test_every_message_carries_the_whole_envelope_and_names_its_real_sender,
    "000-L0070", "001-L0007", "001-L1865", "002-L0003", "002-L0083", "002-L0084", "002-L0106", "003-L0058",
    "003-L0069", "000-L0058", "000-L1502", "003-L0125", "003-L0126", "003-L0127",
)  # fmt: skip


def test_every_time_is_in_utc_and_whole_seconds(wire: Wire) -> None:
    times = [text for spoken in wire.spoken for text in _times(spoken.value)]
    assert len(times) > 200
    assert [text for text in times if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)] == []


proves(
    test_every_time_is_in_utc_and_whole_seconds,
    "000-L0065", "000-L1373", "000-L1406", "000-L1408", "000-L1412", "000-L1588", "001-L1867", "003-L0099",
    "004-L0581", "004-L0582",
)  # fmt: skip


def _times(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        names = ("timestamp", "deadline", "_at")
        yield from (one for name, one in value.items() if isinstance(one, str) and name.endswith(names))
        for one in value.values():
            yield from _times(one)
    elif isinstance(value, list):
        for one in value:
            yield from _times(one)


@pytest.mark.proves("000-L1504")
def test_no_field_is_written_in_another_case_than_the_documents_write_it(wire: Wire) -> None:
    specified = {name for row in FIELDS for name in re.findall(r"\w+", row.path or "")}
    used = {name for spoken in wire.spoken for name in _names(spoken.value)}
    assert specified - used == set()
    folded = {name.lower().replace("_", ""): name for name in specified}
    assert {name for name in used - specified if name.lower().replace("_", "") in folded} == set()


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(one)


@pytest.mark.proves("000-L1380")
def test_messages_about_the_league_name_it(wire: Wire) -> None:
    named = [spoken.value["league_id"] for spoken in wire.spoken if spoken.kind in OF_THE_LEAGUE]
    assert set(named) == {LEAGUE}


@pytest.mark.proves("003-L0064")
def test_the_game_is_named_by_its_word_everywhere(wire: Wire) -> None:
    games = [spoken.value["game_type"] for spoken in wire.spoken if "game_type" in spoken.value]
    assert set(games) == {"even_odd"}
    assert {match["game_type"] for match in wire.matches.values()} == {"even_odd"}


@pytest.mark.proves("004-L0573")
def test_what_players_say_in_answer_names_them(wire: Wire) -> None:
    answers = [spoken for spoken in wire.spoken if spoken.sender in PLAYERS and spoken.is_answer]
    assert answers
    assert all(spoken.value["player_id"] == spoken.sender for spoken in answers)


@pytest.mark.proves("000-L1566b")
def test_messages_are_typically_smaller_than_two_kilobytes(wire: Wire) -> None:
    sizes = [len(one.request.body) for one in wire.calls] + [len(one.answer.body) for one in wire.calls if one.answer]
    assert median(sizes) < 2_048
    assert max(sizes) <= 10_240


# JSON-RPC and HTTP


@pytest.mark.proves("002-L0159", "002-L0183")
def test_every_message_is_posted_to_mcp(wire: Wire) -> None:
    lines = {one.request.line for one in wire.exchanges}
    transcripts = {f"POST /transcripts/{match} HTTP/1.1" for match in wire.matches}
    assert lines == {"POST /mcp HTTP/1.1"} | transcripts


def test_every_request_has_exactly_one_answer_with_its_id(wire: Wire) -> None:
    for one in wire.calls:
        assert set(one.call) == {"jsonrpc", "method", "params", "id"}
        assert one.call["jsonrpc"] == "2.0"
        assert (type(one.call["method"]), type(one.call["params"])) == (str, dict)
        if one.reply is not None:
            assert set(one.reply) in ({"jsonrpc", "result", "id"}, {"jsonrpc", "error", "id"})
            assert (one.reply["jsonrpc"], one.reply["id"]) == ("2.0", one.call["id"])
            assert type(one.reply.get("result", {})) is dict
    # Only the call that its player ignored on purpose has none.
    unanswered = [(one.receiver, one.kind, one.message["round_id"]) for one in wire.calls if one.answer is None]
    assert unanswered == [(CLUMSY, "CHOOSE_PARITY_CALL", 2)]


proves(
    test_every_request_has_exactly_one_answer_with_its_id,
    "002-L0057", "002-L0063", "002-L0065", "002-L0081", "002-L0082", "002-L0087", "002-L0100", "001-L0009",
    "001-L0030", "001-L0035", "001-L0036", "001-L0037", "001-L0038", "001-L0043", "001-L0044", "001-L0045",
    "001-L0050", "001-L0051", "001-L0056", "001-L1857", "001-L1858", "001-L1859", "002-L0095", "002-L0096",
)  # fmt: skip


@pytest.mark.proves("001-L0052", "001-L0053", "001-L0054", "002-L0097", "002-L0098")
def test_every_error_has_a_number_a_text_and_an_error_message(wire: Wire) -> None:
    errors = [one.reply["error"] for one in wire.calls if one.reply is not None and "error" in one.reply]
    assert len(errors) >= 5
    for error in errors:
        assert (type(error["code"]), type(error["message"])) == (int, str)
        assert error["message"]
        assert error["data"]["message_type"] == "LEAGUE_ERROR"


@pytest.mark.proves("002-L0073")
def test_each_programs_request_ids_are_integers_that_count_up(wire: Wire) -> None:
    for agent in (MANAGER, *REFEREES, *OURS):
        ids = [one.call["id"] for one in wire.exchanges if one.path == "/mcp" and one.sender == agent and is_own(one)]
        assert all(type(number) is int for number in ids)
        assert len(set(ids)) == len(ids)
        # The manager's first two went where nobody listens. Several are under way at once, and may overtake each other.
        assert min(ids) == (3 if agent == MANAGER else 1)
        assert max(abs(place - before) for place, before in zip(sorted(ids), ids, strict=True)) <= len(AGENTS) * 3


def is_own(one: Exchange) -> bool:
    """Whether a request is a program's own, and not one that the test made in its place."""
    return not str(one.message.get("conversation_id")).startswith("conv-query")


@pytest.mark.settles("002-L0064")
def test_everybody_calls_the_right_one_by_document_001s_method_and_gets_the_right_answer(wire: Wire) -> None:
    met = set()
    for one in wire.calls:
        if one.kind is None:
            assert (one.call["method"], one.call["params"]) == ("ping", {})
            continue
        method, senders, receivers, answer = METHODS[one.kind]
        assert one.call["method"] == method
        assert one.message["sender"].partition(":")[0] in senders.split(" or ")
        assert role(one.receiver) in receivers.split(" or ")
        if "message_type" in one.result:
            refused = {"league_manager": "LEAGUE_ERROR", "referee": "GAME_ERROR"}.get(role(one.receiver))
            assert one.result["message_type"] == (refused if "error" in (one.reply or {}) else answer)
            met.add((one.kind, one.message["sender"].partition(":")[0], role(one.receiver)))
    wanted = {
        (kind, sender, receiver)
        for kind, (_, senders, receivers, _) in METHODS.items()
        for sender in senders.split(" or ")
        for receiver in receivers.split(" or ")
    }
    assert met == wanted
    # An answer is only ever an answer.
    assert {kind for one in wire.calls if (kind := one.kind)} & {row[3] for row in METHODS.values()} == set()


proves(
    test_everybody_calls_the_right_one_by_document_001s_method_and_gets_the_right_answer,
    "000-L0089", "000-L0153", "000-L0155", "000-L0210", "000-L0266", "000-L0268", "000-L0322", "000-L0404",
    "000-L0453", "000-L0523", "000-L0579", "000-L0749", "000-L0751", "000-L0814", "000-L0951", "000-L1029",
    "000-L1031", "000-L1107", "000-L1109", "001-L0370", "001-L0505", "001-L0651", "001-L0748", "001-L1676",
    "002-L0024", "002-L0026", "002-L0044", "002-L0124", "002-L0125", "002-L0126", "002-L0127", "002-L0128",
    "002-L0136", "002-L0137", "002-L0138", "002-L0139", "002-L0140", "002-L0149", "002-L0171", "002-L0194",
    "002-L0244", "003-L0147", "003-L0152", "004-L0009", "004-L0035", "004-L0036", "004-L0061", "004-L0085",
    "004-L0086", "004-L0109", "004-L0145", "004-L0298", "004-L0338", "004-L0372", "004-L0411", "004-L0412",
    "004-L0413", "004-L0441", "004-L0442", "004-L0548", "004-L0549", "004-L0551", "004-L0552", "004-L0553",
    "004-L0554", "004-L0555", "004-L0557", "004-L0559", "004-L0560", "004-L0561", "004-L0563", "004-L0564",
    "004-L0565", "001-L0371", "001-L0506", "001-L0652", "001-L0749", "001-L1677", "001-L0097", "001-L0241",
    "001-L0904", "001-L1045", "001-L1203", "001-L1325", "001-L1563",
)  # fmt: skip


# Document 000's catalogue: from whom to whom, and the seconds for the answer to a request.
CATALOGUE = {
    "REFEREE_REGISTER_REQUEST": (REFEREES, [MANAGER], 10),
    "REFEREE_REGISTER_RESPONSE": ([MANAGER], REFEREES, None),
    "LEAGUE_REGISTER_REQUEST": (PLAYERS, [MANAGER], 10),
    "LEAGUE_REGISTER_RESPONSE": ([MANAGER], PLAYERS, None),
    "ROUND_ANNOUNCEMENT": ([MANAGER], AGENTS, None),
    "ROUND_COMPLETED": ([MANAGER], AGENTS, None),
    "LEAGUE_COMPLETED": ([MANAGER], AGENTS, None),
    "GAME_INVITATION": (REFEREES, PLAYERS, 5),
    "GAME_JOIN_ACK": (PLAYERS, REFEREES, 5),
    "CHOOSE_PARITY_CALL": (REFEREES, PLAYERS, 30),
    "CHOOSE_PARITY_RESPONSE": (PLAYERS, REFEREES, 30),
    "GAME_OVER": (REFEREES, PLAYERS, 5),
    "MATCH_RESULT_REPORT": (REFEREES, [MANAGER], 10),
    "LEAGUE_STANDINGS_UPDATE": ([MANAGER], PLAYERS, None),
    "LEAGUE_ERROR": ([MANAGER], [CLUMSY], None),
    "GAME_ERROR": (REFEREES, [CLUMSY], None),
    "LEAGUE_QUERY": ([CLUMSY, "REF01"], [MANAGER], 10),
    "LEAGUE_QUERY_RESPONSE": ([MANAGER], [CLUMSY, "REF01"], None),
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.proves(f"000-L{line}"), id=kind)
        for line, kind in enumerate(CATALOGUE, 1346)
    ],
)
def test_a_message_goes_from_its_senders_to_its_receivers_in_its_time(wire: Wire, kind: str) -> None:
    senders, receivers, seconds = CATALOGUE[kind]
    # The stranger acts in the place of others, with wrong tokens, and is not registered.
    passed = [one for one in wire.spoken if one.kind == kind and STRANGER not in (one.sender, one.receiver)]
    assert {one.sender for one in passed} == set(senders)
    assert {one.receiver for one in passed} == set(receivers)
    in_time = [one.exchange for one in passed if one.exchange.answered is not None]
    # Only the call that the player by hand ignores on purpose is not answered.
    assert len(passed) - len(in_time) == (kind == "CHOOSE_PARITY_CALL")
    assert all(one.seconds < (seconds or 10) for one in in_time)


def test_every_answer_is_the_result_of_its_call_and_could_do_without_sender_and_conversation(wire: Wire) -> None:
    kinds = set()
    for one in wire.calls:
        result = (one.reply or {}).get("result") or {}
        if "message_type" in result and result.get("parity_choice") != "Even":
            kinds.add(result["message_type"])
            bare = {name: value for name, value in result.items() if name not in ("sender", "conversation_id")}
            assert message_type(decode(msgspec.json.encode(bare))) == result["message_type"]
    assert kinds >= {row[3] for row in METHODS.values()} - {"MATCH_VOID_ACK"}


proves(
    test_every_answer_is_the_result_of_its_call_and_could_do_without_sender_and_conversation,
    "000-L0156", "000-L0269", "000-L1110", "004-L0037", "004-L0087", "004-L0443", "001-L0149", "001-L0291",
    "001-L0438", "001-L0602", "001-L0699", "001-L0853", "001-L0957", "001-L1116", "001-L1271", "001-L1406",
    "001-L1620", "001-L1722",
)  # fmt: skip


@pytest.mark.proves("001-L1868", "004-L0454")
def test_answers_stay_in_the_conversation_and_no_two_conversations_share_an_id(wire: Wire) -> None:
    about: dict[str, set[Any]] = {}
    for one in wire.calls:
        if "message_type" in one.result:
            assert one.result["conversation_id"] == one.message["conversation_id"]
        if one.kind is not None and is_own(one) and one.caller != STRANGER:
            subject = one.message.get("match_id") or (one.kind, one.message.get("round_id", one.sender))
            about.setdefault(one.message["conversation_id"], set()).add(subject)
    assert {name: subjects for name, subjects in about.items() if len(subjects) > 1} == {}
    matches = [subjects for subjects in about.values() if subjects <= set(wire.matches)]
    assert len(matches) == len(wire.matches)


@pytest.mark.proves("000-L0382", "003-L0296b")
def test_players_speak_first_only_to_the_manager(wire: Wire) -> None:
    assert {one.receiver for one in wire.calls if one.sender in PLAYERS} == {MANAGER}
    callers = {player: {one.sender for one in wire.calls if one.receiver == player} for player in PLAYERS}
    assert all(called_by <= {MANAGER, *REFEREES} for called_by in callers.values())


# Registration


def test_ids_are_given_in_the_order_of_registration_and_then_the_league_begins(wire: Wire) -> None:
    taken = sorted(registrations(wire, "ACCEPTED"), key=lambda one: one.sent)
    assert [id_given(one.result) for one in taken] == [*REFEREES, *PLAYERS]
    assert taken[-1].sent < wire.sent("ROUND_ANNOUNCEMENT")[0].sent


def test_an_accepted_agent_gets_an_id_a_token_and_no_reason(wire: Wire) -> None:
    taken = registrations(wire, "ACCEPTED")
    assert len(taken) == 6
    for one in taken:
        assert id_given(one.result) == one.caller
        assert one.result["auth_token"].startswith(f"tok-{one.caller}-".lower())
        assert (one.result["reason"], one.result["league_id"]) == (None, LEAGUE)
    assert len(set(wire.tokens().values())) == 6


proves(
    test_an_accepted_agent_gets_an_id_a_token_and_no_reason,
    "000-L0144", "000-L0154", "000-L0184", "000-L0188", "000-L0192", "000-L0195", "000-L0199", "000-L0200",
    "000-L0267", "000-L0279", "000-L0298", "000-L1391", "000-L1511", "000-L1512", "001-L1938", "001-L1969",
)  # fmt: skip


@pytest.mark.proves("003-L0286", "000-L1596", "003-L0270a", "003-L0279")
def test_our_programs_declare_the_current_version_when_they_register(wire: Wire) -> None:
    taken = [one for one in registrations(wire, "ACCEPTED") if one.caller != CLUMSY]
    metas = [one.message.get("player_meta") or one.message["referee_meta"] for one in taken]
    assert [meta["protocol_version"] for meta in metas] == ["2.1.0"] * 5


@pytest.mark.proves("000-L0189", "000-L0288", "000-L1513", "001-L0190")
def test_a_refused_agent_gets_a_reason_and_no_id(wire: Wire) -> None:
    refused = registrations(wire, "REJECTED")
    assert [(one.kind, one.result["error_code"]) for one in refused] == [
        ("REFEREE_REGISTER_REQUEST", "E048"),
        ("LEAGUE_REGISTER_REQUEST", "E048"),
        ("LEAGUE_REGISTER_REQUEST", "E019"),
    ]
    for one in refused:
        assert id_given(one.result) is None
        assert one.result["reason"]
        assert "auth_token" not in one.result


@pytest.mark.proves("000-L0126", "000-L0146", "000-L0245", "000-L0258")
def test_the_manager_reaches_an_agent_before_it_takes_it_and_referees_reach_players(wire: Wire) -> None:
    for one in registrations(wire, "ACCEPTED"):
        assert one.answered is not None
        pings = [each for each in wire.calls if each.receiver == one.caller and each.call["method"] == "ping"]
        assert any(one.sent < ping.sent and ping.answered < one.answered for ping in pings if ping.answered)
    assert {one.receiver for one in wire.sent("GAME_INVITATION")} == set(PLAYERS)


@pytest.mark.proves("000-L0132")
def test_a_referee_offers_two_matches_at_a_time_unless_told_otherwise(wire: Wire) -> None:
    offered = {one.message["referee_meta"]["max_concurrent_matches"] for one in wire.sent("REFEREE_REGISTER_REQUEST")}
    assert offered == {2}


def test_registrations_are_answered_at_the_first_try_and_in_time(wire: Wire) -> None:
    for agent in (*REFEREES, *OURS):
        asked = [one for one in wire.calls if one.caller == agent and str(one.kind).endswith("REGISTER_REQUEST")]
        assert [one.result["status"] for one in asked] == ["ACCEPTED"]
        assert asked[0].seconds < 10


proves(
    test_registrations_are_answered_at_the_first_try_and_in_time,
    "000-L0090", "000-L0147", "000-L0260", "000-L0311", "000-L1455", "000-L1558",
)  # fmt: skip


# Rounds


@pytest.mark.proves("000-L0447", "000-L0513", "000-L1016", "003-L0164b", "004-L0373")
def test_broadcasts_go_to_everybody(wire: Wire) -> None:
    for round_id in ROUNDS:
        for kind in ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED"):
            assert sorted(one.receiver for one in wire.sent(kind, round_id=round_id)) == AGENTS
        told = {one.receiver for one in wire.sent("LEAGUE_STANDINGS_UPDATE", round_id=round_id)}
        assert sorted(told) == PLAYERS
    assert sorted(one.receiver for one in wire.sent("LEAGUE_COMPLETED")) == AGENTS


@pytest.mark.proves("003-L0158a", "004-L0113", "001-L0499", "001-L0498")
@pytest.mark.parametrize("round_id", ROUNDS)
def test_a_round_is_announced_to_all_and_acknowledged_by_players_before_its_first_invitation(
    wire: Wire, round_id: int
) -> None:
    first = wire.sent("GAME_INVITATION", round_id=round_id)[0].sent
    for announced in wire.sent("ROUND_ANNOUNCEMENT", round_id=round_id):
        assert announced.sent < first
        if announced.receiver in PLAYERS:
            assert announced.answered is not None
            assert announced.answered < first


@pytest.mark.proves("000-L0369", "000-L0375", "000-L0378", "000-L0381")
def test_everybody_meets_everybody_once_and_the_announced_referee_invites(wire: Wire) -> None:
    pairs = [frozenset(players_of(match)) for match in wire.matches.values()]
    assert len(pairs) == len(set(pairs)) == 6
    endpoints = {}
    for one in wire.sent("REFEREE_REGISTER_REQUEST"):
        endpoints[one.message["referee_meta"]["contact_endpoint"]] = one.caller
    for name, match in wire.matches.items():
        invited = wire.sent("GAME_INVITATION", match_id=name)
        assert {one.receiver for one in invited} == set(players_of(match))
        assert {one.sender for one in invited} == {endpoints[match["referee_endpoint"]]}


@pytest.mark.parametrize("player", PLAYERS)
def test_the_rounds_standings_come_after_its_matches_and_before_its_end(wire: Wire, player: str) -> None:
    for round_id in ROUNDS:
        last_report = [one for one in wire.sent("MATCH_RESULT_REPORT", round_id=round_id) if one.caller in REFEREES][-1]
        (over,) = wire.sent("ROUND_COMPLETED", player, round_id=round_id)
        updates = wire.sent("LEAGUE_STANDINGS_UPDATE", player, round_id=round_id)
        complete = [one for one in updates if _played(one) == 4 * round_id]
        assert complete
        assert all(last_report.sent < one.sent for one in complete)
        assert all(one.answered is not None and one.answered < over.sent for one in updates)
        assert over.sent.at - last_report.sent.at < 5


proves(
    test_the_rounds_standings_come_after_its_matches_and_before_its_end,
    "000-L0407", "001-L0507", "001-L1467", "001-L0653", "001-L1468", "003-L0164a", "004-L0342", "000-L0954",
    "001-L1971",
)  # fmt: skip


@pytest.mark.proves("001-L0738", "001-L0742")
@pytest.mark.parametrize("agent", AGENTS)
def test_everybody_is_told_of_the_league_in_its_order_and_one_thing_after_the_other(wire: Wire, agent: str) -> None:
    told = [one for one in wire.calls if one.receiver == agent and one.kind in BROADCASTS]
    for before, after in itertools.pairwise(told):
        assert before.answered is not None
        assert before.answered < after.sent
    # Several updates within a round are one step of its course.
    steps = [step for step, _ in itertools.groupby((one.message.get("round_id"), one.kind) for one in told)]
    of_round = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"]
    if agent in REFEREES:
        of_round.remove("LEAGUE_STANDINGS_UPDATE")
    assert steps == [*itertools.product(ROUNDS, of_round), (None, "LEAGUE_COMPLETED")]


def _played(update: Exchange) -> int:
    return sum(row["played"] for row in update.message["standings"])


@pytest.mark.proves("000-L0431", "000-L0432")
def test_the_end_of_a_round_tells_what_was_played_and_what_comes(wire: Wire) -> None:
    for round_id in ROUNDS:
        for one in wire.sent("ROUND_COMPLETED", round_id=round_id):
            assert one.message["matches_completed"] == one.message["matches_played"] == 2
            assert one.message["next_round_id"] == (round_id + 1 if round_id < LAST_ROUND else None)
            summary = one.message["summary"]
            assert summary["total_matches"] == summary["wins"] + summary["draws"] + summary["technical_losses"] == 2


@pytest.mark.proves("000-L0455", "000-L0456", "001-L0750", "004-L0376")
@pytest.mark.parametrize("agent", AGENTS)
def test_the_end_of_the_league_is_the_last_that_anybody_is_told(wire: Wire, agent: str) -> None:
    last = [one for one in wire.calls if one.receiver == agent][-1]
    assert last.kind == "LEAGUE_COMPLETED"
    others = [one for one in wire.calls if one.receiver == agent and one is not last]
    assert all(one.answered is None or one.answered < last.sent for one in others)
    assert all(report.sent < last.sent for report in wire.sent("MATCH_RESULT_REPORT"))


@pytest.mark.proves("001-L0895")
def test_players_and_referees_end_with_the_league_and_the_manager_when_it_is_told_to(wire: Wire) -> None:
    assert wire.exit_codes == dict.fromkeys([*REFEREES, *OURS, MANAGER], 0)


def test_a_player_that_acknowledges_nothing_is_told_everything_once_and_loses_nothing(wire: Wire) -> None:
    ignored = [one for one in wire.calls if one.receiver == CLUMSY and one.reply == {**(one.reply or {}), "result": {}}]
    kinds = [one.kind for one in ignored if one.kind is not None]
    assert {*BROADCASTS, "GAME_OVER", "GAME_ERROR"} == set(kinds)
    for kind in ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "GAME_OVER", "GAME_ERROR"):
        assert kinds.count(kind) == 1
    assert _status_of(wire, "R3M1") != "TECHNICAL_LOSS"


proves(
    test_a_player_that_acknowledges_nothing_is_told_everything_once_and_loses_nothing,
    "000-L0324", "000-L0406", "000-L0953", "004-L0111", "004-L0300", "004-L0340", "004-L0374", "004-L0509",
)  # fmt: skip


# Matches


def _status_of(wire: Wire, match: str) -> str:
    (report,) = [one for one in wire.sent("MATCH_RESULT_REPORT", match_id=match) if one.caller in REFEREES]
    return report.message["result"]["details"]["status"]


def test_a_match_goes_from_invitation_to_report_in_the_specified_order(wire: Wire) -> None:
    for name, match in wire.matches.items():
        joined = [_last_answer(wire, "GAME_INVITATION", name, player) for player in players_of(match)]
        calls = wire.sent("CHOOSE_PARITY_CALL", match_id=name)
        chosen = [_last_answer(wire, "CHOOSE_PARITY_CALL", name, player) for player in players_of(match)]
        over = wire.sent("GAME_OVER", match_id=name)
        (report,) = [one for one in wire.sent("MATCH_RESULT_REPORT", match_id=name) if one.caller in REFEREES]
        assert all(one.result["accept"] for one in joined)
        assert max(one.answered for one in joined if one.answered) < calls[0].sent
        assert all(one.result["parity_choice"] in ("even", "odd") for one in chosen)
        assert max(one.answered for one in chosen if one.answered) < over[0].sent
        assert sorted(one.receiver for one in over) == sorted(players_of(match))
        assert max(one.sent for one in over) < report.sent


proves(
    test_a_match_goes_from_invitation_to_report_in_the_specified_order,
    "002-L0209", "002-L0212", "002-L0213", "002-L0215", "002-L0218", "002-L0221", "002-L0224", "000-L0802",
    "001-L1326", "004-L0233", "001-L1970",
)  # fmt: skip


def _last_answer(wire: Wire, kind: str, match: str, player: str) -> Exchange:
    return [one for one in wire.sent(kind, player, match_id=match) if one.answer is not None][-1]


@pytest.mark.proves("000-L0803", "003-L0029")
@pytest.mark.parametrize("kind", ["GAME_INVITATION", "CHOOSE_PARITY_CALL"])
def test_both_players_are_asked_before_the_answer_of_either_is_needed(wire: Wire, kind: str) -> None:
    # The recorder gave no answer to the referee before it had asked both; one that waits for it would not get on.
    for name in wire.matches:
        asked = wire.sent(kind, match_id=name)
        assert len({one.receiver for one in asked[:2]}) == 2
    assert all(_status_of(wire, name) != "TECHNICAL_LOSS" for name in wire.matches)


def test_no_choice_and_no_number_is_seen_by_anybody_before_the_match_is_over(wire: Wire) -> None:
    for name, match in wire.matches.items():
        for player in players_of(match):
            (over,) = wire.sent("GAME_OVER", player, match_id=name)
            heard = [one for one in wire.spoken if one.receiver == player and one.when < over.sent]
            for spoken in (one for one in heard if one.value.get("match_id") == name):
                assert list(_secrets(spoken.value)) == [], spoken.value
        reported = wire.sent("MATCH_RESULT_REPORT", match_id=name)[0].sent
        told = [one for one in wire.spoken if one.receiver == MANAGER and one.when < reported]
        assert [one.kind for one in told if one.value.get("match_id") == name and list(_secrets(one.value))] == []


def _secrets(value: Any) -> Iterator[Any]:
    """What could give a choice or the number away; the list of what may be chosen does not."""
    if isinstance(value, dict):
        if value.get("drawn_number") is not None or value.get("draw_nonce") is not None:
            yield value
        for one in value.values():
            yield from _secrets(one)
    elif isinstance(value, list):
        if value != ["even", "odd"]:
            for one in value:
                yield from _secrets(one)
    elif value in ("even", "odd"):
        yield value


@pytest.mark.proves("000-L0737", "000-L0738", "000-L0739")
def test_both_hear_the_same_end_and_its_number_is_the_one_committed_to_before_the_choices(wire: Wire) -> None:
    for name, match in wire.matches.items():
        over = [one.message | {"auth_token": ""} for one in wire.sent("GAME_OVER", match_id=name)]
        assert over[0] == over[1]
        result = over[0]["game_result"]
        assert result["number_parity"] == ("odd" if result["drawn_number"] % 2 else "even")
        for call in wire.sent("CHOOSE_PARITY_CALL", match_id=name):
            committed = call.message["context"]["draw_commitment"]
            assert opens(committed, result["draw_nonce"], result["drawn_number"])
            others = [number for number in range(1, 11) if number != result["drawn_number"]]
            assert not any(opens(committed, result["draw_nonce"], number) for number in others)
        chosen = {
            player: _last_answer(wire, "CHOOSE_PARITY_CALL", name, player).result["parity_choice"]
            for player in players_of(match)
        }
        assert result["choices"] == chosen
        right = [player for player, choice in chosen.items() if choice == result["number_parity"]]
        winner = right[0] if len(right) == 1 else None
        assert result["winner_player_id"] == winner
        report = wire.sent("MATCH_RESULT_REPORT", match_id=name)[0].message["result"]
        assert report["winner"] == winner
        assert report["score"] == {player: 1 if winner is None else 3 * (player == winner) for player in chosen}


@pytest.mark.proves("000-L1422", "000-L0866", "000-L0867", "002-L0292")
def test_a_wrong_choice_is_told_and_the_player_is_asked_again_within_its_time(wire: Wire) -> None:
    first, second = wire.sent("CHOOSE_PARITY_CALL", CLUMSY, round_id=1)
    (told,) = wire.sent("GAME_ERROR", CLUMSY, round_id=1)
    assert [first.result["parity_choice"], second.result["parity_choice"]] == ["Even", "odd"]
    assert first.sent < told.sent < second.sent
    assert (told.message["error_code"], told.message["retryable"]) == ("E004", True)
    assert 0 < told.message["time_remaining"] <= 2
    assert _status_of(wire, first.message["match_id"]) in ("WIN", "DRAW")


@pytest.mark.proves("000-L1301", "000-L1304", "002-L0290")
def test_silence_is_told_when_the_time_is_over_and_the_player_is_asked_again(wire: Wire) -> None:
    silent, answered = wire.sent("CHOOSE_PARITY_CALL", CLUMSY, round_id=2)
    (told,) = wire.sent("GAME_ERROR", CLUMSY, round_id=2)
    assert silent.answer is None
    assert (told.message["error_code"], told.message["retry_count"], told.message["max_retries"]) == ("E001", 1, 3)
    assert told.message["retry_info"]["next_retry_at"]
    # The limits of this league: 2 s to choose, then 0.3 s until the next try.
    assert 1.9 < told.sent.at - silent.sent.at < 4
    assert 0.2 < answered.sent.at - told.sent.at < 2
    assert _status_of(wire, silent.message["match_id"]) in ("WIN", "DRAW")


@pytest.mark.proves("002-L0296")
def test_a_wrong_token_in_a_match_is_told_and_the_player_is_invited_again(wire: Wire) -> None:
    first, second = wire.sent("GAME_INVITATION", CLUMSY, round_id=3)
    (told,) = wire.sent("GAME_ERROR", CLUMSY, round_id=3)
    assert first.result["auth_token"] == WRONG_TOKEN
    assert first.sent < told.sent < second.sent
    assert told.message["error_code"] == "E012"
    assert _status_of(wire, first.message["match_id"]) in ("WIN", "DRAW")


@pytest.mark.proves("003-L0004b")
def test_a_player_by_hand_plays_the_league_to_its_end(wire: Wire) -> None:
    final = wire.sent("LEAGUE_COMPLETED", CLUMSY)[0].message
    assert {row["player_id"]: row["played"] for row in final["final_standings"]} == dict.fromkeys(PLAYERS, 3)


# Queries and errors of the league


@pytest.mark.proves("000-L1094", "000-L1098", "000-L1166b", "000-L1170b", "000-L1177", "000-L1493", "001-L1678")
@pytest.mark.settles("000-L1400")
def test_queries_are_answered_with_their_type_and_data_or_an_error(wire: Wire) -> None:
    answered = [one for one in wire.sent("LEAGUE_QUERY") if "result" in (one.reply or {})]
    assert {one.message["query_type"] for one in answered} == {
        "GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_STATUS",
    }  # fmt: skip
    assert {} in [one.message["query_params"] for one in answered]
    for one in answered:
        assert one.message["auth_token"] == wire.tokens()[one.sender]
        assert one.result["query_type"] == one.message["query_type"]
        assert ("data" in one.result, "error" in one.result) == (one.result["success"], not one.result["success"])
    (failed,) = [one for one in answered if not one.result["success"]]
    assert (failed.message["query_params"], failed.result["error"]["error_code"]) == ({"player_id": "P99"}, "E005")
    # Asked after the end.
    assert answered[-1].result["data"]["next_match"] is None


@pytest.mark.proves("000-L1032", "000-L1101", "000-L1180", "000-L1494", "000-L1553")
def test_queries_are_answered_in_time(wire: Wire) -> None:
    times = [one.seconds for one in wire.sent("LEAGUE_QUERY")]
    assert mean(times) < 1
    assert max(times) < 10


@pytest.mark.settles("000-L1201")
def test_a_wrong_token_is_refused_with_a_league_error_whatever_it_is_shown_for(wire: Wire) -> None:
    refused = [one for one in wire.calls if one.receiver == MANAGER and one.message.get("auth_token") == WRONG_TOKEN]
    assert [(one.kind, one.message["sender"], (one.reply or {})["error"]["code"]) for one in refused] == [
        ("LEAGUE_QUERY", f"player:{CLUMSY}", 6001),
        ("LEAGUE_QUERY", "referee:REF01", 6001),
        ("MATCH_RESULT_REPORT", wire.sent("MATCH_RESULT_REPORT", round_id=1)[0].message["sender"], 5001),
        ("MATCH_PROGRESS", "referee:REF01", 5001),
        ("MATCH_VOID_REPORT", "referee:REF01", 5001),
    ]
    for one in refused:
        error = one.result
        assert (error["message_type"], error["error_code"]) == ("LEAGUE_ERROR", "E012")
        assert (error["sender"], error["original_message_type"]) == (MANAGER, one.kind)
        assert error["context"]["provided_token"] == f"{WRONG_TOKEN[:6]}…"
        assert error["context"]["expected_format"] == "tok-{agent_id}-{hash}"


proves(
    test_a_wrong_token_is_refused_with_a_league_error_whatever_it_is_shown_for,
    "000-L1188", "000-L1190", "000-L1202", "000-L1221", "001-L1481", "001-L1483", "001-L1484", "001-L1940",
    "002-L0129", "003-L0204", "004-L0476", "004-L0477", "004-L0478", "004-L0480", "004-L0562",
)  # fmt: skip


@pytest.mark.proves("002-L0301", "000-L1483", "000-L1484")
def test_both_error_messages_have_the_same_structure(wire: Wire) -> None:
    shared = {
        "error_code", "error_name", "error_description", "affected_player", "action_required", "retryable",
        "consequence", "context",
    }  # fmt: skip
    for kind in ("GAME_ERROR", "LEAGUE_ERROR"):
        found = [spoken.value for spoken in wire.spoken if spoken.kind == kind]
        assert found
        assert all(shared <= set(value) for value in found)
        assert all(value["error_code"] and value["error_description"] and value["context"]["detail"] for value in found)


# Times


@pytest.mark.proves("000-L0620", "000-L0873", "000-L0889", "000-L1548", "000-L1552")
def test_answers_come_in_time(wire: Wire) -> None:
    answered = [one for one in wire.calls if one.answered is not None]
    limits = {"GAME_INVITATION": 5, "CHOOSE_PARITY_CALL": 30}
    assert all(one.seconds < limits.get(str(one.kind), 10) for one in answered)
    assert len(wire.calls) - len(answered) < 0.05 * len(wire.calls)
    times = sorted(one.seconds for one in answered)
    assert times[int(0.9 * len(times))] < 0.5


@pytest.mark.proves("000-L0945", "000-L1021", "000-L1554", "004-L0266")
def test_every_player_has_the_new_standings_within_five_seconds_of_a_result(wire: Wire) -> None:
    reports = [one for one in wire.sent("MATCH_RESULT_REPORT") if one.caller in REFEREES]
    assert len(reports) == len(wire.matches)
    for number, report in enumerate(reports, 1):
        for player in PLAYERS:
            updates = wire.sent("LEAGUE_STANDINGS_UPDATE", player)
            first = next(one for one in updates if one.sent > report.sent and _played(one) >= 2 * number)
            assert first.sent.at - report.sent.at < 5


# Files


def _read(wire: Wire, path: str) -> Any:
    return json.loads((wire.data / path).read_text())


@pytest.mark.proves("001-L0227", "001-L0354")
def test_the_manager_writes_down_its_agents_without_their_tokens(wire: Wire) -> None:
    config = _read(wire, "config/agents/agents_config.json")
    assert [one["id"] for one in config["players"]] == PLAYERS
    assert [one["id"] for one in config["referees"]] == REFEREES
    for one in registrations(wire, "ACCEPTED"):
        meta = one.message.get("player_meta") or one.message["referee_meta"]
        (entry,) = [each for each in config["players"] + config["referees"] if each["id"] == one.caller]
        assert entry == {**meta, "id": one.caller, "state": "SHUTDOWN"}


@pytest.mark.proves("001-L1466")
def test_the_manager_writes_down_standings_and_rounds(wire: Wire) -> None:
    standings = _read(wire, f"data/leagues/{LEAGUE}/standings.json")
    last = wire.sent("LEAGUE_STANDINGS_UPDATE", "P01")[-1].message
    assert (standings["league_id"], standings["standings"]) == (LEAGUE, last["standings"])
    final = wire.sent("LEAGUE_COMPLETED", "P01")[0].message
    shown = [{name: row[name] for name in final["final_standings"][0]} for row in standings["standings"]]
    assert shown == final["final_standings"]
    rounds = _read(wire, f"data/leagues/{LEAGUE}/rounds.json")
    assert (rounds["state"], rounds["total_rounds"], rounds["matches_played"]) == ("LEAGUE_COMPLETED", 3, 6)
    assert {one["match_id"] for one in rounds["matches"]} == set(wire.matches)


@pytest.mark.proves("001-L1472")
def test_the_referee_writes_down_each_match(wire: Wire) -> None:
    for name in wire.matches:
        written = _read(wire, f"data/matches/{LEAGUE}/{name}.json")
        (report,) = [one for one in wire.sent("MATCH_RESULT_REPORT", match_id=name) if one.caller in REFEREES]
        assert (written["referee_id"], written["result"]) == (report.caller, report.message["result"])
        kinds = [entry.get("message_type") for entry in written["transcript"]]
        assert kinds.count("GAME_OVER") == 2
        assert "auth_token" not in json.dumps(written)


@pytest.mark.settles("003-L0293b")
@pytest.mark.proves("001-L1309", "001-L1312", "003-L0041")
def test_each_player_writes_down_its_history(wire: Wire) -> None:
    for player, strategy in zip(OURS, STRATEGIES, strict=True):
        history = _read(wire, f"data/players/{player}/history.json")
        assert (history["player_id"], history["league_id"]) == (player, LEAGUE)
        assert history["display_name"] == f"{strategy} {player}"
        over = [one.message for one in wire.sent("GAME_OVER", player)]
        assert [one["match_id"] for one in history["matches"]] == [one["match_id"] for one in over]
        final = wire.sent("LEAGUE_COMPLETED", player)[0].message
        assert history["final"]["champion"] == final["champion"]


# Secrets


def test_no_token_of_one_agent_is_ever_shown_to_another(wire: Wire) -> None:
    tokens = wire.tokens()
    assert sorted(tokens) == AGENTS
    for owner, token in tokens.items():
        for agent in (*AGENTS, STRANGER):
            shown = [(one.kind, one.sender) for heard, one in wire.heard_by(agent) if token.encode() in heard]
            kind = "REFEREE_REGISTER_REQUEST" if owner in REFEREES else "LEAGUE_REGISTER_REQUEST"
            assert shown == ([(kind, owner)] if agent == owner else [])


def test_no_token_is_written_to_any_file_but_its_owners_private_one(wire: Wire) -> None:
    for owner, token in wire.tokens().items():
        files = [path for path in wire.data.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
        # The player by hand writes no files.
        assert sorted(path.name for path in files) == ([] if owner == CLUMSY else ["state.json"])
        assert all(path.stat().st_mode & 0o077 == 0 for path in files)
