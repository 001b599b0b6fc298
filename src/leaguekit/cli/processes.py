"""The processes of agents that one command starts: each has a socket passed on, and all end with their parent."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, Self

from leaguekit.cli import CommandError
from leaguekit.cli.tables import harmless


class Processes:
    """The agents' processes. They end when this one does, for each holds the end of a pipe."""

    def __init__(self, *, aloud: bool = False) -> None:
        """``aloud`` lets them speak to the terminal."""
        self._aloud = aloud
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        # Files and not pipes: what nobody reads must never hold an agent up.
        self._said: dict[str, IO[bytes]] = {}
        self._read, self._write = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        deadline = time.monotonic() + 10
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, deadline - time.monotonic()))
            if child.poll() is None:
                child.kill()
                child.wait()
        os.close(self._read)
        for said in self._said.values():
            said.close()

    def start(self, name: str, served: socket.socket, *arguments: str, secrets: dict[str, str] | None = None) -> None:
        """``secrets`` go into its environment: arguments can be read by everybody on the machine."""
        descriptors = (served.fileno(), self._read)
        passed = ["--socket-fd", str(served.fileno()), "--parent-fd", str(self._read)]
        self._said[name] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the processes
        self._children[name] = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "leaguekit", *arguments, *passed],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if self._aloud else self._said[name],
            env=os.environ | (secrets or {}),
            # Ctrl-C goes to this process alone, which then ends the others in order.
            start_new_session=True,
        )
        served.close()

    def check(self, seconds: float = 0.0) -> None:
        """Raise CommandError if one has ended with an error; the manager may take so many seconds to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._children["manager"].wait(seconds)
        for name, child in self._children.items():
            if child.poll() not in (None, 0):
                raise CommandError(f"{name} failed: {self._why(name)}")

    def _why(self, name: str) -> str:
        said = self._said[name]
        said.seek(0)
        last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
        return re.sub(r"^league \w+: ", "", harmless(last)) or f"exit code {self._children[name].returncode}"
