"""What other processes have taken of the processors."""

from __future__ import annotations

import time

import psutil


def cpu_seconds_of(pid: int) -> float:
    try:
        # Linux's clock of a process (clock_getcpuclockid, which Python does not have) goes by nanoseconds, and knows of
        # threads that have ended; what everybody else shows goes by hundredths of a second.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def cpu_seconds_of_children(pid: int) -> float:
    return sum(cpu_seconds_of(child.pid) for child in psutil.Process(pid).children())
