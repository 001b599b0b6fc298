"""The ``league`` command as real processes: start one, wait for what it says, end it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

SECONDS = 30.0


def needs_program(name: str, package: str = "") -> pytest.MarkDecorator:
    """Skips a test where the program is missing. ``.ci/run`` installs all of these packages."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here: apt-get install {package or name}")


class Program:
    """A running command, ``league`` or another. What it prints is kept; leaving the context ends it, whatever it is
    doing.
    """

    def __init__(
        self,
        *arguments: str | Path,
        command: Sequence[str] = (sys.executable, "-m", "leaguekit"),
        cwd: Path | None = None,
        **more: Any,
    ) -> None:
        """What ``more`` is given is for the process: another user, a limit."""
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            **more,
        )
        self._said = threading.Condition()
        self._lines: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._open = 2
        self._threads = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in self._lines]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            # Gently first: `league run` ends its children only if it is asked to.
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
        self.process.kill()
        self.ended()

    @property
    def stdout(self) -> str:
        return "".join(self._lines["stdout"])

    @property
    def stderr(self) -> str:
        return "".join(self._lines["stderr"])

    def said(self, pattern: str, seconds: float = SECONDS) -> re.Match[str]:
        """Wait until it has printed something that matches."""
        with self._said:
            while True:
                if found := re.search(pattern, self.stdout) or re.search(pattern, self.stderr):
                    return found
                assert self._open, f"it ended without {pattern!r}: {self.stdout}{self.stderr}"
                assert self._said.wait(seconds), f"no {pattern!r} in {seconds} s: {self.stdout}{self.stderr}"

    def ended(self, seconds: float = SECONDS) -> int:
        """Wait for its end; its exit code."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(seconds)
        return code

    def _read(self, name: str) -> None:
        stream = getattr(self.process, name)
        with contextlib.closing(stream):
            for line in stream:
                with self._said:
                    self._lines[name].append(line)
                    self._said.notify_all()
        with self._said:
            self._open -= 1
            self._said.notify_all()


def league(*arguments: str | Path, seconds: float = SECONDS) -> Program:
    """A command that has been carried out."""
    with Program(*arguments) as program:
        program.ended(seconds)
    return program
