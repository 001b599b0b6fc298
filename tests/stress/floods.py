"""Every body of ``tests.security.floods`` to every entry point of every program, and how long each holds the loop."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from leaguekit.protocol.rpc import MOST_BYTES
from tests.security.floods import Came, Entry, bodies, is_too_long, post, programs

MOST_SECONDS = 0.05
# A body counts as slow if it is each time: a collection of garbage or a cold cache may fall on any body.
TRIES = 3
SHORT = 200


async def stress(root: Path, short: bool) -> tuple[dict[str, Any], list[str]]:
    """What was found, and what was wrong."""
    told: dict[str, Any] = {}
    faults: list[str] = []
    async with programs(root) as entries:
        for entry in entries:
            longest, largest, posted = 0.0, 0, 0
            for size in sorted({1_000, MOST_BYTES, entry.most}):
                made = [*bodies(entry, size)]
                for name, make in Random(16).sample(made, min(SHORT, len(made)) if short else len(made)):
                    body = make()
                    came = await _fastest(entry, body)
                    posted += 1
                    longest, largest = max(longest, came.longest), max(largest, came.size)
                    if came.longest > MOST_SECONDS:
                        faults.append(f"{entry.name}: {name} of {size:,} bytes holds the loop {came.longest:.3f} s")
                    if is_too_long(body, came):
                        faults.append(f"{entry.name}: {name} of {len(body):,} bytes is answered with {came.size:,}")
            told[entry.name] = {
                "bodies": posted,
                "longest callback, ms": round(1_000 * longest, 1),
                "largest answer, bytes": largest,
            }
    return told, faults


async def _fastest(entry: Entry, body: bytes) -> Came:
    came = await post(entry, body)
    for _ in range(TRIES - 1):
        if came.longest <= MOST_SECONDS:
            break
        came = min(came, await post(entry, body))
    return came
