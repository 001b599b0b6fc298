"""Finds the game that a user names: one that is known or installed, or the class in a file of an author."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from leaguekit.agents.author_modules import ModuleNotLoaded, load_file
from leaguekit.games import GAMES, game, is_game
from leaguekit.games.base import Game
from leaguekit.games.plugins import MAX_NAME_LENGTH, add_game
from leaguekit.protocol.errors import ProtocolError

# A class in a file, perhaps with arguments.
_IN_FILE = re.compile(r"(.+\.py):(\w+)\s*(\(.*\))?\s*", re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class NoSuchGame(ValueError):
    """There is no game of a name. The text says why, and what to do."""


def load_game(text: str) -> Game[Any]:
    """The game that a user names as ``NAME``, ``PREFIX:NAME`` or ``FILE.py:CLASS``, with arguments in brackets.

    Raises NoSuchGame.
    """
    name = known_name(text)
    try:
        return game(name)
    except ProtocolError as error:
        raise NoSuchGame(error.detail) from error


def known_name(text: str) -> str:
    """The game that a user names as it is known in this process from now on: a class in a file has its own name.

    The file is imported. So the text must come from the user who started the program, and not from another program.
    Raises NoSuchGame if there is no such class.
    """
    if found := _IN_FILE.fullmatch(text.strip()):
        kind = _class_in(Path(found[1]), found[2])
        add_game(kind)
        return f"{kind.name}{found[3] or ''}"
    if text.strip().endswith(".py"):
        raise NoSuchGame(f"Name the class in {text.strip()} as well: {text.strip()}:CLASS.")
    return text


def module_of_game(text: str) -> ModuleType | None:
    """The module of a game that a user names; None if the game is ours. Raises NoSuchGame."""
    found = load_game(text)
    return None if found.name in GAMES else sys.modules[type(found).__module__]


def is_in_file(text: str) -> bool:
    """Whether a game that a user names is in a file. Other programs have to be given it."""
    return _IN_FILE.fullmatch(text.strip()) is not None


def absolute(text: str, folder: Path) -> str:
    """A game as a user names it. The path of a file becomes absolute; it is relative to the folder."""
    found = _IN_FILE.fullmatch(text.strip())
    return text if found is None else f"{(folder / found[1]).resolve()}:{found[2]}{found[3] or ''}"


def _class_in(path: Path, class_name: str) -> type[Game[Any]]:
    try:
        module = load_file(path)
    except ModuleNotLoaded as error:
        raise NoSuchGame(str(error)) from error
    kind = getattr(module, class_name, None)
    if not is_game(kind):
        games = [name for name, one in vars(module).items() if is_game(one) and one is not Game]
        near = get_close_matches(class_name, games, 1) or games
        what = f"no class {class_name!r}" if kind is None else "no subclass of Game called " + repr(class_name)
        hint = f"; did you mean {near[0]!r}?" if near else "; a game is a subclass of leaguekit.games.base.Game."
        raise NoSuchGame(f"There is {what} in {path}{hint}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise NoSuchGame(f"The game {class_name} in {path} has no {', '.join(missing)}; docs/games.md has an example.")
    name = getattr(kind, "name", None)
    if not (isinstance(name, str) and len(name) <= MAX_NAME_LENGTH and _NAME.fullmatch(name)):
        raise NoSuchGame(
            f"The class {class_name} in {path} needs a name: up to {MAX_NAME_LENGTH} lower-case letters, digits and "
            f'underscores, such as name = "my_game"; got {name!r}.'
        )
    if name in GAMES:
        raise NoSuchGame(f"The game in {path} is called {name}, as one of ours is; give it another name.")
    return kind
