"""A player for league.v2, with nothing but Python's standard library.

Write your strategy in ``choose``. The rest registers, answers every message, and ends with the league. It saves its
state in a file.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import random
import sys
import threading
import time
import traceback
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from collections import Counter
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "My agent"
GAMES = ["connect_four", "even_odd", "prisoners_dilemma", "rock_paper_scissors", "tic_tac_toe"]
Json = dict[str, Any]


def choose(game: str, options: list[Any], view: Json, history: list[Json], opponent: str | None) -> Any:
    """Your strategy: one of ``options``.

    ``view`` is the position. Each game has its own fields: in tic_tac_toe, such as
    ``{"board": "X...O....", "moves": [0, 4], "your_mark": "X"}``. There a cell's number is its place in the board. In
    games without a board there is nothing to see before the choice.
    ``history`` has your matches so far, the oldest first. Each has ``"game_type"``, ``"opponent_id"``, ``"result"``
    ("WIN", "DRAW" or "LOSS"), ``"choice"``, ``"opponent_choice"`` and ``"drawn_number"``.
    ``opponent`` is the id of this match's opponent. In most leagues a pair meets once, so that ``history`` has no
    earlier match against it.
    """
    if game == "tic_tac_toe" and 4 in options:
        return 4
    return random.choice(options)


# By JSON-RPC method: its message type, and the required fields beside the envelope.
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
# Some callers use the message type as the method.
METHODS |= {kind: (kind, needed) for kind, needed in METHODS.values()} | {"choose_parity": METHODS["parity_choose"]}
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
FROM_MANAGER = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "LEAGUE_ERROR")


class Refusal(Exception):
    """An error answer: JSON-RPC's number, and the code and name of league.v2."""

    def __init__(self, number: int, code: str, name: str, detail: str) -> None:
        super().__init__(detail)
        data = {"error_code": code, "error_name": name, "context": {"detail": detail}}
        self.error = {"code": number, "message": name, "data": data}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: Any) -> datetime:
    """Parse a time, which must be in UTC."""
    with contextlib.suppress(TypeError, ValueError):
        if (read := datetime.fromisoformat(text)).utcoffset() == timedelta(0):
            return read
    raise Refusal(-32602, "E021", "INVALID_TIMESTAMP", f"{text!r} is not a time in UTC.")


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Agent:
    """The player in one league. Its id, its token and its matches are saved in a file, for a restart."""

    def __init__(self, manager: str, endpoint: str, file: Path) -> None:
        self.manager, self.endpoint, self.file = manager, endpoint, file
        self.me: Json = {"player_id": None, "league_id": None, "auth_token": None, "derived": False}
        self.history: dict[str, Json] = {}
        self.invitations: dict[str, Json] = {}
        self.registered, self.finished, self.is_over = threading.Event(), threading.Event(), False
        self.history_lock = threading.Lock()
        # The number of moves by origin, and the errors whose traceback has been printed.
        self.moves, self.explained = Counter[str](), set[str]()

    # Registration

    def register(self) -> None:
        """Register, and retry until it succeeds. A retry sends the same request, so that the manager recognizes it."""
        # A code in the URL is a secret.
        where = self.manager.partition("?")[0]
        request, pause, tries = None, 0.25, 0
        while True:
            try:
                league_id = self.ask("ping", {}).get("result", {}).get("league_id")
                request = request or self.registration_request(league_id)
                answer = self.ask("register_player", request)
                reply = answer.get("result") or answer["error"]["data"]
                if reply.get("status") == "ACCEPTED":
                    break
                reason, advice = reply.get("reason") or reply.get("context", {}).get("detail"), ""
                # The manager may be too busy, or it called this player before the player could answer.
                if reply.get("error_code") not in ("E048", "E059", "E060"):
                    sys.exit(f"The league does not take {NAME}: {reason}")
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
                reason, advice = getattr(failure, "reason", repr(failure)), " Is --manager right, and is it running?"
                if getattr(failure, "code", None) in (404, 405):
                    sys.exit(f"What answers at {where} is not a League Manager ({reason}). Check --manager.")
            tries += 1
            # The first time, and then ever more seldom.
            if tries & (tries - 1) == 0:
                log(f"Not registered at {where} yet ({reason}).{advice} Trying again.")
            time.sleep(pause)
            pause = min(5.0, pause * 2)
        league_id = reply.get("league_id") or league_id
        self.me = {
            "player_id": reply["player_id"],
            "league_id": league_id,
            "auth_token": reply.get("auth_token") or self.me["auth_token"],
            "derived": reply.get("token_scheme") == "derived",
        }
        self.save()
        self.registered.set()
        log(f"{NAME} is {self.me['player_id']} in {league_id}.")
        if str(league_id).startswith("league_check_"):
            log("This is a conformance check. It provokes errors and losses, but no replaced moves.")

    def ask(self, method: str, params: Json) -> Json:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.manager, body, {"content-type": "application/json"})
        # Without the proxies of the environment.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return dict(json.load(answer))

    def registration_request(self, league_id: str | None) -> Json:
        """The registration. It has the token if this player has been in that league before."""
        saved = json.loads(self.file.read_text()) if self.file.exists() else {"me": {}}
        if league_id and saved["me"].get("league_id") == league_id:
            self.me, self.history = saved["me"], saved["history"]
        token = {"auth_token": self.me["auth_token"]} if self.me["auth_token"] else {}
        meta = {"display_name": NAME, "version": "1.0.0", "protocol_version": "2.1.0", "game_types": GAMES}
        meta["contact_endpoint"] = self.endpoint
        return self.envelope("LEAGUE_REGISTER_REQUEST", f"conv-{uuid.uuid4()}") | token | {"player_meta": meta}

    def save(self) -> None:
        """Write a new file and replace the old one. If this program is killed meanwhile, the old one is intact."""
        new = self.file.with_suffix(".new")
        new.touch(0o600)
        new.write_text(json.dumps({"me": self.me, "history": self.history}, indent=1))
        new.replace(self.file)

    # Derived tokens: they prove who an agent is, without revealing its own token.

    def derive_token(self, *parts: Any) -> str:
        key = hashlib.sha256(b"sign" + self.me["auth_token"].encode()).digest()
        text = b"".join(b"%d:%b" % (len(str(part).encode()), str(part).encode()) for part in parts)
        return "drv-" + urlsafe_b64encode(hmac.digest(key, text, "sha256")).rstrip(b"=").decode()

    def match_token(self, direction: str, message: Json) -> str:
        """The token for the messages of a match, in one direction between player and referee."""
        match = message.get("match_id", "")
        attempt = message.get("attempt") or self.invitations.get(match, {}).get("attempt", 1)
        return self.derive_token(direction, self.me["league_id"], match, attempt, message["sender"].split(":")[-1])

    def check(self, kind: str, message: Json) -> None:
        """Check the caller's token. In a league without derived tokens this is not possible."""
        if message.get("player_id", self.me["player_id"]) != self.me["player_id"]:
            raise Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", f"This is {self.me['player_id']}.")
        if not self.me["derived"]:
            return
        if kind in FROM_MANAGER:
            number, expected = 3001, self.derive_token("manager", self.me["league_id"], self.me["player_id"])
        else:
            number, expected = 4001, self.match_token("referee to player", message)
        if not hmac.compare_digest(str(message.get("auth_token")).encode(), expected.encode()):
            raise Refusal(number, "E012", "AUTH_TOKEN_INVALID", "That is not the token made for this caller.")

    # Answers

    def answer(self, body: bytes) -> bytes | None:
        """The answer to a request body: one call or a batch. None if no answer is expected."""
        try:
            calls = json.loads(body)
        except (ValueError, RecursionError):
            answer: Any = error_answer(None, Refusal(-32700, "E040", "PARSE_ERROR", "The body is not JSON."))
        else:
            answer = self.answer_one(calls)
            if isinstance(calls, list) and calls:
                answer = [one for one in map(self.answer_one, calls) if one is not None]
        return json.dumps(answer).encode() if answer else None

    def answer_one(self, call: Any) -> Json | None:
        if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
            return error_answer(
                None, Refusal(-32600, "E041", "INVALID_REQUEST", "That is not a request of JSON-RPC 2.0.")
            )
        try:
            answer: Json = {"jsonrpc": "2.0", "id": call.get("id"), "result": self.result(call)}
        except Refusal as refusal:
            answer = error_answer(call.get("id"), refusal)
        except Exception:
            traceback.print_exc()
            answer = error_answer(call.get("id"), Refusal(-32603, "E060", "INTERNAL_ERROR", "The player failed."))
        return answer if "id" in call else None

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
        parse_time(message["timestamp"])
        # Other agents may call before the answer to the registration has arrived.
        if not self.registered.wait(2.5):
            raise Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", "This player has not registered.")
        # A referee may leave out the match of an error. Then it is the latest match.
        if kind == "GAME_ERROR" and self.invitations:
            message.setdefault("match_id", [*self.invitations][-1])
        self.check(kind, message)
        return self.handle(kind, message)

    def handle(self, kind: str, message: Json) -> Json:
        if kind == "GAME_INVITATION":
            self.invitations[message["match_id"]] = message
            return self.reply(message, "GAME_JOIN_ACK", arrival_timestamp=now(), accept=True)
        if kind == "CHOOSE_PARITY_CALL":
            choice, info = self.decide(message, ["even", "odd"], {})
            return self.reply(message, "CHOOSE_PARITY_RESPONSE", parity_choice=choice, move_info=info)
        if kind == "GAME_MOVE_CALL":
            request = message["move_request"]
            move, info = self.decide(message, request["valid_options"], request.get("context", {}))
            return self.reply(message, "GAME_MOVE_RESPONSE", move_data=move, move_info=info)
        if kind == "GAME_OVER":
            self.remember(message)
        elif kind == "GAME_ERROR":
            log(f"The referee reports {message['error_code']}. {message.get('consequence', '')}")
        elif kind == "LEAGUE_ERROR":
            log(f"The manager reports {message['error_code']} {message.get('error_description', '')}.")
        elif kind == "LEAGUE_COMPLETED":
            self.end(message)
        return self.reply(message, kind.replace("LEAGUE_STANDINGS", "STANDINGS") + "_ACK", status="ACKNOWLEDGED")

    def reply(self, message: Json, kind: str, **fields: Any) -> Json:
        """An answer with the fields that every answer has."""
        echoed = {name: message[name] for name in ("match_id", "round_id") if message.get(name) is not None}
        token = self.me["auth_token"]
        if self.me["derived"] and message["message_type"] not in FROM_MANAGER:
            token = self.match_token("player to referee", message)
        identity = {"auth_token": token, "player_id": self.me["player_id"]}
        return self.envelope(kind, message["conversation_id"]) | identity | echoed | fields

    def envelope(self, kind: str, conversation: str) -> Json:
        sender = f"player:{self.me['player_id'] or 'unregistered'}"
        return dict(zip(ENVELOPE, ("league.v2", kind, sender, now(), conversation), strict=True))

    def decide(self, call: Json, options: list[Any], view: Json) -> tuple[Any, Json]:
        """Ask the strategy. If it fails or is late, choose a random legal move. ``move_info`` says whose move it is."""
        seconds = (parse_time(call["deadline"]) - parse_time(call["timestamp"])).total_seconds()
        # The times have no fractions of seconds, and the answer takes time to arrive.
        limit = max(seconds - 1.5, seconds / 2)
        opponent = self.invitations.get(call["match_id"], {}).get("opponent_id")
        request = (call["game_type"], [*options], view, [*self.history.values()], opponent)
        outcome: list[tuple[str, Any]] = []

        def think() -> None:
            try:
                move = choose(*request)
                is_legal = any(type(move) is type(option) and move == option for option in options)
                outcome.append(("", move) if is_legal else (f"chose {move!r}, which is none of {options}", None))
            except Exception as error:
                outcome.append((f"raised {error!r}", error))

        thread = threading.Thread(target=think, daemon=True)
        thread.start()
        thread.join(limit)
        fault, found = outcome[0] if outcome else (f"took longer than {limit:g} s", None)
        if not fault:
            self.moves["own"] += 1
            return found, {"origin": "own"}
        self.moves["replaced"] += 1
        move, reason = random.choice(options), f"the strategy {fault}"
        log(f"{call['match_id']}: {reason}; {move!r} is played instead.")
        if isinstance(found, Exception) and reason not in self.explained:
            self.explained.add(reason)
            # From the line in ``choose`` on.
            traceback.print_exception(type(found), found, found.__traceback__ and found.__traceback__.tb_next)
        return move, {"origin": "replaced", "reason": reason[:200]}

    def end(self, message: Json) -> None:
        """Say how the league ended: the champion, the own place, and how many moves were the strategy's."""
        log(f"The league is over; the champion is {message['champion'].get('display_name')}.")
        rows = message["final_standings"]
        for own in (row for row in rows if row["player_id"] == self.me["player_id"]):
            # Equal points are ordered by other rules, or by a lot.
            ranks = [row["rank"] for row in rows if row["points"] == own["points"]]
            places = (
                f"place {ranks[0]}" if len(ranks) == 1 else f"places {min(ranks)} to {max(ranks)}, shared by points"
            )
            log(f"{NAME} has {own['points']} point{'' if own['points'] == 1 else 's'}: {places}.")
        if replaced := self.moves["replaced"]:
            log(f"{replaced} of {self.moves.total()} moves were not the strategy's.")
        self.is_over = True

    def remember(self, over: Json) -> None:
        result, me = over["game_result"], self.me["player_id"]
        opponent = self.invitations.get(over["match_id"], {}).get("opponent_id")
        outcome = "WIN" if result.get("winner_player_id") == me else "LOSS"
        outcome = "DRAW" if result["status"] == "DRAW" else outcome
        match = {"game_type": over["game_type"], "opponent_id": opponent, "status": result["status"], "result": outcome}
        choices = result.get("choices", {})
        match |= {"choice": choices.get(me), "opponent_choice": choices.get(opponent)}
        with self.history_lock:
            self.history[over["match_id"]] = match | {"drawn_number": result.get("drawn_number")}
            self.save()
        log(f"{over['match_id']}: {outcome}. {result.get('reason') or over.get('reason', '')}")


def error_answer(call_id: Any, refusal: Refusal) -> Json:
    return {"jsonrpc": "2.0", "id": call_id, "error": refusal.error}


class RequestHandler(BaseHTTPRequestHandler):
    """Serves POST /mcp."""

    agent: Agent
    protocol_version = "HTTP/1.1"
    timeout = 60
    # Without this, the body of an answer would be delayed until the head is acknowledged.
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
        """Log no requests: the agent logs what matters."""


def mcp_url(url: str) -> str:
    """The URL at which a manager accepts messages. The address of its page becomes that of /mcp.

    A seat code in the environment variable LEAGUE_SEAT is put into the URL.
    """
    if not url.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{url!r} is not a URL such as http://127.0.0.1:8000/mcp")
    address, mark, query = url.partition("#")[0].partition("?")
    if address.count("/") == 2:
        address += "/"
    if seat := os.environ.get("LEAGUE_SEAT"):
        mark, query = "?", f"seat={seat}"
    return f"{address}{'mcp' if address.endswith('/') else ''}{mark}{query}"


def main() -> int:
    parser = argparse.ArgumentParser(description=f"{NAME}: register with a league, play it, and end with it.")
    parser.add_argument(
        "--manager", type=mcp_url, default="http://127.0.0.1:8000/mcp", help="the manager's URL, or the league's page"
    )
    parser.add_argument("--host", default="127.0.0.1", help="where others reach this machine")
    parser.add_argument("--port", type=int, default=8101, help="0 takes a free one")
    parser.add_argument("--file", type=Path, default=Path("state.json"), help="where its state is saved")
    options = parser.parse_args()
    try:
        server = ThreadingHTTPServer((options.host, options.port), RequestHandler)
    except OSError as error:
        sys.exit(f"{options.host} port {options.port} cannot be used: {error.strerror}. Choose another --port.")
    endpoint = f"http://{options.host}:{server.server_port}/mcp"
    RequestHandler.agent = agent = Agent(options.manager, endpoint, options.file)
    # It listens before it registers, because the manager calls it during the registration.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        agent.register()
        agent.finished.wait()
    except OSError as error:
        sys.exit(f"The state cannot be saved: {error}. Choose another --file.")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
