"""A league between real processes, with the recorder in between; ``tests/test_wire.py`` looks at what was said.

Three of the players are ours, the fourth is written by hand: it answers ``Even`` once, is silent once, shows a wrong
token once, acknowledges nothing in the end, and asks the manager everything that can be asked, rightly and wrongly. It
takes its time to answer what the manager sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from leaguekit.protocol.tokens import player_to_referee, signing_key
from tests.programs import Program
from tests.recorder import Exchange, Moment, NoConnection, Port, Recorder, Watcher, read_http

MANAGER = "league_manager"
REFEREES = ["REF01", "REF02"]
OURS = ["P01", "P02", "P03"]
CLUMSY = "P04"
PLAYERS = [*OURS, CLUMSY]
STRATEGIES = ["always_even", "alternating", "random"]
LEAGUE = "league_on_the_wire"
LAST_ROUND = 3
# How long the player by hand takes to answer a broadcast.
SLOW_SECONDS = 0.05
# Callers whom the league does not know.
STRANGER = "stranger"
WRONG_TOKEN = "tok-p04-wrong"
SETTINGS = """
join_seconds = 2.0
choice_seconds = 2.0
retry_seconds = 0.3
announce_lead = 0.0
"""


class Spoken(NamedTuple):
    """One message as it passed, a request's or an answer's."""

    value: dict[str, Any]
    sender: str
    receiver: str
    when: Moment
    exchange: Exchange
    is_answer: bool

    @property
    def kind(self) -> str:
        return self.value["message_type"]


@dataclass(repr=False)
class Wire:
    """What is left of a league that was played: everything that was said, and what the programs wrote."""

    exchanges: list[Exchange] = field(default_factory=list)
    exit_codes: dict[str, int] = field(default_factory=dict)
    data: Path = Path()

    @property
    def calls(self) -> list[Exchange]:
        """What went to /mcp, in the order in which it was sent."""
        return [one for one in self.exchanges if one.path == "/mcp"]

    def sent(self, kind: str, receiver: str | None = None, **having: Any) -> list[Exchange]:
        """The requests that carried such a message, in order."""
        return [
            one
            for one in self.calls
            if one.kind == kind
            and receiver in (None, one.receiver)
            and all(one.message.get(name) == value for name, value in having.items())
        ]

    @property
    def spoken(self) -> Iterator[Spoken]:
        """Every message, requests and answers, in order."""
        both = []
        for one in self.exchanges:
            if "message_type" in one.message:
                both.append(Spoken(one.message, one.sender, one.receiver, one.sent, one, is_answer=False))
            if one.answered is not None and "message_type" in one.result:
                both.append(Spoken(one.result, one.receiver, one.sender, one.answered, one, is_answer=True))
        return iter(sorted(both, key=lambda spoken: spoken.when))

    def heard_by(self, agent: str) -> Iterator[tuple[bytes, Exchange]]:
        """All bytes that were sent to an agent: requests, and answers to its own."""
        for one in self.exchanges:
            if one.receiver == agent:
                yield one.request.head + one.request.body, one
            if one.sender == agent and one.answer is not None:
                yield one.answer.head + one.answer.body, one

    @property
    def matches(self) -> dict[str, dict[str, Any]]:
        """All matches by their id, as they were announced to the players."""
        announced = self.sent("ROUND_ANNOUNCEMENT", "P01")
        return {
            one["match_id"]: one | {"round_id": each.message["round_id"]}
            for each in announced
            for one in each.message["matches"]
        }

    def tokens(self) -> dict[str, str]:
        """The token that each agent was given."""
        taken = [one.result for one in self.calls if str(one.kind).endswith("REGISTER_REQUEST")]
        return {
            answer.get("player_id") or answer["referee_id"]: answer["auth_token"]
            for answer in taken
            if answer["status"] == "ACCEPTED"
        }


class BothAtOnce(Watcher):
    """Keeps the first answers to a match's invitations and calls back until both players have been asked.

    A referee that asked them one after the other would wait for ever.
    """

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._both: dict[tuple[str, str], asyncio.Event] = defaultdict(asyncio.Event)

    def asked(self, exchange: Exchange) -> None:
        if (key := self._key(exchange)) is not None:
            self._asked[key].add(exchange.receiver)
            if len(self._asked[key]) == 2:
                self._both[key].set()

    async def answered(self, exchange: Exchange) -> None:
        if (key := self._key(exchange)) is not None:
            await self._both[key].wait()

    def _key(self, exchange: Exchange) -> tuple[str, str] | None:
        asks = exchange.kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL")
        return (str(exchange.kind), exchange.message["match_id"]) if asks else None


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Clumsy:
    """A player by hand, on a socket of its own, which makes one mistake in each of its three matches."""

    def __init__(self, port: Port, manager: Port) -> None:
        self._port = port
        self._manager = manager
        self._ids = count(1)
        self.mistakes = {"CHOOSE_PARITY_CALL 1": self._shout, "CHOOSE_PARITY_CALL 2": self._be_silent}
        self.mistakes["GAME_INVITATION 3"] = self._show_a_wrong_token
        self.registered = asyncio.Event()
        self.round_over = asyncio.Event()
        self.league_over = asyncio.Event()
        self.token = ""

    async def serve(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port.leads_to(server.sockets[0].getsockname()[1])
        return server

    def envelope(self, kind: str, conversation: str, sender: str = f"player:{CLUMSY}") -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": sender,
            "timestamp": now(),
            "conversation_id": conversation,
        }

    async def ask(self, method: str, message: dict[str, Any], to: Port | None = None) -> dict[str, Any]:
        """A JSON-RPC call to the manager."""
        call = {"jsonrpc": "2.0", "method": method, "params": message, "id": next(self._ids)}
        body = json.dumps(call).encode()
        head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        reader, writer = await asyncio.open_connection("127.0.0.1", (to or self._manager).number)
        writer.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + body)
        answer = await read_http(reader)
        writer.close()
        await writer.wait_closed()
        return json.loads(answer.body)

    async def register(self) -> None:
        message = self.registration("Clumsy", self._port.url)
        answer = await self.ask("register_player", message)
        assert answer["result"]["player_id"] == CLUMSY, answer
        self.token = answer["result"]["auth_token"]
        self.registered.set()

    def registration(self, name: str, endpoint: str) -> dict[str, Any]:
        return self.envelope("LEAGUE_REGISTER_REQUEST", f"conv-{name.lower()}-reg", f"player:{name.lower()}") | {
            "player_meta": {
                "display_name": name,
                "version": "1.0.0",
                "protocol_version": "2.1.0",
                "game_types": ["even_odd"],
                "contact_endpoint": endpoint,
            }
        }

    async def query(self, query_type: str, token: str, sender: str = f"player:{CLUMSY}", **params: Any) -> None:
        message = self.envelope("LEAGUE_QUERY", f"conv-query-{next(self._ids)}", sender)
        message |= {"auth_token": token, "league_id": LEAGUE, "query_type": query_type, "query_params": params}
        await self.ask("league_query", message)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(NoConnection, ConnectionError):
            while True:
                call = json.loads((await read_http(reader)).body)
                answer = json.dumps({"jsonrpc": "2.0", "result": await self._answer(call), "id": call["id"]}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(answer), answer))
        writer.close()

    async def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        came = call["params"]
        if call["method"] == "ping":
            return {}
        # The first announcement may overtake the answer to the registration.
        await self.registered.wait()
        answer = self.envelope(ANSWERS[came["message_type"]], came["conversation_id"])
        answer |= {"player_id": CLUMSY, "auth_token": self._token_for(came)}
        answer |= {name: came[name] for name in ("round_id", "match_id") if name in came}
        match came["message_type"]:
            case "GAME_INVITATION":
                answer |= {"arrival_timestamp": now(), "accept": True}
            case "CHOOSE_PARITY_CALL":
                answer["parity_choice"] = "odd"
            case _:
                answer["status"] = "ACKNOWLEDGED"
        mistake = self.mistakes.pop(f"{came['message_type']} {came.get('round_id')}", None)
        if mistake is not None:
            await mistake(answer)
        if came["sender"] == MANAGER:
            await asyncio.sleep(SLOW_SECONDS)
        if came["message_type"] == "ROUND_COMPLETED":
            self.round_over.set()
        if came["message_type"] == "LEAGUE_COMPLETED":
            self.league_over.set()
        # In the last round it acknowledges nothing: the documents do not agree on whether it must.
        is_silent = answer.get("status") == "ACKNOWLEDGED" and came.get("round_id", LAST_ROUND) == LAST_ROUND
        return {} if is_silent else answer

    def _token_for(self, came: dict[str, Any]) -> str:
        """The real token to the manager, and to a referee one that was made for it and the match."""
        if came["sender"] == MANAGER:
            return self.token
        key = signing_key(self.token)
        return player_to_referee(key, LEAGUE, came["match_id"], 1, came["sender"].rpartition(":")[2])

    async def _shout(self, answer: dict[str, Any]) -> None:
        answer["parity_choice"] = "Even"

    async def _be_silent(self, _answer: dict[str, Any]) -> None:
        # Until the league is over: that is longer than any time limit.
        await self.league_over.wait()

    async def _show_a_wrong_token(self, answer: dict[str, Any]) -> None:
        answer["auth_token"] = WRONG_TOKEN


ANSWERS = {
    "ROUND_ANNOUNCEMENT": "ROUND_ANNOUNCEMENT_ACK",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
    "ROUND_COMPLETED": "ROUND_COMPLETED_ACK",
    "LEAGUE_COMPLETED": "LEAGUE_COMPLETED_ACK",
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_OVER": "GAME_OVER_ACK",
    "GAME_ERROR": "GAME_ERROR_ACK",
}


async def play(folder: Path) -> Wire:
    """Play the league, and end every process."""
    (folder / "league.toml").write_text(SETTINGS)
    recorder = Recorder(BothAtOnce())
    wire = Wire(recorder.exchanges, data=folder / "SHARED")
    with ExitStack() as running:
        try:
            async with asyncio.timeout(60):
                await _play(wire, recorder, folder, running)
        finally:
            await recorder.close()
    return wire


async def _play(wire: Wire, recorder: Recorder, folder: Path, running: ExitStack) -> None:
    def start(*arguments: str) -> Program:
        return running.enter_context(Program(*arguments, "--port", "0", "--data-dir", str(wire.data)))

    manager = start(
        "manager", "--league-id", LEAGUE, "--config", str(folder / "league.toml"), "--announce-lead", "0",
        "--start-when", "players=4,referees=2",
    )  # fmt: skip
    agents = [*REFEREES, *PLAYERS]
    before = {name: await recorder.port(name) for name in agents}
    to_manager = {name: await recorder.port(MANAGER, name) for name in [*agents, STRANGER]}
    programs = {
        name: start("referee", "--name", f"Referee {name}", "--endpoint", before[name].url, "--manager", port.url)
        for name, port in to_manager.items()
        if name in REFEREES
    }
    for name, strategy in zip(OURS, STRATEGIES, strict=True):
        programs[name] = start(
            "player", "--name", f"{strategy} {name}", "--strategy", strategy, "--endpoint", before[name].url,
            "--manager", to_manager[name].url,
        )  # fmt: skip
    clumsy = Clumsy(before[CLUMSY], to_manager[CLUMSY])
    served = await clumsy.serve()
    listens_at = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
    for name, program in programs.items():
        before[name].leads_to(int((await asyncio.to_thread(program.said, r"listens at port (\d+)"))[1]))
    to_manager[STRANGER].leads_to(listens_at)
    await _register_where_nobody_listens(clumsy, to_manager[STRANGER])
    # One after the other, referees first, so that ids are known: each hears of the manager when it is its turn.
    for name, program in programs.items():
        to_manager[name].leads_to(listens_at)
        await asyncio.to_thread(program.said, "is registered")
    to_manager[CLUMSY].leads_to(listens_at)
    await clumsy.register()
    await clumsy.round_over.wait()
    await _ask_everything(clumsy, wire, to_manager)
    for name, program in programs.items():
        wire.exit_codes[name] = await asyncio.to_thread(program.ended)
    await asyncio.to_thread(manager.said, "The league is over")
    await clumsy.league_over.wait()
    await clumsy.query("GET_NEXT_MATCH", clumsy.token, player_id=CLUMSY)
    served.close()
    manager.process.terminate()
    wire.exit_codes[MANAGER] = await asyncio.to_thread(manager.ended)


async def _register_where_nobody_listens(clumsy: Clumsy, manager: Port) -> None:
    with socket.socket() as deaf:
        # Bound, so that nobody else takes it, but not listening.
        deaf.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp"
        as_player = clumsy.registration("Nobody", endpoint)
        await clumsy.ask("register_player", as_player, manager)
        as_referee = clumsy.envelope("REFEREE_REGISTER_REQUEST", "conv-nobody-ref-reg", "referee:nobody")
        as_referee["referee_meta"] = as_player["player_meta"] | {"max_concurrent_matches": 2}
        await clumsy.ask("register_referee", as_referee, manager)


async def _ask_everything(clumsy: Clumsy, wire: Wire, to_manager: dict[str, Port]) -> None:
    """Queries of every type, an answer without success, and errors of the league."""
    await clumsy.query("GET_STANDINGS", clumsy.token)
    await clumsy.query("GET_SCHEDULE", clumsy.token, round_id=1)
    await clumsy.query("GET_NEXT_MATCH", clumsy.token, player_id=CLUMSY)
    await clumsy.query("GET_PLAYER_STATS", clumsy.token, player_id="P01")
    await clumsy.query("GET_STATUS", clumsy.token)
    await clumsy.query("GET_PLAYER_STATS", clumsy.token, player_id="P99")
    await clumsy.query("GET_STANDINGS", WRONG_TOKEN)
    # In the place of a referee, whose own program never asks.
    query = clumsy.envelope("LEAGUE_QUERY", "conv-query-ref01", "referee:REF01")
    query |= {"league_id": LEAGUE, "query_type": "GET_STATUS", "query_params": {}}
    await clumsy.ask("league_query", query | {"auth_token": wire.tokens()["REF01"]}, to_manager["REF01"])
    report = wire.sent("MATCH_RESULT_REPORT", round_id=1)[0].message
    of_match = {name: report[name] for name in ("league_id", "round_id", "match_id", "attempt")}
    conversation = report["conversation_id"]
    progress = clumsy.envelope("MATCH_PROGRESS", conversation, "referee:REF01") | of_match
    progress |= {"stage": "COLLECTING_CHOICES", "entered_at": now()}
    void = clumsy.envelope("MATCH_VOID_REPORT", conversation, "referee:REF01") | of_match | {"reason": "a lie"}
    for method, message in {
        "league_query": query,
        "report_match_result": report,
        "report_match_progress": progress,
        "report_match_void": void,
    }.items():
        await clumsy.ask(method, message | {"auth_token": WRONG_TOKEN}, to_manager[STRANGER])
    await clumsy.ask("register_player", clumsy.registration("Late", "http://127.0.0.1:9/mcp"), to_manager[STRANGER])
