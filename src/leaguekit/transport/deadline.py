"""The time limit of a call, honest about our own lateness."""

from __future__ import annotations

import asyncio
from typing import Protocol

from leaguekit.transport.base import CallerLate, HttpAnswer, TimedOut

LATE_SECONDS = 0.05
MOST_EXTENSIONS = 3
MOST_LOOKS = 64


class Arriving(Protocol):
    """What an answer arrives on."""

    # Bytes so far.
    arrived: int


class Deadline:
    """One absolute limit over everything that a call waits for.

    What has arrived is read before time is called. A timer that fires late was kept waiting by us, so the peer gets
    that much more time (but never more than the limit itself), at most three times; after that nothing can be ruled.
    """

    __slots__ = ("connection", "ends", "extensions", "failure", "late", "loop", "seconds", "shown", "timer", "waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, shown: str) -> None:
        self.loop = loop
        self.seconds = seconds
        self.shown = shown
        self.ends = loop.time() + seconds
        self.timer: asyncio.Handle = loop.call_at(self.ends, self._fired)
        self.waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None] | None = None
        self.connection: Arriving | None = None
        self.failure: Exception | None = None
        self.extensions = 0
        self.late = 0.0

    def watch(
        self, waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None], connection: Arriving | None = None
    ) -> None:
        """This is what the call waits for now. Raises if the time was up as the last wait ended."""
        if self.failure is not None:
            raise self.failure
        self.waiter = waiter
        self.connection = connection

    def _fired(self) -> None:
        now = self.loop.time()
        late = now - self.ends
        if late <= LATE_SECONDS:
            self._look(TimedOut(self._told()), MOST_LOOKS)
            return
        self.late += late
        if self.extensions == MOST_EXTENSIONS:
            self._look(CallerLate(self.late * 1000), MOST_LOOKS)
            return
        self.extensions += 1
        self.ends = now + min(late, self.seconds)
        self.timer = self.loop.call_at(self.ends, self._fired)

    def _look(self, failure: Exception, looks: int) -> None:
        # The loop reads between one round and the next; what it has read by the one after that, it had.
        arrived = 0 if self.connection is None else self.connection.arrived
        self.timer = self.loop.call_soon(self._wait_a_round, failure, looks, arrived)

    def _wait_a_round(self, failure: Exception, looks: int, arrived: int) -> None:
        self.timer = self.loop.call_soon(self._judge, failure, looks, arrived)

    def _judge(self, failure: Exception, looks: int, arrived: int) -> None:
        if looks and self.connection is not None and self.connection.arrived > arrived:
            self._look(failure, looks - 1)
        elif self.waiter is None or self.waiter.done():
            self.failure = failure
        else:
            self.waiter.set_exception(failure)

    def _told(self) -> str:
        if self.connection is not None:
            stage = "its answer was not complete" if self.connection.arrived else "its answer did not begin"
        else:
            stage = "the connection was not open"
        late = f", and {self.late * 1000:.0f} ms more because we were late" if self.late else ""
        return f"{self.shown} did not answer within {self.seconds:g} s{late}: {stage}"
