"""Finds a strategy by its name: a built-in one, a language model, or a function of an author."""

from __future__ import annotations

import importlib
import os
import sys

from leaguekit.player.context import Strategy
from leaguekit.player.strategies import STRATEGIES

# The name of the strategy that asks a language model. Its options name the model and the server.
LLM = "llm"


class NoSuchStrategy(ValueError):
    """There is no strategy with a name. The text says why, and which names exist."""


def load(name: str) -> Strategy:
    """Load a built-in strategy by its name, or an author's own as ``module:function``. Raises NoSuchStrategy."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name == LLM:
        try:
            from leaguekit.player.llm import from_options  # noqa: PLC0415 - httpx2 is optional, and heavy

            return from_options({})
        except (ImportError, ValueError) as error:
            raise NoSuchStrategy(str(error)) from None
    module_name, colon, function_name = name.partition(":")
    if not (colon and module_name and function_name):
        known = ", ".join((*STRATEGIES, LLM))
        raise NoSuchStrategy(f"There is no strategy {name!r}; there are {known}, or your own as module:function.")
    # An installed command does not look for modules in the current directory.
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - sys.path contains strings
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in (module_name, module_name.partition(".")[0])
        why = f"there is no such module in {here}" if missing else f"{type(error).__name__}: {error}"
        raise NoSuchStrategy(f"The module {module_name!r} cannot be imported: {why}.") from error
    found = getattr(module, function_name, None)
    if not callable(found):
        what = "nothing called" if found is None else "no function called"
        raise NoSuchStrategy(f"There is {what} {function_name!r} in {module.__file__ or module_name}.")
    return found  # type: ignore[no-any-return]  # any callable is a strategy
