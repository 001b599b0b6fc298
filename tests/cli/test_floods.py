"""The operator's means against too many registrations: confirmation of a start, withdrawals; and lost stores."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from leaguekit.cli import manager_client
from leaguekit.manager.operator_queries import Operation
from tests.cli.conftest import CommandResult
from tests.programs import Program

Command = Callable[..., CommandResult]
PLAYERS = 12


class FullLeague(NamedTuple):
    """A league with more players than its operator wants."""

    url: str
    data: Path

    @property
    def here(self) -> tuple[object, ...]:
        return ("--manager", self.url, "--data-dir", self.data)


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[FullLeague]:
    data = ("--port", "0", "--data-dir", str(tmp_path))
    with Program("manager", *data, "--announce-lead", "60", "--max-per-address", "3") as manager:
        url = manager.said(r"is at (http://\S+)")[1]
        with (
            Program("referee", *data, "--manager", url) as referee,
            Program("players", *data, "--manager", url, "--count", str(PLAYERS)) as players,
        ):
            referee.said("is registered")
            players.said("12 players are registered")
            yield FullLeague(url, tmp_path)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Types a line at the terminal of this process."""
    controller, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)

        def type_line(line: str) -> None:
            os.write(controller, f"{line}\n".encode())

        yield type_line
    os.close(controller)


def test_a_start_with_many_matches_says_how_many_and_asks(
    flooded: FullLeague, command: Command, monkeypatch: pytest.MonkeyPatch, answers: Callable[[str], None]
) -> None:
    # Players that register meanwhile must not make more matches than the operator agrees to.
    assert set(manager_client.confirm_start(flooded.url, "")) == {"max_matches"} <= set(Operation.__struct_fields__)
    monkeypatch.setattr(manager_client, "CONFIRM_ABOVE_MATCHES", 65)
    assert "a start now would make 66 matches" in command("status", *flooded.here).out
    for line in ("n", "", "perhaps"):
        answers(line)
        said = command("start", *flooded.here)
        assert said.code == 2
        assert "12 players would have 66 matches. Start the league? [y/N] " in said.err
        assert "the league is not started" in said.err
    with monkeypatch.context() as scripted, Path(os.devnull).open() as nothing:
        scripted.setattr(sys, "stdin", nothing)
        said = command("start", *flooded.here)
        assert (said.code, said.out) == (2, "")
        assert "12 players would have 66 matches: add --yes to start the league" in said.err
    answers("y")
    said = command("start", *flooded.here)
    assert (said.code, said.out) == (0, "The league starts: 11 rounds, 66 matches.\n")


def test_a_start_with_free_seats_names_them_and_asks(
    flooded: FullLeague, command: Command, answers: Callable[[str], None]
) -> None:
    assert "free seats" not in command("status", *flooded.here).out
    command("seats", "new", "2", *flooded.here)
    assert "free seats: 2 (`league seats list`)" in command("status", *flooded.here).out
    answers("n")
    said = command("start", *flooded.here)
    assert said.code == 2
    assert "2 of 2 seats are free: S01, S02. Start the league without them? [y/N] " in said.err
    said = command("start", "--yes", *flooded.here)
    assert said.out == "The league starts: 11 rounds, 66 matches. 2 of 2 seats are free: S01, S02.\n"


@pytest.mark.long
def test_many_players_are_withdrawn_at_once_and_the_rest_is_started_without_a_question(
    flooded: FullLeague, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_client, "CONFIRM_ABOVE_MATCHES", 65)
    said = command("withdraw", *flooded.here)
    assert (said.code, "name players, such as P07 or P10-P99, or an address" in said.err) == (2, True)
    said = command("withdraw", "P20-P30", *flooded.here)
    assert (said.code, "no player of this league is meant by P20-P30" in said.err) == (2, True)
    said = command("withdraw", "P05-P11", "P02", "--reason", "not ours", *flooded.here)
    assert said.code == 0
    assert "8 players left the league" in said.out
    # Those that have left are passed over.
    assert "(P12) is withdrawn from the league." in command("withdraw", "P05-P12", *flooded.here).out
    said = command("start", *flooded.here)
    assert (said.code, said.out) == (0, "The league starts: 3 rounds, 3 matches.\n")


def test_what_cannot_be_taken_back_is_asked_for_on_a_terminal(
    flooded: FullLeague, command: Command, answers: Callable[[str], None]
) -> None:
    for line in ("n", ""):
        answers(line)
        said = command("withdraw", "P02", "P05-P11", *flooded.here)
        assert (said.code, said.out) == (2, "")
        assert re.search(r"Withdraw Player \d+ \(P02\), .* and 3 more\? .* \[y/N\] ", said.err)
        assert "nothing is changed" in said.err
    assert "12 players" in command("status", *flooded.here).out
    answers("no")
    assert re.search(r"Withdraw Player 7 \(P\d\d\)\? ", command("withdraw", "player 7", *flooded.here).err)
    answers("yes")
    assert command("disqualify", "P02", *flooded.here).code == 0
    said = command("disqualify", "P03", "--yes", *flooded.here)
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r"Player \d+ \(P03\) is disqualified\. `league readmit P03` brings it back\.\n", said.out)
    answers("no")
    said = command("correct", "R1M1", "draw", *flooded.here)
    assert (said.code, "Set the result of R1M1 to draw? [y/N] " in said.err) == (2, True)


def test_ctrl_c_ends_a_command_that_asks(flooded: FullLeague) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "leaguekit", "correct", "R1M1", "draw", *map(str, flooded.here)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, encoding="utf-8") as asking:
        assert asking.stderr is not None
        question = "Set the result of R1M1 to draw? [y/N] "
        assert asking.stderr.read(len(question)) == question
        asking.send_signal(signal.SIGINT)
        assert (asking.wait(20), asking.stderr.read()) == (130, "")
    os.close(controller)
    os.close(terminal)


@pytest.mark.long
def test_all_players_that_registered_from_an_address_are_withdrawn(flooded: FullLeague, command: Command) -> None:
    shown = command("agents", *flooded.here).out
    assert "registered from" in shown.splitlines()[0]
    assert shown.count("127.0.0.1 ") + shown.count("127.0.0.1\n") >= PLAYERS
    said = command("withdraw", "--from", "10.0.0.7", *flooded.here)
    assert (said.code, "no player of this league is meant by --from 10.0.0.7" in said.err) == (2, True)
    assert "12 players left the league" in command("withdraw", "--from", "127.0.0.1", *flooded.here).out
    assert "0 players" in command("status", *flooded.here).out


def test_more_players_than_a_league_can_have_matches_for_are_refused_before_it_begins(tmp_path: Path) -> None:
    with Program("manager", "--port", "0", "--data-dir", tmp_path, "--max-players", "5000") as manager:
        assert manager.ended() == 2
    assert "max_players = 5000 would make 12,497,500 matches, and a league has at most 1,000,000" in manager.stderr


def test_a_manager_does_not_begin_a_new_league_where_the_journal_of_one_is_missing(tmp_path: Path) -> None:
    served = ("manager", "--port", "0", "--data-dir", tmp_path, "--league-id", "lost")
    folder = tmp_path / "agents" / "lost" / "manager"
    journal, head = folder / "league.db-wal", folder / "league.db.head"
    with Program(*served) as manager:
        seed = manager.said("SHA-256 of the seed: (.*)")[1]
        manager.process.kill()
        manager.ended()
    content = journal.read_bytes()
    journal.unlink()
    head.unlink(missing_ok=True)
    with Program(*served) as manager:
        assert manager.ended() == 2
    assert "league.db holds no league, but " in manager.stderr
    assert f"{folder / 'admin_token'} shows that there was one" in manager.stderr
    journal.write_bytes(content)
    with Program(*served) as manager:
        assert manager.said("SHA-256 of the seed: (.*)")[1] == seed
