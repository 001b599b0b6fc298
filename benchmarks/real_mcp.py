"""What MCP costs: plain JSON-RPC at a server with and without the way in for MCP, and a call by MCP beside it.

Each server is a process of its own. Contenders take turns within every round, so that a slow moment of the machine hits
all alike. Run with ``make bench``; QUICK=1 measures less. The last line is one JSON object with the figures.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
import timeit
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import psutil
from clocks import cpu_seconds_of

from leaguekit.agents.serving import new_loop
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = 7 if QUICK else 21
CALLS = 500 if QUICK else 2_000
CALLS_BY_MCP = 40 if QUICK else 150
AT_ONCE = 16
# The short way, with a constant answer: whatever is added to it shows. The token has a z in it, as half of them have:
# such a call is decoded before it is known whose it is.
CALL = (
    b'{"jsonrpc":"2.0","method":"parity_choose","params":{"protocol":"league.v2","message_type":"CHOOSE_PARITY_CALL",'
    b'"timestamp":"2025-01-15T10:30:00Z","sender":"referee:REF01","conversation_id":"conv-r1m1-001","match_id":"R1M1",'
    b'"player_id":"P01","game_type":"even_odd","deadline":"2025-01-15T10:30:30Z",'
    b'"auth_token":"drv-5XmDzcYJ2cVbWcY1n6kZsC2m8m3g4yWwQvYp1oXr0aE"},"id":1}'
)
ANSWER = (
    b'{"jsonrpc":"2.0","result":{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","sender":"player:P01",'
    b'"timestamp":"2025-01-15T10:30:00Z","conversation_id":"conv-r1m1-001","match_id":"R1M1","player_id":"P01",'
    b'"parity_choice":"even"},"id":1}'
)
SERVERS = ("without", "with", "loaded")


async def serve(kind: str) -> None:
    from leaguekit.transport.server.server import Server, listen  # noqa: PLC0415 - the others only call

    async def handler(_request: RpcRequest, _peer: Peer) -> bytes:
        return ANSWER

    more = {}
    if kind in ("with", "loaded"):
        from leaguekit.agents.server import agent_mcp_tools  # noqa: PLC0415
        from leaguekit.transport.mcp.lazy_app import lazy_mcp_app  # noqa: PLC0415

        more = {"mcp": lazy_mcp_app(lambda: agent_mcp_tools("player", handler), 1_048_576)}
    sock = listen("127.0.0.1", 0)
    server = Server(handler, sockets=[sock], max_bytes=1_048_576, too_large=b"{}", **more)
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def server(kind: str) -> Iterator[tuple[str, psutil.Process]]:
    """A server process; ``before`` has its code from the tree that BEFORE names, for comparing two versions."""
    path = os.environ["BEFORE"] if kind == "before" else os.environ.get("PYTHONPATH", "")
    with subprocess.Popen(
        [sys.executable, __file__, kind],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        try:
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/mcp", psutil.Process(process.pid)
        finally:
            process.kill()


async def a_second(call: Callable[[], Awaitable[object]], calls: int, at_once: int) -> float:
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return calls / (time.perf_counter() - began)


async def measure(servers: dict[str, tuple[str, psutil.Process]]) -> dict[str, float]:
    from leaguekit.transport.mcp.client import McpClient  # noqa: PLC0415 - "before" may be another tree
    from leaguekit.transport.server.mcp_detection import is_mcp  # noqa: PLC0415 - the same

    urls = {kind: url for kind, (url, _) in servers.items()}
    spent: Counter[str] = Counter()
    caller = HttpCaller(AddressPolicy.local())
    client = McpClient(caller)
    # The first MCP request has the SDK loaded.
    await client.tools(urls["loaded"], 30.0)
    from mcp import Client  # noqa: PLC0415 - the servers are measured without it

    rates: dict[str, list[float]] = {}
    async with Client(urls["loaded"]) as official:
        contenders: dict[str, tuple[Callable[[], Awaitable[object]], int, int]] = {
            kind: (lambda url=url: caller.post(url, CALL, 5.0), CALLS, AT_ONCE) for kind, url in urls.items()
        }
        by_mcp = urls["loaded"]
        contenders["plain, one at a time"] = (lambda: caller.post(by_mcp, CALL, 5.0), CALLS // 4, 1)
        contenders["our MCP client"] = (lambda: client.call(by_mcp, "parity_choose", {}, 5.0), CALLS_BY_MCP, 1)
        contenders["official client"] = (lambda: official.call_tool("parity_choose", {}), CALLS_BY_MCP, 1)
        order = list(contenders)
        for _ in range(ROUNDS):
            # A contender that always follows the same one would gain or lose by it.
            order = order[1:] + order[:1]
            for name in order:
                process = servers.get(name, servers["loaded"])[1]
                before = cpu_seconds_of(process.pid)
                rates.setdefault(name, []).append(await a_second(*contenders[name]))
                spent[name] += cpu_seconds_of(process.pid) - before
    await caller.close()
    figures = {f"{name}: a second": statistics.median(found) for name, found in rates.items()}
    # The share of a noisy machine that a process got says less than what it used of it.
    each = {name: spent[name] / ROUNDS / contenders[name][1] * 1e6 for name in rates}
    figures |= {f"{name}: µs of the server's CPU a call": used for name, used in each.items()}
    first = "before" if "before" in each else "without"
    figures |= {f"{kind} / {first}, CPU": each[kind] / each[first] for kind in ("without", "with", "loaded")}
    request = RpcRequest(CALL)
    decisions = min(timeit.repeat(lambda: is_mcp(request, has_mcp_header=False), number=20_000, repeat=20)) / 20_000
    figures["to decide whose a call is: ns"] = decisions * 1e9
    return figures


def main() -> None:
    with contextlib.ExitStack() as stack:
        kinds = (*(("before",) if "BEFORE" in os.environ else ()), *SERVERS)
        servers = {kind: stack.enter_context(server(kind)) for kind in kinds}
        with asyncio.Runner(loop_factory=new_loop) as runner:
            figures = runner.run(measure(servers))
        memory = {kind: process.memory_info().rss / 1e6 for kind, (_, process) in servers.items()}
    for name, figure in figures.items():
        print(f"{name:<60} {figure:>10,.{2 if '/' in name else 0}f}")
    for kind, size in memory.items():
        print(f"{kind + ': MB':<60} {size:>10,.1f}")
    print(json.dumps(figures | {f"{kind}: MB": size for kind, size in memory.items()}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(serve(sys.argv[1]))
    else:
        main()
