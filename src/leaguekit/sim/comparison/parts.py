"""Plays the seeds of a simulation in parts: here, in other processes or on a cluster, with the same result.

A part is sums of integers, and what has an order is merged in the order of the seeds. So the result depends neither on
the size of the parts nor on where they are played.
"""

from __future__ import annotations

import hashlib
import platform
import threading
import time
from collections.abc import Generator, Iterator
from math import ceil
from pathlib import Path

from msgspec import Struct

from leaguekit import __version__
from leaguekit.agents.format_loading import load_format, module_of_format
from leaguekit.agents.game_loading import NoSuchGame, load_game, module_of_game
from leaguekit.formats import FormatError
from leaguekit.league.settings import Settings
from leaguekit.player.move_limit import move_timeout
from leaguekit.player.strategies import CannotPlay, check_can_play
from leaguekit.player.strategy_loading import NoSuchStrategy, load, module_of_strategy
from leaguekit.sim.comparison.leagues import Comparison, LeagueTotals
from leaguekit.sim.comparison.offline_league import CALLER, Entrant
from leaguekit.sim.comparison.pairs import PairedGames, PairResults
from leaguekit.sim.interrupts import is_interrupted
from leaguekit.sim.jobs import run_in_order
from leaguekit.sim.workers import InlinePool, ProcessPool, WorkerPool, available_cores

# The intended duration of a part. It is long compared with the effort of sending it to a worker, and short enough that
# Ctrl-C and the display of the progress react at once.
PART_SECONDS = 0.25
# This process plays alone for MIN_SECONDS. Then it knows how long the rest would take. If that is more than
# MIN_SECONDS_LEFT, several processes play the rest. Each of them takes 0.3 s to start.
MIN_SECONDS = 0.5
MIN_SECONDS_LEFT = 2.0


class CodeMismatch(Exception):
    """A worker would play other code than this process. The text says which, and what to do."""


class SimulationSetup(Struct, frozen=True):
    """What is simulated, by names: every process loads the game and the strategies by itself."""

    settings: Settings
    # As the user names it.
    game: str
    strategies: tuple[str, ...]
    players: int
    fresh: bool = False
    as_named: bool = False
    # Pairs of games between two strategies instead of leagues.
    in_pairs: bool = False
    with_matches: bool = False
    # The hashes of code that is not ours.
    code: dict[str, str] = {}

    def load(self) -> Comparison | PairedGames:
        """Raises what the loading of games and of strategies raises, and CodeMismatch."""
        load_game(self.game)
        load_format(self.settings.format_text)
        functions = [load(name) for name in self.strategies]
        for name, function in zip(self.strategies, functions, strict=True):
            check_can_play(name, function, self.settings.game_type)
        if changed := sorted(
            set(hash_code(self.game, self.settings.format_text, self.strategies).items()) ^ set(self.code.items())
        ):
            raise CodeMismatch(
                f"{changed[0][0]} is not the same on {platform.node()} as where the simulation began. "
                "Use the same version everywhere, and do not change it meanwhile"
            )
        entrants = [Entrant(*one) for one in zip(self.strategies, functions, strict=True)]
        if self.in_pairs:
            return PairedGames(self.settings.game_type, *entrants)
        return Comparison(
            self.settings.game_type,
            entrants,
            self.players,
            fresh=self.fresh,
            as_named=self.as_named,
            settings=self.settings,
        )


def hash_code(game: str, league_format: str, strategies: tuple[str, ...]) -> dict[str, str]:
    """The version of leaguekit, and the hash of each file of other authors that is used."""
    modules = {game: module_of_game(game), league_format: module_of_format(league_format)}
    modules |= {name: module_of_strategy(name) for name in strategies}
    files = {name: getattr(module, "__file__", None) for name, module in modules.items()}
    hashes = {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items() if file}
    return {"leaguekit": __version__} | hashes


class PartJob(Struct, frozen=True):
    """The job of a part: to play ``count`` seeds, from ``first`` on."""

    setup: SimulationSetup
    first: int
    count: int

    def __str__(self) -> str:
        return f"seed {self.first}" if self.count == 1 else f"seeds {self.first} to {self.first + self.count - 1}"


class Part(Struct):
    """The result of the seeds of a job."""

    result: LeagueTotals | PairResults
    # The number of seeds. It is smaller than that of the job if Ctrl-C was pressed.
    count: int
    seconds: float
    cpu_seconds: float


# The simulation that this thread played last, with its caches. A Dask worker may have several threads.
_latest = threading.local()
_loading = threading.Lock()


def play_part(job: PartJob) -> Part:
    """Play the seeds of a job. Raises what ``SimulationSetup.load`` raises, and UnusableStrategy."""
    began, cpu_began = time.perf_counter(), time.thread_time()
    if getattr(_latest, "setup", None) != job.setup:
        with _loading:
            remember_simulation(job.setup, _load(job.setup))
    simulation: Comparison | PairedGames = _latest.simulation
    seeds = range(job.first, job.first + job.count)
    result: LeagueTotals | PairResults
    with move_timeout(CALLER, is_ending=is_interrupted):
        if isinstance(simulation, Comparison):
            result = simulation.play_leagues(seeds, with_matches=job.setup.with_matches)
        else:
            result = simulation.play_pairs(seeds)
    return Part(result, result.count, time.perf_counter() - began, time.thread_time() - cpu_began)


def _load(setup: SimulationSetup) -> Comparison | PairedGames:
    try:
        return setup.load()
    except (FormatError, NoSuchGame, NoSuchStrategy, CannotPlay) as error:
        raise CodeMismatch(
            f"A worker on {platform.node()} cannot play this: {error} Every worker needs the same files in its working "
            "folder, and the same packages"
        ) from None


def remember_simulation(setup: SimulationSetup, simulation: Comparison | PairedGames) -> None:
    """Keep a simulation, so that this thread does not load it again for parts of this setup."""
    _latest.setup, _latest.simulation = setup, simulation


class PartJobs(Iterator[PartJob]):
    """The jobs for all seeds: parts of about the same duration, by how long the parts before have taken."""

    def __init__(self, setup: SimulationSetup, first: int, end: int) -> None:
        self._setup = setup
        self._next, self._end = first, end
        self._size = 1
        self._count, self._seconds = 0, 0.0
        # The number of parts that are submitted at the same time.
        self.max_pending = 1

    def __next__(self) -> PartJob:
        left = self._end - self._next
        if left <= 0:
            raise StopIteration
        job = PartJob(self._setup, self._next, min(self._size, ceil(left / self.max_pending)))
        self._next += job.count
        return job

    def learn(self, part: Part) -> None:
        """Use the duration of a part for the sizes of the next."""
        self._count += part.count
        self._seconds += part.seconds
        if part.count:
            fitting = int(PART_SECONDS * part.count / max(part.seconds, 1e-9))
            self._size = max(1, min(2 * self._size, fitting))

    @property
    def seconds_left(self) -> float:
        """How long one process would take for the rest."""
        return (self._end - self._next) * self._seconds / max(1, self._count)


def play_parts(jobs: PartJobs, pool: WorkerPool | None) -> Generator[Part | None]:
    """Play all parts and yield them in order; None if there was none for a moment.

    Without a pool, this process plays the first parts, and then all cores do if that is faster.
    """
    if pool is None:
        began = time.perf_counter()
        with (here := InlinePool()):
            for part in _play(jobs, here):
                yield part
                if jobs.seconds_left > MIN_SECONDS_LEFT and time.perf_counter() - began > MIN_SECONDS:
                    break
            else:
                return
        # Each process is to play for a second or more.
        count = min(available_cores(), max(2, int(jobs.seconds_left)))
        pool = InlinePool() if count == 1 else ProcessPool(count)
    with pool:
        yield from _play(jobs, pool)


def _play(jobs: PartJobs, pool: WorkerPool) -> Iterator[Part | None]:
    for part in run_in_order(pool, play_part, jobs):
        jobs.max_pending = pool.max_pending
        if part is not None:
            jobs.learn(part)
            if pool.is_inline:
                # The caller measures this process itself.
                part.cpu_seconds = 0.0
        yield part
