"""Whole leagues in virtual time: a real manager, and around it real agents or scripted ones, on a network in memory.

Times are those of the virtual loop, from 0. Everything that goes over the wire is recorded when its fate is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import itertools
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, NamedTuple, Self

from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.league.state import League
from leaguekit.manager.manager import Manager
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import Strategy
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import times
from leaguekit.protocol.decoding import violations
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim import loop
from leaguekit.store.base import StoreError, TakeoverLog
from leaguekit.store.memory import MemoryLog, MemoryLogContent
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Handler, Peer
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller, MemoryNetwork

LEAGUE = "league_2025_even_odd"
BEGAN = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
MANAGER_URL = "http://127.0.0.1:8000/mcp"
ADMIN = "adm-the-operators-own"
PATIENCE = 3_600.0
BROADCASTS = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")

Json = dict[str, Any]


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let an async test run where an hour passes in no time."""

    @functools.wraps(test)
    def run_test(*args: Any, **kwargs: Any) -> None:
        loop.run(test(*args, **kwargs))

    return run_test


def url_of(role: str, number: int) -> str:
    return f"http://127.0.0.1:{number + (8000 if role == 'referee' else 8100)}/mcp"


class Exchange(NamedTuple):
    """A request on the wire, and what came of it."""

    by: str
    url: str
    sent: float
    ended: float
    method: str
    params: Json
    answer: Json | None
    failure: BaseException | None

    @property
    def kind(self) -> str:
        return str(self.params.get("message_type", self.method))


class Arrival(NamedTuple):
    """A message as a scripted agent got it."""

    at: float
    params: Json

    @property
    def kind(self) -> str:
        return str(self.params["message_type"])


class HeldLog(MemoryLog):
    """A log that commits nothing while it is held, and fails every write once it is broken."""

    def __init__(self, content: MemoryLogContent | None = None) -> None:
        super().__init__(content)
        self._held = False
        self._broken = False

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False
        super()._commit()

    def release_one(self) -> None:
        """Commit what was appended first, and hold the rest."""
        rest, self._waiting = self._waiting[1:], self._waiting[:1]
        super()._commit()
        self._waiting = rest

    def break_down(self) -> None:
        self._broken, self._held = True, False
        self._commit()

    def _commit(self) -> None:
        if self._broken:
            waiting, self._waiting = self._waiting, []
            for future, _ in waiting:
                future.set_exception(StoreError("The disk is full."))
        elif not self._held:
            super()._commit()


class AwayLog(HeldLog, TakeoverLog):
    """A log in a database, which is away while it is held."""

    def __init__(self) -> None:
        super().__init__()
        self.confirmed_at = asyncio.get_running_loop().time()

    def hold(self) -> None:
        super().hold()
        self.problem = "Connect call failed ('192.0.2.99', 5432)"

    def release(self) -> None:
        super().release()
        self.problem = None

    async def confirm(self) -> None:
        while self.problem is not None:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(0.1)
        self.confirmed_at = asyncio.get_running_loop().time()


# Scripted agents

Reply = Callable[["Scripted", Json], Awaitable[Any]]


async def good(agent: Scripted, call: Json) -> Json:
    """Acknowledges whatever comes, and takes every match."""
    kind = call["message_type"]
    answer: Json = {
        "protocol": "league.v2",
        "message_type": f"{kind.removeprefix('LEAGUE_') if kind == 'LEAGUE_STANDINGS_UPDATE' else kind}_ACK",
        "sender": agent.sender,
        "timestamp": agent.hall.timestamp,
        "conversation_id": call["conversation_id"],
        "status": "ACKNOWLEDGED",
    }
    if kind == "MATCH_ASSIGNMENT":
        return answer | {"status": "ACCEPTED", "match_id": call["match_id"], "attempt": call["attempt"]}
    shared = {"round_id": call["round_id"]} if "round_id" in call else {}
    return answer | shared | {f"{agent.role}_id": agent.id}


async def silent(agent: Scripted, call: Json) -> Json:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError


def after(seconds: float, reply: Reply = good) -> Reply:
    async def reply_late(agent: Scripted, call: Json) -> Any:
        await asyncio.sleep(seconds)
        return await reply(agent, call)

    return reply_late


def raw(body: bytes) -> Reply:
    async def reply_raw(agent: Scripted, call: Json) -> bytes:
        return body

    return reply_raw


def changed(**changes: Any) -> Reply:
    """A good answer but for some fields."""

    async def reply_changed(agent: Scripted, call: Json) -> Json:
        return await good(agent, call) | changes

    return reply_changed


class Scripted:
    """An agent that answers as told: ``replies`` by message type, the rest like ``good``."""

    def __init__(self, hall: Hall, role: str, number: int, replies: dict[str, Reply]) -> None:
        self.hall = hall
        self.role = role
        self.url = url_of(role, number)
        self.replies = replies
        self.arrived: list[Arrival] = []
        self.id = "unknown"
        self.token = ""

    @property
    def sender(self) -> str:
        return f"{self.role}:{self.id}"

    async def handle(self, body: bytes, _peer: Peer) -> bytes | None:
        call = json.loads(body)
        params = call["params"]
        if call["method"] == "ping":
            reply = self.replies.get("ping")
            result: Any = {"status": "ok"} if reply is None else await reply(self, params)
        else:
            self.arrived.append(Arrival(self.hall.now, params))
            result = await self.replies.get(params["message_type"], good)(self, params)
        if isinstance(result, bytes):
            return result
        return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()

    def got(self, *kinds: str) -> list[Arrival]:
        return [one for one in self.arrived if one.kind in kinds]

    def message(self, message_type: str, **fields: Any) -> Json:
        """A message of this agent, with its token; a field given as ... is left out."""
        whole = {**self.hall.envelope(self.sender), "message_type": message_type, "auth_token": self.token, **fields}
        return {name: value for name, value in whole.items() if value is not ...}

    async def report(self, match_id: str, result: Json | None = None, **changes: Any) -> Json:
        """Report a match, side A winning unless a result is given: the whole JSON-RPC answer."""
        return await self.hall.post("report_match_result", self.report_of(match_id, result, **changes))

    def report_of(self, match_id: str, result: Json | None = None, **changes: Any) -> Json:
        match = self.hall.league.matches.get(match_id)
        fields = {
            "league_id": LEAGUE,
            "round_id": 1 if match is None else match.round_id,
            "match_id": match_id,
            "game_type": "even_odd",
            "attempt": 1 if match is None else match.attempt,
            "result": result or won(*(("P01", "P02") if match is None else match.players)),
        }
        return self.message("MATCH_RESULT_REPORT", **fields | changes)

    async def query(self, query_type: Any, **changes: Any) -> Json:
        message = self.message("LEAGUE_QUERY", **{"league_id": LEAGUE, "query_type": query_type} | changes)
        return await self.hall.post("league_query", message)


def won(winner: str, loser: str, failures: Json | None = None) -> Json:
    details: Json = {"drawn_number": 8, "choices": {winner: "even", loser: "odd"}, "status": "WIN"}
    if failures is not None:
        details["failures"] = failures
    return {"winner": winner, "score": {winner: 3, loser: 0}, "details": details}


def drawn(one: str, other: str) -> Json:
    details = {"drawn_number": 8, "choices": {one: "odd", other: "odd"}, "status": "DRAW"}
    return {"winner": None, "score": {one: 1, other: 1}, "details": details}


def lost_by_silence(loser: str, winner: str, failures: int | None) -> Json:
    """A technical loss; None is a referee that does not tell of unanswered calls."""
    details: Json = {"drawn_number": None, "choices": {winner: None, loser: None}, "status": "TECHNICAL_LOSS"}
    if failures is not None:
        details["failures"] = {winner: 0, loser: failures}
    return {"winner": winner, "score": {winner: 3, loser: 0}, "details": details}


# The league

Gate = Callable[[str], Awaitable[None]]


class Hall:
    """A manager that is running, and the agents that the test lets in."""

    def __init__(
        self,
        root: Path,
        *,
        log: MemoryLog | None = None,
        grant_ids: bool = False,
        policy: AddressPolicy | None = None,
        **settings: Any,
    ) -> None:
        defaults: Json = {"league_id": LEAGUE, "announce_lead": 0.0, "seed_hex": "5e" * 32}
        self._began = asyncio.get_running_loop().time()
        self._random = Random(1)
        self._numbers = itertools.count(1)
        self._callers: dict[MemoryCaller, str] = {}
        self.root = root
        self.wire: list[Exchange] = []
        self.network = MemoryNetwork()
        self.network.tap = self._saw
        self.log = log or MemoryLog()
        self._make = lambda log: Manager(
            replace(self.world("manager"), policy=policy),
            log,
            Settings(**defaults | settings),
            MANAGER_URL,
            ADMIN,
            grant_ids=grant_ids,
        )
        self.manager = self._make(self.log)
        self.players: list[PlayerAgent] = []
        self.referees: list[RefereeAgent] = []
        self._outside = MemoryCaller(self.network)
        self._callers[self._outside] = "test"
        self.running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def _open(self) -> None:
        await self.manager.open()
        self.network.listen(MANAGER_URL, self.manager.handle)
        self.running = asyncio.create_task(self.manager.run())

    async def crash(self) -> None:
        """Stop the manager as in a crash: what is not committed is lost, and its address is closed."""
        assert self.running is not None
        self.network.close(MANAGER_URL)
        self.running.cancel()
        self.log._waiting.clear()
        self.log._closed = True
        await self.manager.runner.close()

    async def restart(self) -> None:
        """Start a manager with what the one before left on the disk."""
        self.log = type(self.log)(self.log.content)
        self.manager = self._make(self.log)
        await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and isinstance(self.log, HeldLog):
            # A test that fails while its log is held is to say so, and not to wait for what is never written.
            self.log.release()
        if self.running is not None:
            self.running.cancel()
            with contextlib.suppress(asyncio.CancelledError, StoreError):
                await self.running
        for agent in [*self.players, *self.referees]:
            await agent.close()
        await self.manager.close()

    # Its world

    def world(self, name: str) -> World:
        caller = MemoryCaller(self.network)
        self._callers[caller] = name
        return World(caller, self.root, now=self.clock, entropy=self._random.randbytes, inline=True)

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def clock(self) -> datetime:
        return BEGAN + timedelta(seconds=self.now)

    @property
    def timestamp(self) -> str:
        return times.format_timestamp(self.clock())

    @property
    def league(self) -> League:
        return self.manager.ledger.league

    def substance(self) -> str:
        """A hash of the league without the agents that were refused: what nobody may change that is refused."""
        league = copy.copy(self.league)
        league.refused = {}
        return league.digest()

    def _saw(
        self, caller: MemoryCaller, url: str, body: bytes, came: bytes | BaseException, when: ExchangeTimes
    ) -> None:
        if not url.endswith("/mcp"):
            return
        call = json.loads(body)
        answered = isinstance(came, bytes) and came[:1] == b"{"
        self.wire.append(
            Exchange(
                self._callers[caller],
                url,
                *when,
                call["method"],
                call["params"],
                json.loads(came) if answered else None,  # type: ignore[arg-type]
                came if isinstance(came, BaseException) else None,
            )
        )

    def sent(self, *kinds: str, to: str | None = None) -> list[Exchange]:
        """What was sent over the wire, of these kinds, in the order in which it was sent."""
        found = [one for one in self.wire if one.kind in kinds and to in (None, one.url)]
        return sorted(found, key=lambda one: one.sent)

    # Messages from outside

    def envelope(self, sender: str) -> Json:
        return {
            "protocol": "league.v2",
            "sender": sender,
            "timestamp": self.timestamp,
            "conversation_id": f"conv-test-{next(self._numbers)}",
        }

    async def body(self, body: bytes) -> bytes | None:
        """What the manager answers to any bytes."""
        return await self.manager.handle(body, Peer("127.0.0.1"))

    async def post(self, method: str, params: Any, call_id: Any = 7, url: str = MANAGER_URL) -> Json:
        """The whole JSON-RPC answer to a call, of the manager or of another agent."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": call_id}).encode()
        return dict(json.loads((await self._outside.post(url, body, PATIENCE)).body))

    async def operate(self, command: str, **fields: Any) -> Json:
        """What an operator's command is answered with, which must be a result."""
        answer = await self.post("operator", {"command": command, "admin_token": ADMIN} | fields)
        assert "result" in answer, answer
        return dict(answer["result"])

    def registration(self, role: str, number: int, meta: Json | None = None, **changes: Any) -> Json:
        """A request to register; a field given as ... is left out."""
        described = {
            "display_name": f"{role.title()} {number}",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": url_of(role, number),
            **({"max_concurrent_matches": 2, "token_scheme": "derived"} if role == "referee" else {}),
            **(meta or {}),
        }
        whole = {
            **self.envelope(f"{role}:alpha-{number}"),
            "message_type": "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST",
            f"{role}_meta": {name: value for name, value in described.items() if value is not ...},
            **changes,
        }
        return {name: value for name, value in whole.items() if value is not ...}

    async def register(self, role: str, number: int, **more: Any) -> Json:
        """Ask to register an agent: the whole answer."""
        return await self.post(f"register_{role}", self.registration(role, number, **more))

    # Agents

    async def scripted(self, role: str, number: int, replies: dict[str, Reply] | None = None, **meta: Any) -> Scripted:
        """A scripted agent that listens and is registered."""
        agent = Scripted(self, role, number, replies or {})
        self.network.listen(agent.url, agent.handle)
        result = (await self.register(role, number, meta=meta))["result"]
        assert result["status"] == "ACCEPTED", result
        agent.id, agent.token = result[f"{role}_id"], result["auth_token"]
        return agent

    async def scripted_league(self, players: int = 4, referees: int = 1, capacity: int = 10) -> list[Scripted]:
        """A league of scripted agents that has started: the referees, then the players."""
        agents = [
            await self.scripted("referee", number, max_concurrent_matches=capacity) for number in range(1, referees + 1)
        ]
        agents += [await self.scripted("player", number) for number in range(1, players + 1)]
        await self.operate("start")
        return agents

    async def player(
        self, strategy: str | Strategy = "random", gate: Gate | None = None, *, seed: int = 1
    ) -> PlayerAgent:
        """A real player; ``gate`` is passed by whatever is sent to it, before it gets there."""
        number = len(self.players) + 1
        url = url_of("player", number)
        player = Player(f"Player {number}", STRATEGIES[strategy] if isinstance(strategy, str) else strategy)
        agent = PlayerAgent(player, self.world(f"player {number}"), MANAGER_URL, url, seed=seed)
        self.players.append(agent)
        self.network.listen(url, agent.handle if gate is None else _gated(agent.handle, gate))
        await agent.register()
        return agent

    async def referee(self, max_concurrent: int = 10, gate: Gate | None = None) -> RefereeAgent:
        number = len(self.referees) + 1
        url = url_of("referee", number)
        agent = RefereeAgent(
            self.world(f"referee {number}"),
            manager_url=MANAGER_URL,
            endpoint=url,
            name=f"Referee {number}",
            max_concurrent=max_concurrent,
        )
        self.referees.append(agent)
        self.network.listen(url, agent.handle if gate is None else _gated(agent.handle, gate))
        await agent.register()
        return agent

    async def fill(
        self, *strategies: str | Strategy, referees: int = 2, max_concurrent: int = 10, seed: int = 1
    ) -> None:
        """Let real referees and players in."""
        for _ in range(referees):
            await self.referee(max_concurrent)
        for strategy in strategies:
            await self.player(strategy, seed=seed)

    # Time

    async def until(self, what: Callable[[], Any], seconds: float = PATIENCE, step: float = 0.01) -> None:
        """Let time pass until something is so. Each step takes some 20 µs."""
        async with asyncio.timeout(seconds):
            while not what():  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(step)

    async def quiet(self) -> None:
        """Let everything happen that happens at this moment."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def end(self, seconds: float = PATIENCE) -> None:
        """Let the league come to its end."""
        assert self.running is not None
        async with asyncio.timeout(seconds):
            await asyncio.shield(self.running)

    def faults(self) -> list[str]:
        """Everything on the wire, requests and answers, that is not as the protocol's schemas want it."""
        messages = [
            message
            for one in self.wire
            for message in (one.params, (one.answer or {}).get("result"))
            if one.method not in ("ping", "operator") and message is not None
        ]
        return [str(fault) for message in messages for fault in violations(message)]


def _gated(handle: Handler, gate: Gate) -> Handler:
    async def handled(body: bytes, peer: Peer) -> bytes | None:
        call = json.loads(body)
        await gate(call["params"].get("message_type", call["method"]))
        return await handle(body, peer)

    return handled
