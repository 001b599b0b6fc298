"""The manager's answers to requests: registration, identity, reports and queries, through its real handler."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Self

import msgspec
import pytest

from leaguekit.agents.server import agent_server
from leaguekit.agents.world import World
from leaguekit.league.problems import find_problems
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import MAX_DOCUMENT, manager_server
from leaguekit.protocol import times
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen
from tests.agents.leagues import (
    LEAGUE,
    MANAGER_URL,
    Hall,
    HeldLog,
    Json,
    Scripted,
    drawn,
    in_virtual_time,
    silent,
    url_of,
    won,
)
from tests.marks import proves
from tests.transport.running import of_requests

ROLES = ("referee", "player")
ANSWER_OF = {"referee": "REFEREE_REGISTER_RESPONSE", "player": "LEAGUE_REGISTER_RESPONSE"}
FIRST = {"referee": "REF01", "player": "P01"}
QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_STATUS")


async def listening(hall: Hall, role: str, number: int) -> Scripted:
    """An agent that listens but has not registered."""
    agent = Scripted(hall, role, number, {})
    hall.network.listen(agent.url, agent.handle)
    return agent


def refused(answer: Json) -> tuple[int, str]:
    """The number and the code of a JSON-RPC error."""
    assert "result" not in answer
    return answer["error"]["code"], answer["error"]["data"]["error_code"]


# Registration


@pytest.mark.parametrize("role", ROLES)
@in_virtual_time
async def test_an_agent_that_is_accepted_gets_an_id_a_token_and_no_reason(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        await listening(hall, role, 1)
        request = hall.registration(role, 1)
        answer = await hall.post(f"register_{role}", request, call_id="a-1")
        result = answer["result"]
        assert answer["id"] == "a-1"
        assert answer["jsonrpc"] == "2.0"
        assert violations(result) == []
        assert result["message_type"] == ANSWER_OF[role]
        assert result["protocol"] == "league.v2"
        assert result["sender"] == "league_manager"
        assert result["conversation_id"] == request["conversation_id"]
        assert result["status"] == "ACCEPTED"
        assert result[f"{role}_id"] == FIRST[role]
        assert result["reason"] is None
        assert result["auth_token"].startswith(f"tok-{FIRST[role].lower()}-")
        assert result["league_id"] == LEAGUE
        assert result["token_scheme"] == "derived"


proves(
    test_an_agent_that_is_accepted_gets_an_id_a_token_and_no_reason,
    "000-L0089", "000-L0153", "000-L0154", "000-L0155", "000-L0188", "000-L0195", "000-L0200", "000-L0210",
    "000-L0266", "000-L0267", "000-L0268", "000-L0279", "000-L0298", "000-L1391", "000-L1511", "000-L1512",
    "001-L1865", "001-L1938", "002-L0171", "002-L0194", "003-L0147", "003-L0152", "004-L0009", "004-L0035",
    "004-L0036", "004-L0037", "004-L0061", "004-L0085", "004-L0086", "004-L0087", "004-L0549", "004-L0551",
)  # fmt: skip


@in_virtual_time
async def test_ids_are_given_in_order_and_the_token_is_known_from_then_on(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        agents = [await hall.scripted("player", number) for number in (1, 2)]
        agents += [await hall.scripted("referee", number) for number in (1, 2)]
        assert [agent.id for agent in agents] == ["P01", "P02", "REF01", "REF02"]
        assert len({agent.token for agent in agents}) == 4
        for agent in agents:
            assert (await agent.query("GET_STATUS"))["result"]["success"] is True


REJECTIONS: dict[str, tuple[Json, str, dict[str, int | None], dict[str, str]]] = {
    "late": (
        {},
        "E019",
        {"player": None, "referee": None},
        {"player": "Registration closed - league already started", "referee": "League already started"},
    ),
    "full": (
        {},
        "E020",
        {"player": 2001, "referee": 1001},
        {"player": "Maximum players reached", "referee": "Maximum referees already registered"},
    ),
    "another game": (
        {"game_types": ["tic_tac_toe"]},
        "E049",
        {"player": 2004, "referee": 1003},
        {"player": "Unsupported game type", "referee": "Unsupported game type"},
    ),
    "an old version": (
        {"protocol_version": "1.9.0"},
        "E018",
        {"player": None, "referee": None},
        {"player": "Protocol version mismatch", "referee": "Protocol version mismatch"},
    ),
    "nobody listens": (
        {"contact_endpoint": "http://127.0.0.1:9999/mcp"},
        "E048",
        {"player": 2003, "referee": 1002},
        {"player": "Contact endpoint unreachable", "referee": "Endpoint unreachable"},
    ),
    "another agent's endpoint": (
        {"contact_endpoint": url_of("player", 1)},
        "E048",
        {"player": 2003, "referee": 1002},
        {"player": "Contact endpoint taken: P01 ('Player 1') has", "referee": "Endpoint taken: P01 ('Player 1') has"},
    ),
    "the manager's endpoint": (
        {"contact_endpoint": MANAGER_URL},
        "E048",
        {"player": 2003, "referee": 1002},
        {"player": "Contact endpoint unreachable", "referee": "Endpoint unreachable"},
    ),
}


@pytest.mark.settles(
    "001-L0203", "001-L0204", "001-L0205", "001-L0216", "001-L0217", "001-L0329", "001-L0331", "001-L0332",
)  # fmt: skip
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("why", REJECTIONS)
@in_virtual_time
async def test_an_agent_that_is_rejected_is_told_why_and_gets_nothing(tmp_path: Path, role: str, why: str) -> None:
    meta, code, numbers, words = REJECTIONS[why]
    async with Hall(tmp_path, max_players=2, max_referees=1) as hall:
        await hall.scripted("player", 1)
        if why in ("late", "full"):
            await hall.scripted("referee", 1)
            await hall.scripted("player", 2)
        if why == "late":
            await hall.operate("start")
        await listening(hall, role, 9)
        before = len(hall.log.content.events)
        result = (await hall.register(role, 9, meta=meta))["result"]
        assert violations(result) == []
        assert result["message_type"] == ANSWER_OF[role]
        assert result["status"] == "REJECTED"
        assert result[f"{role}_id"] is None
        assert "auth_token" not in result
        assert result["reason"].startswith(words[role])
        assert result["error_code"] == code
        assert result["code"] == numbers[role]
        places = {name: value for name, value in result.items() if name.startswith(("max_", "current_"))}
        taken = {"player": 2, "referee": 1}[role]
        full = {f"max_{role}s": taken, f"current_{role}s": taken}
        assert places == (full if why == "full" else {})
        # The operator sees the refusal, and nothing else has changed.
        (refused,) = find_problems(hall.league).refused
        assert (refused.role, refused.code) == (role, code)
        if why != "late":
            new = [json.loads(event) for event in hall.log.content.events[before:]]
            assert [event["event"] for event in new] == ["RegistrationRefused"]
            assert (new[0]["role"], new[0]["code"], new[0]["reason"]) == (role, code, result["reason"])


proves(
    test_an_agent_that_is_rejected_is_told_why_and_gets_nothing,
    "000-L0126", "000-L0146", "000-L0154", "000-L0184", "000-L0189", "000-L0192", "000-L0199", "000-L0245",
    "000-L0258", "000-L0267", "000-L0288", "000-L1391", "000-L1511", "000-L1513", "001-L0190", "000-L0145",
    "000-L0194", "000-L0303", "000-L0304", "000-L0305", "000-L0306", "000-L0307", "000-L1230", "000-L1231",
    "001-L0191", "001-L1546", "003-L0288",
)  # fmt: skip


@pytest.mark.proves("000-L0090", "000-L0147", "000-L0156", "000-L0260", "000-L0269", "000-L0311", "000-L1455")
@pytest.mark.parametrize("role", ROLES)
@in_virtual_time
async def test_even_one_whose_endpoint_is_silent_has_its_answer_within_10_seconds(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        mute = Scripted(hall, role, 1, {"ping": silent})
        hall.network.listen(mute.url, mute.handle)
        result = (await hall.register(role, 1))["result"]
        assert (result["status"], result["error_code"]) == ("REJECTED", "E048")
        assert hall.now <= 10
        assert hall.now == pytest.approx(2.0)


@in_virtual_time
async def test_any_answer_at_all_shows_that_an_endpoint_can_be_reached(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:

        async def gibberish(body: bytes, peer: Any) -> bytes | None:
            return b"<html>what?</html>"

        hall.network.listen(url_of("player", 1), gibberish)
        assert (await hall.register("player", 1))["result"]["status"] == "ACCEPTED"


@pytest.mark.proves("001-L1977", "001-L0256b", "001-L0330", "001-L0343", "001-L0344", "001-L1953")
@pytest.mark.settles("000-L0259", "001-L1547")
@in_virtual_time
async def test_a_name_that_is_taken_is_error_2002_with_a_suggestion(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("player", 1)
        await listening(hall, "player", 2)
        answer = await hall.register("player", 2, meta={"display_name": "Player 1"})
        assert refused(answer) == (2002, "E047")
        assert answer["error"]["message"] == "Duplicate name"
        data = answer["error"]["data"]
        assert data["message_type"] == "LEAGUE_ERROR"
        assert data["display_name"] == "Player 1"
        assert data["suggestion"] == "Choose a different display_name"


@in_virtual_time
async def test_two_that_ask_for_one_name_at_the_same_time_do_not_both_get_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for number in (1, 2):
            await listening(hall, "player", number)
        answers = await asyncio.gather(
            *(hall.register("player", number, meta={"display_name": "Twin"}) for number in (1, 2))
        )
        assert sorted("result" in answer for answer in answers) == [False, True]
        assert list(hall.league.players) == ["P01"]


@pytest.mark.proves("001-L1977")
@pytest.mark.parametrize("role", ROLES)
@in_virtual_time
async def test_a_repeat_to_the_letter_is_answered_alike_for_nobody_knows_which_answer_is_heard(
    tmp_path: Path, role: str
) -> None:
    async with Hall(tmp_path) as hall:
        agent = await listening(hall, role, 1)
        request = hall.registration(role, 1)
        first, second = [(await hall.post(f"register_{role}", request))["result"] for _ in range(2)]
        assert first[f"{role}_id"] == second[f"{role}_id"] == FIRST[role]
        assert first["auth_token"] == second["auth_token"]
        agent.id, agent.token = FIRST[role], first["auth_token"]
        assert "result" in await agent.query("GET_STATUS")


@pytest.mark.parametrize("role", ROLES)
@in_virtual_time
async def test_a_repeat_never_gives_a_token_back_that_was_made_void(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        await listening(hall, role, 1)
        request = hall.registration(role, 1)
        first = (await hall.post(f"register_{role}", request))["result"]
        await hall.operate("token_rotate", agent_id=FIRST[role])
        again = await hall.post(f"register_{role}", request)
        assert first["auth_token"] not in str(again)


@pytest.mark.parametrize("role", ROLES)
@in_virtual_time
async def test_a_token_brings_an_agent_back_also_after_the_start_and_at_another_port_and_stays_what_it_was(
    tmp_path: Path, role: str
) -> None:
    async with Hall(tmp_path) as hall:
        agents = {one.role: one for one in await hall.scripted_league(players=2)}
        agent = agents[role]
        moved = await listening(hall, role, 50)
        for _ in range(2):
            # This may happen several times, because an answer may be lost.
            answer = await hall.register(role, 50, meta={"display_name": "Renamed"}, auth_token=agent.token)
            result = answer["result"]
            assert (result["status"], result[f"{role}_id"]) == ("ACCEPTED", agent.id)
            assert result["auth_token"] == agent.token
        moved.id, moved.token = agent.id, result["auth_token"]
        assert "result" in await moved.query("GET_STATUS")
        known = hall.league.agent(agent.id)
        assert known is not None
        assert known.meta.contact_endpoint == moved.url


@in_virtual_time
async def test_a_token_moves_an_agent_to_no_other_host(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        agent = await hall.scripted("player", 1)
        elsewhere = "http://10.0.0.9:8101/mcp"
        answer = await hall.register("player", 1, meta={"contact_endpoint": elsewhere}, auth_token=agent.token)
        assert (answer["result"]["status"], answer["result"]["error_code"]) == ("REJECTED", "E058")


@in_virtual_time
async def test_a_player_that_has_left_does_not_come_back(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        _, player, _ = await hall.scripted_league(players=2)
        await hall.operate("withdraw", player_id=player.id, reason="it asked to")
        result = (await hall.register("player", 1, auth_token=player.token))["result"]
        assert (result["status"], result["error_code"]) == ("REJECTED", "E058")
        assert "it asked to" in result["reason"]


@pytest.mark.parametrize(("grant", "given"), [(True, "P07"), (False, "P01")])
@in_virtual_time
async def test_an_id_that_is_asked_for_is_granted_only_where_the_manager_was_told_to(
    tmp_path: Path, *, grant: bool, given: str
) -> None:
    async with Hall(tmp_path, grant_ids=grant) as hall:
        await listening(hall, "player", 1)
        assert (await hall.register("player", 1, sender="player:P07"))["result"]["player_id"] == given


@pytest.mark.proves("000-L0144", "000-L0070", "002-L0106", "003-L0069", "000-L1422")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        *(({name: ...}, "E003") for name in ("sender", "timestamp", "conversation_id")),
        ({"protocol": ...}, "E003"),
        ({"message_type": ...}, "E003"),
        ({"protocol": "league.v1"}, "E018"),
        ({"protocol": "LEAGUE.V2"}, "E018"),
        ({"message_type": "league_query"}, "E045"),
        ({"timestamp": "yesterday"}, "E021"),
        *(({"meta": {name: ...}}, "E003") for name in ("display_name", "version", "game_types", "contact_endpoint")),
        ({"meta": {"max_concurrent_matches": 11}}, "E044"),
        ({"meta": {"max_concurrent_matches": "2"}}, "E043"),
    ],
)
@in_virtual_time
async def test_a_registration_without_the_envelope_or_a_required_field_is_malformed(
    tmp_path: Path, changes: Json, code: str
) -> None:
    async with Hall(tmp_path) as hall:
        await listening(hall, "referee", 1)
        answer = await hall.register("referee", 1, **changes)
        assert refused(answer) == (-32602, code)
        assert not hall.league.referees


# Identity


async def league_of_two(hall: Hall) -> tuple[Scripted, Scripted, Scripted]:
    """A league with one match in play: its referee and its players."""
    referee, one, other = await hall.scripted_league(players=2)
    await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
    return referee, one, other


def requests(agent: Scripted, **changes: Any) -> dict[str, Json]:
    """One of each request that needs a token."""
    of_match: Json = {"league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "attempt": 1}
    now = agent.hall.timestamp
    return {
        "report_match_result": agent.report_of("R1M1", **changes),
        "report_match_progress": agent.message(
            "MATCH_PROGRESS", **of_match | {"stage": "COLLECTING_CHOICES", "entered_at": now} | changes
        ),
        "report_match_void": agent.message("MATCH_VOID_REPORT", **of_match | {"reason": "late itself"} | changes),
        "league_query": agent.message("LEAGUE_QUERY", **{"league_id": LEAGUE, "query_type": "GET_STATUS"} | changes),
    }


NUMBERS = {
    "report_match_result": 5001,
    "report_match_progress": 5001,
    "report_match_void": 5001,
    "league_query": 6001,
}


@pytest.mark.proves("000-L1098", "001-L1940")
@pytest.mark.parametrize("method", NUMBERS)
@in_virtual_time
async def test_without_a_token_nothing_is_taken(tmp_path: Path, method: str) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        before = hall.league.digest()
        assert refused(await hall.post(method, requests(referee, auth_token=...)[method])) == (11, "E011")
        assert hall.league.digest() == before


@pytest.mark.settles("000-L1201", "004-L0494", "003-L0215")
@pytest.mark.parametrize("method", NUMBERS)
@in_virtual_time
async def test_a_wrong_token_is_refused_with_a_league_error_that_shows_only_its_beginning(
    tmp_path: Path, method: str
) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        before = hall.league.digest()
        wrong = referee.token[:-1] + ("A" if referee.token[-1] != "A" else "B")
        request = requests(referee, auth_token=wrong)[method]
        answer = await hall.post(method, request)
        assert refused(answer) == (NUMBERS[method], "E012")
        error = answer["error"]["data"]
        assert violations(error) == []
        assert error["message_type"] == "LEAGUE_ERROR"
        assert error["sender"] == "league_manager"
        assert error["conversation_id"] == request["conversation_id"]
        assert error["error_description"] == error["error_name"] == "AUTH_TOKEN_INVALID"
        assert error["original_message_type"] == request["message_type"]
        assert error["context"]["provided_token"] == f"{wrong[:8]}…"
        assert error["context"]["expected_format"] == "tok-{agent_id}-{hash}"
        assert wrong not in json.dumps(answer)
        assert hall.league.digest() == before


proves(
    test_a_wrong_token_is_refused_with_a_league_error_that_shows_only_its_beginning,
    "000-L1188", "000-L1202", "000-L1221", "001-L1481", "001-L1483", "001-L1940", "002-L0129", "003-L0201",
    "003-L0204", "004-L0476", "004-L0477", "004-L0478", "004-L0480", "004-L0562", "000-L1190", "001-L1484",
)  # fmt: skip


@pytest.mark.parametrize("method", NUMBERS)
@in_virtual_time
async def test_a_sender_must_be_the_one_whose_token_it_shows(tmp_path: Path, method: str) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        for sender in ("referee:REF02", "player:REF01", "league_manager"):
            answer = await hall.post(method, requests(referee, sender=sender)[method])
            assert refused(answer) == (55, "E055"), sender


@pytest.mark.parametrize("method", [method for method in NUMBERS if method != "league_query"])
@in_virtual_time
async def test_a_player_cannot_do_what_only_referees_may(tmp_path: Path, method: str) -> None:
    async with Hall(tmp_path) as hall:
        _, player, _ = await league_of_two(hall)
        assert refused(await hall.post(method, requests(player)[method])) == (5001, "E012")
        # It may not under a referee's name either.
        answer = await hall.post(method, requests(player, sender="referee:REF01")[method])
        assert refused(answer) == (5001, "E012")


@pytest.mark.settles("002-L0307b")
@in_virtual_time
async def test_a_league_error_names_the_player_whose_token_the_request_carries(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, one, other = await league_of_two(hall)

        async def affected(method: str, message: Json) -> Any:
            answer = await hall.post(method, message)
            assert violations(answer["error"]["data"]) == []
            return answer["error"]["data"]["affected_player"]

        for player in (one, other):
            # Refused by their fields, by identity, and by content.
            query = requests(player)["league_query"]
            assert await affected("league_query", query | {"timestamp": "noon"}) == player.id
            assert await affected("league_query", query | {"sender": "player:P09"}) == player.id
            assert await affected("league_query", query | {"query_type": "GET_RICH"}) == player.id
            assert await affected("no_such_method", query) == player.id
            assert await affected("report_match_result", requests(player)["report_match_result"]) == player.id
        assert await affected("league_query", query | {"auth_token": "tok-p02-wrong"}) is None
        assert await affected("league_query", requests(referee)["league_query"] | {"query_type": "GET_RICH"}) is None


@in_virtual_time
async def test_what_the_manager_shows_an_agent_opens_nothing_at_the_manager(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, _ = await league_of_two(hall)
        shown = [one.params["auth_token"] for one in [*referee.arrived, *player.arrived]]
        assignment = referee.got("MATCH_ASSIGNMENT")[0].params
        shown += [assignment["player_A"][name] for name in ("shown_token", "expected_token", "verifier")]
        real = (referee.token, player.token)
        for token in shown:
            assert token not in real
            for agent in (referee, player):
                answer = await agent.query("GET_STATUS", auth_token=token)
                assert refused(answer) == (6001, "E012")


@in_virtual_time
async def test_a_request_is_judged_by_json_rpc_then_fields_then_identity_then_state_then_content(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, one, other = await league_of_two(hall)
        assert "result" in await referee.report("R1M1")
        all_wrong = referee.report_of("R1M1", won("P01", "P02") | {"winner": "P09"}, auth_token="tok-nobody")
        body = {"jsonrpc": "1.0", "method": "report_match_result", "params": all_wrong | {"round_id": "1"}, "id": 1}

        async def judged() -> tuple[int, str]:
            answer = await hall.body(json.dumps(body).encode())
            return refused(json.loads(answer or b""))

        assert await judged() == (-32600, "E041")
        body["jsonrpc"] = "2.0"
        assert await judged() == (-32602, "E043")
        all_wrong |= {"league_id": "another", "sender": "referee:REF02"}
        body["params"] = all_wrong
        assert await judged() == (5001, "E012")
        all_wrong["auth_token"] = referee.token
        assert await judged() == (55, "E055")
        all_wrong["sender"] = "referee:REF01"
        assert await judged() == (53, "E053")
        all_wrong["league_id"] = LEAGUE
        assert await judged() == (5003, "E054")
        # The operator orders a rematch. Now only the content of the report is wrong.
        await hall.until(lambda: hall.league.state == "LEAGUE_COMPLETED")
    async with Hall(tmp_path / "again") as hall:
        referee, one, other = await league_of_two(hall)
        body["params"] = all_wrong | {"auth_token": referee.token}
        assert await judged() == (56, "E056")
        assert (one.id, other.id) == ("P01", "P02")


# Results


@pytest.mark.proves("000-L0889", "000-L1576", "001-L1327", "002-L0139", "004-L0560")
@pytest.mark.settles("000-L0888")
@in_virtual_time
async def test_a_result_is_accepted_at_once_and_shows_in_the_standings(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, one, _ = await league_of_two(hall)
        before = hall.now
        request = referee.report_of("R1M1", won("P02", "P01"))
        result = (await hall.post("report_match_result", request))["result"]
        assert violations(result) == []
        assert result["message_type"] == "MATCH_RESULT_ACK"
        assert result["status"] == "ACCEPTED"
        assert (result["match_id"], result["round_id"]) == ("R1M1", 1)
        assert result["conversation_id"] == request["conversation_id"]
        assert hall.now - before < 10
        await hall.end()
        table = one.got("LEAGUE_STANDINGS_UPDATE")[-1].params["standings"]
        assert [(row["player_id"], row["points"]) for row in table] == [("P02", 3), ("P01", 0)]


@pytest.mark.proves("001-L1441", "001-L1452", "001-L1453")
@in_virtual_time
async def test_a_result_counts_once_however_often_it_is_reported(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await asyncio.sleep(5)
        reported_at = hall.timestamp
        assert "result" in await referee.report("R1M1")
        await asyncio.sleep(5)
        answer = await referee.report("R1M1", won("P02", "P01"))
        assert refused(answer) == (5003, "E054")
        assert answer["error"]["message"] == "Duplicate report"
        assert answer["error"]["data"]["match_id"] == "R1M1"
        assert answer["error"]["data"]["previous_report_time"] == reported_at
        assert hall.league.table.rows["P01"].record.points == 3


@pytest.mark.proves("001-L1440")
@in_virtual_time
async def test_a_match_that_is_unknown_or_another_referees_is_error_5002(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        one, other, *_ = await hall.scripted_league(players=4, referees=2, capacity=1)
        await hall.until(lambda: one.got("MATCH_ASSIGNMENT") and other.got("MATCH_ASSIGNMENT"))
        assert one.got("MATCH_ASSIGNMENT")[0].params["match_id"] == "R1M1"
        assert refused(await one.report("R9M9")) == (5002, "E050")
        assert refused(await one.report("R1M2")) == (5002, "E050")
        assert refused(await one.report("R2M1", attempt=1)) == (5002, "E050")
        assert refused(await one.report("R1M1", attempt=2)) == (5002, "E050")
        assert "result" in await one.report("R1M1")


@pytest.mark.proves("001-L1548", "001-L1549")
@in_virtual_time
async def test_a_report_before_the_start_is_e030_and_after_the_end_e031(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee = await hall.scripted("referee", 1)
        assert refused(await referee.report("R1M1")) == (30, "E030")
        for number in (1, 2):
            await hall.scripted("player", number)
        await hall.operate("start")
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        assert "result" in await referee.report("R1M1")
        await hall.end()
        assert refused(await referee.report("R1M1")) == (5003, "E054")
        assert refused(await referee.report("R2M1")) == (31, "E031")


@pytest.mark.parametrize(
    "result",
    [
        won("P01", "P02") | {"winner": "P03"},
        won("P01", "P02") | {"winner": "P02"},
        won("P01", "P02") | {"winner": None},
        won("P01", "P03"),
        drawn("P01", "P02") | {"winner": "P01"},
        won("P01", "P02") | {"score": {"P01": 3, "P02": 1}},
        won("P01", "P02") | {"details": drawn("P01", "P02")["details"]},
    ],
)
@in_virtual_time
async def test_a_result_that_contradicts_itself_is_e056_and_the_match_stays_open(tmp_path: Path, result: Json) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        assert refused(await referee.report("R1M1", result)) == (56, "E056")
        assert "result" in await referee.report("R1M1")


@in_virtual_time
async def test_a_report_of_another_round_or_game_is_e056(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        assert refused(await referee.report("R1M1", round_id=2)) == (56, "E056")
        assert refused(await referee.report("R1M1", game_type="tic_tac_toe")) == (56, "E056")


@pytest.mark.parametrize(("ahead", "shown"), [(1, 31), (3_600, 30), (-3_600, 30)])
@in_virtual_time
async def test_the_deadline_of_a_referee_with_another_clock_is_put_on_the_managers(
    tmp_path: Path, ahead: int, shown: int
) -> None:
    """Stamps are of whole seconds, so a difference of one is none."""

    def stamp(seconds: float) -> str:
        return times.format_timestamp(hall.clock() + timedelta(seconds=seconds))

    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        progress = requests(referee)["report_match_progress"]
        await hall.post("report_match_progress", progress | {"timestamp": stamp(ahead), "deadline": stamp(ahead + 30)})
        assert hall.manager.runner.progress.latest["R1M1"].deadline == stamp(shown)


@in_virtual_time
async def test_progress_is_kept_for_the_match_in_play_and_refused_for_any_other(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        progress = requests(referee)["report_match_progress"]
        answer = await hall.post("report_match_progress", progress)
        assert answer["result"]["message_type"] == "MATCH_PROGRESS_ACK"
        assert violations(answer["result"]) == []
        assert hall.manager.runner.progress.latest["R1M1"].stage == "COLLECTING_CHOICES"
        for wrong in ({"match_id": "R9M9"}, {"attempt": 2}):
            assert refused(await hall.post("report_match_progress", progress | wrong)) == (5002, "E050")
        assert "result" in await referee.report("R1M1")
        assert hall.manager.runner.progress.latest == {}
        assert refused(await hall.post("report_match_progress", progress)) == (5002, "E050")
        assert hall.manager.runner.progress.latest == {}


@in_virtual_time
async def test_a_referee_may_give_an_attempt_up_and_the_match_is_assigned_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _, _ = await league_of_two(hall)
        answer = await hall.post("report_match_void", requests(referee)["report_match_void"])
        assert answer["result"]["status"] == "ACCEPTED"
        assert violations(answer["result"]) == []
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        assert referee.got("MATCH_ASSIGNMENT")[1].params["attempt"] == 2
        assert refused(await referee.report("R1M1", attempt=1)) == (5002, "E050")
        assert "result" in await referee.report("R1M1", attempt=2)


# Queries


@pytest.mark.settles("000-L1400")
@pytest.mark.parametrize("query_type", QUERIES)
@in_virtual_time
async def test_players_and_referees_are_answered_what_they_ask(tmp_path: Path, query_type: str) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1")
        expected: dict[str, Any] = {
            "GET_STANDINGS": lambda data: (data["standings"][0]["player_id"], len(data["standings"])) == ("P01", 4),
            "GET_SCHEDULE": lambda data: (
                [one["match_id"] for one in data["schedule"]] == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
                and data["schedule"][0]["result"]["winner"] == "P01"
            ),
            "GET_NEXT_MATCH": lambda data: (
                data["next_match"]
                == {"match_id": "R2M1", "round_id": 2, "opponent_id": "P03", "referee_endpoint": referee.url}
            ),
            "GET_PLAYER_STATS": lambda data: (
                (data["player_stats"]["points"], data["player_stats"]["wins"]) == (3, 1)
                and [one["opponent_id"] for one in data["player_stats"]["opponents"]] == ["P02"]
                and [one["result"] for one in data["player_stats"]["form"]] == ["WIN"]
                and data["player_stats"]["choices"] == [{"choice": "even", "count": 1}]
                and data["player_stats"]["failures"]["technical_losses"] == 0
            ),
            "GET_STATUS": lambda data: (
                (data["status"]["state"], data["status"]["matches_played"]) == ("RUNNING_LEAGUE", 1)
            ),
        }
        needs_player = query_type in ("GET_NEXT_MATCH", "GET_PLAYER_STATS")
        for agent in (player, referee):
            query_params = {"player_id": "P01"} if needs_player else {}
            message = agent.message("LEAGUE_QUERY", league_id=LEAGUE, query_type=query_type, query_params=query_params)
            result = (await hall.post("league_query", message))["result"]
            assert violations(result) == []
            assert result["message_type"] == "LEAGUE_QUERY_RESPONSE"
            assert result["sender"] == "league_manager"
            assert result["conversation_id"] == message["conversation_id"]
            assert result["query_type"] == query_type
            assert result["success"] is True
            assert "error" not in result
            assert expected[query_type](result["data"]), result["data"]
            assert ("standings" in result, "current_round" in result) == (query_type == "GET_STANDINGS",) * 2


proves(
    test_players_and_referees_are_answered_what_they_ask,
    "000-L1029", "000-L1031", "000-L1094", "000-L1107", "000-L1109", "000-L1166b", "000-L1177", "000-L1493",
    "001-L1676", "001-L1678", "002-L0128", "002-L0149", "004-L0411", "004-L0412", "004-L0413", "004-L0441",
    "004-L0442", "004-L0454", "004-L0564", "004-L0565",
)  # fmt: skip


@pytest.mark.proves("000-L1170b", "000-L1177")
@pytest.mark.parametrize("query_type", ["GET_NEXT_MATCH", "GET_PLAYER_STATS"])
@in_virtual_time
async def test_a_query_about_nobody_or_an_unknown_player_is_answered_without_success(
    tmp_path: Path, query_type: str
) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        for params, code in (({}, "E003"), ({"player_id": "P77"}, "E005")):
            result = (await player.query(query_type, query_params=params))["result"]
            assert violations(result) == []
            assert result["success"] is False
            assert result["query_type"] == query_type
            assert "data" not in result
            assert result["error"]["error_code"] == code


@in_virtual_time
async def test_an_unknown_query_is_6002_and_another_league_6003(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        for unknown in ("GET_WEATHER", "get_status", 7):
            assert refused(await player.query(unknown)) == (6002, "E052")
        assert refused(await player.query("GET_STATUS", league_id="another")) == (6003, "E053")


@pytest.mark.proves("000-L1032", "000-L1101", "000-L1110", "000-L1180", "000-L1494")
@in_virtual_time
async def test_queries_are_answered_at_once_before_the_start_during_the_league_and_after_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:

        async def ask(agent: Scripted, state: str) -> None:
            before = hall.now
            for query_type in QUERIES:
                answer = await agent.query(query_type, query_params={"player_id": "P01"})
                assert answer["result"]["success"] is True
            assert hall.now - before < 10
            assert (await agent.query("GET_STATUS"))["result"]["data"]["status"]["state"] == state

        await hall.scripted("player", 1)
        player = await hall.scripted("player", 2)
        await ask(player, "WAITING_FOR_REGISTRATIONS")
        referee = await hall.scripted("referee", 1)
        await hall.operate("start")
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await ask(player, "RUNNING_LEAGUE")
        await referee.report("R1M1")
        await hall.end()
        await ask(player, "LEAGUE_COMPLETED")
        result = (await player.query("GET_NEXT_MATCH", query_params={"player_id": "P01"}))["result"]
        assert result["data"] == {"next_match": None}


# JSON-RPC


@in_virtual_time
async def test_a_ping_tells_the_league(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        assert await hall.post("ping", {}, call_id=3) == {
            "jsonrpc": "2.0",
            "result": {"status": "ok", "league_id": LEAGUE, "game_type": "even_odd"},
            "id": 3,
        }


@in_virtual_time
async def test_methods_of_others_and_unknown_ones_are_not_found(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for method in ("notify_round", "start_match", "make_tea"):
            assert refused(await hall.post(method, {})) == (-32601, "E042")


@pytest.mark.proves("002-L0083", "002-L0084")
@in_virtual_time
async def test_every_request_with_an_id_gets_exactly_one_answer_with_that_id(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        query = player.message("LEAGUE_QUERY", league_id=LEAGUE, query_type="GET_STATUS")
        wrong = query | {"auth_token": "tok-p01-wrong"}
        batch = [
            {"jsonrpc": "2.0", "method": "league_query", "params": query, "id": 1},
            {"jsonrpc": "2.0", "method": "league_query", "params": query},
            {"jsonrpc": "2.0", "method": "league_query", "params": wrong, "id": "two"},
            {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 3.5},
            {"jsonrpc": "2.0", "method": "nothing", "id": None},
            {"method": "ping", "id": 5},
        ]
        answers = json.loads(await hall.body(json.dumps(batch).encode()) or b"")
        assert [answer["id"] for answer in answers] == [1, "two", 3.5, None, 5]
        assert ["result" in answer for answer in answers] == [True, False, True, False, False]
        assert all(("result" in answer) != ("error" in answer) for answer in answers)
        assert (answers[0]["result"]["protocol"], answers[0]["result"]["message_type"]) == (
            "league.v2",
            "LEAGUE_QUERY_RESPONSE",
        )
        notification = {"jsonrpc": "2.0", "method": "league_query", "params": query}
        assert await hall.body(json.dumps(notification).encode()) is None


@pytest.mark.parametrize(
    ("body", "number"),
    [(b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b"7", -32600), (b'"' + b"x" * 11_000 + b'"', -32600)],
)
@in_virtual_time
async def test_bodies_that_are_no_requests_are_refused_with_a_league_error(
    tmp_path: Path, body: bytes, number: int
) -> None:
    async with Hall(tmp_path) as hall:
        answer = json.loads(await hall.body(body) or b"")
        assert (answer["id"], answer["error"]["code"]) == (None, number)
        assert answer["error"]["data"]["message_type"] == "LEAGUE_ERROR"
        assert violations(answer["error"]["data"]) == []


# Nothing is sent before it is written


@in_virtual_time
async def test_no_registration_is_answered_before_it_is_written_down(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        await listening(hall, "player", 1)
        log.hold()
        before = len(log.content.events)
        asking = asyncio.create_task(hall.register("player", 1))
        await asyncio.sleep(60)
        assert not asking.done()
        assert len(log.content.events) == before
        log.release()
        assert (await asking)["result"]["status"] == "ACCEPTED"
        assert len(log.content.events) == before + 1


@in_virtual_time
async def test_no_announcement_assignment_or_standings_goes_out_before_its_event_is_written_down(
    tmp_path: Path,
) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        referee = await hall.scripted("referee", 1)
        players = [await hall.scripted("player", number) for number in (1, 2)]

        async def held(seconds: float = 60) -> int:
            """The number of messages that arrive while the log cannot write."""
            before = sum(len(agent.arrived) for agent in [referee, *players])
            await asyncio.sleep(seconds)
            return sum(len(agent.arrived) for agent in [referee, *players]) - before

        log.hold()
        starting = asyncio.create_task(hall.operate("start"))
        assert await held() == 0
        assert not starting.done()
        log.release_one()
        await hall.quiet()
        assert starting.done()
        assert hall.league.current_round == 1
        assert await held() == 0
        log.release_one()
        await hall.quiet()
        assert all(one.got("ROUND_ANNOUNCEMENT") for one in [referee, *players])
        assert hall.league.matches["R1M1"].in_play
        assert await held() == 0
        assert not referee.got("MATCH_ASSIGNMENT")
        log.release()
        await hall.quiet()
        assert referee.got("MATCH_ASSIGNMENT")
        log.hold()
        reporting = asyncio.create_task(referee.report("R1M1"))
        asking = asyncio.create_task(players[0].query("GET_STANDINGS"))
        looking = asyncio.create_task(hall.operate("status"))
        assert await held() == 0
        assert hall.league.state == "LEAGUE_COMPLETED"
        assert not any(task.done() for task in (reporting, asking, looking))
        log.release()
        await hall.end()
        assert (await reporting)["result"]["status"] == "ACCEPTED"
        assert (await asking)["result"]["data"]["standings"][0]["points"] == 3
        assert (await looking)["state"] == "LEAGUE_COMPLETED"
        for player in players:
            assert [one.kind for one in player.arrived[1:]] == [
                "LEAGUE_STANDINGS_UPDATE",
                "ROUND_COMPLETED",
                "LEAGUE_COMPLETED",
            ]


@in_virtual_time
async def test_what_goes_out_shows_nothing_that_was_decided_meanwhile_and_is_not_yet_written_down(
    tmp_path: Path,
) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        referee, player, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        log.hold()
        first = asyncio.create_task(referee.report("R1M1"))
        looking = asyncio.create_task(hall.operate("standings"))
        await hall.quiet()
        second = asyncio.create_task(referee.report("R1M2"))
        await hall.quiet()
        log.release_one()
        await hall.quiet()
        assert (first.done(), looking.done(), second.done()) == (True, True, False)
        shown = player.got("LEAGUE_STANDINGS_UPDATE")[0].params["standings"]
        assert sum(row["played"] for row in shown) == 2
        assert sum(row["played"] for row in looking.result()["standings"]) == 2
        assert not player.got("ROUND_COMPLETED")
        log.release()
        await hall.quiet()
        assert second.done()
        assert player.got("ROUND_COMPLETED")


@pytest.mark.parametrize("what", ["registration", "result", "operator"])
@in_virtual_time
async def test_a_write_that_fails_ends_the_manager_and_nothing_is_answered_as_done(tmp_path: Path, what: str) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        referee, player, _ = await league_of_two(hall)
        await listening(hall, "player", 9)
        before, arrived = len(log.content.events), len(player.arrived)
        log.break_down()
        answer = await {
            "registration": lambda: hall.register("player", 1, auth_token=player.token),
            "result": lambda: referee.report("R1M1"),
            "operator": lambda: hall.post("operator", {"command": "pause", "admin_token": "adm-the-operators-own"}),
        }[what]()
        assert refused(answer) == (-32603, "E060")
        with pytest.raises(StoreError, match="The disk is full"):
            await hall.end(60)
        # It does not send anything that it could not write either.
        assert refused(await referee.query("GET_STATUS")) == (-32603, "E060")
        await asyncio.sleep(60)
        assert len(log.content.events) == before
        assert len(player.arrived) == arrived


# Over real HTTP


async def http(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, Json]:
    """Send one request over a real connection. Returns the status and the JSON of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        came = await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
    top, _, content = came.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(content)


class Served:
    """A manager behind its real server, with a referee and two players that only acknowledge."""

    def __init__(self, root: Path) -> None:
        self._socket = listen("127.0.0.1", 0)
        self._endpoints = [listen("127.0.0.1", 0) for _ in range(3)]
        self.port = self._socket.getsockname()[1]
        self.caller = HttpCaller(AddressPolicy.local())
        self.log = HeldLog()
        settings = Settings(league_id=LEAGUE, announce_lead=0.0, seed_hex="5e" * 32)
        url = f"http://127.0.0.1:{self.port}/mcp"
        self.manager = Manager(World(self.caller, root), self.log, settings, url, "adm")
        self.assigned = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.manager.open()
        self.manager.runner.start_when = (2, 1)
        self._servers = [
            manager_server(self.manager, self._socket),
            agent_server(of_requests(self._acknowledge), self._endpoints, player_refusal),
        ]
        for server in self._servers:
            await server.start()
        self._running = asyncio.create_task(self.manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        for server in self._servers:
            await server.stop()
        await self.manager.close()
        await self.caller.close()

    async def _acknowledge(self, body: bytes, _peer: Any) -> bytes:
        call = json.loads(body)
        result = {"status": "ok"}
        if call["method"] == "start_match":
            self.assigned.set()
            kept = ("protocol", "timestamp", "match_id", "attempt")
            result = {name: call["params"][name] for name in kept}
            result |= {"message_type": "MATCH_ASSIGNMENT_ACK", "status": "ACCEPTED"}
        return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()

    async def enter(self, role: str, number: int) -> str:
        """Register an agent over HTTP. Returns its token."""
        endpoint = f"http://127.0.0.1:{self._endpoints[number].getsockname()[1]}/mcp"
        meta = {"display_name": f"No {number}", "version": "1.0.0", "game_types": ["even_odd"]}
        if role == "referee":
            meta["token_scheme"] = "derived"
        params = {
            "protocol": "league.v2",
            "message_type": "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST",
            "sender": f"{role}:new",
            "timestamp": "2025-01-15T10:30:00Z",
            "conversation_id": f"conv-{number}",
            f"{role}_meta": meta | {"contact_endpoint": endpoint},
        }
        call = {"jsonrpc": "2.0", "method": f"register_{role}", "params": params, "id": number}
        status, answer = await http(self.port, "POST", "/mcp", json.dumps(call).encode())
        assert (status, answer["id"], answer["result"]["status"]) == (200, number, "ACCEPTED")
        return str(answer["result"]["auth_token"])


@pytest.mark.proves("002-L0159")
def test_agents_register_over_http_by_a_post_to_mcp(tmp_path: Path) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            assert (await served.enter("referee", 0)).startswith("tok-ref01-")
            assert (await served.enter("player", 1)).startswith("tok-p01-")

    asyncio.run(main())


def test_health_tells_over_http_that_the_manager_is_there_and_how_the_league_stands(tmp_path: Path) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            assert await http(served.port, "GET", "/health") == (
                200,
                {"status": "ok", "league_id": LEAGUE, "state": "WAITING_FOR_REGISTRATIONS"},
            )
            served.log.break_down()
            await served.manager.handle(
                b'{"jsonrpc":"2.0","method":"operator","params":{"command":"pause","admin_token":"adm"},"id":1}',
                Peer("127.0.0.1"),
            )
            assert await http(served.port, "GET", "/health") == (
                503,
                {"status": "failed", "league_id": LEAGUE, "reason": "The disk is full."},
            )

    asyncio.run(main())


def test_a_body_that_is_too_large_gets_413_and_a_json_rpc_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            status, answer = await http(served.port, "POST", "/mcp", b" " * (MAX_BYTES + 1))
            assert (status, *refused(answer)) == (413, -32600, "E046")

    asyncio.run(main())


def document(kind: str, token: str, sender: str = "referee:REF01", **changes: Any) -> bytes:
    """A transcript or a record."""
    entry = {"seconds": 0.5, "what": "sent", "player_id": "P01", "message_type": "GAME_INVITATION", "body": {}}
    message = {
        "protocol": "league.v2",
        "message_type": "MATCH_TRANSCRIPT" if kind == "transcript" else "MATCH_RECORD",
        "sender": sender,
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-r1m1",
        "auth_token": token,
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "attempt": 1,
        **({"entries": [entry]} if kind == "transcript" else {"record": [{"A": "even", "B": "odd"}]}),
    }
    return json.dumps(message | changes).encode()


@pytest.mark.parametrize(("kind", "name"), [("transcript", "transcript/R1M1"), ("record", "record/R1M1/1")])
def test_a_document_is_kept_for_the_referee_of_the_match_and_refused_for_anybody_else(
    tmp_path: Path, kind: str, name: str
) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            referee = await served.enter("referee", 0)
            player = await served.enter("player", 1)
            await served.enter("player", 2)
            async with asyncio.timeout(10):
                await served.assigned.wait()

            async def post(body: bytes, match_id: str = "R1M1") -> tuple[int, Any]:
                status, came = await http(served.port, "POST", f"/{kind}s/{match_id}", body)
                return status, came.get("error_code", came.get("status"))

            assert await post(document(kind, "tok-ref01-stranger")) == (400, "E012")
            assert await post(document(kind, player, "player:P01")) == (400, "E012")
            assert await post(document(kind, referee, "referee:REF02")) == (400, "E055")
            assert await post(document(kind, referee), "R1M2") == (400, "E050")
            assert await post(document(kind, referee, match_id="R9M9"), "R9M9") == (400, "E050")
            assert await post(b"{") == (400, "E040")
            assert (await post(b" " * (MAX_DOCUMENT + 1)))[0] == 413
            assert await post(document(kind, referee, league_id="another")) == (400, "E053")
            assert await served.log.read_document(name) is None
            assert await post(document(kind, referee)) == (200, "ACCEPTED")
            kept = json.loads(await served.log.read_document(name) or b"")
            if kind == "transcript":
                assert kept["entries"][0]["message_type"] == "GAME_INVITATION"
            else:
                assert kept == [{"A": "even", "B": "odd"}]
                assert await post(document(kind, referee, attempt=2)) == (400, "E050")
                assert await post(document(kind, referee, record="none")) == (400, "E043")

    asyncio.run(main())


def test_a_registration_over_http_is_decoded_once(tmp_path: Path) -> None:
    decoded: list[str] = []

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ == "decode" and type(called.__self__) is msgspec.json.Decoder:
            decoded.append(frame.f_code.co_name)

    async def main() -> None:
        async with Served(tmp_path) as served:
            await served.enter("player", 0)
            # The player's own server decodes the manager's ping. That is not counted here.
            served._endpoints[1], answered = (
                listen("127.0.0.1", 0),
                b'{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}',
            )

            async def pong(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.readuntil(b"}")
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(answered), answered))
                writer.close()
                await writer.wait_closed()

            async with await asyncio.start_server(pong, sock=served._endpoints[1]):
                sys.setprofile(note)
                try:
                    await served.enter("player", 1)
                finally:
                    sys.setprofile(None)

    asyncio.run(main())
    assert decoded == ["decode_valid_call"]
