"""The formats and their interface, ``Format``. A new format needs no change elsewhere.

The formats are discovered: every module of this package is searched for subclasses of ``Format`` that have a name.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import Any

from leaguekit.formats.base import Format, FormatError, ScheduledFormat
from leaguekit.formats.plugins import entry_points, import_format
from leaguekit.games import call_syntax

DEFAULT_FORMAT = "round_robin"
# These modules have no format. The test kit for authors need not be loaded to play.
_NO_FORMATS = {"base", "plugins", "testing", "trf"}


def find_formats(package: str, path: Iterable[str]) -> dict[str, type[Format]]:
    """The formats in the modules of a package, by name."""
    formats: dict[str, type[Format]] = {}
    for module_info in pkgutil.iter_modules(path):
        if module_info.name in _NO_FORMATS:
            continue
        module = import_module(f"{package}.{module_info.name}")
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, Format) and found.__module__ == module.__name__:
                formats[found.name] = found
    return formats


# The formats by name. ``format_loading`` adds those of authors' files, and ``make_format`` those of packages.
FORMATS: dict[str, type[Format]] = find_formats(__name__, __path__)


@lru_cache(maxsize=64)
def parse_format(text: str) -> Format:
    """The format of a text such as ``swiss(rounds=5)``. Raises FormatError."""
    name, arguments = parse_call(text)
    return make_format(name, arguments)


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a text such as ``name(argument=value, …)``. Raises FormatError."""
    try:
        return call_syntax.parse_call(text)
    except ValueError as error:
        raise FormatError(f"a format is {error}") from None


def make_format(name: str, arguments: dict[str, Any]) -> Format:
    """The format of that name with these arguments. Raises FormatError."""
    if name not in FORMATS and (point := entry_points().get(name)) is not None:
        FORMATS[name] = import_format(point)
    made = FORMATS.get(name)
    if made is None:
        known = [*FORMATS, *entry_points()]
        near = get_close_matches(name, known, 1, 0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"the formats are {', '.join(known)}"
        raise FormatError(f"there is no format {name!r}; {hint}")
    accepted = list(inspect.signature(made).parameters)
    for argument in arguments:
        if argument not in accepted:
            wanted = f"its arguments are {', '.join(accepted)}" if accepted else "it has no arguments"
            raise FormatError(f"{name} has no argument {argument!r}; {wanted}")
    return made(**arguments)


def find_format(text: str) -> Format | None:
    """The same, or None if the format is not known here. An old log may name a format of an author."""
    try:
        return parse_format(text)
    except FormatError:
        return None


__all__ = [
    "DEFAULT_FORMAT",
    "FORMATS",
    "Format",
    "FormatError",
    "ScheduledFormat",
    "find_format",
    "find_formats",
    "make_format",
    "parse_call",
    "parse_format",
]
