"""Games from elsewhere: installed packages name them by entry point, and programs add those of their users' files.

An entry point of the group ``leaguekit.games`` names a subclass of ``Game``. ``nim = "my_package:Nim"`` is the game
``nim``. A class with a class method ``names`` has many games: ``openspiel = "…:OpenSpielGame"`` is called with the text
after the colon of ``openspiel:chess``. A package is imported when one of its games is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from leaguekit.games.base import Game
from leaguekit.protocol.errors import ProtocolError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "leaguekit.games"
MAX_NAME_LENGTH = 50
# What to install for the games with this prefix.
_DISTRIBUTIONS = {"openspiel": "leaguekit-openspiel"}
# The games of users' files, by name.
_added: dict[str, type[Game[Any]]] = {}


def add_game(kind: type[Game[Any]]) -> None:
    """Make a game known in this process under its name, until another one with this name is added."""
    _added[kind.name] = kind


def find_kind(name: str, own: Iterable[str]) -> tuple[type[Game[Any]], tuple[str, ...]]:
    """The class of a game that is not ours, and the first arguments to call it with.

    ``own`` are the names of our games. Raises ProtocolError (E049).
    """
    if name in _added:
        return _added[name], ()
    prefix, colon, rest = name.partition(":")
    if (point := entry_points().get(prefix)) is None:
        raise ProtocolError("E049", _describe_missing(name, own))
    kind = import_games(point)
    has_many = hasattr(kind, "names")
    if has_many != bool(colon):
        form = f"{prefix}:NAME; `league games {prefix}` lists its games" if has_many else prefix
        raise ProtocolError("E049", f"There is no game {name!r}; write {form}.")
    return kind, (rest,) if has_many else ()


def names_of(point: EntryPoint) -> Iterator[str]:
    """The names of the games of an entry point. Raises ProtocolError (E049) if its package cannot be imported."""
    kind = import_games(point)
    yield from (f"{point.name}:{name}" for name in kind.names()) if hasattr(kind, "names") else [point.name]


@cache
def entry_points() -> dict[str, EntryPoint]:
    """The entry points of installed games, by name."""
    from importlib.metadata import entry_points as installed  # noqa: PLC0415 - it is slow, and few games need it

    return {point.name: point for point in installed(group=GROUP)}


def import_games(point: EntryPoint) -> type[Any]:
    """The class that an entry point names. Raises ProtocolError (E049) if it cannot be imported."""
    package = "its package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    try:
        kind = point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ProtocolError("E049", f"The games of {package} ({point.value}) cannot be imported: {why}.") from error
    if not (isinstance(kind, type) and issubclass(kind, Game)):
        raise ProtocolError("E049", f"{point.value} of {package} is not a subclass of Game.")
    return kind


def _describe_missing(name: str, own: Iterable[str]) -> str:
    """Why there is no game with a name, and how to get it."""
    prefix, colon, _ = name.partition(":")
    if colon or name in _DISTRIBUTIONS:
        distribution = _DISTRIBUTIONS.get(prefix, "the package that has them")
        return f"The games of {prefix!r} are not installed here; install {distribution}."
    known = [*own, *_added, *entry_points()]
    if near := get_close_matches(name, known, 1):
        return f"There is no game {name!r} here; did you mean {near[0]!r}?"
    return (
        f"There is no game {name!r} here; the games are {', '.join(known)}. For another one, install its package, or "
        "name its file: --game FILE.py:CLASS."
    )
