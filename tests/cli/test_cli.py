"""The ``league`` command as a person or a program calls it; in a process of its own where it reads its input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leaguekit.cli import COMMANDS
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.messages import BY_TYPE
from tests.cli.conftest import CommandResult
from tests.samples import samples_of

Command = Callable[..., CommandResult]
VALID = encode(samples_of("GAME_INVITATION")[0])
BROKEN = VALID.replace(b'"PLAYER_A"', b'"WHITE"')


def league(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "leaguekit", *arguments], input=given, capture_output=True, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--help"], ["schema", "--help"]])
def test_help_has_examples(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.code == 0
    assert "examples:" in done.out


def test_the_help_shows_six_commands_first_and_every_command_once_in_a_group() -> None:
    listed = league("--help").stdout.partition("options:")[0]
    sections = [section.splitlines() for section in listed.split("\n\n")[2:] if section]
    titles = ["begin with:", "play:", "write an agent or a game:", "host:", "operate:", "look back:", "tools:"]
    assert [lines[0] for lines in sections] == titles
    assert len(sections[0]) == 1 + 6
    names = [line.split()[0] for lines in sections for line in lines[1:]]
    assert sorted(names) == sorted(COMMANDS)
    assert all(len(line) <= 120 for line in listed.splitlines())


@pytest.mark.parametrize("name", [name for name, (_, module) in COMMANDS.items() if module == "operate"])
def test_the_help_of_an_operators_command_has_examples_of_that_command_only(name: str, command: Command) -> None:
    examples = command(name, "--help").out.partition("examples:\n")[2].splitlines()
    assert examples
    assert all(line.split()[:2] == ["league", name] for line in examples)


def test_the_version_is_told() -> None:
    assert league("--version").stdout.startswith("leaguekit ")


@pytest.mark.parametrize("arguments", [["fly"], ["explain"], ["schema", "--fast"]])
def test_a_wrong_call_says_how_it_should_be(arguments: list[str]) -> None:
    done = league(*arguments)
    assert done.returncode == 2
    assert "usage: league" in done.stderr
    assert "Traceback" not in done.stderr


def test_explain_says_that_nothing_is_wrong(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "message.json"
    file.write_bytes(VALID)
    done = command("explain", file)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1] == "  nothing is wrong"


def test_explain_names_code_path_value_remedy_and_requirement() -> None:
    done = league("explain", "-", given=BROKEN)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1] == (
        '  E044 role_in_match: got "WHITE"; expected "PLAYER_A" or "PLAYER_B" [000-L0548]'
    )


def test_explain_speaks_json_to_programs() -> None:
    done = league("explain", "--json", "-", given=BROKEN)
    told = json.loads(done.stdout)
    assert (done.returncode, told["valid"]) == (1, False)
    assert told["parts"][0]["violations"][0]["path"] == "role_in_match"


@pytest.mark.parametrize("given", [b"", b"{", b"\xff\xfe"])
def test_what_cannot_be_explained_is_an_error_in_one_line(given: bytes) -> None:
    done = league("explain", "-", given=given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("league explain: ")
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_named(command: Command) -> None:
    assert command("explain", "nowhere.json").err == (
        "league explain: cannot read nowhere.json: No such file or directory\n"
    )


def test_schema_lists_the_types_and_prints_one(command: Command) -> None:
    assert command("schema").out.split() == list(BY_TYPE)
    assert json.loads(command("schema", "GAME_OVER").out)["title"] == "GAME_OVER"
    assert "no message type 'GAME'" in command("schema", "GAME").err


def test_schema_writes_a_file_for_each_type_and_an_index(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert command("schema", "--out", folder).code == 0
    assert {file.stem for file in folder.iterdir()} == {*BY_TYPE, "index"}
    (tmp_path / "file").touch()
    assert "cannot write" in command("schema", "--out", tmp_path / "file").err


def test_a_reader_that_has_seen_enough_causes_no_complaint() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "leaguekit", "schema", "GAME_ERROR"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.stderr == b""


def test_a_sign_that_the_output_has_not_is_written_out() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "leaguekit", "players", "--help"],
        env=os.environ | {"PYTHONIOENCODING": "cp437"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"--strategy A,B,\u2026" in done.stdout


def test_a_long_running_program_looks_for_garbage_rarely_and_not_among_what_it_has_imported() -> None:
    program = """
import gc
from leaguekit.cli import program

async def main(stop):
    assert gc.isenabled() and gc.get_threshold()[0] >= 10_000
    assert gc.get_freeze_count() > 10 * len(gc.get_objects())
    return 3

raise SystemExit(program.run(main))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
