"""A process without MCP requests does not load the SDK, and one without the SDK says so."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, json, sys
import psutil
from leaguekit.agents.server import agent_server
from leaguekit.agents.serving import new_loop
from leaguekit.protocol.refusals import player_refusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.mcp.calling import McpCaller
from leaguekit.transport.server.server import listen

ACCEPT = (("accept", "application/json, text/event-stream"),)
SDK = ("mcp", "mcp_types", "pydantic", "httpx2", "sse_starlette")

async def pong(request, peer):
    return b'{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}'

async def main():
    sock = listen("127.0.0.1", 0)
    server = agent_server(pong, [sock], player_refusal, role=ROLE)
    await server.start()
    caller = McpCaller(HttpCaller(AddressPolicy.local()))
    url = f"http://127.0.0.1:{server.port}/mcp"
    found = []
    before = psutil.Process().memory_info().rss
    for body in BODIES:
        came = await caller.post(url, json.dumps(body).encode(), 20.0, headers=ACCEPT if body.get("mark") else ())
        loaded = [name for name in SDK if sys.modules.get(name) is not None]
        found.append([came.status, came.body.decode(), loaded, psutil.Process().memory_info().rss - before])
    await caller.close()
    await server.stop()
    print(json.dumps(found))

with asyncio.Runner(loop_factory=new_loop) as runner:
    runner.run(main())
"""
PING = {"jsonrpc": "2.0", "method": "ping", "id": 1}
CALL = {"jsonrpc": "2.0", "method": "parity_choose", "params": {"x": "http://a/b"}, "id": 1}
LIST = {"jsonrpc": "2.0", "method": "tools/list", "id": 7, "mark": True}


def found(*bodies: Any, role: str = "player", first: str = "") -> list[Any]:
    program = f"{first}\nROLE = {role!r}\nBODIES = {list(bodies)!r}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_a_player_that_is_spoken_to_plainly_neither_loads_mcp_nor_grows() -> None:
    for status, body, loaded, growth in found(*[PING, CALL] * 200):
        assert (status, json.loads(body)["result"], loaded) == (200, {"status": "ok"}, [])
        assert growth < 2_000_000


@pytest.mark.proves("003-L0034a")
def test_the_first_mcp_request_loads_it_and_a_referee_offers_its_own_tools() -> None:
    before, after = found(PING, LIST, role="referee")
    assert before[2] == []
    assert after[0] == 200
    assert '"start_match"' in after[1]
    assert '"parity_choose"' not in after[1]
    assert "mcp" in after[2]


def test_without_the_extra_an_mcp_request_gets_an_error_that_says_what_to_install() -> None:
    # As if it were not installed.
    answers = found(LIST, PING, LIST, first="import sys; sys.modules['mcp'] = None")
    for status, body, _, _ in (answers[0], answers[2]):
        error = json.loads(body)
        assert (status, error["id"], error["error"]["code"]) == (404, 7, -32601)
        assert "pip install 'leaguekit[mcp]'" in error["error"]["message"]
    assert answers[1][0] == 200
