"""Damaged or missing small files of the manager and of agents: the file is named, with a hint what to do."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import CommandResult
from tests.programs import Program

Command = Callable[..., CommandResult]
TOKEN = "adm-" + "0123456789abcdef" * 4
NO_TOKEN = (
    "holds no admin token: that is 20 printable characters or more, without spaces. Write it there again. If it is "
    "lost, remove the file, and the manager makes a new one at its next start"
)


def _manager(data: Path) -> Program:
    return Program("manager", "--port", "0", "--league-id", "kept", "--data-dir", data)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a manager that has served a league."""
    data = tmp_path_factory.mktemp("served")
    with _manager(data) as program:
        program.said("referee code: ")
    return data


@pytest.fixture
def folder(served: Path, tmp_path: Path) -> Path:
    """The manager's folder in a copy of that data."""
    shutil.copytree(served, tmp_path, dirs_exist_ok=True)
    return tmp_path / "agents" / "kept" / "manager"


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe" * 20, *(pytest.param(one, marks=pytest.mark.long) for one in (b"abc", TOKEN.encode() + b" and more"))],
)
def test_an_admin_token_that_is_none_is_refused_by_manager_and_commands_alike(
    command: Command, folder: Path, tmp_path: Path, content: bytes
) -> None:
    file = folder / "admin_token"
    file.write_bytes(content)
    store = file.with_name("league.db")
    done = command("manager", "--port", "0", "--league-id", "kept", "--data-dir", tmp_path)
    assert done == (2, "", f"league manager: {file} {NO_TOKEN}\n")
    assert command("pause", "--data-dir", tmp_path) == (2, "", f"league pause: {file} {NO_TOKEN}\n")
    file.unlink()
    with _manager(tmp_path) as program:
        program.said("referee code: ")
    assert store.exists()
    assert len(file.read_text()) == len(TOKEN)


@pytest.mark.parametrize("end", [*(pytest.param(one, marks=pytest.mark.long) for one in ("\n", " ")), "\r\n"])
def test_an_admin_token_that_was_written_with_an_editor_is_the_same_token(
    command: Command, folder: Path, tmp_path: Path, end: str
) -> None:
    (folder / "admin_token").write_text(f"{TOKEN}{end}")
    with _manager(tmp_path) as program:
        url = program.said(r"is at (\S+)")[1]
        done = command("agents", "--manager", url, "--data-dir", tmp_path)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(("content", "is_good"), [(b"\xff\xfe", False), (b"", False), (b"%s\n", True)])
def test_a_referee_code_that_is_none_does_not_stop_a_manager_which_says_what_to_do(
    folder: Path, tmp_path: Path, content: bytes, is_good: bool
) -> None:
    file = folder / "referee_code"
    file.write_bytes(content.replace(b"%s", file.read_bytes()))
    with _manager(tmp_path) as program:
        told = program.said(r"referee code: (.+)")[1]
    lost = f"{file} does not hold it; `league token rotate --referee-code` makes a new one"
    assert told == (str(file) if is_good else lost)


@pytest.mark.long
def test_agents_whose_tokens_are_lost_come_back_when_their_league_is_resumed(tmp_path: Path) -> None:
    many = ("--players", "2", "--referees", "1", "--announce-lead", "60")
    with Program("run", "--port", "0", "--league-id", "kept", "--data-dir", tmp_path, *many) as program:
        program.said("Round 1 of")
    folder = tmp_path / "agents" / "kept"
    states = {path.parent.name: path for path in folder.glob("*/state.json")}
    referee, first, second = (states[name] for name in sorted(states, key=lambda name: "player" in name))
    # Twice: the seats of the first time are of no use in the second.
    for _ in range(2):
        before = second.read_bytes()
        referee.write_bytes(b"{")
        first.unlink()
        with Program("run", "--resume", folder / "manager" / "league.db") as program:
            program.said("Round 1 of")
            program.said(rf"{referee} cannot be read: .+ REF01 gets a new token")
            program.said(rf"{first} cannot be read: No such file or directory. P0\d gets a new token")
            deadline = time.monotonic() + 30
            # An agent writes it when the manager has taken it.
            while not (first.exists() and len(referee.read_bytes()) > 1):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert "traceback" not in program.stderr.lower()
        assert "failed" not in program.stderr
        assert before == second.read_bytes(), "others keep their tokens"


def test_an_agent_that_is_refused_names_its_file_that_cannot_be_read(tmp_path: Path) -> None:
    many = ("--players", "2", "--referees", "1", "--announce-lead", "60")
    with Program("run", "--port", "0", "--league-id", "kept", "--data-dir", tmp_path, *many) as league:
        manager = league.said(r"manager: (http://\S+)")[1]
        league.said("Round 1 of")
        file = tmp_path / "agents" / "kept" / "referee-Late" / "state.json"
        file.parent.mkdir()
        file.write_bytes(b"\xff")
        with Program("referee", "--port", "0", "--manager", manager, "--name", "Late", "--data-dir", tmp_path) as late:
            assert late.ended() == 2
    last = late.stderr.splitlines()[-1]
    assert last.startswith(f"league referee: League already started. {file} cannot be read: ")
    assert last.endswith(
        "Put the file back, or ask the operator for `league token rotate`, whose code brings the agent back."
    )
