"""``league manager`` with a store in trouble: a clear error and exit code 2, or a correct outcome; no traceback.

What a store does by itself is proved where stores are; here is what the operator sees.
"""

from __future__ import annotations

import asyncio
import ctypes
import resource
import signal
import sqlite3
import stat
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leaguekit.cli import CommandError, stored_plans
from leaguekit.cli.manager_client import call
from leaguekit.league import events as e
from leaguekit.league.settings import Settings
from leaguekit.protocol import times
from leaguekit.store.memory import MemoryLog
from tests.cli.conftest import CommandResult, command  # noqa: F401  a fixture
from tests.programs import Program, league

# Real processes throughout: together they take too long for `make test`.
pytestmark = pytest.mark.long

Command = Callable[..., CommandResult]


def manager(tmp_path: Path, *more: str | Path) -> tuple[str | Path, ...]:
    return ("manager", "--port", "0", "--store", tmp_path / "league.db", "--data-dir", tmp_path, *more)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A store with a league in it, whose manager has been killed."""
    with Program(*manager(tmp_path, "--league-id", "spring", "--seed", "7")) as program:
        program.said("admin token")
        program.process.kill()
        program.ended()
    return tmp_path / "league.db"


def refused(tmp_path: Path, *more: str | Path) -> str:
    """What a manager says that cannot be started: one line."""
    done = league(*manager(tmp_path, *more))
    assert (done.process.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("league manager: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.proves("003-L0017", "002-L0032")
def test_two_managers_on_one_store_are_one_too_many(tmp_path: Path) -> None:
    with Program(*manager(tmp_path)) as first:
        first.said("admin token")
        said = refused(tmp_path)
        assert f"is in use by another program (process {first.process.pid}). Stop that one first" in said
        assert first.process.poll() is None


def test_a_store_of_a_newer_version_is_left_alone(made: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(made)) as connection, connection:
        connection.execute("UPDATE leaguekit SET version = 99")
    assert "was written by a newer leaguekit: its version is 99" in refused(tmp_path)


def test_a_log_with_an_event_of_a_newer_version_is_left_alone(made: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(made)) as connection, connection:
        newer = '{"event":"LeagueMoved","at":"2030-01-01T00:00:00Z"}'
        connection.execute("INSERT INTO events SELECT max(number) + 1, ? FROM events", (newer,))
    said = refused(tmp_path)
    assert f"the league in {made} cannot be taken up" in said
    assert "LeagueMoved" in said
    assert "`league verify` checks its log" in said


def test_a_store_that_may_not_be_written_says_so(made: Path, tmp_path: Path) -> None:
    made.chmod(0o444)
    made.parent.chmod(0o555)
    try:
        with Program(*manager(tmp_path), preexec_fn=_obey_modes) as done:
            done.ended()
    finally:
        made.parent.chmod(0o755)
    assert done.process.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(f"league manager: {made} cannot be ")
    assert "Make the file and its folder writable for this user, or name another file." in done.stderr


def _obey_modes() -> None:
    """Give up root's right to write what may not be written; for others there is nothing to give up."""
    drop_from_bounding_set, override_modes = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, override_modes)


def test_a_torn_last_write_is_dropped_and_the_league_goes_on(made: Path, tmp_path: Path) -> None:
    journal = made.with_name("league.db-wal")
    whole = journal.read_bytes()
    assert whole, "a killed manager leaves its last writes there"
    journal.write_bytes(whole + whole[32 : 32 + 2_000])
    with Program(*manager(tmp_path)) as program:
        at = program.said(r"League spring is at (\S+)")[1]
        assert call(at, {"command": "status"})["league_id"] == "spring"


def _full() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def test_a_disk_that_is_full_when_a_referee_or_a_manager_begins_is_told_in_a_sentence(tmp_path: Path) -> None:
    with Program(*manager(tmp_path)) as running:
        at = running.said(r"is at (\S+)")[1]
        with Program(
            "referee", "--manager", at, "--port", "0", "--data-dir", tmp_path / "full", preexec_fn=_full
        ) as referee:
            assert referee.ended() == 2
    with Program(*manager(tmp_path, "--store", tmp_path / "other.db"), preexec_fn=_full) as other:
        assert other.ended() == 2
    for program, name in ((referee, "journal.jsonl"), (other, "other.db")):
        assert "Traceback" not in program.stderr
        last = program.stderr.splitlines()[-1]
        assert f"{name} cannot be written: {name}.lock beside it cannot be written (File too large)." in last


def test_a_full_disk_ends_the_manager_with_the_reason_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    def small() -> None:
        # Whatever would grow beyond that is as good as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))

    with Program(*manager(tmp_path), preexec_fn=small) as program:
        at = program.said(r"is at (\S+)")[1]
        token = Path(program.said(r"admin token: (\S+)")[1]).read_text()
        paused, refusal = 0, ""
        while not refusal:
            try:
                call(at, {"command": "resume" if paused % 2 else "pause", "reason": "x" * 5_000, "admin_token": token})
                paused += 1
            except CommandError as error:
                refusal = str(error)
        assert program.ended() == 2
    assert "league manager: the league cannot go on: The store" in program.stderr
    assert "everything acknowledged so far is kept" in program.stderr
    assert "Traceback" not in program.stderr
    with Program(*manager(tmp_path)) as program:
        at = program.said(r"is at (\S+)")[1]
        assert call(at, {"command": "status"})["paused"] is (paused % 2 == 1)


# Going on with what is in the store


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--league-id", "autumn"], "has league_id = 'spring', not 'autumn'. Leave --league-id out"),
        (["--game", "tic_tac_toe"], "has game_type = 'even_odd', not 'tic_tac_toe'. Leave --game out"),
        (["--announce-lead", "5"], "has announce_lead = 60.0, not 5.0. Leave --announce-lead out"),
        (["--seed", "8"], "has another seed. Leave --seed out"),
    ],
)
def test_options_that_contradict_the_store_are_refused(
    command: Command,  # noqa: F811
    made: Path,
    tmp_path: Path,
    options: list[str],
    why: str,
) -> None:
    done = command(*manager(tmp_path, *options))
    expected = f"league manager: {made} holds the league spring, which {why} to go on with it, or name another --store."
    # A setting that may change is changed in the running league.
    is_lead = options[0] == "--announce-lead"
    remedy = " `league set announce_lead=…` changes it in the running league." if is_lead else ""
    assert done == (2, "", f"{expected}{remedy}\n")


def test_the_same_command_goes_on_with_the_same_league_and_says_no_second_admin_token(
    made: Path, tmp_path: Path
) -> None:
    assert made.exists()
    with Program(*manager(tmp_path, "--league-id", "spring", "--seed", "7")) as program:
        program.said("League spring is at")
        program.said("admin token: ")
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 130
    assert "shown once" not in program.stderr
    token = tmp_path / "agents" / "spring" / "manager" / "admin_token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_settings_from_a_file_are_compared_as_well() -> None:
    settings = Settings(league_id="spring", seed_hex="00", tie_breaks=("wins",))

    changed = e.SettingsChanged(at="2026-01-01T10:00:00Z", settings={"title": "Cup", "announce_lead": 5.0}, reason="")

    def check(asked: dict[str, Any], *in_file: str, later: Sequence[e.Event] = ()) -> None:
        async def check() -> None:
            log = MemoryLog()
            await log.append([*map(e.encode, later)])
            await stored_plans.check_requested_settings(log, settings, asked, "x.db", in_file)

        asyncio.run(check())

    check({"league_id": "spring", "announce_lead": 60, "tie_breaks": ["wins"]})
    with pytest.raises(CommandError, match=r"has max_players = 1000, not 9\. Leave max_players of the file out"):
        check({"max_players": 9}, "max_players")
    # A setting that was changed may be as it was, or as it is.
    for lead in (60, 5):
        check({"announce_lead": lead, "title": "Cup"}, later=[changed])
    with pytest.raises(CommandError, match=r"has title = 'Cup', not 'Match'\. Leave --title out"):
        check({"title": "Match"}, later=[changed])


def started(log: MemoryLog, when: tuple[int, int] | None, time_of_day: str | None) -> stored_plans.StartPlan:
    return asyncio.run(stored_plans.resolve_start_plan(log, when, time_of_day))


def test_when_the_league_starts_is_known_after_a_restart() -> None:
    log = MemoryLog()
    assert started(log, None, None) == stored_plans.StartPlan()
    assert started(log, (4, 2), None).when == (4, 2)
    assert started(log, None, None).when == (4, 2)


def test_a_start_that_is_kept_unreadably_is_to_be_said_again() -> None:
    log = MemoryLog()
    asyncio.run(log.write_document(stored_plans.START, b"zzz"))
    with pytest.raises(CommandError, match="say it again with --start-when or --start-at"):
        started(log, None, None)
    assert started(log, (4, 2), None).when == (4, 2)
    assert started(log, None, None).when == (4, 2)


def test_a_time_of_day_that_passed_while_the_manager_was_down_is_not_tomorrows() -> None:
    log = MemoryLog()
    past = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    asyncio.run(
        log.write_document(
            stored_plans.START, msgspec.json.encode(stored_plans.StartPlan(at=times.format_timestamp(past)))
        )
    )
    shown = f"{past.astimezone():%H:%M}"
    assert started(log, None, shown).at == times.format_timestamp(past)
    assert started(log, None, None).at == times.format_timestamp(past)
    # Another time is another decision.
    other = f"{(past - timedelta(hours=3)).astimezone():%H:%M}"
    at = times.parse_timestamp(started(log, None, other).at or "")
    assert f"{at.astimezone():%H:%M}" == other
    assert timedelta(0) < at - datetime.now(UTC) < timedelta(days=1)
