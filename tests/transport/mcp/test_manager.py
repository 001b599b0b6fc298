"""The manager as an MCP server: the official client lists, calls, reads, and hears of what has changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from leaguekit.transport.base import HttpAnswer, Peer
from tests.transport.mcp.served_league import LEAGUE, ServedLeague, registration
from tests.transport.running import Run

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
PLAIN_PING = b'{"jsonrpc":"2.0","method":"ping","params":{},"id":3}'


async def plain(house: ServedLeague, body: bytes, **more: Any) -> HttpAnswer:
    return await house.caller.post(house.url, body, 5.0, **more)


@pytest.mark.proves("003-L0023")
@MODES
def test_the_official_client_lists_and_calls_tools_and_reads_resources(run: Run, tmp_path: Path, mode: Any) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house, Client(house.url, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools)[:4] == ["get_standings", "get_schedule", "get_match", "register_referee"]
            assert tools["get_standings"].annotations.read_only_hint
            assert not tools["register_player"].annotations.read_only_hint
            given = await client.call_tool("get_standings", {})
            assert not given.is_error
            assert given.structured_content == json.loads(given.content[0].text)
            assert given.structured_content["league_id"] == LEAGUE
            jsonschema_rs.validator_for(tools["get_standings"].output_schema).validate(given.structured_content)
            [resource] = (await client.list_resources()).resources
            [template] = (await client.list_resource_templates()).resource_templates
            assert (resource.uri, template.uri_template) == ("league://standings", "league://matches/{match_id}")
            [content] = (await client.read_resource("league://standings")).contents
            assert json.loads(content.text) == given.structured_content
            [prompt] = (await client.list_prompts()).prompts
            told = (await client.get_prompt("play", {"name": "Ada"})).messages[0].content.text
            assert prompt.name == "play"
            assert "'Ada'" in told
            assert "Even/odd: both choose at once" in told

    run(main())


@MODES
def test_what_is_not_there_is_said_with_what_there_is(run: Run, tmp_path: Path, mode: Any) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house, Client(house.url, mode=mode) as client:
            with pytest.raises(MCPError, match="There is no tool 'win' here; there are get_standings, "):
                await client.call_tool("win", {})
            with pytest.raises(MCPError, match="There is no resource 'league://secrets' here"):
                await client.read_resource("league://secrets")
            with pytest.raises(MCPError, match="There is no prompt 'cheat' here; there are play"):
                await client.get_prompt("cheat")
            with pytest.raises(MCPError, match="There is no match 'R9M9' in this league"):
                await client.read_resource("league://matches/R9M9")
            refused = await client.call_tool("get_match", {"match_id": "R9M9"})
            assert refused.is_error
            assert "There is no match 'R9M9'" in refused.content[0].text

    run(main())


def test_tools_want_the_same_tokens_as_messages(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        query = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_QUERY",
            "sender": "player:P01",
            "timestamp": "2025-01-15T10:30:00Z",
            "conversation_id": "conv-1",
            "league_id": LEAGUE,
            "query_type": "GET_STATUS",
        }
        async with ServedLeague(tmp_path) as house, Client(house.url) as client:
            for token in ({}, {"auth_token": "tok-p01-wrong"}):
                by_tool = await client.call_tool("league_query", query | token)
                body = {"jsonrpc": "2.0", "method": "league_query", "params": query | token, "id": 1}
                by_post = json.loads((await plain(house, json.dumps(body).encode())).body)
                assert by_tool.is_error
                told = json.loads(by_tool.content[0].text)
                told["data"]["timestamp"] = by_post["error"]["data"]["timestamp"]
                assert told == by_post["error"]

    run(main())


def test_seat_codes_in_the_url_reach_the_manager_by_mcp_too(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path, require_seat=True) as house:
            async with Client(f"{house.url}?seat=WRONG") as client:
                given = await client.call_tool("register_player", registration(house.url))
            assert given.structured_content["status"] == "REJECTED"
            assert "seat" in given.structured_content["reason"]

    run(main())


def test_whoever_listens_hears_of_what_has_changed_and_of_nothing_else(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house, Client(house.url) as client:
            wanted = ["league://standings", "league://matches/R1M1"]
            async with client.listen(resource_subscriptions=wanted) as heard:
                await house.player("Ada")
                await house.player("Bob")
                first = await anext(heard)
                await house.referee()
                await asyncio.wait_for(asyncio.shield(house.over), 20)
                uris = {first.uri}
                while len(uris) < 2:
                    uris.add((await anext(heard)).uri)
            assert uris == set(wanted)
            match = (await client.call_tool("get_match", {"match_id": "R1M1"})).structured_content
            assert (match["state"], match["player_A"]["display_name"], match["referee_id"]) == ("ENDED", "Ada", "REF01")
            assert set(match["result"]["score"]) == {"P01", "P02"}
            schedule = (await client.call_tool("get_schedule", {"round_id": 1})).structured_content
            assert [one["result"] for one in schedule["matches"]] == [match["result"]]

    run(main())


def test_no_secret_is_told_to_whoever_asks_without_a_token(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house, Client(house.url) as client:
            for name in ("Ada", "Bob"):
                await house.player(name)
            await house.referee()
            await asyncio.wait_for(asyncio.shield(house.over), 20)
            told = ""
            for tool, arguments in (("get_standings", {}), ("get_schedule", {}), ("get_match", {"match_id": "R1M1"})):
                told += (await client.call_tool(tool, arguments)).content[0].text
            secrets = [house.league.settings.seed_hex, "contact_endpoint", "127.0.0.1", "nonce", "tok-", "drv-"]
            for agent in (*house.league.players.values(), *house.league.referees.values()):
                secrets += [agent.registered.key, agent.registered.verifier]
            assert not [secret for secret in secrets if secret in told]

    run(main())


def test_plain_json_rpc_and_mcp_share_one_connection(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:
            assert (await plain(house, PLAIN_PING)).body.startswith(b'{"jsonrpc":"2.0","result":{"status":"ok"')
            accept = (("accept", "application/json, text/event-stream"),)
            listed = await plain(house, b'{"jsonrpc":"2.0","method":"tools/list","id":4}', headers=accept)
            assert (listed.status, listed.content_type) == (200, "text/event-stream")
            assert b'"get_standings"' in listed.body
            by_mcp = await plain(house, PLAIN_PING, headers=(*accept, ("mcp-protocol-version", "2025-11-25")))
            assert b'"result":{}' in by_mcp.body
            assert (await plain(house, PLAIN_PING)).body.startswith(b'{"jsonrpc":"2.0","result":{"status":"ok"')
            # All over one connection, which is kept.
            assert sum(len(host.connections) for host in house.caller._caller._hosts.values()) == 1

    run(main())


@pytest.mark.parametrize("accept", ["application/json", "application/*;q=0.9", "text/html", ""])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_does_not_accept_events_is_answered_in_json(
    run: Run, tmp_path: Path, accept: str, version: str
) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:
            headers = (("accept", accept),) if accept else ()
            meta = {"io.modelcontextprotocol/protocolVersion": version}
            call = {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": meta}, "id": 4}
            listed = await plain(house, json.dumps(call).encode(), headers=headers)
            assert (listed.status, listed.content_type) == (200, "application/json")
            assert "get_standings" in [tool["name"] for tool in json.loads(listed.body)["result"]["tools"]]
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
            call = {"jsonrpc": "2.0", "method": "initialize", "params": hello, "id": 5}
            begun = await plain(house, json.dumps(call).encode(), headers=headers)
            assert json.loads(begun.body)["result"]["serverInfo"]["name"] == "leaguekit-manager"

    run(main())


@pytest.mark.parametrize(("headers", "status"), [
    ((("host", "evil.example"),), 421),
    ((("origin", "http://evil.example"),), 403),
])  # fmt: skip
def test_mcp_is_refused_to_other_sites_and_names_like_everything_else(
    run: Run, tmp_path: Path, headers: Any, status: int
) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:
            reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
            body = b'{"jsonrpc":"2.0","method":"tools/list","id":4}'
            lines = {"host": "127.0.0.1", "accept": "application/json, text/event-stream"} | dict(headers)
            head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            writer.write(f"POST /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            assert int((await reader.readline()).split()[1]) == status
            writer.close()
            await writer.wait_closed()

    run(main())


def test_a_stranger_may_ask_by_mcp_only_so_often(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with ServedLeague(tmp_path) as house:
            visits = house.server._mcp._admit
            # Its clock does not move: a busy machine would otherwise let the stranger in again before it asks.
            visits.__self__._mcp_addresses._clock = lambda: 0.0
            while not visits(Peer("127.0.0.1", "", ("127.0.0.1", house.port)), b""):
                pass
            headers = (("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25"))
            refused = await plain(house, PLAIN_PING, headers=headers)
            assert refused.status == 429
            assert json.loads(refused.body)["error"]["data"] == {"error_code": "E059"}
            # Agents are counted apart.
            assert (await plain(house, PLAIN_PING)).status == 200

    run(main())
