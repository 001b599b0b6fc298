"""Players that answer at half the limit, in very many matches at once: none may be ruled late.

The manager and the referees are real processes; the players are sockets of this one, with answers written in advance.
There are no retries: a single limit that is held to have passed is a loss.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.store.opening import open_reader
from tests.programs import Program
from tests.stress.lines import Line, Seen, post, registration
from tests.stress.siege import look

LEAGUE = "unhurried"
JOIN_SECONDS, CHOICE_SECONDS = 2.0, 4.0
# We are late if we answer or read later than this: half of the time that is left is a second at least.
LATE_SECONDS = 0.5
BEAT_SECONDS = 0.02
SETTINGS = f"""
league_id = "{LEAGUE}"
announce_lead = 0.0
join_seconds = {JOIN_SECONDS}
choice_seconds = {CHOICE_SECONDS}
game_over_seconds = 10.0
max_retries = 0
"""


class Crowd:
    """All players: each has a port, and answers each question when half of its time has passed.

    On a busy machine this process may itself be kept from answering. Such a match is noted: to rule its players late
    is right.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._matches: Counter[str] = Counter()
        self.max_at_once = 0
        self.latest = 0.0
        self.late_in: set[str] = set()
        self._beat_at = self._loop.time()
        self._beat()

    def _beat(self) -> None:
        self._beat_at = self._loop.time()
        self._loop.call_later(BEAT_SECONDS, self._beat)

    def is_asked(self, match_id: str) -> None:
        # What has arrived is read before the next beat: if that is overdue, we have not looked for as long.
        self.is_late(match_id, self._loop.time() - self._beat_at - BEAT_SECONDS)

    def is_late(self, match_id: str, seconds: float) -> None:
        self.latest = max(self.latest, seconds)
        if seconds > LATE_SECONDS:
            self.late_in.add(match_id)

    def joins(self, match_id: str) -> None:
        self._matches[match_id] += 1
        self.max_at_once = max(self.max_at_once, len(self._matches))

    def leaves(self, match_id: str) -> None:
        self._matches.pop(match_id, None)


class Callee(asyncio.Protocol):
    """One connection to one player."""

    def __init__(self, crowd: Crowd, player_id: str) -> None:
        self._crowd = crowd
        self._id = player_id
        self._loop = asyncio.get_running_loop()
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, separator, rest = self._data.partition(b"\r\n\r\n")
        if not separator:
            return
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < size:
            return
        # Callers of ours ask one thing at a time on a connection.
        self._data = b""
        self._asked(rest)

    def _asked(self, body: bytes) -> None:
        # The method stands at the beginning; what a broadcast says after it is long, and nothing to a player of stone.
        method = body.partition(b'"method":"')[2].partition(b'"')[0]
        if method in (b"handle_game_invitation", b"parity_choose"):
            call = json.loads(body)
            is_join = method == b"handle_game_invitation"
            match_id = call["params"]["match_id"]
            self._crowd.is_asked(match_id)
            if is_join:
                self._crowd.joins(match_id)
            seconds = (JOIN_SECONDS if is_join else CHOICE_SECONDS) / 2
            due = self._loop.time() + seconds
            self._loop.call_at(due, self._answer, due, call, is_join)
            return
        if method == b"notify_match_result":
            self._crowd.leaves(body.partition(b'"match_id":"')[2].partition(b'"')[0].decode())
        call_id = body.rpartition(b'"id":')[2].rstrip(b"}")
        self._write(b'{"jsonrpc":"2.0","result":{"status":"ACKNOWLEDGED"},"id":%b}' % call_id)

    def _answer(self, due: float, call: Any, is_join: bool) -> None:
        came = call["params"]
        self._crowd.is_late(came["match_id"], self._loop.time() - due)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        result = {
            "protocol": "league.v2",
            "message_type": "GAME_JOIN_ACK" if is_join else "CHOOSE_PARITY_RESPONSE",
            "sender": f"player:{self._id}",
            "timestamp": now,
            "conversation_id": came["conversation_id"],
            "match_id": came["match_id"],
            "player_id": self._id,
        }
        result |= {"arrival_timestamp": now, "accept": True} if is_join else {"parity_choice": "even"}
        self._write(json.dumps({"jsonrpc": "2.0", "result": result, "id": call["id"]}).encode())

    def _write(self, body: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    players, matches = (40, 60) if short else (400, 20_000)
    referees = players // 20
    crowd = Crowd()
    (folder / "league.toml").write_text(SETTINGS)
    data = ("--port", "0", "--data-dir", str(folder / "SHARED"))
    store = folder / "league.db"
    with ExitStack() as running:
        manager = running.enter_context(
            Program(
                "manager", *data, "--store", str(store), "--config", str(folder / "league.toml"),
                "--start-when", f"players={players},referees={referees}",
            )
        )  # fmt: skip
        port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
        url = f"http://127.0.0.1:{port}/mcp"
        programs = [
            running.enter_context(
                Program("referee", "--name", f"Referee {number}", "--max-concurrent", "10", "--manager", url, *data)
            )
            for number in range(1, referees + 1)
        ]
        for program in programs:
            await asyncio.to_thread(program.said, "is registered", 120)
        line = Line(port, "127.0.0.1", Seen())
        servers = [await _enter(line, number, crowd) for number in range(1, players + 1)]
        began = time.monotonic()
        played = 0
        while played < matches and time.monotonic() - began < 60 + matches / 8 and manager.process.poll() is None:
            played = int((await look(line, "status") or {"matches_played": played})["matches_played"])
            await asyncio.sleep(1)
        took = time.monotonic() - began
        line.close()
        manager.process.terminate()
        await asyncio.to_thread(manager.ended)
        for server in servers:
            server.close()
        tracebacks = sum(program.stderr.count("Traceback") for program in [manager, *programs])
        last_words = manager.stderr[-500:]
    results, lost = await _results(store)
    false = [match_id for match_id in lost if match_id not in crowd.late_in]
    told = {
        "players": players,
        "referees": referees,
        "matches": played,
        "seconds": round(took, 1),
        "max_at_once": crowd.max_at_once,
        "rulings": dict(results),
        "latest_answer_ms": round(crowd.latest * 1e3),
        "matches_in_which_we_were_late": len(crowd.late_in),
        "false_losses": len(false),
        "tracebacks": tracebacks,
    }
    faults = [f"{len(false)} false technical losses: {', '.join(false[:10])}"] if false else []
    faults += [] if played >= matches else [f"only {played} of {matches} matches were played: {last_words}"]
    return told, faults + (["tracebacks"] if tracebacks else [])


async def _enter(line: Line, number: int, crowd: Crowd) -> asyncio.Server:
    """Register a player. They are let in one after the other, so the number is the id."""
    player_id = f"P{number:02d}"
    server = await asyncio.get_running_loop().create_server(lambda: Callee(crowd, player_id), "127.0.0.1", 0)
    endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    while True:
        status, body = await line.ask(post(registration(number, endpoint)))
        if status != 429:
            break
        await asyncio.sleep(0.1)
    assert json.loads(body)["result"]["player_id"] == player_id, body
    return server


async def _results(store: Path) -> tuple[Counter[str], list[str]]:
    """How often each ruling occurs in the league's log, and which matches were lost without play."""
    found: Counter[str] = Counter()
    lost = []
    reader = await open_reader(store)
    try:
        for stored in await reader.read():
            event = msgspec.json.decode(stored.event)
            if event["event"] == "ResultRecorded":
                details = event["result"]["details"]
                ruling = details.get("ruling") or details["status"]
                if details["status"] == "TECHNICAL_LOSS":
                    lost.append(event["match_id"])
            elif event["event"] == "AttemptVoided":
                ruling = "VOID"
            else:
                continue
            found[ruling] += 1
    finally:
        await reader.close()
    return found, lost
