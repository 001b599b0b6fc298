"""Crashes: a crashed process does nothing more."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leaguekit.sim.processes import Process, ProcessLoop


def play(main: Callable[[ProcessLoop], Awaitable[Any]]) -> Any:
    loop = ProcessLoop()
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.discard_processes()
        loop.close()


def test_a_crash_runs_no_finally_and_fires_no_timer() -> None:
    seen: list[str] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(5, seen.append, "timer")
        try:
            async with asyncio.timeout(100), contextlib.AsyncExitStack() as stack:
                stack.callback(seen.append, "exit stack")
                seen.append("began")
                await asyncio.sleep(10)
                seen.append("woke")
        finally:
            seen.append("finally")

    async def main(loop: ProcessLoop) -> list[str]:
        process = Process(loop, "a")
        process.start(work())
        await asyncio.sleep(1)
        process.kill()
        gc.collect()
        await asyncio.sleep(1_000)
        return [*seen]

    assert play(main) == ["began"]


def test_cancelling_would_have_run_it() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            seen.append("finally")

    async def main(loop: ProcessLoop) -> None:
        task = Process(loop, "a").start(work())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])

    play(main)
    assert seen == ["finally"]


def test_what_a_process_started_dies_with_it_and_nobody_else_does() -> None:
    seen: list[str] = []

    async def child(name: str) -> None:
        await asyncio.sleep(2)
        seen.append(name)

    async def parent(name: str) -> None:
        children = [asyncio.create_task(child(f"{name}{number}")) for number in range(3)]
        await asyncio.gather(*children)

    async def main(loop: ProcessLoop) -> None:
        first, second = Process(loop, "a"), Process(loop, "b")
        first.start(parent("a"))
        second.start(parent("b"))
        await asyncio.sleep(1)
        assert len(loop.tasks_of(first)) == 4
        first.kill()
        await asyncio.sleep(10)
        assert not loop.tasks_of(second)

    play(main)
    assert sorted(seen) == ["b0", "b1", "b2"]


def test_what_becomes_ready_only_after_the_crash_is_not_run_either() -> None:
    seen: list[str] = []

    async def wait_for(future: asyncio.Future[str]) -> None:
        seen.append(await future)

    async def main(loop: ProcessLoop) -> None:
        shared: asyncio.Future[str] = loop.create_future()
        process = Process(loop, "a")
        process.start(wait_for(shared))
        await asyncio.sleep(1)
        process.kill()
        shared.set_result("too late")
        await asyncio.sleep(1)
        task = process.start(wait_for(shared))
        await asyncio.sleep(1)
        assert not task.done()

    play(main)
    assert not seen


def test_a_process_crashes_before_the_turn_that_was_named() -> None:
    seen: list[int] = []

    async def count() -> None:
        for number in range(100):
            seen.append(number)
            await asyncio.sleep(0)

    async def main(loop: ProcessLoop) -> None:
        process = Process(loop, "a")
        process.crash_at_step = 7
        process.start(count())
        await asyncio.sleep(1)
        assert not process.alive

    play(main)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_the_dead_are_buried_without_a_sound(capsys: pytest.CaptureFixture[str]) -> None:
    async def stubborn() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(10)

    async def never_begun() -> None:
        raise AssertionError

    async def main(loop: ProcessLoop) -> None:
        process = Process(loop, "a")
        process.start(stubborn())
        await asyncio.sleep(1)
        process.start(never_begun())
        process.kill()

    play(main)
    gc.collect()
    assert capsys.readouterr() == ("", "")


def unread(loop: ProcessLoop) -> list[str]:
    """What the loop reports, as it comes."""
    reported: list[str] = []
    loop.set_exception_handler(lambda _loop, context: reported.append(context["message"]))
    return reported


async def fail() -> None:
    raise ValueError("planted")


async def fail_a_future() -> None:
    asyncio.get_running_loop().create_future().set_exception(ValueError("planted"))


@pytest.mark.parametrize("work", [fail, fail_a_future])
def test_a_failure_that_a_living_process_never_reads_is_reported(work: Callable[[], Any]) -> None:
    async def main(loop: ProcessLoop) -> list[str]:
        reported = unread(loop)
        Process(loop, "a").start(work())
        await asyncio.sleep(1)
        return reported

    (message,) = play(main)
    assert message.endswith("exception was never retrieved")


@pytest.mark.parametrize("kind", ["task", "future"])
def test_a_failure_that_a_process_could_not_read_before_its_crash_is_not_reported(kind: str) -> None:
    """The process crashes when the failure has happened, and before the callback that would read it."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        failing = loop.create_task(fail()) if kind == "task" else loop.create_future()
        failing.add_done_callback(lambda failed: failed.exception())
        if kind == "future":
            failing.set_exception(ValueError("planted"))

    async def main(loop: ProcessLoop) -> list[str]:
        reported = unread(loop)
        process = Process(loop, "a")
        # Its turns: the work, the task, and the callback.
        process.crash_at_step = 3 if kind == "task" else 2
        process.start(work())
        await asyncio.sleep(1)
        assert not process.alive
        return reported

    assert play(main) == []


def test_a_suspended_process_goes_on_where_it_was_in_the_same_order() -> None:
    seen: list[str] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        for name, seconds in (("a", 5), ("b", 6)):
            loop.call_later(seconds, seen.append, name)
        await asyncio.sleep(10)
        seen.append(f"woke at {loop.time():g}")

    async def main(loop: ProcessLoop) -> list[str]:
        process = Process(loop, "a")
        process.start(work())
        await asyncio.sleep(1)
        loop.suspend(process)
        loop.suspend(process)
        for name in ("c", "d"):
            loop.call_soon(seen.append, name, context=process.context)
        await asyncio.sleep(20)
        assert seen == []
        loop.resume(process)
        loop.resume(process)
        await asyncio.sleep(20)
        return [*seen]

    assert play(main) == ["c", "d", "a", "b", "woke at 21"]


def test_a_process_that_is_killed_while_it_is_suspended_does_nothing_more() -> None:
    seen: list[str] = []

    async def work() -> None:
        await asyncio.sleep(10)
        seen.append("woke")

    async def main(loop: ProcessLoop) -> list[str]:
        process = Process(loop, "a")
        process.start(work())
        await asyncio.sleep(1)
        loop.suspend(process)
        process.kill()
        loop.suspend(process)
        loop.resume(process)
        await asyncio.sleep(1_000)
        return [*seen]

    assert play(main) == []
