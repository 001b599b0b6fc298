"""A player made of plain dictionaries. It does everything right but what its mutation changes.

It does not use the code of our agents. So it can be wrong in any way, and a fault of theirs is not hidden by the same
fault here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from leaguekit.protocol import times, tokens
from leaguekit.transport.base import CallFailed, HttpAnswer, Peer
from tests.kit.memory_network import ANOTHER_HOST, KIT_URL, MemoryKitNetwork, virtual_now

Json = dict[str, Any]

URL = "http://127.0.0.1:8101/mcp"
GAMES = ["connect_four", "even_odd", "prisoners_dilemma", "rock_paper_scissors", "tic_tac_toe"]
ACKNOWLEDGED = {
    "notify_round": "ROUND_ANNOUNCEMENT",
    "update_standings": "LEAGUE_STANDINGS_UPDATE",
    "notify_round_completed": "ROUND_COMPLETED",
    "notify_league_completed": "LEAGUE_COMPLETED",
    "notify_match_result": "GAME_OVER",
    "notify_game_error": "GAME_ERROR",
}
METHODS = ACKNOWLEDGED | {
    "handle_game_invitation": "GAME_INVITATION",
    "parity_choose": "CHOOSE_PARITY_CALL",
    "choose_move": "GAME_MOVE_CALL",
}
BY_MANAGER = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")


class Refused(Exception):
    """Raised to answer with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        self.error = {"code": code, "message": message}


# (player, request, answer) → what to answer instead: an object, a body, or None for nothing. The answer is a whole
# JSON-RPC answer, or None for a notification. A player that does not answer waits for ever.
Change = Callable[["ScriptedPlayer", Json, Any], Awaitable[Any]]


async def _as_it_is(_player: ScriptedPlayer, _request: Json, answer: Any) -> Any:
    return answer


@dataclass
class Mutation:
    """What one player does wrong."""

    change: Change = _as_it_is
    # Changes its registration, and the query that it sends.
    registration: Callable[[Json], Json] = lambda request: request
    query: Callable[[Json], Json] = lambda request: request
    registers: bool = True
    # How long it waits for an answer before it registers again.
    timeout_seconds: float = 10.0
    listens_early: bool = True
    checks_tokens: tuple[str, ...] = ("manager", "referee")
    ends: bool = True
    one_caller: bool = False
    seconds: float = 0.0


@dataclass
class ScriptedPlayer:
    """A player. ``run`` registers it, and returns when the league is over."""

    network: MemoryKitNetwork
    mutation: Mutation
    player_id: str = "P00"
    token: str = ""
    league_id: str = ""
    received: list[Json] = field(default_factory=list)
    received_at: list[float] = field(default_factory=list)
    listening: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _posting: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        if self.mutation.listens_early:
            self._listen()
        if self.mutation.registers:
            await self._register()
        if not self.mutation.listens_early:
            self._listen()
        await self.over.wait()
        if self.mutation.ends:
            self.network.memory.close(URL)

    def _listen(self) -> None:
        self.network.memory.listen(URL, self.handle)

    async def _register(self) -> None:
        meta = {
            "display_name": "By hand",
            "version": "1.0.0",
            "protocol_version": "2.1.0",
            "game_types": GAMES,
            "contact_endpoint": URL,
        }
        message = self._envelope("LEAGUE_REGISTER_REQUEST", "conv-by-hand") | {"player_meta": meta}
        message["sender"] = "player:by-hand"
        request = {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}
        body = json.dumps(self.mutation.registration(request)).encode()
        while True:
            try:
                answer = await self.network.caller.post(KIT_URL, body, self.mutation.timeout_seconds)
                break
            except CallFailed:
                continue
        result = json.loads(answer.body)["result"]
        self.player_id, self.token, self.league_id = result["player_id"], result["auth_token"], result["league_id"]

    def _envelope(self, kind: str, conversation: str) -> Json:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"player:{self.player_id}",
            "timestamp": times.format_timestamp(virtual_now()),
            "conversation_id": conversation,
        }

    async def handle(self, body: bytes, peer: Peer) -> bytes | HttpAnswer | None:
        if self.mutation.one_caller and peer.host == ANOTHER_HOST:
            await asyncio.Event().wait()
        await asyncio.sleep(self.mutation.seconds)
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = Refused(-32700, "no JSON")
        if isinstance(value, list) and value:
            answers = [await self._one(member, body) for member in value]
            return b"[%b]" % b",".join(one for one in answers if one is not None)
        return await self._one(value, body)

    async def _one(self, request: Any, body: bytes) -> Any:
        call_id = request.get("id") if isinstance(request, dict) else None
        try:
            answer: Any = {"jsonrpc": "2.0", "result": self._result(request), "id": call_id}
        except Refused as refused:
            answer = {"jsonrpc": "2.0", "error": refused.error, "id": call_id}
        whole = request if isinstance(request, dict) else {}
        if isinstance(request, dict) and "id" not in request:
            answer = None
        changed = await self.mutation.change(self, whole | {"body": body}, answer)
        if self.received and self.received[-1]["message_type"] == "LEAGUE_COMPLETED":
            self.over.set()
        return changed if changed is None or isinstance(changed, bytes | HttpAnswer) else json.dumps(changed).encode()

    def _result(self, request: Any) -> Json:
        if isinstance(request, Refused):
            raise request
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            raise Refused(-32600, "no request")
        method, call = request["method"], request.get("params")
        if method == "ping":
            return {"status": "ok"}
        if method not in METHODS and method not in METHODS.values():
            raise Refused(-32601, "no such method")
        kind = METHODS.get(method, method)
        if not isinstance(call, dict) or call.get("message_type") != kind:
            raise Refused(-32602, "wrong params")
        if "match_id" in ESSENTIAL[kind] and not isinstance(call.get("match_id"), str):
            raise Refused(-32602, "match_id is missing")
        self._check_token(kind, call)
        self.received.append(call)
        self.received_at.append(asyncio.get_running_loop().time())
        if kind == "GAME_OVER":
            self._ask_for_standings()
        return self._envelope(ANSWERS[kind], call["conversation_id"]) | self._content(kind, call)

    def _content(self, kind: str, call: Json) -> Json:
        content: Json = {"player_id": self.player_id, "auth_token": self.token}
        content |= {name: call[name] for name in ESSENTIAL[kind]}
        if kind == "GAME_INVITATION":
            return content | {"accept": True, "arrival_timestamp": times.format_timestamp(virtual_now())}
        if kind == "CHOOSE_PARITY_CALL":
            return content | {"parity_choice": "even"}
        if kind == "GAME_MOVE_CALL":
            return content | {"move_data": call["move_request"]["valid_options"][-1]}
        return content | {"status": "ACKNOWLEDGED"}

    def _check_token(self, kind: str, call: Json) -> None:
        sender_role = "manager" if kind in BY_MANAGER else "referee"
        key = tokens.signing_key(self.token)
        if sender_role == "manager":
            expected = tokens.manager_to_agent(key, self.league_id, self.player_id)
        else:
            referee = call["sender"].partition(":")[2]
            expected = tokens.referee_to_player(key, self.league_id, call["match_id"], 1, referee)
        if sender_role in self.mutation.checks_tokens and call.get("auth_token") != expected:
            raise Refused(4001, "Invalid auth token")

    def _ask_for_standings(self) -> None:
        """Send one query."""
        if self._posting:
            return
        message = self._envelope("LEAGUE_QUERY", "conv-by-hand-query") | {
            "auth_token": self.token,
            "league_id": self.league_id,
            "query_type": "GET_STANDINGS",
        }
        request = {"jsonrpc": "2.0", "method": "league_query", "params": message, "id": 2}
        self._posting.add(asyncio.ensure_future(self._post(json.dumps(self.mutation.query(request)).encode())))

    async def _post(self, body: bytes) -> None:
        answer = json.loads((await self.network.caller.post(KIT_URL, body, 10.0)).body)
        assert answer["result"]["success"] is True

    def received_in_match(self, match_id: str, kind: str) -> list[Json]:
        """Return the messages of one type that it received in a match."""
        return [one for one in self.received if one.get("match_id") == match_id and one["message_type"] == kind]


ANSWERS = {
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_CALL": "GAME_MOVE_RESPONSE",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
} | {
    kind: f"{kind}_ACK"
    for kind in ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "GAME_OVER", "GAME_ERROR")
}
# The fields that an answer repeats.
ESSENTIAL = {
    "ROUND_ANNOUNCEMENT": ("round_id",),
    "LEAGUE_STANDINGS_UPDATE": ("round_id",),
    "ROUND_COMPLETED": ("round_id",),
    "LEAGUE_COMPLETED": (),
    "GAME_OVER": ("match_id",),
    "GAME_ERROR": ("match_id",),
    "GAME_INVITATION": ("match_id",),
    "CHOOSE_PARITY_CALL": ("match_id",),
    "GAME_MOVE_CALL": ("match_id",),
}
