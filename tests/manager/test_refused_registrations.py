"""The operator sees every agent that tried to register and why it was refused, and no sender can fill the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.manager.refused_registrations import ADDRESS_BURST, ALL_BURST, MAX_REASON
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import Peer
from tests.agents.leagues import Hall, Json, in_virtual_time, url_of


async def seen_by_operator(hall: Hall) -> list[Json]:
    answer: dict[str, Any] = await hall.operate("agents")
    return list(answer["refused"])


def registration(hall: Hall, number: int, **meta: Any) -> bytes:
    params = hall.registration("player", number, meta)
    return json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}).encode()


@in_virtual_time
async def test_a_refused_agent_is_shown_to_the_operator_with_the_reason_and_the_number_of_attempts(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        for _ in range(5):
            answer = await hall.register("player", 9, meta={"game_types": ["chess"]})
        [one] = await seen_by_operator(hall)
        assert one["endpoint"] == url_of("player", 9)
        assert (one["role"], one["code"], one["reason"]) == ("player", "E049", answer["result"]["reason"])
        # An attempt is recorded when their number has doubled: the first, the second and the fourth.
        assert one["count"] == 4
        assert [json.loads(event)["event"] for event in hall.log.content.events].count("RegistrationRefused") == 3


@in_virtual_time
async def test_the_latest_reason_is_shown_also_for_a_class_behind_one_address(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for _ in range(3):
            for number in range(1, 31):
                await hall.register("player", number, meta={"game_types": ["chess"]})
        # Nothing listens at the endpoint.
        await hall.register("player", 7)
        latest = (await seen_by_operator(hall))[0]
        assert (latest["endpoint"], latest["code"], latest["count"]) == (url_of("player", 7), "E048", 4)
        assert (await hall.operate("agents"))["unrecorded"] == 0


@pytest.mark.parametrize(
    ("method", "params", "name", "endpoint"),
    [
        ("register_player", {}, "", ""),
        ("register_player", {"player_meta": {"display_name": "Dave"}}, "Dave", ""),
        ("register_player", {"player_meta": {"contact_endpoint": "http://a:1/mcp"}}, "", "http://a:1/mcp"),
        ("league_register", {"name": "Dave", "endpoint": "http://a:1/mcp"}, "Dave", "http://a:1/mcp"),
        ("player_registration", {"display_name": "D\u202eave", "url": "not one"}, "D\ufffdave", ""),
        ("register_player", [], "", ""),
    ],
)
@in_virtual_time
async def test_a_registration_that_cannot_be_read_is_shown_with_what_it_says(
    tmp_path: Path, method: str, params: Any, name: str, endpoint: str
) -> None:
    async with Hall(tmp_path) as hall:
        answer = await hall.post(method, params)
        [one] = await seen_by_operator(hall)
        assert (one["display_name"], one["endpoint"], one["role"]) == (name, endpoint, "player")
        assert one["code"] == answer["error"]["data"]["error_code"]
        assert len(one["reason"]) <= MAX_REASON


@in_virtual_time
async def test_a_name_that_is_taken_is_shown_and_other_refused_requests_are_not(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("player", 1)
        await hall.scripted("player", 2)
        taken = hall.league.players["P01"].meta.display_name
        await hall.register("player", 9, meta={"display_name": taken})
        await hall.post("league_query", {})
        await hall.post("no_such_method", {})
        [one] = await seen_by_operator(hall)
        assert (one["code"], one["display_name"]) == ("E047", taken)


@in_virtual_time
async def test_one_address_cannot_fill_the_log_and_others_are_still_recorded(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for number in range(int(ADDRESS_BURST) + 80):
            body = registration(
                hall, 9, game_types=["chess"], contact_endpoint=f"http://127.0.0.1:{20_000 + number}/mcp"
            )
            await hall.manager.answer(RpcRequest(body), Peer("10.0.0.7"))
        assert len(hall.league.refused) == ADDRESS_BURST
        assert (await hall.operate("agents"))["unrecorded"] == 80
        await hall.manager.answer(RpcRequest(registration(hall, 8, game_types=["chess"])), Peer("10.0.0.8"))
        assert (await seen_by_operator(hall))[0]["address"] == "10.0.0.8"


@in_virtual_time
async def test_many_addresses_cannot_fill_the_log_either(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for number in range(int(ALL_BURST) + 200):
            body = registration(
                hall, 9, game_types=["chess"], contact_endpoint=f"http://127.0.0.1:{20_000 + number}/mcp"
            )
            await hall.manager.answer(RpcRequest(body), Peer(f"10.0.{number}.7"[:11]))
        recorded = [event for event in hall.log.content.events if b"RegistrationRefused" in event]
        assert len(recorded) == ALL_BURST
