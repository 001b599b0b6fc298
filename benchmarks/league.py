"""How fast whole leagues are played, against the limit and what the field uses; and the specification's figures.

league  real leagues by `league run`: every agent a process, every result durable
limit   the same exchanges between as many processes, raw sockets and nothing else (``limit_agents``)
field   the same exchanges between as many processes on FastAPI, uvicorn and httpx (``field_agents``)

Run with ``make bench``; QUICK=1 measures less. The three take turns, each with new processes, so that a slow moment of
the machine hits all alike; ratios are made within each round of turns. The last line is one JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from exchanges import record
from observed import beginnings, observe, round_trips

HERE = Path(__file__).parent
QUICK = bool(os.environ.get("QUICK"))
LIMIT_SECONDS = 120


class Size(NamedTuple):
    """A league's size, and how often it is measured; of a long league the slow field plays only so many rounds.

    No further turn begins when so many seconds have gone since the start, so that a busy machine ends in time too.
    """

    players: int
    referees: int
    turns: int
    until: float
    field_rounds: int | None = None


QUICK_SIZES = (Size(4, 2, 3, 6), Size(20, 2, 2, 18, 4))
FULL_SIZES = (Size(4, 2, 7, 30), Size(20, 2, 5, 90, 9), Size(50, 4, 3, 150, 4))
SIZES = QUICK_SIZES if QUICK else FULL_SIZES
OBSERVED_PLAYERS, OBSERVED_REFEREES = (8, 2) if QUICK else (20, 2)
# Rounds before the clock starts where a league is not played whole: its slow beginning would weigh too much.
WARM_UP = 2
# The limit is over in a moment: played so often before and after the league, it sees the same machine.
LIMIT_PLAYS = 2
FIELD_NEEDS = ("fastapi", "httpx")
SHARE_GOAL, TIMES_GOAL = 0.4, 10
GOALS = {"round_trip_ms": 500, "query_ms": 1_000, "standings_ms": 5_000, "start_s": 3}


class Figures:
    """Of one size: matches per second of each contender, turn by turn, and what the real leagues showed besides."""

    def __init__(self) -> None:
        self.rates: dict[str, list[float]] = {"league": [], "limit": [], "field": []}
        self.starts: list[float] = []
        self.round_trips: list[float] = []

    def ratios(self, one: str, other: str) -> list[float]:
        return [mine / theirs for mine, theirs in zip(self.rates[one], self.rates[other], strict=False)]


def played(command: list[str], given: str = "") -> Any:
    """What a program prints; it and its processes are ended if it takes too long."""
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    try:
        out, _ = process.communicate(given, timeout=LIMIT_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return json.loads(out)


@contextlib.contextmanager
def data_folder() -> Iterator[Path]:
    """A new folder on the disk of this tree: a system's temporary folder may be in memory, where commits are free."""
    build = HERE.parent / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=build) as folder:
        yield Path(folder)


def play_league(size: Size, figures: Figures) -> float:
    """Matches per second of a real league."""
    with data_folder() as folder:
        counts = ["--players", str(size.players), "--referees", str(size.referees)]
        began = time.time()
        told = played(["-m", "leaguekit", "run", "--port", "0", *counts, "--data-dir", str(folder), "--json"])
        figures.starts.append(min(beginnings(folder).values()) - began)
        figures.round_trips += round_trips(folder)
    if told["technical_losses"]:
        print(f"  of {told['matches']} matches {told['technical_losses']} were technical losses")
    return float(told["matches"] / told["seconds"])


def play_script(contender: str, script: dict[str, Any], counts: Counter[str] | None = None) -> float:
    """Matches per second of the same exchanges without a league; if ``counts`` are given, they must come out."""
    told = played([str(HERE / f"{contender}_agents.py")], json.dumps(script))
    if "failure" in told:
        raise SystemExit(f"{contender}: {told['failure']}")
    wrong = set() if counts is None else {kind for kind in told["counts"] if told["counts"][kind] != counts[kind]}
    if wrong:
        raise SystemExit(f"{contender} does not send what a league sends: {', '.join(sorted(wrong))}")
    return float(told["matches"] / told["seconds"])


def measured(size: Size, ends: float, *, with_field: bool) -> Figures:
    """Turns of all contenders; ``ends`` is when no further one begins."""
    script, counts = record(size.players, size.referees)
    field_script = script
    if size.field_rounds is not None:
        field_script = script | {"rounds": script["rounds"][: WARM_UP + size.field_rounds], "warm_up": WARM_UP}
    figures = Figures()
    for turn in range(size.turns):
        if turn and time.monotonic() > ends:
            print(f"only {turn} of {size.turns} turns of {size.players} players: this machine is slow or busy")
            break
        limit = [play_script("limit", script, counts) for _ in range(LIMIT_PLAYS)]
        figures.rates["league"].append(play_league(size, figures))
        limit += [play_script("limit", script, counts) for _ in range(LIMIT_PLAYS)]
        figures.rates["limit"].append(statistics.median(limit))
        if with_field:
            figures.rates["field"].append(play_script("field", field_script))
    return figures


def spread(figures: list[float], digits: int = 0) -> str:
    if not figures:
        return "–"
    return f"{statistics.median(figures):,.{digits}f} ({min(figures):,.{digits}f}–{max(figures):,.{digits}f})"


def show_rates(found: dict[Size, Figures]) -> None:
    print("\nmatches per second: median (least–most)")
    heads = ("league", "limit", "field", f"of limit (≥ {SHARE_GOAL})", f"times field (≥ {TIMES_GOAL})")
    print(f"{'':24}" + "".join(f"{head:>24}" for head in heads))
    for size, figures in found.items():
        cells = [spread(figures.rates[one]) for one in ("league", "limit", "field")]
        cells += [spread(figures.ratios("league", "limit"), 3), spread(figures.ratios("league", "field"), 1)]
        name = f"{size.players} players, turns: {len(figures.starts)}"
        print(f"{name:24}" + "".join(f"{cell:>24}" for cell in cells))


def show_goal(name: str, goal: str, figures: list[float], digits: int) -> None:
    limit = f"< {GOALS[goal]:,} {goal.rpartition('_')[2]}"
    print(f"{name:40}{limit:>12}{spread(figures, digits):>32}{len(figures):>10,}")


def middle(figures: list[float], digits: int = 1) -> float | None:
    return round(statistics.median(figures), digits) if figures else None


def in_ms(seconds: list[float]) -> list[float]:
    return [1e3 * one for one in seconds]


def main() -> None:
    missing = [name for name in FIELD_NEEDS if find_spec(name) is None]
    if missing:
        print(f"field is left out: {' and '.join(missing)} not installed (pip install {' '.join(FIELD_NEEDS)})")
    began = time.monotonic()
    found = {size: measured(size, began + size.until, with_field=not missing) for size in SIZES}
    show_rates(found)
    with data_folder() as folder:
        queries, standings = asyncio.run(observe(OBSERVED_PLAYERS, OBSERVED_REFEREES, folder))
    largest = found[SIZES[-1]]
    specified = {
        "round_trip_ms": (f"invitation to answer, {SIZES[-1].players} players", in_ms(largest.round_trips)),
        "query_ms": (f"LEAGUE_QUERY to answer, {OBSERVED_PLAYERS} players", in_ms(queries)),
        "standings_ms": (f"ruling to standings, {OBSERVED_PLAYERS} players", in_ms(standings)),
    }
    print(f"\n{'the specification':40}{'goal':>12}{'median (least–most)':>32}{'of':>10}")
    for goal, (name, figures) in specified.items():
        show_goal(name, goal, figures, 1)
    for size, one in found.items():
        show_goal(f"league run to first match, {size.players} players", "start_s", one.starts, 2)
    by_players = {str(size.players): one for size, one in found.items()}
    told = {one: {n: middle(f.rates[one]) for n, f in by_players.items()} for one in ("limit", "field", "league")}
    told["share_of_limit"] = {n: middle(f.ratios("league", "limit"), 3) for n, f in by_players.items()}
    told["times_field"] = {n: middle(f.ratios("league", "field"), 2) for n, f in by_players.items()}
    for goal, (_, figures) in specified.items():
        told[goal] = {"median": middle(figures), "worst": round(max(figures), 1)}
    told["start_s"] = {n: middle(f.starts, 2) for n, f in by_players.items()}
    more = {"players": [size.players for size in SIZES], "python": platform.python_version(), "cores": os.cpu_count()}
    print(f"\n{json.dumps(told | more)}")


if __name__ == "__main__":
    main()
