"""Processes that go on from this one instead of starting anew: what it has imported, they need not import again.

A player's imports take some 200 ms, and fifty of them share two cores. Only where the system forks safely, and while
this process has no other threads.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from leaguekit.cli import COMMANDS, main
from leaguekit.protocol.ids import AgentRole
from leaguekit.protocol.methods import get_ready

_POLL_SECONDS = 0.01
_MAX_FILES = 65_536
# What commands import when they run. There is one manager, which can do that while the others are being started.
_NEEDED = {"referee": ("leaguekit.referee.referee",)}
_NEEDED_BY_ALL = ("uvloop", "uvicorn.lifespan.on", "resource")
# Of which commands there are several, each as an agent of a role that gets ready for its messages.
_SHARED: dict[str, AgentRole] = {"referee": "referee", "player": "player"}


def can_fork() -> bool:
    return sys.platform == "linux" and threading.active_count() == 1


class Fork:
    """A ``league`` command in a process that has gone on from this one; it is looked after as a Popen is."""

    def __init__(self, arguments: Sequence[str], *, kept: Sequence[int], said: int | None) -> None:
        """``kept`` are the files that it goes on with; ``said`` takes what it says, None for this one's terminal."""
        _prepare(arguments[0])
        # What a garbage collection looks at it also writes to, and then it is no longer shared.
        gc.freeze()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        self.returncode: int | None = None
        if self.pid == 0:
            _go_on(arguments, kept, said)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        ends = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if ends is not None and time.monotonic() > ends:
                raise subprocess.TimeoutExpired("league", timeout or 0)
            time.sleep(_POLL_SECONDS)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _prepare(command: str) -> None:
    """Do here what each process of a command would do at first."""
    import_module(f"leaguekit.cli.{COMMANDS[command][1]}")
    for module in (*_NEEDED_BY_ALL, *_NEEDED.get(command, ())):
        with contextlib.suppress(ImportError):
            import_module(module)
    if (role := _SHARED.get(command)) is not None:
        get_ready(role)


def _go_on(arguments: Sequence[str], kept: Sequence[int], said: int | None) -> NoReturn:
    """In the new process: become the command. This never returns, for what lies above is the parent's."""
    code = 1
    try:
        # Ctrl-C goes to the parent alone, which then ends the others in order.
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        null = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((null, null, 2 if said is None else said)):
            os.dup2(file, number)
        _close_all_but(kept)
        with contextlib.suppress(OSError):
            # For those who look at processes: they all have the parent's command line.
            Path("/proc/self/comm").write_text(f"league-{arguments[0]}")
        code = main([*arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - nobody else would tell
        traceback.print_exc()
    finally:
        logging.shutdown()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _close_all_but(kept: Sequence[int]) -> None:
    """Close the files of others. Their objects stay, so that none closes the same number again."""
    first = 3
    for number in sorted(kept):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, _MAX_FILES)
