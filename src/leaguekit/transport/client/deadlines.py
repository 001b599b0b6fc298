"""The time limits of calls, honest about our own lateness."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from msgspec import Struct

from leaguekit.transport.base import CallerLate, CallerUnable, HttpAnswer, TimedOut

LATE_SECONDS = 0.05
MAX_EXTENSIONS = 3
MAX_LOOKS = 64
# uvloop rounds to milliseconds: so much later, a timer never comes too early.
ROUNDING_SECONDS = 0.0005


class AnswerProgress(Protocol):
    """What an answer arrives on."""

    # Bytes so far.
    arrived: int


class DeadlineTimer:
    """The limits of all calls under way, and one timer for the first of them.

    Nearly every call is answered long before its time, so that a timer of its own would be set and cancelled for
    nothing. When the one timer rings, all calls are looked through: some dozens, every few seconds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # Whoever begins a call takes its limit out again when it is over.
        self.under_way: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf

    def begin(self, now: float, seconds: float, shown: str) -> Deadline:
        deadline = Deadline(self, now + seconds, seconds, shown)
        self.under_way.add(deadline)
        if deadline.ends < self._rings_at:
            self._ring_at(deadline.ends)
        return deadline

    def close(self) -> None:
        """Ring no more, unless another call begins."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings_at = None, math.inf

    def _ring_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(when + ROUNDING_SECONDS, self._ring)
        self._rings_at = when

    def _ring(self) -> None:
        self._timer, self._rings_at = None, math.inf
        now = self.loop.time()
        for deadline in self.under_way:
            if deadline.ends <= now and not deadline.passed:
                deadline.ring(now)
        first = min((one.ends for one in self.under_way if not one.passed), default=math.inf)
        if first < math.inf:
            self._ring_at(first)


class Deadline(Struct, eq=False):
    """One absolute limit over everything that a call waits for.

    What has arrived is read before time is called. A timer that rings late was kept waiting by us, so the peer gets
    that much more time (but never more than the limit itself), at most three times; after that nothing can be ruled.
    """

    deadlines: DeadlineTimer
    ends: float
    seconds: float
    shown: str
    # The time is up, and only what has arrived is still looked at.
    passed: bool = False
    waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None] | None = None
    connection: AnswerProgress | None = None
    failure: Exception | None = None
    extensions: int = 0
    late: float = 0.0
    # Why the call waits for this machine and not for the peer, and since when.
    held: str = ""
    held_since: float = 0.0

    def hold(self, why: str) -> None:
        """The call waits for this machine. If the time is up before ``go_on``, that is our own fault."""
        self.held, self.held_since = why, self.deadlines.loop.time()

    def go_on(self) -> None:
        """The call waits for the peer again, which gets as much more time as we took."""
        waited = self.deadlines.loop.time() - self.held_since
        self.held = ""
        if waited > LATE_SECONDS:
            self.late += waited
            self.ends += waited

    def watch(
        self, waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None], connection: AnswerProgress | None = None
    ) -> None:
        """This is what the call waits for now. Raises if the time was up as the last wait ended."""
        if self.failure is not None:
            raise self.failure
        self.waiter = waiter
        self.connection = connection

    def ring(self, now: float) -> None:
        """The time has come, or is past already."""
        late = now - self.ends
        if self.held:
            self._look(CallerUnable(self.shown, self.held), MAX_LOOKS)
            return
        if late <= LATE_SECONDS:
            self._look(TimedOut(self._told(), connected=self.connection is not None), MAX_LOOKS)
            return
        self.late += late
        if self.extensions == MAX_EXTENSIONS:
            self._look(CallerLate(self.late * 1000), MAX_LOOKS)
            return
        self.extensions += 1
        self.ends = now + min(late, self.seconds)

    def _look(self, failure: Exception, looks: int) -> None:
        # The loop reads between one round and the next; what it has read by the one after that, it had.
        self.passed = True
        arrived = 0 if self.connection is None else self.connection.arrived
        self.deadlines.loop.call_soon(self._wait_a_round, failure, looks, arrived)

    def _wait_a_round(self, failure: Exception, looks: int, arrived: int) -> None:
        self.deadlines.loop.call_soon(self._judge, failure, looks, arrived)

    def _judge(self, failure: Exception, looks: int, arrived: int) -> None:
        if self not in self.deadlines.under_way:
            return
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
