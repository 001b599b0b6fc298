"""One league for everybody: a plain MCP server, an MCP client and a person in a seat each, a player behind a router, a
language model, and two ordinary players; every agent of ours a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from examples.plain_mcp.player import server as plain_player
from tests.gateway.served_gateway import page_at, play_by_mcp, play_in_page
from tests.llm_stand_in import StandIn, forget_settings
from tests.programs import Program, league
from tests.transport.mcp.served_league import mcp_server

SECONDS = 90.0


@pytest.mark.parametrize("game", ["tic_tac_toe", pytest.param("even_odd", marks=pytest.mark.longest)])
@pytest.mark.long
def test_everybody_finishes_one_league_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, game: str) -> None:
    """Some fifteen seconds each."""
    forget_settings(monkeypatch)
    with StandIn() as stand_in, ExitStack() as programs:
        asyncio.run(asyncio.wait_for(_played(tmp_path, game, stand_in.url, programs), SECONDS))


async def _played(root: Path, game: str, model_url: str, programs: ExitStack) -> None:
    async def started(pattern: str, *arguments: Any) -> re.Match[str]:
        program = programs.enter_context(Program(*arguments))
        return await asyncio.to_thread(program.said, pattern)

    files = ("--data-dir", root / "files")
    shared = ("--port", "0", *files)
    waiting = ("--announce-lead", "0", "--start-when", "players=7,referees=2")
    url = (await started(r"is at (\S+/mcp)", "manager", *shared, "--profile", "open", "--game", game, *waiting))[1]
    at = (*shared, "--manager", url)
    for name in ("One", "Two"):
        await started("is registered", "referee", *at, "--name", name, "--max-concurrent", "10")
    gateway = (await started(r"is at (\S+)/mcp", "gateway", *at))[1]
    for strategy in ("random", "frequency"):
        await started("is registered", "player", *at, "--strategy", strategy)
    await started("is registered", "player", *files, "--manager", url, "--name", "Far", "--relay", gateway)
    model = ("--strategy", "llm", "--model", "right", "--base-url", model_url)
    await started("is registered", "player", *at, "--name", "Machine", *model)
    async with (
        mcp_server(plain_player) as plain_url,
        Client(f"{gateway}/mcp") as client,
        page_at(f"{gateway}/") as page,
    ):
        arguments = ("--endpoint", plain_url, "--name", "Plain", "--manager", url, *files)
        added = await asyncio.to_thread(league, "add-player", *arguments)
        assert added.process.returncode == 0, added.stderr
        end, _ = await asyncio.gather(play_by_mcp(client, "Chat"), play_in_page(page, "Person"))
        told = {
            what: json.loads((await asyncio.to_thread(league, what, "--manager", url, "--json")).stdout)[what]
            for what in ("standings", "schedule")
        }
    table = told["standings"]
    names = {"random", "frequency", "Far", "Machine", "Plain", "Chat", "Person"}
    assert {row["display_name"] for row in table} == names
    assert [row["played"] for row in table] == [6] * 7
    assert {match["result"]["details"]["status"] for match in told["schedule"]} <= {"WIN", "DRAW"}
    assert not end["automatic"]


@pytest.mark.long
def test_the_host_starts_a_gateway_too(tmp_path: Path) -> None:
    """Some three seconds."""
    files = ("--data-dir", tmp_path)
    when = ("--announce-lead", "0", "--start-when", "players=2,referees=1")
    with Program("host", "--gateway", "--port", "0", *files, *when) as host:
        manager = host.said(r"is at (\S+/mcp)\n  dashboard")[1]
        gateway = host.said(r"gateway to \S+ is at (\S+)/mcp")[1]

        async def play() -> dict[str, Any]:
            async with Client(f"{gateway}/mcp") as client:
                return await play_by_mcp(client, "Chat")

        with Program("player", *files, "--manager", manager, "--relay", gateway) as player:
            assert asyncio.run(asyncio.wait_for(play(), SECONDS))["rank"] in (1, 2)
            assert player.ended() == 0
        host.process.send_signal(signal.SIGINT)
        assert host.ended() == 130
        assert "--gateway" in host.stderr.partition("Serve its page again")[2]
