"""What a match costs, in counts that are the same on every machine: ``python -m tests.costs`` prints them.

A league in virtual time is played twice by real agents, and the second time everything is counted; then POST /mcp by
the real caller and the real server. It is a program of its own, so that nothing remembered from other tests counts.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import leaguekit
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.sim.loop import VirtualLoop
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller
from leaguekit.transport.server.server import Server, listen
from tests.agents.leagues import Hall

ROOT = str(Path(leaguekit.__file__).parent)
STRATEGIES = ("random", "frequency", "alternating", "random", "frequency", "alternating", "random", "frequency")
MATCHES = len(STRATEGIES) * (len(STRATEGIES) - 1) // 2
EXCHANGES = 50
PACKAGES = ("protocol", "games", "match", "league", "transport", "store", "agents", "manager", "referee", "player")
# What is counted of C functions.
OF_C = {
    "JSON encodings": {"msgspec encode", "msgspec encode_into"},
    "JSON decodings": {"msgspec decode"},
    "syncs to disk": {"fsync"},
    "calls of the socket": {"socket send", "socket recv", "socket recv_into", "socket sendmsg"},
}


class Calls:
    """Calls of functions: of ours by file and name, and of those in C by name."""

    def __init__(self) -> None:
        self.ours: Counter[tuple[str, str]] = Counter()
        self.of_c: Counter[str] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(ROOT):
                self.ours[code.co_filename[len(ROOT) + 1 :], code.co_qualname] += 1
        elif event == "c_call":
            # A method in C does not say which module it is of, but its object does.
            module = called.__module__ or type(called.__self__).__module__
            package = module.partition(".")[0]
            self.of_c[f"{package} {called.__name__}" if package in ("msgspec", "socket") else called.__name__] += 1

    def by_package(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for (path, _), count in self.ours.items():
            found[path.partition("/")[0]] += count
        return {package: found[package] for package in PACKAGES}

    def often(self, most: int = 12) -> list[str]:
        return [f"{path}: {name} ({count:,})" for (path, name), count in self.ours.most_common(most)]

    def c_calls(self, what: str) -> int:
        return sum(self.of_c[name] for name in OF_C[what])


class Cost(NamedTuple):
    """Counts of a match, or of an exchange; and which functions were called most."""

    counts: dict[str, float]
    often: list[str]


def of_match() -> Cost:
    """The cost of a match, in a league of eight players and two referees, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        _play(Path(folder, "first"))
        return _play(Path(folder, "second"))


def _play(root: Path) -> Cost:
    calls = Calls()
    loop = VirtualLoop()
    sent: list[int] = []

    def tap(_caller: MemoryCaller, _url: str, body: bytes, came: bytes | BaseException, _when: ExchangeTimes) -> None:
        assert isinstance(came, bytes), came
        sent.append(len(body) + len(came))

    async def play() -> int:
        async with Hall(root) as hall:
            await hall.fill(*STRATEGIES)
            # Recording would decode every message once more.
            hall.network.tap = tap
            first = next(loop.numbers)
            hall.manager.runner.start_when = (len(STRATEGIES), 2)
            with calls.counted():
                hall.manager.runner.wake()
                await hall.end()
                for referee in hall.referees:
                    await referee.finished.wait()
            assert not hall.league.outstanding
            return next(loop.numbers) - first

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        tasks = runner.run(play())
    counts: dict[str, float] = {
        "exchanges": len(sent),
        "bytes sent and answered": sum(sent),
        "tasks": tasks,
        **{what: calls.c_calls(what) for what in ("JSON encodings", "JSON decodings", "syncs to disk")},
        "appends to the log": calls.ours["store/memory.py", "MemoryLog.append"],
        "files written": calls.ours["store/disk.py", "Disk.write"],
        **{f"calls in {package}": count for package, count in calls.by_package().items()},
    }
    return _cost(counts, MATCHES, calls)


def of_exchange() -> Cost:
    """The cost of one POST /mcp by the caller and the server, one after the other on one connection."""
    calls = Calls()

    async def answer(_request: RpcRequest, _peer: Peer) -> bytes:
        return b'{"jsonrpc":"2.0","id":1,"result":{}}'

    async def call() -> int:
        made = itertools.count()
        loop = asyncio.get_running_loop()

        def factory(_loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
            next(made)
            return asyncio.Task(work, loop=loop, **more)

        server = Server(answer, sockets=[listen("127.0.0.1", 0)], max_bytes=10_240, too_large=b"")
        caller = HttpCaller(AddressPolicy.local())
        await server.start()
        url = f"http://127.0.0.1:{server.port}/mcp"
        try:
            await caller.post(url, b"{}", 10.0)
            loop.set_task_factory(factory)
            with calls.counted():
                for _ in range(EXCHANGES):
                    await caller.post(url, b"{}", 10.0)
            return next(made)
        finally:
            loop.set_task_factory(None)
            await caller.close()
            await server.stop()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        tasks = runner.run(call())
    counts = {
        "tasks": tasks,
        "calls of the socket": calls.c_calls("calls of the socket"),
        "calls in transport": calls.by_package()["transport"],
    }
    return _cost(counts, EXCHANGES, calls)


def _cost(counts: Mapping[str, float], of: int, calls: Calls) -> Cost:
    return Cost({what: round(count / of, 1) for what, count in counts.items()}, calls.often())


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"match": of_match()._asdict(), "exchange": of_exchange()._asdict()}, indent=2) + "\n")
