"""Virtual time: an event loop that never waits, but moves its clock to the next timer.

``asyncio.sleep``, ``asyncio.timeout`` and ``call_later`` work unchanged. There are no threads: a function for an
executor runs immediately. Real signals are handled; real files and sockets are not supported. The same program runs in
the same order every time, even where it iterates over a set of tasks.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import selectors
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from leaguekit.sim.interrupts import raise_noted

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Polling for real events (signals) is a system call. While callbacks are ready, one poll in this many turns suffices.
_POLL_EVERY_TURNS = 64
_MAX_LISTED_TASKS = 20


class Deadlock(RuntimeError):
    """No callback is ready and no timer is set, so nothing would ever happen again."""


class NoProgress(RuntimeError):
    """The loop turns again and again, but the clock does not advance: the program is in an endless loop."""


class OrderedTask(asyncio.Task[T]):
    """A task whose hash is its serial number and not its address, so that sets of tasks have a fixed order."""

    number: int

    def __new__(cls, *_args: Any, loop: VirtualLoop, **_more: Any) -> OrderedTask[Any]:
        task: OrderedTask[Any] = super().__new__(cls)
        # Here and not in __init__: asyncio's own __init__ adds the task to a set.
        task.number = next(loop.numbers)
        return task

    def __hash__(self) -> int:
        return self.number


class _VirtualSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.advance_clock: Callable[[], None]
        self.raise_no_progress: Callable[[], None]
        self.max_turns = 0
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        busy = timeout is not None and timeout <= 0
        if busy:
            self._turns += 1
            if self._turns % _POLL_EVERY_TURNS:
                return []
            if self._turns > self.max_turns:
                self.raise_no_progress()
        raise_noted()
        events = super().select(0)
        if not events and not busy:
            self._turns = 0
            self.advance_clock()
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time is virtual and starts at 0.0. The clock must advance within ``max_turns`` turns."""

    def __init__(self, max_turns: int = 10_000_000) -> None:
        self._now = 0.0
        self.numbers = itertools.count(1)
        selector = _VirtualSelector()
        super().__init__(selector)
        selector.advance_clock, selector.raise_no_progress = self._advance_clock, self._raise_no_progress
        selector.max_turns = max_turns
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._now

    @property
    def _clock_resolution(self) -> float:
        """How far ahead of the clock asyncio fires timers: here only to the next float, so that none fires early.

        A program may sleep until a moment, and sleep again if it woke before that moment. If timers fired early, it
        would sleep and wake endlessly, because the clock would never reach the moment.
        """
        return math.ulp(self._now)

    @_clock_resolution.setter
    def _clock_resolution(self, seconds: float) -> None:
        """Ignore the value that asyncio sets: it is the resolution of the real clock."""

    def _make_task(
        self,
        _loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, T] | Generator[Any, None, T],
        context: Context | None = None,
        **more: Any,
    ) -> OrderedTask[T]:
        return OrderedTask(work, loop=self, context=context, **more)

    def _raise_no_progress(self) -> None:
        raise NoProgress(_describe_tasks(self, f"time does not move from {self._now:g} s, turn after turn"))

    def _advance_clock(self) -> None:
        # The heap of timers is private to asyncio. The alternative would be to add up the timeouts that the selector is
        # given. Rounding errors would then make two timers for the same moment fire at different moments.
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not timers:
            raise Deadlock(_describe_tasks(self, f"nothing is ready and no timer is set at {self._now:g} s"))
        self._now = max(self._now, timers[0].when())

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002 - asyncio's signature
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Run the function immediately: it is not predictable when a thread would finish."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - awaiting the future raises it
            future.set_exception(error)
        return future


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, as asyncio.run does in real time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def _describe_tasks(loop: asyncio.AbstractEventLoop, what: str) -> str:
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: (len(task.get_name()), task.get_name()))
    lines = [f"{what}; {len(tasks)} tasks wait for ever:"]
    lines += [_describe_task(task) for task in tasks[:_MAX_LISTED_TASKS]]
    if len(tasks) > _MAX_LISTED_TASKS:
        lines.append(f"  and {len(tasks) - _MAX_LISTED_TASKS} more")
    return "\n".join(lines)


def _describe_task(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", repr(coroutine))
    frames = task.get_stack(limit=1)
    place = f" at {frames[0].f_code.co_filename}:{frames[0].f_lineno}" if frames else ""
    return f"  {task.get_name()}: {name}{place}"
