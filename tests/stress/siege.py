"""A league in progress while its manager is besieged: slow sockets, registrations, malformed requests, all sizes.

The manager, its referees and its players are real processes; the besiegers are in this one, on other addresses of
loopback, so that no limit for one address hides what the manager does with what it reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil

from tests.programs import Program
from tests.stress.lines import Line, Seen, chunked, hold, once, post, registration
from tests.stress.malformed import HTTP, bodies

SETTINGS = """
league_id = "besieged"
join_seconds = 2.0
choice_seconds = 2.0
retry_seconds = 0.3
"""
# With each, what it goes on with, a byte a second.
STARTS = [
    (b"", b""),
    (b"P", b""),
    (b"POST /mcp HTTP/1.1\r\nx: ", b"y"),
    (post(b"x" * 5_000)[:-4_000], b"x"),
    (b"GET /health HTTP/1.1\r\nx: ", b"y"),
    (b"POST /transcripts/R1M1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 200000\r\n\r\n", b"{"),
]
LIMITS = (10_240, 32_768, 65_536, 262_144, 1_048_576)


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    players: int
    seconds: int
    slow: int
    registrations: int
    malformed: int
    sizes: int


SHORT = Scale(players=4, seconds=9, slow=1_000, registrations=1_500, malformed=8_000, sizes=60)
FULL = Scale(players=8, seconds=60, slow=1_000, registrations=10_000, malformed=100_000, sizes=400)


@dataclass
class Report:
    """What was found."""

    seen: dict[str, Seen] = field(default_factory=dict)
    held: Counter[str] = field(default_factory=Counter)
    matches: int = 0
    technical_losses: int = 0
    league_completed: bool = False
    # The manager's own memory in MB: once it was warm, and at the end.
    memory: list[float] = field(default_factory=list)
    errors_logged: list[str] = field(default_factory=list)
    tracebacks: int = 0
    seconds: float = 0.0

    @property
    def growth(self) -> float:
        """MB that the manager's memory grew by after the first third of the siege."""
        third = max(1, len(self.memory) // 3)
        return max(self.memory[-third:]) - max(self.memory[:third])

    def told(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 1),
            "matches": self.matches,
            "technical_losses": self.technical_losses,
            "league_completed": self.league_completed,
            "slow sockets": dict(self.held),
            "memory_mb": [round(one, 1) for one in (self.memory[0], max(self.memory), self.memory[-1])],
            "growth_mb": round(self.growth, 1),
            "tracebacks": self.tracebacks,
            "errors_logged": self.errors_logged[:3],
            "statuses": {name: dict(sorted(seen.statuses.items())) for name, seen in self.seen.items()},
            "faults": {name: seen.faults for name, seen in self.seen.items()},
            "slowest_s": {name: round(seen.slowest, 2) for name, seen in self.seen.items()},
        }


async def stress(folder: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what of it must not be."""
    scale = SHORT if short else FULL
    report = await besiege(folder, scale)
    return report.told(), faults(report, scale)


def faults(report: Report, scale: Scale) -> list[str]:
    """What must not be, each in a few words."""
    malformed, registrations = (report.seen[name].statuses for name in ("malformed", "registrations"))
    bad = {
        "the league did not end": not report.league_completed,
        "matches are missing": report.matches != scale.players * (scale.players - 1) // 2,
        "false technical losses": report.technical_losses,
        "fewer slow sockets were held than tried": report.held["most"] < 0.9 * scale.slow,
        "registrations were not answered": registrations[200] + registrations[429] != scale.registrations,
        # What was sent is to be read, and not kept away by a limit.
        "malformed requests were not read": malformed[200] < 0.9 * scale.malformed,
        "malformed requests are missing": malformed.total() != scale.malformed,
        "tracebacks": report.tracebacks,
        "errors in the logs": report.errors_logged,
        "the manager's memory grew": report.growth > 30,
    }
    bad |= {f"{name}: answers of 5xx, internal errors or hangs": seen.faults for name, seen in report.seen.items()}
    return [what for what, is_so in bad.items() if is_so]


async def besiege(folder: Path, scale: Scale) -> Report:
    report = Report()
    with ExitStack() as running:
        began = time.monotonic()
        async with asyncio.timeout(scale.seconds * 4 + 120):
            await _besiege(folder, scale, report, running)
        report.seconds = time.monotonic() - began
    return report


async def _besiege(folder: Path, scale: Scale, report: Report, running: ExitStack) -> None:
    (folder / "league.toml").write_text(SETTINGS)
    data = ("--port", "0", "--data-dir", str(folder / "SHARED"))
    # As many rounds as there are seconds to fill: the league lasts as long as the siege.
    lead = scale.seconds / (scale.players - 1)
    manager = running.enter_context(
        Program(
            "manager", *data, "--config", str(folder / "league.toml"), "--announce-lead", str(lead),
            "--start-when", f"players={scale.players},referees=2",
        )
    )  # fmt: skip
    port = int((await asyncio.to_thread(manager.said, r"is at http://127\.0\.0\.1:(\d+)/mcp"))[1])
    url = f"http://127.0.0.1:{port}/mcp"
    agents = [("referee", "--name", f"Referee {number}", "--max-concurrent", "5") for number in (1, 2)]
    agents += [("player", "--name", f"Player {number}") for number in range(1, scale.players + 1)]
    programs = [running.enter_context(Program(*agent, "--manager", url, *data)) for agent in agents]
    for program in programs:
        await asyncio.to_thread(program.said, "is registered")
    # What is loaded once, for the first request, does not count as growth.
    await asyncio.to_thread(_ask_by_mcp, url)
    process = psutil.Process(manager.process.pid)
    stop = asyncio.Event()
    watching = asyncio.ensure_future(_watch(process, report, stop))
    seen = report.seen = {name: Seen() for name in ("slow", "registrations", "malformed", "http", "sizes")}
    holding = [
        asyncio.ensure_future(
            hold(port, f"127.0.{1 + number % 4}.1", *STARTS[number % len(STARTS)], stop, seen["slow"], report.held)
        )
        for number in range(scale.slow)
    ]
    await asyncio.gather(
        _register(port, scale, seen["registrations"]),
        _malformed(port, scale, seen["malformed"]),
        _broken_http(port, scale, seen["http"]),
        _all_sizes(port, scale, seen["sizes"]),
    )
    # The slow ones stay to the end.
    await asyncio.to_thread(manager.said, "The league is over", 120)
    stop.set()
    await asyncio.gather(watching, *holding)
    line = Line(port, "127.0.0.1", Seen())
    schedule = await look(line, "schedule")
    report.league_completed = (await look(line, "status"))["state"] == "LEAGUE_COMPLETED"
    line.close()
    results = [one["result"]["details"] for one in schedule["schedule"]]
    report.matches = len(results)
    report.technical_losses = sum(details.get("status") == "TECHNICAL_LOSS" for details in results)
    for program in programs:
        assert await asyncio.to_thread(program.ended) == 0
    for log in (folder / "SHARED").rglob("log.jsonl"):
        lines = [json.loads(text) for text in log.read_text().splitlines()]
        report.errors_logged += [one["message"] for one in lines if one["level"] in ("ERROR", "CRITICAL")]
        report.tracebacks += sum("error" in one for one in lines)
    for program in [manager, *programs]:
        report.tracebacks += program.stderr.count("Traceback")
        if "Traceback" in program.stderr:
            report.errors_logged.append(program.stderr[-5_000:])


def _ask_by_mcp(url: str) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    with urlopen(Request(url, json.dumps(call).encode(), accept), timeout=30) as answer:
        assert b"register_player" in answer.read()


async def look(line: Line, command: str) -> Any:
    """What the manager shows of its league; None if it does not answer."""
    call = {"jsonrpc": "2.0", "method": "operator", "params": {"command": command}, "id": 1}
    status, body = await line.ask(post(json.dumps(call).encode()))
    return json.loads(body)["result"] if status == 200 else None


async def _watch(process: psutil.Process, report: Report, stop: asyncio.Event) -> None:
    while not stop.is_set():
        report.memory.append(process.memory_full_info().pss / 1e6)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)


async def paced(count: int, seconds: float, workers: list[Any]) -> None:
    """Have workers do something a number of times, evenly over some seconds."""
    queue: asyncio.Queue[int] = asyncio.Queue()
    began = time.monotonic()

    async def work(worker: Any) -> None:
        while (number := await queue.get()) >= 0:
            await worker(number)

    tasks = [asyncio.ensure_future(work(worker)) for worker in workers]
    for number in range(count):
        late = began + number * seconds / count - time.monotonic()
        if late > 0.005:
            await asyncio.sleep(late)
        queue.put_nowait(number)
    for _ in workers:
        queue.put_nowait(-1)
    await asyncio.gather(*tasks)


async def _register(port: int, scale: Scale, seen: Seen) -> None:
    """All from one address, as from a lab."""
    lines = [Line(port, "127.1.0.1", seen) for _ in range(20)]

    def worker(line: Line) -> Any:
        return lambda number: line.ask(post(registration(number, f"http://127.0.0.1:9/{number}")))

    await paced(scale.registrations, scale.seconds, [worker(line) for line in lines])
    for line in lines:
        line.close()


async def _malformed(port: int, scale: Scale, seen: Seen) -> None:
    lines = [Line(port, f"127.2.0.{1 + number}", seen) for number in range(24)]
    texts: Iterator[bytes] = islice(bodies(2025), scale.malformed)

    def worker(line: Line) -> Any:
        return lambda _: line.ask(post(next(texts)))

    await paced(scale.malformed, scale.seconds * 0.9, [worker(line) for line in lines])
    for line in lines:
        line.close()


async def _broken_http(port: int, scale: Scale, seen: Seen) -> None:
    count = len(HTTP) * max(1, scale.malformed // 5_000)
    workers = [lambda number: once(port, "127.3.0.1", HTTP[number % len(HTTP)], seen)] * 10
    await paced(count, scale.seconds * 0.9, workers)


async def _all_sizes(port: int, scale: Scale, seen: Seen) -> None:
    """Around every limit, and everywhere between."""
    near = [limit + off for limit in LIMITS for off in (-1, 0, 1)]
    sizes = sorted({*range(20), *near, *(int(1.04**power) for power in range(scale.sizes))})
    ways = [(make, path) for make in (post, chunked) for path in ("/mcp", "/transcripts/R1M1")]
    requests = [make(b" " * size, path) for size in sizes for make, path in ways]
    lines = [Line(port, "127.4.0.1", seen) for _ in range(8)]

    def worker(line: Line) -> Any:
        return lambda number: line.ask(requests[number])

    await paced(len(requests), scale.seconds * 0.8, [worker(line) for line in lines])
    for line in lines:
        line.close()
