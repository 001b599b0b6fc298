"""What a long league leaves behind in its manager: memory a result, open files, tasks.

A real manager with its log in SQLite on disk and its files beside it plays a whole league. Its agents are one object in
the same process, which answers every call at once and reports every match with as much evidence as our referees give;
so it is the manager that is measured, and not a machine with 450 programs on it.

Run with ``python benchmarks/memory.py [PLAYERS]``; 448 players have 100,128 matches. The last line is one JSON object:
``a_result`` are the bytes by which the process grew from the first tenth of the league to its end, a result in between;
``whole`` from before the schedule was made, a match.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
from league import data_folder

from leaguekit.agents.manager import Manager
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.league.settings import Settings
from leaguekit.store.sqlite import SqliteLog
from leaguekit.transport.base import HttpAnswer, Peer

PLAYERS, REFEREES, AT_ONCE = 448, 4, 10
LEAGUE, GAME, MANAGER_URL = "long", "even_odd", "http://127.0.0.1:8000/mcp"
GOAL = 1_024
ENVELOPE = {"protocol": "league.v2", "timestamp": "2025-01-15T10:30:00Z", "conversation_id": "conv-1"}
# What our referees tell of a player that answers.
STEPS = [
    {"at": 0.003, "what": "joined", "ask": 1, "asked_at": 0.0},
    {"at": 0.005, "what": "moved", "ask": 3, "asked_at": 0.004},
]
SEEN = {"phase": "MOVED", "answered": True, "failures": 0, "refused_posts": 0, "last_wrong": None, "events": STEPS}


class Sample(NamedTuple):
    """What the process takes at one moment."""

    results: int
    bytes: int
    files: int
    tasks: int


class Crowd:
    """All agents of a league, and the manager's way to them. ``failed`` is done if a report was refused."""

    def __init__(self) -> None:
        self.manager: Manager | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._referees: dict[str, dict[str, str]] = {}
        self._reporting: set[asyncio.Task[None]] = set()

    async def post(self, url: str, body: bytes, _seconds: float, _most_bytes: int = 0) -> HttpAnswer:
        await asyncio.sleep(0)
        if b'"start_match"' not in body[:100]:
            return HttpAnswer(200, b"{}")
        call = msgspec.json.decode(body)
        referee, match = self._referees[url], call["params"]
        reporting = asyncio.create_task(self._report(match, referee))
        self._reporting.add(reporting)
        reporting.add_done_callback(self._reported)
        taken = {name: match[name] for name in ("match_id", "attempt")}
        ack = (
            ENVELOPE
            | taken
            | {"message_type": "MATCH_ASSIGNMENT_ACK", "sender": referee["sender"], "status": "ACCEPTED"}
        )
        return HttpAnswer(200, msgspec.json.encode({"jsonrpc": "2.0", "id": call["id"], "result": ack}))

    async def close(self) -> None:
        """There are no connections to close."""

    async def register(self, role: str, number: int, **more: Any) -> None:
        url = f"http://127.0.0.1:{number + (8_000 if role == 'referee' else 10_000)}/mcp"
        meta = {"display_name": f"{role} {number}", "version": "1.0.0", "game_types": [GAME], "contact_endpoint": url}
        kind = "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST"
        fields = {"message_type": kind, "sender": f"{role}:new-{number}", f"{role}_meta": meta | more}
        told = await self._tell(f"register_{role}", fields)
        if role == "referee":
            self._referees[url] = {"sender": f"referee:{told['referee_id']}", "auth_token": told["auth_token"]}

    async def _report(self, match: dict[str, Any], referee: dict[str, str]) -> None:
        players = a, b = [match[side]["player_id"] for side in ("player_A", "player_B")]
        number = game(GAME).draw(bytes.fromhex(match["match_seed"])) or 0
        winner, parity = (a, "even") if number % 2 == 0 else (b, "odd")
        details = {
            "choices": {a: "even", b: "odd"},
            "drawn_number": number,
            "status": "WIN",
            "ruling": "WIN",
            "evidence": {"stage": "COLLECTING_CHOICES", "players": dict.fromkeys(players, SEEN)},
            "failures": dict.fromkeys(players, 0),
            "position": {"number": number, "parity": parity, "choices": {"A": "even", "B": "odd"}},
        }
        result = {"winner": winner, "score": {player: 3 * (player == winner) for player in players}, "details": details}
        about = {name: match[name] for name in ("league_id", "round_id", "match_id", "game_type", "attempt")}
        fields = {"message_type": "MATCH_RESULT_REPORT", "result": result} | referee | about
        await self._tell("report_match_result", fields)

    def _reported(self, reporting: asyncio.Task[None]) -> None:
        self._reporting.discard(reporting)
        if not reporting.cancelled() and (error := reporting.exception()) is not None and not self.failed.done():
            self.failed.set_exception(error)

    async def _tell(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        assert self.manager is not None
        call = {"jsonrpc": "2.0", "method": method, "params": ENVELOPE | fields, "id": 1}
        here = Peer("127.0.0.1", "", ("127.0.0.1", 8000))
        answer = json.loads(await self.manager.handle(msgspec.json.encode(call), here) or b"{}")
        if answer.get("result", {}).get("status") != "ACCEPTED":
            raise RuntimeError(f"{method} was refused: {answer}")
        return dict(answer["result"])


def results(manager: Manager) -> int:
    league = manager.ledger.league
    return len(league.matches) - league.outstanding


def sample(manager: Manager) -> Sample:
    gc.collect()
    process = psutil.Process()
    return Sample(results(manager), process.memory_info().rss, process.num_fds(), len(asyncio.all_tasks()))


async def play(players: int, folder: Path) -> list[Sample]:
    """Play a league; what the process takes before it starts, at every tenth of it, and after its end."""
    crowd = Crowd()
    settings = Settings(league_id=LEAGUE, game_type=GAME, announce_lead=0.0, seed_hex="5e" * 32)
    log = await SqliteLog.open(folder / "league.db")
    manager = crowd.manager = Manager(World(crowd, folder), log, settings, MANAGER_URL, "admin")
    await manager.open()
    running = asyncio.create_task(manager.run())
    for number in range(1, REFEREES + 1):
        await crowd.register("referee", number, max_concurrent_matches=AT_ONCE)
    for number in range(1, players + 1):
        await crowd.register("player", number)
    samples = [sample(manager)]
    manager.conductor.start_when = (players, REFEREES)
    manager.conductor.look_again()
    began = time.perf_counter()
    for tenth in range(1, 11):
        while results(manager) < players * (players - 1) // 2 * tenth // 10:
            done, _ = await asyncio.wait([running, crowd.failed], timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        samples.append(sample(manager))
        rate = samples[-1].results / (time.perf_counter() - began)
        print(f"{samples[-1].results:9,} results, {samples[-1].bytes / 1e6:6.0f} MB, {rate:,.0f} a second", flush=True)
    await running
    samples.append(sample(manager))
    await manager.close()
    return samples


def main() -> None:
    players = int(sys.argv[1]) if len(sys.argv) > 1 else PLAYERS
    with data_folder() as folder:
        samples = asyncio.run(play(players, folder))
    before, first, *_, end = samples
    whole = (end.bytes - before.bytes) / end.results
    a_result = (end.bytes - first.bytes) / (end.results - first.results)
    print(
        f"\n{end.results:,} matches: {a_result:,.0f} bytes a result (goal ≤ {GOAL:,}), with the schedule {whole:,.0f}"
    )
    print(f"open files {before.files} → {end.files}, tasks {before.tasks} → {end.tasks}")
    told = {
        "matches": end.results,
        "a_result": round(a_result),
        "whole": round(whole),
        "mb": [round(one.bytes / 1e6, 1) for one in samples],
        "files": [one.files for one in samples],
        "tasks": [one.tasks for one in samples],
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    print(f"\n{json.dumps(told)}")


if __name__ == "__main__":
    main()
