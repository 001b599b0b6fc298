"""A limit of real time for strategies that run in the thread of their caller, as in tests and in simulations.

Elsewhere a strategy runs in a thread of its own, which can be left alone if the strategy never returns.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

from leaguekit.player.context import MARGIN_SECONDS
from leaguekit.protocol.messages import GameMoveCall
from leaguekit.protocol.methods import BY_REQUEST

# What a strategy has in a league.
MOVE_SECONDS = BY_REQUEST[GameMoveCall].seconds - MARGIN_SECONDS
_INTERVAL_SECONDS = 0.25


class MoveTooSlow(BaseException):
    """Raised in a strategy that takes too long. A strategy that handles its own exceptions does not handle this one."""

    def __str__(self) -> str:
        return f"took longer than {MOVE_SECONDS:g} s"


@contextmanager
def move_timeout(*callers: CodeType, is_ending: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """A context in which MoveTooSlow is raised in a strategy that one of these functions has called in this thread.

    It is raised after ``MOVE_SECONDS``, or at once if ``is_ending``. It is not raised while the strategy waits for the
    operating system.
    """
    import ctypes  # noqa: PLC0415 - an agent does not need it

    thread, is_over = threading.get_ident(), threading.Event()

    def watch() -> None:
        current: FrameType | None = None
        seen = 0
        while not is_over.wait(_INTERVAL_SECONDS):
            frame = sys._current_frames().get(thread)  # noqa: SLF001 - it is documented
            while frame is not None and frame.f_code not in callers:
                frame = frame.f_back
            # Times at which it was seen are counted, and not seconds: the program may have been stopped meanwhile.
            seen = seen + 1 if frame is current else 0
            current = frame
            if frame is not None and seen and (is_ending() or seen * _INTERVAL_SECONDS >= MOVE_SECONDS):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(MoveTooSlow))
                seen = 0

    watcher = threading.Thread(target=watch, name="move limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
