"""Pools of workers, which run jobs: in this process, or in processes of this machine. ``cluster.py`` has a third one.

Each is a context manager around a ``concurrent.futures.Executor``. When it exits, jobs that still run are cancelled.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, Self, TypeVar

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

_SAFE_PATH = "PYTHONSAFEPATH"
# Windows cannot wait for more processes.
MAX_PROCESSES = 61


class WorkersLost(Exception):
    """The rest of the jobs cannot run, because the workers are lost. The text says why."""


def available_cores() -> int:
    """How many processors this process may use."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class WorkerPool(ABC):
    """Runs jobs. A subclass says where."""

    # Whether jobs use the processor time of this process.
    is_inline = False
    # What a job raises if its worker was lost.
    lost_errors: tuple[type[BaseException], ...] = ()
    _executor: Executor

    @property
    @abstractmethod
    def max_pending(self) -> int:
        """How many jobs are submitted at the same time."""

    def submit(self, function: Callable[[JobT], ResultT], job: JobT) -> Future[ResultT]:
        return self._executor.submit(function, job)

    def describe(self) -> str:
        """Return the number of workers, for the display of the progress; empty for this process."""
        return ""

    def check_for_losses(self) -> None:  # noqa: B027 - optional
        """Find lost workers whose jobs would never raise. Called while a result is awaited. Raises WorkersLost."""

    def restart_after(self, error: BaseException) -> None:  # noqa: B027 - optional
        """Start other workers, after an error has shown that some are lost. Raises WorkersLost."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...


class InlinePool(WorkerPool):
    """Runs each job in this thread when it is submitted."""

    is_inline = True
    max_pending = 1

    def __enter__(self) -> Self:
        self._executor = _InlineExecutor()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()


class _InlineExecutor(Executor):
    def submit(self, fn: Callable[..., ResultT], /, *args: Any, **kwargs: Any) -> Future[ResultT]:
        future: Future[ResultT] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - the future raises it
            future.set_exception(error)
        return future


class ProcessPool(WorkerPool):
    """Runs jobs in processes of this machine. If one of them is lost, all are replaced."""

    lost_errors = (BrokenExecutor,)

    def __init__(self, count: int) -> None:
        self.count = min(count, MAX_PROCESSES) if sys.platform == "win32" else count
        self._children: set[int | None] = set()

    @property
    def max_pending(self) -> int:
        # Results are returned in order. With three jobs per process, the others have work while the oldest job runs.
        return 3 * self.count

    def describe(self) -> str:
        return f"{self.count} processes"

    def submit(self, function: Callable[[JobT], ResultT], job: JobT) -> Future[ResultT]:
        if self._stop_sender.closed:
            raise BrokenExecutor("a process was lost")
        # This may start a process.
        with _isolated_start():
            future = self._executor.submit(function, job)
        self._children |= _children()
        return future

    def check_for_losses(self) -> None:
        """End all processes if one of them is lost.

        The executor itself notices that a process died, unless the process died while it sent a result. Then the
        executor waits for the rest of the result for ever. The processes share a pipe, and this process has its writing
        end open, too. Reading ends with an error when all writing ends are closed.
        """
        if self._children - _children() and not self._stop_sender.closed:
            self._stop_sender.close()
            self._executor._result_queue._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001

    def restart_after(self, error: BaseException) -> None:  # noqa: ARG002 - it is always the same
        self.__exit__()
        self.__enter__()

    def __enter__(self) -> Self:
        self._children = set()
        # The processes end when this process does, or closes the connection: no job holds that up.
        self._stop_receiver, self._stop_sender = multiprocessing.Pipe(duplex=False)
        # The same on all systems. A fork would copy what threads have locked.
        context = multiprocessing.get_context("spawn")
        with _isolated_start():
            self._executor = ProcessPoolExecutor(self.count, context, _initialize_worker, (self._stop_receiver,))
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_sender.close()
        self._executor.shutdown(cancel_futures=True)
        self._stop_receiver.close()


def _children() -> set[int | None]:
    return {child.pid for child in multiprocessing.active_children()}


@contextmanager
def _isolated_start() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach. It is for this process only, which then ends them.

    They do not look for Python's own modules in the current folder, which may have a ``random.py``.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    blocked = None if sys.platform == "win32" else signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if before is None:
            del os.environ[_SAFE_PATH]


def _initialize_worker(stopped: Connection) -> None:
    """Called at the start of a process that runs jobs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_after, args=(stopped,), daemon=True).start()


def _exit_after(stopped: Connection) -> None:
    parent = multiprocessing.parent_process()
    wait([stopped] if parent is None else [stopped, parent.sentinel])
    os._exit(0)
