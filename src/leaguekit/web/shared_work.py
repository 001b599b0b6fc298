"""Work that several clients wait for: done once for all of them, in a limited share of the time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")


class Busy(Exception):
    """The work cannot be done now; the text says why."""


class SharedTask(Generic[T]):
    """A task that several clients wait for. It is cancelled when the last of them leaves."""

    def __init__(self, work: Coroutine[Any, Any, T], address: str = "") -> None:
        self.address = address
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(_retrieve_exception)
        self._waiting = 0

    @property
    def is_over(self) -> bool:
        return self._task.done() or self._task.cancelling() > 0

    async def result(self, receive: Receive | None = None) -> T:
        """Wait for the task; with ``receive`` only while the client is connected. Raises ClientDisconnect and Busy."""
        disconnecting = () if receive is None else (asyncio.ensure_future(wait_for_disconnect(receive)),)
        self._waiting += 1
        try:
            await asyncio.wait((self._task, *disconnecting), return_when=asyncio.FIRST_COMPLETED)
            if not self._task.done():
                raise ClientDisconnect
        finally:
            for task in disconnecting:
                task.cancel()
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()
        if self._task.cancelled():
            raise Busy("The manager is stopping.")
        return self._task.result()

    def cancel(self) -> None:
        self._task.cancel()


class TimeShareLimiter:
    """Starts pieces of work one after the other, and lets them take at most a share of the time.

    After each piece there is a pause: with a share of a quarter, a pause of three times as long as the work took.
    """

    def __init__(self, share: float) -> None:
        self._pause_factor = 1 / share - 1
        self._paused_until = 0.0
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until the next piece of work may begin. The event loop serves connections before that."""
        async with self._lock:
            await asyncio.sleep(max(0.0, self._paused_until - asyncio.get_running_loop().time()))

    def record(self, seconds: float) -> None:
        """Extend the pause by that for a piece of work that took ``seconds``."""
        now = asyncio.get_running_loop().time()
        self._paused_until = max(now, self._paused_until) + seconds * self._pause_factor


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from logging the exception of a task that failed just when its last client left."""
    if not task.cancelled():
        task.exception()


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client of a request has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
