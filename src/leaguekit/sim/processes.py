"""Simulated processes, the tasks and timers that belong to them, and their crashes.

A crash is not a cancellation. After it, no task of the process is resumed, no timer fires and no ``finally`` runs.
A process can also be suspended, as by SIGSTOP. What would have happened in it happens when it is resumed.
The owner of a callback is a variable of its context. Tasks and timers copy the context, so they inherit the owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar, TypeVarTuple

from leaguekit.sim.loop import OrderedTask, VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OWNER: ContextVar[Process | None] = ContextVar("OWNER", default=None)
# The context of callbacks that belong to no process: those of the network and of the simulation itself.
NO_OWNER = Context()

# The virtual clock must advance within this number of turns. In a league with faults some message is always delayed.
_MAX_TURNS = 500_000


class Process:
    """One run of an agent's program, from its start to its end or its crash."""

    def __init__(self, loop: ProcessLoop, name: str) -> None:
        self.name = name
        self.alive = True
        # False after a normal end.
        self.crashed = False
        # The number of callbacks scheduled for it so far, and the number at which it crashes.
        self.steps = 0
        self.crash_at_step: int | None = None
        self.on_crash: Callable[[], None] = self.kill
        # While it is suspended: its callbacks, in order, and its timers.
        self.held: list[asyncio.Handle] | None = None
        self.held_timers: list[asyncio.TimerHandle] = []
        self._loop = loop
        loop.processes.append(self)
        self.context = copy_context()
        self.context.run(OWNER.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that belongs to this process."""
        return self._loop.create_task(work, context=self.context.copy())

    def kill(self) -> None:
        """Crash this process now."""
        self.crashed = True
        self._loop.kill(self)


class _Task(OrderedTask[T]):
    owner: Process | None


class _Future(asyncio.Future[T]):
    owner: Process | None


class ProcessLoop(VirtualLoop):
    """Virtual time for several processes. Each can crash between any two of its steps."""

    def __init__(self) -> None:
        super().__init__(_MAX_TURNS)
        self.processes: list[Process] = []
        self._dead_tasks: list[tuple[Process, asyncio.Task[Any]]] = []
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
            owner.steps += 1
            if owner.steps == owner.crash_at_step:
                self._ready.append(asyncio.Handle(owner.on_crash, (), self, NO_OWNER))
            if owner.held is not None:
                owner.held.append(handle)
                return handle
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
        """Report an error, unless it was not retrieved only because its process had crashed."""
        owner: Process | None = getattr(context.get("future"), "owner", None)
        if owner is None or not owner.crashed:
            super().call_exception_handler(context)

    def tasks_of(self, process: Process) -> list[asyncio.Task[Any]]:
        """The unfinished tasks of a process."""
        return [task for task in asyncio.all_tasks(self) if isinstance(task, _Task) and task.owner is process]

    def kill(self, process: Process) -> None:
        """Cancel every callback and timer of a process, and never resume its tasks."""
        if not process.alive:
            return
        process.alive = False
        # A reference is kept to each task: a task that is garbage-collected runs its ``finally``.
        self._dead_tasks += [(process, task) for task in self.tasks_of(process)]
        for handle in [*self._ready, *self._scheduled]:
            if _owner_of(handle) is process:
                handle.cancel()
        process.held, process.held_timers = None, []

    def suspend(self, process: Process) -> None:
        """Let nothing happen in a process until it is resumed. Its connections stay open."""
        if process.alive and process.held is None:
            process.held = []
            process.held_timers = [timer for timer in self._scheduled if _owner_of(timer) is process]
            self._scheduled = [timer for timer in self._scheduled if _owner_of(timer) is not process]
            heapq.heapify(self._scheduled)

    def resume(self, process: Process) -> None:
        """Continue a process, if it is suspended."""
        self._ready.extend(process.held or ())
        for timer in process.held_timers:
            heapq.heappush(self._scheduled, timer)
        process.held, process.held_timers = None, []

    def discard_processes(self) -> None:
        """Kill all processes and close the coroutines of their tasks. What these still run has no effect."""
        for process in self.processes:
            self.kill(process)
        for process, task in self._dead_tasks:  # a ``finally`` may start a task, which is appended to this list
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
            with contextlib.suppress(BaseException):
                process.context.run(task.get_coro().close)
        self._dead_tasks.clear()

    def _make_task(
        self,
        _loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, T] | Generator[Any, None, T],
        context: Context | None = None,
        **more: Any,
    ) -> OrderedTask[T]:
        task: _Task[T] = _Task(work, loop=self, context=context, **more)
        owner = task.owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None and not owner.alive:
            self._dead_tasks.append((owner, task))
        return task


def _owner_of(handle: asyncio.Handle) -> Process | None:
    owner: Process | None = handle._context.get(OWNER)  # type: ignore[attr-defined]  # noqa: SLF001
    return owner
