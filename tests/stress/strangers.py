"""A player at a gateway is flooded by strangers while its manager and its referee call it, from the same address.

The strangers know where the player is called and no token. The full form is a league of real processes: the flood of a
relayed player begins before the start, and must not cost it a match.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from leaguekit.player.relay import endpoint_id
from tests.programs import Program
from tests.stress.lines import Line, Seen, post
from tests.stress.siege import look

HERE = "127.0.0.1"
CONNECTIONS = 100
LEAGUE = "flooded"
PLAYERS = 3
PINGS = 50
LARGE = 900_000
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'
SETTINGS = f"""
league_id = "{LEAGUE}"
announce_lead = 0.0
join_seconds = 5.0
choice_seconds = 5.0
"""

_numbers = count(1)


def call(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": next(_numbers)}).encode()


def invitation(player_id: str, token: str, match_id: str) -> bytes:
    """What a referee sends first."""
    message = {
        "protocol": "league.v2",
        "message_type": "GAME_INVITATION",
        "sender": "referee:REF01",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": f"conv-{match_id}",
        "auth_token": token,
        "league_id": LEAGUE,
        "round_id": 1,
        "match_id": match_id,
        "game_type": "even_odd",
        "role_in_match": "PLAYER_A",
        "opponent_id": "P02",
        "player_id": player_id,
    }
    return call("handle_game_invitation", message)


# What strangers send; each makes the next body.


def pings() -> bytes:
    return PING


def questions() -> bytes:
    """What anybody may ask a player."""
    return call("get_player_state", {})


def wrong_tokens() -> bytes:
    """Another token each time."""
    number = next(_numbers)
    return invitation("P01", f"drv-{number:043}", f"R{number}M1")


def large_bodies() -> bytes:
    return call("ping", {"x": "a" * LARGE})


def mixed() -> bytes:
    return (pings, questions, wrong_tokens)[next(_numbers) % 3]()


Strangers = Callable[[], bytes]
STRANGERS: list[Strangers] = [pings, questions, wrong_tokens, large_bodies, mixed]


@asynccontextmanager
async def flooding(port: int, path: str, strangers: Strangers, connections: int = CONNECTIONS) -> AsyncIterator[Seen]:
    """Connections that send one body after the other, for as long as this lasts; what they saw."""
    seen = Seen()

    async def send() -> None:
        line = Line(port, HERE, seen)
        try:
            while True:
                await line.ask(post(strangers(), path))
        finally:
            line.close()

    number = 6 if strangers is large_bodies else connections
    tasks = [asyncio.create_task(send()) for _ in range(number)]
    try:
        while seen.statuses.total() < 2 * number:  # noqa: ASYNC110 - there is no event for that
            await asyncio.sleep(0.01)
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    told: dict[str, Any] = {}
    faults: list[str] = []
    for strangers in [mixed] if short else STRANGERS:
        name = strangers.__name__.replace("_", " ")
        (folder / strangers.__name__).mkdir()
        told[name], found = await _league(folder / strangers.__name__, strangers)
        faults += [f"{name}: {fault}" for fault in found]
    return told, faults


async def _pings(port: int, path: str) -> Seen:
    """Ping a player as its manager does; 429 is an answer, too."""
    seen = Seen()
    for _ in range(PINGS):
        line = Line(port, HERE, seen)
        await line.ask(post(PING, path))
        line.close()
        await asyncio.sleep(0.02)
    return seen


async def _league(folder: Path, strangers: Strangers) -> tuple[dict[str, Any], list[str]]:
    (folder / "league.toml").write_text(SETTINGS)
    with ExitStack() as running:
        data = ("--data-dir", str(folder / "SHARED"))

        async def started(says: str, *arguments: str) -> tuple[Program, Any]:
            program = running.enter_context(Program(*arguments, *data))
            return program, await asyncio.to_thread(program.said, says)

        when = ("--config", str(folder / "league.toml"), "--start-when", f"players={PLAYERS},referees=1")
        manager, found = await started(r"is at http://127\.0\.0\.1:(\d+)/mcp", "manager", "--port", "0", *when)
        port = int(found[1])
        to = ("--manager", f"http://{HERE}:{port}/mcp")
        gateway, found = await started(r"http://127\.0\.0\.1:(\d+)/", "gateway", *to, "--port", "0")
        at = f"http://{HERE}:{found[1]}"
        await started("is registered", "player", *to, "--name", "Rita", "--relay", at)
        secret = json.loads((folder / "SHARED" / "agents" / "relay" / "player-Rita.json").read_text())
        place = f"/mcp?at={endpoint_id('relay', secret)}"
        async with flooding(int(found[1]), place, strangers) as seen:
            # One more comes while the gateway is flooded.
            await started("is registered", "player", *to, "--name", "Rose", "--relay", at)
            await started("is registered", "player", *to, "--name", "Bob", "--port", "0")
            pinged = await _pings(int(found[1]), place)
            await started("is registered", "referee", *to, "--port", "0")
            await asyncio.to_thread(manager.said, "The league is over", 240)
        line = Line(port, HERE, Seen())
        schedule = (await look(line, "schedule"))["schedule"]
        line.close()
        lost = sum(one["result"]["details"].get("status") == "TECHNICAL_LOSS" for one in schedule)
        faults = [f"{lost} technical losses"] if lost else []
        faults += [f"{pinged.statuses[0]} of {PINGS} pings were not answered"] if pinged.statuses[0] else []
        faults += ["tracebacks"] if "Traceback" in gateway.stderr + manager.stderr else []
        return {
            "strangers": dict(seen.statuses),
            "pings": dict(pinged.statuses),
            "matches": len(schedule),
            "technical_losses": lost,
        }, faults
