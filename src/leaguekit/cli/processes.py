"""The processes of agents that one command starts. Each inherits a listening socket, and all end with their parent.

A process that is killed or fails is started again, and continues from its own files. Its socket stays open meanwhile,
so that a caller waits for a moment and is not refused. On Windows a process cannot inherit a socket. There it listens
at the same port itself.
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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Self

from leaguekit.cli import CommandError
from leaguekit.cli.forked_process import ForkedProcess, can_fork
from leaguekit.league.commands.registration import HAS_LEFT
from leaguekit.protocol.plain_text import sanitize_line

# A process that fails more often than this within this time would fail again and again.
MAX_RESTARTS = 5
RESTART_SECONDS = 60.0
# The open files that the parent needs per process: its socket, and the file of its standard error.
FILES_PER_PROCESS = 2
# Whether a process can inherit file descriptors. This is not possible on Windows.
CAN_INHERIT = hasattr(os, "fork")
# The exit code of a command that cannot be carried out. Starting it again would not help.
EXIT_IMPOSSIBLE = 2


@dataclass(slots=True)
class _Child:
    sockets: Sequence[socket.socket]
    arguments: tuple[str, ...]
    process: subprocess.Popen[bytes] | ForkedProcess
    # A file and not a pipe: a full pipe that is not read would block the agent.
    stderr_file: IO[bytes]
    # Whether it continues from its files when it is started again.
    is_restartable: bool
    secrets: dict[str, str]
    # Whether it has left the league, and is not started again.
    has_left: bool = False
    restarts: deque[float] = field(default_factory=deque)

    def close_sockets(self) -> None:
        for sock in self.sockets:
            sock.close()


class Processes:
    """The processes of agents. They end when this process does: each watches the read end of a pipe."""

    def __init__(self, *, inherits_stderr: bool = False, uses_fork: bool = False) -> None:
        """With ``inherits_stderr`` the processes write to this process's standard error.

        With ``uses_fork`` they are forked from this process, if the system supports that. A process that is started
        again is never forked, because by then this process runs an event loop.
        """
        self._aloud = inherits_stderr
        self._forked = uses_fork
        self._children: dict[str, _Child] = {}
        self._read, self._write = os.pipe()
        # Whether Ctrl-C was pressed before an event loop handled signals.
        self.is_interrupted = False

    def __enter__(self) -> Self:
        # Noted and not raised: Python ignores an exception that is raised during a fork.
        self._on_interrupt = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._on_interrupt)
        os.close(self._write)
        deadline = time.monotonic() + 10
        for child in self._children.values():
            child.close_sockets()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.1, deadline - time.monotonic()))
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait()
            child.stderr_file.close()
        os.close(self._read)

    def _interrupt(self, _number: int, _frame: object) -> None:
        self.is_interrupted = True

    def raise_interrupt(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.is_interrupted:
            raise KeyboardInterrupt

    def start(
        self,
        name: str,
        sockets: socket.socket | Sequence[socket.socket],
        *arguments: str,
        is_restartable: bool = True,
        secrets: dict[str, str] | None = None,
    ) -> None:
        """Start a process, which serves one socket or several. If it fails, it is started again only if
        ``is_restartable``.

        ``secrets`` are passed in its environment, because all users of the machine can read arguments. Raises
        CommandError, and KeyboardInterrupt if Ctrl-C was pressed.
        """
        self.raise_interrupt()
        secrets = secrets or {}
        sockets = [sockets] if isinstance(sockets, socket.socket) else sockets
        process: subprocess.Popen[bytes] | ForkedProcess
        try:
            stderr_file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the processes
            if not CAN_INHERIT:
                host, port = sockets[0].getsockname()[:2]
                arguments = (*arguments, "--host", host, "--port", str(port))
                for sock in sockets:
                    sock.close()
            if self._forked and not secrets and can_fork():
                stderr_fd = None if self._aloud else stderr_file.fileno()
                numbers = [sock.fileno() for sock in sockets]
                process = ForkedProcess(
                    [*arguments, *_descriptor_options(numbers, self._read)],
                    kept_fds=(*numbers, self._read),
                    stderr_fd=stderr_fd,
                )
            else:
                process = self._spawn(sockets, arguments, stderr_file, secrets)
        except OSError as error:
            raise CommandError(f"{name} cannot be started: {error}") from None
        self._children[name] = _Child(sockets, arguments, process, stderr_file, is_restartable, secrets)

    def _spawn(
        self,
        sockets: Sequence[socket.socket],
        arguments: tuple[str, ...],
        stderr_file: IO[bytes],
        secrets: dict[str, str],
    ) -> subprocess.Popen[bytes]:
        numbers = [sock.fileno() for sock in sockets] if CAN_INHERIT else []
        options = _descriptor_options(numbers, self._read) if CAN_INHERIT else ("--parent-fd", "0")
        return subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "leaguekit", *arguments, *options],
            pass_fds=(*numbers, self._read) if CAN_INHERIT else (),
            stdin=subprocess.DEVNULL if CAN_INHERIT else self._read,
            stdout=subprocess.DEVNULL,
            stderr=None if self._aloud else stderr_file,
            env=os.environ | secrets,
            # Ctrl-C must reach only this process, which then ends the others in order.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    def check(self) -> list[str]:
        """Start processes again that have ended. Returns notices. Raises CommandError if that would not help.

        A player or a referee that ended with code 0 knows that the league is over. It is not started again, nor is a
        player that was withdrawn or disqualified.
        """
        news = []
        for name, child in self._children.items():
            code = child.process.poll()
            if code is None or child.has_left:
                continue
            child.has_left = code == 0 and name != "manager"
            if code == EXIT_IMPOSSIBLE and HAS_LEFT in self._read_stderr(child):
                child.has_left = True
                news.append(f"{name} has left the league and is not started again")
            if child.has_left:
                # Callers must not wait for an answer.
                child.close_sockets()
                continue
            why = self._describe_exit(child, code)
            if code == EXIT_IMPOSSIBLE or not child.is_restartable:
                raise CommandError(f"{name} failed: {why}")
            now = time.monotonic()
            while child.restarts and child.restarts[0] < now - RESTART_SECONDS:
                child.restarts.popleft()
            if len(child.restarts) >= MAX_RESTARTS:
                raise CommandError(f"{name} failed {MAX_RESTARTS + 1} times within a minute: {why}")
            child.restarts.append(now)
            try:
                child.process = self._spawn(child.sockets, child.arguments, child.stderr_file, child.secrets)
            except OSError as error:
                raise CommandError(f"{name} ended unexpectedly ({why}) and cannot be started again: {error}") from None
            news.append(f"{name} ended unexpectedly ({why}) and is started again")
        return news

    def _describe_exit(self, child: _Child, code: int) -> str:
        if code < 0:
            # Most real-time signals have no name.
            names = {one.value: one.name for one in signal.Signals}
            return f"killed by {names.get(-code, f'signal {-code}')}"
        last = self._read_stderr(child).strip().rpartition("\n")[2]
        return re.sub(r"^league \w+: ", "", sanitize_line(last)) or f"exit code {code}"

    def _read_stderr(self, child: _Child) -> str:
        child.stderr_file.seek(0)
        return child.stderr_file.read().decode(errors="replace")


def _descriptor_options(socket_fds: Sequence[int], parent_fd: int) -> tuple[str, ...]:
    return "--socket-fd", ",".join(map(str, socket_fds)), "--parent-fd", str(parent_fd)
