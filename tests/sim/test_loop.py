"""Virtual time."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import AsyncIterator

import pytest

from leaguekit.sim.loop import Deadlock, NoProgress, VirtualLoop, run


def test_time_passes_without_waiting() -> None:
    async def main() -> float:
        await asyncio.sleep(1_000_000)
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    assert run(main()) == 1_000_000
    assert time.monotonic() - began < 5


def test_timeouts_sleeps_and_timers_keep_their_order() -> None:
    seen: list[tuple[str, float]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(3, lambda: seen.append(("call_later", loop.time())))
        loop.call_at(2.5, lambda: seen.append(("call_at", loop.time())))
        loop.call_later(2.7, lambda: seen.append(("cancelled", loop.time()))).cancel()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await asyncio.sleep(10)
        seen.append(("timeout", loop.time()))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2)
        seen.append(("wait_for", loop.time()))

    run(main())
    assert seen == [("timeout", 2.0), ("call_at", 2.5), ("call_later", 3.0), ("wait_for", 4.0)]


def test_a_timer_fires_at_exactly_its_moment() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        rng = random.Random(1)
        for _ in range(1_000):
            fired = loop.create_future()
            timer = loop.call_later(rng.random() * 10, lambda fired=fired: fired.set_result(loop.time()))
            assert await fired == timer.when()

    run(main())


async def _workers() -> list[tuple[int, int, bool, float]]:
    rng, log = random.Random(7), []

    async def work(number: int) -> None:
        for step in range(5):
            try:
                async with asyncio.timeout(rng.random() * 2):
                    await asyncio.sleep(rng.random() * 2)
            except TimeoutError:
                log.append((number, step, False, asyncio.get_running_loop().time()))
            else:
                log.append((number, step, True, asyncio.get_running_loop().time()))

    await asyncio.gather(*(work(number) for number in range(50)))
    return log


def test_the_same_program_runs_in_the_same_order_every_time() -> None:
    first = run(_workers())
    assert {in_time for _, _, in_time, _ in first} == {True, False}
    assert all(run(_workers()) == first for _ in range(5))


def test_a_deadlock_is_told_with_the_tasks_that_wait() -> None:
    async def waits_for_nobody() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.sleep(3)
        await asyncio.gather(*(asyncio.create_task(waits_for_nobody(), name=f"stuck-{n}") for n in range(30)))

    with pytest.raises(Deadlock) as caught:
        run(main())
    first, *lines = str(caught.value).split("\n")
    assert first == "nothing is ready and no timer is set at 3 s; 31 tasks wait for ever:"
    assert any("stuck-0: " in line and "waits_for_nobody at " in line and "test_loop.py:" in line for line in lines)
    assert lines[-1] == "  and 11 more"


def test_executors_run_here_and_now() -> None:
    async def main() -> None:
        here = threading.get_ident()
        assert await asyncio.to_thread(threading.get_ident) == here
        assert await asyncio.get_running_loop().run_in_executor(None, max, 1, 2) == 2
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)

    run(main())


def test_tasks_and_generators_are_cleaned_up() -> None:
    ended: list[str] = []
    kept: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            ended.append("generator")

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append("task")

    async def main() -> asyncio.Task[None]:
        kept.append(numbers())
        await anext(kept[0])
        task = asyncio.create_task(for_ever())
        await asyncio.sleep(0)
        return task

    task = run(main())
    assert task.cancelled()
    assert ended == ["task", "generator"]


def test_a_failure_comes_out() -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run(main())


def test_ctrl_c_ends_even_a_program_that_never_pauses() -> None:
    async def main() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000_000):
            await asyncio.sleep(0)

    # Whatever ran in this process before may have left another handler behind.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(main())
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("pause", [0, 1])
def test_signal_handlers_of_the_loop_are_called(pause: float) -> None:
    async def main() -> None:
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, called.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(1_000):
            await asyncio.sleep(pause)
            if called.is_set():
                return
        raise AssertionError("the handler was not called")

    run(main())


def test_asyncio_has_the_private_part_that_the_loop_reads() -> None:
    loop = VirtualLoop()
    try:
        assert loop._scheduled == []
        timer = loop.call_later(5, print)
        assert loop._scheduled == [timer]
    finally:
        loop.close()


def test_a_timer_never_fires_early_so_that_whoever_sleeps_until_a_moment_does_not_spin() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.1)
        wakes, at = 0, loop.time() + 1e-10
        while (rest := at - loop.time()) > 0:
            wakes += 1
            await asyncio.sleep(rest)
        return wakes

    assert run(main()) == 1


def test_turns_without_end_in_which_time_does_not_move_are_told() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - that is the fault
            await asyncio.sleep(0)

    loop = VirtualLoop(max_turns=1_000)
    with pytest.raises(NoProgress, match=r"time does not move from 0 s(.|\n)*spin at .*test_loop.py"):
        loop.run_until_complete(spin())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def test_sets_of_tasks_have_the_order_in_which_the_tasks_were_made() -> None:
    async def main() -> list[str]:
        keep: list[object] = []
        tasks = set()
        for number in range(100):
            # Something else in memory between them, so that addresses say nothing.
            keep.append(bytearray(random.randrange(4_000)))
            tasks.add(asyncio.create_task(asyncio.sleep(0), name=f"task {number}"))
        return [task.get_name() for task in tasks]

    assert len({tuple(run(main())) for _ in range(5)}) == 1
