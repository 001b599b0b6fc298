"""The examples: each plays well what it is an example of, and passes ``league check player``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from leaguekit.games import GAMES
from leaguekit.testing import play_series
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
