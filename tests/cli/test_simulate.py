"""``league simulate`` without faults: the tables, the JSON, the progress, and Ctrl-C."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections import Counter
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.league.settings import Settings
from leaguekit.player.strategies import STRATEGIES, strategies_for
from leaguekit.sim.comparison.offline_league import Entrant, OfflineLeague
from tests.cli.test_cli import league


def simulated(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["simulate", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_help_has_examples() -> None:
    assert "examples:" in league("simulate", "--help").stdout


ORDERS = ("rock,frequency,alternating,history_based,random", "random,alternating,frequency,history_based,rock")


def test_the_tables_show_strategies_pairs_and_differences(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulated(
        capsys, "--players", "4", "--strategies", "random,frequency", "--game", "tic_tac_toe", "--seeds", "30"
    )
    assert (code, err) == (0, "")
    pairs, differences, strategies, meaning = out.strip().split("\n\n")
    assert pairs.startswith("Points per match of tic_tac_toe, row against column\n")
    assert [line.split()[:2] for line in pairs.splitlines()[3:]] == [["1", "frequency"], ["2", "random"]]
    assert [line.count("±") for line in pairs.splitlines()[3:]] == [2, 2]
    assert differences.startswith("Difference in points per match, row less column (* more than chance)\n")
    assert re.search(r"^1 frequency  \d\.\d{3}±\d\.\d{3}\*$", differences, re.MULTILINE)
    first, second = strategies.splitlines()[2:]
    assert re.match(r"1  frequency  \d\.\d+ \(\d\.\d+–\d\.\d+\) .*% +2$", first)
    assert re.match(r"2  random     \d\.\d+ \(\d\.\d+–\d\.\d+\) .*% +–$", second)
    assert meaning.startswith(
        "Points per match (a win 3, a draw 1): all points of a strategy divided by all its matches, in leagues of 4 "
        "players, who are seated at random and remember the earlier matches of their league.\n"
        "In a league a player has 3 matches, and each pair meets once, so that ctx.against() is always empty"
    )
    # A correction is for several differences.
    assert "In 95 of 100 comparisons the difference is within ±, so that no such claim is false.\n" in meaning
    assert "It is about matches among these strategies. Others may put them in another order.\n" in meaning
    assert re.search(r"A true difference of 0\.\d{3} is found in about 9 of 10 comparisons like this\.", meaning)
    lines = out.splitlines()
    assert "30 leagues of tic_tac_toe (seeds 1 to 30), 180 matches in " in lines[-2]
    assert " matches per second, " in lines[-1]
    assert lines[-1].endswith(" by processor time")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "have no earlier matches, because a league of two is one match (--players 6 gives more)"),
        (("--fresh",), "see nothing of earlier matches"),
        (("--players", "3"), "remember the earlier matches of their league"),
    ],
)
def test_it_says_what_players_can_remember(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    code, out, _ = simulated(capsys, "--strategies", "random,always_even", "--seeds", "10", *options)
    assert code == 0
    assert f"{said}.\n" in out


def test_the_order_in_which_strategies_are_named_changes_nothing(tmp_path: Path) -> None:
    """With fixed seats, rock had between 0.8 and 2.1 points per match."""
    found = []
    for order in ORDERS:
        names = order.replace("rock", "authors:rock")
        done = with_authors(tmp_path, "--strategies", names, "--game", "rock_paper_scissors", "--seeds", "50", "--json")
        figures = json.loads(done.stdout)
        found.append([figures[part] for part in ("strategies", "against", "differences")])
    assert found[0] == found[1]


def test_one_league_seats_strategies_as_named_and_shows_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--seeds", "1", "--seed", "7", "--strategies", "frequency,random", "--players", "3")
    _, out, _ = simulated(capsys, *arguments)
    assert {tuple(line.split()[1:3]) for line in out.splitlines() if re.match(r" +\d=?  P0", line)} == {
        ("P01", "frequency"),
        ("P02", "random"),
        ("P03", "frequency"),
    }
    assert "row against column" not in out
    assert "1 league of even_odd (seed 7), 3 matches in " in out
    figures = json.loads(simulated(capsys, *arguments, "--json")[1])
    entrants = [Entrant("any", STRATEGIES[name]) for name in ("frequency", "random", "frequency")]
    table = OfflineLeague(Settings(league_id="any", game_type="even_odd"), entrants).play(7)
    assert [(row["player_id"], row["rank"], row["points"]) for row in figures["players"]] == [
        (row.player_id, row.rank, row.points) for row in table
    ]
    assert figures["seating"] == "as named"


def test_by_default_there_is_a_player_for_each_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    def players(*arguments: str) -> object:
        return json.loads(simulated(capsys, "--json", "--seeds", "2", *arguments)[1])["players_per_league"]

    assert players("--strategies", "random,frequency,alternating") == 3
    assert players("--strategies", "random") == 2
    assert players() == len(strategies_for("even_odd"))


def test_fresh_matches_know_no_history(tmp_path: Path) -> None:
    """Alternating then always plays its first option, rock, and paper always wins."""
    arguments = ("--strategies", "authors:paper,alternating,random", "--game", "rock_paper_scissors", "--json")
    for fresh in ((), ("--fresh",)):
        figures = json.loads(with_authors(tmp_path, *arguments, *fresh).stdout)
        pairs = {(one["strategy"], one["opponent"]): one for one in figures["against"]}
        share = pairs["authors:paper", "alternating"]["wins"] / figures["leagues"]
        assert (figures["fresh"], share == 1) == (bool(fresh), bool(fresh))
        assert ("see nothing of earlier matches" in figures["points_per_match_is"]) == bool(fresh)


def test_every_match_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "matches.csv"
    arguments = ("--strategies", "random,frequency,alternating", "--players", "4", "--seeds", "20", "--seed", "5")
    _, out, _ = simulated(capsys, *arguments, "--json", "--out", str(path))
    figures = json.loads(out)
    with path.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == figures["matches"] == 120
    assert {int(row["seed"]) for row in rows} == set(range(5, 25))
    points: Counter[str] = Counter()
    for row in rows:
        points[row["strategy_a"]] += int(row["points_a"])
        points[row["strategy_b"]] += int(row["points_b"])
        assert {row["choice_a"], row["choice_b"]} <= {"even", "odd"}
        assert 1 <= int(row["drawn_number"]) <= 10
    assert points == {one["strategy"]: one["points"] for one in figures["strategies"]}
    assert {(row["match_id"], row["player_a"], row["player_b"]) for row in rows if row["seed"] == "5"} == {
        (row["match_id"], row["player_a"], row["player_b"]) for row in rows if row["seed"] == "6"
    }


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulated(capsys, "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert err == f"league simulate: --out {tmp_path} cannot be written: Is a directory; name another file\n"


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_keep_within_the_terminal(columns: int) -> None:
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    command = [sys.executable, "-m", "leaguekit", "simulate", "--seeds", "10", "--game", "rock_paper_scissors"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(terminal)
        shown = b""
        # On Linux a terminal ends with an error.
        with contextlib.suppress(OSError):
            while part := os.read(controller, 10_000):
                shown += part
        assert process.wait(timeout=60) == 0
    os.close(controller)
    assert max(map(len, shown.decode().splitlines())) <= columns
    # Every pair is there in both matrices, in however many parts.
    names = strategies_for("rock_paper_scissors")
    assert shown.decode().count("±") >= len(names) * (len(names) - 1) * 3 // 2


def test_few_leagues_show_no_interval_and_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = simulated(capsys, "--seeds", "9", "--game", "tic_tac_toe")
    assert "±" not in out
    assert "How much of this is chance shows from 10 leagues on" in out
    assert "chance alone" not in out


def test_json_has_the_same_and_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulated(
        capsys, "--players", "8", "--seeds", "30", "--seed", "4", "--game", "rock_paper_scissors", "--json"
    )
    assert (code, err, out.count("\n")) == (0, "", 1)
    figures = json.loads(out)
    assert (figures["leagues"], figures["seeds"], figures["first_seed"], figures["matches"]) == (30, 30, 4, 30 * 28)
    assert (figures["seating"], figures["fresh"], figures["players_per_league"]) == ("random", False, 8)
    assert figures["matches_per_second"] > 0
    assert 0 < figures["cpu_seconds"] < figures["seconds"] + 0.1
    # All of ours that can play the game.
    assert {one["strategy"] for one in figures["strategies"]} == set(strategies_for("rock_paper_scissors"))
    for one in figures["strategies"]:
        assert one["wins"] + one["draws"] + one["losses"] == one["matches"]
        assert one["points"] == 3 * one["wins"] + one["draws"]
        assert one["points_per_match"] == round(one["points"] / one["matches"], 6)
        low, high = one["interval_95"]
        assert low < one["points_per_match"] < high
        pairs = [pair for pair in figures["against"] if pair["strategy"] == one["strategy"]]
        assert sum(pair["matches"] for pair in pairs) == one["matches"]
        assert sum(pair["wins"] for pair in pairs) == one["wins"]
    assert sum(one["share_of_leagues_won"] for one in figures["strategies"]) == pytest.approx(1, abs=1e-5)
    means = {one["strategy"]: one["points_per_match"] for one in figures["strategies"]}
    assert len(figures["differences"]) == 6
    assert figures["correction_of_differences"] == "Bonferroni over 6 pairs"
    for one in figures["differences"]:
        assert one["difference"] == pytest.approx(means[one["strategy"]] - means[one["other"]], abs=2e-6)
        assert one["is_better"] == (one["interval_95"][0] > 0)
    assert figures["detectable_difference"] > max(
        one["interval_95"][1] - one["difference"] for one in figures["differences"]
    )


DILEMMA = ("--game", "prisoners_dilemma(turns=3)", "--strategies", "always_C,always_D,random")


def test_strategies_are_compared_by_payoff_if_the_game_ranks_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = simulated(capsys, *DILEMMA, "--seeds", "40", "--json", "--out", str(tmp_path / "matches.csv"))
    assert (code, err) == (0, "")
    found = json.loads(out)
    taken: dict[str, list[float]] = {}
    with (tmp_path / "matches.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for side in ("a", "b"):
                taken.setdefault(row[f"strategy_{side}"], []).append(float(row[f"payoff_{side}"]))
    means = {name: sum(payoffs) / len(payoffs) for name, payoffs in taken.items()}
    assert {row["strategy"]: row["payoff_per_match"] for row in found["strategies"]} == pytest.approx(means, abs=1e-6)
    assert [row["strategy"] for row in found["strategies"]] == ["always_D", "random", "always_C"]
    assert [row["better_than"] for row in found["strategies"]] == [["always_C", "random"], ["always_C"], []]
    for row in found["strategies"]:
        assert row["interval_95"][0] < row["payoff_per_match"] < row["interval_95"][1]
    assert "points_per_match" not in out
    against = {(row["strategy"], row["opponent"]): row["payoff_per_match"] for row in found["against"]}
    assert (against["always_C", "always_D"], against["always_D", "always_C"]) == (0, 5)


def test_the_tables_of_a_game_with_payoffs_are_of_payoffs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = simulated(capsys, *DILEMMA, "--seeds", "20")
    assert code == 0
    assert out.startswith("\nPayoff per match of prisoners_dilemma, row against column\n")
    assert "\nDifference in payoff per match, row less column (* more than chance)\n" in out
    assert "\nPayoff per match (0 to 5), by which strategies are compared: all payoffs of a strategy divided" in out
    assert "oints per match" not in out
    code, out, _ = simulated(capsys, *DILEMMA, "--seeds", "1")
    assert "The table is ranked by payoff, the mean of all matches of a player (0 to 5)" in out
    assert "payoff" in out.splitlines()[1]


def test_the_same_seeds_come_to_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    def figures(*arguments: str) -> object:
        found = json.loads(simulated(capsys, "--json", "--seeds", "10", *arguments)[1])
        return found["against"], found["strategies"]

    assert figures("--seed", "1") == figures("--seed", "1") != figures("--seed", "2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--referees", "3"], "--referees needs --faults"),
        (["--out", "matches.json"], "--out matches.json: the matches are written as CSV"),
        (["--strategies", "random,brilliant"], "There is no strategy 'brilliant'"),
        (["--strategies", "nowhere:choose"], "The module 'nowhere' cannot be imported"),
        (
            ["--players", "3", "--strategies", "random,frequency,alternating,always_odd"],
            "--players 3 is too few for 4 strategies: use --players 4 or more, or name fewer --strategies",
        ),
        (["--faults", "all", "--fresh"], "--fresh cannot be used with --faults all"),
        (
            ["--game", "prisoners_dilemma", "--strategies", "random,always_D", "--until", "sprt=0,30"],
            "--until counts wins, draws and losses, and prisoners_dilemma is ranked by payoff: leave it out, and use",
        ),
        (["--faults", "crash", "--out", "any.csv"], "--out cannot be used with --faults crash"),
        (
            ["--game", "tic_tac_toe", "--strategies", "random,always_even"],
            "strategy always_even cannot play tic_tac_toe; these can: random, alternating, history_based, frequency",
        ),
        (
            ["--faults", "all", "--game", "tic_tac_toe", "--strategies", "always_odd"],
            "always_odd cannot play tic_tac_toe",
        ),
        (
            ["--faults", "all", "--strategies", "json:dumps"],
            "--faults all tests the system and not strategies: --strategies must be of random",
        ),
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


def test_a_strategy_that_is_named_twice_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = simulated(capsys, "--strategies", "random,frequency,random", "--seeds", "2")
    assert "Named several times, and so played by as many more of the players: random.\n" in out


def test_in_a_double_round_robin_every_pair_meets_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "matches.csv"
    arguments = ("--rounds", "double", "--strategies", "random,frequency,alternating", "--seeds", "20", "--out")
    code, out, _ = simulated(capsys, *arguments, str(path))
    assert code == 0
    assert "In a league a player has 4 matches, and each pair meets twice, so that ctx.against() is empty in" in out
    assert out.endswith(f"Wrote 120 matches to {path}\n")
    with path.open(newline="") as file:
        pairs = Counter((row["seed"], row["player_a"], row["player_b"]) for row in csv.DictReader(file))
    assert len(pairs) == 120
    assert all(count == pairs[seed, b, a] == 1 for (seed, a, b), count in pairs.items())
    figures = json.loads(simulated(capsys, *arguments[:-1], "--json")[1])
    assert (figures["rounds"], figures["matches"]) == ("double", 120)
    assert [one["matches"] for one in figures["strategies"]] == [80] * 3
    assert simulated(capsys, *arguments, str(path))[1].endswith(f"to {path}, instead of what was there\n")


def test_only_in_a_double_round_robin_a_strategy_sees_matches_against_its_opponent(tmp_path: Path) -> None:
    arguments = ("--strategies", "authors:remembers,random", "--players", "4", "--seeds", "3", "--json")
    for rounds, replaced in (("single", 0), ("double", 18)):
        figures = json.loads(with_authors(tmp_path, *arguments, "--rounds", rounds).stdout)
        assert {one["strategy"]: one["moves"].get("replaced", 0) for one in figures["strategies"]} == {
            "authors:remembers": replaced,
            "random": 0,
        }


AUTHORS = """
import os, signal

def raises(ctx):
    raise LookupError("\\x1b[31mno idea")

def rock(ctx):
    return "rock"

def paper(ctx):
    return "paper"

def remembers(ctx):
    return "illegal" if ctx.against() else "even"

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

def hangs(ctx):
    os.kill(os.getpid(), signal.SIGINT)
    while True: ctx.random.random()

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
    assert done.returncode == 1
    assert re.search(r"^\d  authors:raises .* 100\.0%$", done.stdout, re.MULTILINE)
    assert re.search(r"^\d  random .* –$", done.stdout, re.MULTILINE)
    (warning,) = done.stderr.splitlines()
    because = "the first because the strategy raised LookupError("
    assert warning.startswith(f"Warning: 3 of 3 moves of authors:raises were replaced by other legal moves, {because}")
    assert warning.endswith(" (line 5 of authors.py)")
    assert "\x1b" not in done.stdout + done.stderr
    as_json = with_authors(
        tmp_path, "--strategies", "authors:raises,random", "--seeds", "3", "--players", "2", "--json"
    )
    assert as_json.stderr == done.stderr
    moves = {one["strategy"]: one["moves"] for one in json.loads(as_json.stdout)["strategies"]}
    assert moves["authors:raises"]["replaced"] == 3
    assert moves["random"] == {"own": 3}


def test_a_strategy_that_must_be_awaited_is_refused(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:awaits")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "league simulate: the strategy authors:awaits is asynchronous, and only plain functions can be asked here\n"
    )


def test_ctrl_c_shows_what_there_is_so_far(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:interrupts,random", "--players", "2", "--seeds", "50")
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.startswith("Interrupted: 3 of 50 leagues are over, and only they count.\n")
    assert "3 leagues of even_odd (seeds 1 to 3), 3 matches" in done.stdout


def test_ctrl_c_leaves_a_file_with_the_matches_that_count(tmp_path: Path) -> None:
    arguments = ("--strategies", "authors:interrupts,random", "--seeds", "50", "--out", "matches.csv", "--json")
    done = with_authors(tmp_path, *arguments)
    assert done.returncode == 130
    assert (tmp_path / "matches.csv").read_text().count("\n") == 1 + json.loads(done.stdout)["matches"] == 4


def test_ctrl_c_before_the_first_league_is_over_leaves_nothing_to_show(tmp_path: Path) -> None:
    interrupted = ("--strategies", "authors:interrupts_at_once,random", "--players", "2")
    done = with_authors(tmp_path, *interrupted)
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout == "Interrupted: 0 of 100 leagues are over, and only they count.\n"
    figures = json.loads(with_authors(tmp_path, *interrupted, "--json").stdout)
    assert (figures["leagues"], figures["strategies"][0]["matches"], figures["differences"]) == (0, 0, [])


def test_one_ctrl_c_ends_a_strategy_that_does_not_return_and_names_its_line(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:hangs,random")
    line = AUTHORS.splitlines().index("    while True: ctx.random.random()") + 1
    assert done.returncode == 130
    why = rf"the strategy authors:hangs had chosen no move when Ctrl-C was pressed \(line {line} of authors\.py\)\n"
    assert re.fullmatch(why, done.stderr)
    assert done.stdout == "Interrupted: 0 of 100 leagues are over, and only they count.\n"


def test_a_second_ctrl_c_ends_even_a_strategy_that_does_not(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--strategies", "authors:never_ends,random")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_terminal_has_a_bar_with_rate_share_and_time_left(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "leaguekit", "simulate", "--players", "30", "--seeds", "1000000"]
    # What Ctrl-C leaves is in the current folder.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True, cwd=tmp_path) as process:
        os.close(terminal)
        shown = os.read(controller, 1_000).decode()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    os.close(controller)
    assert shown.startswith("\r\x1b[K░")
    assert "0%  " in shown
    assert " matches per second, " in shown
    assert shown.rstrip().endswith("s left")
    assert process.returncode == 130
    assert " of 1000000 leagues are over, and only they count." in out


def test_a_pipe_has_lines_instead(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("leaguekit.cli.simulation.progress.LINE_SECONDS", 0.0)
    _, _, err = simulated(capsys, "--strategies", "random,frequency", "--seeds", "4")
    lines = err.splitlines()
    assert [line.split()[0] for line in lines] == ["25%", "75%", "100%"]
    assert lines[-1].endswith(" matches per second, 0 s left")
