"""Plays the seeds of ``league simulate``: on how many cores, until when, and how it is continued."""

from __future__ import annotations

import argparse
import hashlib
import re
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from leaguekit.cli import CommandError
from leaguekit.cli.arguments import at_least
from leaguekit.cli.simulation.files import MatchesFile, SavedSimulation, load, save
from leaguekit.cli.simulation.progress import Progress
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.sim.cluster import Cluster
from leaguekit.sim.comparison.leagues import LeagueTotals
from leaguekit.sim.comparison.offline_league import GameBrokeDown, UnusableStrategy
from leaguekit.sim.comparison.pairs import PairedTest
from leaguekit.sim.comparison.parts import CodeMismatch, PartJobs, SimulationSetup, play_parts
from leaguekit.sim.interrupts import noted_interrupts
from leaguekit.sim.workers import InlinePool, ProcessPool, WorkerPool, WorkersLost

MAX_JOBS = 1_000
# With --resume, the simulation is saved at this interval, in case that it is killed.
SAVE_SECONDS = 10.0
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d{1,5}")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=at_least(1),
        help="play in N processes (default: one per core, or this one only if that is faster)",
    )
    parser.add_argument(
        "--cluster",
        metavar="tls://HOST:8786",
        type=_scheduler,
        help="play on the Dask cluster with this scheduler (extra `dask`); docs/how-to.md says how to start one",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        type=Path,
        help="continue the simulation in FILE if there is one, and keep it there",
    )


def _scheduler(text: str) -> str:
    """The type of --cluster."""
    if _ADDRESS.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"it must be tls://HOST:PORT or tcp://HOST:PORT, got {text!r}")
    return text


def pool_of(options: argparse.Namespace) -> WorkerPool | None:
    """Return the pool that the options ask for; None to decide by the duration. Raises CommandError."""
    if options.cluster is not None:
        if options.jobs is not None:
            raise CommandError("--jobs is for this computer, and --cluster for others: leave out one of them")
        return Cluster(options.cluster)
    if options.jobs is None:
        return None
    if options.jobs > MAX_JOBS:
        raise CommandError(f"--jobs {options.jobs} is too many: it must be at most {MAX_JOBS}")
    return InlinePool() if options.jobs == 1 else ProcessPool(options.jobs)


# What parts are counted in.
CountedT = TypeVar("CountedT", LeagueTotals, PairedTest)


class SimulationRun(Generic[CountedT]):
    """Plays seeds, counts them, and saves what there is so far. Raises CommandError."""

    def __init__(self, options: argparse.Namespace, setup: SimulationSetup, counted: CountedT) -> None:
        self._options = options
        self.progress = Progress(quiet=options.json)
        self.is_interrupted = False
        # The command that continues after Ctrl-C.
        self.resume_command = ""
        # With what was counted before, if it is continued.
        self.simulation = SavedSimulation(
            setup=setup, first_seed=options.seed, counted=counted, seconds=0.0, cpu_seconds=0.0
        )
        if options.resume is not None and (saved := load(options.resume, self.simulation)) is not None:
            if saved.counted.count > options.seeds:
                raise CommandError(
                    f"--resume {options.resume} has {saved.counted.count} seeds already: use --seeds "
                    f"{saved.counted.count} or more"
                )
            self.simulation = saved
            self.progress.seconds, self.progress.cpu_seconds = saved.seconds, saved.cpu_seconds
        # Of the same kind, because it is the same simulation.
        self.counted: CountedT = cast("CountedT", self.simulation.counted)
        leagues = self.simulation.counted
        has_payoffs = isinstance(leagues, LeagueTotals) and leagues.payoffs is not None
        self.matches = MatchesFile(options.out, self.simulation.matches, has_payoffs=has_payoffs)

    @property
    def count(self) -> int:
        """How many seeds are counted."""
        return self.counted.count

    def play(
        self,
        pool: WorkerPool | None,
        share: Callable[[], float],
        describe: Callable[[float], str],
        is_decided: Callable[[], bool] = lambda: False,
    ) -> None:
        """Play until all seeds are counted, it is decided, or Ctrl-C is pressed.

        ``share`` is how much is done, and ``describe`` returns the same in words, for a number of seconds.
        """
        # Its parts are of its kind.
        counted: Any = self.counted
        end = self._options.seed + self._options.seeds
        jobs = PartJobs(self.simulation.setup, self._options.seed + self.count, end)
        failure: Exception | None = None
        with self.matches, noted_interrupts() as interrupted, self.progress:
            save_at = time.monotonic() + SAVE_SECONDS
            try:
                with closing(play_parts(jobs, pool)) as parts:
                    for part in () if is_decided() else parts:
                        if part is not None:
                            counted.add(part.result)
                            self.progress.cpu_seconds += part.cpu_seconds
                            if isinstance(part.result, LeagueTotals):
                                self.matches.add(part.result.rows)
                        if interrupted or is_decided():
                            break
                        self.progress.update(share(), lambda seconds: _join(describe(seconds), pool))
                        if self._options.resume is not None and time.monotonic() > save_at:
                            self._save(self._options.resume)
                            save_at = time.monotonic() + SAVE_SECONDS
            except (GameBrokeDown, CodeMismatch, UnusableStrategy, WorkersLost) as error:
                failure = error
            is_over = is_decided() or self.count == self._options.seeds
            self.is_interrupted = bool(interrupted) and not is_over
            if self._options.resume is not None or (self.count and not is_over):
                path = self._options.resume or self._default_path()
                self._save(path)
                if not is_over:
                    self.resume_command = _resume_command(self._options, self.simulation.setup, path)
        if failure is not None:
            self._report(failure)

    def _report(self, failure: Exception) -> None:
        """Raise CommandError because of what ended the simulation. After Ctrl-C, only print it."""
        if not self.is_interrupted:
            raise CommandError(f"{failure}{self.resume_command and f'. To continue: {self.resume_command}'}") from None
        print(sanitize_line(str(failure)), file=sys.stderr)

    def print_resume_command(self) -> None:
        if self.resume_command:
            print(f"To continue: {self.resume_command}")

    def resume_figures(self) -> dict[str, str]:
        """The same for ``--json``."""
        return {"resume": self.resume_command} if self.resume_command else {}

    def _save(self, path: Path) -> None:
        self.simulation.seconds, self.simulation.cpu_seconds = self.progress.spent()
        self.simulation.matches = self.matches.written()
        save(path, self.simulation)

    def _default_path(self) -> Path:
        """A file in the current folder. The same simulation has the same file."""
        setup = msgspec.json.encode((self.simulation.setup, self.simulation.first_seed), order="sorted")
        return Path(f"simulation-{hashlib.sha256(setup).hexdigest()[:8]}.json")


def _join(described: str, pool: WorkerPool | None) -> str:
    where = "" if pool is None else pool.describe()
    return f"{described}, {where}" if where else described


def _resume_command(options: argparse.Namespace, setup: SimulationSetup, path: Path) -> str:
    given: dict[str, object] = {
        "--game": setup.game if setup.game != DEFAULT_GAME else None,
        "--strategies": ",".join(setup.strategies),
        "--players": None if setup.in_pairs else setup.players,
        "--seeds": options.seeds,
        "--seed": options.seed,
        "--until": options.until and f"sprt={options.until.low:g},{options.until.high:g}",
        "--format": options.format,
        "--rounds": options.rounds,
        "--out": options.out,
        "--jobs": options.jobs,
        "--cluster": options.cluster,
        "--resume": path,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    flags = [f"--{name}" for name in ("fresh", "json") if getattr(options, name)]
    return shlex.join(["league", "simulate", *words, *flags])
