"""The examples: each plays well what it is an example of, and passes ``league check player``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from examples import classics
from leaguekit.games import GAMES
from leaguekit.testing import play_match, play_series
from tests.programs import Program

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def strategy_of(name: str):
    return import_module(f"examples.{name}").choose


@pytest.mark.parametrize("name", NAMES)
def test_an_example_never_needs_a_move_played_for_it(name: str) -> None:
    for game in GAMES:
        assert len(play_series(strategy_of(name), "random", game=game, matches=4)) == 4


def test_the_reader_learns_what_its_opponent_does() -> None:
    matches = play_series(strategy_of("reader"), lambda ctx: "rock", game="rock_paper_scissors", matches=10)
    assert [match.result for match in matches[1:]] == ["WIN"] * 9


def test_the_thinker_never_loses() -> None:
    matches = play_series(strategy_of("thinker"), "frequency", game="tic_tac_toe", matches=6)
    assert "LOSS" not in [match.result for match in matches]


@pytest.mark.parametrize(
    ("name", "moves"),
    {
        "tit_for_tat": "CDDCC",
        "suspicious_tit_for_tat": "DDDCC",
        "tit_for_two_tats": "CCDCC",
        "grudger": "CDDDD",
        "pavlov": "CDCCC",
        "cooperator": "CCCCC",
        "defector": "DDDDD",
    }.items(),
)
def test_a_classic_strategy_answers_what_its_opponent_did(name: str, moves: str) -> None:
    settings = {"game": "prisoners_dilemma(turns=5)", "seed": 1}
    assert play_match(getattr(classics, name), scripted("DDCCC"), **settings).choice == ",".join(moves)


def test_generous_tit_for_tat_forgives_some_defections() -> None:
    match = play_match(classics.generous_tit_for_tat, scripted("D" * 50), game="prisoners_dilemma", seed=1)
    assert match.choice.startswith("C")
    assert 5 < match.choice.count("C") < 30


def scripted(moves: str):
    return lambda ctx: moves[ctx.view["played"]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_an_example_passes_every_check(name: str, tmp_path: Path) -> None:
    """Two seconds each."""
    with Program("check", "player", "--port", "0") as check:
        manager = check.said(r"(http://127\.0\.0\.1:\d+/mcp)")[1]
        options = ["--manager", manager, "--port", "0", "--data-dir", tmp_path]
        with Program(EXAMPLES / f"{name}.py", *options, command=(sys.executable,)) as player:
            assert player.ended() == 0, player.stderr
        assert check.ended() == 0, check.stdout
