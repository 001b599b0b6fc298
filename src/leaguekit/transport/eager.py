"""Coroutines that are begun where they are asked for, and become tasks only if they have to wait.

Most requests can be answered without waiting for anything, and then a task for each costs more than to read it. The
price: what a handler does before it first waits is done in no task, and there it can set no time limit
(``asyncio.timeout``), form no group of tasks, and use nothing that does (anyio, httpx): see ``ensure_task``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def ensure_task() -> None:
    """Go on in a task, whether this was begun in one or not."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)


@coroutine
def remainder_of(work: Coroutine[Any, Any, ResultT], awaited: Any) -> Generator[Any, Any, ResultT]:
    """The rest of a coroutine that was begun by ``send`` and now awaits what that gave; for a task.

    What it awaits goes to the task first, for it is the task that is woken; then the coroutine goes on as if it had
    always been there, be it woken, cancelled or closed.
    """
    while True:
        try:
            yield awaited
        except BaseException as error:  # noqa: BLE001 - all of them are for the work
            try:
                awaited = work.throw(error)
            except StopIteration as end:
                result: ResultT = end.value
                return result
        else:
            return (yield from work.__await__())
