"""The games and their interface, ``Game``. Games are pure rules. A new game needs no change elsewhere.

Our own games are discovered: every module of this package is searched for subclasses of ``Game`` that have a name.
``games/plugins.py`` finds the games of other packages when they are used.
"""

from __future__ import annotations

import json
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeGuard

from leaguekit.games import plugins
from leaguekit.games.base import Game
from leaguekit.games.call_syntax import parse_call
from leaguekit.protocol.errors import ProtocolError

# These modules have no game. The test kit for authors need not be loaded to play.
_NO_GAMES = {"base", "call_syntax", "pictures", "records", "plugins", "testing"}


def find_games(package: str, path: Iterable[str]) -> dict[str, Game[Any]]:
    """The games in the modules of a package, by name."""
    games: dict[str, Game[Any]] = {}
    for module_info in pkgutil.iter_modules(path):
        if module_info.name in _NO_GAMES:
            continue
        module = import_module(f"{package}.{module_info.name}")
        for found in vars(module).values():
            # A game that is imported belongs to another module. A class without a name is a base class.
            if is_game(found) and found.__module__ == module.__name__ and hasattr(found, "name"):
                if found.name in games:
                    raise ValueError(f"two games are called {found.name}; one of them is in {module.__name__}")
                games[found.name] = found()
    return games


def is_game(found: Any) -> TypeGuard[type[Game[Any]]]:
    """Whether an object is a class of games."""
    return isinstance(found, type) and issubclass(found, Game)


GAMES: dict[str, Game[Any]] = find_games(__name__, __path__)


def parse_game(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a game that is written as ``name`` or ``name(turns=50, noise=0.1)``."""
    try:
        return parse_call(text)
    except ValueError as error:
        raise ProtocolError("E049", f"A game is {error}.") from None


def describe_game(name: str, args: Mapping[str, Any] | None) -> str:
    """A game with its arguments as a text, such as ``prisoners_dilemma(turns=50)``."""
    if not args:
        return name
    return f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in args.items())})"


def game(text: str, args: Mapping[str, Any] | None = None) -> Game[Any]:
    """The game of a name with its arguments, which may also be part of the text. Raises ProtocolError (E049)."""
    if text in GAMES and not args:
        return GAMES[text]
    name, parsed = parse_game(text) if text else ("", {})
    args = {**parsed, **(args or {})}
    if not args and name in GAMES:
        return GAMES[name]
    kind, first = (type(GAMES[name]), ()) if name in GAMES else plugins.find_kind(name, GAMES)
    return _make(kind, first, name, json.dumps(args, sort_keys=True))


# The arguments are JSON, so that they can be looked up. The same arguments give the same object.
@lru_cache(maxsize=256)
def _make(kind: type[Game[Any]], first: tuple[str, ...], name: str, args: str) -> Game[Any]:
    try:
        made: Game[Any] = kind(*first, **json.loads(args))
    except Exception as error:
        why = str(error).replace(f"{kind.__name__}.__init__()", name)
        why = why if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {why}"
        described = describe_game(name, json.loads(args))
        raise ProtocolError("E049", f"The game {described} cannot be made: {why.rstrip('.')}.") from error
    if made.name != name:
        raise ProtocolError("E049", f"The game {name!r} calls itself {made.name!r}; both names must be the same.")
    made.args = json.loads(args)
    return made


def find_game(name: str, args: Mapping[str, Any] | None = None) -> Game[Any] | None:
    """The game of a name with its arguments; None if it is not known here, or cannot be made with them."""
    try:
        return game(name, args)
    except ProtocolError:
        return None


def rules(text: str, args: Mapping[str, Any] | None = None) -> str:
    """The rules of a game in words: its ``rules``, or the docstring of its module. Empty for an unknown game."""
    found = find_game(text, args)
    return "" if found is None else (found.rules or sys.modules[type(found).__module__].__doc__ or "").strip()
