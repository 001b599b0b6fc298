"""Fakes of the managers and referees of the field, for our own player: each with the traits that were seen there.

A fake is a manager and a referee in one. It takes the registration in its own form only, leads one match as its traits
say, ends the league, and keeps what the player answered. It is written from the description of the field, by hand.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from leaguekit.transport.base import Caller, HttpAnswer, Peer
from tests.zoo.dialects.forms import opened, sealed

Json = dict[str, Any]
MANAGER = "http://127.0.0.1:8000/mcp"

# What each trait does.
TRAITS = {
    "plain": "does everything as document 001 says",
    "takes-league_register": "takes a registration only by league_register",
    "takes-type": "takes a registration only by the method LEAGUE_REGISTER_REQUEST",
    "takes-message": "takes a registration only in params.message",
    "takes-tools": "takes a registration only by tools/call, and answers with text in result.content",
    "takes-envelope": "takes a registration only by league.handle, and answers in envelope and payload",
    "refuses-404": "answers an unknown method with HTTP 404 and plain text",
    "refuses-ok": 'answers an unknown method with {"status": "ok"}',
    "answers-bare": "answers the registration without JSON-RPC",
    "answers-id-1": "answers with the JSON-RPC id 1",
    "says-REGISTERED": "says REGISTERED in place of ACCEPTED",
    "ids-short": "gives the id ours1",
    "ids-long": "gives the id player_e68d35c4",
    "ids-number": "gives a number as the id of the player and of the match",
    "no-token": "gives no token",
    "times-double-zone": "writes 2026-11-16T10:00:00+00:00Z",
    "null-ids": "writes null for league_id and round_id in a call",
    "role-lower": "writes player_a for PLAYER_A",
    "technical-zero": "ends the match by a technical loss with drawn_number 0",
    "calls-type": "calls by the message type",
    "calls-choose_parity": "asks for the choice by choose_parity",
    "calls-tools": "calls by tools/call, with the tools receive_game_invitation, choose_parity and receive_game_over",
    "calls-message": "calls by handle_message, with the message in params.message",
    "calls-envelope": "calls by league.handle, with envelope and payload",
    "no-envelope": "leaves out sender, timestamp and conversation_id",
    "writes-type": "writes type in place of message_type",
    "nested-only": "writes the fields of a call only into parity_context",
    "odd-standings": "sends standings and the end of the league in a form of its own",
}
# Traits that cannot be combined with another one of the same group.
GROUPS = ("takes-", "refuses-", "ids-", "calls-", "answers-")
METHODS = {
    "GAME_INVITATION": "handle_game_invitation",
    "CHOOSE_PARITY_CALL": "parity_choose",
    "GAME_OVER": "notify_match_result",
    "ROUND_ANNOUNCEMENT": "notify_round",
    "LEAGUE_STANDINGS_UPDATE": "update_standings",
    "LEAGUE_COMPLETED": "notify_league_completed",
}
TOOLS = {
    "GAME_INVITATION": "receive_game_invitation",
    "CHOOSE_PARITY_CALL": "choose_parity",
    "GAME_OVER": "receive_game_over",
}


class Answered(NamedTuple):
    """What the player answered to a message, as this manager reads it."""

    kind: str
    message: Json


class FakeManager:
    """A manager with traits. Give ``handle`` to a network, and ``lead`` the league when the player has registered."""

    def __init__(self, *traits: str) -> None:
        self.traits = frozenset(traits)
        ids: dict[str, tuple[Any, Any]] = {
            "ids-short": ("ours1", "R1M1"),
            "ids-long": ("player_e68d35c4", "match-7f"),
            "ids-number": (17, 4),
        }
        chosen = next((trait for trait in ids if trait in traits), "")
        self.player_id, self.match_id = ids.get(chosen, ("P01", "R1M1"))
        self.registrations: list[Json] = []
        self.endpoint = ""
        self.answered: list[Answered] = []

    # Registration

    async def handle(self, body: bytes, _peer: Peer) -> HttpAnswer:
        call = json.loads(body)
        meta = self._registration(call["method"], call.get("params", {})).get("player_meta")
        if meta is None:
            if "refuses-404" in self.traits:
                return HttpAnswer(404, b"Not Found", "text/plain")
            refusal = {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "Method not found"}}
            return _json({"status": "ok"} if "refuses-ok" in self.traits else refusal)
        self.registrations.append(meta)
        self.endpoint = meta["contact_endpoint"]
        answer = self._message("LEAGUE_REGISTER_RESPONSE") | {
            "status": "REGISTERED" if "says-REGISTERED" in self.traits else "ACCEPTED",
            "player_id": self.player_id,
            "auth_token": "tok-of-ours",
            "league_id": "league_field",
        }
        if "no-token" in self.traits:
            del answer["auth_token"]
        if "answers-bare" in self.traits:
            return _json(answer)
        if "takes-tools" in self.traits:
            answer = {"content": [{"type": "text", "text": json.dumps(answer)}]}
        elif "takes-envelope" in self.traits:
            answer = sealed(answer)
        call_id = 1 if "answers-id-1" in self.traits else call["id"]
        return _json({"jsonrpc": "2.0", "id": call_id, "result": answer})

    def _registration(self, method: str, params: Json) -> Json:
        """The registration in a request, if it has the form that this manager takes."""
        if "takes-message" in self.traits:
            return dict(params.get("message", {}))
        if "takes-envelope" in self.traits:
            return opened(params) if method == "league.handle" else {}
        if "takes-tools" in self.traits:
            return dict(params["arguments"]) if method == "tools/call" and params["name"] == "register_player" else {}
        only = {"takes-league_register": "league_register", "takes-type": "LEAGUE_REGISTER_REQUEST"}
        taken = next((name for trait, name in only.items() if trait in self.traits), "register_player")
        return params if method == taken else {}

    # The league

    async def lead(self, caller: Caller) -> None:
        """Announce a round, play the match, and end the league."""
        rows: Any = [{"rank": 1, "player_id": self.player_id, "display_name": "Ours", "played": 1, "wins": 1,
                      "draws": 0, "losses": 0, "points": 3}]  # fmt: skip
        end = {"total_rounds": 1, "total_matches": 1, "final_standings": rows,
               "champion": {"player_id": self.player_id, "display_name": "Ours", "points": 3}}  # fmt: skip
        if "odd-standings" in self.traits:
            rows, end = {"first": self.player_id}, {"winner": self.player_id}
        side = "player_a" if "role-lower" in self.traits else "PLAYER_A"
        await self._call(caller, "GAME_INVITATION", {"role_in_match": side, "opponent_id": "them-2"})
        unknown = dict.fromkeys(("league_id", "round_id")) if "null-ids" in self.traits else {}
        call = {"deadline": self._time(), "context": {"opponent_id": "them-2", "round_id": 1}} | unknown
        await self._call(caller, "CHOOSE_PARITY_CALL", call)
        await self._call(caller, "GAME_OVER", {"game_result": self._result()})
        await self._call(caller, "LEAGUE_STANDINGS_UPDATE", {"standings": rows})
        await self._call(caller, "LEAGUE_COMPLETED", end)

    def _result(self) -> Json:
        choices = {str(self.player_id): "even", "them-2": "odd"}
        if "technical-zero" in self.traits:
            return {"status": "TECHNICAL_LOSS", "winner_player_id": self.player_id, "drawn_number": 0,
                    "number_parity": None, "choices": {}, "reason": "them-2 did not come"}  # fmt: skip
        return {"status": "WIN", "winner_player_id": self.player_id, "drawn_number": 4, "number_parity": "even",
                "choices": choices, "reason": "even"}  # fmt: skip

    async def _call(self, caller: Caller, kind: str, fields: Json) -> None:
        message = self._message(kind) | {"league_id": "league_field", "round_id": 1} | fields
        if kind.startswith(("GAME", "CHOOSE")):
            message |= {"match_id": self.match_id, "game_type": "even_odd", "player_id": self.player_id}
        if "nested-only" in self.traits and kind == "CHOOSE_PARITY_CALL":
            kept = ("protocol", "message_type", "type")
            inner = {name: value for name, value in message.items() if name not in kept}
            message = {name: message[name] for name in kept if name in message} | {"parity_context": inner}
        method, params = self._form(kind, message)
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 7}).encode()
        answer = json.loads((await caller.post(self.endpoint, body, 5)).body)
        self.answered.append(Answered(kind, self._read(answer)))

    def _form(self, kind: str, message: Json) -> tuple[str, Json]:
        if "calls-type" in self.traits:
            return kind, message
        if "calls-tools" in self.traits and kind in TOOLS:
            return "tools/call", {"name": TOOLS[kind], "arguments": message}
        if "calls-message" in self.traits:
            return "handle_message", {"message": message}
        if "calls-envelope" in self.traits:
            return "league.handle", sealed(message)
        if "calls-choose_parity" in self.traits and kind == "CHOOSE_PARITY_CALL":
            return "choose_parity", message
        return METHODS[kind], message

    def _read(self, answer: Json) -> Json:
        """The message in an answer, where this manager looks for it; empty if it is not there."""
        result = answer.get("result")
        if not isinstance(result, dict):
            return {}
        if "calls-tools" in self.traits and "content" in result:
            return dict(json.loads(result["content"][0]["text"]))
        return opened(result) if "calls-envelope" in self.traits else result

    def _message(self, kind: str) -> Json:
        message = {
            "protocol": "league.v2",
            "type" if "writes-type" in self.traits else "message_type": kind,
            "sender": "referee:REF01" if kind.startswith(("GAME", "CHOOSE")) else "league_manager:LM01",
            "timestamp": self._time(),
            "conversation_id": f"conv-{kind.lower()}",
            "auth_token": "tok-of-theirs",
        }
        if "no-envelope" in self.traits:
            for name in ("sender", "timestamp", "conversation_id"):
                del message[name]
        return message

    def _time(self) -> str:
        return "2026-11-16T10:00:00+00:00Z" if "times-double-zone" in self.traits else "2026-11-16T10:00:00Z"


def _json(content: Json) -> HttpAnswer:
    return HttpAnswer(200, json.dumps(content).encode())
