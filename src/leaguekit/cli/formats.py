"""The options for the format of a league, which ``run``, ``host``, ``manager`` and ``simulate`` share."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leaguekit.cli import CommandError, read_input
from leaguekit.formats import FORMATS, Format, FormatError, parse_call, parse_format
from leaguekit.league.settings import Settings, format_fault, plain_format
from leaguekit.manager.pairing_engine import EngineMissing, Py4Swiss

# The group of entry points of formats that other distributions bring.
ENTRY_POINTS = "leaguekit.formats"
NAMES = ("format", "rounds", "seeding")


def add_options(parser: argparse.ArgumentParser, *, seeding: bool = True) -> None:
    parser.add_argument(
        "--format",
        metavar="NAME(…)",
        help="who plays whom: round_robin (default), swiss, knockout, gauntlet, with arguments as in "
        "'swiss(rounds=5)', or your own as FILE.py:Class",
    )
    parser.add_argument(
        "--rounds",
        choices=("single", "double"),
        help="of a round-robin: each pair meets once (default), or twice with the sides swapped",
    )
    if not seeding:
        parser.set_defaults(seeding=None)
        return
    parser.add_argument(
        "--seeding",
        metavar="HOW",
        help="the order of the players for the format: registration (default), lot, or a file: display names in their "
        "order, one per line, or a CSV of display names and ratings",
    )


def requested_settings(options: argparse.Namespace, in_file: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that these options contain, or else the format in the settings file. Raises CommandError."""
    chosen: dict[str, Any] = {} if options.rounds is None else {"rounds": options.rounds}
    text = options.format or in_file.get("format")
    if isinstance(text, str) and not (chosen and options.format is None):
        load(text)
        try:
            plain = plain_format(text)
        except FormatError as error:
            raise CommandError(f"--format: {error}") from None
        if chosen and plain.get("rounds", options.rounds) != options.rounds:
            raise CommandError(f"--format {options.format} and --rounds {options.rounds} contradict each other")
        chosen |= plain
    if options.seeding in ("registration", "lot"):
        chosen["seeding"] = options.seeding
    elif options.seeding is not None:
        chosen |= read_seeds(Path(options.seeding))
    return chosen


def read_seeds(path: Path) -> dict[str, Any]:
    """The seeding in a file: display names in their order, or display names with ratings."""
    try:
        rows = [row for row in csv.reader(read_input(path).decode("utf-8-sig").splitlines()) if row and row[0].strip()]
    except (ValueError, csv.Error) as error:
        raise CommandError(f"--seeding: cannot read {path}: {error}") from None
    if not rows:
        raise CommandError(f"--seeding: {path} names no player; the word may also be registration or lot")
    names = [row[0].strip() for row in rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CommandError(f"--seeding: {path} names {twice!r} twice")
    if all(len(row) == 1 for row in rows):
        return {"seeding": "file", "seeds": {name: float(place) for place, name in enumerate(names, start=1)}}
    seeds: dict[str, float] = {}
    for number, row in enumerate(rows, start=1):
        text = row[1].strip() if len(row) > 1 else ""
        if re.fullmatch(r"[+-]?\d{1,6}(\.\d+)?", text):
            seeds[row[0].strip()] = float(text)
        elif number > 1:
            # The first line may be a heading.
            raise CommandError(f"--seeding: {path}, line {number}: a rating must be a number, got {text!r}")
    return {"seeding": "rating", "seeds": seeds}


def check(settings: Settings) -> None:
    """Raise CommandError if a league cannot be played in its format."""
    load(settings.format_text)
    if (fault := format_fault(settings)) is not None:
        raise CommandError(f"the settings are wrong: {fault}")
    if parse_format(settings.format_text).needs_engine:
        try:
            Py4Swiss()
        except EngineMissing as error:
            raise CommandError(str(error)) from None


def load(text: str) -> None:
    """Make the format of a text known if it is that of an installed distribution, or FILE.py:Class."""
    try:
        name, _ = parse_call(text)
    except FormatError as error:
        raise CommandError(f"--format: {error}") from None
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
            raise CommandError(f"the format {name!r} of {entry.value} cannot be loaded: {error!r}") from error


def _from_file(path: Path, class_name: str) -> type[Format]:
    if not path.is_file():
        raise CommandError(f"--format: there is no file {path} in {os.getcwd()}")  # noqa: PTH109 - only for the text
    spec = importlib.util.spec_from_file_location(f"leaguekit_format_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CommandError(f"--format: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CommandError(f"--format: {path} cannot be imported: {type(error).__name__}: {error}") from error
    return _checked(getattr(module, class_name, None), f"{path}:{class_name}")


def _checked(found: Any, where: str) -> type[Format]:
    if not (isinstance(found, type) and issubclass(found, Format)):
        raise CommandError(f"--format: {where} is not a subclass of leaguekit.formats.Format")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise CommandError(f"--format: {where} does not implement {missing}")
    return found


def _named(found: type[Format], name: str) -> type[Format]:
    """The class under the name by which the settings call it."""
    return type(found.__name__, (found,), {"name": name, "__module__": found.__module__})
