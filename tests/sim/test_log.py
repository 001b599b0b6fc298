"""The event log of a simulated manager."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Literal

import pytest

from leaguekit.sim.log import SimLog
from leaguekit.sim.loop import run
from leaguekit.store.base import StoreError
from leaguekit.store.memory import MemoryLogContent


class PlannedFaults:
    """The same faults at every commit."""

    def __init__(
        self, seconds: float = 0.0, fails: Literal["lost", "written"] | None = None, dies: tuple[str, ...] = ()
    ) -> None:
        self.seconds, self.fails, self.dies = seconds, fails, dies
        self.commits = 0

    def delay(self) -> float:
        return self.seconds

    def failure(self) -> Literal["lost", "written"] | None:
        return self.fails

    def reach(self, moment: str) -> bool:
        self.commits += moment == "before"
        return moment not in self.dies


def test_what_comes_during_a_commit_shares_the_next() -> None:
    async def main() -> None:
        faults = PlannedFaults(seconds=2.0)
        log = SimLog(MemoryLogContent(), faults)
        loop = asyncio.get_running_loop()
        first = [log.append([b"a"]), log.append([b"b", b"c"])]
        await asyncio.sleep(1)
        later = [log.append([b"d"]), log.append([b"e"])]
        assert await asyncio.gather(*first) == [1, 3]
        assert (loop.time(), log.content.events) == (2.0, [b"a", b"b", b"c"])
        assert await asyncio.gather(*later) == [4, 5]
        assert (loop.time(), faults.commits) == (4.0, 2)
        assert [one.number for one in await log.read(3)] == [4, 5]

    run(main())


@pytest.mark.parametrize("fails", ["lost", "written"])
def test_a_failed_commit_fails_everything_that_waits_and_comes(fails: Literal["lost", "written"]) -> None:
    async def main() -> None:
        log = SimLog(MemoryLogContent(), PlannedFaults(seconds=1.0, fails=fails))
        first = log.append([b"a"])
        await asyncio.sleep(0.5)
        second = log.append([b"b"])
        for append in (first, second):
            with pytest.raises(StoreError, match="No space left"):
                await append
        with pytest.raises(StoreError, match="No space left"):
            await log.append([b"c"])
        await log.close()
        assert log.content.events == ([b"a"] if fails == "written" else [])

    run(main())


@pytest.mark.parametrize(("moment", "left"), [("before", []), ("after", [b"a"])])
def test_a_process_may_die_right_before_and_right_after_a_commit(moment: str, left: list[bytes]) -> None:
    async def main() -> None:
        log = SimLog(MemoryLogContent(), PlannedFaults(dies=(moment,)))
        append = log.append([b"a"])
        await asyncio.sleep(1)
        assert not append.done()
        assert log.content.events == left

    run(main())


def test_a_commit_under_way_at_a_crash_is_whole_or_nothing() -> None:
    async def main(seed: int) -> tuple[bytes, ...]:
        log = SimLog(MemoryLogContent(), PlannedFaults(seconds=1.0))
        appends = [log.append([b"a"]), log.append([b"b"])]
        await asyncio.sleep(0.5)
        appends.append(log.append([b"c"]))
        log.crash(Random(seed))
        assert not any(append.done() for append in appends)
        return tuple(log.content.events)

    assert {run(main(seed)) for seed in range(20)} == {(), (b"a", b"b")}


def test_closing_commits_what_waits() -> None:
    async def main() -> None:
        log = SimLog(MemoryLogContent(), PlannedFaults(seconds=1.0))
        appends = [log.append([b"a"])]
        await asyncio.sleep(0.5)
        appends.append(log.append([b"b"]))
        await log.close()
        assert await asyncio.gather(*appends) == [1, 2]
        with pytest.raises(StoreError, match="closed"):
            await log.append([b"c"])

    run(main())
