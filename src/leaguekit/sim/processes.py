"""Simulated processes: whose task or timer is whose, and what a crash does to them.

A crash is not a cancellation. What a dead process had still to do is never done: no task of it is resumed, no timer
fires, no ``finally`` runs. Whose a callback is says its context, which tasks and timers hand on by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar, TypeVarTuple

from leaguekit.sim.loop import NumberedTask, VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OWNER: ContextVar[Process | None] = ContextVar("OWNER", default=None)
# What belongs to nobody: the network between the agents, and whoever watches them.
NOBODY = Context()

# In a league with faults there is always a delay somewhere.
_MAX_TURNS = 500_000


class Process:
    """One run of an agent's program, from its start to its end or its crash."""

    def __init__(self, loop: ProcessLoop, name: str) -> None:
        self.name = name
        self.alive = True
        # A program that ended by itself has not crashed.
        self.crashed = False
        # How often it has been given its turn so far, and at which turn it crashes.
        self.turns = 0
        self.crash_at: int | None = None
        self.crash: Callable[[], None] = self.kill
        self._loop = loop
        loop.processes.append(self)
        self.context = copy_context()
        self.context.run(OWNER.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin some work of it, in a task."""
        return self._loop.create_task(work, context=self.context.copy())

    def kill(self) -> None:
        """Crash it here and now."""
        self.crashed = True
        self._loop.kill(self)


class _Task(NumberedTask[T]):
    owner: Process | None


class _Future(asyncio.Future[T]):
    owner: Process | None


class ProcessLoop(VirtualLoop):
    """Virtual time for many processes that can crash, each between any two turns of its own."""

    def __init__(self) -> None:
        super().__init__(_MAX_TURNS)
        self.processes: list[Process] = []
        self._dead: list[tuple[Process, asyncio.Task[Any]]] = []
        self._ready: Any
        self._scheduled: list[asyncio.TimerHandle]

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None:
            if not owner.alive:
                handle.cancel()
                return handle
            owner.turns += 1
            if owner.turns == owner.crash_at:
                self._ready.append(asyncio.Handle(owner.crash, (), self, NOBODY))
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None and not owner.alive:
            handle.cancel()
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        future: _Future[Any] = _Future(loop=self)
        future.owner = OWNER.get()
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report what went wrong, but not that a crash came before the callback that would have read a failure."""
        owner: Process | None = getattr(context.get("future"), "owner", None)
        if owner is None or not owner.crashed:
            super().call_exception_handler(context)

    def tasks_of(self, process: Process) -> list[asyncio.Task[Any]]:
        """What a process has still to do."""
        return [task for task in asyncio.all_tasks(self) if isinstance(task, _Task) and task.owner is process]

    def kill(self, process: Process) -> None:
        """Let nothing of a process happen any more."""
        if not process.alive:
            return
        process.alive = False
        # They are kept, for a task that is thrown away would run its ``finally``.
        self._dead += [(process, task) for task in self.tasks_of(process)]
        for handle in [*self._ready, *self._scheduled]:
            if handle._context.get(OWNER) is process:  # noqa: SLF001 - nobody else can say whose it is
                handle.cancel()

    def bury(self) -> None:
        """End all processes, and throw away what they left; what runs now has no effect any more."""
        for process in self.processes:
            self.kill(process)
        for process, task in self._dead:  # which grows by what a finally begins
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
            with contextlib.suppress(BaseException):
                process.context.run(task.get_coro().close)
        self._dead.clear()

    def _numbered(
        self,
        _loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, T] | Generator[Any, None, T],
        context: Context | None = None,
        **more: Any,
    ) -> NumberedTask[T]:
        task: _Task[T] = _Task(work, loop=self, context=context, **more)
        owner = task.owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None and not owner.alive:
            self._dead.append((owner, task))
        return task
