"""Servers for the tests of MCP: a manager behind its real server, and players that are plain MCP servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import uvicorn
from mcp.server import MCPServer

from leaguekit.agents.server import agent_server
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.operator import METHOD
from leaguekit.manager.server import manager_server
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import Strategy
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.refusals import player_refusal
from leaguekit.referee.referee import RefereeAgent
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.mcp.calling import McpCaller
from leaguekit.transport.server.server import listen

Json = dict[str, Any]
LEAGUE = "league_mcp"


def registration(endpoint: str, name: str = "Ada") -> Json:
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:new",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": f"conv-{name}",
        "player_meta": {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": endpoint,
        },
    }


class ServedLeague:
    """A league over real sockets: a manager behind its server, and agents that a test adds."""

    def __init__(self, root: Path, *, players: int = 2, referees: int = 1, web: Any = None, **settings: Any) -> None:
        self.root = root
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.caller = McpCaller(HttpCaller(AddressPolicy.local()))
        self._all_there = (players, referees)
        self._web = web
        made = Settings(league_id=LEAGUE, announce_lead=0.0, seed_hex="5e" * 32, **settings)
        self.manager = Manager(World(self.caller, root), MemoryLog(), made, self.url, "adm")
        self._stack = AsyncExitStack()

    @property
    def league(self) -> Any:
        return self.manager.ledger.league

    async def __aenter__(self) -> Self:
        await self.manager.open()
        self.manager.runner.start_when = self._all_there
        self.server = manager_server(self.manager, self._socket, web=self._web)
        await self.server.start()
        self.over = asyncio.create_task(self.manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.over.cancel()
        await asyncio.gather(self.over, return_exceptions=True)
        await self._stack.aclose()
        await self.server.stop(1.0)
        await self.manager.close()
        await self.caller.close()

    async def _serve(self, make: Callable[[World, str], Any], role: Any) -> None:
        sock = listen("127.0.0.1", 0)
        caller = McpCaller(HttpCaller(AddressPolicy.local()))
        agent = make(World(caller, self.root), f"http://127.0.0.1:{sock.getsockname()[1]}/mcp")
        server = agent_server(agent.answer, [sock], player_refusal, role=role)
        await server.start()
        for end in (caller.close, agent.close, server.stop):
            self._stack.push_async_callback(end)
        await agent.register()

    async def referee(self) -> None:
        await self._serve(
            lambda world, url: RefereeAgent(world, manager_url=self.url, endpoint=url, name="Ref"), "referee"
        )

    async def operate(self, command: str, **more: Any) -> None:
        operation = {"admin_token": "adm", "command": command, **more}
        body = {"jsonrpc": "2.0", "method": METHOD, "params": operation, "id": 1}
        answer = await self.caller.post(self.url, json.dumps(body).encode(), 5.0)
        assert "result" in json.loads(answer.body), answer.body

    async def player(self, name: str, strategy: Strategy = STRATEGIES["random"]) -> None:
        player = Player(name, strategy)
        await self._serve(lambda world, url: PlayerAgent(player, world, self.url, url, seed=1), "player")


@asynccontextmanager
async def mcp_server(server: MCPServer, **how: Any) -> AsyncIterator[str]:
    """Run an MCP server that knows nothing of leagues, as its author would. Yields its URL."""
    with contextlib.closing(listen("127.0.0.1", 0)) as sock:
        config = uvicorn.Config(server.streamable_http_app(**how), log_config=None, ws="none")
        running = uvicorn.Server(config)
        serving = asyncio.create_task(running.serve(sockets=[sock]))
        while not running.started:  # noqa: ASYNC110 - it has no event for that
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        finally:
            running.should_exit = True
            await serving
