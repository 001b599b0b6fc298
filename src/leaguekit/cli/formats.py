"""The options for the format of a league, which ``run``, ``host``, ``manager`` and ``simulate`` share."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaguekit.agents.format_loading import load_format
from leaguekit.cli import CommandError, read_input
from leaguekit.formats import FormatError, parse_format
from leaguekit.league.settings import Settings, format_fault, plain_format
from leaguekit.manager.rounds.pairing_engine import EngineMissing, Py4Swiss

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
    if not path.exists():
        also = "registration, lot, or a file with display names, or with display names and ratings"
        raise CommandError(f"--seeding: there is no file {path}; the seeding is {also}")
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


def load(text: str, name: str = "") -> None:
    """Make a format known here, by this name or else as it is written. Raises CommandError."""
    try:
        load_format(text, name)
    except FormatError as error:
        raise CommandError(f"--format: {error}") from error
