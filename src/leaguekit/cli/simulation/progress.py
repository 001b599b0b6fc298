"""The progress of ``league simulate`` on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from math import inf

BAR_WIDTH = 30
# The interval between two outputs of the progress, on a terminal and elsewhere.
BAR_SECONDS = 0.1
LINE_SECONDS = 5.0
# Elsewhere the first output comes earlier.
FIRST_LINE_SECONDS = 1.0


class Progress:
    """Displays the progress: as a bar on a terminal, and as lines elsewhere.

    It measures the duration, to which that of an earlier part of the simulation can be added.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self._is_bar = sys.stderr.isatty()
        self._interval = BAR_SECONDS if self._is_bar else inf if quiet else LINE_SECONDS
        self._is_visible = False

    def __enter__(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
        self._next = self._began + (
            self._interval if self._interval == inf else min(self._interval, FIRST_LINE_SECONDS)
        )

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu_seconds = self.spent()
        if self._is_visible and self._is_bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def spent(self) -> tuple[float, float]:
        """How many seconds it took so far, and how many of the processor, which do not depend on what else runs."""
        seconds, cpu_seconds = time.perf_counter() - self._began, time.process_time() - self._cpu_began
        return self.seconds + seconds, self.cpu_seconds + cpu_seconds

    def update(self, share: float, describe: Callable[[float], str]) -> None:
        """Show which share is done, with what ``describe`` says of the seconds so far, if it is time for that."""
        if (now := time.perf_counter()) < self._next:
            return
        self._next = now + self._interval
        self._is_visible = True
        status = f"{share:4.0%}  {describe(self.seconds + now - self._began)}"
        filled = round(share * BAR_WIDTH)
        bar = f"\r\x1b[K{'█' * filled}{'░' * (BAR_WIDTH - filled)} {status}"
        print(bar if self._is_bar else status.strip(), end="" if self._is_bar else "\n", file=sys.stderr, flush=True)
