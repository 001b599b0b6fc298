"""Bodies that take far more work than they cost to send, and every entry point of every program to send them to.

``held`` measures how long the loop's callbacks hold it, in processor time of its thread: other processes do not count.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from asyncio.events import Handle
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from socket import socket
from typing import Any, NamedTuple
from unittest.mock import patch

from leaguekit.agents import rate_limits
from leaguekit.agents.server import agent_server
from leaguekit.agents.world import World
from leaguekit.gateway.gateway import Gateway
from leaguekit.gateway.server import gateway_server
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import MAX_DOCUMENT, manager_server
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.methods import METHODS
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_BYTES, MAX_TRUSTED_BYTES
from leaguekit.referee.referee import RefereeAgent
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.dialects.responses import find_answer
from leaguekit.transport.server.server import Server, listen
from leaguekit.transport.token_buckets import TokenBuckets
from leaguekit.web.app import Dashboard

MAX_TIMES, MAX_ANSWER = 10, 65_536
MCP = (
    b"content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n"
    b"accept: application/json, text/event-stream\r\n"
)
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }
).encode()
TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


class Entry(NamedTuple):
    """Where bodies are posted, how large they may be, and a token that is good there."""

    name: str
    port: int
    path: str
    most: int
    token: str = ""
    headers: bytes = b""


class Came(NamedTuple):
    """How the loop was held by a body, and the answer to it."""

    longest: float
    status: int
    size: int


@contextmanager
def held() -> Iterator[list[float]]:
    """The processor time in seconds of the longest callback that a loop of asyncio runs meanwhile."""
    longest = [0.0]
    run = Handle._run

    def measured(handle: Handle) -> None:
        began = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    Handle._run = measured  # type: ignore[method-assign]
    try:
        yield longest
    finally:
        Handle._run = run  # type: ignore[method-assign]


_numbers = count()


async def post(entry: Entry, body: bytes) -> Came:
    """Post a body from an address of its own, so that no other has used up what it may send."""
    number = next(_numbers)
    source = f"127.{1 + number // 62_500 % 250}.{1 + number // 250 % 250}.{1 + number % 250}"
    reader, writer = await asyncio.open_connection("127.0.0.1", entry.port, local_addr=(source, 0), limit=2**24)
    head = f"POST {entry.path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len(body)}\r\n"
    try:
        with held() as longest:
            writer.write(head.encode() + entry.headers + b"\r\n" + body)
            came = b""
            # A server that closes while it is sent to may reset the connection.
            try:
                while data := await reader.read(2**20):
                    came += data
            except ConnectionError:
                pass
    finally:
        writer.close()
    top, _, content = came.partition(b"\r\n\r\n")
    return Came(longest[0], int((top.split() or [b"", b"0"])[1]), len(content))


def _servers(
    manager: Manager, player: PlayerAgent, referee: RefereeAgent, gateway: Gateway, sockets: list[socket]
) -> list[Server]:
    agents: list[tuple[Any, Any, Any]] = [(player, player_refusal, "player"), (referee, referee.refuse, "referee")]
    return [
        manager_server(manager, sockets[0], web=Dashboard),
        *(
            agent_server(
                one.answer,
                [sock],
                refuse,
                role=role,
                admits_large_body=one.admits_large_body,
                identify_sender=one.identify_sender,
            )
            for (one, refuse, role), sock in zip(agents, sockets[1:3], strict=True)
        ),
        gateway_server(gateway, sockets[3]),
    ]


@asynccontextmanager
async def programs(root: Path) -> AsyncIterator[list[Entry]]:
    """A manager with its pages, a referee, a player and a gateway with a seat and a relay, at real addresses."""
    async with AsyncExitStack() as stack:
        sockets = [listen("127.0.0.1", 0) for _ in range(4)]
        ports = [sock.getsockname()[1] for sock in sockets]
        urls = [f"http://127.0.0.1:{port}/mcp" for port in ports]
        caller = HttpCaller(AddressPolicy.local())
        stack.push_async_callback(caller.close)
        world = World(caller, root)
        settings = Settings(league_id="league_flood", announce_lead=0.0, seed_hex="5e" * 32)
        manager = Manager(world, MemoryLog(), settings, urls[0], "adm")
        await manager.open()
        stack.push_async_callback(manager.close)
        player = PlayerAgent(Player("Ada", STRATEGIES["random"]), world, urls[0], urls[1])
        referee = RefereeAgent(world, manager_url=urls[0], endpoint=urls[2], name="Ref")
        gateway = Gateway(world, urls[0], urls[3])
        # What is refused because others came before it is not looked at.
        with patch.object(
            rate_limits, "TokenBuckets", lambda per_second, burst: TokenBuckets(1e6 * per_second, 1e6 * burst)
        ):
            servers = _servers(manager, player, referee, gateway, sockets)
        for server in servers:
            await server.start()
            stack.push_async_callback(server.stop, 1.0)
        for agent in (player, referee):
            await agent.register()
            stack.push_async_callback(agent.close)
        await gateway.open()
        stack.push_async_callback(gateway.close)
        _, seat = await gateway.join(None, "Bob", "127.0.0.1")
        identity = referee.registrar.identity
        assert identity is not None
        assert player.identity is not None
        assert seat.agent.identity is not None
        at_seat = next(place for place, one in gateway.seats.items() if one is seat)
        from_manager = [player.identity._manager_token, identity._manager_token, seat.agent.identity._manager_token]
        entries = [
            Entry("manager", ports[0], "/mcp", MAX_BYTES, player.identity.auth_token or ""),
            Entry("manager, transcript", ports[0], "/transcripts/R1M1", MAX_DOCUMENT, identity.auth_token or ""),
            Entry("manager, record", ports[0], "/records/R1M1", MAX_DOCUMENT, identity.auth_token or ""),
            Entry("manager, page", ports[0], "/api/standings", MAX_TRUSTED_BYTES),
            Entry("manager, MCP", ports[0], "/mcp", MAX_BYTES, headers=MCP),
            Entry("player", ports[1], "/mcp", MAX_TRUSTED_BYTES, from_manager[0]),
            Entry("player, MCP", ports[1], "/mcp", MAX_TRUSTED_BYTES, headers=MCP),
            Entry("referee", ports[2], "/mcp", MAX_TRUSTED_BYTES, from_manager[1]),
            Entry("referee, MCP", ports[2], "/mcp", MAX_TRUSTED_BYTES, headers=MCP),
            Entry("gateway", ports[3], "/mcp", MAX_TRUSTED_BYTES),
            Entry("gateway, seat", ports[3], f"/mcp?at={at_seat}", MAX_TRUSTED_BYTES, from_manager[2]),
            Entry("gateway, join", ports[3], "/api/join", MAX_BYTES),
            Entry("gateway, MCP", ports[3], "/mcp", MAX_TRUSTED_BYTES, headers=MCP),
        ]
        # What is imported and compiled at a first request does not count as a body's work; nor does its collection.
        for entry in entries:
            for body in (INITIALIZE, TOOLS) if entry.headers else ():
                assert (await post(entry, body)).status == 200
        # It stays frozen: gc.unfreeze would also release all tests, and later collections would take 0.3 s each.
        gc.collect()
        gc.freeze()
        yield entries


FILLERS = {
    "ones": "1", "objects": "{}", "lists": "[]", "nulls": "null", "texts": '""', "brackets in texts": '"["',
    "calls": '{"id":1}', "deep": "[" * 20 + "]" * 20, "maps": '{"a":{}}', "escapes": '"\\""', "signs": '"é"',
    "numbers": "1e9", "extreme numbers": "1e308", "pings": '{"jsonrpc":"2.0","method":"ping","id":1}',
}  # fmt: skip
NUMBERED = ',"id":1'
WRONG = '{"jsonrpc":"2.0","method":"update_standings","params":{"message_type":"%s"}' + NUMBERED + "}"
# Of each request, the field that may hold most.
_LARGE = ("standings", "final_standings", "matches", "result", "player_meta", "referee_meta", "context", "move_data")
FIELDS = {
    message_type(method.request): (
        method.name,
        next((name for name in _LARGE if name in method.request.__struct_fields__), "sender"),
    )
    for method in METHODS
} | {"MATCH_TRANSCRIPT": ("x", "entries")}


def _list(filler: str, most: int) -> str:
    return "[" + ",".join([filler] * max(1, (most - 2) // (len(filler.encode()) + 1))) + "]"


def _map(filler: str, most: int) -> str:
    number = max(1, (most - 2) // (len(filler.encode()) + 12))
    return "{" + ",".join(f'"{one:08d}":{filler}' for one in range(number)) + "}"


Body = Callable[[], bytes]


def bodies(entry: Entry, size: int) -> Iterator[tuple[str, Body]]:
    """Bodies of nearly that size for an entry point, each with its name; with a good token and without."""
    for name, filler in FILLERS.items():
        for shape, make in (("list", _list), ("map", _map)):
            value = partial(make, filler, size - 600)
            for where, template in _templates(entry).items():
                yield f"{shape} of {name} {where}", partial(_filled, template, value)
    long = "x" * (size - 600)
    for where, template in _templates(entry).items():
        yield f"long text {where}", partial(_filled, template, lambda: f'"{long}"')
        yield f"long key {where}", partial(_filled, template, lambda: f'{{"{long}":{{}}}}')
    for name, text in (("open brackets", "[" * len(long)), ("nothing", " " * len(long)), ("long type", WRONG % long)):
        yield name, text.encode
    wrong, members = WRONG % "LEAGUE_STANDINGS_UPDATE", min(100, size // 130)
    for name, member in (("calls", wrong), ("notifications", wrong.replace(NUMBERED, "")), ("short members", "{}")):
        yield f"batch of wrong {name}", f"[{','.join([member] * members)}]".encode


# A word of each kind that a player is asked for, with everything wrong that can be.
WRONG_WORD = (
    '{"accept":1,"parity_choice":1,"move_data":1,"player_id":1,"sender":1,"timestamp":0,"match_id":1,"auth_token":1}'
)
WORDS = {"nothing": "{}", "a wrong join": '{"accept":1}', "a wrong choice": '{"choice":[]}', "all wrong": WRONG_WORD}
PLACES = ("structuredContent", "message", "envelope", "payload")


def players_answers(size: int) -> Iterator[tuple[str, Body]]:
    """What a hostile player may answer to a referee in the open profile, in nearly that many bytes."""
    for name, text in WORDS.items():
        part = json.dumps({"text": text}, separators=(",", ":"))
        around = ",".join(f'"{place}":{text}' for place in PLACES)
        parts = partial(_list, part, size - len(around) - 100)
        yield f"parts with {name}", partial(_filled, '{"jsonrpc":"2.0","id":1,"result":{"content":%s}}', parts)
        everywhere = '{"jsonrpc":"2.0","id":1,"result":{' + around + ',"content":%s}}'
        yield f"parts with {name}, and in all places", partial(_filled, everywhere, parts)
        yield f"bare parts with {name}", partial(_filled, "{" + around + ',"content":%s}', parts)
    for name, filler in FILLERS.items():
        for shape, make in (("list", _list), ("map", _map)):
            value = partial(make, filler, size - 600)
            for field in ("accept", "status", "move_data", "parity_choice", "sender", "content", "result"):
                answer = f'{{"jsonrpc":"2.0","id":1,"result":{{"message_type":"GAME_JOIN_ACK","{field}":%s}}}}'
                yield f"{shape} of {name} as {field}", partial(_filled, answer, value)


def answer_seconds(body: bytes) -> float:
    """How long a referee in the open profile takes over a player's answer, whatever word it has asked for."""
    at = "2026-11-16T15:20:30Z"
    sure = {"player_id": "P01", "sender": "player:P01"}
    known = {"protocol": "league.v2", "timestamp": at, "arrival_timestamp": at, "conversation_id": "c"}
    longest = 0.0
    for wanted in (m.GameJoinAck, m.ChooseParityResponse, m.GameMoveResponse):
        began = time.thread_time()
        # What cannot be understood is asked for again.
        with suppress(ProtocolError):
            find_answer(body, 1, wanted, known | sure | {"match_id": "R1M1"}, sure)
        longest = max(longest, time.thread_time() - began)
    return longest


def _templates(entry: Entry) -> dict[str, str]:
    made = {"alone": "%s"}
    for field in ("id", "method", "params"):
        fields = {"jsonrpc": '"2.0"', "method": '"ping"', "params": "{}", "id": "1"} | {field: "%s"}
        made[f"as {field}"] = "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}"
    arguments = '{"name":"update_standings","arguments":{"message_type":"LEAGUE_STANDINGS_UPDATE","standings":%s}}'
    made["as arguments"] = f'{{"jsonrpc":"2.0","method":"tools/call","params":{arguments},"id":1}}'
    for token in {entry.token, ""}:
        shown, which = (f'"auth_token":"{token}",', " with a token") if token else ("", "")
        for kind, (method, field) in FIELDS.items():
            message = f'{{"message_type":"{kind}",{shown}"{field}":%s}}'
            called = f'{{"jsonrpc":"2.0","method":"{method}","params":{message}{NUMBERED}}}'
            made[f"in {kind}.{field}{which}"] = message if entry.most == MAX_DOCUMENT else called
    return made


def _filled(template: str, value: Callable[[], str]) -> bytes:
    return (template % value()).encode()


def is_too_long(body: bytes, came: Came) -> bool:
    return came.size > max(MAX_TIMES * len(body), MAX_ANSWER)
