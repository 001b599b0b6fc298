"""Confirms that this program is still the writer of a shared log, which another program may take over.

While that is not known, nothing leaves the process: it could be out of date. A standby waits longer than this
(``postgres_lock.SILENT_SECONDS``) before it takes over. So two managers do not answer at the same time, unless the
server was restarted and the standby was the first to connect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from leaguekit.store.base import StoreError, TakeoverLog

log = logging.getLogger(__name__)

# The pause between two confirmations, and how long one counts.
PAUSE_SECONDS = 1.0
CONFIRMED_SECONDS = 4.0


class WriterCheck:
    """The confirmations of one log. ``on_failure`` is called when this program is not its writer any more."""

    def __init__(self, shared: TakeoverLog, on_failure: Callable[[BaseException], None]) -> None:
        # Called with each new ``problem`` and its cause, and with None when the log can be written again.
        self.listeners: list[Callable[[str | None], None]] = []
        self._shared = shared
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._reported: str | None = None
        self._task = self._loop.create_task(self._run())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def is_confirmed(self) -> bool:
        """Whether this program is certainly the writer."""
        return self._loop.time() - self._shared.confirmed_at < CONFIRMED_SECONDS

    @property
    def problem(self) -> str | None:
        """Why the log cannot be written at the moment; None if it can. It does not say where the store is."""
        seconds = self._loop.time() - self._shared.confirmed_at
        return None if seconds < CONFIRMED_SECONDS else f"no answer for {seconds:.0f} s"

    async def confirm(self) -> None:
        """Wait until this program is certainly the writer. Raises StoreError if it is not."""
        if not self.is_confirmed:
            await self._shared.confirm()

    async def _run(self) -> None:
        try:
            while True:
                confirming = asyncio.ensure_future(self._shared.confirm())
                try:
                    while not confirming.done():
                        await asyncio.wait([confirming], timeout=PAUSE_SECONDS)
                        if not confirming.done():
                            self._notify()
                finally:
                    confirming.cancel()
                confirming.result()
                self._notify()
                await asyncio.sleep(PAUSE_SECONDS)
        except StoreError as error:
            self._on_failure(error)

    def _notify(self) -> None:
        """Call the listeners when there is a new problem, or when it has passed."""
        problem = self.problem
        if (problem is None) == (self._reported is None):
            return
        self._reported = problem
        if problem is not None and self._shared.problem is not None:
            problem = f"{problem}: {self._shared.problem}"
        log.warning("the store answers again" if problem is None else f"the league waits for its store: {problem}")
        for listener in self.listeners:
            listener(problem)
