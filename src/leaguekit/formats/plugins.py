"""Formats from elsewhere: installed packages name them by entry point.

An entry point of the group ``leaguekit.formats`` names a subclass of ``Format``: ``ladder = "my_package:Ladder"`` is
the format ``ladder``. A package is imported when its format is used.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

from leaguekit.formats.base import Format, FormatError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "leaguekit.formats"


@cache
def entry_points() -> dict[str, EntryPoint]:
    """The entry points of installed formats, by name."""
    from importlib.metadata import entry_points as installed  # noqa: PLC0415 - it is slow, and few formats need it

    return {point.name: point for point in installed(group=GROUP)}


def import_format(point: EntryPoint) -> type[Format]:
    """The class that an entry point names. Raises FormatError."""
    try:
        found = point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise FormatError(f"the format {point.name!r} ({point.value}) cannot be imported: {why}") from error
    return checked_format(found, point.value)


def checked_format(found: Any, where: str) -> type[Format]:
    """The same, if it is the class of a format. Raises FormatError."""
    if not (isinstance(found, type) and issubclass(found, Format)):
        raise FormatError(f"{where} is not a subclass of leaguekit.formats.Format")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise FormatError(f"{where} does not implement {missing}")
    return found
