"""The registry: games are found by themselves, and a new game is one new module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leaguekit
from leaguekit import games
from leaguekit.games.testing import check_game
from leaguekit.protocol.errors import ProtocolError

NAMES = ["connect_four", "even_odd", "prisoners_dilemma", "rock_paper_scissors", "tic_tac_toe"]
COIN = '''
"""Call a coin: a game that nobody here has heard of."""

from typing import Any, NamedTuple

from leaguekit.games.base import Game, Outcome, Question
from leaguekit.games.even_odd import EvenOdd


class Base(Game):
    def start(self):
        return ()

    def to_move(self, position):
        return () if position else ("B",)

    def question(self, position, side):
        return Question("call", ["heads", "tails"], {})

    def move_error(self, position, side, move):
        return None if side in self.to_move(position) and move in ("heads", "tails") else "No."

    def play(self, position, moves):
        return (moves["B"],)

    def outcome(self, position):
        return Outcome("B" if position == ("heads",) else "A", "It was heads") if position else None


class CallACoin(Base):
    name = "call_a_coin"

    def view(self, position, side):
        return {"called": [*position]}
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An empty package, and its games once it has some."""
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / f"games_{tmp_path.name}"
    folder.mkdir()
    return folder


def found_in(package):
    return games.find_games(package.name, [str(package)])


@pytest.mark.proves("000-L0121")
def test_every_game_of_the_package_is_found_under_its_name():
    assert sorted(games.GAMES) == sorted(NAMES)
    for name in games.GAMES:
        assert games.game(name) is games.GAMES[name]
        assert games.game(name).name == name


@pytest.mark.proves("003-L0010", "003-L0055")
@pytest.mark.parametrize("name", sorted(games.GAMES))
def test_each_game_holds_its_rules_behind_the_one_interface(name):
    check_game(games.game(name), seeds=range(5))


@pytest.mark.parametrize("name", ["chess", "", "Even_Odd", "base", "testing"])
def test_an_unknown_game_is_refused_with_the_games_there_are(name):
    with pytest.raises(ProtocolError) as refused:
        games.game(name)
    assert refused.value.code == "E049"
    assert refused.value.detail.startswith(f"There is no game {name!r} here; ")
    assert "did you mean 'even_odd'?" in refused.value.detail or "FILE.py:CLASS" in refused.value.detail


@pytest.mark.proves("003-L0010", "003-L0012")
def test_a_new_game_is_one_new_module(tmp_path):
    shutil.copytree(Path(leaguekit.__file__).parent, tmp_path / "leaguekit", ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "leaguekit" / "games" / "call_a_coin.py").write_text(COIN)
    program = (
        "from leaguekit.games import GAMES, game; from leaguekit.games.testing import check_game; "
        "check_game(game('call_a_coin')); print(*sorted(GAMES))"
    )
    # The copy is nobody's source: its lines are not to be counted.
    world = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=world | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["call_a_coin", *NAMES]


def test_only_named_games_that_a_module_defines_itself_are_its_games(package):
    (package / "coin.py").write_text(COIN)
    (package / "openings.py").write_text("from leaguekit.games.even_odd import EvenOdd\nBOOK = {}\n")
    assert list(found_in(package)) == ["call_a_coin"]


def test_a_game_that_lacks_a_method_is_an_error_and_not_passed_over(package):
    (package / "half_a_game.py").write_text(COIN.replace("def view", "def forgotten"))
    with pytest.raises(TypeError, match=r"abstract method '?view"):
        found_in(package)


def test_two_games_of_one_name_are_an_error(package):
    for name in ("one", "two"):
        (package / f"{name}.py").write_text(COIN)
    with pytest.raises(ValueError, match=r"two games are called call_a_coin; one of them is in games_.*\.two"):
        found_in(package)


def test_importing_the_games_loads_nothing_heavy():
    program = "import json, sys; import leaguekit.games; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"msgspec", "jsonschema_rs", "asyncio", "random", "leaguekit.games.testing"}
    assert {"leaguekit.games.even_odd", "leaguekit.games.tic_tac_toe"} <= loaded


def test_a_game_tells_its_rules_in_words() -> None:
    assert "three in a line" in games.rules("tic_tac_toe")
    assert games.rules("chess") == ""
