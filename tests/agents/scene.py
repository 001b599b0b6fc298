"""A referee with a scripted manager and scripted players, on a network in memory.

Times are those of the virtual loop, from 0. Every message is recorded twice: in the order of arrival, and as a complete
exchange.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.world import World
from leaguekit.kit.documented_game import draw_number
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.messages import MatchTranscript
from leaguekit.protocol.rpc import Call, InvalidCall, RpcError, RpcRequest, answer, request
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim import loop
from leaguekit.transport.base import Caller, Peer
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller, MemoryNetwork

LEAGUE = "league_2025_even_odd"
BEGAN = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
MANAGER_URL = "http://127.0.0.1:8000/mcp"
REFEREE_URL = "http://127.0.0.1:8001/mcp"
REFEREE_TOKEN = tokens.new_token("REF01", b"r" * 32)
SEED = "5e" * 32
LIMITS = m.TimeLimits(join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=3, retry_seconds=2)

# What is drawn from that seed, and the choices that are right and wrong.
NUMBER = draw_number(SEED)
PARITY = "odd" if NUMBER and NUMBER % 2 else "even"
OTHER = "even" if PARITY == "odd" else "odd"

Json = dict[str, Any]


def player_url(player_id: str) -> str:
    return f"http://127.0.0.1:{8100 + int(player_id[1:])}/mcp"


def player_token(player_id: str) -> str:
    return tokens.new_token(player_id, player_id.encode().ljust(32))


def derived(player_id: str, match_id: str = "R1M1", attempt: int = 1) -> str:
    """What a player shows its referee."""
    key = tokens.signing_key(player_token(player_id))
    return tokens.player_to_referee(key, LEAGUE, match_id, attempt, "REF01")


class Refusal(Exception):
    """A JSON-RPC error that a scripted agent answers with."""

    def __init__(self, code: int, message: str = "no", data: Any = None) -> None:
        self.error = RpcError(code, message, data)
        super().__init__(message)


class Arrival(NamedTuple):
    """A message as its receiver got it."""

    at: float
    to: str
    method: str
    params: Json

    @property
    def kind(self) -> str:
        return str(self.params.get("message_type", self.method))


class Exchange(NamedTuple):
    """A message and what came of it."""

    url: str
    sent: float
    ended: float
    params: Json
    result: Any


# Players

Reply = Callable[["Player", Json], Awaitable[Any]]


def ack_fields(player: Player, call: Json) -> Json:
    return {
        "protocol": "league.v2",
        "sender": f"player:{player.id}",
        "timestamp": times.format_timestamp(player.scene.now()),
        "conversation_id": call["conversation_id"],
        "auth_token": derived(player.id, call["match_id"], player.attempt),
        "match_id": call["match_id"],
        "player_id": player.id,
    }


def joined(player: Player, call: Json, **changes: Any) -> Json:
    arrival = {"arrival_timestamp": times.format_timestamp(player.scene.now()), "accept": True}
    return {**ack_fields(player, call), "message_type": "GAME_JOIN_ACK", **arrival, **changes}


def chose(player: Player, call: Json, choice: Any = None, **changes: Any) -> Json:
    choice = player.choice if choice is None else choice
    return {
        **ack_fields(player, call),
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "parity_choice": choice,
        **changes,
    }


def moved(player: Player, call: Json, move: Any) -> Json:
    return {**ack_fields(player, call), "message_type": "GAME_MOVE_RESPONSE", "move_data": move}


async def good(player: Player, call: Json) -> Json:
    """Joins, chooses, moves, acknowledges."""
    match call["message_type"]:
        case "GAME_INVITATION":
            return joined(player, call)
        case "CHOOSE_PARITY_CALL":
            return chose(player, call)
        case "GAME_MOVE_CALL":
            return moved(player, call, player.moves.pop(0))
        case kind:
            return {**ack_fields(player, call), "message_type": f"{kind}_ACK", "status": "ACKNOWLEDGED"}


async def silent(player: Player, call: Json) -> Json:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError


async def promising(player: Player, call: Json) -> Json:
    """Promises to post its answer."""
    return {"status": "RECEIVED"}


def after(seconds: float, reply: Reply = good) -> Reply:
    async def reply_late(player: Player, call: Json) -> Any:
        await asyncio.sleep(seconds)
        return await reply(player, call)

    return reply_late


def changed(**changes: Any) -> Reply:
    """A good answer but for some fields; a field that is given as ... is left out."""

    async def reply_changed(player: Player, call: Json) -> Any:
        fields = await good(player, call) | changes
        return {name: value for name, value in fields.items() if value is not ...}

    return reply_changed


def refusing(code: int = -32603) -> Reply:
    async def reply_refusing(player: Player, call: Json) -> Any:
        raise Refusal(code, "I will not")

    return reply_refusing


def raw(body: bytes) -> Reply:
    async def reply_raw(player: Player, call: Json) -> Any:
        return body

    return reply_raw


class Player:
    """A scripted player: of the replies for a message type each is given once, the last for ever."""

    def __init__(self, scene: Scene, player_id: str, choice: str, script: dict[str, list[Reply]]) -> None:
        self.scene = scene
        self.id = player_id
        self.choice = choice
        self.attempt = 1
        self.moves: list[Any] = []
        self._script = {kind: list(replies) for kind, replies in script.items()}

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        call = msgspec.json.decode(body)
        self.scene.arrived(self.id, call)
        params = call["params"]
        self.attempt = params.get("attempt", self.attempt)
        replies = self._script.get(params["message_type"], [good])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        try:
            result = await reply(self, params)
        except Refusal as refusal:
            return msgspec.json.encode({"jsonrpc": "2.0", "id": call["id"], "error": refusal.error})
        if isinstance(result, bytes):
            return result
        return msgspec.json.encode({"jsonrpc": "2.0", "id": call["id"], "result": result})

    async def post(self, method: str, message: Json) -> Any:
        """Post a message to the referee by itself: the answer's result or error."""
        return await self.scene.post(method, message)


# The manager


class ScriptedManager:
    """Accepts everybody and everything, unless a test says otherwise."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.league_id: str | None = LEAGUE
        self.scheme: str | None = "derived"
        self.rejects: str | None = None
        self.token = REFEREE_TOKEN
        # What reports are answered with before they are taken.
        self.refusals: list[Exception] = []
        self.reports: list[Json] = []
        self.voids: list[Json] = []
        self.progress: list[Json] = []
        self.registrations: list[Json] = []
        self.reported = asyncio.Event()

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        self.scene.arrived("manager", msgspec.json.decode(body))
        return await answer(RpcRequest(body), self._answer, self._refuse)

    def _refuse(self, error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        raised = error.__cause__
        return raised.error if isinstance(raised, Refusal) else RpcError(-32602, error.detail, None)

    async def _answer(self, call: Call) -> Any:
        params = msgspec.json.decode(call.params)
        match call.method:
            case "ping":
                return {"status": "ok"} if self.league_id is None else {"status": "ok", "league_id": self.league_id}
            case "register_referee":
                return self._register(params)
            case "report_match_result":
                return self._take(params, self.reports, {"status": "ACCEPTED", "round_id": params["round_id"]})
            case "report_match_void":
                return self._take(params, self.voids, {"status": "ACCEPTED", "attempt": params["attempt"]})
            case "report_match_progress":
                self.progress.append(params)
                return self._ack(params, {"status": "ACKNOWLEDGED", "match_id": params["match_id"]})
        raise ProtocolError("E042")

    def _register(self, params: Json) -> Json:
        self.registrations.append(params)
        if self.rejects is not None:
            return self._ack(params, {"status": "REJECTED", "reason": self.rejects, "error_code": "E019"})
        accepted: Json = {"status": "ACCEPTED", "referee_id": "REF01", "auth_token": self.token, "reason": None}
        if self.league_id is not None:
            accepted["league_id"] = self.league_id
        if self.scheme is not None:
            accepted["token_scheme"] = self.scheme
        return self._ack(params, accepted)

    def _take(self, params: Json, kept: list[Json], fields: Json) -> Json:
        if self.refusals:
            raise ProtocolError("E060") from self.refusals.pop(0)
        kept.append(params)
        self.reported.set()
        return self._ack(params, fields | {"match_id": params["match_id"]})

    def _ack(self, params: Json, fields: Json) -> Json:
        kind = {
            "REFEREE_REGISTER_REQUEST": "REFEREE_REGISTER_RESPONSE",
            "MATCH_RESULT_REPORT": "MATCH_RESULT_ACK",
            "MATCH_VOID_REPORT": "MATCH_VOID_ACK",
            "MATCH_PROGRESS": "MATCH_PROGRESS_ACK",
        }[params["message_type"]]
        return {**m.envelope(MANAGER, self.scene.now(), params["conversation_id"]), "message_type": kind, **fields}

    def shown_token(self) -> str:
        """What the manager shows the referee."""
        return tokens.manager_to_agent(tokens.signing_key(self.token), LEAGUE, "REF01")


class Scene:
    """The network, the people, and what went over the wire."""

    def __init__(self, data_root: Path, *, caller: Callable[[MemoryNetwork], Caller] = MemoryCaller) -> None:
        self.network = MemoryNetwork()
        self.network.tap = self._tap
        self.arrivals: list[Arrival] = []
        self.exchanges: list[Exchange] = []
        self.transcripts: list[MatchTranscript] = []
        # What no message of the referee may have.
        self.faults: list[Any] = []
        self.data_root = data_root
        self._caller = caller
        self._ids = itertools.count(1)
        self._numbers = itertools.count(1)
        self.outside = MemoryCaller(self.network)
        self.manager = ScriptedManager(self)
        self.network.listen(MANAGER_URL, self.manager.handle)
        self.players: dict[str, Player] = {}
        self.referee: RefereeAgent

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.time())

    @staticmethod
    def time() -> float:
        return asyncio.get_running_loop().time()

    def world(self) -> World:
        return World(
            self._caller(self.network),
            data_root=self.data_root,
            now=self.now,
            entropy=lambda count: bytes([next(self._numbers) % 256]) * count,
            inline=True,
        )

    def player(self, player_id: str, choice: str = "even", **script: list[Reply] | Reply) -> Player:
        """A player that listens; it is good but for what the script says, by message type in lower case."""
        replies = {kind.upper(): one if isinstance(one, list) else [one] for kind, one in script.items()}
        self.players[player_id] = player = Player(self, player_id, choice, replies)
        self.network.listen(player_url(player_id), player.handle)
        return player

    async def start(self, **options: Any) -> RefereeAgent:
        """A referee that listens and has registered."""
        self.referee = self.new_referee(**options)
        self.network.listen(REFEREE_URL, self.referee.handle)
        await self.referee.register()
        return self.referee

    def new_referee(self, **options: Any) -> RefereeAgent:
        return RefereeAgent(
            self.world(), manager_url=MANAGER_URL, endpoint=REFEREE_URL, **{"name": "Referee Alpha"} | options
        )

    def arrived(self, who: str, call: Json) -> None:
        self.arrivals.append(Arrival(self.time(), who, call["method"], call["params"]))

    def _tap(self, caller: MemoryCaller, url: str, body: bytes, came: bytes | BaseException, at: ExchangeTimes) -> None:
        call = msgspec.json.decode(body)
        if "/transcripts/" in url:
            self.faults += violations(call)
            self.transcripts.append(msgspec.json.decode(body, type=MatchTranscript))
            return
        answered = None if isinstance(came, BaseException) or came[:1] != b"{" else msgspec.json.decode(came)
        self.exchanges.append(Exchange(url, at.sent, at.ended, call["params"], answered))
        if caller is not self.outside and call["method"] != "ping":
            # Everything that the referee sends.
            self.faults += violations(call["params"])
            if len(body) > 10_240 or not call["params"]["sender"].startswith("referee:"):
                self.faults.append(call)
        if caller is self.outside and isinstance(answered, dict):
            # Everything that it answers.
            said = answered.get("result") or answered["error"].get("data") or {}
            self.faults += violations(said) if "message_type" in said else []

    async def post(self, method: str, message: Any, url: str = REFEREE_URL) -> Any:
        """Call the referee from outside: the answer's result, or its error."""
        body = request(method, msgspec.json.encode(message), next(self._ids))
        came = msgspec.json.decode((await self.outside.post(url, body, 60)).body)
        return came.get("result") or came["error"]

    async def post_over(self, caller: Caller, url: str, method: str, message: Any) -> Any:
        """The same over another network."""
        body = request(method, msgspec.json.encode(message), next(self._ids))
        return msgspec.json.decode((await caller.post(url, body, 10)).body)["result"]

    def assigned(self, player_id: str, match_id: str, attempt: int, **changes: Any) -> m.AssignedPlayer:
        key = tokens.signing_key(player_token(player_id))
        purpose = (key, LEAGUE, match_id, attempt, "REF01")
        fields: Json = {
            "player_id": player_id,
            "endpoint": player_url(player_id),
            "state": "ACTIVE",
            "record": m.OwnRecord(wins=2, losses=1, draws=0, points=6),
            "display_name": f"Agent {player_id}",
            "shown_token": tokens.referee_to_player(*purpose),
            "expected_token": tokens.player_to_referee(*purpose),
            "verifier": tokens.verifier(player_token(player_id)).hex(),
        }
        return m.AssignedPlayer(**fields | changes)

    def assignment(
        self, match_id: str = "R1M1", attempt: int = 1, players: tuple[str, str] = ("P01", "P02"), **changes: Any
    ) -> m.MatchAssignment:
        fields: Json = {
            **m.envelope(MANAGER, self.now(), match_conversation(match_id, attempt)),
            "auth_token": self.manager.shown_token(),
            "league_id": LEAGUE,
            "round_id": 1,
            "match_id": match_id,
            "game_type": "even_odd",
            "attempt": attempt,
            "match_seed": SEED,
            "time_limits": LIMITS,
            "player_A": self.assigned(players[0], match_id, attempt),
            "player_B": self.assigned(players[1], match_id, attempt),
        }
        return m.MatchAssignment(**fields | changes)

    async def assign(self, *args: Any, **changes: Any) -> Json:
        return await self.post("start_match", self.assignment(*args, **changes))

    async def play(self, **changes: Any) -> Json:
        """Have a match played to its report, and everything that follows."""
        assert (await self.assign(**changes))["status"] == "ACCEPTED"
        await self.manager.reported.wait()
        await self.ended()
        return self.manager.reports[-1] if self.manager.reports else self.manager.voids[-1]

    async def ended(self) -> None:
        """Everything that the referee has to do by itself is done."""
        while self.referee.matches._tasks:
            await asyncio.wait(self.referee.matches._tasks)

    async def close(self) -> None:
        if hasattr(self, "referee"):
            await self.referee.close()

    def to(self, who: str, kind: str | None = None) -> list[Arrival]:
        return [one for one in self.arrivals if one.to == who and kind in (None, one.kind)]

    def times_of(self, who: str, kind: str) -> list[float]:
        return [round(one.at, 6) for one in self.to(who, kind)]

    def sent(self, player_id: str, kind: str) -> list[Exchange]:
        """What was sent to a player, even if nobody listened there."""
        return [
            one for one in self.exchanges if one.url == player_url(player_id) and one.params.get("message_type") == kind
        ]

    def errors(self, player_id: str) -> list[Json]:
        return [one.params for one in self.to(player_id, "GAME_ERROR")]


def in_virtual_time(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of a coroutine that is given a scene; at its end every message must have been valid."""
    signature = inspect.signature(test)

    def run_test(tmp_path: Path, **arguments: Any) -> None:
        async def main() -> None:
            scene = Scene(tmp_path)
            await test(scene, **arguments)
            await scene.close()
            assert scene.faults == []

        loop.run(main())

    run_test.__name__, run_test.__doc__ = test.__name__, test.__doc__
    given = [parameter for name, parameter in signature.parameters.items() if name != "scene"]
    at_front = inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run_test.__signature__ = inspect.Signature([at_front, *given])  # type: ignore[attr-defined]
    return run_test
