"""Work for clients: done once for all that wait for it, for part of the time only, and ended when no client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")


class Busy(Exception):
    """The work cannot be done now; the text says why."""


class Shared(Generic[T]):
    """Work that several clients wait for. It is cancelled when the last of them leaves."""

    def __init__(self, work: Coroutine[Any, Any, T], address: str = "") -> None:
        self.address = address
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(_looked_at)
        self._waiting = 0

    @property
    def is_over(self) -> bool:
        return self._task.done() or self._task.cancelling() > 0

    async def result(self, receive: Receive | None = None) -> T:
        """Wait for the work; with ``receive`` as long as the client is connected. Raises ClientDisconnect and Busy."""
        leaving = () if receive is None else (asyncio.ensure_future(_disconnected(receive)),)
        self._waiting += 1
        try:
            await asyncio.wait((self._task, *leaving), return_when=asyncio.FIRST_COMPLETED)
            if not self._task.done():
                raise ClientDisconnect
        finally:
            for one in leaving:
                one.cancel()
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()
        if self._task.cancelled():
            raise Busy("The manager is stopping.")
        return self._task.result()

    def cancel(self) -> None:
        self._task.cancel()


class TimeShareLimiter:
    """Begins work one after the other, and takes at most a part of the time for it."""

    def __init__(self, part: float) -> None:
        self._pauses = 1 / part - 1
        self._rests_until = 0.0
        self._in_turn = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until the next work may begin. Connections are served before that."""
        async with self._in_turn:
            await asyncio.sleep(max(0.0, self._rests_until - asyncio.get_running_loop().time()))

    def rest(self, seconds: float) -> None:
        """Take a pause after work that took so many seconds."""
        now = asyncio.get_running_loop().time()
        self._rests_until = max(now, self._rests_until) + seconds * self._pauses


def _looked_at(task: asyncio.Task[Any]) -> None:
    """Work that fails when its last client has just left is no fault that must be logged."""
    if not task.cancelled():
        task.exception()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
