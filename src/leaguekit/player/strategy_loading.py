"""Finds a strategy by its name: a built-in one, a language model, or a function of an author."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from leaguekit.agents.author_modules import ModuleNotLoaded, import_module, load_file
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
    module, function_name = _module_of(name), name.rpartition(":")[2]
    found = getattr(module, function_name, None)
    if not callable(found):
        what = "nothing called" if found is None else "no function called"
        near = get_close_matches(function_name, [one for one in vars(module) if callable(getattr(module, one))], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise NoSuchStrategy(f"There is {what} {function_name!r} in {module.__file__ or module.__name__}{hint}")
    return found  # type: ignore[no-any-return]  # any callable is a strategy


def module_of_strategy(name: str) -> ModuleType | None:
    """The module of an author's own strategy; None if the strategy is ours. Raises NoSuchStrategy."""
    return None if name in STRATEGIES or name == LLM else _module_of(name)


def _module_of(name: str) -> ModuleType:
    module_name, colon, function_name = name.rpartition(":")
    if not (colon and module_name and function_name):
        raise NoSuchStrategy(_describe_unknown(name))
    try:
        return load_file(Path(module_name)) if module_name.endswith(".py") else import_module(module_name)
    except ModuleNotLoaded as error:
        raise NoSuchStrategy(str(error)) from error


def _describe_unknown(name: str) -> str:
    """Why a name without a function is not a strategy."""
    file = name if name.endswith(".py") else f"{name}.py"
    if Path(file).is_file():
        return f"There is no strategy {name!r}; name the function in {file} as well: {name}:FUNCTION."
    known = (*STRATEGIES, LLM)
    if near := get_close_matches(name, known, 1):
        return f"There is no strategy {name!r}; did you mean {near[0]!r}?"
    return f"There is no strategy {name!r}; there are {', '.join(known)}, or your own as {OWN_STRATEGY}."
