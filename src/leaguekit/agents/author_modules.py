"""Imports modules of authors: files and modules that have a strategy or a game."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


class ModuleNotLoaded(ValueError):
    """A module of an author cannot be imported. The text says why."""


def load_file(path: Path) -> ModuleType:
    """The module in a file, which may import the modules beside it. Raises ModuleNotLoaded."""
    path = path.resolve()
    # Under its path, if another module has its name.
    for name in (path.stem, str(path)):
        module = sys.modules.get(name)
        if module is None:
            break
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ModuleNotLoaded(f"There is no file {str(path)!r}.")
    _search(str(path.parent))
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ModuleNotLoaded(f"The file {str(path)!r} cannot be imported: {_describe(error, path)}.") from error
    return module


def import_module(name: str) -> ModuleType:
    """The module of a name, which may be in the current directory. Raises ModuleNotLoaded."""
    # An installed command does not look for modules in the current directory.
    here = os.getcwd()  # noqa: PTH109 - sys.path contains strings
    _search(here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in (name, name.partition(".")[0])
        why = f"there is no such module in {here}" if missing else f"{type(error).__name__}: {error}"
        raise ModuleNotLoaded(f"The module {name!r} cannot be imported: {why}.") from error


def _search(folder: str) -> None:
    """Look for modules in a folder: before installed packages, but not before Python's own (``random``)."""
    if folder not in sys.path:
        installed = (place for place, one in enumerate(sys.path) if one.endswith(("site-packages", "dist-packages")))
        sys.path.insert(next(installed, len(sys.path)), folder)


def _describe(error: Exception, path: Path) -> str:
    """An error with the line of the file that raised it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    # A syntax error has its line in its text.
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}"
