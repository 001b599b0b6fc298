"""Registrations that go to a wrong path or have a form of their own are accepted, or answered with what to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.agents.serving import endpoint_of
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen
from leaguekit.web.app import Dashboard
from tests.agents.leagues import ADMIN

Json = dict[str, Any]
ENDPOINT = "http://127.0.0.1:8101/mcp"
META = {"display_name": "Player P01", "version": "1.0", "game_types": ["even_odd"], "contact_endpoint": ENDPOINT}
FLAT = {"name": "Player P01", "endpoint": ENDPOINT}


class Desk(NamedTuple):
    """A manager that serves on a real socket."""

    manager: Manager
    caller: HttpCaller

    async def post(self, path: str, content: Any) -> tuple[int, Json]:
        url = self.manager.endpoint.removesuffix("/mcp") + path
        answer = await self.caller.post(url, json.dumps(content).encode(), 10)
        return answer.status, json.loads(answer.body)

    @property
    def names(self) -> list[str]:
        return [one.meta.display_name for one in self.manager.ledger.league.players.values()]

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.manager.ledger.league.refused.values()]


@asynccontextmanager
async def serving(folder: Path, profile: str) -> AsyncIterator[Desk]:
    sock = listen("127.0.0.1", 0)
    caller = HttpCaller(AddressPolicy.local())
    settings = Settings(league_id="league_misdirected", profile=profile)  # type: ignore[arg-type]
    manager = Manager(World(caller, folder), MemoryLog(), settings, endpoint_of(sock), ADMIN)
    await manager.open()
    server = manager_server(manager, sock, web=Dashboard)
    await server.start()
    try:
        yield Desk(manager, caller)
    finally:
        await server.stop()
        await manager.close()
        await caller.close()


def rpc(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}


@pytest.mark.parametrize(
    ("path", "content", "where"),
    [
        ("/register", {"player_meta": META}, ()),
        ("/register", FLAT, ()),
        ("/register", META, ()),
        ("/api/players/register", {"player": {"player_name": "Player P01", "url": ENDPOINT}}, ()),
        ("/register", rpc("register_player", {"player_meta": META}), ("result",)),
        ("/MCP", rpc("register_player", {"player_meta": META}), ("result",)),
        ("/", rpc("register_player", {"player_meta": META}), ("result",)),
        ("/mcp", {"type": "REGISTER_PLAYER_REQUEST", "player_meta": META}, ()),
        ("/mcp", rpc("REGISTER_PLAYER_REQUEST", FLAT), ("result",)),
        (
            "/mcp",
            rpc("league.handle", {"envelope": {"message_type": "REGISTER_PLAYER_REQUEST"}, "payload": META}),
            ("result", "envelope"),
        ),
    ],
)
def test_a_registration_whose_meaning_is_clear_is_accepted_in_the_open_profile(
    tmp_path: Path, path: str, content: Json, where: tuple[str, ...]
) -> None:
    async def main() -> None:
        async with serving(tmp_path, "open") as desk:
            status, answer = await desk.post(path, content)
            for name in where:
                answer = answer[name]
            assert status == 200
            assert answer.get("message_type") == "LEAGUE_REGISTER_RESPONSE"
            assert desk.names == ["Player P01"]
            assert desk.manager.ledger.league.players["P01"].meta.contact_endpoint == ENDPOINT
            assert desk.reasons == []

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/register", "/MCP", "/mcp"])
def test_a_registration_without_an_endpoint_is_answered_with_what_is_missing_and_is_seen(
    tmp_path: Path, path: str
) -> None:
    async def main() -> None:
        async with serving(tmp_path, "open") as desk:
            status, answer = await desk.post(path, {"type": "REGISTER", "name": "Lost"})
            assert status == (200 if path == "/mcp" else 400)
            assert "contact_endpoint" in json.dumps(answer["error"])
            [one] = desk.manager.ledger.league.refused.values()
            assert one.display_name == "Lost"
            assert "contact_endpoint" in one.reason

    asyncio.run(main())


@pytest.mark.parametrize("content", [{"player_meta": META}, FLAT, rpc("register_player", {"player_meta": META})])
def test_the_spec_profile_says_where_to_post_and_the_operator_sees_the_attempt(tmp_path: Path, content: Json) -> None:
    async def main() -> None:
        async with serving(tmp_path, "spec") as desk:
            status, answer = await desk.post("/register", content)
            assert status == 404
            assert f"register_player to {desk.manager.endpoint}" in answer["error"]
            [one] = desk.manager.ledger.league.refused.values()
            assert (one.display_name, one.endpoint) == ("Player P01", ENDPOINT)
            assert one.reason == f"It was posted to /register, not to {desk.manager.endpoint}."
            assert desk.names == []

    asyncio.run(main())


@pytest.mark.parametrize("content", [[], 7, "register", {"news": 1}, rpc("no_such_method", {})])
def test_what_is_no_registration_is_refused_at_another_path_too(tmp_path: Path, content: Any) -> None:
    async def main() -> None:
        for profile in ("spec", "open"):
            async with serving(tmp_path, profile) as desk:
                status, answer = await desk.post("/MCP", content)
                assert status in (400, 404)
                assert "error" in answer
                assert (await desk.post("/elsewhere", content))[0] in (404, 405)
                assert desk.reasons == []

    asyncio.run(main())


def test_the_second_player_with_a_default_name_gets_a_number_and_learns_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, "open") as desk:
            _, first = await desk.post("/mcp", rpc("register_player", {"player_meta": META}))
            other = META | {"contact_endpoint": "http://127.0.0.1:8102/mcp"}
            _, second = await desk.post("/mcp", rpc("register_player", {"player_meta": other}))
            assert "display_name" not in first["result"]
            assert second["result"]["display_name"] == "Player P01 2"
            assert desk.names == ["Player P01", "Player P01 2"]

    asyncio.run(main())
