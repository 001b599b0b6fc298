#!/usr/bin/env python3
"""Referee agent for the league.v2 protocol (game: even_odd). Standard library only.

Usage: python referee.py --manager http://127.0.0.1:8000/mcp --port 8001 --name "Referee Alpha"
"""
import argparse
import itertools
import json
import queue
import re
import secrets
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"
PROTOCOL = "league.v2"
MAX_CONCURRENT = 5
MAX_RETRIES = 3            # retries after the first attempt
RETRY_DELAY = 2.0          # seconds between attempts
JOIN_TIMEOUT, CHOICE_TIMEOUT, GAME_OVER_TIMEOUT, DEFAULT_TIMEOUT = 5.0, 30.0, 5.0, 10.0
MAX_BODY = 1 << 20         # largest body that is read at all

ERROR_NAMES = {"E001": "TIMEOUT_ERROR", "E003": "MISSING_REQUIRED_FIELD", "E004": "INVALID_PARITY_CHOICE",
               "E005": "PLAYER_NOT_REGISTERED", "E009": "CONNECTION_ERROR", "E015": "MATCH_ID_MISMATCH",
               "E018": "PROTOCOL_VERSION_MISMATCH", "E021": "INVALID_TIMESTAMP"}
METHOD_OUT = {"REFEREE_REGISTER_REQUEST": "register_referee", "GAME_INVITATION": "handle_game_invitation",
              "CHOOSE_PARITY_CALL": "parity_choose", "GAME_OVER": "notify_match_result",
              "MATCH_RESULT_REPORT": "report_match_result", "GAME_ERROR": "notify_game_error",
              "LEAGUE_QUERY": "league_query"}
METHOD_IN = {"notify_round": "ROUND_ANNOUNCEMENT", "update_standings": "LEAGUE_STANDINGS_UPDATE",
             "notify_round_completed": "ROUND_COMPLETED", "notify_league_completed": "LEAGUE_COMPLETED",
             "league_error": "LEAGUE_ERROR"}
ACKS = {"LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK"}   # all others: message type + "_ACK"
UTC_STAMP = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|\+00:00)")

request_ids = itertools.count(1)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))   # never use a proxy


class Problem(Exception):
    """A peer did not answer, or answered something unusable."""
    def __init__(self, code, detail, rpc_code=None):
        super().__init__(f"{code} {ERROR_NAMES.get(code, '')}: {detail}")
        self.code, self.detail, self.rpc_code = code, detail, rpc_code


class RpcError(Exception):
    """To be sent back to a caller as a JSON-RPC error."""
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.body = {"code": code, "message": message, **({"data": data} if data else {})}


def say(text, stream=None):
    try:
        print(text + "\n", end="", flush=True, file=stream or sys.stdout)
    except (OSError, ValueError):
        pass


def complain(text):
    say("error: " + text, sys.stderr)


def stamp(seconds_from_now=0.0):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds_from_now)).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_utc(value):
    return isinstance(value, str) and UTC_STAMP.fullmatch(value) is not None


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def same_endpoint(a, b):
    def parts(url):
        u = urllib.parse.urlsplit(url)
        host = {"localhost": HOST, "::1": HOST}.get(u.hostname, u.hostname)
        return u.scheme.lower(), host, u.port, u.path.rstrip("/")
    try:
        return parts(a) == parts(b)
    except (ValueError, TypeError, AttributeError):
        return False


def call(url, params, timeout):
    """POST one JSON-RPC request; give back its `result`. `timeout` bounds the whole exchange."""
    request_id = next(request_ids)
    body = json.dumps({"jsonrpc": "2.0", "method": METHOD_OUT[params["message_type"]],
                       "params": params, "id": request_id}).encode()
    box = queue.Queue()

    def exchange():
        try:
            if not url.lower().startswith(("http://", "https://")):
                raise ValueError("not an HTTP endpoint")
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            try:
                with opener.open(request, timeout=timeout + 1) as response:
                    box.put((response.status, response.read(MAX_BODY)))
            except urllib.error.HTTPError as error:      # may still carry a JSON-RPC body
                with error:
                    box.put((error.code, error.read(MAX_BODY)))
        except Exception as error:
            box.put((None, error))

    threading.Thread(target=exchange, daemon=True).start()
    try:
        status, data = box.get(timeout=max(timeout, 0.01))
    except queue.Empty:
        raise Problem("E001", f"no response within {timeout:.1f} seconds") from None
    if status is None:
        raise Problem("E009", f"{type(data).__name__}: {data}"[:200])
    if not data.strip() and 200 <= status < 300:
        return None
    try:
        reply = json.loads(data)
    except (ValueError, RecursionError):
        raise Problem("E009", f"HTTP {status}, body is not JSON") from None
    if isinstance(reply, dict) and reply.get("error") is not None:
        error = reply["error"] if isinstance(reply["error"], dict) else {}
        raise Problem("E009", f"peer answered error {error.get('code')}: {str(error.get('message'))[:200]}",
                      error.get("code"))
    if not isinstance(reply, dict) or "result" not in reply or reply.get("id") != request_id:
        raise Problem("E009", f"HTTP {status}, body is not the JSON-RPC response to request {request_id}")
    return reply["result"]


def check_answer(answer, kind, match_id, player_id, fields):
    if not isinstance(answer, dict):
        raise Problem("E003", f"{kind} expected")
    if answer.get("protocol", PROTOCOL) != PROTOCOL:
        raise Problem("E018", f"protocol must be {PROTOCOL}")
    for field in ("message_type", "match_id", "player_id"):
        if answer.get(field) is None:
            raise Problem("E003", f"{field} is missing")
    if answer["message_type"] != kind:
        raise Problem("E003", f"message_type must be {kind}")
    if answer["match_id"] != match_id:
        raise Problem("E015", f"match_id must be {match_id}")
    if answer["player_id"] != player_id:
        raise Problem("E005", f"player_id must be {player_id}")
    for field in fields:
        if field not in answer:
            raise Problem("E003", f"{field} is missing")
    for field in ("timestamp", "arrival_timestamp"):
        if field in answer and not is_utc(answer[field]):
            raise Problem("E021", f"{field} must be ISO 8601 in UTC")


class Player:
    def __init__(self, player_id, endpoint, role):
        self.id, self.endpoint, self.role = player_id, endpoint, role
        self.opponent = self.choice = self.failure = None


class Referee:
    def __init__(self, manager, name, port):
        self.manager, self.name = manager, name[:50] or "Referee"
        self.endpoint = f"http://{HOST}:{port}/mcp"
        self.id = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-").removeprefix("referee-") or "referee"
        self.token = self.league_id = None
        self.registered, self.finished = threading.Event(), threading.Event()
        self.slots = threading.Semaphore(MAX_CONCURRENT)
        self.lock = threading.Lock()
        self.seen = set()          # matches already taken on
        self.table = {}            # player_id -> {"wins", "losses", "draws", "points"}

    # ---- messages to others

    def message(self, kind, conversation, **fields):
        head = {"protocol": PROTOCOL, "message_type": kind, "sender": f"referee:{self.id}",
                "timestamp": stamp(), "conversation_id": conversation}
        if self.token is not None:
            head["auth_token"] = self.token
        return head | fields

    def register(self):
        """True once accepted; False if refused or if the manager cannot be reached."""
        meta = {"display_name": self.name, "version": "1.0.0", "protocol_version": "2.1.0",
                "game_types": ["even_odd"], "contact_endpoint": self.endpoint,
                "max_concurrent_matches": MAX_CONCURRENT}
        for attempt in range(1 + MAX_RETRIES):
            try:
                answer = call(self.manager, self.message("REFEREE_REGISTER_REQUEST",
                              f"conv-ref-{self.id}-reg-001", referee_meta=meta), DEFAULT_TIMEOUT)
            except Problem as problem:
                complain(f"registration: {problem}")
                if problem.rpc_code is not None or attempt == MAX_RETRIES:
                    return False
                time.sleep(RETRY_DELAY)
                continue
            answer = answer if isinstance(answer, dict) else {}
            if answer.get("status") != "ACCEPTED" or not isinstance(answer.get("referee_id"), str):
                complain(f"registration refused: {str(answer.get('reason'))[:200]}")
                return False
            self.id, self.token, self.league_id = answer["referee_id"], answer.get("auth_token"), answer.get("league_id")
            self.registered.set()
            return True

    def refresh_standings(self, round_id):
        try:
            answer = call(self.manager, self.message("LEAGUE_QUERY", f"conv-query-r{round_id}-{self.id.lower()}",
                          league_id=self.league_id, query_type="GET_STANDINGS", query_params={}), DEFAULT_TIMEOUT)
            data = answer.get("data") if isinstance(answer.get("data"), dict) else answer
            self.store_standings(data.get("standings"))
        except (Problem, AttributeError) as problem:
            complain(f"standings query: {problem}")

    def store_standings(self, rows):
        for row in rows if isinstance(rows, list) else []:
            keys = ("wins", "losses", "draws", "points")
            if isinstance(row, dict) and isinstance(row.get("player_id"), str) and all(is_int(row.get(k)) for k in keys):
                with self.lock:
                    self.table[row["player_id"]] = {k: row[k] for k in keys}

    # ---- messages from the manager

    def handle(self, method, params):
        kind = METHOD_IN.get(method) or (method.upper() if method.upper() in METHOD_IN.values() else None)
        if kind is None:
            raise RpcError(-32601, "Method not found", {"method": method[:100]})

        def invalid(code, detail):
            return RpcError(-32602, "Invalid params", {"error_code": code, "error_description": ERROR_NAMES[code],
                                                       "detail": detail})
        if not isinstance(params, dict):
            raise invalid("E003", "params must be an object")
        for field in ("protocol", "message_type", "sender", "timestamp", "conversation_id"):
            if not isinstance(params.get(field), str):
                raise invalid("E003", f"{field} is missing or not a string")
        if params["protocol"] != PROTOCOL:
            raise invalid("E018", f"protocol must be {PROTOCOL}")
        if params["message_type"] != kind:
            raise invalid("E003", f"message_type must be {kind}")
        if not params["sender"].startswith("league"):
            raise invalid("E003", "sender must be league_manager")
        if not is_utc(params["timestamp"]):
            raise invalid("E021", "timestamp must be ISO 8601 in UTC")
        if kind == "ROUND_ANNOUNCEMENT":
            self.registered.wait(5)      # an announcement may overtake the registration response
            self.take_round(params, invalid)
        elif kind == "LEAGUE_STANDINGS_UPDATE":
            self.store_standings(params.get("standings"))
        elif kind == "LEAGUE_ERROR":
            complain(f"manager says {str(params.get('error_code'))[:20]} {str(params.get('error_description'))[:200]}")
        elif kind == "LEAGUE_COMPLETED":
            self.finished.set()
        ack = self.message(ACKS.get(kind, kind + "_ACK"), params["conversation_id"],
                           status="ACKNOWLEDGED", referee_id=self.id)
        ack.pop("auth_token", None)
        return ack | ({"round_id": params["round_id"]} if is_int(params.get("round_id")) else {})

    def take_round(self, params, invalid):
        league_id, round_id, matches = (params.get(k) for k in ("league_id", "round_id", "matches"))
        if not isinstance(league_id, str) or not is_int(round_id) or not isinstance(matches, list):
            raise invalid("E003", "league_id, round_id and matches are required")
        mine = [m for m in matches if isinstance(m, dict) and
                (same_endpoint(m.get("referee_endpoint"), self.endpoint) or m.get("referee_id") == self.id)]
        for match in mine:               # all or nothing
            for field in ("match_id", "player_A_id", "player_B_id", "player_A_endpoint", "player_B_endpoint"):
                if not isinstance(match.get(field), str) or not match[field]:
                    raise invalid("E003", f"{field} is missing in a match")
            if match.get("game_type") != "even_odd":
                raise RpcError(1003, "Unsupported game type", {"match_id": match["match_id"]})
            if match["player_A_id"] == match["player_B_id"]:
                raise invalid("E003", "a player cannot play against itself")
        with self.lock:
            new = [m for m in mine if (league_id, round_id, m["match_id"]) not in self.seen]
            self.seen.update((league_id, round_id, m["match_id"]) for m in new)
        if new and round_id > 1:
            threading.Thread(target=self.refresh_standings, args=(round_id,), daemon=True).start()
        for match in new:
            threading.Thread(target=self.run_match, args=(league_id, round_id, match), daemon=True).start()

    # ---- one match

    def run_match(self, league_id, round_id, match):
        with self.slots:
            try:
                self.play(league_id, round_id, match)
            except Exception as error:
                complain(f"match {match['match_id']}: {type(error).__name__}: {error}")

    def play(self, league_id, round_id, match):
        match_id = match["match_id"]
        a = Player(match["player_A_id"], match["player_A_endpoint"], "PLAYER_A")
        b = Player(match["player_B_id"], match["player_B_endpoint"], "PLAYER_B")
        a.opponent, b.opponent = b, a
        conversation = f"conv-{match_id.lower()}-001"
        where = {"league_id": league_id, "round_id": round_id, "match_id": match_id}

        def invite(player):              # state WAITING_FOR_PLAYERS
            def check(answer):
                check_answer(answer, "GAME_JOIN_ACK", match_id, player.id, ("arrival_timestamp", "accept"))
                if not isinstance(answer["accept"], bool):
                    raise Problem("E003", "accept must be true or false")
                return answer["accept"]
            fields = {**where, "game_type": "even_odd", "role_in_match": player.role, "opponent_id": player.opponent.id}
            accepted = self.ask(player, "GAME_INVITATION", "GAME_JOIN_ACK", conversation, fields, JOIN_TIMEOUT, check)
            if accepted is False:
                player.failure = "rejected the invitation"

        def choose(player):              # state COLLECTING_CHOICES
            def check(answer):
                check_answer(answer, "CHOOSE_PARITY_RESPONSE", match_id, player.id, ("parity_choice",))
                if answer["parity_choice"] not in ("even", "odd"):
                    raise Problem("E004", f"choice must be 'even' or 'odd', got {json.dumps(answer['parity_choice'])[:80]}")
                return answer["parity_choice"]
            with self.lock:
                record = dict(self.table.get(player.id) or dict.fromkeys(("wins", "losses", "draws", "points"), 0))
            fields = {**where, "player_id": player.id, "game_type": "even_odd", "context": {
                      "opponent_id": player.opponent.id, "round_id": round_id, "your_standings": record}}
            player.choice = self.ask(player, "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE", conversation,
                                     fields, CHOICE_TIMEOUT, check)

        def both(step):                  # both players at the same time
            threads = [threading.Thread(target=step, args=(player,), daemon=True) for player in (a, b)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        both(invite)
        if not (a.failure or b.failure):
            both(choose)
        result = self.decide(a, b)
        over = self.message("GAME_OVER", conversation, **where, game_type="even_odd",
                            game_result=result, reason=result["reason"])
        both(lambda player: self.notify(player, over, GAME_OVER_TIMEOUT))
        winner = result["winner_player_id"]
        if result["status"] == "DRAW":
            score = {a.id: 1, b.id: 1}
        else:
            score = {p.id: 3 if p.id == winner else 0 for p in (a, b)}
        with self.lock:
            for player_id, points in score.items():
                row = self.table.setdefault(player_id, dict.fromkeys(("wins", "losses", "draws", "points"), 0))
                row[{3: "wins", 1: "draws", 0: "losses"}[points]] += 1
                row["points"] += points
        say(f"{match_id} {result['status']} winner={winner} score={json.dumps(score)} ({result['reason']})")
        self.report(match_id, self.message("MATCH_RESULT_REPORT", f"conv-{match_id.lower()}-report", **where,
                    game_type="even_odd", result={"winner": winner, "score": score, "details": {
                        "drawn_number": result["drawn_number"], "choices": result["choices"],
                        "status": result["status"]}}))

    def decide(self, a, b):
        """State DRAWING_NUMBER: the game_result object."""
        status, winner, number, parity = "TECHNICAL_LOSS", None, None, None
        if a.failure and b.failure:
            reason = f"{a.id} {a.failure}, {b.id} {b.failure} - no winner"
        elif a.failure or b.failure:
            loser = a if a.failure else b
            winner = loser.opponent.id
            reason = f"{loser.id} {loser.failure} - {winner} wins by default"
        else:
            number = secrets.randbelow(10) + 1
            parity = "odd" if number % 2 else "even"
            if a.choice == b.choice:
                status = "DRAW"
                verdict = "correct" if a.choice == parity else "incorrect"
                reason = f"Both chose {a.choice}, number was {number} ({parity}) - both {verdict}"
            else:
                status = "WIN"
                winner = a.id if a.choice == parity else b.id
                reason = f"{winner} chose {parity}, number was {number} ({parity})"
        return {"status": status, "winner_player_id": winner, "drawn_number": number, "number_parity": parity,
                "choices": {a.id: a.choice, b.id: b.choice}, "reason": reason}

    def ask(self, player, kind, wanted, conversation, fields, timeout, check):
        """Send a request until `check` accepts the answer. None (and player.failure set) if it never does.

        No answer (E001, E009): new attempt after RETRY_DELAY with a new time window. An invalid answer:
        GAME_ERROR and a new request inside the same window. At most MAX_RETRIES retries in all.
        """
        retries, answered_badly, window_end = 0, False, 0.0
        while True:
            if not answered_badly:
                window_end, deadline = time.monotonic() + timeout, stamp(timeout)
            if kind == "CHOOSE_PARITY_CALL":
                fields["deadline"] = deadline
            try:
                return check(call(player.endpoint, self.message(kind, conversation, **fields),
                                  window_end - time.monotonic()))
            except Problem as caught:
                problem = caught
            except Exception as caught:      # an answer so odd that checking it failed
                problem = Problem("E003", f"unusable answer ({type(caught).__name__})")
            no_answer = problem.code in ("E001", "E009")
            answered_badly = answered_badly or not no_answer
            delay = RETRY_DELAY if no_answer else 0.0
            left = window_end - time.monotonic()
            again = retries < MAX_RETRIES and (not answered_badly or left > delay)
            retries += again
            complain(f"{fields['match_id']} {player.id} {wanted}: {problem}" + ("" if again else " - giving up"))
            info = {"retry_count": retries, "max_retries": MAX_RETRIES}
            more = {"next_retry_at": stamp(delay)} if no_answer and again else {"time_remaining": round(max(left, 0), 1)}
            error = self.message("GAME_ERROR", conversation, match_id=fields["match_id"], player_id=player.id,
                                 error_code=problem.code, error_name=ERROR_NAMES[problem.code],
                                 error_description=ERROR_NAMES[problem.code], affected_player=player.id,
                                 action_required=wanted, retryable=again, **info, retry_info={**info, **more},
                                 game_state="COLLECTING_CHOICES" if kind == "CHOOSE_PARITY_CALL" else "WAITING_FOR_PLAYERS",
                                 context={"detail": problem.detail},
                                 consequence="Technical loss if max retries exceeded" if again else "Technical loss")
            sender = threading.Thread(target=self.notify, args=(player, error, DEFAULT_TIMEOUT), daemon=True)
            sender.start()
            if not again:
                sender.join(RETRY_DELAY)     # let it arrive before GAME_OVER, but do not wait for long
                player.failure = ("failed to respond within timeout" if problem.code == "E001" else
                                  f"failed to send a valid {wanted} ({problem.code} {ERROR_NAMES[problem.code]})")
                return None
            if no_answer:
                time.sleep(delay)
            else:
                sender.join(max(0.0, min(RETRY_DELAY, left / 2)))

    def notify(self, player, message, timeout):
        try:
            call(player.endpoint, message, timeout)
        except Problem as problem:
            complain(f"{message['match_id']} {player.id} {message['message_type']}: {problem}")

    def report(self, match_id, message):
        for attempt in range(1 + MAX_RETRIES):
            try:
                answer = call(self.manager, message, DEFAULT_TIMEOUT)
                if isinstance(answer, dict) and answer.get("status") not in (None, "ACCEPTED", "ACKNOWLEDGED"):
                    complain(f"report of {match_id}: manager answered {str(answer.get('status'))[:50]}")
                return
            except Problem as problem:
                if problem.rpc_code == 5003 and attempt:     # an earlier attempt had arrived after all
                    return
                complain(f"report of {match_id}: {problem}")
                if problem.rpc_code not in (None, -32603) or attempt == MAX_RETRIES:
                    return
            time.sleep(RETRY_DELAY)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 15
    referee = None

    def do_POST(self):
        request_id, answer, status = None, {}, 200
        try:
            length = self.headers.get("Content-Length", "")
            if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY:
                self.close_connection = True
                raise RpcError(-32600, "Invalid Request", {"detail": "Content-Length missing or too large"})
            body = self.rfile.read(int(length))
            if self.path.split("?")[0].rstrip("/") != "/mcp":
                status = 404
                raise RpcError(-32600, "Invalid Request", {"detail": "the endpoint is /mcp"})
            try:
                request = json.loads(body)
            except (ValueError, RecursionError):
                raise RpcError(-32700, "Parse error") from None
            if not isinstance(request, dict):
                raise RpcError(-32600, "Invalid Request", {"detail": "one request object expected"})
            if isinstance(request.get("id"), (str, int, float)) and not isinstance(request["id"], bool):
                request_id = request["id"]
            elif request.get("id") is not None:
                raise RpcError(-32600, "Invalid Request", {"detail": "id must be a string or a number"})
            if request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
                raise RpcError(-32600, "Invalid Request")
            answer = {"result": self.referee.handle(request["method"], request.get("params"))}
            if "id" not in request:                          # a notification is not answered
                return self.reply(204, b"")
        except RpcError as error:
            answer = {"error": error.body}
            complain(f"request from {self.client_address[0]}: {error} {error.body.get('data', '')}")
        except OSError:
            self.close_connection = True
            raise
        except Exception as error:
            answer = {"error": {"code": -32603, "message": "Internal error"}}
            complain(f"internal: {type(error).__name__}: {error}")
        self.reply(status, json.dumps({"jsonrpc": "2.0", **answer, "id": request_id}).encode())

    def do_GET(self):
        self.close_connection = True
        self.reply(405, json.dumps({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Use POST"}, "id": None}).encode())
    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def reply(self, status, body):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        if status == 405:
            self.send_header("Allow", "POST")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def handle_error(self, request, client_address):
        complain(f"connection from {client_address[0]}: {sys.exc_info()[1]!r}")


def main():
    parser = argparse.ArgumentParser(description="league.v2 referee for even_odd")
    parser.add_argument("--manager", required=True, help="endpoint of the League Manager")
    parser.add_argument("--port", type=int, default=8001, help="0 chooses a free port")
    parser.add_argument("--name", default="Referee Alpha")
    options = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        server = Server((HOST, options.port), Handler)
    except (OSError, OverflowError) as error:
        complain(f"cannot open port {options.port}: {error}")
        return 1
    referee = Handler.referee = Referee(options.manager, options.name, server.server_port)
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    say(f"listening on {server.server_port}")
    if not referee.register():
        return 1
    referee.finished.wait()
    time.sleep(1)
    server.shutdown()
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
