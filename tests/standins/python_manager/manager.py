#!/usr/bin/env python3
"""League manager for the league.v2 protocol (game even_odd, single round-robin).

Standard library only.  Choices made where the documents disagree: see NOTES.md.
"""
import argparse
import itertools
import json
import os
import queue
import re
import secrets
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PROTOCOL, GAME, SENDER = "league.v2", "even_odd", "league_manager"
TIMEOUT, MAX_RETRIES, RETRY_DELAY = 10, 3, 2      # seconds, retries, seconds
BREAKER = 5                                       # failures in a row -> suspended
MAX_BODY = 10 * 1024                              # protocol's message size limit
MAX_IDS = 99                                      # P01..P99, REF01..REF99
MIN_VERSION = (2, 0, 0)
request_ids = itertools.count(1)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def say(*words, file=None):
    text = "".join(c if c.isprintable() else "?" for c in " ".join(map(str, words)))
    print(text, file=file or sys.stdout, flush=True)


def warn(*words):
    say(*words, file=sys.stderr)


class RpcError(Exception):
    """Becomes the JSON-RPC error object of the answer."""
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data or {}}


def league_error(code, message, e_code, name, params, **context):
    """A JSON-RPC error whose data is a LEAGUE_ERROR message."""
    original, conv = params.get("message_type"), params.get("conversation_id")
    return RpcError(code, message, {
        "protocol": PROTOCOL, "message_type": "LEAGUE_ERROR", "sender": SENDER,
        "timestamp": now(), "conversation_id": conv if isinstance(conv, str) else "conv-error",
        "error_code": e_code, "error_name": name, "error_description": name,
        "original_message_type": original if isinstance(original, str) else None,
        "retryable": False, "context": {"action": original, **context}})


def invalid(params, field, problem="missing or of the wrong type"):
    return league_error(-32602, "Invalid params", "E003", "MISSING_REQUIRED_FIELD", params,
                        field=field, problem=problem)


def is_int(value, low=-2**31, high=2**31 - 1):
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def need(params, field, kind, source=None, prefix=""):
    """A required field of the given type; strings must not be empty."""
    value = (params if source is None else source).get(field)
    good = is_int(value) if kind is int else isinstance(value, kind)
    if not good or (kind is str and not value):
        raise invalid(params, prefix + field)
    return value


def is_utc(stamp):
    try:
        return "T" in stamp and datetime.fromisoformat(stamp).utcoffset() == timedelta(0)
    except ValueError:
        return False


def reachable(endpoint):
    """Can a TCP connection to the endpoint be opened?  At most about 6 seconds."""
    parts = urlsplit(endpoint)
    address = (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
    for _ in range(3):
        try:
            socket.create_connection(address, timeout=1.5).close()
            return True
        except (OSError, UnicodeError):
            time.sleep(0.5)
    return False


class Agent:
    """A registered player or referee, with a thread that sends its messages in order."""
    def __init__(self, kind, agent_id, meta):
        self.kind, self.id, self.meta = kind, agent_id, meta
        self.name, self.endpoint = meta["display_name"], meta["contact_endpoint"]
        self.token = f"tok-{agent_id.lower()}-{secrets.token_hex(12)}"
        self.ready = False                     # registration answer has been written
        self.failures = 0                      # consecutive failed attempts
        self.played = self.wins = self.draws = self.losses = 0
        self.outbox = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def points(self):
        return 3 * self.wins + self.draws

    def send(self, method, message):
        """Queue a message; the returned event is set when it was delivered or given up."""
        done = threading.Event()
        self.outbox.put((method, {**message, "timestamp": now(), "auth_token": self.token}, done))
        return done

    def _work(self):
        while True:
            method, params, done = self.outbox.get()
            try:
                self._deliver(method, params)
            except Exception as problem:
                warn(f"error {self.id} {method}: {problem!r}")
            done.set()

    def _deliver(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params,
                           "id": f"req-{next(request_ids):03d}"}).encode()
        for attempt in range(1 + MAX_RETRIES):
            request = urllib.request.Request(self.endpoint, body,
                                             {"Content-Type": "application/json"})
            try:
                with opener.open(request, timeout=TIMEOUT) as answer:
                    reply = answer.read(1 << 16)
            except urllib.error.HTTPError as problem:
                reply = problem.read(1 << 16) or b'{"error": "HTTP %d"}' % problem.code
            except Exception as problem:       # time-out or broken connection: retryable
                late = isinstance(getattr(problem, "reason", problem), TimeoutError)
                self.failures += 1
                warn(f"error {self.id} {method} attempt {attempt + 1}:",
                     "E001 TIMEOUT_ERROR" if late else "E009 CONNECTION_ERROR", problem)
                if attempt == MAX_RETRIES or self.failures >= BREAKER:
                    return                     # suspended agents get a single attempt
                time.sleep(RETRY_DELAY)
                continue
            self.failures = 0
            try:
                reply = json.loads(reply) if reply.strip() else {}
            except (ValueError, RecursionError):
                reply = {"error": "answer is not JSON"}
            if isinstance(reply, dict) and reply.get("error"):
                warn(f"error {self.id} answered {method}: {str(reply['error'])[:200]}")
            return


def round_robin(ids):
    """Circle method; the first round is 1-2, 3-4, ...; with an odd number one rests."""
    ids = list(ids) + [None] * (len(ids) % 2)
    ring = ids[0::2] + ids[1::2][::-1]
    rounds = []
    for _ in range(len(ring) - 1):
        pairs = [(ring[i], ring[-1 - i]) for i in range(len(ring) // 2)]
        rounds.append(sorted(tuple(sorted(p)) for p in pairs if None not in p))
        ring = [ring[0], ring[-1]] + ring[1:-1]
    return rounds


class League:
    def __init__(self, options):
        self.options, self.id = options, options.league
        self.players, self.referees, self.by_token = {}, {}, {}
        self.state = "WAITING_FOR_REGISTRATIONS"
        self.round, self.schedule, self.matches = 0, [], {}
        self.results, self.reported = [], {}       # reported: match_id -> (time, status)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.methods = {   # method: (message type, handler)
            "register_referee": ("REFEREE_REGISTER_REQUEST", self.register_referee),
            "register_player": ("LEAGUE_REGISTER_REQUEST", self.register_player),
            "report_match_result": ("MATCH_RESULT_REPORT", self.report),
            "league_query": ("LEAGUE_QUERY", self.query)}
        for kind, handler in list(self.methods.values()):    # 002:64, method = message type
            self.methods[kind] = self.methods[kind.lower()] = (kind, handler)

    # ---- requests ------------------------------------------------------------------
    def call(self, method, params):
        if not isinstance(method, str) or method not in self.methods:
            raise RpcError(-32601, "Method not found", {"method": str(method)[:100]})
        kind, handler = self.methods[method]
        if not isinstance(params, dict):
            raise invalid({}, "params")
        if params.get("protocol") is not None and params["protocol"] != PROTOCOL:
            raise league_error(-32602, "Invalid params", "E018", "PROTOCOL_VERSION_MISMATCH",
                               params, expected=PROTOCOL)
        for field in ("protocol", "message_type", "sender", "timestamp", "conversation_id"):
            need(params, field, str)
        if params["message_type"] != kind:
            raise invalid(params, "message_type", f"must be {kind} for {method}")
        if not is_utc(params["timestamp"]):
            raise league_error(-32602, "Invalid params", "E021", "INVALID_TIMESTAMP", params,
                               timestamp=params["timestamp"])
        return handler(params)

    def reply(self, params, kind, **fields):
        return {"protocol": PROTOCOL, "message_type": kind, "sender": SENDER,
                "timestamp": now(), "conversation_id": params["conversation_id"], **fields}

    def register_referee(self, params):
        return self.register(params, "referee", self.referees, self.options.referees, "REF")

    def register_player(self, params):
        return self.register(params, "player", self.players, self.options.players, "P")

    def register(self, params, kind, registry, limit, prefix):
        answer = "REFEREE_REGISTER_RESPONSE" if kind == "referee" else "LEAGUE_REGISTER_RESPONSE"
        meta_name, id_name = kind + "_meta", kind + "_id"

        def reject(reason):
            warn(f"rejected {kind} {meta['display_name']}: {reason}")
            return self.reply(params, answer, status="REJECTED", reason=reason, **{id_name: None})

        meta = need(params, meta_name, dict)
        for field in ("display_name", "version", "contact_endpoint"):
            need(params, field, str, meta, meta_name + ".")
        if len(meta["display_name"]) > 50:
            raise invalid(params, meta_name + ".display_name", "longer than 50 characters")
        if not re.match(r"\d+\.\d+\.\d+", meta["version"]):
            raise invalid(params, meta_name + ".version", "must be MAJOR.MINOR.PATCH")
        games = need(params, "game_types", list, meta, meta_name + ".")
        if not games or not all(isinstance(g, str) for g in games):
            raise invalid(params, meta_name + ".game_types")
        if kind == "referee" and not is_int(meta.get("max_concurrent_matches"), 1, 10):
            raise invalid(params, meta_name + ".max_concurrent_matches", "must be 1 to 10")
        try:
            url = urlsplit(meta["contact_endpoint"])
            good = url.scheme in ("http", "https") and url.hostname and url.port != 0
        except ValueError:
            good = False
        if not good:
            raise invalid(params, meta_name + ".contact_endpoint", "must be an HTTP(S) URL")
        version = meta.get("protocol_version")
        if version is not None:
            digits = re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", str(version))
            if not digits or tuple(map(int, digits.groups())) < MIN_VERSION:
                raise league_error(-32602, "Invalid params", "E018",
                                   "PROTOCOL_VERSION_MISMATCH", params, minimum="2.0.0")
        if GAME not in games:
            return reject("Unsupported game type")

        def closed():
            if self.state != "WAITING_FOR_REGISTRATIONS":
                return ("League already started" if kind == "referee" else
                        "Registration closed - league already started")
            if len(registry) >= limit:
                return ("Maximum referees already registered" if kind == "referee" else
                        "Maximum players reached")

        def check():
            if closed():
                return reject(closed())
            if kind == "player" and meta["display_name"] in {p.name for p in registry.values()}:
                raise RpcError(2002, "Duplicate name", {
                    "display_name": meta["display_name"],
                    "suggestion": "Choose a different display_name"})

        with self.lock:
            refused = check()
        if refused:
            return refused
        if not reachable(meta["contact_endpoint"]):       # without the lock: it may take time
            return reject("Endpoint unreachable" if kind == "referee" else
                          "Contact endpoint unreachable")
        with self.lock:
            refused = check()
            if refused:
                return refused
            agent = Agent(kind, f"{prefix}{len(registry) + 1:02d}", meta)
            registry[agent.id] = self.by_token[agent.token] = agent
            say(f"registered {kind} {agent.id} {agent.name}")
            return self.reply(params, answer, status="ACCEPTED", auth_token=agent.token,
                              league_id=self.id, reason=None, **{id_name: agent.id})

    def answered(self, result):
        """A registration answer has been written: start when everybody has got theirs."""
        with self.lock:
            agent = self.by_token.get(result.get("auth_token"))
            if agent:
                agent.ready = True
                self.changed.notify_all()

    def authenticate(self, params, code, kinds):
        token = params.get("auth_token")
        if token is None or token == "":
            raise league_error(code, "Invalid auth token", "E011", "AUTH_TOKEN_MISSING", params)
        agent = self.by_token.get(token) if isinstance(token, str) else None
        if (agent is None or agent.kind not in kinds
                or params["sender"] != f"{agent.kind}:{agent.id}"):
            raise league_error(code, "Invalid auth token", "E012", "AUTH_TOKEN_INVALID", params,
                               provided_token=token, sender=params["sender"],
                               expected_format="tok-{agent_id}-{hash}")
        return agent

    def report(self, params):
        referee = self.authenticate(params, 5001, ("referee",))
        for field, kind in (("league_id", str), ("round_id", int), ("match_id", str),
                            ("game_type", str), ("result", dict)):
            need(params, field, kind)
        match_id = params["match_id"]
        with self.lock:
            match = self.matches.get(match_id)
            if (match is None or params["league_id"] != self.id or match["referee"] != referee.id
                    or match["round_id"] != params["round_id"] or match["round_id"] > self.round):
                raise RpcError(5002, "Match not found", {"match_id": match_id})
            if match_id in self.reported:
                raise RpcError(5003, "Duplicate report", {
                    "match_id": match_id, "previous_report_time": self.reported[match_id][0]})
            if params["game_type"] != GAME:
                raise invalid(params, "game_type", f"must be {GAME}")
            status, winner = self.outcome(params, match)
            for player in (self.players[match["A"]], self.players[match["B"]]):
                player.played += 1
                if status == "DRAW":
                    player.draws += 1
                elif player.id == winner:
                    player.wins += 1
                else:
                    player.losses += 1
            self.reported[match_id] = (now(), status)
            self.results.append({k: v for k, v in params.items() if k != "auth_token"})
            say(f"result {match_id} {match['A']}-{match['B']} {status} winner {winner or '-'}")
            self.broadcast("update_standings", "LEAGUE_STANDINGS_UPDATE",
                           f"conv-round-{self.round}-standings", self.players,
                           round_id=self.round, standings=self.standings())
            self.changed.notify_all()
        return self.reply(params, "MATCH_RESULT_ACK", status="ACCEPTED", match_id=match_id,
                          round_id=match["round_id"])

    @staticmethod
    def outcome(params, match):
        """Check the result object; return (WIN | DRAW | TECHNICAL_LOSS, winner or None)."""
        result, both = params["result"], {match["A"], match["B"]}
        score = need(params, "score", dict, result, "result.")
        details = need(params, "details", dict, result, "result.")
        choices = need(params, "choices", dict, details, "result.details.")
        winner, drawn, status = result.get("winner"), details.get("drawn_number"), details.get("status")
        if "winner" not in result or not (winner is None or isinstance(winner, str) and winner in both):
            raise invalid(params, "result.winner", "must be one of the two players or null")
        if drawn is not None and not is_int(drawn, 1, 10):
            raise invalid(params, "result.details.drawn_number", "must be 1 to 10 or null")
        if not set(choices) <= both or any(c not in ("even", "odd", None) for c in choices.values()):
            raise invalid(params, "result.details.choices", "must be even, odd or null per player")
        if set(score) != both or not all(is_int(points) for points in score.values()):
            raise invalid(params, "result.score", "must be an integer for each of the two players")
        if status is None:            # 000 and 004 have no status field: derive it
            incomplete = drawn is None or any(choices.get(p) is None for p in both)
            status = "TECHNICAL_LOSS" if incomplete else "WIN" if winner else "DRAW"
        if (status not in ("WIN", "DRAW", "TECHNICAL_LOSS")
                or (status == "WIN") > (winner is not None) or status == "DRAW" and winner):
            raise invalid(params, "result.details.status", "does not fit the winner")
        if winner:
            good = all(score[p] == (3 if p == winner else 0) for p in both)
        else:                         # nobody turned up: 0-0, both lose
            good = set(score.values()) == ({1} if status == "DRAW" else {0})
        if not good:
            raise invalid(params, "result.score", "does not fit the winner")
        return status, winner

    def query(self, params):
        sender = self.authenticate(params, 6001, ("player", "referee"))
        need(params, "league_id", str)
        kind = need(params, "query_type", str)
        if params["league_id"] != self.id:
            raise RpcError(6003, "League not found", {"league_id": params["league_id"]})
        wanted = params.get("query_params") or {}
        if not isinstance(wanted, dict):
            raise invalid(params, "query_params")
        with self.lock:
            data = {}
            if kind == "GET_STANDINGS":
                data = {"standings": self.standings(), "current_round": self.round}
            elif kind == "GET_STATUS":
                data = {"league_id": self.id, "status": self.state, "current_round": self.round,
                        "total_rounds": len(self.schedule), "total_matches": len(self.matches),
                        "matches_completed": len(self.reported)}
            elif kind == "GET_SCHEDULE":
                number = wanted.get("round_id")
                if number is not None and not is_int(number):
                    raise invalid(params, "query_params.round_id")
                data = {"schedule": [{"round_id": r, "matches": self.announced(r)}
                                     for r in range(1, len(self.schedule) + 1)
                                     if number in (None, r)]}
            elif kind in ("GET_NEXT_MATCH", "GET_PLAYER_STATS"):
                who = wanted.get("player_id", sender.id if sender.kind == "player" else None)
                if not isinstance(who, str):
                    raise invalid(params, "query_params.player_id")
                if who not in self.players:
                    return self.reply(params, "LEAGUE_QUERY_RESPONSE", query_type=kind, success=False, error={
                        "error_code": "E005", "error_name": "PLAYER_NOT_REGISTERED",
                        "error_description": f"Player ID {who} not found in registry"})
                if kind == "GET_PLAYER_STATS":
                    data = {"player_stats": next(row for row in self.standings()
                                                 if row["player_id"] == who)}
                else:
                    data = {"next_match": next((
                        {"match_id": key, "round_id": m["round_id"],
                         "opponent_id": m["B"] if m["A"] == who else m["A"],
                         "referee_endpoint": self.referees[m["referee"]].endpoint}
                        for key, m in self.matches.items()
                        if who in (m["A"], m["B"]) and key not in self.reported), None)}
            else:
                raise RpcError(6002, "Invalid query type", {"query_type": kind})
            # 001 has the fields of the answer at the top, 000 and 004 inside `data`: both
            return self.reply(params, "LEAGUE_QUERY_RESPONSE", **data, query_type=kind,
                              success=True, data=data)

    # ---- the league itself -----------------------------------------------------------
    def standings(self):
        table = sorted(self.players.values(), key=lambda p: (-p.points, -p.wins, p.id))
        return [{"rank": rank, "player_id": p.id, "display_name": p.name, "played": p.played,
                 "wins": p.wins, "draws": p.draws, "losses": p.losses, "points": p.points}
                for rank, p in enumerate(table, 1)]

    def announced(self, number, for_referee=False):
        matches = []
        for match_id in self.schedule[number - 1]:
            m = self.matches[match_id]
            entry = {"match_id": match_id, "game_type": GAME, "player_A_id": m["A"],
                     "player_B_id": m["B"],
                     "referee_endpoint": self.referees[m["referee"]].endpoint}
            if for_referee:
                entry.update(referee_id=m["referee"],
                             player_A_endpoint=self.players[m["A"]].endpoint,
                             player_B_endpoint=self.players[m["B"]].endpoint)
            matches.append(entry)
        return matches

    def broadcast(self, method, kind, conversation, agents, **fields):
        message = {"protocol": PROTOCOL, "message_type": kind, "sender": SENDER,
                   "conversation_id": conversation, "league_id": self.id, **fields}
        return [agent.send(method, message) for agent in agents.values()]

    def create_schedule(self):
        for number, pairs in enumerate(round_robin(self.players), 1):
            load = dict.fromkeys(self.referees, 0)
            self.schedule.append([])
            for position, (a, b) in enumerate(pairs, 1):
                # the least busy referee, those below their limit first
                referee = min(load, key=lambda r: (
                    load[r] >= self.referees[r].meta["max_concurrent_matches"], load[r]))
                load[referee] += 1
                match_id = f"R{number}M{position}"
                self.schedule[-1].append(match_id)
                self.matches[match_id] = {"round_id": number, "A": a, "B": b, "referee": referee}

    def everybody_here(self):
        agents = [*self.players.values(), *self.referees.values()]
        return (len(self.players) == self.options.players and all(a.ready for a in agents)
                and len(self.referees) == self.options.referees)

    def run(self):
        with self.changed:
            self.changed.wait_for(self.everybody_here)
            self.state = "CREATING_SCHEDULE"
            self.create_schedule()
            self.state = "RUNNING_LEAGUE"
        time.sleep(0.3)              # the last agent may still be storing its token
        for number in range(1, len(self.schedule) + 1):
            self.play_round(number)
        self.finish()

    def play_round(self, number):
        conversation, ids = f"conv-round-{number}-announce", self.schedule[number - 1]
        begin = time.monotonic() + self.options.lead
        sent = self.broadcast("notify_round", "ROUND_ANNOUNCEMENT", conversation, self.players,
                              round_id=number, matches=self.announced(number))
        for done in sent:            # 001:499, first all players acknowledge (or are given up)
            done.wait()
        time.sleep(max(0, begin - time.monotonic()))
        with self.changed:
            self.round = number      # from here on results of this round are accepted
            self.broadcast("notify_round", "ROUND_ANNOUNCEMENT", conversation, self.referees,
                           round_id=number, matches=self.announced(number, for_referee=True))
            self.changed.wait_for(lambda: all(m in self.reported for m in ids))
            statuses = [self.reported[m][1] for m in ids]
            self.broadcast(
                "notify_round_completed", "ROUND_COMPLETED", f"conv-round-{number}-complete",
                {**self.players, **self.referees}, round_id=number, matches_played=len(ids),
                matches_completed=len(ids),
                next_round_id=number + 1 if number < len(self.schedule) else None,
                summary={"total_matches": len(ids), "wins": statuses.count("WIN"),
                         "draws": statuses.count("DRAW"),
                         "technical_losses": statuses.count("TECHNICAL_LOSS")})

    def finish(self):
        with self.lock:
            self.state = "LEAGUE_COMPLETED"
            table = self.standings()
            sent = self.broadcast(
                "notify_league_completed", "LEAGUE_COMPLETED", "conv-league-complete",
                {**self.players, **self.referees}, total_rounds=len(self.schedule),
                total_matches=len(self.matches), final_standings=table,
                champion={k: table[0][k] for k in ("player_id", "display_name", "points")})
            try:
                with open(self.options.out + ".tmp", "w", encoding="utf-8") as file:
                    json.dump({"standings": table, "results": self.results}, file, indent=2)
                os.replace(self.options.out + ".tmp", self.options.out)
            except OSError as problem:
                warn(f"error writing {self.options.out}: {problem}")
        limit = time.monotonic() + TIMEOUT
        for done in sent:
            done.wait(max(0, limit - time.monotonic()))
        say("champion", table[0]["display_name"])


class Handler(BaseHTTPRequestHandler):
    protocol_version, timeout, disable_nagle_algorithm = "HTTP/1.1", 30, True

    def log_message(self, *_):
        pass

    def answer(self, http_status, message):
        body = json.dumps(message).encode()
        self.send_response(http_status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, http_status, code, text, **data):
        self.close_connection = True             # the body may not have been read
        self.answer(http_status, {"jsonrpc": "2.0", "id": None,
                                  "error": {"code": code, "message": text, "data": data}})

    def do_GET(self):
        self.refuse(405, -32600, "Invalid Request", reason="use POST /mcp")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def read_body(self):
        """The body of the request, or None if it is too large."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            length = int(self.headers.get("Content-Length") or 0)
            if length < 0:
                raise ValueError("negative Content-Length")
            return self.rfile.read(length) if length <= MAX_BODY else None
        body = b""
        while True:
            size = int(self.rfile.readline(100).split(b";")[0], 16)
            if size < 0 or len(body) + size > MAX_BODY:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(100)
            if size == 0:
                return body

    def do_POST(self):
        try:
            if urlsplit(self.path).path.rstrip("/") != "/mcp":
                return self.refuse(404, -32600, "Invalid Request", reason="use POST /mcp")
            body = self.read_body()
            if body is None:
                return self.refuse(413, -32600, "Invalid Request", reason="more than 10 KB")
            request = json.loads(body)
        except (ValueError, RecursionError):
            return self.refuse(200, -32700, "Parse error")
        message = {"jsonrpc": "2.0"}
        request_id = request.get("id") if isinstance(request, dict) else None
        if isinstance(request_id, bool) or not isinstance(request_id, (str, int, float)):
            request_id = None
        try:
            if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or request_id is None:
                raise RpcError(-32600, "Invalid Request",
                               {"reason": "jsonrpc 2.0, method, params and id are required"})
            message["result"] = self.server.league.call(request.get("method"), request.get("params"))
        except RpcError as problem:
            message["error"] = problem.error
            warn(f"error answered {str(request)[:120]}: {problem.error['code']} {problem}")
        except Exception as problem:
            message["error"] = {"code": -32603, "message": "Internal error", "data": {}}
            warn(f"error internal {problem!r}")
        message["id"] = request_id
        try:
            self.answer(200, message)
        finally:
            self.server.league.answered(message.get("result", {}))


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128

    def handle_error(self, request, client_address):
        warn(f"error connection {client_address}: {sys.exc_info()[1]!r}")


def main():
    parser = argparse.ArgumentParser(description="league.v2 league manager")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--referees", type=int, default=1)
    parser.add_argument("--lead", type=float, default=60)
    parser.add_argument("--league", default="league_2025_even_odd")
    parser.add_argument("--out", default="standings.json")
    options = parser.parse_args()
    if not 2 <= options.players <= MAX_IDS or not 1 <= options.referees <= MAX_IDS:
        parser.error("2 to 99 players and 1 to 99 referees")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    server = Server(("127.0.0.1", options.port), Handler)
    server.league = League(options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say("listening on", server.server_address[1])
    server.league.run()
    time.sleep(2)


if __name__ == "__main__":
    main()
