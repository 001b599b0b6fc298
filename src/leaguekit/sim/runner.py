"""Runs one simulated league from start to end, and collects what its agents log."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.sim.faults import FaultPlan
from leaguekit.sim.outcome import LeagueSetup, Outcome
from leaguekit.sim.processes import OWNER, ProcessLoop
from leaguekit.sim.simulated_league import SimulatedLeague
from leaguekit.store.base import StoreError

_MAX_LOG_RECORDS = 2_000


def play(plan: FaultPlan, setup: LeagueSetup, prepare: Callable[[SimulatedLeague], None] | None = None) -> Outcome:
    """Play one league in virtual time. ``prepare`` may change the simulated league before it starts."""
    loop = ProcessLoop()
    unhandled: list[str] = []
    loop.set_exception_handler(lambda _loop, context: unhandled.append(_describe_error(context)))

    async def main() -> Outcome:
        league = SimulatedLeague(loop, plan, setup)
        if prepare is not None:
            prepare(league)
        return await league.play()

    with _capture_logs(_LogCollector(loop)) as log:
        # When an object is finalized must not depend on what ran before.
        gc.disable()
        try:
            # Without asyncio.Runner, which would cancel the tasks of crashed processes.
            outcome = loop.run_until_complete(main())
        finally:
            # Exceptions that crashed processes have not retrieved are not faults.
            loop.set_exception_handler(lambda _loop, _context: None)
            # A coroutine that is closed may ask for the event loop. Without one, asyncio would create another loop and
            # leave it open.
            asyncio.set_event_loop(loop)
            loop.discard_processes()
            # Tasks of the simulation itself are left only by Ctrl-C.
            for task in asyncio.all_tasks(loop):
                with suppress(BaseException):
                    task.get_coro().close()
            asyncio.set_event_loop(None)
            loop.close()
            gc.enable()
    outcome.violations += [*log.errors, *unhandled]
    outcome.recent_log = log.format_records
    return outcome


class _LogCollector(logging.Handler):
    """Keeps the last log records of the agents, each with its time and its process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.INFO)
        self._loop = loop
        self._records: deque[tuple[float, str, logging.LogRecord]] = deque(maxlen=_MAX_LOG_RECORDS)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        owner = OWNER.get()
        if owner is not None and not owner.alive:
            return
        name = "" if owner is None else owner.name
        self._records.append((self._loop.time(), name, record))
        error = record.exc_info[1] if record.exc_info else None
        # Full disks and refusals are injected faults. Every other exception is a bug.
        if record.levelno >= logging.ERROR and error and not isinstance(error, StoreError | RegistrationRefused):
            self.errors.append(f"{name}: {record.getMessage()}: {error!r}")

    def format_records(self) -> list[str]:
        return [f"{at:10.3f} {name:10} {record.getMessage()}" for at, name, record in self._records]


@contextmanager
def _capture_logs(collector: _LogCollector) -> Iterator[_LogCollector]:
    """Send the package's log records to one handler only."""
    package = logging.getLogger("leaguekit")
    before = (package.handlers, package.level, package.propagate)
    package.handlers, package.propagate = [collector], False
    package.setLevel(logging.INFO)
    try:
        yield collector
    finally:
        package.handlers, level, package.propagate = before
        package.setLevel(level)


def _describe_error(context: dict[str, Any]) -> str:
    return f"{context['message']}: {context.get('exception')!r}"
