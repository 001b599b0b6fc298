"""The time limits of calls. They take into account that this process itself may be late."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from msgspec import Struct

from leaguekit.transport.base import CallerLate, CallerUnable, HttpAnswer, TimedOut

# A timer that fires later than this was delayed by this process.
LATE_SECONDS = 0.05
MAX_EXTENSIONS = 3
# The maximum number of further checks for data that arrived in time.
MAX_CHECKS = 64
# Added to timers, because uvloop rounds to milliseconds and a timer must never fire too early.
ROUNDING_SECONDS = 0.0005


class AnswerProgress(Protocol):
    """A connection on which an answer arrives."""

    # The bytes of the answer so far.
    received_bytes: int


class DeadlineTimer:
    """The deadlines of all active calls, with one timer for the earliest of them.

    Nearly every call is answered long before its deadline, so that a timer per call would be set and cancelled for
    nothing. When the one timer fires, all deadlines are checked: a few dozen, every few seconds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # The caller removes a deadline when its call is over.
        self.active: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = math.inf

    def start(self, now: float, seconds: float, display_url: str) -> Deadline:
        deadline = Deadline(self, now + seconds, seconds, display_url)
        self.active.add(deadline)
        if deadline.ends_at < self._fires_at:
            self._set_timer(deadline.ends_at)
        return deadline

    def close(self) -> None:
        """Cancel the timer. It is set again if another call starts."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._fires_at = None, math.inf

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(when + ROUNDING_SECONDS, self._fire)
        self._fires_at = when

    def _fire(self) -> None:
        self._timer, self._fires_at = None, math.inf
        now = self.loop.time()
        for deadline in self.active:
            if deadline.ends_at <= now and not deadline.has_expired:
                deadline.expire(now)
        first = min((one.ends_at for one in self.active if not one.has_expired), default=math.inf)
        if first < math.inf:
            self._set_timer(first)


class Deadline(Struct, eq=False):
    """One absolute time limit for everything that a call waits for.

    Data that has arrived in time is read before the call fails. If the timer fires late, then this process was busy,
    and the peer gets as much more time, but at most the original limit again. This happens at most three times. After
    that the call fails with CallerLate, because it cannot be decided whether the peer was in time.
    """

    deadlines: DeadlineTimer
    ends_at: float
    seconds: float
    display_url: str
    # Whether the time is up. Only data that has already arrived is still read.
    has_expired: bool = False
    waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None] | None = None
    connection: AnswerProgress | None = None
    failure: Exception | None = None
    extensions: int = 0
    late_seconds: float = 0.0
    # Why the call waits for this machine and not for the peer, and since when. Empty if it waits for the peer.
    pause_reason: str = ""
    paused_at: float = 0.0

    def pause(self, why: str) -> None:
        """Note that the call waits for this machine. If the time is up before ``resume``, the peer is not to blame."""
        self.pause_reason, self.paused_at = why, self.deadlines.loop.time()

    def resume(self) -> None:
        """Note that the call waits for the peer again. The peer gets as much more time as this machine took."""
        waited = self.deadlines.loop.time() - self.paused_at
        self.pause_reason = ""
        if waited > LATE_SECONDS:
            self.late_seconds += waited
            self.ends_at += waited

    def wait_on(
        self, waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None], connection: AnswerProgress | None = None
    ) -> None:
        """Set the future that the call waits for now. Raises if the time was up when the last wait ended."""
        if self.failure is not None:
            raise self.failure
        self.waiter = waiter
        self.connection = connection

    def expire(self, now: float) -> None:
        """Handle the end of the time limit."""
        late_seconds = now - self.ends_at
        if self.pause_reason:
            self._check_later(CallerUnable(self.display_url, self.pause_reason), MAX_CHECKS)
            return
        if late_seconds <= LATE_SECONDS:
            self._check_later(TimedOut(self._describe(), connected=self.connection is not None), MAX_CHECKS)
            return
        self.late_seconds += late_seconds
        if self.extensions == MAX_EXTENSIONS:
            self._check_later(CallerLate(self.late_seconds * 1000), MAX_CHECKS)
            return
        self.extensions += 1
        self.ends_at = now + min(late_seconds, self.seconds)

    def _check_later(self, failure: Exception, checks_left: int) -> None:
        # The loop reads sockets between two turns. After two turns it has read everything that had arrived by now.
        self.has_expired = True
        received_bytes = 0 if self.connection is None else self.connection.received_bytes
        self.deadlines.loop.call_soon(self._wait_a_turn, failure, checks_left, received_bytes)

    def _wait_a_turn(self, failure: Exception, checks_left: int, received_bytes: int) -> None:
        self.deadlines.loop.call_soon(self._check, failure, checks_left, received_bytes)

    def _check(self, failure: Exception, checks_left: int, received_bytes: int) -> None:
        if self not in self.deadlines.active:
            return
        if checks_left and self.connection is not None and self.connection.received_bytes > received_bytes:
            self._check_later(failure, checks_left - 1)
        elif self.waiter is None or self.waiter.done():
            self.failure = failure
        else:
            self.waiter.set_exception(failure)

    def _describe(self) -> str:
        if self.connection is not None:
            stage = "its answer was not complete" if self.connection.received_bytes else "its answer did not begin"
        else:
            stage = "the connection was not open"
        late_seconds = f", and {self.late_seconds * 1000:.0f} ms more because we were late" if self.late_seconds else ""
        return f"{self.display_url} did not answer within {self.seconds:g} s{late_seconds}: {stage}"
