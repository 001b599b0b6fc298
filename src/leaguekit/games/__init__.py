"""The games and their interface, ``Game``. Games are pure rules. A new game needs no change elsewhere.

The games are discovered: every module of this package is searched for subclasses of ``Game`` that have a name.
"""

from __future__ import annotations

import json
import pkgutil
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from leaguekit.games.base import Game
from leaguekit.protocol.errors import ProtocolError

# These modules have no game. The test kit for authors need not be loaded to play.
_NO_GAMES = {"base", "pictures", "records", "testing"}
# A game as a text: its name, and its arguments in brackets.
_WITH_ARGUMENTS = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)
# An argument: its name, and its value, which may have brackets of its own.
_ARGUMENT = re.compile(r"\s*(\w+)\s*=\s*((?:\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|[^,()\[\]\"])*)(?:,|$)")
_CONSTANTS = {"True": True, "False": False, "None": None}


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


def parse_game(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a game that is written as ``name`` or ``name(turns=50, noise=0.1)``."""
    found = _WITH_ARGUMENTS.fullmatch(text.strip())
    if found is None:
        raise ProtocolError("E049", f"A game is written as NAME or NAME(ARGUMENT=VALUE, …), got {text!r}.")
    name, rest = found[1].strip(), (found[2] or "").strip()
    args: dict[str, Any] = {}
    at = 0
    while at < len(rest):
        one = _ARGUMENT.match(rest, at)
        if one is None or not one[2].strip():
            raise ProtocolError("E049", f"The arguments of {name} are written as ARGUMENT=VALUE, got {rest[at:]!r}.")
        args[one[1]] = _parse_value(one[2].strip())
        at = one.end()
    return name, args


def _parse_value(text: str) -> Any:
    """A value as JSON or as Python writes it; any other text is itself."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def describe_game(name: str, args: Mapping[str, Any] | None) -> str:
    """A game with its arguments as a text, such as ``prisoners_dilemma(turns=50)``."""
    if not args:
        return name
    return f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in args.items())})"


def game(text: str, args: Mapping[str, Any] | None = None) -> Game[Any]:
    """The game of a name with its arguments, which may also be part of the text. Raises ProtocolError (E049)."""
    name, parsed = (text, {}) if text in GAMES or not text else parse_game(text)
    if name not in GAMES:
        raise ProtocolError("E049", f"There is no game {name!r} here; the games are {', '.join(GAMES)}.")
    args = {**parsed, **(args or {})}
    return _game_with(name, json.dumps(args, sort_keys=True)) if args else GAMES[name]


# The arguments are JSON, so that they can be looked up. The same arguments give the same object.
@lru_cache(maxsize=256)
def _game_with(name: str, args: str) -> Game[Any]:
    try:
        made = type(GAMES[name])(**json.loads(args))
    except (TypeError, ValueError) as error:
        described = describe_game(name, json.loads(args))
        why = str(error).replace(f"{type(GAMES[name]).__name__}.__init__()", name)
        raise ProtocolError("E049", f"The game {described} cannot be made: {why}.") from None
    made.args = json.loads(args)
    return made


def find_game(name: str, args: Mapping[str, Any] | None = None) -> Game[Any] | None:
    """The game of a name with its arguments; None if it is not known here, or cannot be made with them."""
    try:
        return game(name, args)
    except ProtocolError:
        return None


def rules(name: str) -> str:
    """The rules of a game in words: the docstring of its module. Empty for an unknown game."""
    name = name.partition("(")[0]
    return "" if name not in GAMES else (sys.modules[type(GAMES[name]).__module__].__doc__ or "").strip()
