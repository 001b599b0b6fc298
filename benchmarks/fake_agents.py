"""All agents of a league as one object in its manager's process, so that the manager alone is measured.

It answers every call at once, and reports every match with as much evidence as our referees give.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.agents.world import World
from leaguekit.kit.documented_game import draw_number
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.protocol import tokens
from leaguekit.store.sqlite import SqliteLog
from leaguekit.transport.base import Caller, HttpAnswer, Peer

AT_ONCE = 10
LEAGUE, GAME, MANAGER_URL = "long", "even_odd", "http://127.0.0.1:8000/mcp"
ENVELOPE = {"protocol": "league.v2", "timestamp": "2025-01-15T10:30:00Z", "conversation_id": "conv-1"}
# What our referees report of a player that answers.
STEPS = [
    {"at": 0.003, "what": "joined", "ask": 1, "asked_at": 0.0},
    {"at": 0.005, "what": "moved", "ask": 3, "asked_at": 0.004},
]
SEEN = {"phase": "MOVED", "answered": True, "failures": 0, "refused_posts": 0, "last_wrong": None, "events": STEPS}


async def opened(fakes: FakeAgents, folder: Path) -> Manager:
    """A manager with its log on disk, whose agents are these."""
    settings = Settings(league_id=LEAGUE, game_type=GAME, announce_lead=0.0, seed_hex="5e" * 32)
    log = await SqliteLog.open(folder / "league.db")
    manager = fakes.manager = Manager(World(fakes, folder), log, settings, MANAGER_URL, "admin")
    await manager.open()
    return manager


def results(manager: Manager) -> int:
    """How many matches are over."""
    league = manager.ledger.league
    return len(league.matches) - league.outstanding


class FakeAgents:
    """All agents of a league, and how the manager calls them. ``failed`` is done if a report was refused.

    ``holds`` keeps reports in ``held`` instead of making them. ``players_at`` are the URLs of players that are really
    called, by ``caller``.
    """

    def __init__(self, caller: Caller | None = None, players_at: list[str] | None = None) -> None:
        self.manager: Manager | None = None
        self.holds = False
        self.held: list[bytes] = []
        # Each player's id and token.
        self.players: dict[str, str] = {}
        # How many calls to players were answered.
        self.answered = 0
        self._caller = caller
        self._players_at = players_at or []
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._referees: dict[str, dict[str, str]] = {}
        self._reporting: set[asyncio.Task[Any]] = set()

    async def post(self, url: str, body: bytes, seconds: float, _max_bytes: int = 0) -> HttpAnswer:
        if self._caller is not None and url in self._players_at:
            answer = await self._caller.post(url, body, seconds)
            self.answered += 1
            return answer
        await asyncio.sleep(0)
        if b'"start_match"' not in body[:100]:
            return HttpAnswer(200, b"{}")
        call = msgspec.json.decode(body)
        referee, match = self._referees[url], call["params"]
        report = self._report(match, referee)
        if self.holds:
            self.held.append(_call("report_match_result", report))
        else:
            reporting = asyncio.create_task(self._send("report_match_result", report))
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
        if role == "player" and self._players_at:
            url = self._players_at[number - 1]
        meta = {"display_name": f"{role} {number}", "version": "1.0.0", "game_types": [GAME], "contact_endpoint": url}
        kind = "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST"
        fields = {"message_type": kind, "sender": f"{role}:new-{number}", f"{role}_meta": meta | more}
        answer = await self._send(f"register_{role}", fields)
        if role == "referee":
            self._referees[url] = {"sender": f"referee:{answer['referee_id']}", "auth_token": answer["auth_token"]}
        else:
            self.players[answer["player_id"]] = answer["auth_token"]

    async def register_all(self, players: int, referees: int) -> None:
        for number in range(1, referees + 1):
            await self.register("referee", number, max_concurrent_matches=AT_ONCE, token_scheme=tokens.SCHEME)
        for number in range(1, players + 1):
            await self.register("player", number)

    def _report(self, match: dict[str, Any], referee: dict[str, str]) -> dict[str, Any]:
        players = a, b = [match[side]["player_id"] for side in ("player_A", "player_B")]
        number = draw_number(match["match_seed"])
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
        return {"message_type": "MATCH_RESULT_REPORT", "result": result} | referee | about

    def _reported(self, reporting: asyncio.Task[Any]) -> None:
        self._reporting.discard(reporting)
        if not reporting.cancelled() and (error := reporting.exception()) is not None and not self.failed.done():
            self.failed.set_exception(error)

    async def _send(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        return await self.send_body(_call(method, fields))

    async def send_body(self, body: bytes) -> dict[str, Any]:
        """Send something to the manager. Its answer must be that it accepts this."""
        assert self.manager is not None
        here = Peer("127.0.0.1", "", ("127.0.0.1", 8000))
        answer = json.loads(await self.manager.handle(body, here) or b"{}")
        if answer.get("result", {}).get("status") != "ACCEPTED":
            raise RuntimeError(f"the manager answered {answer} to {body.decode()}")
        return dict(answer["result"])


async def until(is_true: Callable[[], bool], fakes: FakeAgents, running: asyncio.Future[None]) -> None:
    """Wait until something is true, and raise what goes wrong in the meantime."""
    while not is_true():
        done, _ = await asyncio.wait([running, fakes.failed], timeout=0.01, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()


def _call(method: str, fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": ENVELOPE | fields, "id": 1})
