"""Forked processes: they run their command, end with its exit code, and report why it failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, socket, subprocess, sys, tempfile
from leaguekit.cli.forked_process import ForkedProcess, can_fork

assert can_fork()
kept, closed = socket.socket(), socket.socket()
said = tempfile.TemporaryFile()
good = ForkedProcess(["schema", "--out", sys.argv[1]], kept_fds=(), stderr_fd=said.fileno())
assert good.wait(30) == 0
bad = ForkedProcess(["schema", "--nonsense"], kept_fds=(), stderr_fd=said.fileno())
assert bad.wait(30) == 2
said.seek(0)
assert b"--nonsense" in said.read()

arguments = ["manager", "--data-dir", sys.argv[1], "--socket-fd", str(kept.fileno())]
server = ForkedProcess(arguments, kept_fds=(kept.fileno(),), stderr_fd=said.fileno())
try:
    server.wait(0.3)
except subprocess.TimeoutExpired:
    pass
else:
    raise AssertionError("a server goes on")
files = [os.readlink(f"/proc/{server.pid}/fd/{name}") for name in os.listdir(f"/proc/{server.pid}/fd")]
assert f"socket:[{os.fstat(kept.fileno()).st_ino}]" in files
assert f"socket:[{os.fstat(closed.fileno()).st_ino}]" not in files
assert open(f"/proc/{server.pid}/comm").read() == "league-manager\\n"
server.kill()
assert server.wait(30) == -9
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_fork_does_its_command_keeps_its_files_and_says_why_it_failed(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "GAME_OVER.json").exists()
