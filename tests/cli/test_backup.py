"""``league backup`` and ``league restore``, and the warnings about a log that ends before its head file."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import shutil
import signal
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from leaguekit.cli import stores
from leaguekit.store import backups, sqlite_schema
from leaguekit.store.head_file import head_path, read_head
from leaguekit.store.sqlite import SqliteLog
from tests.cli.conftest import CommandResult
from tests.played import Played, played
from tests.programs import Program

Command = Callable[..., CommandResult]
LEAGUE = "league_2025_even_odd"
CONTENTS = (
    rf"{LEAGUE}, 28 events and 7 texts beside them \(0\.\d MB\), "
    "checked and complete as far as event 28, as its head file says"
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "agents" / LEAGUE / "manager" / "league.db"
    path.parent.mkdir(parents=True)
    return played().store(path)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(path: Path) -> list[list[tuple[object, ...]]]:
    """All rows of a store."""
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in ("events", "kept")]


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


# backup


def test_a_backup_is_one_private_file_with_everything_and_a_head_file(
    command: Command, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "backups" / "monday.db"
    done = command("backup", store, "--out", out)
    assert (done.code, done.err) == (0, "")
    wrote, not_in_it = done.out.splitlines()
    assert re.fullmatch(rf"Wrote {re.escape(str(out))}: {CONTENTS}", wrote)
    assert not_in_it.startswith("Not in it: the admin token, the referee code, logs")
    assert names(out.parent) == ["monday.db", "monday.db.head"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.parent.iterdir()} == {0o600}
    assert contents(out) == contents(store)
    assert read_head(out) == 28
    verified = command("verify", out)
    assert verified.code == 0
    assert "          complete as far as event 28, as monday.db.head says" in verified.out.splitlines()
    assert names(out.parent) == ["monday.db", "monday.db.head"]


def test_without_names_the_newest_league_is_copied_under_a_name_of_its_own(
    command: Command, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    done = command("backup", "--data-dir", tmp_path, "--json")
    told = json.loads(done.out)
    assert done.err == f"Reading {store}\n"
    assert re.fullmatch(rf"{LEAGUE}-\d{{8}}-\d{{6}}\.db", told["backup"])
    assert told["bytes"] == (out / told["backup"]).stat().st_size
    assert (told["league_id"], told["store"], told["events"], told["texts"]) == (LEAGUE, str(store), 28, 7)
    assert command("backup", store, "--out", f"{tmp_path}/new/").code == 0
    assert re.fullmatch(rf"{LEAGUE}-\d{{8}}-\d{{6}}\.db", names(tmp_path / "new")[0])


def test_a_backup_is_replaced_only_by_force(command: Command, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "monday.db"
    out.write_text("something else")
    head_path(out).write_text("99\n")
    done = command("backup", store, "--out", out)
    assert done == (2, "", f"league backup: {out} exists: name another file, or replace it with --force.\n")
    assert out.read_text() == "something else"
    assert command("backup", store, "--out", out, "--force").code == 0
    assert command("verify", out).code == 0


def test_a_store_in_use_is_not_replaced_by_a_backup(command: Command, store: Path, tmp_path: Path) -> None:
    async def main() -> None:
        other = await SqliteLog.open(tmp_path / "other.db")
        done = command("backup", store, "--out", tmp_path / "other.db", "--force")
        assert (done.code, done.out) == (2, "")
        assert "other.db is in use by another program" in done.err
        await other.close()

    asyncio.run(main())


def test_a_backup_holds_one_state_while_others_write(
    command: Command, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, steps = contents(store), 0

    def show(_self: object, _count: int, what: str | None = None) -> None:
        nonlocal steps
        if what == "MB copied":
            steps += 1
            assert steps < 1_000, "it begins again with every write"
            execute(store, "INSERT INTO events SELECT max(number) + 1, event FROM events")

    monkeypatch.setattr(backups, "PAGES_PER_STEP", 1)
    monkeypatch.setattr(stores.Progress, "update", show)
    assert command("backup", store, "--out", tmp_path / "monday.db").code == 0
    assert steps > 5
    assert contents(tmp_path / "monday.db") == before
    assert len(contents(store)[0]) == 28 + steps


def test_a_copy_that_takes_long_is_shown_on_a_terminal(
    command: Command, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "PROGRESS_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(stores, "PROGRESS_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(backups, "POLL_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = command("backup", store, "--out", tmp_path / "monday.db").err
    assert "0 MB copied …" in said
    assert "0 seconds of checking the copy …" in said


def test_a_store_of_an_older_version_can_be_copied_before_it_is_brought_up_to_date(
    command: Command, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", [*sqlite_schema.MIGRATIONS, ("SELECT 1",)])
    assert "was written by an older leaguekit" in command("verify", store).err
    assert command("backup", store, "--out", tmp_path / "monday.db").code == 0
    assert contents(tmp_path / "monday.db") == contents(store)


def _remove(store: Path) -> None:
    store.unlink()


def _damage(store: Path) -> None:
    size = store.stat().st_size
    with store.open("r+b") as file:
        for page in range(4096, size, 4096):
            file.seek(page)
            file.write(b"\xff" * 100)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (_remove, "There is no store"),
    "folder": (lambda store: (store.unlink(), store.mkdir()), "is a folder: name the file in it."),
    "text": (lambda store: store.write_text("Dear diary, " * 1000), "It is not a SQLite database"),
    "foreign": (lambda store: execute(store, "ALTER TABLE leaguekit RENAME TO x"), "of some other program"),
    "newer": (lambda store: execute(store, "UPDATE leaguekit SET version = 99"), "written by a newer leaguekit"),
    "empty": (lambda store: execute(store, "DELETE FROM events"), "holds no league yet: there is nothing to copy"),
    "no league": (
        lambda store: execute(store, "UPDATE events SET event = '{}' WHERE number = 1"),
        "event 1 of",
    ),
    "gap": (lambda store: execute(store, "DELETE FROM events WHERE number = 5"), "has a gap"),
    "end": (
        lambda store: execute(store, "DELETE FROM events WHERE number > 18"),
        "ends at event 18, but league.db.head says that event 28 was written: the last 10 events are missing",
    ),
    "damaged": (_damage, "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_copied_is_said_in_one_line_and_leaves_nothing(
    command: Command, fault: str, store: Path, tmp_path: Path
) -> None:
    spoil, why = FAULTS[fault]
    spoil(store)
    (tmp_path / "out").mkdir()
    for arguments in (
        ["backup", store, "--out", tmp_path / "out" / "monday.db"],
        ["restore", store, tmp_path / "out" / "league.db"],
    ):
        done = command(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert done.err.startswith(f"league {arguments[0]}: ")
        assert why in done.err
    assert names(tmp_path / "out") in ([], ["league.db.lock", "league.db.lock.sqlite"])


def test_a_store_is_not_copied_to_itself_or_to_a_folder(command: Command, store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)
    assert "is the store itself: name another file." in command("backup", store, "--out", link, "--force").err
    assert f"{tmp_path} is a folder: name a file in it." in command("restore", store, tmp_path, "--force").err


def test_a_full_disk_is_said_and_leaves_nothing(store: Path, tmp_path: Path) -> None:
    def small() -> None:
        # Whatever would grow beyond that is as good as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (36_864, resource.RLIM_INFINITY))

    out = tmp_path / "out"
    out.mkdir()
    with Program("backup", store, "--out", out / "monday.db", preexec_fn=small) as program:
        assert program.ended() == 2
    assert program.stdout == ""
    assert program.stderr.startswith(f"league backup: {store} cannot be copied to {out / 'monday.db'}: ")
    assert program.stderr.endswith(f"Make room on the disk of {out}, or name a file in another folder that this user "
                                   "may write to.\n")  # fmt: skip
    assert names(out) == []


@pytest.mark.parametrize("moment", ["MB copied", "seconds of checking the copy"])
def test_ctrl_c_leaves_what_was_there(
    command: Command, moment: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(_self: object, _count: int, what: str | None = None) -> None:
        if what == moment:
            signal.raise_signal(signal.SIGINT)

    # However short the check takes, it is not waited for.
    monkeypatch.setattr(backups, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(stores.Progress, "update", show)
    out = tmp_path / "out"
    out.mkdir()
    (out / "monday.db").write_text("the old one")
    head_path(out / "monday.db").write_text("7\n")
    assert command("backup", store, "--out", out / "monday.db", "--force").code == 130
    assert set(names(out)) == {"monday.db", "monday.db.head", "monday.db.lock", "monday.db.lock.sqlite"}
    assert (out / "monday.db").read_text() == "the old one"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ["backup", "postgresql://me:s3cret@db/league"],
            "the league is in PostgreSQL, which has tools of its own for this. "
            "Use: pg_dump --format=custom --file=league.dump '--dbname=postgresql://me:***@db/league'\n",
        ),
        (
            ["restore", "monday.db", "postgresql://me@db/league"],
            "the league is in PostgreSQL, which has tools of its own for this. Use: "
            "pg_restore league.dump --clean --if-exists --no-owner --dbname=postgresql://me@db/league\n",
        ),
        (
            ["backup", "postgresql://me@/league?host=/run/pg&search_path=spring"],
            "pg_dump --format=custom --file=league.dump --schema=spring '--dbname=postgresql://me@/league?host=/run/pg'",
        ),
        (["backup", "memory:"], "memory: keeps nothing: name the file of a league"),
        (["backup", "mysql://db/league"], "mysql://db/league is not the address of a store"),
    ],
)
def test_what_is_no_file_is_for_other_tools(command: Command, arguments: list[str], why: str) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert why in done.err


@pytest.mark.parametrize("name", ["backup", "restore"])
def test_help_has_examples_and_says_what_is_not_in_it(command: Command, name: str) -> None:
    told = command(name, "--help").out
    assert f"examples:\n  league {name} " in told
    assert "admin token" in told
    assert "The exit code is 0" in told


# restore


def test_a_restored_store_is_at_its_place_and_says_how_to_go_on(command: Command, store: Path, tmp_path: Path) -> None:
    command("backup", store, "--out", tmp_path / "monday.db")
    before = contents(store)
    new = tmp_path / "new"
    done = command("restore", tmp_path / "monday.db", "--data-dir", new)
    place = new / "agents" / LEAGUE / "manager" / "league.db"
    assert (done.code, done.err) == (0, "")
    restored, token, code, agents, go_on = done.out.splitlines()
    assert re.fullmatch(rf"Restored {re.escape(str(place))}: {CONTENTS}", restored)
    assert token.startswith(f"There is no admin token in {place.parent}: the manager makes a new one")
    assert code.startswith("There is no referee code there")
    assert agents.startswith(f"There are no tokens of agents in {place.parent.parent}: copy what they had there")
    assert go_on == f"Go on with: league manager --store {place} --data-dir {new}"
    assert contents(place) == before
    assert command("verify", place).code == 0


def test_a_league_whose_referees_were_here_goes_on_with_a_host(command: Command, store: Path, tmp_path: Path) -> None:
    journal = store.parent.parent / "REF01" / "journal.jsonl"
    journal.parent.mkdir()
    journal.touch()
    told = json.loads(command("restore", store, tmp_path / "new.db", "--data-dir", tmp_path, "--json").out)
    assert told["go_on"] == f"league host --store {tmp_path / 'new.db'} --data-dir {tmp_path}"


def test_what_league_run_has_made_goes_on_with_it(command: Command, store: Path, tmp_path: Path) -> None:
    plan = {"league_id": LEAGUE, "players": 4, "referees": 2, "game": "even_odd", "strategies": ["random"]}
    plan |= {"max_concurrent": 2, "announce_lead": 0, "data_dir": "SHARED"}
    execute(store, f"INSERT INTO kept VALUES ('run', CAST('{json.dumps(plan)}' AS BLOB))")
    (store.parent / "admin_token").write_text("secret")
    journal = store.parent.parent / "REF01" / "journal.jsonl"
    journal.parent.mkdir()
    journal.touch()
    (journal.parent / "state.json").touch()
    told = json.loads(command("restore", store, tmp_path / "new.db", "--data-dir", tmp_path, "--json").out)
    assert told["go_on"] == f"league run --resume {tmp_path / 'new.db'} --data-dir {tmp_path}"
    assert (told["missing"], told["texts"]) == (["referee_code"], 8)
    assert told["journals"] == [str(journal)]
    said = command("restore", store, tmp_path / "newer.db", "--data-dir", tmp_path).out
    assert f"Stop the referees, and remove what they remember of later matches:\n  {journal}\nGo on with: " in said


def test_a_store_is_replaced_only_by_force_and_with_all_that_is_left_of_it(
    command: Command, store: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "monday.db"
    command("backup", store, "--out", backup)

    async def write() -> None:
        log = await SqliteLog.open(store)
        await log.append([played().log[-1]] * 5)
        # What a killed manager leaves.
        for end in ("", "-wal"):
            shutil.copy(f"{store}{end}", tmp_path / f"left{end}")
        done = command("restore", backup, store, "--force")
        assert (done.code, done.out) == (2, "")
        assert "is in use by another program" in done.err
        await log.close()

    asyncio.run(write())
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"left{end}", f"{store}{end}")
    assert len(contents(tmp_path / "left")[0]) == 33
    assert read_head(store) == 33
    done = command("restore", backup, "--data-dir", tmp_path)
    assert done.err == f"league restore: {store} exists: name another file, or replace it with --force.\n"
    assert command("restore", backup, "--data-dir", tmp_path, "--force").code == 0
    assert contents(store) == contents(backup)
    assert read_head(store) == 28
    asyncio.run(_opened_and_closed(store))
    assert command("verify", store).code == 0


def test_what_is_left_of_a_store_that_was_removed_does_not_spoil_the_restored_one(
    command: Command, store: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "monday.db"
    command("backup", store, "--out", backup)
    store.unlink()
    store.with_name("league.db-wal").write_bytes(b"\0" * 9_000)
    head_path(store).write_text("99\n")
    assert command("restore", backup, "--data-dir", tmp_path).code == 0
    assert names(store.parent) == [f"league.db{end}" for end in ("", ".head", ".lock", ".lock.sqlite")]
    assert command("verify", store).code == 0


async def _opened_and_closed(store: Path) -> None:
    await (await SqliteLog.open(store)).close()


# A log that ends before its head file


@pytest.fixture
def cut(store: Path) -> Path:
    """A store whose last events are missing."""
    execute(store, "DELETE FROM events WHERE number > 18")
    return store


MISSING = (
    "{} ends at event 18, but league.db.head says that event 28 was written: the last 10 events are missing. If they "
    "are in the journal league.db-wal, put it back beside the store; if not, restore a backup with `league restore`. "
    "Copy a store with `league backup`, not with cp."
)


def test_verify_fails_if_the_end_of_the_log_is_missing(command: Command, cut: Path) -> None:
    done = command("verify", cut)
    assert (done.code, done.err) == (1, "")
    assert f"    FAULT {MISSING.format(cut)}" in done.out.splitlines()
    assert done.out.splitlines()[-1] == "NOT OK: 1 fault"
    done = command("verify", cut, "--json")
    told = json.loads(done.out)
    assert (done.code, told["ok"], told["faults"], told["last_event"], told["head"]) == (1, False, 1, 18, 28)
    assert told["completeness"] == MISSING.format(cut)


def test_without_a_head_file_verify_has_nothing_to_compare_with(command: Command, cut: Path) -> None:
    head_path(cut).unlink()
    done = command("verify", cut)
    assert done.code == 0
    assert "          complete as far as event 18; nothing to compare with" in done.out.splitlines()
    told = json.loads(command("verify", cut, "--json").out)
    assert (told["ok"], told["last_event"], told["head"]) == (True, 18, None)


def test_a_log_that_goes_on_after_its_head_is_complete_as_far_as_that(command: Command, store: Path) -> None:
    head_path(store).write_text("26\n")
    done = command("verify", store)
    assert done.code == 0
    assert "          complete as far as event 26, as league.db.head says; it goes on to event 28" in done.out


def test_verify_fails_if_all_of_the_log_was_in_the_journal(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    (tmp_path / "copy").mkdir()
    events = played().log

    async def write() -> None:
        log = await SqliteLog.open(path)
        await log.append(events)
        shutil.copy(path, tmp_path / "copy")
        await log.close()

    asyncio.run(write())
    copy = tmp_path / "copy" / "league.db"
    head_path(copy).write_text("28\n")
    done = command("verify", copy)
    assert done.code == 1
    assert f"    FAULT {copy} ends at event 0, but league.db.head says that event 28 was written" in done.out
    assert "ends at event 0, but league.db.head says" in command("log", copy).err
    assert "ends at event 0, but league.db.head says" in command("backup", copy).err


@pytest.mark.parametrize(
    "arguments",
    [["log"], ["replay", "R1M1"], ["export"], ["report", "--out", "report"], ["rebuild-files", "--data-dir", "new"]],
    ids=lambda value: value[0],
)
def test_who_reads_a_log_without_its_end_is_warned(
    command: Command, arguments: list[str], cut: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *rest = arguments
    done = command(name, cut, *rest)
    assert done.code == 0
    assert done.err.splitlines()[0] == f"Warning: {MISSING.format(cut)}"
    head_path(cut).write_text("many")
    assert "Warning: " in (said := command(name, cut, *rest)).err
    assert (said.code, "holds no event number: b'many'" in said.err) == (0, True)
    head_path(cut).unlink()
    assert "Warning" not in command(name, cut, *rest).err


@pytest.mark.parametrize("arguments", [["manager", "--port", "0", "--store"], ["run", "--resume"]])
def test_a_league_does_not_go_on_without_the_end_of_its_log(
    command: Command, arguments: list[str], tmp_path: Path
) -> None:
    path = Played(played().log[:18], {"run": b"{}"}).store(tmp_path / "league.db")
    head_path(path).write_text("28\n")
    done = command(*arguments, path, "--data-dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"league {arguments[0]}: {MISSING.format(path)} To go on without these events, remove league.db.head.\n"
    )


@pytest.mark.long
def test_a_copy_of_a_league_that_is_served_gets_no_manager_of_its_own(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    of_both = ("--port", "0", "--data-dir", tmp_path)
    with Program("manager", "--store", store, *of_both) as manager:
        manager.said("admin token")
        with Program("manager", "--store", copy, *of_both) as second:
            assert second.ended() == 2
        assert f"the league {LEAGUE} cannot be served with this --data-dir" in second.stderr
        assert f"is in use by another program (process {manager.process.pid})" in second.stderr
        assert "look at a copy without a manager" in second.stderr
        elsewhere = ("--port", "0", "--data-dir", tmp_path / "elsewhere")
        with Program("manager", "--store", copy, *elsewhere) as third:
            third.said("admin token")
    with Program("manager", "--store", copy, *of_both) as later:
        later.said("admin token")
