"""Small files of the manager and of agents that are damaged or gone: the file is named, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from tests.programs import Program

Command = Callable[..., Said]
TOKEN = "adm-" + "0123456789abcdef" * 4
NO_TOKEN = (
    "holds no admin token: that is 20 printable characters or more, without spaces. Write it there again. If it is "
    "lost, remove the file, and the manager makes a new one at its next start"
)


def _manager(data: Path) -> Program:
    return Program("manager", "--port", "0", "--league-id", "kept", "--data-dir", data)


def _folder(data: Path) -> Path:
    """The folder of a manager that has served a league."""
    with _manager(data) as program:
        program.said("referee code: ")
    return data / "agents" / "kept" / "manager"


@pytest.mark.parametrize("content", [b"\xff\xfe" * 20, b"abc", TOKEN.encode() + b" and more"])
def test_an_admin_token_that_is_none_is_refused_by_manager_and_commands_alike(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    file = _folder(tmp_path) / "admin_token"
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


@pytest.mark.parametrize("end", ["\n", "\r\n", " "])
def test_an_admin_token_that_was_written_with_an_editor_is_the_same_token(
    command: Command, tmp_path: Path, end: str
) -> None:
    (_folder(tmp_path) / "admin_token").write_text(f"{TOKEN}{end}")
    with _manager(tmp_path) as program:
        url = program.said(r"is at (\S+)")[1]
        done = command("agents", "--manager", url, "--data-dir", tmp_path)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(("content", "is_good"), [(b"\xff\xfe", False), (b"", False), (b"%s\n", True)])
def test_a_referee_code_that_is_none_does_not_stop_a_manager_which_says_what_to_do(
    tmp_path: Path, content: bytes, is_good: bool
) -> None:
    file = _folder(tmp_path) / "referee_code"
    file.write_bytes(content.replace(b"%s", file.read_bytes()))
    with _manager(tmp_path) as program:
        told = program.said(r"referee code: (.+)")[1]
    lost = f"{file} does not hold it; `league token rotate --referee-code` makes a new one"
    assert told == (str(file) if is_good else lost)
