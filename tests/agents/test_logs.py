"""When a line of the log is written, and that no line is lost because of its content."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.logs import FLUSH_SECONDS, MAX_BUFFERED, log_to
from tests.agents.leagues import in_virtual_time

log = logging.getLogger("leaguekit.test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def told(path: Path) -> list[Any]:
    return [json.loads(line)["message"] for line in path.read_text(encoding="utf-8").splitlines()]


@in_virtual_time
async def test_lines_wait_a_second_for_others(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with log_to(path, "P01"):
        for turn in range(2):
            before = told(path)
            log.info("one of %d", turn)
            await asyncio.sleep(FLUSH_SECONDS / 2)
            log.info("another of %d", turn)
            assert told(path) == before
            await asyncio.sleep(FLUSH_SECONDS / 2 + 0.01)
            assert told(path) == [*before, f"one of {turn}", f"another of {turn}"]


@in_virtual_time
async def test_a_warning_is_there_at_once_with_what_was_said_before_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with log_to(path, "P01"):
        log.info("before")
        log.warning("now")
        assert told(path) == ["before", "now"]
        log.info("after")
    assert told(path) == ["before", "now", "after"]
    await asyncio.sleep(2 * FLUSH_SECONDS)
    assert told(path) == ["before", "now", "after"]


@in_virtual_time
async def test_only_so_many_lines_wait(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with log_to(path, "P01"):
        for number in range(MAX_BUFFERED + 1):
            log.info("%d", number)
        assert len(told(path)) == MAX_BUFFERED


def test_where_no_loop_runs_lines_do_not_wait(path: Path) -> None:
    with log_to(path, "P01"):
        log.info("at once")
        assert told(path) == ["at once"]


@pytest.mark.parametrize("end", ["sys.exit()", "raise ValueError", "logging.shutdown(); os._exit(0)"])
def test_a_program_that_ends_has_written_every_line(path: Path, end: str) -> None:
    program = f"""
import asyncio, logging, os, sys
from pathlib import Path
from leaguekit.agents.logs import log_to
async def main():
    with log_to(Path(sys.argv[1]), "P01"):
        logging.getLogger("leaguekit.test").info("the last line")
        {end}
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, timeout=30, check=False)
    assert told(path) == ["the last line"]


@pytest.mark.parametrize("data", ["\ud800", 1 << 70, {(1, 2): 3}, float("nan"), Path("a"), ValueError("b"), {"c"}])
def test_whatever_a_line_is_about_it_is_a_line_of_plain_json(path: Path, data: Any) -> None:
    with log_to(path, "P01"):
        log.warning("said", extra={"data": {"about": data}})
    assert told(path) == ["said"]
    assert path.read_text(encoding="utf-8").rstrip("\n").isprintable()


def test_a_line_that_cannot_be_put_into_words_takes_no_other_with_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest listens too, and would fail at it.
    monkeypatch.setattr(logging.getLogger("leaguekit"), "propagate", False)

    async def main() -> None:
        with log_to(path, "P01"):
            log.info("before")
            log.info("%d", "no number")
            log.info("after")

    asyncio.run(main())
    assert told(path) == ["before", "after"]
