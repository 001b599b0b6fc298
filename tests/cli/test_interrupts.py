"""Ctrl-C at many moments after the start of a command: it ends, with exit code 130 and without a traceback."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.cli.commands import verify
from leaguekit.cli.stored_plans import is_resumable
from tests.programs import league

# As the installed command does. It says when its handler of Ctrl-C is there: what Python does before cannot be changed.
PROGRAM = """
import signal, sys
from leaguekit.__main__ import main
install = signal.signal
def install_first(number, handler):
    signal.signal = install
    install(number, handler)
    sys.stderr.write("started\\n")
signal.signal = install_first
sys.exit(main())
"""
NOBODY = ("--manager", "http://127.0.0.1:9/mcp")
COMMANDS = {
    "run": ("run", "--port", "0", "--announce-lead", "60", "--data-dir", "SHARED"),
    "compare": ("simulate", "--seeds", "1000000"),
    "faults": ("simulate", "--seeds", "1000000", "--faults", "all"),
    "manager": ("manager", "--port", "0"),
    "host": ("host", "--port", "0"),
    "player": ("player", "--port", "0", *NOBODY),
    "players": ("players", "--port", "0", *NOBODY),
    "try": ("try", "--port", "0"),
    "check": ("check", "player", "--port", "0"),
    "explain": ("explain", "-"),
    # These end by themselves.
    "new": ("new", "player", "Alice"),
    "status": ("status", *NOBODY),
    "verify": ("verify", "league.db"),
    "report": ("report", "league.db"),
}
ENDS = {"new": 0, "status": 2, "verify": 0, "report": 0}


def interrupt(name: str, delay: float, folder: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, *COMMANDS[name]]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, encoding="utf-8", **pipes) as process:
        assert process.stderr is not None
        process.stderr.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    said = f"{name} after {delay} s: {process.returncode}\n{out}{err}"
    # At the very end Python resets its handlers. A shell shows the signal as 130, too.
    has_ended = (ENDS[name], -signal.SIGINT) if name in ENDS else ()
    assert process.returncode in (130, *has_ended), said
    assert "Traceback" not in err, said
    assert "Exception ignored" not in err, said
    assert "Warning" not in err, said
    for store in folder.rglob("manager/league.db") if name == "run" else ():
        assert f"league run --resume {store.relative_to(folder)}" in out or not is_resumable(store), said


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "league.db"
    files = ("--store", path, "--data-dir", path.parent)
    assert league("run", "--port", "0", "--json", "--players", "8", *files).ended() == 0
    return path


def try_moments(name: str, delays: list[float], store: Path, tmp_path: Path) -> None:
    for delay in delays:
        folder = tmp_path / str(delay)
        folder.mkdir()
        (folder / "league.db").symlink_to(store)
        interrupt(name, delay, folder)


# Of the others, each is like one of these.
OFTEN = ("run", "host", "player", "explain", "verify")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS]
)
def test_ctrl_c_ends_a_command_soon_after_its_start_and_later(name: str, store: Path, tmp_path: Path) -> None:
    try_moments(name, [0.005, 0.12, 0.5], store, tmp_path)


@pytest.mark.longest
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_a_command_at_every_moment(name: str, store: Path, tmp_path: Path) -> None:
    """Three minutes."""
    try_moments(name, [0.01 * number for number in range(1, 40, 2)] + [0.7, 1.0, 1.5, 2.5], store, tmp_path)


class _HalfMade:
    """An object whose creation is interrupted, and that cannot be freed without its other half."""

    def __init__(self) -> None:
        raise KeyboardInterrupt

    def __del__(self) -> None:
        self.other_half.close()


def test_an_object_that_was_being_made_when_ctrl_c_came_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    monkeypatch.setattr(verify, "run", lambda _options: _HalfMade())
    assert main(["verify", "league.db"]) == 130
    assert (printed, capsys.readouterr().err) == ([], "")
