"""``league`` commands in forked processes, which need not import again what this process has imported.

The imports of a player take about 200 ms of CPU, and fifty players may share two cores. This is used only on systems
that fork safely, and only while this process has no other threads.
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
from leaguekit.protocol.methods import prepare_decoders

_POLL_SECONDS = 0.01
_MAX_DESCRIPTORS = 65_536
# The modules that a command imports when it runs.
_SHARED_IMPORTS = ("uvloop", "uvicorn.lifespan.on", "resource")
# The commands of which there are several processes. Decoders for the messages of their roles are prepared.
_ROLES: dict[str, AgentRole] = {"referee": "referee", "player": "player", "players": "player"}


def can_fork() -> bool:
    return sys.platform == "linux" and hasattr(os, "fork") and threading.active_count() == 1


class ForkedProcess:
    """A ``league`` command in a forked process. It has the methods of ``subprocess.Popen`` that are needed."""

    def __init__(self, arguments: Sequence[str], *, kept_fds: Sequence[int], stderr_fd: int | None) -> None:
        """``kept_fds`` stay open. ``stderr_fd`` is the standard error; None inherits this process's."""
        _prepare(arguments[0])
        # A garbage collection writes to the objects that it visits. Their memory would then no longer be shared.
        gc.freeze()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        self.returncode: int | None = None
        if self.pid == 0:
            _run_child(arguments, kept_fds, stderr_fd)

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
    """Import here what each process of a command would import."""
    import_module(f"leaguekit.cli.commands.{COMMANDS[command][1]}")
    for module in _SHARED_IMPORTS:
        with contextlib.suppress(ImportError):
            import_module(module)
    if command in _ROLES:
        prepare_decoders(_ROLES[command])


def _run_child(arguments: Sequence[str], kept_fds: Sequence[int], stderr_fd: int | None) -> NoReturn:
    """Run the command in the new process. This never returns, because its callers are the parent's code."""
    code = 1
    try:
        # Ctrl-C must reach only the parent, which then ends the others in order.
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        null = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((null, null, 2 if stderr_fd is None else stderr_fd)):
            os.dup2(file, number)
        _close_all_but(kept_fds)
        with contextlib.suppress(OSError):
            # For ``ps`` and ``top``: all forked processes have the parent's command line.
            Path("/proc/self/comm").write_text(f"league-{arguments[0]}")
        code = main([*arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing else would report it
        traceback.print_exc()
    finally:
        logging.shutdown()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _close_all_but(kept_fds: Sequence[int]) -> None:
    """Close the parent's file descriptors. Their Python objects stay referenced, so that none closes a number twice."""
    first = 3
    for number in sorted(kept_fds):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, _MAX_DESCRIPTORS)
