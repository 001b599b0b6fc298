"""Loads the format that a user names as the class in a file, and finds the module of a format."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from leaguekit.agents.author_modules import ModuleNotLoaded, load_file
from leaguekit.formats import FORMATS, FormatError, find_format, parse_call
from leaguekit.formats.plugins import checked_format


def load_format(text: str, name: str = "") -> None:
    """Make the format of a text known if it is FILE.py:Class: by this name, or else as it is written.

    The file is imported. So the text must come from the user who started the program. Raises FormatError.
    """
    named, _ = parse_call(text)
    name = name or named
    file, colon, class_name = named.rpartition(":")
    if name in FORMATS or not (colon and file.endswith(".py")):
        return
    try:
        module = load_file(Path(file))
    except ModuleNotLoaded as error:
        raise FormatError(str(error)) from error
    if not hasattr(module, class_name):
        raise FormatError(f"there is no class {class_name!r} in {file}")
    found = checked_format(getattr(module, class_name), f"{file}:{class_name}")
    # The settings of a league call it by this name.
    FORMATS[name] = type(found.__name__, (found,), {"name": name, "__module__": found.__module__})


def module_of_format(text: str) -> ModuleType | None:
    """The module of a format that is known; None if the format is ours, or unknown."""
    found = find_format(text)
    if found is None or type(found).__module__.startswith("leaguekit.formats."):
        return None
    return sys.modules[type(found).__module__]
