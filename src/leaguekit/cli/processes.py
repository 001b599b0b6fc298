"""The processes of agents that one command starts: each has a socket passed on, and all end with their parent."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Self


class Processes:
    """The agents' processes. They end when this one does, for each holds the end of a pipe."""

    def __init__(self, *, aloud: bool = False) -> None:
        """``aloud`` lets them speak to the terminal."""
        self._aloud = aloud
        self._children: dict[str, subprocess.Popen[bytes]] = {}
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

    def start(self, name: str, served: socket.socket, *arguments: str) -> None:
        descriptors = (served.fileno(), self._read)
        passed = ["--socket-fd", str(served.fileno()), "--parent-fd", str(self._read)]
        self._children[name] = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "leaguekit", *arguments, *passed],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if self._aloud else subprocess.PIPE if name == "manager" else subprocess.DEVNULL,
            # Ctrl-C goes to this process alone, which then ends the others in order.
            start_new_session=True,
        )
        served.close()

    def failed(self) -> Iterator[str]:
        """Who ended with an error."""
        return (name for name, child in self._children.items() if child.poll() not in (None, 0))

    def why(self, name: str) -> str:
        child = self._children[name]
        told = child.stderr.read().decode(errors="replace") if child.stderr is not None else ""
        return told.strip().rpartition("\n")[2] or f"exit code {child.returncode}"
