"""The pauses of a retry loop double up to a limit."""

from __future__ import annotations

import asyncio

import pytest

from leaguekit.agents.retries import Backoff
from leaguekit.sim import loop


async def _pauses(backoff: Backoff, count: int) -> list[float]:
    clock, pauses = asyncio.get_running_loop().time, []
    for number in range(count):
        assert backoff.failures == number
        began = clock()
        await backoff.pause()
        pauses.append(clock() - began)
    return pauses


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        (Backoff(), [0.25, 0.5, 1, 2, 4, 5, 5]),
        (Backoff(longest_seconds=1.5), [0.25, 0.5, 1, 1.5, 1.5]),
        (Backoff(longest_seconds=0.1), [0.1, 0.1]),
    ],
)
def test_each_pause_is_twice_as_long_up_to_the_limit(backoff: Backoff, expected: list[float]) -> None:
    assert loop.run(_pauses(backoff, len(expected))) == pytest.approx(expected)


def test_the_old_function_gives_the_same_pauses() -> None:
    assert loop.run(_pauses(Backoff(), 8)) == pytest.approx([0.25, 0.5, 1, 2, 4, 5, 5, 5])
