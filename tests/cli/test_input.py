"""Arguments and files that are not text, a removed working folder, and Ctrl-C at any moment: no traceback."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from leaguekit.cli.stored_plans import is_resumable
from tests.cli.conftest import CommandResult

Command = Callable[..., CommandResult]
NOT_TEXT = "a\udcff"
NOWHERE = ("--manager", "http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "--port", "0", "--league-id", NOT_TEXT), r"--league-id 'a\udcff'"),
        (("run", "--port", "0", "--strategies", f"random,{NOT_TEXT}"), r"--strategies 'random,a\udcff'"),
        (("run", "--port", "0", "--data-dir", f"/tmp/{NOT_TEXT}"), r"--data-dir '/tmp/a\udcff'"),
        (("run", "--port", "0", f"--league-id={NOT_TEXT}"), r"'--league-id=a\udcff'"),
        (("manager", "--port", "0", "--league-id", NOT_TEXT), r"--league-id 'a\udcff'"),
        (("host", "--port", "0", "--league-id", NOT_TEXT), r"--league-id 'a\udcff'"),
        (("add-player", "--endpoint", f"http://{NOT_TEXT}/", *NOWHERE), r"--endpoint 'http://a\udcff/'"),
        (("pause", "--reason", NOT_TEXT, *NOWHERE), r"--reason 'a\udcff'"),
        (("query", "GET_STATUS", "--player", NOT_TEXT, *NOWHERE), r"--player 'a\udcff'"),
    ],
)
def test_an_argument_that_is_not_utf_8_is_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "SHARED" / "agents" / "some" / "manager"
    folder.mkdir(parents=True)
    (folder / "admin_token").write_text("adm-" + "0" * 64)
    done = command(*arguments)
    why = "is not UTF-8, and can be neither kept nor sent. Write it in UTF-8"
    assert done == (2, "", f"league {arguments[0]}: {named} {why}\n")
    assert not [*tmp_path.rglob("league.db")], "no store is made"


@pytest.mark.parametrize("name", ["manager", "host"])
def test_settings_that_are_not_utf_8_are_an_error_that_names_the_file(
    command: Command, tmp_path: Path, name: str
) -> None:
    config = tmp_path / "league.toml"
    config.write_bytes(b'league_id = "\xff"\n')
    done = command(name, "--port", "0", "--config", config, "--data-dir", tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"league {name}: cannot read {config}: ")


@pytest.mark.parametrize(
    "arguments",
    [("run", "--port", "0"), ("host", "--port", "0"), ("manager", "--port", "0"), ("report", "x"), ("verify",)],
    ids=lambda arguments: arguments[0],
)
def test_a_working_folder_that_was_removed_is_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    leave = 'cd "$0" && rmdir "$0" && exec "$@"'
    folder = tmp_path / "gone"
    folder.mkdir()
    command = ["sh", "-c", leave, str(folder), sys.executable, "-m", "leaguekit", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"league {arguments[0]}: ")
    assert done.stderr.endswith(". The working folder was removed: change to another with cd\n")


# Ctrl-C

# Runs the command, and presses Ctrl-C when a module is being imported.
INTERRUPTED = """
import os, runpy, signal, sys

module = sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
runpy.run_module("leaguekit", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module",
    [
        "leaguekit.cli",
        "argparse",
        "leaguekit.cli.commands.run",
        "msgspec",
        "leaguekit.transport.client.caller",
        "uvloop",
    ],
)
def test_ctrl_c_while_the_program_is_imported_ends_it_quietly(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, "run", "--port", "0", "--data-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    # The last of them is imported when the manager may have begun.
    out = re.sub("^Go on with: league run --resume .*\n", "", done.stdout)
    assert (done.returncode, out, done.stderr) == (130, "", "")


def test_ctrl_c_before_a_coroutine_is_begun_leaves_no_warning(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_coroutine: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    # Warnings are errors here.
    assert command("status", *NOWHERE) == (130, "", "")


# Runs the command, and presses Ctrl-C at the n-th fork, where Python swallows what is raised.
INTERRUPTED_FORK = """
import os, runpy, signal, sys

left = int(sys.argv.pop(1))

def press():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)

os.register_at_fork(before=press)
runpy.run_module("leaguekit", run_name="__main__", alter_sys=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked there")
@pytest.mark.parametrize("fork", [1, *(pytest.param(number, marks=pytest.mark.long) for number in (2, 3)), 4])
def test_ctrl_c_while_processes_are_started_ends_them_all(fork: int, tmp_path: Path) -> None:
    many = ["--players", "2", "--referees", "1", "--announce-lead", "60"]
    options = ["--port", "0", "--data-dir", str(tmp_path), *many]
    command = [sys.executable, "-c", INTERRUPTED_FORK, str(fork), "run", *options]
    # Its end is seen only when all of its processes have closed their output.
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    # Once the manager has begun, it is said how to go on with its league.
    (store,) = [*tmp_path.rglob("league.db")] or [tmp_path / "league.db"]
    assert ("Go on with: league run --resume" in done.stdout) == is_resumable(store)
    assert is_resumable(store) or fork < 4
