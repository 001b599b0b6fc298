"""Whatever can be asked of a manager, rightly and wrongly, as small pieces of data that a test can draw and shrink.

An ``Ask`` names a method, the asking agent, what it is about, and how it is asked: ``right``, or wrong in one way.
What that is on the wire depends on the state of the league, and on what the agents of the ``Crowd`` have got so far.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from leaguekit.league.records import Match
from leaguekit.protocol.fields import QUERY_TYPES
from tests.agents.leagues import ADMIN, LEAGUE, MANAGER_URL, Hall, Json, Reply, Scripted, changed, drawn, raw, won
from tests.agents.leagues import lost_by_silence as lost

PLAYERS, REFEREES = 4, 2
AGENTS = PLAYERS + REFEREES
ELSEWHERE = "10.0.0.7"

HOWS: dict[str, tuple[str, ...]] = {
    "register": (
        *("right", "right", "token", "stolen", "again", "name", "evil", "address", "manager", "nowhere", "game", "old"),
        *("seat", "no seat", "afar", "code", "broken"),
    ),
    "report": (
        *("right", "right", "draw", "loss", "failures", "attempt", "round", "score", "choices", "nobody", "unknown"),
        *("anonymous", "stolen", "as another", "league", "broken"),
    ),
    "void": ("right", "attempt", "unknown", "anonymous", "stolen", "as another", "league"),
    "progress": ("right", "attempt", "unknown", "anonymous", "stolen", "broken"),
    "transcript": ("right", "attempt", "unknown", "anonymous", "stolen", "as another"),
    "query": (*QUERY_TYPES, "GET_RICH", "unknown", "anonymous", "stolen", "as another", "league"),
    "operate": (
        *(
            "start",
            "start",
            "pause",
            "resume",
            "withdraw",
            "disqualify",
            "rematch",
            "correct",
            "draw",
            "none",
            "nonsense",
        ),
        *("status", "standings", "schedule", "agents", "query", "seats", "seats_new", "seats_revoke", "token_rotate"),
        *("token_rotate_admin", "token_rotate_referee_code", "no token", "wrong token", "unknown", "broken"),
    ),
    "ping": ("right",),
    "garbage": (
        *("", "{", "[]", "null", "7", '"x"', "{}", "[1,2]", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":7,"id":1}'),
        *('{"jsonrpc":"1.0","method":"ping","id":1}', '{"jsonrpc":"2.0","method":"nothing","params":{},"id":"a"}'),
        *(
            "[" * 5_000,
            '{"jsonrpc":"2.0","method":"league_query","params":[],"id":1.5}',
            "x" * 20_000,
            "\ud800",
            "\x00",
        ),
        *('{"jsonrpc":"2.0","method":"register_player","params":null,"id":null}', '[{"jsonrpc":"2.0"}]'),
    ),
}


class Ask(NamedTuple):
    """A request: ``who`` sends it, ``about`` is a match or another agent; both are taken modulo what there is."""

    method: str
    how: str
    who: int = 0
    about: int = 0


class Sent(NamedTuple):
    """A request as it goes over the wire, with where it comes from."""

    method: str
    params: Any
    query: str = ""
    host: str = "127.0.0.1"


async def mute(_agent: Scripted, _call: Json) -> bytes:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError


class Always(dict[str, Reply]):
    """One reply to everything."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def get(self, _kind: str, _default: Any = None) -> Reply:
        return self._reply


MOODS: dict[str, Callable[[], dict[str, Reply]]] = {
    "good": dict,
    "mute": lambda: Always(mute),
    "mad": lambda: Always(raw(b"<html>")),
    "unwilling": lambda: {"MATCH_ASSIGNMENT": changed(status="REJECTED", reason="\x1b[31mno")},
}


class Crowd:
    """Some agents that a league may or may not know, and what they have been given."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.agents = [Scripted(hall, "player", number, {}) for number in range(1, PLAYERS + 1)]
        self.agents += [Scripted(hall, "referee", number, {}) for number in range(1, REFEREES + 1)]
        for agent in self.agents:
            hall.network.listen(agent.url, agent.handle)
        self.asked: dict[Scripted, Json] = {}
        self.seats: list[str] = []
        self.referee_code = "0000-0000-0000-0000"
        self.admin = ADMIN
        # Whose token is whose, and every secret that was ever given out.
        self.owners: dict[str, str] = {}
        self.secrets: set[str] = {ADMIN}

    def agent(self, number: int) -> Scripted:
        return self.agents[number % AGENTS]

    def match(self, number: int) -> Match | None:
        matches = list(self.hall.league.matches.values())
        return matches[number % len(matches)] if matches else None

    def compose(self, ask: Ask) -> Sent:
        """What goes over the wire."""
        if ask.method == "register":
            return self._registration(ask)
        if ask.method == "operate":
            return Sent("operator", self._operation(ask))
        if ask.method == "query":
            return Sent("league_query", self._query(ask))
        if ask.method == "ping":
            return Sent("ping", {})
        return getattr(self, f"_{ask.method}")(ask)

    # Registrations

    def _registration(self, ask: Ask) -> Sent:
        agent, other = self.agent(ask.who), self.agent(ask.about)
        number = int(agent.url.rpartition(":")[2].partition("/")[0]) % 100
        meta = {
            "name": {"display_name": f"{agent.role.upper()} {ask.about % AGENTS + 1}"},
            "evil": {"display_name": "Al\u202eice"},
            "address": {"contact_endpoint": other.url},
            "manager": {"contact_endpoint": MANAGER_URL},
            "nowhere": {"contact_endpoint": "http://127.0.0.1:9/mcp"},
            "game": {"game_types": ["chess"]},
            "old": {"protocol_version": "1.9.0"},
            "broken": {"display_name": ...},
        }.get(ask.how, {})
        token = {"token": agent.token, "stolen": other.token}.get(ask.how)
        params = self.hall.registration(agent.role, number, meta, **({"auth_token": token} if token else {}))
        if ask.how == "again":
            params = self.asked.get(agent, params)
        self.asked[agent] = params
        query = {
            "seat": f"seat={self.seats[ask.about % len(self.seats)]}" if self.seats else "seat=",
            "no seat": "seat=0000-0000-0000-0000",
            "code": f"referee={self.referee_code}",
        }.get(ask.how, "")
        host = ELSEWHERE if ask.how in ("afar", "code") else "127.0.0.1"
        return Sent(f"register_{agent.role}", params, query, host)

    def given(self, ask: Ask, result: Json) -> None:
        """Take what an answer gives out."""
        if ask.method == "register" and result.get("status") == "ACCEPTED":
            agent = self.agent(ask.who)
            agent.id, agent.token = result[f"{agent.role}_id"], result["auth_token"]
            self.secrets.add(agent.token)
            self.owners[agent.token] = agent.id
        if ask.method == "operate":
            new = [seat["code"] for seat in result.get("seats", ()) if "code" in seat]
            seat = result.get("seat")
            new += [seat["code"]] if isinstance(seat, dict) and seat["code"] else []
            self.seats += new
            self.referee_code = result.get("referee_code", self.referee_code)
            self.admin = result.get("admin_token", self.admin)
            self.secrets |= {*new, self.admin, *([self.referee_code] if "referee_code" in result else [])}

    # Referees' messages

    def _report(self, ask: Ask) -> Sent:
        match, fields = self._of_match(ask)
        a, b = ("P01", "P02") if match is None else match.players
        result = {
            "draw": drawn(a, b),
            "loss": lost(a, b, failures=4),
            "failures": won(b, a, failures={a: 3, b: 0}),
            "score": won(a, b) | {"score": {a: 3, b: 3}},
            "choices": won(a, b) | {"details": won(b, a)["details"]},
            "nobody": won("P98", "P99"),
        }.get(ask.how, won(a, b))
        broken = {"result": None} if ask.how == "broken" else {}
        fields |= {"round_id": 99} if ask.how == "round" else {}
        return self._sent("report_match_result", "MATCH_RESULT_REPORT", ask, fields | {"result": result} | broken)

    def _void(self, ask: Ask) -> Sent:
        fields = self._of_match(ask)[1]
        return self._sent("report_match_void", "MATCH_VOID_REPORT", ask, fields | {"reason": "late\x1b[2J"})

    def _progress(self, ask: Ask) -> Sent:
        fields = self._of_match(ask)[1] | {"stage": "COLLECTING_CHOICES", "entered_at": self.hall.timestamp}
        broken = {"stage": "ASLEEP"} if ask.how == "broken" else {}
        return self._sent("report_match_progress", "MATCH_PROGRESS", ask, fields | broken)

    def _transcript(self, ask: Ask) -> Sent:
        fields = self._of_match(ask)[1] | {"entries": [{"seconds": 0.5, "what": "ruled", "note": "\x1b[2J"}]}
        return self._sent("transcript", "MATCH_TRANSCRIPT", ask, fields)

    def _of_match(self, ask: Ask) -> tuple[Match | None, Json]:
        match = None if ask.how == "unknown" else self.match(ask.about)
        fields = {
            "league_id": LEAGUE if ask.how != "league" else "another",
            "round_id": 1 if match is None else match.round_id,
            "match_id": "R9M9" if match is None else match.id,
            "game_type": "even_odd",
            "attempt": 1 if match is None else max(1, match.attempt) + (ask.how == "attempt"),
        }
        return match, fields

    def _sent(self, method: str, message_type: str, ask: Ask, fields: Json) -> Sent:
        return Sent(method, self._message(message_type, ask, self._referee(ask), fields))

    def _referee(self, ask: Ask) -> Scripted:
        """The referee of the match if ``who`` is even; otherwise one of the referees, or anybody."""
        match = self.match(ask.about)
        assigned = [one for one in self.agents if match is not None and one.id == match.referee_id]
        if ask.who % 2 == 0 and assigned:
            return assigned[0]
        return self.agents[PLAYERS + ask.who // 4 % REFEREES] if ask.who % 4 == 1 else self.agent(ask.who)

    def _message(self, message_type: str, ask: Ask, agent: Scripted, fields: Json) -> Json:
        other = self.agent(ask.who + 1)
        identity = {
            "anonymous": {"auth_token": ...},
            "stolen": {"auth_token": other.token or "tok-nobody"},
            "as another": {"sender": other.sender},
        }.get(ask.how, {})
        return agent.message(message_type, **{"auth_token": agent.token or "tok-none"} | fields | identity)

    def _query(self, ask: Ask) -> Json:
        kind = ask.how if ask.how.startswith("GET_") else QUERY_TYPES[ask.about % len(QUERY_TYPES)]
        about = "P77" if ask.how == "unknown" else self.agent(ask.about).id
        fields = {
            "league_id": LEAGUE if ask.how != "league" else "another",
            "query_type": kind,
            "query_params": {"player_id": about} if about.startswith("P") else {"round_id": 1},
        }
        return self._message("LEAGUE_QUERY", ask, self.agent(ask.who), fields)

    # The operator

    def _operation(self, ask: Ask) -> Any:
        match, agent = self.match(ask.about), self.agent(ask.who)
        name = {"draw": "correct", "none": "correct", "nonsense": "correct", "unknown": "withdraw", "no token": "start"}
        command = {**name, "wrong token": "token_rotate", "broken": 7}.get(ask.how, ask.how)
        token = {"no token": "", "wrong token": f"{self.admin}x"}.get(ask.how, self.admin)
        outcomes = {"correct": "P01" if match is None else match.players[ask.who % 2], "nonsense": "P99"}
        return {
            "command": command,
            "admin_token": token,
            "player_id": "P77" if ask.how == "unknown" else agent.id,
            "agent_id": agent.id,
            "match_id": "R9M9" if match is None else match.id,
            "outcome": outcomes.get(ask.how, ask.how),
            "query_type": QUERY_TYPES[ask.about % len(QUERY_TYPES)],
            "count": ask.about % 3,
            "seat": self.seats[ask.about % len(self.seats)] if self.seats else "S01",
            "reason": "a reason\x1b[31m",
        }


def body(sent: Sent, call_id: object = ...) -> bytes:
    """A request, or a notification if it has no id."""
    identified = {} if call_id is ... else {"id": call_id}
    return json.dumps({"jsonrpc": "2.0", "method": sent.method, "params": sent.params, **identified}).encode()
