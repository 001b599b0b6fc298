"""All benchmarks in one run: ``make bench``, or with QUICK=1 less of each.

limit      the exchanges of a league, between as many processes, with raw sockets and nothing else: on uvloop, which
           the league's programs use, and on asyncio's own loop
field      the same on FastAPI, uvicorn and httpx
league     real leagues: every agent a forked process, as in `league run`, or all players in one; every result durable
growth     what a match takes of the processors in a league of 200 against one of 20, broadcasts apart
thousand   matches per second, and what they take of the processors, with 1,000 players against 20 (not with QUICK)
query      queries and reports per second, against the same server answering a constant
broadcast  what it takes the manager to tell 100 players of new standings
simulate   simulated matches per second, against Axelrod
jobs       what all cores gain for simulations against one, and what they cost (not with QUICK)
dilemma    the same tournament of the prisoner's dilemma by ``league simulate`` and by Axelrod
start      from ``league run`` to its first match
messages   reading and writing messages, against Pydantic (not with QUICK)
mcp        what real MCP costs a server, and a call by it (not with QUICK)
specified  the times that the specification gives limits for (not with QUICK)

Everything takes turns, and turns are made as long as there is time. The last line of the output is one JSON object.
``python benchmarks PART …`` measures only some parts. Progress goes to stderr. What is measured more rarely has
programs of its own: durable.py, memory.py, slow_moves.py, spectators.py and stores.py. jobs.py kills the processes of
a simulation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import jobs
import leagues
import queries
import simulation
from leagues import Shape
from observed import observe, round_trips
from programs import HERE, data_folder, kill_all, middle, spread, told
from rates import Growth, Rates

QUICK = bool(os.environ.get("QUICK"))
# No step begins that would be over later, by what it took before.
SECONDS = 55.0 if QUICK else 540.0
MAX_TURNS = 3 if QUICK else 7
APART = (Shape(10, 2, warm_up=2),) if QUICK else (Shape(4, 2), Shape(20, 2, warm_up=2), Shape(50, 4, warm_up=2))
TOGETHER = () if QUICK else (Shape(20, 2, True, warm_up=2), Shape(200, 4, True, rounds=8, warm_up=2))
SMALL = Shape(20, 2, True, warm_up=2)
LARGE = Shape(200, 4, True, rounds=4 if QUICK else 8, warm_up=1 if QUICK else 2)
THOUSAND = Shape(1_000, 2, True, rounds=2 if QUICK else 3, warm_up=1)
# What is started, and how often.
MAX_STARTS = {Shape(4, 2): MAX_TURNS} | ({} if QUICK else {Shape(50, 4): 2})
ASKED_TURNS, TOLD_TIMES, SIMULATED_LEAGUES, AXELROD_ROUNDS = (3, 2, 20, 1) if QUICK else (5, 4, 60, 3)
REPETITIONS = 10 if QUICK else 20
OBSERVED = Shape(20, 2)
FIELD_NEEDS = ("fastapi", "httpx")
# Measured once, and not with QUICK.
RARE = ("thousand", "jobs", "messages", "mcp", "specified")
PARTS = ("league", "field", "growth", "query", "broadcast", "simulate", "dilemma", "start", *RARE)
GOALS = {
    "share_of_limit": "≥ 0.2",
    "cpu_ms": "≤ 3.0",
    "servers_cpu_ms": "≤ 1.5",
    "times_field": "≥ 12",
    "query_share": "≥ 0.7",
    "broadcast_ms": "< 20",
    "growth_20_to_200": "≤ 1.2",
    "thousand_rate_ratio": "≥ 1",
    "thousand_cpu_ratio": "≤ 1.5",
    "start_s": "≤ 1.2",
    "mb_per_player": "≤ 40",
    "mb_per_player_together": "≤ 2",
    "times_axelrod": "≥ 10",
    "jobs_of_linear": "≥ 0.9",
    "jobs_times_cpu": "≤ 1.1",
    "dilemma_times_axelrod": "≥ 1",
    "round_trip_ms": "< 500",
    "query_ms": "< 1,000",
    "standings_ms": "< 5,000",
}


@dataclass
class Step:
    """Something that is measured again and again, with a few words about it. ``took`` is in seconds."""

    name: str
    do: Callable[[], str]
    most: int = MAX_TURNS
    took: float = 1.0 if QUICK else 10.0
    done: int = 0


@dataclass
class Figures:
    """All that is measured, until it ``ends``."""

    ends: float
    rates: list[Rates] = field(default_factory=lambda: [Rates(shape) for shape in (*APART, *TOGETHER)])
    growth: Growth = field(default_factory=lambda: Growth(SMALL, LARGE, silent=True))
    thousand: Growth = field(default_factory=lambda: Growth(SMALL, THOUSAND, silent=False))
    queries: list[float] = field(default_factory=list)
    query_share: list[float] = field(default_factory=list)
    query_cpu_share: list[float] = field(default_factory=list)
    reports: list[float] = field(default_factory=list)
    report_share: list[float] = field(default_factory=list)
    broadcast_ms: list[float] = field(default_factory=list)
    simulate: list[float] = field(default_factory=list)
    axelrod: list[float] = field(default_factory=list)
    times_axelrod: list[float] = field(default_factory=list)
    gains: dict[str, list[jobs.Gain]] = field(default_factory=lambda: {game: [] for game in jobs.GAMES})
    no_axelrod: str = "there was no time for it"
    dilemma: list[simulation.Tournaments] = field(default_factory=list)
    no_dilemma: str = "there was no time for it"
    starts: dict[int, list[float]] = field(default_factory=lambda: {shape.players: [] for shape in MAX_STARTS})
    messages: dict[str, Any] = field(default_factory=dict)
    mcp: dict[str, float] = field(default_factory=dict)
    specified: dict[str, list[float]] = field(default_factory=dict)

    @property
    def largest(self) -> Rates:
        """The league that the headline figures are of."""
        return self.rates[len(APART) - 1]

    def ask(self) -> str:
        found = queries.queries(ASKED_TURNS)
        self.queries += found.manager
        self.query_share += found.shares
        self.query_cpu_share.append(found.constant_cpu / found.manager_cpu)
        return f"{middle(found.manager):,.0f} queries a second, {middle(found.shares):.2f} of a constant's"

    def report(self) -> str:
        found = queries.reports(ASKED_TURNS)
        self.reports += found.manager
        self.report_share += found.shares
        return f"{middle(found.manager):,.0f} reports per second"

    def tell_all(self) -> str:
        found = told(str(HERE / "standings_broadcast.py"), str(TOLD_TIMES))["cpu_ms"]
        self.broadcast_ms += found
        return f"{middle(found):.1f} ms"

    def simulated(self) -> str:
        self.simulate.append(simulation.simulated(SIMULATED_LEAGUES))
        return f"{self.simulate[-1]:,.0f} matches per second"

    def gain(self, game: str) -> str:
        self.gains[game].append(found := jobs.gain(game))
        return f"{found.of_linear:.2f} of a linear speed-up, {found.times_cpu:.2f} times the CPU"

    def against_axelrod(self) -> str:
        rate = simulation.of_axelrod(AXELROD_ROUNDS, max(1.0, self.ends - time.monotonic()))
        if isinstance(rate, str):
            self.no_axelrod = rate
            return rate
        self.axelrod.append(rate)
        self.times_axelrod.append(self.simulate[-1] / rate)
        return f"{rate:,.0f} matches per second"

    def play_dilemma(self) -> str:
        found = simulation.tournaments(REPETITIONS, max(1.0, self.ends - time.monotonic()))
        if isinstance(found, str):
            self.no_dilemma = found
            return found
        self.dilemma.append(found)
        return f"{found.our_rate:,.0f} matches per second, Axelrod {found.axelrod_rate:,.0f}"

    @property
    def dilemma_times(self) -> list[float]:
        return [one.our_rate / one.axelrod_rate for one in self.dilemma]

    @property
    def dilemma_tournament_times(self) -> list[float]:
        return [one.our_rate / one.axelrod_tournament_rate for one in self.dilemma]

    def start(self, shape: Shape) -> str:
        self.starts[shape.players].append(leagues.start_seconds(shape.players, shape.referees))
        return f"{self.starts[shape.players][-1]:.2f} s"

    def read_and_write(self) -> str:
        self.messages = told(str(HERE / "protocol.py"))
        return f"{len(self.messages['times_pydantic'])} kinds"

    def by_mcp(self) -> str:
        self.mcp = told(str(HERE / "real_mcp.py"), QUICK="1")
        return f"{self.mcp['our MCP client: a second']:,.0f} calls a second"

    def observe(self) -> str:
        with data_folder() as folder:
            asked, standings = asyncio.run(observe(OBSERVED.players, OBSERVED.referees, folder))
            found = {"round_trip_ms": round_trips(folder), "query_ms": asked, "standings_ms": standings}
        for name, seconds in found.items():
            self.specified.setdefault(name, []).extend(1e3 * one for one in seconds)
        return f"{len(asked)} queries"


def steps(figures: Figures, parts: Iterable[str]) -> list[Step]:
    """What is done in each turn, in order."""
    with_field = "field" in parts and not missing_of_field()
    found = [one for rates in figures.rates for one in steps_of(rates, with_field=with_field)]
    of_parts = {
        "league": found,
        "field": [] if "league" in parts else found,
        "growth": [Step("growth", figures.growth.play)],
        "thousand": [Step("thousand", figures.thousand.play, 3, 60.0)],
        "query": [Step("query", figures.ask), Step("query: reports", figures.report)],
        "broadcast": [Step("broadcast", figures.tell_all)],
        "start": [Step(f"start of {one.name}", partial(figures.start, one), MAX_STARTS[one]) for one in MAX_STARTS],
        "messages": [Step("messages", figures.read_and_write, 1)],
        "mcp": [Step("mcp", figures.by_mcp, 1, 30.0)],
        "specified": [Step("specified", figures.observe, 1)],
        "jobs": [Step(f"jobs of {game}", partial(figures.gain, game), 3) for game in jobs.GAMES],
        # Importing Axelrod takes this time. Its matches take almost none.
        "simulate": [Step("simulate", figures.simulated), Step("Axelrod", figures.against_axelrod, 2, 18.0)],
        "dilemma": [Step("dilemma", figures.play_dilemma, 2, 20.0)],
    }
    return [one for part, of_part in of_parts.items() if part in parts for one in of_part]


def steps_of(rates: Rates, *, with_field: bool) -> Iterable[Step]:
    name = rates.shape.name
    yield Step(f"record {name}", rates.record, 1)
    yield Step(f"league and limit of {name}", rates.play)
    if with_field and not rates.shape.together:
        yield Step(f"field of {name}", rates.play_field, 3)


def measure(todo: list[Step], turns: int, ends: float) -> None:
    """Make this number of turns, or fewer if the time ends."""
    began = time.monotonic()

    def note(text: str) -> None:
        print(f"[{time.monotonic() - began:4.0f} s] {text}", file=sys.stderr, flush=True)

    for turn in range(1, turns + 1):
        for step in todo:
            if step.done >= step.most:
                continue
            if time.monotonic() + step.took > ends:
                if not step.done:
                    note(f"turn {turn}: {step.name} is left out, for there is no time left")
                continue
            note(f"turn {turn}: {step.name} …")
            since = time.monotonic()
            note(f"turn {turn}: {step.name}: {step.do()}")
            step.took = time.monotonic() - since
            step.done += 1


def missing_of_field() -> list[str]:
    return [name for name in FIELD_NEEDS if find_spec(name) is None]


def environment() -> dict[str, Any]:
    names = ("msgspec", "httptools", "uvicorn", "uvloop", "starlette", *FIELD_NEEDS)
    return {
        "python": platform.python_version(),
        "pgo": has_pgo(),
        "cores": os.cpu_count(),
        "load": [round(one, 2) for one in os.getloadavg()],
        "versions": {name: version(name) for name in names if find_spec(name) is not None},
        "system": platform.platform(),
    }


def has_pgo() -> bool:
    """Whether this Python was built with profile-guided optimisation, with which a league takes 0.91 of the CPU.

    Debian builds with it by another option, and leaves out afterwards how.
    """
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return "--enable-optimizations" in options or not sysconfig.get_config_var("PGO_PROF_USE_FLAG")


def show_environment(found: dict[str, Any]) -> None:
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    pgo = "with" if found["pgo"] else "without"
    print(f"Python {found['python']} (built {pgo} PGO), {found['cores']} cores, {found['system']}\n{versions}")
    print(f"load at the start: {', '.join(map(str, found['load']))}")
    if found["load"][0] > (found["cores"] or 1) / 2:
        print("WARNING: this machine is busy with other things; only the ratios mean something, and they will vary.")
    if missing := missing_of_field():
        print(f"field is left out: {' and '.join(missing)} not installed (pip install {' '.join(FIELD_NEEDS)})")
    print(flush=True)


def show_rates(rates: list[Rates]) -> None:
    share, times = f"of the limit ({GOALS['share_of_limit']})", f"times the field ({GOALS['times_field']})"
    rows: list[list[Any]] = [
        [spread(one.league), spread(one.limit), spread(one.field), spread(one.share, 3)] for one in rates
    ]
    show_table("matches per second", ["league", "limit", "field", share], rates, rows)
    rows = [[spread(one.limit_asyncio), spread(one.share_asyncio, 3)] for one in rates]
    show_table("on asyncio's own loop", ["limit", "of that limit"], rates, rows)
    roles = ["manager", "referees", "players"]
    rows = [[*(spread(one.cpu_ms[role], 2) for role in roles), spread(one.mb, 2)] for one in rates]
    show_table("CPU a match, ms", [*roles, "MB a player (PSS)"], rates, rows)
    heads = [
        f"all ({GOALS['cpu_ms']} at 50)",
        f"servers ({GOALS['servers_cpu_ms']})",
        "limit",
        "field",
        times,
    ]
    rows = [
        [
            spread(one.sums_ms, 2), spread(one.servers_ms, 2), spread(one.limit_cpu_ms, 2), spread(one.field_cpu_ms, 1),
            spread(one.times, 1),
        ]
        for one in rates
    ]  # fmt: skip
    show_table("CPU a match, ms", heads, rates, rows)


def show_table(title: str, heads: list[str], rates: list[Rates], rows: list[list[Any]]) -> None:
    print(f"\n{title:24}" + "".join(f"{head:>24}" for head in heads))
    for one, row in zip(rates, rows, strict=True):
        print(f"{one.shape.name:24}" + "".join(f"{cell:>24}" for cell in row))


def show(figures: Figures) -> None:
    if any(one.league for one in figures.rates):
        show_rates(figures.rates)
    print(f"\n{'':56}{'goal':>12}{'median (least–most)':>32}{'of':>8}")
    growth = figures.growth
    show_line("queries per second", "", figures.queries)
    show_line("  of the same server answering a constant", "query_share", figures.query_share, 2)
    show_line("  the same by CPU", "", figures.query_cpu_share, 2)
    show_line("reports per second", "", figures.reports)
    show_line("  of the same server answering a constant", "", figures.report_share, 2)
    show_line("standings to 100 players, ms of the manager", "broadcast_ms", figures.broadcast_ms, 1)
    show_line("CPU a match at 20 players, broadcasts apart, ms", "", growth.small_ms, 2)
    show_line("CPU a match at 200 players, broadcasts apart, ms", "", growth.large_ms, 2)
    show_line("  growth", "growth_20_to_200", growth.ratios, 2)
    thousand = figures.thousand
    show_line("matches per second at 20 players in one process", "", thousand.small_rates)
    show_line("matches per second at 1,000 players in one process", "", thousand.large_rates)
    show_line("  times those at 20", "thousand_rate_ratio", thousand.rate_ratios, 2)
    show_line("CPU a match at 20 players, ms", "", thousand.small_ms, 2)
    show_line("CPU a match at 1,000 players, ms", "", thousand.large_ms, 2)
    show_line("  times that at 20", "thousand_cpu_ratio", thousand.ratios, 2)
    show_line("MB a player, 200 in one process (PSS)", "mb_per_player_together", growth.mb_per_player, 2)
    show_line("simulated matches per second (CPU)", "", figures.simulate)
    show_line("  Axelrod's", "", figures.axelrod)
    show_line("  times Axelrod", "times_axelrod", figures.times_axelrod, 1)
    if figures.simulate and not figures.axelrod:
        print(f"  times Axelrod is not known: {figures.no_axelrod}")
    show_dilemma(figures)
    for game, gains in figures.gains.items():
        show_line(f"{game} on all cores, of a linear speed-up", "jobs_of_linear", [one.of_linear for one in gains], 2)
        show_line("  times the CPU of one", "jobs_times_cpu", [one.times_cpu for one in gains], 2)
    for players, seconds in figures.starts.items():
        show_line(f"start, {players} players, s", "start_s" if players <= 4 else "", seconds, 2)
    for name, times in figures.messages.get("times_pydantic", {}).items():
        show_line(f"{name} read and written, times Pydantic", "", [times], 2)
    for name, figure in figures.mcp.items():
        show_line(f"MCP, {name}", "", [figure], 2)
    for name, found in figures.specified.items():
        show_line(f"{name.replace('_', ' ')}, {OBSERVED.players} players", name, found, 1)


def show_dilemma(figures: Figures) -> None:
    if not figures.dilemma:
        return
    turns = simulation.TURNS
    show_line(
        f"prisoner's dilemma, {turns} turns, matches per second (CPU)", "", [one.our_rate for one in figures.dilemma]
    )
    show_line("  Axelrod's, the matches alone", "", [one.axelrod_rate for one in figures.dilemma])
    show_line("  times Axelrod's matches", "dilemma_times_axelrod", figures.dilemma_times, 2)
    show_line("  times Axelrod's whole tournament", "", figures.dilemma_tournament_times, 2)
    same = all(one.is_same for one in figures.dilemma)
    print(f"  payoffs and ranking are {'those' if same else 'NOT those'} of Axelrod")


def show_line(name: str, goal: str, figures: list[float], digits: int = 0) -> None:
    if figures:
        print(f"{name:56}{GOALS.get(goal, ''):>12}{spread(figures, digits):>32}{len(figures):>8,}")


def rounded(figures: list[float], digits: int = 3) -> float | None:
    found = middle(figures)
    return None if found is None else round(found, digits)


def as_json(figures: Figures) -> dict[str, Any]:
    """The headline figures are those of the largest league whose every agent is a process."""
    largest, growth = figures.largest, figures.growth
    return {
        "limit": rounded(largest.limit, 1),
        "field": rounded(largest.field, 1),
        "league": rounded(largest.league, 1),
        "share_of_limit": rounded(largest.share),
        "limit_asyncio": rounded(largest.limit_asyncio, 1),
        "share_of_limit_asyncio": rounded(largest.share_asyncio),
        "times_field": rounded(largest.times, 2),
        "query_share": rounded(figures.query_share),
        "start_s": rounded(figures.starts[4], 2),
        "growth_20_to_200": rounded(growth.ratios),
        "cpu_ms": rounded(largest.sums_ms),
        "servers_cpu_ms": rounded(largest.servers_ms),
        "thousand_rate_ratio": rounded(figures.thousand.rate_ratios),
        "thousand_cpu_ratio": rounded(figures.thousand.ratios),
        "mb_per_player": rounded(largest.mb, 2),
        "simulate": rounded(figures.simulate, 0),
        "times_axelrod": rounded(figures.times_axelrod, 1),
        "jobs": {
            game: {
                "of_linear": rounded([one.of_linear for one in gains], 2),
                "times_cpu": rounded([one.times_cpu for one in gains], 2),
            }
            for game, gains in figures.gains.items()
        },
        **({} if figures.axelrod else {"no_axelrod": figures.no_axelrod}),
        "dilemma_times_axelrod": rounded(figures.dilemma_times, 2),
        "dilemma_times_tournament": rounded(figures.dilemma_tournament_times, 2),
        "dilemma_is_same": all(one.is_same for one in figures.dilemma) if figures.dilemma else None,
        **({} if figures.dilemma else {"no_dilemma": figures.no_dilemma}),
        "players": largest.shape.players,
        "mb_per_player_together": rounded(growth.mb_per_player),
        "query_cpu_share": rounded(figures.query_cpu_share),
        "report_share": rounded(figures.report_share),
        "broadcast_ms": rounded(figures.broadcast_ms, 2),
        "by_size": {one.shape.name: of_size(one) for one in figures.rates},
        "messages": figures.messages,
        "mcp": figures.mcp,
        "specified": {name: {"median": rounded(found, 1), "worst": round(max(found), 1)}
                      for name, found in figures.specified.items()},
    }  # fmt: skip


def of_size(one: Rates) -> dict[str, Any]:
    return {
        "league": rounded(one.league, 1),
        "limit": rounded(one.limit, 1),
        "field": rounded(one.field, 1),
        "share_of_limit": rounded(one.share),
        "limit_asyncio": rounded(one.limit_asyncio, 1),
        "share_of_limit_asyncio": rounded(one.share_asyncio),
        "times_field": rounded(one.times, 2),
        "cpu_ms": {role: rounded(ms, 2) for role, ms in one.cpu_ms.items()},
        "limit_cpu_ms": rounded(one.limit_cpu_ms, 2),
        "field_cpu_ms": rounded(one.field_cpu_ms, 2),
        "mb_per_player": rounded(one.mb, 2),
        "turns": len(one.league),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--turns", metavar="N", type=int, default=MAX_TURNS, help=f"at most (default {MAX_TURNS})")
    options = parser.parse_args()
    parts = options.parts
    if unknown := [one for one in parts if one not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    # Ended from outside, it must end what it has started, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    surroundings = environment()
    show_environment(surroundings)
    figures = Figures(time.monotonic() + SECONDS)
    usual = [one for one in PARTS if not (QUICK and one in RARE)]
    try:
        measure(steps(figures, parts or usual), options.turns, figures.ends)
    except KeyboardInterrupt:
        show(figures)
        print("\nInterrupted: this is what there was; every program has been ended.")
        return 130
    finally:
        kill_all()
    show(figures)
    print(f"\n{json.dumps(as_json(figures) | {'quick': QUICK} | surroundings)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
