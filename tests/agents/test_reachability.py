"""Where an agent says it listens, and from where it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.calls import passes
from leaguekit.protocol.rpc import RpcError, RpcRefusal
from leaguekit.transport.base import CallerUnable, HttpAnswer, NoRoute, Peer
from leaguekit.transport.memory import MemoryCaller
from tests.agents.leagues import Hall, Json, in_virtual_time

ELSEWHERE = "192.168.1.23"


async def register(hall: Hall, role: str, number: int, endpoint: str, peer: str, query: str = "") -> Json:
    call = {
        "jsonrpc": "2.0",
        "method": f"register_{role}",
        "params": hall.registration(role, number, {"contact_endpoint": endpoint}),
        "id": 1,
    }
    answer = await hall.manager.handle(json.dumps(call).encode(), Peer(peer, query))
    result: Json = json.loads(answer or b"")["result"]
    return result


async def is_called(body: bytes, _peer: Any) -> bytes:
    pytest.fail("it was called")


async def answers(body: bytes, _peer: Any) -> bytes:
    return b'{"jsonrpc":"2.0","result":{},"id":1}'


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_loopback_endpoint_from_another_machine_is_rejected_with_the_address_to_use(
    tmp_path: Path, role: str, host: str
) -> None:
    async with Hall(tmp_path) as hall:
        endpoint = f"http://{host}:8777/mcp"
        # Whatever listens there is another's, and is not called at all.
        hall.network.listen(endpoint, is_called)
        code = await hall.manager.provide_referee_code(None)
        rejected = await register(hall, role, 1, endpoint, ELSEWHERE, f"referee={code}")
        assert (rejected["status"], rejected["error_code"], rejected[f"{role}_id"]) == ("REJECTED", "E048", None)
        assert f"register with http://{ELSEWHERE}:8777/mcp" in rejected["reason"]


@in_virtual_time
async def test_from_the_managers_own_machine_a_loopback_endpoint_is_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.network.listen("http://127.0.0.1:8777/mcp", answers)
        assert (await register(hall, "player", 1, "http://127.0.0.1:8777/mcp", "127.0.0.1"))["status"] == "ACCEPTED"


@in_virtual_time
async def test_an_endpoint_on_the_agents_own_address_is_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.network.listen(f"http://{ELSEWHERE}:8777/mcp", answers)
        assert (await register(hall, "player", 1, f"http://{ELSEWHERE}:8777/mcp", ELSEWHERE))["status"] == "ACCEPTED"


@pytest.mark.parametrize("profile", ["spec", "open"])
@pytest.mark.parametrize("host", ["127.255.255.255", "255.255.255.255", "224.0.0.1", "0.0.0.0", "[ff02::1]", "[::]"])
@in_virtual_time
async def test_an_address_at_which_nobody_can_ever_be_called_is_rejected(
    tmp_path: Path, host: str, profile: str
) -> None:
    async with Hall(tmp_path, profile=profile) as hall:
        rejected = await register(hall, "player", 1, f"http://{host}:8777/mcp", "127.0.0.1")
        assert (rejected["status"], rejected["error_code"]) == ("REJECTED", "E048")
        assert f"no agent is called at {host.strip('[]')}" in rejected["reason"]


@pytest.mark.parametrize("role", ["player", "referee"])
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (CallerUnable("", "too many open files"), "cannot call anybody at the moment (too many open files)"),
        (NoRoute("", "network is unreachable"), "has no way to http://127.0.0.1:8777/mcp (network is unreachable)"),
    ],
)
@in_virtual_time
async def test_a_manager_that_cannot_call_rejects_nobody_and_says_so(
    tmp_path: Path, role: str, failure: CallerUnable, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unable(_caller: MemoryCaller, _url: str, *_: Any) -> HttpAnswer:
        raise failure

    async with Hall(tmp_path) as hall:
        hall.network.listen("http://127.0.0.1:8777/mcp", answers)
        query = f"referee={await hall.manager.provide_referee_code(None)}"
        params = hall.registration(role, 1, {"contact_endpoint": "http://127.0.0.1:8777/mcp"})
        call = {"jsonrpc": "2.0", "method": f"register_{role}", "params": params, "id": 1}
        with monkeypatch.context() as patched:
            patched.setattr(MemoryCaller, "post", unable)
            answer = json.loads(await hall.manager.handle(json.dumps(call).encode(), Peer("127.0.0.1", query)) or b"")
        error = answer["error"]
        assert error["data"]["error_code"] == "E060"
        assert said in json.dumps(error["data"])
        # Our own agents, and any that retry what may pass, register again.
        assert passes(RpcRefusal(RpcError(error["code"], error["message"], error["data"])))
        league = hall.manager.ledger.league
        assert (league.players, league.referees) == ({}, {})
        accepted = await register(hall, role, 1, "http://127.0.0.1:8777/mcp", "127.0.0.1", query)
        assert accepted["status"] == "ACCEPTED"
