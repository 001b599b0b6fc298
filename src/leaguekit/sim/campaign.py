"""Many simulated leagues, one a seed: how far they are, what went wrong, and the command that replays it."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

from leaguekit.games import GAMES
from leaguekit.player.strategies import STRATEGIES, strategies_for
from leaguekit.sim.checks import violations
from leaguekit.sim.faults import Kinds, plan_for
from leaguekit.sim.outcome import Cast, Outcome
from leaguekit.sim.runner import play

# Faults beyond so many are not shown whole; they are mostly the same one.
MAX_SHOWN = 5
# So much of what happened last is shown of a seed among many; of a seed alone, everything that is kept.
TAIL = 40
_SHOW_EVERY = 0.5


class Options(Protocol):
    """What a campaign is told, as ``league simulate`` reads it."""

    players: int
    referees: int
    game: str
    strategies: list[str]
    # How many seeds, and the first.
    seeds: int
    seed: int
    faults: Kinds
    json: bool


class Trial(NamedTuple):
    """One league to be tried."""

    seed: int
    cast: Cast
    faults: Kinds

    @property
    def command(self) -> str:
        """What replays it."""
        cast = self.cast
        return (
            f"league simulate --faults {self.faults} --players {cast.players} --referees {cast.referees} "
            f"--game {cast.game} --strategies {','.join(cast.strategies)} --seed {self.seed} --seeds 1"
        )


class Tried(NamedTuple):
    """What came of it."""

    trial: Trial
    outcome: Outcome
    violations: list[str]

    @property
    def digest(self) -> str:
        """The fingerprint of its log: the same for the same seed, always and everywhere."""
        return hashlib.sha256(b"\n".join(self.outcome.events)).hexdigest()


@dataclass(slots=True)
class Totals:
    """What a campaign has come to so far."""

    seeds: int = 0
    matches: int = 0
    events: int = 0
    exchanges: int = 0
    crashes: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    failed: list[Tried] = field(default_factory=list)

    def add(self, tried: Tried) -> None:
        cast, outcome = tried.trial.cast, tried.outcome
        self.seeds += 1
        self.matches += cast.players * (cast.players - 1) // 2
        self.events += len(outcome.events)
        self.exchanges += outcome.exchanges
        self.crashes += outcome.crashes
        self.injected.update(outcome.injected)
        if tried.violations:
            self.failed.append(tried)


def try_out(trial: Trial) -> Tried:
    """Play one league, and see what is wrong with it."""
    plan = plan_for(trial.seed, trial.faults, trial.cast.agents())
    outcome = play(plan, trial.cast)
    return Tried(trial, outcome, violations(outcome, trial.cast, trial.faults))


def run_campaign(options: Options) -> int:
    """Try as many seeds as asked; the exit code: 1 if something is wrong with any of them."""
    strategies = tuple(options.strategies)
    cast = Cast(players=options.players, referees=options.referees, game=options.game, strategies=strategies)
    seeds = range(options.seed, options.seed + options.seeds)
    return report((Trial(seed, cast, options.faults) for seed in seeds), options.seeds, as_json=options.json)


def soak(minutes: float, first: int = 1, *, least: int = 1, as_json: bool = False) -> int:
    """Try one seed after the other for so long, but so many at least; each has a league and faults of its own."""
    until = time.monotonic() + minutes * 60

    def trials() -> Iterator[Trial]:
        seed = first
        while time.monotonic() < until or seed < first + least:
            yield varied(seed)
            seed += 1

    return report(trials(), None, as_json=as_json)


def varied(seed: int) -> Trial:
    """A league of a seed's own choosing."""
    chance = Random(f"soak:{seed}")  # noqa: S311 - it must come again
    names = sorted(STRATEGIES)
    players, referees, game = chance.randint(2, 8), chance.randint(1, 3), chance.choice(sorted(GAMES))
    chosen = [chance.choice(names) for _ in range(chance.randint(1, 4))]
    # From the same chance for every game, so that a seed keeps its league.
    strategies = tuple(name if name in strategies_for(game) else "random" for name in chosen)
    cast = Cast(players=players, referees=referees, game=game, strategies=strategies)
    faults: Kinds = chance.choice(("network", "crash", "all", "all"))
    if Random(f"outage:{seed}").random() < 0.2:  # noqa: S311 - not from that chance, so that most seeds keep their faults
        faults = "outage"
    return Trial(seed, cast, faults)


def report(trials: Iterable[Trial], count: int | None, *, as_json: bool) -> int:
    """Try leagues, telling how it goes, what failed, and in the end what it came to."""
    totals = Totals()
    began = time.monotonic()
    progress = _Progress(totals, count, began)
    interrupted = False
    try:
        for trial in trials:
            tried = try_out(trial)
            totals.add(tried)
            if tried.violations and not as_json:
                progress.clear()
                _tell("\n".join(_told(tried, None if count == 1 else TAIL)))
            progress.show()
    except KeyboardInterrupt:
        interrupted = True
    progress.clear()
    seconds = time.monotonic() - began
    _tell(json.dumps(_as_json(totals, seconds)) if as_json else "\n".join(_summary(totals, seconds)))
    return 130 if interrupted else 1 if totals.failed else 0


class _Progress:
    """One line on the terminal, if there is one."""

    def __init__(self, totals: Totals, count: int | None, began: float) -> None:
        self._totals = totals
        self._of = "" if count is None else f" of {count:,}"
        self._began = self._shown = began
        self._terminal = sys.stderr.isatty()

    def show(self) -> None:
        now = time.monotonic()
        if self._terminal and now - self._shown > _SHOW_EVERY:
            self._shown = now
            totals, rate = self._totals, self._totals.seeds / (now - self._began)
            sys.stderr.write(f"\r{totals.seeds:,}{self._of} seeds, {len(totals.failed)} failed, {rate:.1f} a second ")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _told(tried: Tried, tail: int | None) -> list[str]:
    more, last = len(tried.violations) - MAX_SHOWN, tried.outcome.tail()
    return [
        f"seed {tried.trial.seed} failed:",
        *(f"  {line}" for line in tried.violations[:MAX_SHOWN]),
        *([f"  and {more} more"] if more > 0 else []),
        "  what happened last:",
        *(f"    {line}" for line in last[-tail if tail else 0 :]),
        f"  to replay it: {tried.trial.command}",
    ]


def _summary(totals: Totals, seconds: float) -> list[str]:
    rate = totals.seeds / max(seconds, 0.001)
    injected = ", ".join(f"{kind} {count:,}" for kind, count in sorted(totals.injected.items())) or "none"
    failed = [str(one.trial.seed) for one in totals.failed]
    return [
        f"{totals.seeds:,} seeds in {seconds:.0f} s ({rate:.1f} a second), {len(failed)} failed"
        + (f": {', '.join(failed[:20])}" if failed else ""),
        f"{totals.matches:,} matches, {totals.exchanges:,} exchanges, {totals.events:,} events",
        f"{totals.crashes:,} crashes; other faults: {injected}",
    ]


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
            {"seed": one.trial.seed, "violations": one.violations, "replay": one.trial.command} for one in totals.failed
        ],
    }
