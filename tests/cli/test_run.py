"""``league run`` and the operator's commands as a person or a program calls them: real processes, free ports.

Commands that only ask, or are refused, run in this process: it is the same code, and a process takes half a second.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from leaguekit.cli import CommandError
from leaguekit.cli.commands import run
from leaguekit.cli.manager_client import call
from leaguekit.cli.processes import Processes
from leaguekit.cli.run_agents import open_sockets, start_agents
from leaguekit.cli.stored_plans import RUN, RunPlan
from tests.agents.leagues import LEAGUE
from tests.cli.conftest import CommandResult
from tests.played import Played, by_hand
from tests.programs import Program, league

SIX = ("run", "--port", "0", "--players", "6", "--seed", "7", "--json")


def played(*arguments: str | Path) -> dict[str, Any]:
    program = league(*arguments)
    assert (program.process.returncode, program.stderr) == (0, "")
    assert program.stdout.count("\n") == 1
    return json.loads(program.stdout)


# A whole league


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return played(*SIX, "--data-dir", tmp_path_factory.mktemp("run"))


def test_json_is_one_object_that_tells_how_the_league_went(seeded: dict[str, Any]) -> None:
    assert set(seeded) == {
        "league_id", "title", "champion", "first", "ties", "final_standings", "rounds", "matches", "technical_losses",
        "seconds", "moves",
    }  # fmt: skip
    assert seeded["moves"] == {f"P0{number}": {"own": 5} for number in range(1, 7)}
    assert re.fullmatch(r"even_odd_\d{4}_[0-9a-z]{4}", seeded["league_id"])
    assert (seeded["rounds"], seeded["matches"], seeded["technical_losses"]) == (5, 15, 0)
    assert 0 < seeded["seconds"] < 15
    table = seeded["final_standings"]
    assert [row["rank"] for row in table] == [1, 2, 3, 4, 5, 6]
    assert all(row["played"] == row["wins"] + row["draws"] + row["losses"] == 5 for row in table)
    assert all(row["points"] == 3 * row["wins"] + row["draws"] for row in table)
    assert seeded["champion"] == {name: table[0][name] for name in ("player_id", "display_name", "points")}


def test_the_nth_player_is_always_p0n(seeded: dict[str, Any]) -> None:
    for row in seeded["final_standings"]:
        assert row["player_id"] == f"P0{row['display_name'].rpartition(' ')[2]}"


def test_the_same_seed_makes_the_same_league_whatever_the_concurrency_and_the_store(
    seeded: dict[str, Any], tmp_path: Path
) -> None:
    again = played(*SIX, "--max-concurrent", "1", "--referees", "1", "--store", "memory:", "--data-dir", tmp_path)
    assert not list(tmp_path.rglob("league.db*"))
    assert again["league_id"] != seeded["league_id"]
    assert again["final_standings"] == seeded["final_standings"]


def test_players_that_share_processes_play_the_same_league(seeded: dict[str, Any], tmp_path: Path) -> None:
    again = played(*SIX, "--players-per-process", "4", "--data-dir", tmp_path)
    assert again["final_standings"] == seeded["final_standings"]
    assert again["moves"] == seeded["moves"]
    # Each process has a log of its own.
    logs = sorted(file.parent.name for file in tmp_path.glob("agents/*/players_*/log.jsonl"))
    assert logs == ["players_P01_P04", "players_P05_P06"]


RAISES = """
def choose(ctx):
    if ctx.round_id == 2:
        return ctx.valid_options[0]
    raise ValueError("no idea")
"""


def test_a_league_ends_with_a_warning_if_moves_were_replaced(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text(RAISES)
    strategies = ("--strategies", "raises:choose,random", "--players", "3", "--referees", "1")
    for more in ((), ("--json",)):
        command = ("run", "--port", "0", *strategies, *more, "--data-dir", tmp_path / "files")
        with Program(*command, cwd=tmp_path) as program:
            assert program.ended() == 0
        warnings = program.stderr.splitlines()
        because = "because the strategy raised ValueError('no idea')"
        # The first and the third have the strategy; each rests in one of the three rounds.
        assert [re.sub(r"\d of (2 moves of .*?\)).* because", r"n of \1 because", line) for line in warnings] == [
            f"Warning: n of 2 moves of choose 1 (P01) {because}",
            f"Warning: n of 2 moves of choose 3 (P03) {because}",
        ]
        if more:
            moves = json.loads(program.stdout)["moves"]
            assert moves["P02"] == {"own": 2}
            assert moves["P01"]["reason"] == "the strategy raised ValueError('no idea')"
        else:
            assert re.search(r"\nMoves, as the players state: \d own, \d replaced\n", program.stdout)


@pytest.mark.long
def test_a_league_of_another_game_has_strategies_that_fit_it(tmp_path: Path) -> None:
    told = played("run", "--port", "0", "--game", "tic_tac_toe", "--players", "5", "--json", "--data-dir", tmp_path)
    names = {row["display_name"].rpartition(" ")[0] for row in told["final_standings"]}
    assert names == {"random", "alternating", "history_based", "frequency", "search"}
    assert all(set(moves) == {"own"} for moves in told["moves"].values())


def test_a_league_that_was_begun_with_a_strategy_that_does_not_fit_is_not_resumed(
    command: Callable[..., CommandResult], tmp_path: Path
) -> None:
    store = tmp_path / "league.db"
    plan = RunPlan(
        league_id=LEAGUE, players=4, referees=2, game="tic_tac_toe", strategies=["random", "always_even"],
        max_concurrent=10, announce_lead=0.0, data_dir=str(tmp_path),
    )  # fmt: skip
    kept = Played(by_hand().log, {RUN: msgspec.json.encode(plan)})
    done = command("run", "--resume", kept.store(store), "--data-dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "the strategy always_even cannot play tic_tac_toe; these can: " in done.err
    assert done.err.endswith(f"The league was begun with it: serve it with `league manager --store {store}`\n")


class OneRefereeIsLate(Processes):
    """Processes of which the last referee is started only when all have been looked at twenty times."""

    checks = 0
    late: Callable[[], None]

    def start(self, name: str, *arguments: Any, **more: Any) -> None:
        starting = functools.partial(super().start, name, *arguments, **more)
        if name == "referee 2":
            self.late = starting
        else:
            starting()

    def check(self) -> list[str]:
        self.checks += 1
        if self.checks == 20:
            self.late()
        return super().check()


@pytest.mark.proves("003-L0145a", "003-L0150a")
def test_players_register_when_every_referee_has(tmp_path: Path, command: Callable[..., CommandResult]) -> None:
    options = argparse.Namespace(port=0, resume=None)
    plan = RunPlan(
        league_id="league_in_order",
        players=2,
        referees=2,
        game="even_odd",
        strategies=["random"],
        max_concurrent=2,
        announce_lead=0.0,
        data_dir=str(tmp_path),
    )
    store = tmp_path / "league.db"
    with OneRefereeIsLate() as processes:
        manager = start_agents(plan, str(store), open_sockets(options, plan), processes)
        state = ""
        while state != "LEAGUE_COMPLETED":
            processes.check()
            with contextlib.suppress(CommandError):
                state = call(manager, {"command": "status"})["state"]
    events = [json.loads(line)["event"] for line in command("log", store, "--json").out.splitlines()]
    registered = [event for event in events if event.endswith("Registered")]
    assert registered == ["RefereeRegistered"] * 2 + ["PlayerRegistered"] * 2


@pytest.mark.proves("001-L1879", "001-L1896", "003-L0023", "003-L0034a", "003-L0034b", "003-L0043", "001-L1910")
def test_plain_lines_tell_of_rounds_matches_the_table_and_the_champion(
    command: Callable[..., CommandResult], tmp_path: Path
) -> None:
    base = _free_block()
    seeded = ["--strategies", "always_even,always_odd", "--seed", "2"]
    program = league("run", "--port", str(base), "--data-dir", tmp_path, *seeded)
    assert (program.process.returncode, program.stderr) == (0, "")
    lines = program.stdout.splitlines()
    assert re.fullmatch(r"League even_odd_\w+: 4 players, 2 referees, even_odd", lines[0])
    assert lines[1] == f"  manager: http://127.0.0.1:{base}/mcp"
    assert [line for line in lines if line.startswith("Round")] == [f"Round {number} of 3" for number in (1, 2, 3)]
    match = re.compile(r"  (R[123]M[12])   (P0\d) \((even|odd)\) – (P0\d) \((even|odd)\), number \d+: (draw|P0\d wins)")
    told = [found for line in lines if (found := match.fullmatch(line))]
    assert sorted(found[1] for found in told) == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    chosen = {found[place]: found[place + 1] for found in told for place in (2, 4)}
    assert chosen == {"P01": "even", "P02": "odd", "P03": "even", "P04": "odd"}
    head = next(number for number, line in enumerate(lines) if line.startswith("rank  player  name"))
    assert {line.split()[1] for line in lines[head + 2 : head + 6]} == {"P01", "P02", "P03", "P04"}
    first = lines[head + 2].split()
    assert f"Champion: {' '.join(first[2:4])} ({first[1]}) with {first[-1]} points" in lines
    assert any(re.match(r"6 matches in \d+\.\d\d s", line) for line in lines)
    # The documents' ports, from whatever the manager's is: 8000, 8001 and 8002, 8101 to 8104.
    config = json.loads((tmp_path / "config" / "agents" / "agents_config.json").read_text())
    ports = [int(one["contact_endpoint"].split(":")[2].split("/")[0]) for one in config["referees"] + config["players"]]
    assert sorted(ports) == [base + more for more in (1, 2, 101, 102, 103, 104)]
    for name, port in {"run": 8000, "manager": 8000, "referee": 8001, "player": 8101}.items():
        assert re.search(rf"--port.*?default\s+{port}", command(name, "--help").out, re.DOTALL)


@pytest.mark.long
def test_a_knockout_says_first_how_a_player_advances_and_at_last_how_the_final_was_won(tmp_path: Path) -> None:
    options = ["--format", "knockout(third_place=true)", "--game", "tic_tac_toe", "--seed", "3"]
    program = league("run", "--port", "0", "--data-dir", tmp_path, *options)
    assert (program.process.returncode, program.stderr) == (0, "")
    before, _, after = program.stdout.partition("Round 1, Semi-finals")
    told = "The winner of a game advances. After a tie, one more game decides, and then the league's lot."
    assert before.endswith(f"  knockout(third_place=True): {told}\n\n")
    won = r"\nChampion: (.+ \(P0\d\))\. \1 won against .+ \(P0\d\) (in the final|by the league's lot)\.\n"
    assert re.search(won, after)
    assert "\nThe table is ranked by how far a player came, then by the seeding.\n" in after


def test_players_who_are_equal_in_everything_share_the_first_place_and_that_is_said(
    tmp_path: Path, command: Callable[..., CommandResult]
) -> None:
    two = ["--players", "2", "--referees", "1", "--strategies", "always_even", "--port", "0"]
    program = league("run", *two, "--data-dir", tmp_path)
    lines = program.stdout.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("rank  player  name"))
    assert lines[head].split()[-3:] == ["h2h", "SB", "points"]
    ranks = [line.split() for line in lines[head + 2 : head + 4]]
    assert [(row[0], *row[-3:]) for row in ranks] == [("1=", "1", "0.5", "1")] * 2
    first, second = (f"always_even {row[3]} ({row[1]})" for row in ranks)
    equal_in = "points, head-to-head, Sonneborn–Berger, wins and technical losses"
    assert f"{first} and {second} are equal in {equal_in}; they share the place, listed by a lot." in lines
    assert f"{first} and {second} share the first place with 1 point each; the lot names {first} champion" in lines
    assert any(re.match(r"1 match in ", line) for line in lines)
    # Every other place says the same.
    store = next(tmp_path.glob("agents/*/manager/league.db"))
    page = tmp_path / "report" / "index.html"
    assert command("report", store, "--out", page.parent).code == 0
    assert page.read_text().count('<td class="n">1=</td>') == 2
    assert "share the first place with 1 point each; the lot names" in page.read_text()
    assert "listed by a lot." in page.read_text()
    rows = json.loads(command("export", store, "--what", "standings").out)
    assert [(row["rank"], row["shown_rank"], row["decided_by"]) for row in rows] == [(1, "1=", None), (2, "1=", "lot")]
    assert [(row["head_to_head"], row["sonneborn_berger"]) for row in rows] == [(1, 0.5), (1, 0.5)]


def _free_block() -> int:
    """A port that is free, and so are those after it where referees and players go."""
    for _ in range(50):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            base = int(found.getsockname()[1])
        if base < 65_000 and all(_is_free(base + more) for more in (0, 1, 2, 101, 102, 103, 104)):
            return base
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


# A league in progress


class Running(NamedTuple):
    """A league whose first round is announced, and begins only in a minute."""

    program: Program
    manager: str
    data: Path

    @property
    def here(self) -> tuple[object, ...]:
        return ("--manager", self.manager, "--data-dir", self.data)

    @property
    def ports(self) -> list[int]:
        """Where all of its processes listen."""
        config = json.loads((self.data / "config" / "agents" / "agents_config.json").read_text())
        urls = [self.manager, *(one["contact_endpoint"] for one in config["referees"] + config["players"])]
        return [int(url.split(":")[2].split("/")[0]) for url in urls]


@contextlib.contextmanager
def started(data: Path, players: int, referees: int) -> Iterator[Running]:
    many = ["--players", str(players), "--referees", str(referees)]
    with Program("run", "--port", "0", "--announce-lead", "60", "--data-dir", data, *many) as program:
        running = Running(program, program.said(r"manager: (http://\S+)")[1], data)
        program.said("Round 1 of")
        deadline = time.monotonic() + 10
        # The file of agents is written at most half a second after the last has come.
        while len(running.ports) < 1 + players + referees:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield running


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Running]:
    """A league to be ended."""
    with started(tmp_path, 2, 1) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A league to be looked at; only the last of its tests changes anything."""
    with started(tmp_path_factory.mktemp("shared"), 4, 2) as running:
        yield running


def _connections(ports: list[int]) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port), timeout=10) for port in ports]


def _all_end(connections: list[socket.socket]) -> None:
    """Wait until the other end of each connection is gone, and nobody listens there any more."""
    for connection in connections:
        port = connection.getpeername()[1]
        with connection, contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1)


def test_ctrl_c_ends_every_process_and_returns_130(small: Running) -> None:
    connections = _connections(small.ports)
    assert len(connections) == 4
    asked = time.monotonic()
    small.program.process.send_signal(signal.SIGINT)
    assert small.program.ended() == 130
    assert time.monotonic() - asked < 8
    *_, told, again = small.program.stdout.splitlines()
    assert told == "Interrupted; every process is being ended."
    assert re.fullmatch(rf"Go on with: league run --resume {small.data}/agents/even_odd_\w+/manager/league.db", again)
    assert small.program.stderr == ""
    _all_end(connections)


def test_when_the_parent_is_killed_every_process_ends(small: Running) -> None:
    connections = _connections(small.ports)
    small.program.process.kill()
    assert small.program.ended() == -signal.SIGKILL
    _all_end(connections)


def test_status_tells_where_the_league_stands(shared: Running, command: Callable[..., CommandResult]) -> None:
    told = command("status", *shared.here).out.splitlines()
    assert re.fullmatch(r"even_odd_\w+: RUNNING_LEAGUE", told[0])
    assert told[1] == "round 1 of 3, 0 of 6 matches played, 4 players, 2 referees"
    status = json.loads(command("status", *shared.here, "--json").out)
    assert (status["state"], status["paused"], status["waits_for"]) == ("RUNNING_LEAGUE", False, [])


def test_standings_and_schedule_are_tables(shared: Running, command: Callable[..., CommandResult]) -> None:
    assert command("standings", *shared.here).out.splitlines()[0].split()[:3] == ["rank", "player", "name"]
    standings = json.loads(command("standings", *shared.here, "--json").out)["standings"]
    # Nothing is played yet, so only the lot decides.
    assert sorted(row["player_id"] for row in standings) == ["P01", "P02", "P03", "P04"]
    assert [(row["rank"], row["shown_rank"]) for row in standings] == [(1, "1="), (2, "1="), (3, "1="), (4, "1=")]
    schedule = command("schedule", *shared.here).out.splitlines()
    assert schedule[0].split() == ["match", "A", "B", "result"]
    assert [line.split()[0] for line in schedule[2:]] == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    second = json.loads(command("schedule", *shared.here, "--round", 2, "--json").out)["schedule"]
    assert [one["match_id"] for one in second] == ["R2M1", "R2M2"]


def test_agents_and_query_tell_the_operator_what_agents_may_know(
    shared: Running, command: Callable[..., CommandResult]
) -> None:
    lines = command("agents", *shared.here).out.splitlines()
    assert {line.split()[0] for line in lines[2:]} == {"P01", "P02", "P03", "P04", "REF01", "REF02"}
    agents = json.loads(command("agents", *shared.here, "--json").out)["agents"]
    assert {one["state"] for one in agents} == {"ACTIVE"}
    endpoints = [f"http://127.0.0.1:{port}/mcp" for port in shared.ports[1:]]
    assert sorted(one["endpoint"] for one in agents) == sorted(endpoints)
    asked = json.loads(command("query", "GET_NEXT_MATCH", "--player", "P01", *shared.here, "--json").out)
    assert asked["data"]["next_match"]["match_id"] == "R1M1"
    unknown = command("query", "GET_PLAYER_STATS", "--player", "P77", *shared.here)
    assert (unknown.code, json.loads(unknown.out)["error_code"], unknown.err) == (1, "E005", "")
    wrong = command("query", "GET_STANDING", *shared.here)
    assert (wrong.code, wrong.out, "did you mean GET_STANDINGS?" in wrong.err) == (2, "", True)


def test_the_operators_deeds_need_the_leagues_admin_token(
    shared: Running, command: Callable[..., CommandResult], tmp_path: Path
) -> None:
    nowhere = command("pause", "--manager", shared.manager, "--data-dir", tmp_path)
    why = f"league pause: there is no admin token under {tmp_path}; name the league's folder: --data-dir\n"
    assert nowhere == (2, "", why)
    guest = command("agents", "--manager", shared.manager, "--data-dir", tmp_path)
    page = f". Its page shows the agents, too: {shared.manager.removesuffix('mcp')}\n"
    assert guest == (2, "", why.replace("pause", "agents").rstrip() + page)
    (tmp_path / "token").write_text("adm-wrong-but-long-enough")
    wrong = command("pause", *shared.here, "--admin-token-file", tmp_path / "token")
    assert wrong[:2] == (2, "")
    assert f"This is not the admin token of this league. It was read from {tmp_path / 'token'}." in wrong.err
    assert json.loads(command("status", *shared.here, "--json").out)["paused"] is False


@pytest.mark.parametrize("arguments", [["withdraw", "P99"], ["rematch", "R9M9"], ["correct", "R1M1", "P09"], ["start"]])
def test_a_deed_that_cannot_be_done_is_refused_with_the_reason(
    shared: Running, command: Callable[..., CommandResult], arguments: list[str]
) -> None:
    done = command(*arguments, *shared.here)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"league {arguments[0]}: ")
    assert done.err.count("\n") == 1


def test_the_operator_pauses_resumes_and_withdraws(shared: Running, command: Callable[..., CommandResult]) -> None:
    paused = league("pause", "--reason", "lunch", *map(str, shared.here))
    assert (paused.process.returncode, paused.stderr) == (0, "")
    assert paused.stdout == "The operator pauses the league: lunch.\n"
    assert "(paused)" in command("status", *shared.here).out
    assert command("pause", *shared.here).out == "Nothing has changed: it was so already.\n"
    assert command("resume", *shared.here).out == "The operator lets the league go on.\n"
    # The page's address serves as well, and a name as well as an id.
    standings = json.loads(command("standings", *shared.here, "--json").out)["standings"]
    names = {row["player_id"]: row["display_name"] for row in standings}
    third = names["P03"]
    page = ("--manager", shared.manager.removesuffix("mcp") + "#/agents", "--data-dir", shared.data)
    left = command("withdraw", third.upper(), "--reason", "its author asked for it", *page)
    assert left.out == (
        f"{third} (P03) is withdrawn from the league: its author asked for it. It loses R1M2 and its later matches "
        "(2). `league readmit P03` brings it back.\n"
    )
    schedule = command("schedule", *shared.here, "--round", 1).out.splitlines()
    rows = [re.split(r"  +", line) for line in schedule[2:]]
    assert rows[0] == ["R1M1", f"{names['P01']} (P01)", f"{names['P02']} (P02)", "-"]
    assert rows[1][3] == f"{names['P04']} (P04) wins by default"


# What cannot be done


def test_a_busy_port_is_named_and_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        done = league("run", "--port", str(port), "--data-dir", tmp_path)
    assert (done.process.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"league run: Port {port} at 127.0.0.1 is in use by another program. "
        "Stop that program, or choose another --port (0 takes a free one).\n"
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["run", "--move-delay", "-1"], "--move-delay must be from 0 to 10, got -1"),
        (["run", "--max-concurrent", "11"], "--max-concurrent must be from 1 to 10"),
        (
            ["run", "--game", "tic_tac_toe", "--strategies", "random,always_odd"],
            "the strategy always_odd cannot play tic_tac_toe; these can: random, alternating, history_based, frequency",
        ),
        (["run", "--port", "70000"], "70000 is not a port: choose one from 1 to 65535, or 0 for a free one."),
        (["manager", "--start-when", "4 players"], "--start-when must be like players=4,referees=2, got '4 players'"),
        (["manager", "--start-when", "players=4"], "--start-when must be like players=4,referees=2, got 'players=4'"),
        (["host", "--start-when", "foo"], "--start-when must be like players=4,referees=2, got 'foo'"),
        (["manager", "--start-at", "25:00"], "--start-at must be a time such as 18:00, got '25:00'"),
        (
            ["run", "--announce-lead", "inf"],
            "the settings are wrong: announce_lead must be from 0 to 86,400, got inf",
        ),
        (
            ["manager", "--announce-lead", "86401"],
            "the settings are wrong: announce_lead must be from 0 to 86,400, got 86401",
        ),
        (["manager", "--config", "nowhere.toml"], "cannot read nowhere.toml: "),
        (["manager", "--max-players", "1"], "the settings are wrong: max_players: expected a whole number >= 2; docs"),
        (["manager", "--port", "0", "--host", "0.0.0.0"], "it listens at 0.0.0.0, so say which addresses it may call"),
        (["referee", "--manager", "http://127.0.0.1:9/mcp", "--max-concurrent", "0"], "--max-concurrent must be from"),
        (["player", "--manager", "http://127.0.0.1:9/mcp", "--strategy", "luck"], "There is no strategy 'luck'"),
        (["status", "--manager", "http://127.0.0.1:9/mcp"], "no manager answers at http://127.0.0.1:9/mcp (could not"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_in_one_line(
    command: Callable[..., CommandResult], arguments: list[str], why: str, tmp_path: Path
) -> None:
    done = command(*arguments, "--data-dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"league {arguments[0]}: {why}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "bounds"),
    [
        ("choice_seconds = 0", "from 0.01 to 86,400, got 0"),
        ("join_seconds = 0.001", "from 0.01 to 86,400, got 0.001"),
        ("choice_seconds = 1e12", "from 0.01 to 86,400, got 1e+12"),
        ("retry_seconds = inf", "from 0 to 86,400, got inf"),
        ("game_over_seconds = 0.0", "from 0.01 to 86,400, got 0"),
        ("max_retries = 1000", "from 0 to 20, got 1000"),
    ],
)
def test_limits_with_which_no_match_can_be_played_are_refused_before_a_store_is_made(
    command: Callable[..., CommandResult], setting: str, bounds: str, tmp_path: Path
) -> None:
    (tmp_path / "league.toml").write_text(setting)
    for name in ("manager", "host", "run"):
        done = command(name, "--port", "0", "--config", tmp_path / "league.toml", "--data-dir", tmp_path / "files")
        why = f"the settings are wrong: {setting.partition(' ')[0]} must be {bounds}"
        assert done == (2, "", f"league {name}: {why}\n")
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--strategies", "luck"], r"There is no strategy 'luck'; there are random, "),
        (["--strategies", "random, json:nothere"], r"There is nothing called 'nothere' in .*json/__init__\.py"),
        (["--strategies", "no_such_module:choose"], r"The module 'no_such_module' cannot be imported: "),
        (["--announce-lead", "-1"], r"the settings are wrong: .*announce_lead"),
    ],
)
def test_an_agent_that_fails_is_named_with_its_reason(arguments: list[str], why: str, tmp_path: Path) -> None:
    done = league("run", "--port", "0", "--players", "2", "--referees", "1", *arguments, "--data-dir", tmp_path)
    assert done.process.returncode == 2
    assert re.fullmatch(rf"league run: {why}.*\n", done.stderr)
    # No league is left behind that other commands would take for the newest.
    assert (done.stdout, [*tmp_path.iterdir()]) == ("", [])


@pytest.mark.parametrize(
    ("arguments", "players"),
    [
        ([], 4),
        (["--strategies", "random"], 4),
        (["--strategies", "random,frequency"], 4),
        (["--strategies", "random, frequency, alternating"], 3),
        (["--strategies", "random,frequency,alternating,history_based,search", "--game", "tic_tac_toe"], 5),
        (["--strategies", "random,frequency,alternating", "--players", "4"], 4),
    ],
)
def test_by_default_all_strategies_that_are_named_play_equally_often(arguments: list[str], players: int) -> None:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    plan = run.new_plan(parser.parse_args(arguments))
    assert plan.players == players
    assert " " not in "".join(plan.strategies)


# Settings from a file


@pytest.mark.parametrize("name", ["manager", "host", "run"])
def test_an_unknown_key_of_the_settings_file_is_named_with_the_nearest_one(
    command: Callable[..., CommandResult], name: str, tmp_path: Path
) -> None:
    file = tmp_path / "league.toml"
    for line, remedy in (
        ("choise_second = 3", "the nearest is 'choice_seconds'"),
        ("zzz = 1", "there are league_id, "),
    ):
        file.write_text(line)
        done = command(name, "--port", "0", "--config", file, "--data-dir", tmp_path / "files")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"league {name}: {file}: there is no setting {line.split()[0]!r}; {remedy}")
    file.write_text('game_type = "chess"')
    done = command(name, "--port", "0", "--config", file, "--data-dir", tmp_path / "files")
    assert "the games are connect_four, even_odd, " in done.err
    assert not (tmp_path / "files").exists()


def test_a_run_takes_its_settings_from_a_file_and_options_win(
    tmp_path: Path, command: Callable[..., CommandResult]
) -> None:
    (tmp_path / "league.toml").write_text('title = "Cup"\ngame_type = "rock_paper_scissors"\nchoice_seconds = 7\n')
    given = ("--config", tmp_path / "league.toml", "--title", "Winter Cup", "--rounds", "double", "--players", "2")
    done = league("run", "--port", "0", "--referees", "1", "--data-dir", tmp_path, *given)
    assert done.process.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert re.fullmatch(r"Winter Cup \(winter_cup_[0-9a-z]{4}\): 2 players, 1 referee, rock_paper_scissors", first)
    (store,) = tmp_path.glob("agents/winter_cup_*/manager/league.db")
    created = json.loads(command("log", store, "--json").out.splitlines()[0])["settings"]
    assert (created["choice_seconds"], created["rounds"], created["announce_lead"]) == (7.0, "double", 0.0)
    # Each pair meets twice.
    assert len(json.loads(command("export", store).out)) == 2
    assert command("report", store, "--out", tmp_path / "report").code == 0
    assert "<title>Winter Cup</title>" in (tmp_path / "report" / "index.html").read_text()
