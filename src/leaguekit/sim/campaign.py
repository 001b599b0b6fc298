"""Runs many simulated leagues, one per seed. Reports progress, violations, and the commands that replay failures.

The leagues are played by workers, in any number of processes. What is printed comes in the order of the seeds.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from leaguekit.player.strategies import strategies_for
from leaguekit.sim.checks import find_violations
from leaguekit.sim.faults import MEANINGS, FaultKind, make_fault_plan
from leaguekit.sim.interrupts import noted_interrupts, raise_noted
from leaguekit.sim.jobs import run_in_order
from leaguekit.sim.outcome import LeagueSetup, Outcome
from leaguekit.sim.runner import play
from leaguekit.sim.workers import InlinePool, WorkerPool

# In this game chance moves in every turn, and the record of a match is too long for its report.
LONG_GAME = "prisoners_dilemma(turns=300, noise=0.1)"
# The games of random leagues.
GAMES = ("even_odd", "rock_paper_scissors", "tic_tac_toe", "connect_four", "prisoners_dilemma(turns=20)", LONG_GAME)
# The formats of random leagues, apart from the single round-robin.
FORMATS = ("swiss", "knockout", "knockout(best_of=3, third_place=True)", "gauntlet", "round_robin(legs=2)")
# The first bytes of the events that end a match.
_ENDS_OF_MATCHES = (b'{"event":"ResultRecorded"', b'{"event":"MatchForfeited"')
# Only this number of violations is printed per league: more are mostly repetitions.
MAX_PRINTED_VIOLATIONS = 5
# Only this number of log lines is printed per failed league. If the campaign has one league, all are printed.
MAX_LOG_LINES = 40
_PROGRESS_SECONDS = 0.5
SUCCESS = (
    "In every league all matches have a result, which counts once and is what the rules make of the moves. The table "
    "follows from the results, and is what the players were sent. No agent failed by itself."
)
FAILURES = (
    "A league has failed if it did not end, if its log or its table breaks a rule, if a player was sent another "
    "result, or if an agent failed by itself. `to replay it` is the command that plays it again."
)


class Scenario(NamedTuple):
    """A league to simulate: its seed, its participants and the kind of its faults."""

    seed: int
    setup: LeagueSetup
    faults: FaultKind

    def command(self, seeds: int = 1) -> str:
        """The command that plays this league, and those of the following seeds."""
        setup = self.setup
        return (
            f"league simulate --faults {self.faults} --players {setup.players} --referees {setup.referees} "
            f"--game {shlex.quote(setup.game)} {_format_option(setup)}"
            f"--strategies {','.join(setup.strategies)} --seed {self.seed} --seeds {seeds}"
        )


def _format_option(setup: LeagueSetup) -> str:
    return "" if setup.format is None else f"--format {shlex.quote(setup.format)} "


class ScenarioResult(NamedTuple):
    """The outcome of a scenario, and everything that is wrong with it."""

    scenario: Scenario
    outcome: Outcome
    violations: list[str]

    @property
    def digest(self) -> str:
        """A hash of the event log. It is always the same for the same scenario."""
        return hashlib.sha256(b"\n".join(self.outcome.events)).hexdigest()


class ScenarioCounts(NamedTuple):
    """What a scenario has come to, as pure data."""

    scenario: Scenario
    violations: list[str]
    matches: int
    events: int
    exchanges: int
    crashes: int
    injected: dict[str, int]
    # What happened last, if there is a violation.
    log: list[str]


@dataclass(slots=True)
class Totals:
    """The totals of a campaign so far."""

    seeds: int = 0
    matches: int = 0
    events: int = 0
    exchanges: int = 0
    crashes: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    failed: list[ScenarioCounts] = field(default_factory=list)
    # What the leagues were.
    setups: set[LeagueSetup] = field(default_factory=set)

    def add(self, counts: ScenarioCounts) -> None:
        self.setups.add(counts.scenario.setup)
        self.seeds += 1
        self.matches += counts.matches
        self.events += counts.events
        self.exchanges += counts.exchanges
        self.crashes += counts.crashes
        self.injected.update(counts.injected)
        if counts.violations:
            self.failed.append(counts)


def run_scenario(scenario: Scenario) -> ScenarioResult:
    """Simulate one league and check its outcome."""
    setup = scenario.setup
    outcome = play(make_fault_plan(scenario.seed, scenario.faults, setup.agent_names(), setup.late_rounds), setup)
    return ScenarioResult(scenario, outcome, find_violations(outcome, scenario.setup, scenario.faults))


def count_scenario(scenario: Scenario) -> ScenarioCounts:
    """Simulate one league and check it. This is the job of a worker."""
    _, outcome, violations = run_scenario(scenario)
    return ScenarioCounts(
        scenario,
        violations,
        sum(text.startswith(_ENDS_OF_MATCHES) for text in outcome.events),
        len(outcome.events),
        outcome.exchanges,
        outcome.crashes,
        outcome.injected,
        outcome.recent_log() if violations else [],
    )


def soak(
    minutes: float, first: int = 1, *, min_seeds: int = 1, as_json: bool = False, pool: WorkerPool | None = None
) -> int:
    """Simulate random leagues with random faults for some minutes, and at least ``min_seeds`` of them."""
    until = time.monotonic() + minutes * 60

    def scenarios() -> Iterator[Scenario]:
        seed = first
        while time.monotonic() < until or seed < first + min_seeds:
            yield random_scenario(seed)
            seed += 1

    return run_campaign(scenarios(), None, as_json=as_json, pool=pool)


def random_scenario(seed: int) -> Scenario:
    """A league whose setup and kind of faults are derived from the seed."""
    rng = Random(f"soak:{seed}")  # noqa: S311 - it must be reproducible
    game = rng.choice(GAMES)
    players, referees = rng.randint(2, 4 if game == LONG_GAME else 8), rng.randint(1, 3)
    # A league of `search` takes a minute, and tests no more of the system.
    names = [name for name in strategies_for(game) if name != "search"]
    strategies = tuple(rng.choice(names) for _ in range(rng.randint(1, 4)))
    faults: FaultKind = rng.choice(("network", "crash", "outage", "all", "all"))
    text = rng.choice(FORMATS) if rng.random() < 0.3 else None
    if rng.random() < 0.15:
        faults = "standby"
    setup = LeagueSetup(players=players, referees=referees, game=game, strategies=strategies, format=text)
    return Scenario(seed, setup, faults)


def run_campaign(
    scenarios: Iterable[Scenario],
    count: int | None,
    *,
    as_json: bool,
    pool: WorkerPool | None = None,
    command_of_rest: Callable[[int], str] | None = None,
) -> int:
    """Simulate leagues, and print the progress, the failures and finally the totals. Returns the exit code.

    Without a pool they are simulated in this process. ``command_of_rest`` gives the command that plays all leagues
    but the first ones, which Ctrl-C has left.
    """
    totals = Totals()
    began = time.monotonic()
    progress = _Progress(totals, count, began)
    with noted_interrupts() as interrupted, suppress(KeyboardInterrupt), pool or InlinePool() as workers:
        for counts in run_in_order(workers, count_scenario, iter(scenarios)):
            if counts is not None:
                totals.add(counts)
                if counts.violations and not as_json:
                    progress.clear()
                    _print("\n".join(_describe_failure(counts, None if count == 1 else MAX_LOG_LINES)))
            progress.update()
            raise_noted()
    progress.clear()
    seconds = time.monotonic() - began
    _print(json.dumps(_as_json(totals, seconds)) if as_json else "\n".join(_summary(totals, seconds)))
    if interrupted and command_of_rest is not None and totals.seeds != count and not as_json:
        _print(f"To play the others: {command_of_rest(totals.seeds)}")
    return 130 if interrupted else 1 if totals.failed else 0


class _Progress:
    """One line of progress, if standard error is a terminal."""

    def __init__(self, totals: Totals, count: int | None, began: float) -> None:
        self._totals = totals
        self._of = "" if count is None else f" of {count:,}"
        self._began = self._updated = began
        self._is_terminal = sys.stderr.isatty()

    def update(self) -> None:
        now = time.monotonic()
        if self._is_terminal and now - self._updated > _PROGRESS_SECONDS:
            self._updated = now
            totals, rate = self._totals, self._totals.seeds / (now - self._began)
            sys.stderr.write(f"\r{totals.seeds:,}{self._of} seeds, {len(totals.failed)} failed, {rate:.1f} per second ")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _describe_failure(result: ScenarioCounts, max_log_lines: int | None) -> list[str]:
    more = len(result.violations) - MAX_PRINTED_VIOLATIONS
    return [
        f"seed {result.scenario.seed} failed:",
        *(f"  {line}" for line in result.violations[:MAX_PRINTED_VIOLATIONS]),
        *([f"  and {more} more"] if more > 0 else []),
        "  what happened last:",
        *(f"    {line}" for line in result.log[-max_log_lines if max_log_lines else 0 :]),
        f"  to replay it: {result.scenario.command()}",
    ]


def _summary(totals: Totals, seconds: float) -> list[str]:
    rate = totals.seeds / max(seconds, 0.001)
    failed = [str(one.scenario.seed) for one in totals.failed]
    width = max(map(len, totals.injected), default=0)
    return [
        *(_describe_setup(setup) for setup in totals.setups if len(totals.setups) == 1),
        f"{totals.seeds:,} seeds in {seconds:.0f} s ({rate:.1f} per second), {len(failed)} failed"
        + (f": {', '.join(failed[:20])}" if failed else ""),
        f"{totals.matches:,} matches, {totals.exchanges:,} exchanges, {totals.events:,} events",
        f"{totals.crashes:,} crashes; other faults:{'' if totals.injected else ' none'}",
        *(f"{count:9,} {kind:{width}}  {MEANINGS.get(kind, '')}" for kind, count in sorted(totals.injected.items())),
        *([FAILURES] if failed else [SUCCESS] if totals.seeds else []),
    ]


def _describe_setup(setup: LeagueSetup) -> str:
    strategies = ", ".join(setup.strategies[: setup.players])
    return f"Leagues of {setup.game} with {setup.players} players ({strategies}) and {setup.referees} referees"


def _as_json(totals: Totals, seconds: float) -> dict[str, Any]:
    return {
        "seeds": totals.seeds,
        "seconds": round(seconds, 3),
        "matches": totals.matches,
        "exchanges": totals.exchanges,
        "events": totals.events,
        "crashes": totals.crashes,
        "faults": dict(sorted(totals.injected.items())),
        "failed": [
            {"seed": one.scenario.seed, "violations": one.violations, "replay": one.scenario.command()}
            for one in totals.failed
        ],
    }
