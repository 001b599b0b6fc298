"""The kit over HTTP: our own player in every game, and a server that can serve one caller only."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from leaguekit.agents.serving import endpoint_of, serve
from leaguekit.agents.world import World
from leaguekit.games import GAMES, game
from leaguekit.kit.checks import CheckSettings, run_checks
from leaguekit.kit.http_network import HttpNetwork
from leaguekit.kit.player import CHECKS, check_player
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.kit.report import Report
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.refusals import player_refusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen


@pytest.mark.parametrize("name", GAMES)
def test_our_own_player_passes_over_http(name: str, tmp_path: Path) -> None:
    async def main() -> Report:
        network = HttpNetwork()
        came: asyncio.Queue[str] = asyncio.Queue()
        checking = asyncio.ensure_future(
            check_player(
                World(network.caller),
                network,
                game(name),
                settings=CheckSettings(on_progress=came.put_nowait, timeout_seconds=20.0),
            )
        )
        manager = next(word for word in (await came.get()).split() if word.startswith("http"))
        sock = listen("127.0.0.1", 0)
        world = World(HttpCaller(AddressPolicy.only(manager)), tmp_path)
        agent = PlayerAgent(Player("Ours", STRATEGIES["random"]), world, manager, endpoint_of(sock))
        try:
            assert await serve(agent, sock, player_refusal)
            return await checking
        finally:
            await world.caller.close()
            await network.close()

    report = asyncio.run(main())
    assert [one.check.id for one in report.outcomes if one.state == "failed"] == []
    assert {one.check.id for one in report.outcomes if one.state == "not run" and not one.check.full} == {
        "own.valid",
        "own.token",
    }


class _OneAtATime(http.server.BaseHTTPRequestHandler):
    """A server that serves one connection until it is closed, and no other meanwhile."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"jsonrpc": "2.0", "result": {}, "id": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def _serving() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), _OneAtATime) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_that_talks_to_one_caller_only_is_noticed() -> None:
    async def main(url: str) -> Report:
        network = HttpNetwork()
        try:
            harness = PlayerHarness(World(network.caller), network, game("even_odd"), url=url)
            wanted = ("register.comes", "register.endpoint", "reach.ping", "time.second_caller")
            return Report("player", url, await run_checks([one for one in CHECKS if one.id in wanted], harness))
        finally:
            await network.close()

    with _serving() as url:
        report = asyncio.run(main(url))
    assert {one.check.id: one.state for one in report.outcomes} == {
        "register.comes": "not run",
        "register.endpoint": "not run",
        "reach.ping": "passed",
        "time.second_caller": "failed",
    }
