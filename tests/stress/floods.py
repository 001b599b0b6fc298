"""Every body of ``tests.security.floods`` to every entry point of every program, and how long each holds the loop."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from pathlib import Path
from random import Random
from typing import Any

from leaguekit.protocol.rpc import MAX_BYTES
from tests.security.floods import Came, Entry, answer_seconds, bodies, is_too_long, players_answers, post, programs

MAX_SECONDS = 0.05
# A body counts as slow if it is each time: a collection of garbage or a cold cache may fall on any body.
TRIES = 3
SHORT = 200
# The budget of a server is 128 MB; and this is the process of the callers as well.
MAX_GROWN = 300


async def stress(root: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what was wrong."""
    told: dict[str, Any] = {}
    faults: list[str] = []
    async with programs(root) as entries:
        for entry in entries:
            longest, largest, posted = 0.0, 0, 0
            for size in sorted({1_000, MAX_BYTES, entry.most}):
                made = [*bodies(entry, size)]
                for name, make in Random(16).sample(made, min(SHORT, len(made)) if short else len(made)):
                    body = make()
                    came = await _fastest(entry, body)
                    posted += 1
                    longest, largest = max(longest, came.longest), max(largest, came.size)
                    if came.longest > MAX_SECONDS:
                        faults.append(f"{entry.name}: {name} of {size:,} bytes holds the loop {came.longest:.3f} s")
                    if is_too_long(body, came):
                        faults.append(f"{entry.name}: {name} of {len(body):,} bytes is answered with {came.size:,}")
            told[entry.name] = {
                "bodies": posted,
                "longest callback, ms": round(1_000 * longest, 1),
                "largest answer, bytes": largest,
            }
        told["referee, answers of players"] = _answered(faults)
        for entry in entries:
            if entry.token and entry.most > MAX_BYTES:
                grown = await _unfinished(entry, 100 if short else 450)
                told[entry.name]["grown by unfinished bodies, MB"] = grown
                if grown > MAX_GROWN:
                    faults.append(f"{entry.name}: unfinished bodies take {grown} MB")
    return told, faults


def _answered(faults: list[str]) -> dict[str, Any]:
    """How long a referee in the open profile takes over each answer of a hostile player."""
    longest, answers = 0.0, [(name, make()) for name, make in players_answers(MAX_BYTES)]
    for name, body in answers:
        seconds = min(answer_seconds(body) for _ in range(TRIES))
        longest = max(longest, seconds)
        if seconds > MAX_SECONDS:
            faults.append(f"referee: the answer {name} of {len(body):,} bytes takes {seconds:.3f} s")
    return {"bodies": len(answers), "longest callback, ms": round(1_000 * longest, 1)}


async def _unfinished(entry: Entry, connections: int) -> int:
    """By how many MB this process has grown with unfinished bodies from two addresses: all lack their last byte."""
    before, lines = _resident(), []
    shown = b'{"auth_token":"%b","x":"' % entry.token.encode()
    head = f"POST {entry.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {entry.most}\r\n\r\n".encode()
    body = shown + b"x" * (entry.most - len(shown) - 1)
    grown = 0
    try:
        for number in range(2 * connections):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", entry.port, local_addr=(f"127.0.0.{2 + number % 2}", 0)
            )
            lines.append((reader, writer))
            writer.write(head + body)
            # One that must give way is reset.
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            grown = max(grown, _resident() - before)
    finally:
        for _, writer in lines:
            writer.transport.abort()
    return grown


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1_000_000


async def _fastest(entry: Entry, body: bytes) -> Came:
    came = await post(entry, body)
    for _ in range(TRIES - 1):
        if came.longest <= MAX_SECONDS:
            break
        came = min(came, await post(entry, body))
    return came
