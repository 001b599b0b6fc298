"""A fake and the test that speaks to it: messages written by hand, put in any form, and a desk where it registers."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from leaguekit.transport.base import HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from tests.zoo.dialects.fake import Fake
from tests.zoo.dialects.forms import Json, sealed
from tests.zoo.dialects.hosting import MemoryNet
from tests.zoo.dialects.species import ZOO

MANAGER = "http://127.0.0.1:9000/mcp"
ENDPOINT = "http://127.0.0.1:9101/mcp"
# Where the referees are, and where some programs believe them to be.
REFEREE = "http://127.0.0.1:9011/mcp"
FIXED = {"REF01": 9001, "REF02": 9002}
BEGAN = datetime(2026, 11, 15, 17, 41, 3, 123456, tzinfo=UTC)
MATCHES = [{"match_id": "R1M1", "game_type": "even_odd", "referee_endpoint": REFEREE}]
METHODS = {
    "GAME_INVITATION": "handle_game_invitation",
    "CHOOSE_PARITY_CALL": "parity_choose",
    "GAME_OVER": "notify_match_result",
    "GAME_ERROR": "notify_game_error",
    "ROUND_ANNOUNCEMENT": "notify_round",
    "LEAGUE_STANDINGS_UPDATE": "update_standings",
    "ROUND_COMPLETED": "notify_round_completed",
    "LEAGUE_COMPLETED": "notify_league_completed",
}
TOOLS = {
    "GAME_INVITATION": "receive_game_invitation",
    "CHOOSE_PARITY_CALL": "choose_parity",
    "GAME_OVER": "receive_game_over",
}
WELCOME = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_RESPONSE",
    "sender": "league_manager:LM01",
    "timestamp": "2026-11-15T17:41:03Z",
    "conversation_id": "conv-1",
    "status": "ACCEPTED",
    "player_id": "P07",
    "auth_token": "tok-p07",
    "league_id": "league_2026",
}

MATCH = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER")
# How a manager answers registrations in these forms.
AROUND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "registers-tools": lambda sent: {"content": [{"type": "text", "text": json.dumps(sent)}]},
    "registers-envelope": sealed,
}


def message(kind: str, match_id: str = "R1M1", **changes: Any) -> Json:
    """A message that nobody in the field refuses; a field given as ... is left out."""
    whole: Json = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": "referee:REF01" if kind.startswith(("GAME", "CHOOSE")) else "league_manager:LM01",
        "timestamp": "2026-11-15T17:41:03Z",
        "conversation_id": "conv-r1m1",
        "auth_token": "tok-of-the-caller",
        "league_id": "league_2026",
        "round_id": 1,
    }
    if whole["sender"].startswith("referee"):
        whole |= {"match_id": match_id, "game_type": "even_odd", "player_id": "P07"}
    if kind == "GAME_INVITATION":
        whole |= {"role_in_match": "PLAYER_A", "opponent_id": "P02"}
        whole["game_invitation"] = dict(whole)
    elif kind == "CHOOSE_PARITY_CALL":
        whole |= {"context": {"opponent_id": "P02", "round_id": 1}, "deadline": "2026-11-15T17:41:33Z"}
        whole["parity_context"] = whole | whole["context"] | {"your_standings": {"wins": 0}}
    elif kind == "GAME_MOVE_CALL":
        whole["move_request"] = {"move_type": "place_mark", "valid_options": [4, 8], "context": {}}
    elif kind == "ROUND_ANNOUNCEMENT":
        whole["matches"] = MATCHES
    return {name: value for name, value in (whole | changes).items() if value is not ...}


def put(form: str, sent: Json) -> tuple[str, Json]:
    """The method and params of a message in a form."""
    kind = sent["message_type"]
    if form == "type":
        return kind, sent
    if form == "tools":
        return "tools/call", {"name": TOOLS.get(kind, kind.lower()), "arguments": sent}
    if form == "message":
        return "handle_message", {"message": sent}
    if form == "envelope":
        return "league.handle", sealed(sent)
    return "choose_parity" if form == "rpc-choose" and kind == "CHOOSE_PARITY_CALL" else METHODS.get(kind, kind), sent


class Came(NamedTuple):
    """An HTTP answer, and its JSON if it is that."""

    status: int
    content_type: str
    json: Any


class Scene:
    """A network in memory with a desk for registrations, a referee wherever one may be looked for, and one fake."""

    def __init__(self, name: str) -> None:
        self.network = MemoryNetwork()
        self.network.listen(MANAGER, self._registration)
        self.network.listen(REFEREE, functools.partial(self._posted, REFEREE))
        self.fake = Fake(
            ZOO[name],
            ENDPOINT,
            MANAGER,
            MemoryNet(self.network, MemoryCaller(self.network)),
            clock=self.now,
            fixed_ports=FIXED,
        )
        # What the desk answers, after how long, and around the message; what it was asked.
        self.welcome: Json = dict(WELCOME)
        self.welcome_after = 0.0
        self.around: Callable[[Json], Json] = lambda sent: sent
        self.registrations: list[Json] = []
        self.listened_meanwhile: list[bool] = []
        # What was posted to a referee, and to which.
        self.posted: list[tuple[str, Json]] = []

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.time)

    @property
    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def open_fixed_ports(self) -> None:
        for port in FIXED.values():
            url = f"http://127.0.0.1:{port}/mcp"
            self.network.listen(url, functools.partial(self._posted, url))

    async def _registration(self, body: bytes, _peer: Peer) -> HttpAnswer:
        call = json.loads(body)
        self.registrations.append(call)
        self.listened_meanwhile.append(self.fake.listening)
        await asyncio.sleep(self.welcome_after)
        answer = {"jsonrpc": "2.0", "id": call["id"], "result": self.around(self.welcome)}
        return HttpAnswer(200, json.dumps(answer).encode())

    async def _posted(self, url: str, body: bytes, _peer: Peer) -> bytes:
        self.posted.append((url, json.loads(body)))
        return b'{"jsonrpc":"2.0","id":1,"result":{"status":"ACKNOWLEDGED"}}'

    async def say(self, form: str, kind: str, match_id: str = "R1M1", **changes: Any) -> Came:
        """Send a good message, but for changes, in a form."""
        return await self.call(*put(form, message(kind, match_id, **changes)))

    async def call(self, method: str, params: Any, call_id: Any = 7) -> Came:
        return await self.send({"jsonrpc": "2.0", "method": method, "params": params, "id": call_id})

    async def send(self, content: Any) -> Came:
        status, body, kind = await self.fake.handle(json.dumps(content).encode())
        return Came(status, kind, json.loads(body) if kind == "application/json" else body.decode())

    async def result(self, kind: str, **changes: Any) -> Json:
        """What a proper agent of 001 has in its result."""
        came = await self.say("rpc", kind, **changes)
        assert came.status == 200
        assert set(came.json) == {"jsonrpc", "id", "result"}
        return dict(came.json["result"])
