"""The game that a user names: known ones, and classes in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.agents.game_loading import NoSuchGame, absolute, is_in_file, known_name, load_game
from leaguekit.cli import main
from leaguekit.games import find_game, plugins, rules
from leaguekit.games.testing import check_game
from leaguekit.player.context import Context
from leaguekit.testing import play_match


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a new game, whose class and module no other test has loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_added", {})
    assert main(["new", "game", f"Heap {tmp_path.name[-1]}", "--dir", "."]) == 0
    return tmp_path


def file_of(here: Path) -> str:
    number = here.name[-1]
    return f"heap_{number}.py:Heap{number}"


def test_the_class_in_a_file_is_a_game_under_its_own_name(here: Path) -> None:
    name = f"heap_{here.name[-1]}"
    found = load_game(f"{file_of(here)}(stones=7)")
    assert (found.name, found.max_turns, found.args) == (name, 7, {"stones": 7})
    assert known_name(f"{file_of(here)} (stones=7)") == f"{name}(stones=7)"
    check_game(load_game(name), seeds=range(3))


def test_a_file_s_path_becomes_absolute_and_names_stay(here: Path) -> None:
    assert absolute("a b (1)/g.py:G(x=1)", here) == f"{here}/a b (1)/g.py:G(x=1)"
    assert absolute("tic_tac_toe", here) == "tic_tac_toe"
    assert [is_in_file(text) for text in ("g.py:G", "g.py", "tic_tac_toe", "openspiel:go(board_size=9)")] == [
        True, False, False, False,
    ]  # fmt: skip


NOUGHTS = "from leaguekit.games.tic_tac_toe import TicTacToe\nclass Noughts(TicTacToe):\n    name = "
FILES = {
    "broken.py": "\n1 / 0\n",
    "syntax.py": "def f(:\n",
    "empty.py": "x = 1\n",
    "near.py": NOUGHTS + "'noughts'\n",
    "ours.py": NOUGHTS + "'tic_tac_toe'\n",
    "unnamed.py": NOUGHTS + "'No Name'\n",
    "half.py": "from leaguekit.games.base import Game\nclass Half(Game):\n    name = 'half'\n",
}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nowhere.py:Nim", r"There is no file '.*/nowhere\.py'\."),
        ("broken.py:Nim", r"broken\.py' cannot be imported: line 2: ZeroDivisionError: division by zero\."),
        ("syntax.py:Nim", r"syntax\.py' cannot be imported: SyntaxError: .*line 1"),
        (
            "empty.py:Nim",
            r"no class 'Nim' in empty\.py; a game is a subclass of leaguekit\.games\.base\.Game\.",
        ),
        ("empty.py:x", r"There is no subclass of Game called 'x' in empty\.py"),
        ("near.py:Nought", r"There is no class 'Nought' in near\.py; did you mean 'Noughts'\?"),
        ("near.py", r"Name the class in near\.py as well: near\.py:CLASS\."),
        ("ours.py:Noughts", r"is called tic_tac_toe, as one of ours is; give it another name\."),
        ("unnamed.py:Noughts", r"needs a name: up to 50 lower-case letters, .*; got 'No Name'\."),
        ("half.py:Half", r"The game Half in half\.py has no outcome, play, question, start, to_move, view; "),
        ("tictactoe", r"There is no game 'tictactoe' here; did you mean 'tic_tac_toe'\?"),
    ],
)
def test_what_is_missing_is_told_with_the_line_or_the_nearest_name(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(NoSuchGame, match=why):
        load_game(text)


def test_no_name_in_a_message_loads_a_file(here: Path) -> None:
    assert find_game(f"{here}/{file_of(here)}") is None


def test_strategies_know_the_arguments_of_the_game(here: Path) -> None:
    seen = []

    def choose(ctx: Context) -> int:
        seen.append((ctx.game_type, ctx.game_args))
        return ctx.valid_options[0]

    play_match(choose, "search", game=f"{file_of(here)}(stones=4)")
    name = f"heap_{here.name[-1]}"
    assert {*map(str, seen)} == {str((name, {"stones": 4}))}
    assert rules(name, {"stones": 4}).startswith("Heap ")
