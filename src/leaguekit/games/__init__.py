"""The games and their interface, ``Game``. Games are pure rules. A new game needs no change elsewhere.

The games are discovered: every module of this package is searched for subclasses of ``Game`` that have a name.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from leaguekit.games.base import Game
from leaguekit.protocol.errors import ProtocolError

# These modules have no game. The test kit for authors need not be loaded to play.
_NO_GAMES = {"base", "testing"}


def find_games(package: str, path: Iterable[str]) -> dict[str, Game[Any]]:
    """The games in the modules of a package, by name."""
    games: dict[str, Game[Any]] = {}
    for module_info in pkgutil.iter_modules(path):
        if module_info.name in _NO_GAMES:
            continue
        module = import_module(f"{package}.{module_info.name}")
        for found in vars(module).values():
            # A game that is imported belongs to another module. A class without a name is a base class.
            if _is_game(found) and found.__module__ == module.__name__ and hasattr(found, "name"):
                if found.name in games:
                    raise ValueError(f"two games are called {found.name}; one of them is in {module.__name__}")
                games[found.name] = found()
    return games


def _is_game(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Game)


GAMES: dict[str, Game[Any]] = find_games(__name__, __path__)


def game(name: str) -> Game[Any]:
    """The game of that name."""
    if name not in GAMES:
        raise ProtocolError("E049", f"There is no game {name!r} here; the games are {', '.join(GAMES)}.")
    return GAMES[name]


def rules(name: str) -> str:
    """The rules of a game in words: the docstring of its module. Empty for an unknown game."""
    return "" if name not in GAMES else (sys.modules[type(GAMES[name]).__module__].__doc__ or "").strip()
