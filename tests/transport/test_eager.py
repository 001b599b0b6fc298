"""Coroutines that are begun outside of a task: they go on in one as if they had always been there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from leaguekit.transport.base import NoAnswer, Peer, TooManyRequests
from leaguekit.transport.eager import continue_in_task, ensure_task
from tests.transport.running import Run, post, serving


def begun(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Begin it in a callback of the loop, as a server does; here it has to wait."""
    made: list[asyncio.Task[Any]] = []

    async def goes_on(rest: Awaitable[Any]) -> Any:
        return await rest

    assert asyncio.current_task() is None
    made.append(asyncio.get_running_loop().create_task(goes_on(continue_in_task(work, work.send(None)))))
    return made[0]


def in_a_callback(run: Run, work: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Task[Any]:
    """The task of work that was begun in a callback, when it is over."""

    async def main() -> asyncio.Task[Any]:
        loop = asyncio.get_running_loop()
        made: asyncio.Future[asyncio.Task[Any]] = loop.create_future()
        loop.call_soon(lambda: made.set_result(begun(work())))
        task = await made
        await asyncio.wait((task,), timeout=10)
        return task

    task: asyncio.Task[Any] = run(main())
    return task


def test_it_waits_for_futures_for_tasks_and_for_the_next_round_of_the_loop(run: Run) -> None:
    async def work() -> list[object]:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        loop.call_soon(future.set_result, 1)
        came = [await future, await asyncio.sleep(0, 2), await asyncio.ensure_future(asyncio.sleep(0, 3)), await future]
        async with asyncio.timeout(10):
            return [*came, await asyncio.sleep(0.01, 4)]

    assert in_a_callback(run, work).result() == [1, 2, 3, 1, 4]


def test_what_fails_under_it_fails_in_it_and_it_may_go_on(run: Run) -> None:
    async def work() -> str:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, ValueError("no"))
        try:
            await future
        except ValueError as error:
            await asyncio.sleep(0)
            return f"{error}, but"
        return "nothing"

    assert in_a_callback(run, work).result() == "no, but"


def test_what_it_raises_comes_out_of_its_task(run: Run) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    assert isinstance(in_a_callback(run, work).exception(), KeyError)


@pytest.mark.parametrize("again", [False, True], ids=["and ends", "and waits once more"])
def test_it_is_cancelled_where_it_waits(run: Run, again: bool) -> None:
    async def work() -> str:
        asyncio.get_running_loop().call_later(0.01, lambda: next(iter(asyncio.all_tasks() - others)).cancel())
        others = asyncio.all_tasks()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if again:
                await asyncio.sleep(0)
            return "cancelled"
        return "never"

    assert in_a_callback(run, work).result() == "cancelled"


def test_one_that_does_not_mind_is_cancelled_and_one_that_is_closed_cleans_up(run: Run) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("over")

    async def main() -> None:
        def begin() -> Any:
            going_on: Any = continue_in_task(one := work(), one.send(None))
            going_on.send(None)
            return going_on

        with pytest.raises(asyncio.CancelledError):
            begin().throw(asyncio.CancelledError())
        begin().close()

    run(main())
    assert ended == ["over", "over"]


# What a server makes of it


def test_a_handler_that_need_not_wait_needs_no_task_and_one_that_must_has_one(run: Run) -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    async def handle(body: bytes, peer: Peer) -> bytes:
        tasks.append(asyncio.current_task())
        if body == b"done":
            done = asyncio.get_running_loop().create_future()
            done.set_result(None)
            await done
        if body == b"limit":
            await ensure_task()
            tasks.append(asyncio.current_task())
            async with asyncio.timeout(10):
                await asyncio.sleep(0)
            await ensure_task()
            assert asyncio.current_task() is tasks[-1]
        return body

    async def main() -> None:
        async with serving(handle) as running:
            client = await running.connect()
            for body in (b"x", b"done", b"limit", b"x"):
                await client.send(post(body))
                assert (await client.answer())[2] == body
            assert not running.server._endpoint.answer_tasks

    run(main())
    assert [task is None for task in tasks] == [True, True, True, False, True]


@pytest.mark.parametrize("waits", [False, True])
def test_whatever_a_handler_raises_is_answered_the_same_before_it_waited_and_after(
    run: Run, waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    raised: dict[bytes, BaseException] = {
        b"often": TooManyRequests(b"later", 1.5),
        b"cancelled": asyncio.CancelledError(),
        b"fault": ValueError("a secret"),
        b"stop": StopIteration(b"x"),
        b"nobody": NoAnswer(),
    }

    async def handle(body: bytes, peer: Peer) -> bytes:
        if waits:
            await asyncio.sleep(0)
        raise raised[body]

    async def main() -> None:
        async with serving(handle) as running:
            client = await running.connect()
            statuses = []
            for body in (b"often", b"cancelled", b"fault", b"stop"):
                await client.send(post(body))
                statuses.append((await client.answer())[0])
            assert statuses == [429, 200, 200, 200]
            await client.send(post(b"nobody"))
            assert await client.ends()
            assert not running.server._endpoint.answer_tasks

    run(main())
    assert [record.message for record in caplog.records] == ["internal error while answering 127.0.0.1"] * 3


def test_of_requests_that_came_together_others_are_answered_in_between(run: Run) -> None:
    order: list[bytes] = []

    async def note(body: bytes, peer: Peer) -> bytes:
        order.append(body)
        return body

    async def main() -> None:
        async with serving(note) as running:
            many, one = await running.connect(), await running.connect()
            many.writer.write(post(b"many") * 500)
            one.writer.write(post(b"one"))
            assert (await one.answer())[2] == b"one"
            assert [(await many.answer())[2] for _ in range(500)] == [b"many"] * 500

    run(main())
    assert order.index(b"one") < 100
