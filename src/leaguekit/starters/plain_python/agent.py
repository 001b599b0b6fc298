"""A player for league.v2, with nothing but Python's standard library.

Write your strategy in ``choose``. The rest registers, answers every message, remembers, and ends with the league.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import hmac
import json
import random
import sys
import threading
import time
import traceback
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "My agent"
GAMES = ["even_odd", "rock_paper_scissors", "tic_tac_toe"]
Json = dict[str, Any]


def choose(game: str, options: list[Any], view: Json, history: list[Json]) -> Any:
    """Your strategy: one of ``options``. ``view`` is the position, ``history`` your matches so far, oldest first."""
    if game == "tic_tac_toe" and 4 in options:
        return 4
    return random.choice(options)


# By JSON-RPC method: the message that it carries, and what that must have beside the envelope.
METHODS = {
    "notify_round": ("ROUND_ANNOUNCEMENT", "league_id round_id matches"),
    "update_standings": ("LEAGUE_STANDINGS_UPDATE", "league_id round_id standings"),
    "notify_round_completed": ("ROUND_COMPLETED", "league_id round_id"),
    "notify_league_completed": ("LEAGUE_COMPLETED", "league_id champion final_standings"),
    "handle_game_invitation": ("GAME_INVITATION", "league_id round_id match_id game_type role_in_match opponent_id"),
    "parity_choose": ("CHOOSE_PARITY_CALL", "match_id player_id game_type deadline"),
    "choose_move": ("GAME_MOVE_CALL", "match_id player_id game_type deadline move_request"),
    "notify_match_result": ("GAME_OVER", "match_id game_type game_result"),
    "notify_game_error": ("GAME_ERROR", "error_code"),
    "league_error": ("LEAGUE_ERROR", "error_code"),
}
# Some callers take the message type itself for the method.
METHODS |= {kind: (kind, needed) for kind, needed in METHODS.values()} | {"choose_parity": METHODS["parity_choose"]}
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
FROM_MANAGER = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "LEAGUE_ERROR")


class Refusal(Exception):
    """Why a call is not carried out: JSON-RPC's number, and the catalogue's code and name."""

    def __init__(self, number: int, code: str, name: str, detail: str) -> None:
        super().__init__(detail)
        data = {"error_code": code, "error_name": name, "context": {"detail": detail}}
        self.error = {"code": number, "message": name, "data": data}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: Any) -> datetime:
    """A time in UTC, as all times are."""
    with contextlib.suppress(TypeError, ValueError):
        if (read := datetime.fromisoformat(text)).utcoffset() == timedelta(0):
            return read
    raise Refusal(-32602, "E021", "INVALID_TIMESTAMP", f"{text!r} is no time in UTC.")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Agent:
    """The player in one league. Who it is, its token and its matches are in a file, for when it is started again."""

    def __init__(self, manager: str, endpoint: str, file: Path) -> None:
        self.manager, self.endpoint, self.file = manager, endpoint, file
        self.me: Json = {"player_id": None, "league_id": None, "auth_token": None, "derived": False}
        self.history: dict[str, Json] = {}
        self.invitations: dict[str, Json] = {}
        self.registered, self.finished, self.is_over = threading.Event(), threading.Event(), False
        self.remembering = threading.Lock()

    # Registration

    def register(self) -> None:
        """Ask until there is an answer. A repeat is the same to the letter: so the manager knows it as one."""
        request, pause = None, 0.25
        while True:
            try:
                league_id = self.ask("ping", {}).get("result", {}).get("league_id")
                request = request or self.introduction(league_id)
                answer = self.ask("register_player", request)
                told = answer.get("result") or answer["error"]["data"]
                if told.get("status") == "ACCEPTED":
                    break
                why = told.get("reason") or told.get("context", {}).get("detail")
                # The manager may be too busy, or it has called this player a moment too early.
                if told.get("error_code") not in ("E048", "E059", "E060"):
                    sys.exit(f"The league does not take {NAME}: {why}")
            except (OSError, ValueError, KeyError) as failure:
                why = getattr(failure, "reason", repr(failure))
            say(f"Not registered yet ({why}); trying again.")
            time.sleep(pause)
            pause = min(5.0, pause * 2)
        token, league_id = told.get("auth_token") or self.me["auth_token"], told.get("league_id") or league_id
        derived = told.get("token_scheme") == "derived"
        self.me = {"player_id": told["player_id"], "league_id": league_id, "auth_token": token, "derived": derived}
        self.save()
        self.registered.set()
        say(f"{NAME} is {self.me['player_id']} in {league_id}.")

    def ask(self, method: str, params: Json) -> Json:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.manager, body, {"content-type": "application/json"})
        # Straight to it: a proxy for web pages has no business here.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return dict(json.load(answer))

    def introduction(self, league_id: str | None) -> Json:
        """The request; with the token if this player has been in that league before, and so comes back."""
        kept = json.loads(self.file.read_text()) if self.file.exists() else {"me": {}}
        if league_id and kept["me"].get("league_id") == league_id:
            self.me, self.history = kept["me"], kept["history"]
        token = {"auth_token": self.me["auth_token"]} if self.me["auth_token"] else {}
        meta = {"display_name": NAME, "version": "1.0.0", "protocol_version": "2.1.0", "game_types": GAMES}
        meta["contact_endpoint"] = self.endpoint
        return self.envelope("LEAGUE_REGISTER_REQUEST", f"conv-{uuid.uuid4()}") | token | {"player_meta": meta}

    def save(self) -> None:
        """Write the file anew beside the old one: whenever this program is killed, one of them is whole."""
        new = self.file.with_suffix(".new")
        new.touch(0o600)
        new.write_text(json.dumps({"me": self.me, "history": self.history}, indent=1))
        new.replace(self.file)

    # Tokens: agents of such a league show each other what proves who they are, and nothing more.

    def derived(self, *parts: Any) -> str:
        key = hashlib.sha256(b"sign" + self.me["auth_token"].encode()).digest()
        text = b"".join(b"%d:%b" % (len(str(part).encode()), str(part).encode()) for part in parts)
        return "drv-" + urlsafe_b64encode(hmac.digest(key, text, "sha256")).rstrip(b"=").decode()

    def of_match(self, way: str, message: Json) -> str:
        """The token of a match and its referee, one way or the other."""
        match = message.get("match_id", "")
        attempt = message.get("attempt") or self.invitations.get(match, {}).get("attempt", 1)
        return self.derived(way, self.me["league_id"], match, attempt, message["sender"].split(":")[-1])

    def check(self, kind: str, message: Json) -> None:
        """Judge whether the caller may say this; where tokens are not derived, nobody can tell."""
        if message.get("player_id", self.me["player_id"]) != self.me["player_id"]:
            raise Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", f"This is {self.me['player_id']}.")
        if not self.me["derived"]:
            return
        if kind in FROM_MANAGER:
            number, expected = 3001, self.derived("manager", self.me["league_id"], self.me["player_id"])
        else:
            number, expected = 4001, self.of_match("referee to player", message)
        if not hmac.compare_digest(str(message.get("auth_token")).encode(), expected.encode()):
            raise Refusal(number, "E012", "AUTH_TOKEN_INVALID", "That is not the token made for this caller.")

    # Answers

    def answer(self, body: bytes) -> bytes | None:
        """The answer to any bytes: to one call or to several, and none where none is wanted."""
        try:
            calls = json.loads(body)
        except (ValueError, RecursionError):
            given: Any = failed(None, Refusal(-32700, "E040", "PARSE_ERROR", "The body is no JSON."))
        else:
            given = self.answer_one(calls)
            if isinstance(calls, list) and calls:
                given = [one for one in map(self.answer_one, calls) if one is not None]
        return json.dumps(given).encode() if given else None

    def answer_one(self, call: Any) -> Json | None:
        if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
            return failed(None, Refusal(-32600, "E041", "INVALID_REQUEST", "That is no request of JSON-RPC 2.0."))
        try:
            given: Json = {"jsonrpc": "2.0", "id": call.get("id"), "result": self.result(call)}
        except Refusal as refusal:
            given = failed(call.get("id"), refusal)
        except Exception:
            traceback.print_exc()
            given = failed(call.get("id"), Refusal(-32603, "E060", "INTERNAL_ERROR", "The player failed."))
        return given if "id" in call else None

    def result(self, call: Json) -> Json:
        method, message = call["method"], call.get("params")
        if method == "ping":
            return {"status": "ok", "player_id": self.me["player_id"], "league_id": self.me["league_id"]}
        kind, needed = METHODS.get(method) or METHODS.get(method.upper()) or (None, "")
        if kind is None:
            raise Refusal(-32601, "E042", "METHOD_NOT_FOUND", f"There is no method {method[:50]!r} here.")
        if not isinstance(message, dict):
            raise Refusal(-32602, "E043", "INVALID_FIELD_TYPE", "params must be an object.")
        if missing := [name for name in (*ENVELOPE, *needed.split()) if message.get(name) is None]:
            raise Refusal(-32602, "E003", "MISSING_REQUIRED_FIELD", f"Missing: {', '.join(missing)}.")
        if message["protocol"] != "league.v2":
            raise Refusal(-32602, "E018", "PROTOCOL_VERSION_MISMATCH", "This player speaks league.v2.")
        if message["message_type"] != kind:
            raise Refusal(-32602, "E045", "UNEXPECTED_MESSAGE_TYPE", f"{method} carries {kind}.")
        moment(message["timestamp"])
        # Others may call before the answer to the registration has been read.
        if not self.registered.wait(2.5):
            raise Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", "This player has not registered.")
        # A referee that reports an error may leave out in which match: then it is the latest.
        if kind == "GAME_ERROR" and self.invitations:
            message.setdefault("match_id", [*self.invitations][-1])
        self.check(kind, message)
        return self.carry_out(kind, message)

    def carry_out(self, kind: str, message: Json) -> Json:
        if kind == "GAME_INVITATION":
            self.invitations[message["match_id"]] = message
            return self.reply(message, "GAME_JOIN_ACK", arrival_timestamp=now(), accept=True)
        if kind == "CHOOSE_PARITY_CALL":
            choice, info = self.decide(message, ["even", "odd"], {})
            return self.reply(message, "CHOOSE_PARITY_RESPONSE", parity_choice=choice, move_info=info)
        if kind == "GAME_MOVE_CALL":
            asked = message["move_request"]
            move, info = self.decide(message, asked["valid_options"], asked.get("context", {}))
            return self.reply(message, "GAME_MOVE_RESPONSE", move_data=move, move_info=info)
        if kind == "GAME_OVER":
            self.remember(message)
        elif kind == "GAME_ERROR":
            say(f"The referee reports {message['error_code']}. {message.get('consequence', '')}")
        elif kind == "LEAGUE_ERROR":
            say(f"The manager reports {message['error_code']} {message.get('error_description', '')}.")
        elif kind == "LEAGUE_COMPLETED":
            say(f"The league is over; the champion is {message['champion'].get('display_name')}.")
            self.is_over = True
        return self.reply(message, kind.replace("LEAGUE_STANDINGS", "STANDINGS") + "_ACK", status="ACKNOWLEDGED")

    def reply(self, message: Json, kind: str, **fields: Any) -> Json:
        """An answer, with all that every answer carries."""
        echoed = {name: message[name] for name in ("match_id", "round_id") if message.get(name) is not None}
        token = self.me["auth_token"]
        if self.me["derived"] and message["message_type"] not in FROM_MANAGER:
            token = self.of_match("player to referee", message)
        shown = {"auth_token": token, "player_id": self.me["player_id"]}
        return self.envelope(kind, message["conversation_id"]) | shown | echoed | fields

    def envelope(self, kind: str, conversation: str) -> Json:
        sender = f"player:{self.me['player_id'] or 'unregistered'}"
        return dict(zip(ENVELOPE, ("league.v2", kind, sender, now(), conversation), strict=True))

    def decide(self, call: Json, options: list[Any], view: Json) -> tuple[Any, Json]:
        """Ask the strategy; a legal move is made in time whatever it does, and the league is told whose move it is."""
        seconds = (moment(call["deadline"]) - moment(call["timestamp"])).total_seconds()
        chosen: list[Any] = []
        asked = (call["game_type"], [*options], view, [*self.history.values()])
        # An exception in a thread shows where it came from.
        thinking = threading.Thread(target=lambda: chosen.append(choose(*asked)), daemon=True)
        thinking.start()
        # The times are cut to seconds, and the answer has to travel.
        thinking.join(max(seconds - 1.5, seconds / 2))
        for move in chosen:
            if any(type(move) is type(option) and move == option for option in options):
                return move, {"origin": "own"}
        why = f"the strategy chose {chosen or 'nothing'} of {options}"
        say(f"{call['match_id']}: {why}; another move is made.")
        return random.choice(options), {"origin": "replaced", "reason": why[:200]}

    def remember(self, over: Json) -> None:
        result, me = over["game_result"], self.me["player_id"]
        opponent = self.invitations.get(over["match_id"], {}).get("opponent_id")
        outcome = "WIN" if result.get("winner_player_id") == me else "LOSS"
        outcome = "DRAW" if result["status"] == "DRAW" else outcome
        match = {"game_type": over["game_type"], "opponent_id": opponent, "status": result["status"], "result": outcome}
        choices = result.get("choices", {})
        match |= {"choice": choices.get(me), "opponent_choice": choices.get(opponent)}
        with self.remembering:
            self.history[over["match_id"]] = match | {"drawn_number": result.get("drawn_number")}
            self.save()
        say(f"{over['match_id']}: {outcome}. {result.get('reason') or over.get('reason', '')}")


def failed(call_id: Any, refusal: Refusal) -> Json:
    return {"jsonrpc": "2.0", "id": call_id, "error": refusal.error}


class LazyMcpApp(BaseHTTPRequestHandler):
    """Serves POST /mcp."""

    agent: Agent
    protocol_version = "HTTP/1.1"
    timeout = 60
    # Otherwise an answer's two parts wait for each other on the way.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        size = self.headers.get("content-length", "")
        if self.path.partition("?")[0] != "/mcp":
            return self.send_error(404, "Messages are posted to /mcp")
        if not size.isdecimal() or int(size) > 1_048_576:
            return self.send_error(413)
        answer = self.agent.answer(self.rfile.read(int(size)))
        self.send_response(200 if answer else 204)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")
        if self.agent.is_over:
            self.agent.finished.set()
        return None

    def log_message(self, *_: Any) -> None:
        """What matters is said by the agent."""


def main() -> int:
    parser = argparse.ArgumentParser(description=f"{NAME}: register with a league, play it, and end with it.")
    parser.add_argument("--manager", default="http://127.0.0.1:8000/mcp", help="the manager's URL")
    parser.add_argument("--host", default="127.0.0.1", help="where others reach this machine")
    parser.add_argument("--port", type=int, default=8101, help="0 takes a free one")
    parser.add_argument("--file", type=Path, default=Path("state.json"), help="what outlives a restart")
    options = parser.parse_args()
    try:
        server = ThreadingHTTPServer((options.host, options.port), LazyMcpApp)
    except OSError as error:
        sys.exit(f"{options.host} port {options.port} cannot be used: {error.strerror}. Choose another --port.")
    LazyMcpApp.agent = agent = Agent(options.manager, f"http://{options.host}:{server.server_port}/mcp", options.file)
    # It listens before it registers, for the manager calls it at once.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        agent.register()
        agent.finished.wait()
    except OSError as error:
        sys.exit(f"What must outlive a restart cannot be kept: {error}. Choose another --file.")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
