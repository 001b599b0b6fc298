"""All connections of a manager or a gateway are held by requests that wait, while others ping it.

Each attack holds a thousand connections, from several addresses of loopback, and takes a new one for each that it
loses. The manager and the gateway are real processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from leaguekit.gateway.relays import MAX_CALLS
from leaguekit.player.relay import SECRET_BYTES
from tests.programs import Program
from tests.stress.lines import Line, Seen, post, registration

CONNECTIONS = 1_000
SOURCES = 5
PINGS = 30
# A client that was refused or answered comes back after this time.
PAUSE = 0.5
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'


@dataclass
class Target:
    """The ports of a manager and its gateway, and of an endpoint that accepts connections and never answers."""

    manager: int
    gateway: int
    hanging: int
    numbers: count[int] = field(default_factory=lambda: count(1))


def _call(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()


async def joined(port: int, name: str) -> tuple[str, int]:
    """Take a free seat at a gateway: its code and its version."""
    line = Line(port, "127.0.0.1", Seen())
    status, body = await line.ask(post(json.dumps({"name": name}).encode(), "/api/join"))
    assert status == 200, body
    state = json.loads(body)
    _, body = await line.ask(look(state["code"]))
    line.close()
    return state["code"], json.loads(body)["version"]


def look(code: str, version: int | None = None) -> bytes:
    """A request for the state of a seat. With a version it waits until that changes."""
    query = "" if version is None else f"?version={version}"
    return f"GET /api/seat{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {code}\r\n\r\n".encode()


# Each gives the port, and the requests that its connections send, in turn and for ever.


async def polls(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """Long polls of one free seat."""
    return target.gateway, [look(*await joined(target.gateway, f"Poller {next(target.numbers)}"))]


async def waits_by_mcp(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """The same by MCP, 45 seconds each."""
    code, _ = await joined(target.gateway, f"Chat {next(target.numbers)}")
    body = _call("tools/call", name="wait_for_turn", arguments={"code": code, "seconds": 45})
    return target.gateway, [_by_mcp(body)]


async def lists_by_mcp(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """Questions for the tools, which need no seat."""
    return target.gateway, [_by_mcp(_call("tools/list"))]


def _by_mcp(body: bytes) -> bytes:
    headers = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
    return post(body).replace(b"content-length", headers + b"content-length", 1)


async def relay_calls(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """Calls of players behind relays that take every call and never answer it."""
    requests = []
    for number in range(-(-CONNECTIONS // MAX_CALLS)):
        secret = f"{next(target.numbers):0{2 * SECRET_BYTES}}"
        source = f"127.0.8.{1 + number % SOURCES}"
        line = Line(target.gateway, source, Seen())
        _, body = await line.ask(post(_call("relay_take", secret=secret, seconds=0)))
        taking = asyncio.create_task(_take(line, secret))
        stack.callback(line.close)
        stack.callback(taking.cancel)
        place = json.loads(body)["result"]["endpoint"].partition("?")[2]
        requests.append(post(PING, f"/mcp?{place}"))
    return target.gateway, requests


async def _take(line: Line, secret: str) -> None:
    has: list[int] = []
    while True:
        status, body = await line.ask(post(_call("relay_take", secret=secret, has=has, seconds=10)))
        has += [call["number"] for call in json.loads(body)["result"]["calls"]] if status == 200 else []
        has = has[-2 * MAX_CALLS :]


async def registrations(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """Players whose endpoint accepts the manager's call and never answers."""
    url = f"http://127.0.0.1:{target.hanging}"
    return target.manager, [
        post(registration(number, f"{url}/{number}/mcp"))
        for number in (next(target.numbers) for _ in range(CONNECTIONS))
    ]


async def unfinished_bodies(target: Target, stack: AsyncExitStack) -> tuple[int, Sequence[bytes]]:
    """Bodies for a page that do not come."""
    return target.gateway, [post(b"x" * 100, "/api/join")[:-1]]


Attack = Callable[[Target, AsyncExitStack], Awaitable[tuple[int, Sequence[bytes]]]]
ATTACKS: list[Attack] = [polls, waits_by_mcp, lists_by_mcp, relay_calls, registrations, unfinished_bodies]


@asynccontextmanager
async def under(attack: Attack, target: Target) -> AsyncIterator[int]:
    """Hold connections as an attack does, for as long as this lasts; the port that is attacked."""
    async with AsyncExitStack() as stack:
        port, requests = await attack(target, stack)
        sent = asyncio.Semaphore(0)
        holders = [
            asyncio.create_task(_hold(port, f"127.0.9.{1 + n % SOURCES}", requests[n % len(requests)], sent))
            for n in range(CONNECTIONS)
        ]
        try:
            for _ in holders:
                await sent.acquire()
            yield port
        finally:
            for holder in holders:
                holder.cancel()
            await asyncio.gather(*holders, return_exceptions=True)


async def _hold(port: int, source: str, request: bytes, sent: asyncio.Semaphore) -> None:
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        except ConnectionError:
            sent.release()
            await asyncio.sleep(PAUSE)
            continue
        writer.write(request)
        sent.release()
        try:
            with contextlib.suppress(ConnectionError):
                await reader.read(65_536)
        finally:
            writer.transport.abort()
        await asyncio.sleep(PAUSE)


async def pings(port: int, seconds: float = 0.0) -> Seen:
    """Ping a server, each time on a new connection, evenly over some seconds."""
    seen = Seen()
    for _ in range(PINGS):
        began = time.monotonic()
        line = Line(port, "127.0.0.1", seen)
        await line.ask(post(PING))
        line.close()
        await asyncio.sleep(max(0.0, seconds / PINGS - (time.monotonic() - began)))
    return seen


@asynccontextmanager
async def hanging_endpoint() -> AsyncIterator[int]:
    """The port of a server that accepts connections and never answers."""
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, backlog=2_000)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    seconds = 3.0 if short else 30.0
    told: dict[str, Any] = {}
    faults = []
    with ExitStack() as running:
        manager = running.enter_context(Program("manager", "--port", "0", "--data-dir", str(folder / "manager")))
        port = (await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1]
        url = f"http://127.0.0.1:{port}/mcp"
        gateway = running.enter_context(
            Program("gateway", "--manager", url, "--port", "0", "--data-dir", str(folder / "gateway"))
        )
        served = (await asyncio.to_thread(gateway.said, r"http://127\.0\.0\.1:(\d+)/"))[1]
        async with hanging_endpoint() as hanging:
            target = Target(int(port), int(served), hanging)
            for attack in ATTACKS:
                async with under(attack, target) as attacked:
                    seen = await pings(attacked, seconds)
                name = attack.__name__.replace("_", " ")
                told[name] = {"pings": dict(seen.statuses), "hangs": seen.hangs, "slowest_s": round(seen.slowest, 2)}
                if seen.statuses[200] != PINGS:
                    faults.append(f"{name}: {PINGS - seen.statuses[200]} of {PINGS} pings were not answered")
        for program in (gateway, manager):
            program.process.terminate()
            await asyncio.to_thread(program.ended)
            faults += ["tracebacks"] if "Traceback" in program.stderr else []
    return told, faults
