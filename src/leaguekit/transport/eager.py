"""Coroutines that are started without a task, and become tasks only if they have to wait.

Most requests can be answered without waiting for anything. A task for each of them would cost more than to parse it.
The consequence: until a handler first waits, it runs outside of any task. There it cannot set a time limit
(``asyncio.timeout``), use a task group, or use a library that does so (anyio, httpx). ``ensure_task`` is for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def ensure_task() -> None:
    """Make sure that the calling coroutine runs in a task from here on."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)


@coroutine
def continue_in_task(work: Coroutine[Any, Any, ResultT], awaited: Any) -> Generator[Any, Any, ResultT]:
    """The rest of a coroutine that was started by ``send``, for a task. ``awaited`` is what ``send`` returned.

    First the task gets ``awaited``, because the task must be woken by it. Then the coroutine continues as if the task
    had started it: it can be woken, cancelled or closed.
    """
    while True:
        try:
            yield awaited
        except BaseException as error:  # noqa: BLE001 - every exception is passed to the coroutine
            try:
                awaited = work.throw(error)
            except StopIteration as end:
                result: ResultT = end.value
                return result
        else:
            return (yield from work.__await__())
