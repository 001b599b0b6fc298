"""The arguments of commands: a parser that suggests what was meant, and types that several commands use."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest command, option or choice."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Parse arguments. The parser of the command itself reports what is left over, with its own usage."""
        given = [*(args or ())]
        options, rest = super().parse_known_args(given, namespace)
        first = next((number for number, one in enumerate(given) if one.startswith("-")), len(given))
        if rest and given[first:][-len(rest) :] == rest:
            # argparse takes arguments that may be left out only before the options, as in `seats new 5 --json`.
            options, rest = super().parse_known_args([*given[:first], *rest, *given[first : -len(rest)]], namespace)
        if rest:
            self.error(self._describe_rest(rest))
        return options, rest

    def _describe_rest(self, rest: list[str]) -> str:
        unknown = [argument.partition("=")[0] for argument in rest if argument.startswith("-")]
        if unknown:
            near = suggest(unknown[0], self._option_string_actions) or f"; `{self.prog} --help` lists the options"
            return f"there is no option {unknown[0]}{near}"
        takes_names = any(action.type is names for action in self._actions)
        hint = "; the names of a list are separated by commas" if takes_names else ""
        return f"unrecognized arguments: {' '.join(rest)}{hint}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = action.choices
        if known is None or value in known:
            return
        if near := suggest(str(value), map(str, known)):
            raise argparse.ArgumentError(action, f"there is no {value!r}{near}")
        if action.dest == "command" and not action.option_strings:
            raise argparse.ArgumentError(action, f"there is no {value!r}; `{self.prog} --help` lists the commands")
        super()._check_value(action, value)


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of an error about a name that does not exist: the nearest name that does. Empty if none is near."""
    # Without the dashes, which all options have in common.
    words = {word.lstrip("-"): word for word in known}
    near = get_close_matches(name.lstrip("-"), words, 1)
    return f"; did you mean {words[near[0]]}?" if near else ""


def names(text: str) -> list[str]:
    """The type of an option that takes names, separated by commas."""
    return [name.strip() for name in text.split(",")]


def add_game_option(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add ``--game``. Its value names a game that is known here; the path of a file in it is absolute."""
    from leaguekit.games.base import DEFAULT_GAME

    names = f"a name, NAME(ARGUMENT=VALUE), or FILE.py:CLASS; `league games` lists names (default {DEFAULT_GAME})"
    parser.add_argument("--game", metavar="GAME", type=game_text, default=default, help=f"what is played: {names}")


def add_own_game_option(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--game`` to a command that learns the name of the game from elsewhere."""
    parser.add_argument("--game", metavar="FILE.py:CLASS", type=game_text, help=f"a game of your own{text}")


def game_text(text: str) -> str:
    """The type of an option that names a game."""
    from leaguekit.agents.game_loading import NoSuchGame, absolute, load_game

    try:
        load_game(text)
    except NoSuchGame as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return absolute(text, Path.cwd())


def at_least(minimum: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number from ``minimum`` on."""

    def whole_number(text: str) -> int:
        try:
            number = int(text.replace(",", ""))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < minimum:
            raise argparse.ArgumentTypeError(f"it must be at least {minimum}, got {number}")
        return number

    return whole_number
