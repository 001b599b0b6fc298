"""Virtual time: an event loop that never waits, but moves its clock to the next timer.

asyncio.sleep, asyncio.timeout and call_later work unchanged. There are no threads: what would go to an executor runs at
once. Real signals still arrive; other real files and sockets have no place here. The same program runs in the same
order every time, also where it goes through a set of tasks.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import selectors
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Looking for real events (signals) is a system call; while there is work, one turn in so many is often enough.
_LOOK_EVERY = 64
_MAX_SHOWN = 20


class Deadlock(RuntimeError):
    """Nothing is ready and no timer is set: nothing would ever happen again."""


class Spinning(RuntimeError):
    """Turn follows turn and time does not move: it would go on like that for ever."""


class NumberedTask(asyncio.Task[T]):
    """A task that sets order by when it was made, and not by where it lies in memory."""

    number: int

    def __new__(cls, *_args: Any, loop: VirtualLoop, **_more: Any) -> NumberedTask[Any]:
        task: NumberedTask[Any] = super().__new__(cls)
        # At once, for asyncio puts it into a set while it makes it.
        task.number = next(loop.numbers)
        return task

    def __hash__(self) -> int:
        return self.number


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.jump: Callable[[], None]
        self.spins: Callable[[], None]
        self.max_turns = 0
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        busy = timeout is not None and timeout <= 0
        if busy:
            self._turns += 1
            if self._turns % _LOOK_EVERY:
                return []
            if self._turns > self.max_turns:
                self.spins()
        events = super().select(0)
        if not events and not busy:
            self._turns = 0
            self.jump()
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time is virtual, from 0.0 on. In ``max_turns`` time must have moved."""

    def __init__(self, max_turns: int = 10_000_000) -> None:
        self._now = 0.0
        self.numbers = itertools.count(1)
        selector = _JumpingSelector()
        super().__init__(selector)
        selector.jump, selector.spins = self._jump, self._spins
        selector.max_turns = max_turns
        self.set_task_factory(self._numbered)

    def time(self) -> float:
        return self._now

    @property
    def _clock_resolution(self) -> float:
        """How far ahead asyncio looks for timers that are due: here to the next number, so that none fires early.

        Whoever sleeps until a moment, and again if it woke before, would otherwise sleep and wake without end.
        """
        return math.ulp(self._now)

    @_clock_resolution.setter
    def _clock_resolution(self, seconds: float) -> None:
        """Asyncio's own idea of it is about the real clock."""

    def _numbered(
        self,
        _loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, T] | Generator[Any, None, T],
        context: Context | None = None,
        **more: Any,
    ) -> NumberedTask[T]:
        return NumberedTask(work, loop=self, context=context, **more)

    def _spins(self) -> None:
        raise Spinning(_waiting(self, f"time does not move from {self._now:g} s, turn after turn"))

    def _jump(self) -> None:
        # The loop's own heap of timers is private to asyncio. Adding up the selector's timeouts instead would miss the
        # timers by rounding errors, and two limits set for the same moment would no longer be equal.
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not timers:
            raise Deadlock(_waiting(self, f"nothing is ready and no timer is set at {self._now:g} s"))
        self._now = max(self._now, timers[0].when())

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002 - asyncio's signature
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Run it here and now: a thread would finish at a moment of its own choosing."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits the future gets it
            future.set_exception(error)
        return future


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, as asyncio.run does in real time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def _waiting(loop: asyncio.AbstractEventLoop, what: str) -> str:
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: (len(task.get_name()), task.get_name()))
    lines = [f"{what}; {len(tasks)} tasks wait for ever:"]
    lines += [_shown(task) for task in tasks[:_MAX_SHOWN]]
    if len(tasks) > _MAX_SHOWN:
        lines.append(f"  and {len(tasks) - _MAX_SHOWN} more")
    return "\n".join(lines)


def _shown(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", repr(coroutine))
    frames = task.get_stack(limit=1)
    place = f" at {frames[0].f_code.co_filename}:{frames[0].f_lineno}" if frames else ""
    return f"  {task.get_name()}: {name}{place}"
