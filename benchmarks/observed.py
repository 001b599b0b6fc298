"""A real league watched from inside, by one player of it: how long its queries take, how soon standings reach it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec import UNSET

from leaguekit.agents.calls import ask
from leaguekit.agents.identity import Identity
from leaguekit.agents.server import agent_server
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol.fields import QUERY_TYPES
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen

LEAGUE = "observed"
LIMIT_SECONDS = 60
QUERY_PAUSE = 0.02


class Watcher(PlayerAgent):
    """A player like any other, that notes when standings come and how many results are in them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.standings_at: list[tuple[int, float]] = []

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        call = json.loads(request.body)
        if call["method"] == "update_standings":
            results = sum(row["played"] for row in call["params"]["standings"]) // 2
            self.standings_at.append((results, time.time()))
        return await super().answer(request, peer)


async def observe(players: int, referees: int, folder: Path) -> tuple[list[float], list[float]]:
    """Of one league, in seconds: every query's time, and of every result the time from its ruling to the player."""
    async with asyncio.timeout(LIMIT_SECONDS), _league(players - 1, referees, folder) as (url, others):
        caller = HttpCaller(AddressPolicy.local())
        sock = listen("127.0.0.1", 0)
        endpoint = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        watcher = Watcher(Player("watcher", STRATEGIES["random"]), World(caller, folder), url, endpoint)
        server = agent_server(watcher.answer, [sock], player_refusal)
        await server.start()
        try:
            queries = await _ask_on(watcher, await watcher.register(), url)
            await asyncio.gather(*(one.wait() for one in others))
        finally:
            await server.stop()
            await watcher.close()
            await caller.close()
    return queries, _delays(rulings(folder), watcher.standings_at)


@contextlib.asynccontextmanager
async def _league(players: int, referees: int, folder: Path) -> AsyncIterator[tuple[str, list[Process]]]:
    """A manager that waits for one player more, and its agents; ended in any case."""
    started: list[Process] = []

    async def start(*arguments: str) -> Process:
        command = [sys.executable, "-m", "leaguekit", *arguments, "--port", "0", "--data-dir", str(folder)]
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
        started.append(process)
        return process

    try:
        when = f"players={players + 1},referees={referees}"
        manager = await start("manager", "--league-id", LEAGUE, "--announce-lead", "0", "--start-when", when)
        url = await _told(manager)
        for number in range(1, referees + 1):
            await start("referee", "--manager", url, "--name", f"Referee {number}", "--max-concurrent", "10")
        for number in range(1, players + 1):
            await start("player", "--manager", url, "--name", f"Player {number}")
        yield url, started[1:]
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.communicate() for process in started))


async def _told(manager: Process) -> str:
    """Where the manager says that it listens."""
    line = b"" if manager.stderr is None else await manager.stderr.readline()
    if b" is at " not in line:
        raise RuntimeError(f"the manager said {line.decode()!r}, not where it is")
    return line.decode().rpartition(" ")[2].strip()


async def _ask_on(watcher: Watcher, me: Identity, url: str) -> list[float]:
    """Ask in turn whatever can be asked, until the league is over."""
    took = []
    sender = sender_of("player", me.agent_id)
    for query_type in cycle(QUERY_TYPES):
        if watcher.finished.is_set():
            break
        query = m.LeagueQuery(
            **m.envelope(sender, watcher.world.now(), "conv-query"),
            auth_token=me.auth_token or UNSET,
            league_id=LEAGUE,
            query_type=query_type,
            query_params=m.QueryParams(player_id=me.agent_id),
        )
        began = time.perf_counter()
        await ask(watcher.world.caller, url, query, m.LeagueQueryResponse)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(QUERY_PAUSE)
    return took


def _delays(ruled: list[float], standings_at: list[tuple[int, float]]) -> list[float]:
    """From the k-th ruling to the first standings with at least k results."""
    return [
        min(at for results, at in standings_at if results >= number) - ruling for number, ruling in enumerate(ruled, 1)
    ]


def rulings(folder: Path) -> list[float]:
    """When each match was ruled on, by its referee's files."""
    after = {
        path.stem: next(entry["seconds"] for entry in match["transcript"] if entry["what"] == "ruled")
        for path, match in matches(folder)
    }
    return sorted(at + after[match_id] for match_id, at in beginnings(folder).items())


def beginnings(folder: Path) -> dict[str, float]:
    """When each match began, by the referees' logs."""
    found = {}
    for path in folder.rglob("log.jsonl"):
        for line in path.read_text().splitlines():
            noted = json.loads(line)
            if noted["message"].endswith(" begins"):
                found[noted["message"].removesuffix(" begins")] = datetime.fromisoformat(noted["timestamp"]).timestamp()
    return found


def matches(folder: Path) -> Iterator[tuple[Path, Any]]:
    """The file of each match."""
    for path in (folder / "data" / "matches").glob("*/*.json"):
        yield path, json.loads(path.read_text())


def round_trips(folder: Path) -> list[float]:
    """Seconds from each invitation to its answer, as the referees saw it."""
    found = []
    for _, match in matches(folder):
        sent: dict[str, float] = {}
        for entry in match["transcript"]:
            kind = entry.get("message_type")
            if kind == "GAME_INVITATION":
                sent[entry["player_id"]] = entry["seconds"]
            elif kind == "GAME_JOIN_ACK":
                found.append(entry["seconds"] - sent[entry["player_id"]])
    return found
