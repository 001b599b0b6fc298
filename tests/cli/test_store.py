"""``league manager --store postgresql://…``: the league is in the database, and one manager at a time writes it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.store.opening import open_reader
from tests.programs import Program, league


async def events_in(url: str) -> int:
    reader = await open_reader(url)
    count = len(await reader.read())
    await reader.close()
    return count


def test_a_league_is_kept_in_postgresql_and_an_older_manager_ends_when_a_newer_has_it(
    postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres_url.replace("postgres@", "postgres:s3cret@")
    command = ("manager", "--port", "0", "--league-id", "spring", "--store", url, "--data-dir", tmp_path)
    with Program(*command) as older:
        at = older.said(r"is at (\S+)")[1]
        older.said("admin token")
        # That it was created, and the code for its referees.
        assert asyncio.run(events_in(url)) == 2
        assert not list(tmp_path.rglob("*.db"))
        with Program(*command) as newer:
            newer.said(r"is at (\S+)")
            pause = ["pause", "--manager", at, "--data-dir", str(tmp_path)]
            assert main(pause) == 2
            assert older.ended() == 2
            assert "the league cannot go on" in older.stderr
            assert "another manager has taken this league over" in older.stderr
        assert "s3cret" not in older.stdout + older.stderr + newer.stdout + newer.stderr + "".join(capsys.readouterr())
    assert asyncio.run(events_in(url)) == 2
    assert not any("s3cret" in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_a_store_that_cannot_be_opened_ends_the_command_with_the_reason(tmp_path: Path) -> None:
    store = "postgresql://me:s3cret@127.0.0.1:1/league"
    manager = league("manager", "--port", "0", "--store", store, "--data-dir", tmp_path)
    assert manager.process.returncode == 2
    assert "league manager: postgresql://me:***@127.0.0.1:1/league cannot be opened as a store" in manager.stderr
    assert "Check that the server runs" in manager.stderr
