"""Player agent for the game even_odd in a league.v2 league (Python 3.11, standard library only).

    python player.py --manager http://127.0.0.1:8000/mcp --port 8101 --name "Agent Alpha"

See NOTES.md for the choices made where the protocol documents disagree.
"""
import argparse
import http.client
import json
import math
import random
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST, PROTOCOL, GAME = "127.0.0.1", "league.v2", "even_odd"
REGISTER_TIMEOUT, MAX_RETRIES, RETRY_DELAY = 10, 3, 2
MAX_BODY = 1_000_000
PARITIES = ("even", "odd")
TIMESTAMP = re.compile(r"(\d{4}-?\d\d-?\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)", re.ASCII)

# Field lists: "name" is a string, "name:kind" another kind, "a|b" either name,
# a final "?" allows null, a leading "-" makes the field optional.
ENVELOPE = "protocol message_type sender timestamp:time conversation_id"
MESSAGES = {  # message type: (method, sender, acknowledgement, fields)
    "ROUND_ANNOUNCEMENT": ("notify_round", "league_manager", "ROUND_ANNOUNCEMENT_ACK",
                           "league_id round_id:int matches:list"),
    "LEAGUE_STANDINGS_UPDATE": ("update_standings", "league_manager", "STANDINGS_UPDATE_ACK",
                                "league_id round_id:int standings:list"),
    "ROUND_COMPLETED": ("notify_round_completed", "league_manager", "ROUND_COMPLETED_ACK",
                        "league_id round_id:int matches_completed|matches_played:int next_round_id:int?"),
    "LEAGUE_COMPLETED": ("notify_league_completed", "league_manager", "LEAGUE_COMPLETED_ACK",
                         "league_id total_rounds:int total_matches:int champion:dict final_standings:list"),
    "LEAGUE_ERROR": (None, "league_manager", "LEAGUE_ERROR_ACK", "error_code error_description"),
    "GAME_INVITATION": ("handle_game_invitation", "referee", "GAME_JOIN_ACK",
                        "league_id round_id:int match_id game_type role_in_match opponent_id"),
    "CHOOSE_PARITY_CALL": ("parity_choose", "referee", "CHOOSE_PARITY_RESPONSE",
                           "match_id player_id game_type -context:dict deadline:time"),
    "GAME_OVER": ("notify_match_result", "referee", "GAME_OVER_ACK", "match_id game_type game_result:dict"),
    "GAME_ERROR": ("notify_game_error", "referee", "GAME_ERROR_ACK",
                   "match_id error_code error_description affected_player|player_id"),
}
ROWS = {  # message type: (list field, fields of each row)
    "ROUND_ANNOUNCEMENT": ("matches", "match_id game_type player_A_id player_B_id referee_endpoint"),
    "LEAGUE_STANDINGS_UPDATE": ("standings", "rank:int player_id display_name played:int wins:int"
                                             " draws:int losses:int points:int"),
    "LEAGUE_COMPLETED": ("final_standings", "rank:int player_id points:int"),
}
METHODS = {spec[0]: kind for kind, spec in MESSAGES.items() if spec[0]}


class RpcError(Exception):
    def __init__(self, code, message, error_code=None, description=None, **data):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
        if error_code:
            data.update(error_code=error_code, error_description=description)


def say(stream, text):
    """Print one line; never fail because of odd characters or a closed pipe."""
    try:
        print(" ".join(str(text).split())[:500].encode("ascii", "backslashreplace").decode(),
              file=stream, flush=True)
    except (OSError, ValueError):
        pass


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_utc(value):
    match = isinstance(value, str) and TIMESTAMP.fullmatch(value)
    try:
        return bool(match and datetime.fromisoformat(match[1]))
    except ValueError:
        return False


KINDS = {
    "str": lambda v: isinstance(v, str),
    "int": lambda v: type(v) is int and -2**31 <= v < 2**31,
    "list": lambda v: isinstance(v, list),
    "dict": lambda v: isinstance(v, dict),
    "time": is_utc,
}


def invalid(field, problem, error_code="E003", description="MISSING_REQUIRED_FIELD"):
    return RpcError(-32602, f"Invalid params: {field} {problem}", error_code, description, field=field)


def check(obj, fields, where=""):
    """Raise -32602 unless the object has these fields with these types."""
    if not isinstance(obj, dict):
        raise invalid(where or "params", "must be an object")
    for item in fields.split():
        names, _, kind = item.lstrip("-").rstrip("?").partition(":")
        present = [obj[name] for name in names.split("|") if name in obj]
        value = next((v for v in present if v is not None), None)
        if value is None:
            if not (item[0] == "-" or item[-1] == "?" and present):
                raise invalid(where + names, "is missing")
        elif not KINDS[kind or "str"](value):
            if kind == "time":
                raise invalid(where + names, "is not an ISO 8601 time in UTC", "E021", "INVALID_TIMESTAMP")
            raise invalid(where + names, "has the wrong type")


def check_message(kind, p):
    """The checks that need nothing but the message itself."""
    _, role, _, fields = MESSAGES[kind]
    check(p, ENVELOPE + " " + fields)
    if p["protocol"] != PROTOCOL:
        raise invalid("protocol", f"must be {PROTOCOL}", "E018", "PROTOCOL_VERSION_MISMATCH")
    if p["message_type"] != kind:
        raise invalid("message_type", f"must be {kind} for this method")
    if not (p["sender"].startswith(role + ":") or p["sender"] == role == "league_manager"):
        raise invalid("sender", f"is not a {role}")
    if role == "referee":
        if not p.get("auth_token"):
            raise invalid("auth_token", "is missing", "E011", "AUTH_TOKEN_MISSING")
        check(p, "auth_token")
    name, row_fields = ROWS.get(kind, (None, ""))
    for n, row in enumerate(p[name] if name else ()):
        check(row, row_fields, f"{name}[{n}].")
    if kind == "LEAGUE_COMPLETED":
        check(p["champion"], "player_id display_name points:int", "champion.")
    elif kind == "GAME_INVITATION" and p["role_in_match"] not in ("PLAYER_A", "PLAYER_B"):
        raise invalid("role_in_match", "must be PLAYER_A or PLAYER_B")
    elif kind == "CHOOSE_PARITY_CALL" and p["game_type"] != GAME:
        raise invalid("game_type", f"must be {GAME}")
    elif kind == "GAME_OVER":
        check_result(p["game_result"])


def check_result(r):
    check(r, "status -winner_player_id drawn_number:int? number_parity? choices:dict", "game_result.")
    if r["status"] not in ("WIN", "DRAW", "TECHNICAL_LOSS"):
        raise invalid("game_result.status", "must be WIN, DRAW or TECHNICAL_LOSS")
    if r["status"] == "WIN" and r.get("winner_player_id") is None:
        raise invalid("game_result.winner_player_id", "is missing")
    if r["status"] != "TECHNICAL_LOSS" and (r["drawn_number"] is None or r["number_parity"] is None):
        raise invalid("game_result.drawn_number and number_parity", "must not be null")
    if r["number_parity"] not in (*PARITIES, None):
        raise invalid("game_result.number_parity", "must be even or odd")
    if any(choice not in (*PARITIES, None) for choice in r["choices"].values()):
        raise invalid("game_result.choices", "must map player ids to even, odd or null")


class Player:
    def __init__(self, name):
        self.name = name
        self.slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "player"
        self.player_id = self.token = self.league_id = None
        self.registered, self.finished = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.rounds = {}        # round_id -> {"matches": [...], "completed": bool}
        self.current_round = None
        self.standings = []
        self.matches = {}       # match_id -> opponent, role, token, conversation, choice
        self.history = {}       # match_id -> finished match
        self.stats = {"wins": 0, "losses": 0, "draws": 0}

    # ---- registration -------------------------------------------------
    def register(self, manager, endpoint):
        """Register with the league manager; return None, or the reason of the failure."""
        request = {"jsonrpc": "2.0", "method": "register_player", "id": "req-001", "params": {
            "protocol": PROTOCOL, "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.slug}", "timestamp": now(),
            "conversation_id": f"conv-player-{self.slug}-reg-001",
            "player_meta": {"display_name": self.name, "version": "1.0.0", "protocol_version": "2.1.0",
                            "game_types": [GAME], "contact_endpoint": endpoint}}}
        for attempt in range(1 + MAX_RETRIES):
            if attempt:
                time.sleep(RETRY_DELAY)
                request["params"]["timestamp"] = now()
            try:
                reply = post(manager, request)
                break
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                say(sys.stderr, f"registration attempt {attempt + 1} failed: {error}")
        else:
            return "league manager not reachable"
        result = reply.get("result")
        if not isinstance(result, dict):
            return f"error {reply.get('error')}"
        if result.get("status") != "ACCEPTED":
            return result.get("reason") or f"answer {result}"
        player_id, token = result.get("player_id"), result.get("auth_token")
        if not (isinstance(player_id, str) and player_id and isinstance(token, str) and token):
            return "accepted without player_id or auth_token"
        self.player_id, self.token, self.league_id = player_id, token, result.get("league_id")
        self.registered.set()
        return None

    # ---- incoming messages ----------------------------------------------
    def handle(self, method, p):
        """Answer one request: the result object, or RpcError."""
        kind = METHODS.get(method) or (method.upper() if method.upper() in MESSAGES else None)
        if kind is None and isinstance(p, dict) and p.get("message_type") == "LEAGUE_ERROR":
            kind = "LEAGUE_ERROR"
        if kind is None:
            raise RpcError(-32601, "Method not found", method=method[:100])
        check_message(kind, p)
        if not self.registered.wait(2):  # the answer to our registration may still be on its way
            if MESSAGES[kind][1] == "referee":
                raise RpcError(4002, "Player not found", "E005", "PLAYER_NOT_REGISTERED")
            raise RpcError(3002, "Player not registered", "E005", "PLAYER_NOT_REGISTERED")
        with self.lock:
            match = self.matches.get(p.get("match_id")) if MESSAGES[kind][1] == "referee" else None
            if match and match["token"] != p["auth_token"]:
                raise RpcError(4001, "Invalid auth token", "E012", "AUTH_TOKEN_INVALID", match_id=p["match_id"])
            body = getattr(self, "on_" + kind.lower())(p)
        return {"protocol": PROTOCOL, "message_type": MESSAGES[kind][2], "sender": f"player:{self.player_id}",
                "timestamp": now(), "conversation_id": p["conversation_id"], "auth_token": self.token,
                "player_id": self.player_id, **body}

    def on_round_announcement(self, p):
        self.rounds[p["round_id"]] = {"matches": p["matches"], "completed": False}
        self.current_round = p["round_id"]
        return {"status": "ACKNOWLEDGED", "round_id": p["round_id"]}

    def on_league_standings_update(self, p):
        self.standings = p["standings"]
        return {"status": "ACKNOWLEDGED", "round_id": p["round_id"]}

    def on_round_completed(self, p):
        self.rounds.setdefault(p["round_id"], {"matches": []})["completed"] = True
        return {"status": "ACKNOWLEDGED", "round_id": p["round_id"]}

    def on_league_completed(self, p):
        self.standings = p["final_standings"]
        self.finished.set()
        return {"status": "ACKNOWLEDGED"}

    def on_league_error(self, p):
        say(sys.stderr, f"league error {p['error_code']} {p['error_description']} {p.get('context', '')}")
        return {"status": "ACKNOWLEDGED"}

    def on_game_invitation(self, p):
        match_id, announced = p["match_id"], self.rounds.get(p["round_id"], {}).get("matches")
        if announced and all(match["match_id"] != match_id for match in announced):
            raise RpcError(4003, "Match not found", match_id=match_id)
        accept = p["game_type"] == GAME
        if accept:
            match = self.matches.setdefault(match_id, {"choice": None})
            match.update(opponent=p["opponent_id"], role=p["role_in_match"], token=p["auth_token"],
                         conversation=p["conversation_id"], round=p["round_id"])
        return {"match_id": match_id, "arrival_timestamp": now(), "accept": accept}

    def on_choose_parity_call(self, p):
        match = self.matches.get(p["match_id"])
        if p["player_id"] != self.player_id:
            raise RpcError(4002, "Player not found", "E005", "PLAYER_NOT_REGISTERED", player_id=p["player_id"])
        if match is None or p["match_id"] in self.history:
            raise RpcError(4005, "Match state error", match_id=p["match_id"])
        if match["choice"] is None:  # a repeated call gets the same choice again
            match["choice"] = self.choose(match["opponent"])
        return {"match_id": p["match_id"], "parity_choice": match["choice"]}

    def choose(self, opponent):
        """Equal choices always draw (1 point), different ones win 3 points half of the time:
        so choose the opposite of what this opponent chose most often, else at random."""
        seen = [h["opponent_choice"] for h in self.history.values() if h["opponent"] == opponent]
        lead = seen.count("even") - seen.count("odd")
        return random.choice(PARITIES) if lead == 0 else "odd" if lead > 0 else "even"

    def on_game_over(self, p):
        match_id, r = p["match_id"], p["game_result"]
        match = self.matches.get(match_id)
        if match is None and self.player_id not in r["choices"]:
            raise invalid("match_id", "is not a match of this player", "E015", "MATCH_ID_MISMATCH")
        if match_id not in self.history:  # a repeated message counts once
            others = [player for player in r["choices"] if player != self.player_id]
            opponent = match["opponent"] if match else others[0] if others else None
            outcome = "draws" if r["status"] == "DRAW" else \
                "wins" if r.get("winner_player_id") == self.player_id else "losses"
            self.stats[outcome] += 1
            self.history[match_id] = {
                "opponent": opponent, "outcome": outcome, "status": r["status"],
                "my_choice": r["choices"].get(self.player_id), "opponent_choice": r["choices"].get(opponent),
                "drawn_number": r["drawn_number"], "timestamp": p["timestamp"]}
            say(sys.stdout, f"{match_id} {r['status']} {outcome[:-1] if outcome != 'losses' else 'loss'}"
                            f" against {opponent}: number {r['drawn_number']}, choices {json.dumps(r['choices'])}")
        return {"status": "ACKNOWLEDGED", "match_id": match_id}

    def on_game_error(self, p):
        say(sys.stderr, f"game error {p['match_id']} {p['error_code']} {p['error_description']}:"
                        f" {p.get('action_required', '')} {p.get('consequence', '')}")
        return {"status": "ACKNOWLEDGED", "match_id": p["match_id"]}


# ---- JSON-RPC over HTTP -------------------------------------------------
def post(url, message):
    """Send one request and return the response object (also that of an HTTP error status)."""
    request = urllib.request.Request(url, json.dumps(message).encode(), {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=REGISTER_TIMEOUT) as response:
            reply = json.loads(response.read(MAX_BODY))
    except urllib.error.HTTPError as error:
        reply = json.loads(error.read(MAX_BODY))
    if not isinstance(reply, dict):
        raise ValueError("answer is not a JSON-RPC object")
    return reply


def no_constant(name):
    raise ValueError(name)


def answer(player, raw):
    """The JSON-RPC response to a request body, or None for a notification."""
    request_id, expects_reply = None, True
    try:
        try:
            request = json.loads(raw, parse_constant=no_constant)
        except (ValueError, RecursionError):
            raise RpcError(-32700, "Parse error") from None
        if not isinstance(request, dict):
            raise RpcError(-32600, "Invalid Request: not an object")
        if "id" in request:
            value = request["id"]
            if type(value) not in (str, int, float) or type(value) is float and not math.isfinite(value):
                raise RpcError(-32600, "Invalid Request: id must be a string or a number")
            request_id = value
        if request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
            raise RpcError(-32600, "Invalid Request: jsonrpc must be 2.0 and method a string")
        expects_reply = "id" in request
        reply = {"result": player.handle(request["method"], request.get("params"))}
    except RpcError as error:
        say(sys.stderr, f"refused a request: {error.code} {error.message}")
        reply = {"error": {"code": error.code, "message": error.message[:300], "data": error.data}}
    except Exception as error:  # never die on unexpected input
        say(sys.stderr, f"internal error: {error!r}")
        reply = {"error": {"code": -32603, "message": "Internal error"}}
    return {"jsonrpc": "2.0", **reply, "id": request_id} if expects_reply else None


class Handler(BaseHTTPRequestHandler):
    protocol_version, timeout, wbufsize = "HTTP/1.1", 60, -1

    def do_POST(self):
        if self.path.split("?")[0].rstrip("/") != "/mcp":
            return self.send_error(404, "only /mcp exists")
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > MAX_BODY:
            return self.send_error(413 if length.isdigit() else 411, "Content-Length missing or too large")
        self.reply(200, answer(self.server.player, self.rfile.read(int(length))))

    def reply(self, status, message):
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status if body else 204)
        if body:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code, message=None, explain=None):  # also called by the base class
        self.close_connection = True
        say(sys.stderr, f"refused a request: HTTP {code} {message}")
        self.reply(405 if code == 501 else code,
                   {"jsonrpc": "2.0", "id": None,
                    "error": {"code": -32600, "message": f"Invalid Request: {message or code}"[:300]}})

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 64

    def handle_error(self, request, client_address):
        say(sys.stderr, f"connection error: {sys.exc_info()[1]!r}")


def main():
    parser = argparse.ArgumentParser(description="even_odd player for a league.v2 league")
    parser.add_argument("--manager", default="http://127.0.0.1:8000/mcp")
    parser.add_argument("--port", type=int, default=8101, help="0 chooses a free port")
    parser.add_argument("--name", default="Agent Alpha")
    args = parser.parse_args()
    player = Player(args.name)
    try:
        server = Server((HOST, args.port), Handler)
    except (OSError, OverflowError) as error:
        say(sys.stderr, f"cannot open port {args.port}: {error}")
        return 1
    server.player = player
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    say(sys.stdout, f"listening on {server.server_port}")
    try:
        problem = player.register(args.manager, f"http://{HOST}:{server.server_port}/mcp")
        if problem:
            say(sys.stderr, f"registration refused: {problem}")
            return 1
        player.finished.wait()
        time.sleep(1)
        return 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
