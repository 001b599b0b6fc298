"""Finds the format that a user names: one that is known or installed, or the class in a file of an author."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from leaguekit.formats import FORMATS, Format, FormatError, parse_call

# The group of entry points of formats that other distributions bring.
ENTRY_POINTS = "leaguekit.formats"


def load_format(text: str) -> None:
    """Make the format of a text known if it is that of an installed distribution, or FILE.py:Class.

    Raises FormatError.
    """
    name, _ = parse_call(text)
    if name in FORMATS:
        return
    file, colon, class_name = name.rpartition(":")
    if colon and file.endswith(".py"):
        FORMATS[name] = _named(_from_file(Path(file), class_name), name)
        return
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            FORMATS[name] = _checked(entry.load(), entry.value)
        except Exception as error:
            raise FormatError(f"the format {name!r} of {entry.value} cannot be loaded: {error!r}") from error


def module_of_format(text: str) -> ModuleType | None:
    """The module of a format that is known; None if the format is ours, or unknown."""
    found = FORMATS.get(parse_call(text)[0])
    if found is None or found.__module__.startswith("leaguekit.formats."):
        return None
    return sys.modules.get(found.__module__)


def _from_file(path: Path, class_name: str) -> type[Format]:
    if not path.is_file():
        raise FormatError(f"there is no file {path} in {os.getcwd()}")  # noqa: PTH109 - only for the text
    spec = importlib.util.spec_from_file_location(f"leaguekit_format_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FormatError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise FormatError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return _checked(getattr(module, class_name, None), f"{path}:{class_name}")


def _checked(found: Any, where: str) -> type[Format]:
    if not (isinstance(found, type) and issubclass(found, Format)):
        raise FormatError(f"{where} is not a subclass of leaguekit.formats.Format")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise FormatError(f"{where} does not implement {missing}")
    return found


def _named(found: type[Format], name: str) -> type[Format]:
    """The class under the name by which the settings call it."""
    return type(found.__name__, (found,), {"name": name, "__module__": found.__module__})
