"""Copies of a league of real processes that is being played: by cp, which fails verify, and by ``league backup``."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from leaguekit.league import events as e
from leaguekit.store.head_file import head_path, read_head
from tests.cli.conftest import CommandResult, command  # noqa: F401  a fixture
from tests.recovery.league_programs import LeaguePrograms

# Real processes throughout: together they take too long for `make test`.
pytestmark = pytest.mark.long

Command = Callable[..., CommandResult]
MATCHES = 15


def played_until(programs: LeaguePrograms, matches: int) -> int:
    """Wait until this number of matches was played. Returns how many results the manager has acknowledged then."""
    while (status := programs.up())["matches_played"] < matches:
        pass
    return int(status["matches_played"])


def results(programs: LeaguePrograms, store: Path) -> Counter[str]:
    programs.store = str(store)
    return Counter(event.match_id for event in programs.log() if isinstance(event, e.ResultRecorded))


def events_in(copy: Path) -> int:
    """How many events a copy has without its journal."""
    with closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def test_a_copy_by_cp_fails_verify_and_a_backup_of_the_same_moment_has_every_acknowledged_result(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    store, copy, backup = tmp_path / "league.db", tmp_path / "copy" / "league.db", tmp_path / "backup.db"
    copy.parent.mkdir()
    programs = LeaguePrograms(tmp_path, store, players=6)
    # A manager that is stopped leaves everything in the store itself, and none of it in the journal.
    programs.start(["manager"])
    programs.up()
    programs.processes["manager"].send_signal(signal.SIGINT)
    assert programs.processes["manager"].wait(30) == 130
    assert "as league.db.head says" in command("verify", store).out
    # What comes while somebody reads stays in the journal, and does not move to the store at the end of a round.
    with closing(sqlite3.connect(store)) as reader, programs:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        acknowledged = played_until(programs, 4)
        shutil.copy(store, copy)
        shutil.copy(head_path(store), head_path(copy))
        ends_at = events_in(copy)
        assert command("backup", store, "--out", backup).code == 0
        assert programs.status()["state"] == "RUNNING_LEAGUE"  # type: ignore[index]
        programs.until_over()
    cut = command("verify", copy)
    assert cut.code == 1
    assert f"FAULT {copy} ends at event {ends_at}, but league.db.head says that event {read_head(copy)} was" in cut.out
    # Without the head file nothing would show.
    head_path(copy).unlink()
    assert "nothing to compare with\nOK" in command("verify", copy).out
    whole = command("verify", backup)
    assert (whole.code, whole.err) == (0, "")
    assert f"complete as far as event {read_head(backup)}, as backup.db.head says" in whole.out
    counted = results(programs, backup)
    assert set(counted.values()) == {1}
    assert acknowledged <= len(counted) <= MATCHES


def test_a_killed_manager_goes_on_with_a_head_that_is_never_ahead(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    store = tmp_path / "league.db"
    with LeaguePrograms(tmp_path, store, players=6) as programs:
        for matches in (0, 2, 5, 9):
            played_until(programs, matches)
            programs.kill(["manager"])
            head = read_head(store)
            assert head is not None
            assert head <= len(programs.log())
            assert command("verify", store).code == 0
            programs.start(["manager"])
        programs.until_over()
        programs.processes["manager"].send_signal(signal.SIGINT)
        assert programs.processes["manager"].wait(30) == 130
    assert read_head(store) == len(programs.log())
    assert command("verify", store).code == 0


def test_a_restored_league_goes_on_with_the_same_agents_and_counts_each_match_once(
    command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    store, backup = tmp_path / "league.db", tmp_path / "backup.db"
    with LeaguePrograms(tmp_path, store, players=6) as programs:
        played_until(programs, 3)
        assert command("backup", store, "--out", backup).code == 0
        known = len(results(programs, backup))
        played_until(programs, known + 3)
        killed = programs.kill(["manager", "referee 1", "referee 2"])
        done = command("restore", backup, store, "--force", "--data-dir", tmp_path, "--json")
        assert done.code == 0
        told = json.loads(done.out)
        assert (told["missing"], len(told["journals"])) == ([], 2)
        for journal in told["journals"]:
            Path(journal).unlink()
        assert len(results(programs, store)) == known
        programs.start(killed)
        programs.until_over()
        counted = results(programs, store)
    assert len(counted) == MATCHES
    assert set(counted.values()) == {1}
    assert command("verify", store).code == 0
