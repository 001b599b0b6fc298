"""The processes that a command starts: why one ended, and system limits that prevent a start."""

from __future__ import annotations

import functools
import re
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from leaguekit.cli import CommandError
from leaguekit.cli import processes as processes_module
from leaguekit.cli.processes import Processes
from leaguekit.transport.server.server import CannotListen, listen
from tests.programs import Program

REAL_TIME = pytest.mark.skipif(sys.platform != "linux", reason="the system has no real-time signals")
MANAGER = ("manager", "--store", "memory:", "--data-dir")


def _limited(files: int) -> Callable[[], None]:
    return functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files))


@pytest.mark.parametrize("can_inherit", [True, False])
@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGKILL, "SIGKILL"),
        pytest.param(35, "signal 35", marks=REAL_TIME),
        pytest.param(34, "SIGRTMIN", marks=[REAL_TIME, pytest.mark.long]),
    ],
)
def test_a_process_that_any_signal_ends_is_started_again(
    number: int, why: str, can_inherit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes_module, "CAN_INHERIT", can_inherit)
    with Processes() as processes:
        processes.start("manager", listen("127.0.0.1", 0), *MANAGER, str(tmp_path))
        (child,) = psutil.Process().children()
        child.send_signal(number)
        # Not waited for, which is for its parent to do.
        news: list[str] = []
        while not news:
            news = processes.check()
        assert news == [f"manager ended unexpectedly (killed by {why}) and is started again"]


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("run", "--players", "6"), 82),
        (("host", "--referees", "60"), 186),
        (("host", "--referees", "60", "--gateway"), 188),
        (("players", "--count", "120"), 424),
    ],
)
def test_too_low_a_limit_of_open_files_is_said_with_the_number_that_is_needed(
    arguments: tuple[str, ...], needed: int, tmp_path: Path
) -> None:
    with Program(*arguments, "--port", "0", "--data-dir", tmp_path, preexec_fn=_limited(needed - 1)) as program:
        assert program.ended() == 2
    limit = f"the limit is {needed - 1}: raise it with `ulimit -n {needed}`"
    assert program.stderr == f"league {arguments[0]}: this needs {needed} open files, and {limit}\n"


def test_a_league_is_played_at_the_lowest_limit_of_open_files_that_is_taken(tmp_path: Path) -> None:
    command = ("run", "--players", "4", "--port", "0", "--json", "--data-dir", tmp_path)
    with Program(*command, preexec_fn=_limited(78)) as program:
        assert (program.ended(60), program.stderr) == (0, "")


def test_a_process_that_the_system_does_not_start_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    why = r"^manager cannot be started: .*No such file"
    with Processes() as processes, listen("127.0.0.1", 0) as sock, pytest.raises(CommandError, match=why):
        processes.start("manager", sock, *MANAGER, str(tmp_path))


def test_without_a_descriptor_nothing_can_listen_and_the_reason_is_said() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as last:
        try:
            # Lower numbers may be free.
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(last.fileno(), 3), before[1]))
            with pytest.raises(CannotListen, match=re.escape("cannot be used: Too many open files.")):
                listen("127.0.0.1", 0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
