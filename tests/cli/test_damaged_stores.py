"""Stores with damaged tables or damaged texts beside the log: every command reports that in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import CommandResult
from tests.played import Played, played

Command = Callable[..., CommandResult]
COMMANDS = ("verify", "log", "export", "report", "backup", "restore")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return played().store(tmp_path / "league.db")


def _damage(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(statement)


def _said(command: Command, name: str, store: Path) -> CommandResult:
    more = {
        "report": ("--out", store.with_name("report.html")),
        "backup": ("--out", store.with_name("copy.db")),
        "restore": (store.with_name("restored.db"),),
    }
    return command(name, store, *more.get(name, ()))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM leaguekit",
        "UPDATE leaguekit SET version = 'x'",
        "UPDATE leaguekit SET version = -1",
        "UPDATE leaguekit SET version = 0",
    ],
)
def test_a_store_without_a_version_is_damaged(command: Command, store: Path, name: str, statement: str) -> None:
    _damage(store, statement)
    done = _said(command, name, store)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("is damaged: it does not say of which version it is. Restore a backup.\n")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_without_events_is_not_read(command: Command, store: Path, name: str) -> None:
    _damage(store, "DROP TABLE events")
    done = _said(command, name, store)
    assert (done.code, done.out) == (2, "")
    # Some also say that the log ends before its head.
    assert "no such table: events" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_run_whose_plan_cannot_be_read_is_served_by_hand_and_restored_so(
    command: Command, store: Path, tmp_path: Path
) -> None:
    _damage(store, "INSERT INTO kept VALUES ('run', 'zzz')")
    done = command("run", "--resume", store)
    assert (done.code, done.out) == (2, "")
    assert "does not say readably what is to be resumed" in done.err
    assert done.err.endswith(f"Serve its league with: league manager --store {store}\n")
    restored = command("restore", store, tmp_path / "restored.db")
    assert restored.code == 0
    assert f"Go on with: league manager --store {tmp_path / 'restored.db'}" in restored.out


def test_a_league_of_a_game_that_is_not_installed_has_a_report(command: Command, tmp_path: Path) -> None:
    first, *rest = played().log
    log = [first.replace(b'"game_type":"even_odd"', b'"game_type":"chess"'), *rest]
    assert log[0] != first
    done = command("report", Played(log, {}).store(tmp_path / "league.db"), "--out", tmp_path / "report.html")
    assert (done.code, done.err) == (0, "")
