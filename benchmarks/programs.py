"""Programs that are measured: started, looked at, and ended with all that they started, whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from clocks import cpu_seconds_of

from leaguekit.cli.forked_process import ForkedProcess

HERE = Path(__file__).parent
LIMIT_SECONDS = 120
END_SECONDS = 10

Program = subprocess.Popen[str]


class Forked(ForkedProcess):
    """A ``league`` command, forked as `league run` forks its agents: what they import is imported once."""

    def __init__(self, arguments: Sequence[str], *, kept_fds: Sequence[int]) -> None:
        with Path(os.devnull).open("wb") as nowhere:
            super().__init__(arguments, kept_fds=kept_fds, stderr_fd=nowhere.fileno())

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def start(*arguments: str, python: str = sys.executable, passed: tuple[int, ...] = (), **environment: str) -> Program:
    """Start a program of Python's; Ctrl-C does not reach it, so that it is ended in order."""
    return subprocess.Popen(
        [python, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | environment,
        pass_fds=passed,
        start_new_session=True,
        text=True,
    )


@contextlib.contextmanager
def programs() -> Iterator[list[Program | Forked]]:
    """A list of programs, all of which are over at the end."""
    started: list[Program | Forked] = []
    try:
        yield started
    finally:
        for one in started:
            kill(one)


def end(started: Iterable[Program | Forked]) -> None:
    """Let programs end in order."""
    every = list(started)
    for one in every:
        one.terminate()
    for one in every:
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.wait(END_SECONDS)


def kill(one: Program | Forked) -> None:
    if isinstance(one, Forked):
        one.kill()
        one.wait()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one.pid, signal.SIGKILL)
    one.wait()
    for stream in (one.stdin, one.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def kill_all() -> None:
    """End whatever this process has started: one that was just starting when it was interrupted is in no list."""
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()


def told(
    *arguments: str,
    given: str = "",
    python: str = sys.executable,
    seconds: float = LIMIT_SECONDS,
    **environment: str,
) -> Any:
    """What a program prints, which is JSON."""
    with programs() as started:
        one = start(*arguments, python=python, **environment)
        started.append(one)
        out, _ = one.communicate(given, timeout=seconds)
        if one.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)} failed with {one.returncode}; run it by itself to see why")
    return json.loads(out.splitlines()[-1])


def cpu_seconds(started: Iterable[Program | Forked]) -> float:
    """What programs have taken of the processors so far; one that has ended counts until somebody waits for it."""
    return sum(cpu_seconds_of(one.pid) for one in started)


def megabytes(one: Program | Forked) -> float:
    """What a program has of the memory: its own pages, and its share of those that it has with others (PSS)."""
    return float(psutil.Process(one.pid).memory_full_info().pss / 1e6)


@contextlib.contextmanager
def data_folder() -> Iterator[Path]:
    """A new folder on the disk of this tree: a system's temporary folder may be in memory, where commits are free."""
    build = HERE.parent / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=build) as folder:
        yield Path(folder)


def middle(figures: list[float]) -> float | None:
    return statistics.median(figures) if figures else None


def spread(figures: list[float], digits: int = 0) -> str:
    """Median, least and most."""
    if not figures:
        return "–"
    return f"{statistics.median(figures):,.{digits}f} ({min(figures):,.{digits}f}–{max(figures):,.{digits}f})"
