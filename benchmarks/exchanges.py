"""What a league sends: every kind of exchange with real bodies, and how many, recorded from a league in memory.

There no time passes, so this is the least that a league sends: nobody waits long enough for reports of progress, and
standings go out only at the end of a round. What a real league sends beyond that is at its own cost.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agents import TRANSCRIPT

from leaguekit.agents.manager import Manager
from leaguekit.agents.player import Player
from leaguekit.agents.playing import PlayerAgent
from leaguekit.agents.referee import RefereeAgent
from leaguekit.agents.strategies import STRATEGIES
from leaguekit.agents.world import World
from leaguekit.league.schedule import round_robin
from leaguekit.league.settings import Settings
from leaguekit.sim.loop import run
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork, Times

# The network in memory has no other paths than /mcp; this is what the manager's server says there.
TRANSCRIPT_TAKEN = b'{"status":"ACCEPTED","match_id":"R10M10"}'


class Recording:
    """All exchanges of one league, by kind: the method's name, or that it is a transcript."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._seen: dict[str, list[tuple[bytes, bytes]]] = {}

    def tap(self, _: MemoryCaller, url: str, request: bytes, answer: bytes | BaseException, __: Times) -> None:
        if urlsplit(url).path != "/mcp":
            kind, answer = TRANSCRIPT, TRANSCRIPT_TAKEN
        else:
            kind = json.loads(request)["method"]
        if isinstance(answer, BaseException) or b'"error":' in answer:
            raise SystemExit(f"{kind} failed in the recorded league: {answer!r}")
        self.counts[kind] += 1
        self._seen.setdefault(kind, []).append((request, answer))

    def messages(self) -> dict[str, tuple[str, str]]:
        """Of each kind the request and the answer of middling size."""
        middle = {kind: sorted(seen, key=_size)[len(seen) // 2] for kind, seen in self._seen.items()}
        return {kind: (request.decode(), answer.decode()) for kind, (request, answer) in middle.items()}


def _size(exchange: tuple[bytes, bytes]) -> int:
    return len(exchange[0]) + len(exchange[1])


def record(players: int, referees: int) -> tuple[dict[str, Any], Counter[str]]:
    """What the agents of ``agents.py`` play, and how often each kind of exchange occurred."""
    recording = Recording()
    with tempfile.TemporaryDirectory() as root:
        run(_league(recording, Path(root), players, referees))
    pairs = round_robin([str(player) for player in range(players)])
    script = {
        "players": players,
        "referees": referees,
        "rounds": [[(int(a), int(b)) for a, b in one] for one in pairs],
        "messages": recording.messages(),
    }
    return script, recording.counts


async def _league(recording: Recording, root: Path, players: int, referees: int) -> None:
    network = MemoryNetwork()
    network.tap = recording.tap
    loop, chance, begin = asyncio.get_running_loop(), random.Random(1), datetime(2026, 1, 1, tzinfo=UTC)

    def world() -> World:
        return World(
            MemoryCaller(network),
            root,
            now=lambda: begin + timedelta(seconds=loop.time()),
            entropy=chance.randbytes,
            inline=True,
        )

    # As long as the names that `league run` gives.
    settings = Settings(
        league_id="league_20260101_000000_even_odd_0123", game_type="even_odd", announce_lead=0.0, seed_hex="00" * 32
    )
    url = "http://127.0.0.1:40000/mcp"
    manager = Manager(world(), MemoryLog(), settings, url, "adm", grant_ids=True)
    await manager.open()
    network.listen(url, manager.handle)
    manager.conductor.start_when = (players, referees)
    running = asyncio.create_task(manager.run())
    agents: list[RefereeAgent | PlayerAgent] = []
    for number in range(1, referees + 1):
        endpoint = f"http://127.0.0.1:{41_000 + number}/mcp"
        name = f"Referee {number}"
        referee = RefereeAgent(world(), manager_url=url, endpoint=endpoint, name=name, max_concurrent=10)
        network.listen(endpoint, referee.handle)
        agents.append(referee)
    for number in range(1, players + 1):
        endpoint = f"http://127.0.0.1:{42_000 + number}/mcp"
        strategy = [*STRATEGIES][(number - 1) % len(STRATEGIES)]
        player = PlayerAgent(Player(f"{strategy} {number}", STRATEGIES[strategy]), world(), url, endpoint)
        network.listen(endpoint, player.handle)
        agents.append(player)
    for agent in agents:
        await agent.register()
    await running
    for agent in agents:
        await agent.finished.wait()
        await agent.close()
    await manager.close()
