"""Finds a strategy by its name: a built-in one, a language model, or a function of an author."""

from __future__ import annotations

import importlib
import os
import sys
from difflib import get_close_matches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from leaguekit.player.context import Strategy
from leaguekit.player.strategies import STRATEGIES

# The name of the strategy that asks a language model. Its options name the model and the server.
LLM = "llm"
# How an author's own strategy is named.
OWN_STRATEGY = "module:function or file.py:function"


class NoSuchStrategy(ValueError):
    """There is no strategy with a name. The text says why, and which names exist."""


def load(name: str) -> Strategy:
    """Load a built-in strategy by its name, or an author's own (``OWN_STRATEGY``). Raises NoSuchStrategy."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name == LLM:
        try:
            from leaguekit.player.llm import from_options  # noqa: PLC0415 - httpx2 is optional, and heavy

            return from_options({})
        except (ImportError, ValueError) as error:
            raise NoSuchStrategy(str(error)) from None
    module_name, colon, function_name = name.rpartition(":")
    if not (colon and module_name and function_name):
        raise NoSuchStrategy(_describe_unknown(name))
    module = _load_file(Path(module_name)) if module_name.endswith(".py") else _import(module_name)
    found = getattr(module, function_name, None)
    if not callable(found):
        what = "nothing called" if found is None else "no function called"
        near = get_close_matches(function_name, [one for one in vars(module) if callable(getattr(module, one))], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise NoSuchStrategy(f"There is {what} {function_name!r} in {module.__file__ or module_name}{hint}")
    return found  # type: ignore[no-any-return]  # any callable is a strategy


def _describe_unknown(name: str) -> str:
    """Why a name without a function is not a strategy."""
    file = name if name.endswith(".py") else f"{name}.py"
    if Path(file).is_file():
        return f"There is no strategy {name!r}; name the function in {file} as well: {name}:FUNCTION."
    known = (*STRATEGIES, LLM)
    if near := get_close_matches(name, known, 1):
        return f"There is no strategy {name!r}; did you mean {near[0]!r}?"
    return f"There is no strategy {name!r}; there are {', '.join(known)}, or your own as {OWN_STRATEGY}."


def _import(name: str) -> ModuleType:
    # An installed command does not look for modules in the current directory.
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - sys.path contains strings
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in (name, name.partition(".")[0])
        why = f"there is no such module in {here}" if missing else f"{type(error).__name__}: {error}"
        raise NoSuchStrategy(f"The module {name!r} cannot be imported: {why}.") from error


def _load_file(path: Path) -> ModuleType:
    """The module in a file, which may import the modules beside it."""
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
        raise NoSuchStrategy(f"There is no file {str(path)!r}.")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise NoSuchStrategy(f"The file {str(path)!r} cannot be imported: {type(error).__name__}: {error}.") from error
    return module
