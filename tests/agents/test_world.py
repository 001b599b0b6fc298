"""The timestamps of messages: the text is cached for a second, and the clock may be set back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from leaguekit.agents import world
from leaguekit.agents.world import World
from leaguekit.protocol import times
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

CALLER = MemoryCaller(MemoryNetwork())


def test_a_timestamp_is_the_time_of_the_world() -> None:
    moment = datetime(2025, 1, 15, 10, 30, 59, 999_999, tzinfo=UTC)
    assert World(CALLER, now=lambda: moment).timestamp() == "2025-01-15T10:30:59Z"


def test_the_real_clock_may_be_set_back_and_forth(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for seconds in (1736937059.9, 1736937060.0, 1736937060.5, 1736937059.1, 1736850000.0):
        monkeypatch.setattr(world, "time", lambda seconds=seconds: seconds)
        seen.append(World(CALLER).timestamp())
    assert seen == [
        times.format_timestamp(datetime.fromtimestamp(s, UTC))
        for s in (1736937059, 1736937060, 1736937060, 1736937059, 1736850000)
    ]


def test_it_is_the_time_that_now_gives() -> None:
    here = World(CALLER)
    before, shown, after = here.now(), here.timestamp(), here.now()
    assert times.format_timestamp(before) <= shown <= times.format_timestamp(after)
