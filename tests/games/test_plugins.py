"""Games of other packages: they are found by entry point, and imported when they are used."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from leaguekit.games import find_game, game, plugins, rules
from leaguekit.games.base import has_chance
from leaguekit.games.tic_tac_toe import TicTacToe
from leaguekit.protocol.errors import ProtocolError


class Noughts(TicTacToe):
    """Another game."""

    name = "noughts"

    def __init__(self, size: int = 3) -> None:
        if size == 13:
            raise RuntimeError("thirteen")
        self.size = size


class Many(TicTacToe):
    """Many games in one class."""

    rules = "Like tic-tac-toe."
    chance = True

    def __init__(self, name: str) -> None:
        self.name = f"many:{name}" if name != "liar" else "another"

    @classmethod
    def names(cls) -> list[str]:
        return ["one", "two"]


NOT_A_GAME = 7


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        name: EntryPoint(name, value, plugins.GROUP)
        for name, value in {
            "noughts": f"{__name__}:Noughts",
            "many": f"{__name__}:Many",
            "broken": "no_such_module_here:Game",
            "not_a_game": f"{__name__}:NOT_A_GAME",
            "other_name": f"{__name__}:Noughts",
        }.items()
    }
    monkeypatch.setattr(plugins, "entry_points", lambda: points)


def test_an_installed_game_is_found_by_its_name_and_the_same_arguments_give_the_same_object() -> None:
    found: Any = game("noughts(size=5)")
    assert (found.name, found.size, found.args) == ("noughts", 5, {"size": 5})
    assert game("noughts", {"size": 5}) is found
    assert game("noughts") is game("noughts")


def test_a_prefix_names_one_of_many_games() -> None:
    assert game("many:two").name == "many:two"
    assert [*plugins.names_of(plugins.entry_points()["many"])] == ["many:one", "many:two"]
    assert [*plugins.names_of(plugins.entry_points()["noughts"])] == ["noughts"]


def test_a_game_states_its_rules_and_its_chance_or_they_follow_from_its_module_and_its_methods() -> None:
    assert rules("many:one") == "Like tic-tac-toe."
    assert rules("noughts") == __doc__
    assert has_chance(game("many:one"))
    assert not has_chance(game("noughts"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nought", "There is no game 'nought' here; did you mean 'noughts'?"),
        ("many", "There is no game 'many'; write many:NAME; `league games many` lists its games."),
        ("noughts:two", "There is no game 'noughts:two'; write noughts."),
        (
            "openspiel_not:chess",
            "games of 'openspiel_not' are not installed here; install the package that has them.",
        ),
        ("openspiel:chess", "The games of 'openspiel' are not installed here; install leaguekit-openspiel."),
        ("openspiel", "The games of 'openspiel' are not installed here; install leaguekit-openspiel."),
        ("broken", "(no_such_module_here:Game) cannot be imported: ModuleNotFoundError: "),
        ("not_a_game", f"{__name__}:NOT_A_GAME of its package is not a subclass of Game."),
        ("other_name", "The game 'other_name' calls itself 'noughts'; both names must be the same."),
        ("many:liar", "The game 'many:liar' calls itself 'another'; both names must be the same."),
        (
            "noughts(sise=5)",
            "game noughts(sise=5) cannot be made: noughts got an unexpected keyword argument 'sise'.",
        ),
        ("noughts(size=13)", "The game noughts(size=13) cannot be made: RuntimeError: thirteen."),
        ("", "There is no game '' here; the games are connect_four, even_odd, "),
    ],
)
def test_a_game_that_cannot_be_found_or_made_is_told_with_what_to_do(name: str, why: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        game(name)
    assert refused.value.code == "E049"
    assert why in refused.value.detail
    assert find_game(name) is None
    assert rules(name) == ""


def test_a_game_that_is_added_is_known_under_its_name_until_another_one_is_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugins, "_added", {})

    class Mine(TicTacToe):
        name = "mine"

    class Newer(TicTacToe):
        name = "mine"

    plugins.add_game(Mine)
    assert type(game("mine")) is Mine
    plugins.add_game(Newer)
    assert type(game("mine")) is Newer


def test_installed_games_are_not_looked_up_until_one_is_named() -> None:
    program = (
        "import sys; from leaguekit.games import game, find_game; game('tic_tac_toe'); "
        "assert 'importlib.metadata' not in sys.modules; find_game('no_such_game'); "
        "assert 'importlib.metadata' in sys.modules; assert 'pyspiel' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_game_with_empty_brackets_is_the_game_without_arguments() -> None:
    assert game("tic_tac_toe()") is game("tic_tac_toe")
