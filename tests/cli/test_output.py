"""Commands whose output is full or closed, or whose input is too long: one line, and the right exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.cli.conftest import CommandResult
from tests.played import played

TOO_LONG = "a" * 300
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")


@pytest.fixture
def full() -> Iterator[IO[str]]:
    with Path("/dev/full").open("w") as file:
        yield file


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return played().store(tmp_path / "league.db")


def _league(*arguments: str | Path, **streams: IO[str] | int) -> subprocess.CompletedProcess[str]:
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    command = [sys.executable, "-m", "leaguekit", *map(str, arguments)]
    return subprocess.run(command, encoding="utf-8", timeout=60, check=False, **kept)  # type: ignore[call-overload,no-any-return]


def _closed(stream: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    closed = f'exec "$0" -m leaguekit "$@" {stream}>&-'
    command = ["sh", "-c", closed, sys.executable, *map(str, arguments)]
    return subprocess.run(command, encoding="utf-8", timeout=60, check=False, capture_output=True)


@pytest.mark.parametrize("arguments", [["verify"], ["export", "--what", "standings"], ["log"]])
def test_output_that_cannot_be_written_is_an_error_of_one_line(
    arguments: list[str], store: Path, full: IO[str]
) -> None:
    name, *more = arguments
    done = _league(name, store, *more, stdout=full)
    assert (done.returncode, done.stderr) == (2, f"league {name}: [Errno 28] No space left on device\n")


def test_a_command_whose_streams_are_all_full_ends_with_its_own_code(store: Path, full: IO[str]) -> None:
    assert _league("verify", store, stderr=full).returncode == 0
    assert _league("verify", store, stdout=full, stderr=full).returncode == 2


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream_changes_neither_what_a_command_does_nor_its_exit_code(stream: int, store: Path) -> None:
    done = _closed(stream, "verify", store)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_a_league_whose_output_is_full_is_played_to_its_end(tmp_path: Path, full: IO[str]) -> None:
    command = ("run", "--port", "0", "--players", "2", "--referees", "1", "--data-dir", tmp_path)
    done = _league(*command, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("league run: not everything could be printed: No space left on device; league run --")
    assert _league(*command, stderr=full).returncode == 0
    (first, _) = sorted(tmp_path.glob("agents/*/manager/league.db"), key=lambda one: one.stat().st_mtime)
    assert "1 matches in 1 rounds, 1 of them ended" in _league("verify", first).stdout


def test_a_league_whose_streams_are_closed_is_played_to_its_end(tmp_path: Path) -> None:
    command = ("run", "--port", "0", "--players", "2", "--referees", "1", "--data-dir", tmp_path)
    for stream in (1, 2):
        done = _closed(stream, *command)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "STORE", "--out", TOO_LONG),
        ("backup", "STORE", "--out", TOO_LONG),
        ("examples", "--out", TOO_LONG),
        ("new", "player", "A", "--dir", TOO_LONG),
        ("verify", "--data-dir", TOO_LONG),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_name_that_is_too_long_is_an_error_of_one_line(
    arguments: tuple[str, ...], command: Callable[..., CommandResult], store: Path
) -> None:
    done = command(*(store if one == "STORE" else one for one in arguments))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "File name too long" in done.err


@pytest.mark.parametrize("arguments", [("explain", "/dev/zero"), ("manager", "--config", "/dev/zero")])
def test_a_file_without_an_end_is_not_read_for_ever(
    arguments: tuple[str, ...], command: Callable[..., CommandResult]
) -> None:
    why = f"league {arguments[0]}: cannot read /dev/zero: it is larger than 67,108,864 bytes\n"
    assert command(*arguments) == (2, "", why)
