"""The processes of agents that one command starts: each has a socket passed on, and all end with their parent.

One that is killed or breaks down is started again: it comes back by its own files. Its socket stays open meanwhile, so
that whoever calls it waits a little and is not turned away.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from typing import IO, Self

from leaguekit.cli import CommandError
from leaguekit.cli.forked_process import Fork, can_fork
from leaguekit.league.registration import HAS_LEFT
from leaguekit.protocol.plain_text import harmless

# One that ends more often than so within so many seconds would do so for ever.
MAX_RESTARTS = 5
RESTART_SECONDS = 60.0
# What a process takes of this one's open files: its socket, and the file of what it says.
FILES_A_PROCESS = 2
# What a command ends with that cannot be carried out: it would not be the next time either.
IMPOSSIBLE = 2


@dataclass(slots=True)
class _Child:
    served: socket.socket
    arguments: tuple[str, ...]
    process: subprocess.Popen[bytes] | Fork
    # A file and not a pipe: what nobody reads must never hold an agent up.
    said: IO[bytes]
    # Whether it knows again what it knew.
    comes_back: bool
    secrets: dict[str, str]
    restarts: deque[float] = field(default_factory=deque)


class Processes:
    """The agents' processes. They end when this one does, for each holds the end of a pipe."""

    def __init__(self, *, aloud: bool = False, forked: bool = False) -> None:
        """``aloud`` lets them speak to the terminal; ``forked`` lets them go on from this one where that can be,
        but not those that are started again: by then this one has a loop.
        """
        self._aloud = aloud
        self._forked = forked
        self._children: dict[str, _Child] = {}
        self._read, self._write = os.pipe()
        # Whether Ctrl-C came before an event loop took it over.
        self.is_interrupted = False

    def __enter__(self) -> Self:
        # Noted and not raised: Python swallows what is raised at a fork.
        self._on_interrupt = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._on_interrupt)
        os.close(self._write)
        deadline = time.monotonic() + 10
        for child in self._children.values():
            child.served.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.1, deadline - time.monotonic()))
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait()
            child.said.close()
        os.close(self._read)

    def _interrupt(self, _number: int, _frame: object) -> None:
        self.is_interrupted = True

    def raise_interrupt(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C has come."""
        if self.is_interrupted:
            raise KeyboardInterrupt

    def start(
        self,
        name: str,
        served: socket.socket,
        *arguments: str,
        comes_back: bool = True,
        secrets: dict[str, str] | None = None,
    ) -> None:
        """Start one; it is started again only if it comes back as what it was.

        ``secrets`` go into its environment: arguments can be read by everybody on the machine. Raises CommandError,
        and KeyboardInterrupt if Ctrl-C has come.
        """
        self.raise_interrupt()
        secrets = secrets or {}
        process: subprocess.Popen[bytes] | Fork
        try:
            said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the processes
            if self._forked and not secrets and can_fork():
                told = None if self._aloud else said.fileno()
                process = Fork([*arguments, *self._passed(served)], kept=(served.fileno(), self._read), said=told)
            else:
                process = self._started(served, arguments, said, secrets)
        except OSError as error:
            raise CommandError(f"{name} cannot be started: {error}") from None
        self._children[name] = _Child(served, arguments, process, said, comes_back, secrets)

    def _passed(self, served: socket.socket) -> tuple[str, ...]:
        return "--socket-fd", str(served.fileno()), "--parent-fd", str(self._read)

    def _started(
        self, served: socket.socket, arguments: tuple[str, ...], said: IO[bytes], secrets: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "leaguekit", *arguments, *self._passed(served)],
            pass_fds=(served.fileno(), self._read),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if self._aloud else said,
            env=os.environ | secrets,
            # Ctrl-C goes to this process alone, which then ends the others in order.
            start_new_session=True,
        )

    def check(self) -> list[str]:
        """Start again whoever has ended, and say so; CommandError if that would not help.

        A player or a referee that ended well has heard of the league's end. A player that was withdrawn or disqualified
        is not started again.
        """
        news = []
        for name, child in self._children.items():
            code = child.process.poll()
            if code is None or child.served.fileno() < 0:
                continue
            if code == 0 and name != "manager":
                # Nobody is to wait for an answer there.
                child.served.close()
                continue
            if code == IMPOSSIBLE and HAS_LEFT in self._said(child):
                child.served.close()
                news.append(f"{name} has left the league and is not started again")
                continue
            why = self._why(child, code)
            if code == IMPOSSIBLE or not child.comes_back:
                raise CommandError(f"{name} failed: {why}")
            now = time.monotonic()
            while child.restarts and child.restarts[0] < now - RESTART_SECONDS:
                child.restarts.popleft()
            if len(child.restarts) >= MAX_RESTARTS:
                raise CommandError(f"{name} failed {MAX_RESTARTS + 1} times within a minute: {why}")
            child.restarts.append(now)
            try:
                child.process = self._started(child.served, child.arguments, child.said, child.secrets)
            except OSError as error:
                raise CommandError(f"{name} ended unexpectedly ({why}) and cannot be started again: {error}") from None
            news.append(f"{name} ended unexpectedly ({why}) and is started again")
        return news

    def _why(self, child: _Child, code: int) -> str:
        if code < 0:
            # Most real-time signals have no name.
            names = {one.value: one.name for one in signal.Signals}
            return f"killed by {names.get(-code, f'signal {-code}')}"
        last = self._said(child).strip().rpartition("\n")[2]
        return re.sub(r"^league \w+: ", "", harmless(last)) or f"exit code {code}"

    def _said(self, child: _Child) -> str:
        child.said.seek(0)
        return child.said.read().decode(errors="replace")
