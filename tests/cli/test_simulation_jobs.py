"""``league simulate`` on several cores, and continued after Ctrl-C: the same bytes as on one core and at once."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leaguekit.sim.workers import ProcessPool
from tests.cli.test_simulate import simulated

ROOT = Path(__file__).parents[2]
LEAGUES = (
    "--strategies",
    "random,agent.py:turns,agent:stops",
    "--players",
    "4",
    "--game",
    "my_game.py:MyGame(stones=9)",
)
PAIRS = ("--strategies", "agent.py:turns,agent.py:stops", "--until", "sprt=0,5", "--game", "rock_paper_scissors")
AGENT = """
import os, signal
from pathlib import Path

def turns(ctx):
    return ctx.valid_options[len(ctx.history) % len(ctx.valid_options)]

def stops(ctx):
    # Once, in some league.
    if ctx.random.random() < 0.01 and Path("stop").exists():
        Path("stop").unlink()
        os.kill(os.getpid(), signal.SIGINT)
    return turns(ctx)

def dies(ctx):
    os._exit(1)

def waits(ctx):
    print("waiting", flush=True)
    signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    shutil.copy(ROOT / "src/leaguekit/starters/game/my_game.py", tmp_path)
    return tmp_path


def league(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "leaguekit", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def simulate(folder: Path, *arguments: str) -> dict[str, object]:
    """The figures that do not depend on time."""
    done = league(folder, "simulate", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return {name: value for name, value in json.loads(done.stdout).items() if "second" not in name}


def test_leagues_are_the_same_bytes_with_any_number_of_jobs(folder: Path) -> None:
    found = {}
    for jobs in ("1", "2", "5"):
        figures = simulate(folder, *LEAGUES, "--seeds", "60", "--jobs", jobs, "--out", f"{jobs}.csv")
        found[jobs] = json.dumps(figures), (folder / f"{jobs}.csv").read_bytes()
    assert found["1"] == found["2"] == found["5"]
    assert found["1"][1].count(b"\n") == 1 + 60 * 6


def test_processes_take_pythons_own_modules_before_those_of_the_folder(folder: Path, tmp_path: Path) -> None:
    """As the installed command does, which does not look into the current folder either."""
    for module in ("re", "random", "statistics"):
        (folder / f"{module}.py").write_text("raise ValueError('the module of an author')\n")
    command = tmp_path / "bin" / "league.py"
    command.parent.mkdir()
    command.write_text("from leaguekit.cli import main\nif __name__ == '__main__':\n    raise SystemExit(main())\n")
    done = subprocess.run(
        [sys.executable, command, "simulate", *LEAGUES, "--seeds", "4", "--jobs", "2", "--json"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_payoffs_are_the_same_with_two_jobs_and_when_they_are_continued(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    game = ("--game", "prisoners_dilemma(turns=5, noise=0.1)", "--strategies", "random,alternating", "--json")

    def figures(*arguments: str) -> dict[str, object]:
        code, out, err = simulated(capsys, *game, *arguments)
        assert (code, err) == (0, "")
        return {name: value for name, value in json.loads(out).items() if "second" not in name}

    whole = figures("--seeds", "40", "--jobs", "2")
    figures("--seeds", "25", "--resume", "saved.json")
    assert figures("--seeds", "40", "--resume", "saved.json") == whole


FORMAT = """
from leaguekit.formats.round_robin import RoundRobin

class Short(RoundRobin):
    name = "short"

    def full_schedule(self, players):
        return super().full_schedule(players)[:2]
"""


def test_a_format_of_a_file_is_loaded_in_every_process(folder: Path) -> None:
    (folder / "short.py").write_text(FORMAT)
    arguments = ("--strategies", "random,frequency", "--players", "6", "--seeds", "8", "--format", "short.py:Short")
    one, two = (simulate(folder, *arguments, "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two
    assert one["matches"] == 8 * 2 * 3


def test_a_sequential_test_is_the_same_with_any_number_of_jobs(folder: Path) -> None:
    one, three = (simulate(folder, *PAIRS, "--seeds", "300", "--jobs", jobs) for jobs in ("1", "3"))
    assert one == three
    assert sum(one["pairs_by_score"].values()) == one["pairs"] > 10


def test_a_long_simulation_takes_all_cores_by_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.sim.comparison.parts.MIN_SECONDS", 0.0)
    monkeypatch.setattr("leaguekit.sim.comparison.parts.MIN_SECONDS_LEFT", 0.0)
    monkeypatch.setattr("leaguekit.sim.comparison.parts.available_cores", lambda: 2)
    started = []
    begin = ProcessPool.__enter__
    monkeypatch.setattr(ProcessPool, "__enter__", lambda self: started.append(self.count) or begin(self))
    arguments = ("--game", "rock_paper_scissors", "--seeds", "20", "--json")
    _, out, err = simulated(capsys, *arguments)
    assert (started, err) == ([2], "")
    _, alone, _ = simulated(capsys, *arguments, "--jobs", "1")
    assert started == [2]
    of_both, of_one = ({k: v for k, v in json.loads(one).items() if "second" not in k} for one in (out, alone))
    assert of_both == of_one


def interrupted(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """A simulation that Ctrl-C has ended, and the command that continues it."""
    (folder / "stop").touch()
    done = league(folder, "simulate", *arguments)
    assert (done.returncode, done.stderr) == (130, "")
    assert not (folder / "stop").exists()
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("To continue: league "))
    return done, shlex.split(line.removeprefix("To continue: league "))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_leagues_that_ctrl_c_has_ended_are_continued_to_the_same_bytes(folder: Path, jobs: str) -> None:
    whole = simulate(folder, *LEAGUES, "--seeds", "90", "--jobs", "1", "--out", "whole.csv")
    done, command = interrupted(folder, *LEAGUES, "--seeds", "90", "--jobs", "1", "--out", "parts.csv")
    assert " of 90 leagues are over, and only they count." in done.stdout
    # What was written after the last save does not count.
    with (folder / "parts.csv").open("a") as file:
        file.write("not a match\n")
    command[command.index("--jobs") + 1] = jobs
    assert simulate(folder, *command[1:]) == whole
    assert (folder / "parts.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    # It is over: nothing more is played, and more seeds are.
    assert simulate(folder, *command[1:]) == whole
    command[command.index("--seeds") + 1] = "95"
    done = league(folder, *command)
    assert (done.returncode, "\nWrote 570 matches to parts.csv, 540 of them before\n" in done.stdout) == (0, True)
    assert simulate(folder, *command[1:]) == simulate(folder, *LEAGUES, "--seeds", "95")


def test_a_sequential_test_is_continued_to_the_same_decision(folder: Path) -> None:
    whole = simulate(folder, *PAIRS, "--seeds", "400")
    _, command = interrupted(folder, *PAIRS, "--seeds", "400", "--jobs", "1")
    assert simulate(folder, *command[1:]) == whole


def test_ctrl_c_ends_jobs_that_do_not_end(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "leaguekit", "simulate", "--strategies", "agent:waits,random", "--jobs", "2"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "0 of 100 leagues are over" in out


def test_a_strategy_that_ends_its_process_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr("leaguekit.sim.jobs.MAX_LOSSES", 1)
    (folder / "agent.py").rename(folder / "mortal_agent.py")
    code, out, err = simulated(capsys, "--strategies", f"{folder}/mortal_agent.py:dies,random", "--jobs", "2")
    assert (code, out) == (2, "")
    assert "league simulate: every process that played seed 1 ended before it was done" in err


SHORT = ("--strategies", "random,frequency", "--seeds", "3", "--resume", "saved.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--seeds", "2"), "has 3 seeds already: use --seeds 3 or more"),
        (("--seed", "2"), "its --seed is 1, and not 2"),
        (("--game", "tic_tac_toe"), "its --game is even_odd, and not tic_tac_toe"),
        (("--strategies", "random,alternating"), "its --strategies is random,frequency, and not random,alternating"),
        (("--players", "4"), "its --players is 2, and not 4"),
        (("--fresh",), "it has another --fresh"),
        (("--rounds", "double"), "it has another --format or --rounds"),
        (("--out", "m.csv"), "it has another --out"),
        (("--until", "sprt=0,30"), "it has another --until"),
    ],
)
def test_another_simulation_is_not_continued(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simulated(capsys, *SHORT)[0] == 0
    code, out, err = simulated(capsys, *SHORT, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("league simulate: --resume saved.json ")
    assert said in err


def test_a_test_between_other_differences_is_not_continued(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simulated(capsys, *SHORT, "--until", "sprt=0,30")[0] == 0
    code, _, err = simulated(capsys, *SHORT, "--until", "sprt=0,20")
    assert code == 2
    assert "its --until is sprt=0,30, and not sprt=0,20" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a simulation, or is damaged"),
        (b"{}", "is not a simulation, or is damaged"),
        (b"\xff\x00", "is not a simulation, or is damaged"),
        (None, "is damaged: remove it to begin again"),
    ],
)
def test_a_damaged_file_is_not_continued(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: bytes | None,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simulated(capsys, *SHORT)[0] == 0
    saved = tmp_path / "saved.json"
    saved.write_bytes(saved.read_bytes().replace(b'"leagues":3', b'"leagues":2') if content is None else content)
    code, out, err = simulated(capsys, *SHORT)
    assert (code, out) == (2, "")
    assert said in err


def test_other_code_is_not_continued(folder: Path) -> None:
    arguments = ("--strategies", "agent.py:turns,random", "--seeds", "3", "--resume", "saved.json")
    simulate(folder, *arguments)
    (folder / "agent.py").write_text(f"{AGENT}\n# changed")
    done = league(folder, "simulate", *arguments)
    assert done.returncode == 2
    assert "agent.py:turns has changed since. Begin again without --resume" in done.stderr


def test_a_list_of_matches_that_has_changed_is_not_continued(folder: Path) -> None:
    arguments = ("--strategies", "agent.py:turns,random", "--seeds", "3", "--resume", "saved.json", "--out", "all.csv")
    simulate(folder, *arguments)
    matches = (folder / "all.csv").read_text()
    for changed in (matches.replace("P01", "P02"), matches[:-1]):
        (folder / "all.csv").write_text(changed)
        done = league(folder, "simulate", *arguments)
        assert done.returncode == 2
        assert "--out all.csv does not begin with the matches that --resume continues" in done.stderr
        assert (folder / "all.csv").read_text() == changed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--jobs", "1001"), "--jobs 1001 is too many: it must be at most 1000"),
        (("--jobs", "0"), "argument --jobs: it must be at least 1, got 0"),
        (("--cluster", "127.0.0.1:8786"), "it must be tls://HOST:PORT or tcp://HOST:PORT, got '127.0.0.1:8786'"),
        (("--cluster", "tls://127.0.0.1:8786", "--jobs", "2"), "--jobs is for this computer, and --cluster for others"),
        (("--resume", "no/such/folder"), "--resume no/such/folder cannot be written: No such file or directory"),
        (("--faults", "all", "--resume", "any"), "--resume cannot be used with --faults all"),
    ],
)
def test_what_cannot_be_is_said(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    try:
        code, out, err = simulated(capsys, "--seeds", "2", *arguments)
    except SystemExit as ended:
        code, (out, err) = ended.code, capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in err


def test_leagues_with_faults_are_the_same_with_two_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for jobs in ("1", "2"):
        code, out, err = simulated(capsys, "--faults", "all", "--seeds", "4", "--json", "--jobs", jobs)
        assert (code, err) == (0, "")
        found.append({name: value for name, value in json.loads(out).items() if name != "seconds"})
    assert found[0] == found[1]
