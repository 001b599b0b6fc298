"""``league simulate`` without faults: the tables, the JSON, the progress, and Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leaguekit.agents.strategies import STRATEGIES, fitting
from leaguekit.cli import main
from leaguekit.league.settings import Settings
from leaguekit.sim.direct import DirectLeague, Entrant
from tests.cli.test_cli import league


def simulated(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["simulate", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_help_has_examples() -> None:
    assert "examples:" in league("simulate", "--help").stdout


def test_the_tables_show_players_and_strategies(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulated(capsys, "--players", "4", "--strategies", "random,frequency", "--seeds", "20")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    players = [line.split() for line in lines if line.startswith("P0")]
    assert {(line[0], line[1], line[2]) for line in players} == {
        ("P01", "random", "60"),
        ("P02", "frequency", "60"),
        ("P03", "random", "60"),
        ("P04", "frequency", "60"),
    }
    assert {line.split()[0]: line.split()[1] for line in lines if line.startswith(("random", "frequency"))} == {
        "random": "120",
        "frequency": "120",
    }
    assert " ± " in out
    assert "chance alone decides which of two players wins" in out
    assert "20 leagues of even_odd (seeds 1 to 20), 120 matches in " in out
    assert " matches a second, " in lines[-1]
    assert lines[-1].endswith(" by processor time")


def test_few_leagues_show_no_interval_and_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = simulated(capsys, "--seeds", "9", "--game", "tic_tac_toe")
    assert "±" not in out
    assert "How much of this is chance shows from 10 leagues on" in out
    assert "chance alone" not in out


def test_json_has_the_same_and_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    names = fitting("rock_paper_scissors")
    game = ("--game", "rock_paper_scissors")
    code, out, err = simulated(capsys, "--players", str(len(names)), "--seeds", "30", "--seed", "4", *game, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    told = json.loads(out)
    assert (told["leagues"], told["seeds"], told["first_seed"], told["matches"]) == (30, 30, 4, 180)
    assert told["matches_per_second"] > 0
    assert 0 < told["cpu_seconds"] < told["seconds"] + 0.1
    entrants = [Entrant(name, STRATEGIES[name]) for name in names]
    direct = DirectLeague(Settings(league_id="any", game_type="rock_paper_scissors"), entrants)
    tables = [direct.play(seed) for seed in range(4, 34)]
    for player in told["players"]:
        rows = [row for table in tables for row in table if row.player_id == player["player_id"]]
        assert player["points"] == sum(row.points for row in rows)
        assert player["wins"] + player["draws"] + player["losses"] == player["matches"] == 90
        assert player["share_of_leagues_won"] == round(sum(row.rank == 1 for row in rows) / 30, 6)
        low, high = player["interval_95"]
        assert low < player["points_per_match"] < high
        assert player["moves"] == {"own": 90}
    # All of ours that can play the game.
    assert [player["strategy"] for player in told["players"]] == names
    assert sum(one["points"] for one in told["strategies"]) == sum(one["points"] for one in told["players"])


def test_the_same_seeds_come_to_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> object:
        found = json.loads(simulated(capsys, "--json", "--seeds", "10", *arguments)[1])
        return found["players"], found["strategies"]

    assert told("--seed", "1") == told("--seed", "1") != told("--seed", "2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--players", "1"], "at least --players 2"),
        (["--seeds", "0"], "--seeds 1"),
        (["--referees", "0"], "--referees 1"),
        (["--strategies", "random,brilliant"], "There is no strategy 'brilliant'"),
        (["--strategies", "nowhere:choose"], "The module 'nowhere' cannot be imported"),
        (
            ["--game", "tic_tac_toe", "--strategies", "random,always_even"],
            "strategy always_even cannot play tic_tac_toe; these can: random, alternating, history_based, frequency",
        ),
        (
            ["--faults", "all", "--game", "tic_tac_toe", "--strategies", "always_odd"],
            "always_odd cannot play tic_tac_toe",
        ),
        (["--faults", "all", "--strategies", "json:dumps"], "with faults, --strategies must be of random"),
    ],
)
def test_what_cannot_be_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    code, out, err = simulated(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("faults", ["network", "crash", "all"])
def test_with_faults_the_whole_system_is_tried(capsys: pytest.CaptureFixture[str], faults: str) -> None:
    code, out, _ = simulated(capsys, "--players", "2", "--seeds", "1", "--faults", faults, "--json")
    assert (code, json.loads(out)["seeds"]) == (0, 1)


AUTHORS = """
import os, signal

def raises(ctx):
    raise LookupError("\\x1b[31mno idea")

async def awaits(ctx):
    return "even"

asked = 0

def interrupts(ctx):
    global asked
    asked += 1
    if asked == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return "even"

def interrupts_at_once(ctx):
    os.kill(os.getpid(), signal.SIGINT)
    return "even"

def never_ends(ctx):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        os.kill(os.getpid(), signal.SIGINT)
"""


def with_authors(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "authors.py").write_text(AUTHORS)
    return subprocess.run(
        [sys.executable, "-m", "leaguekit", "simulate", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_moves_that_were_played_for_a_strategy_are_told_harmlessly(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:raises,random", "--seeds", "3", "--players", "2")
    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    because = "the first because the strategy raised LookupError("
    assert warning.startswith(f"Warning: 3 of 3 moves of raises 1 (P01) were replaced by other legal moves, {because}")
    assert "\x1b" not in done.stdout + done.stderr
    as_json = with_authors(
        tmp_path, "--strategies", "authors:raises,random", "--seeds", "3", "--players", "2", "--json"
    )
    assert as_json.stderr == done.stderr
    raising, at_random = (player["moves"] for player in json.loads(as_json.stdout)["players"])
    assert (raising["replaced"], at_random) == (3, {"own": 3})


def test_a_strategy_that_must_be_awaited_is_refused(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:awaits")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "league simulate: the strategy of awaits 1 is asynchronous, and only plain functions can be asked here\n"
    )


def test_ctrl_c_shows_what_there_is_so_far(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:interrupts,random", "--players", "2", "--seeds", "50")
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.startswith("Interrupted: 3 of 50 leagues are over, and only they count.\n")
    assert "3 leagues of even_odd (seeds 1 to 3), 3 matches" in done.stdout


def test_ctrl_c_before_the_first_league_is_over_leaves_nothing_to_show(tmp_path: Path) -> None:
    interrupted = ("--strategies", "authors:interrupts_at_once,random", "--players", "2")
    done = with_authors(tmp_path, *interrupted)
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout == "Interrupted: 0 of 100 leagues are over, and only they count.\n"
    told = json.loads(with_authors(tmp_path, *interrupted, "--json").stdout)
    assert (told["leagues"], told["players"][0]["matches"]) == (0, 0)


def test_a_second_ctrl_c_ends_even_a_strategy_that_does_not(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:never_ends,random")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_terminal_has_a_bar_with_rate_share_and_time_left() -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "leaguekit", "simulate", "--players", "30", "--seeds", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True) as process:
        os.close(terminal)
        shown = os.read(controller, 1_000).decode()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    os.close(controller)
    assert shown.startswith("\r\x1b[K░")
    assert "0%  " in shown
    assert " matches a second, " in shown
    assert shown.rstrip().endswith("s left")
    assert process.returncode == 130
    assert " of 1000000 leagues are over, and only they count." in out


def test_a_pipe_has_lines_instead(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("leaguekit.cli.simulate.LINE_EVERY", 0.0)
    _, _, err = simulated(capsys, "--players", "2", "--seeds", "4")
    lines = err.splitlines()
    assert [line.split()[0] for line in lines] == ["25%", "50%", "75%", "100%"]
    assert lines[-1].endswith(" matches a second, 0 s left")
