"""``league simulate --until``: the decision in words and as JSON, what cannot be, and Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_simulate import simulated, with_authors

RPS = ("--game", "rock_paper_scissors", "--strategies", "random,frequency")


def test_it_says_what_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulated(capsys, "--until", "sprt=0,30", *RPS)
    assert (code, err) == (0, "")
    assert out.startswith("Decided after 237 pairs of games: random is less than 30 Elo above frequency.\n")
    assert "If it were 30 or more above, this would be decided in at most 5 of 100 tests.\n" in out
    assert "Estimate: −11.9 Elo, in 95 of 100 tests within the interval −60.6 to +36.8." in out
    assert "random scored 48.6%, a draw as half. Pairs with a score of 2, 1½, 1, ½ and 0: 21, 56, 70, 69, 21.\n" in out
    assert "474 games of rock_paper_scissors in " in out
    strong = ("--game", "tic_tac_toe", "--strategies", "frequency,random")
    _, out, _ = simulated(capsys, "--until", "sprt=-10,10", *strong)
    assert "frequency is more than −10 Elo above random.\n" in out
    assert "If it were −10 or less above, this would be decided" in out


def test_json_has_the_same_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    def figures(*arguments: str) -> dict[str, object]:
        code, out, err = simulated(capsys, "--until", "sprt=0,30", *RPS, "--json", *arguments)
        assert (code, err, out.count("\n")) == (0, "", 1)
        found: dict[str, object] = json.loads(out)
        return {name: value for name, value in found.items() if "seconds" not in name}

    first = figures()
    assert first == figures() != figures("--seed", "2")
    assert (first["decision"], first["pairs"], first["games"]) == ("below_high", 237, 474)
    assert first["pairs_by_score"] == {"0": 21, "0.5": 69, "1": 70, "1.5": 56, "2": 21}
    assert first["strategies"] == ["random", "frequency"]


def test_at_the_limit_nothing_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = simulated(capsys, "--until", "sprt=0,30", "--seeds", "20", "--strategies", "random,random")
    assert code == 0
    assert out.startswith("Not decided after 20 pairs of games, the limit; more --seeds may decide it.\n")
    assert "whether random (1) is more than 0 or less than 30 Elo above random (2).\n" in out


def test_games_that_are_all_alike_are_called_so(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--until", "sprt=0,30", "--strategies", "always_even,always_even")
    assert done.stdout.startswith("All pairs scored alike. ")
    assert "\nDecided after 427 pairs of games: " in done.stdout


def test_replaced_moves_are_told(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--until", "sprt=0,30", "--strategies", "authors:raises,random")
    assert done.returncode == 1
    # Progress may come before it, on a slow machine.
    assert any(line.startswith("Warning: ") for line in done.stderr.splitlines())


def test_a_strategy_that_must_be_awaited_is_refused(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--until", "sprt=0,30", "--strategies", "authors:awaits,random")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("league simulate: the strategy authors:awaits is asynchronous")


def test_ctrl_c_shows_what_is_known_so_far(tmp_path: Path) -> None:
    done = with_authors(tmp_path, "--until", "sprt=0,30", "--strategies", "authors:interrupts,random")
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.startswith("Not decided after 2 pairs of games, where it was interrupted.\n")
    assert "Estimate: " in done.stdout


def test_a_pipe_has_lines_of_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("leaguekit.cli.simulation.progress.LINE_SECONDS", 0.0)
    _, _, err = simulated(capsys, "--until", "sprt=0,30", "--strategies", "random,random", "--seeds", "3")
    lines = err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("100%  to a decision: 3 pairs, ")
    assert lines[1].endswith(" games per second")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--until", "sprt=0,30"], "--strategies names none: name two"),
        (["--until", "sprt=0,30", "--strategies", "random,frequency,alternating"], "names 3: name two"),
        (["--until", "sprt=0,30", *RPS, "--players", "4"], "--players cannot be used with --until"),
        (["--until", "sprt=0,30", *RPS, "--rounds", "double"], "--rounds cannot be used with --until"),
        (["--until", "sprt=0,30", *RPS, "--format", "swiss"], "--format cannot be used with --until"),
        (["--until", "sprt=0,30", *RPS, "--out", "any.csv"], "--out cannot be used with --until"),
        (["--until", "sprt=0,30", *RPS, "--faults", "all"], "--faults all cannot be used with --until"),
        (["--until", "sprt=0,30", "--strategies", "random,brilliant"], "There is no strategy 'brilliant'"),
    ],
)
def test_what_cannot_be_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    code, out, err = simulated(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("until", "said"),
    [
        ("sprt=30,0", "the second difference must be at least 1 Elo above the first"),
        ("sprt=0,0.5", "the second difference must be at least 1 Elo above the first"),
        ("sprt=0,51", "both differences must be between -50 and 50 Elo"),
        ("sprt=0", "it must be sprt=LOW,HIGH with two numbers, such as sprt=0,30; got 'sprt=0'"),
        ("sprt=0,nan", "it must be sprt=LOW,HIGH"),
        ("pairs=9", "it must be sprt=LOW,HIGH"),
    ],
)
def test_a_question_that_cannot_be_decided_is_refused(
    capsys: pytest.CaptureFixture[str], until: str, said: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        simulated(capsys, "--until", until)
    assert said in capsys.readouterr().err
