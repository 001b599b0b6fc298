"""Ctrl-C during a simulation: it is noted, and raised only where no code of an agent is interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# The noted interrupts. They are empty outside of ``noted_interrupts``.
_noted: list[int] = []


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """A list to which Ctrl-C appends, so that the current round can end. A second Ctrl-C raises KeyboardInterrupt."""
    global _noted  # noqa: PLW0603 - as the handlers of signals are
    noted: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        if len(noted) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    _noted = noted
    try:
        yield noted
    finally:
        _noted = []
        signal.signal(signal.SIGINT, before)


def is_interrupted() -> bool:
    """Whether Ctrl-C was noted."""
    return bool(_noted)


def raise_noted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was noted."""
    if _noted:
        raise KeyboardInterrupt
