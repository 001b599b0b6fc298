"""The files of ``league simulate``: a simulation that can be continued, and the list of all matches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

import msgspec
from msgspec import Raw, Struct

from leaguekit.cli import CommandError
from leaguekit.cli.tables import csv_row
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.sim.comparison.leagues import LeagueTotals
from leaguekit.sim.comparison.pairs import PairedTest
from leaguekit.sim.comparison.parts import SimulationSetup

COLUMNS = (
    *("seed", "match_id", "player_a", "player_b", "strategy_a", "strategy_b"),
    *("points_a", "points_b", "choice_a", "choice_b", "drawn_number"),
)
# Of games with payoffs.
PAYOFF_COLUMNS = ("payoff_a", "payoff_b")
# The options that the fields of a setup come from.
_OPTIONS = {
    "fresh": "--fresh",
    "as_named": "--seeds",
    "in_pairs": "--until",
    "with_matches": "--out",
    "settings": "--format or --rounds",
}


class WrittenMatches(Struct, frozen=True):
    """How long a list of matches is, and its hash."""

    length: int
    sha256: str


class SavedSimulation(Struct, kw_only=True):
    """What a simulation has come to so far, and what it is."""

    setup: SimulationSetup
    first_seed: int
    counted: LeagueTotals | PairedTest
    seconds: float
    cpu_seconds: float
    matches: WrittenMatches | None = None

    def describe_difference(self, other: SavedSimulation) -> str:
        """Which option is not that of another simulation. Empty if both are the same simulation."""
        if self.first_seed != other.first_seed:
            return f"its --seed is {self.first_seed}, and not {other.first_seed}"
        # What has no short form comes last, because it differs with the rest.
        for name in sorted(SimulationSetup.__struct_fields__, key=[*_OPTIONS].__contains__):
            mine, others = getattr(self.setup, name), getattr(other.setup, name)
            if mine == others:
                continue
            if name == "code":
                changed = min(dict(mine.items() ^ others.items()))
                return f"{changed} has changed since. Begin again without --resume"
            option = _OPTIONS.get(name, f"--{name}")
            if name == "strategies":
                mine, others = ",".join(mine), ",".join(others)
            is_plain = isinstance(mine, str | int) and name not in _OPTIONS
            return f"its {option} is {mine}, and not {others}" if is_plain else f"it has another {option}"
        if isinstance(self.counted, PairedTest) and isinstance(other.counted, PairedTest):
            (mine, others) = (f"sprt={one.test.low:g},{one.test.high:g}" for one in (self.counted, other.counted))
            if mine != others:
                return f"its --until is {mine}, and not {others}"
        return ""


class _File(Struct):
    """The content of the file of a saved simulation."""

    sha256: str
    simulation: Raw


def save(path: Path, simulation: SavedSimulation) -> None:
    """Write a simulation to a file, whole or not at all. Raises CommandError."""
    content = msgspec.json.encode(simulation)
    file = _File(hashlib.sha256(content).hexdigest(), Raw(content))
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_bytes(msgspec.json.encode(file) + b"\n")
        new.replace(path)
    except OSError as error:
        raise CommandError(f"--resume {path} cannot be written: {error.strerror}; name another file") from None


def load(path: Path, begun: SavedSimulation) -> SavedSimulation | None:
    """The simulation in a file; None if there is no file. Raises CommandError if it is another one than this."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"--resume {path} cannot be read: {error.strerror}") from None
    try:
        file = msgspec.json.decode(content, type=_File)
    except DECODE_ERRORS:
        raise CommandError(
            f"--resume {path} is not a simulation, or is damaged: name another file, or remove it to begin again"
        ) from None
    if hashlib.sha256(file.simulation).hexdigest() != file.sha256:
        raise CommandError(f"--resume {path} is damaged: remove it to begin again")
    try:
        saved = msgspec.json.decode(file.simulation, type=SavedSimulation)
    except msgspec.DecodeError as error:
        raise CommandError(
            f"--resume {path} was written by another version of leaguekit ({error}): remove it to begin again"
        ) from None
    if difference := saved.describe_difference(begun):
        raise CommandError(f"--resume {path} is another simulation: {difference}")
    return saved


class MatchesFile:
    """The list of all matches, as CSV. Without a path nothing is written. Raises CommandError."""

    def __init__(self, path: Path | None, written: WrittenMatches | None, *, has_payoffs: bool) -> None:
        self.replaces = path is not None and written is None and path.is_file()
        self._path = path
        self._hash = hashlib.sha256()
        self._length = 0
        self._file: IO[bytes] | None = None
        if path is None:
            return
        with self._errors():
            self._file = path.open("wb" if written is None else "r+b")
            if written is None:
                self._write(csv_row([*COLUMNS, *(PAYOFF_COLUMNS if has_payoffs else ())]))
            else:
                self._continue(self._file, written)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._errors():
            self._write("".join(map(csv_row, rows)))

    def written(self) -> WrittenMatches | None:
        """What is in the file now."""
        if self._file is None:
            return None
        with self._errors():
            self._file.flush()
        return WrittenMatches(self._length, self._hash.hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with self._errors():
                self._file.close()

    def _continue(self, file: IO[bytes], written: WrittenMatches) -> None:
        """Remove what was written after the simulation was saved."""
        while self._length < written.length and (content := file.read(min(written.length - self._length, 2**20))):
            self._hash.update(content)
            self._length += len(content)
        if (self._length, self._hash.hexdigest()) != (written.length, written.sha256):
            file.close()
            raise CommandError(
                f"--out {self._path} does not begin with the matches that --resume continues: restore that file, or "
                "begin again without --resume"
            )
        file.truncate()

    def _write(self, text: str) -> None:
        if self._file is not None:
            content = text.encode()
            self._file.write(content)
            self._hash.update(content)
            self._length += len(content)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandError(f"--out {self._path} cannot be written: {error.strerror}; name another file") from None
