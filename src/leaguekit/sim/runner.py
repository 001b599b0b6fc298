"""Playing one simulated league from its beginning to its end, and listening to what its agents log."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.sim.faults import Plan
from leaguekit.sim.outcome import Cast, Outcome
from leaguekit.sim.processes import OWNER, ProcessLoop
from leaguekit.sim.simulated_league import House
from leaguekit.store.base import StoreError

# Of what the agents log, so much is kept for a league that fails.
_TAIL = 2_000


def play(plan: Plan, cast: Cast, prepare: Callable[[House], None] = lambda house: None) -> Outcome:  # noqa: ARG005
    """Play one league in virtual time. ``prepare`` may change the house before anybody moves in."""
    loop = ProcessLoop()
    unhandled: list[str] = []
    loop.set_exception_handler(lambda _loop, context: unhandled.append(_unhandled(context)))

    async def main() -> Outcome:
        house = House(loop, plan, cast)
        prepare(house)
        return await house.play()

    with _listening(_Ear(loop)) as ear, _without_collection():
        try:
            # Not by asyncio's Runner, which would cancel the tasks of the dead.
            outcome = loop.run_until_complete(main())
        finally:
            # What the dead left unread is no fault of theirs.
            loop.set_exception_handler(lambda _loop, _context: None)
            # A coroutine that is closed may ask for the loop. Without one asyncio makes another and leaves it open.
            asyncio.set_event_loop(loop)
            loop.bury()
            asyncio.set_event_loop(None)
            loop.close()
    outcome.faults += [*ear.errors, *unhandled]
    outcome.tail = ear.lines
    return outcome


class _Ear(logging.Handler):
    """Keeps the last that the agents logged, each with its time and whose it is."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.INFO)
        self._loop = loop
        self._records: deque[tuple[float, str, logging.LogRecord]] = deque(maxlen=_TAIL)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        owner = OWNER.get()
        if owner is not None and not owner.alive:
            return
        name = "" if owner is None else owner.name
        self._records.append((self._loop.time(), name, record))
        error = record.exc_info[1] if record.exc_info else None
        # A full disk and a refusal are what the faults are about; anything else is a fault of ours.
        if record.levelno >= logging.ERROR and error and not isinstance(error, StoreError | RegistrationRefused):
            self.errors.append(f"{name}: {record.getMessage()}: {error!r}")

    def lines(self) -> list[str]:
        return [f"{at:10.3f} {name:10} {record.getMessage()}" for at, name, record in self._records]


@contextmanager
def _listening(ear: _Ear) -> Iterator[_Ear]:
    """Let nobody but one handler hear what the package logs."""
    package = logging.getLogger("leaguekit")
    before = (package.handlers, package.level, package.propagate)
    package.handlers, package.propagate = [ear], False
    package.setLevel(logging.INFO)
    try:
        yield ear
    finally:
        package.handlers, level, package.propagate = before
        package.setLevel(level)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect no garbage: what is thrown away, and when, must not depend on what ran before."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _unhandled(context: dict[str, Any]) -> str:
    return f"{context['message']}: {context.get('exception')!r}"
