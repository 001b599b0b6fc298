"""Groups of background tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks(set[asyncio.Task[Any]]):
    """Tasks that run in the background. A task that ends leaves the set. ``on_error`` is called if it has failed."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        super().__init__()
        self._on_error = on_error
        # Before Python 3.12, to ask for the running loop is a system call.
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(work)
        self.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)


async def cancel(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks, and wait until they have ended. Their errors are ignored."""
    started = [task for task in tasks if task is not None]
    for task in started:
        task.cancel()
    await asyncio.gather(*started, return_exceptions=True)
