"""``league simulate``: many leagues in one process, either to compare strategies or to see what faults can break."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec

from leaguekit.agents.strategies import STRATEGIES, CannotPlay, NoSuchStrategy, check_fit, fitting, load
from leaguekit.cli import CommandError
from leaguekit.cli.tables import json_line, table, warn_of_replaced
from leaguekit.games import GAMES
from leaguekit.league.settings import Settings
from leaguekit.sim.comparison import FEWEST_LEAGUES, Comparison, Tally
from leaguekit.sim.direct import CannotAsk, DirectLeague, Entrant

BAR_WIDTH = 30
# Seconds between two looks at the progress, on a terminal and elsewhere.
BAR_EVERY = 0.1
LINE_EVERY = 5.0
EXAMPLES = """examples:
  league simulate --players 50                          compare the strategies over 100 leagues
  league simulate --strategies frequency,my_agent:choose --game rock_paper_scissors --seeds 1000
  league simulate --seed 7 --seeds 1                    the league of `league run --seed 7`, in no time
  league simulate --faults all --seeds 300              real agents, with everything going wrong that can
  league simulate --json                                one JSON object at the end, for programs

Without faults, schedule, referee's rules, games and strategies play by themselves: no messages, no clock. The results
are those that `league run` has with the same seed and players. --strategies are given out in turn.
Faults are for the whole system in virtual time: network (delays, losses, repeats, resets), crash (of any agent, at any
moment), all (these, and slow or full disks and clocks that jump). What fails is told with the command that replays it.
Ctrl-C ends it, and shows what there is so far.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--players", metavar="N", type=int, default=4, help="default 4")
    parser.add_argument("--referees", metavar="N", type=int, default=2, help="with faults (default 2)")
    parser.add_argument("--game", choices=sorted(GAMES), default="even_odd", help="default even_odd")
    parser.add_argument(
        "--strategies",
        metavar="A,B,…",
        type=lambda text: text.split(","),
        help=f"of {', '.join(STRATEGIES)}, or without faults module:function (default: all of ours that fit the game)",
    )
    parser.add_argument("--seeds", metavar="N", type=int, default=100, help="how many leagues (default 100)")
    parser.add_argument("--seed", metavar="FIRST", type=int, default=1, help="the first league's seed (default 1)")
    parser.add_argument(
        "--faults", choices=["none", "network", "crash", "all"], default="none", help="what goes wrong (default none)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.players < 2 or options.referees < 1 or options.seeds < 1:
        raise CommandError("a simulation needs at least --players 2, --referees 1 and --seeds 1")
    options.strategies = options.strategies or fitting(options.game)
    try:
        functions = [load(name) for name in options.strategies]
        for name, function in zip(options.strategies, functions, strict=True):
            check_fit(name, function, options.game)
    except (NoSuchStrategy, CannotPlay) as error:
        raise CommandError(str(error)) from None
    if options.faults == "none":
        names = [options.strategies[number % len(functions)] for number in range(options.players)]
        entrants = [
            Entrant(f"{name.rpartition(':')[2]} {number + 1}", functions[number % len(functions)])
            for number, name in enumerate(names)
        ]
        return _compare(options, names, entrants)
    if not set(options.strategies) <= set(STRATEGIES):
        raise CommandError(f"with faults, --strategies must be of {', '.join(STRATEGIES)}")
    from leaguekit.sim.campaign import run_campaign

    return run_campaign(options)


def _compare(options: argparse.Namespace, strategies: list[str], entrants: list[Entrant]) -> int:
    """Play leagues without faults, and tell what they come to."""
    league = DirectLeague(Settings(league_id="simulation", game_type=options.game), entrants)
    comparison = Comparison([*league.players], strategies)
    progress = _Progress(league.matches * options.seeds, quiet=options.json)
    with _until_interrupted() as interrupted, progress:
        for seed in range(options.seed, options.seed + options.seeds):
            try:
                for matches in league.play_rounds(seed):
                    progress.advance(matches)
                    if interrupted:
                        break
            except CannotAsk as error:
                raise CommandError(str(error)) from None
            if interrupted:
                break
            comparison.add(league.standings())
    if options.json:
        print(json_line(_as_json(options, league, comparison, progress)))
    else:
        print("\n".join(_as_text(options, league, comparison, progress)))
    warn_of_replaced({f"{one.name} ({one.id})": one.origins for one in league.players.values()})
    return 130 if interrupted else 0


@contextmanager
def _until_interrupted() -> Iterator[list[int]]:
    """A list that Ctrl-C puts something into, so that what is being counted is counted whole; a second one breaks."""
    asked: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


class _Progress:
    """How far it is: a bar on a terminal, a line now and then elsewhere, both on stderr."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self._total = total
        self._done = 0
        self._is_bar = sys.stderr.isatty()
        self._every = float("inf") if quiet else BAR_EVERY if self._is_bar else LINE_EVERY
        self._is_shown = False

    def __enter__(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
        self._next = self._began + self._every

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began
        # What one core would have done by itself, however busy the machine is.
        self.cpu_seconds = time.process_time() - self._cpu_began
        if self._is_shown and self._is_bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def advance(self, matches: int) -> None:
        self._done += matches
        if (now := time.perf_counter()) < self._next:
            return
        self._next = now + self._every
        self._is_shown = True
        rate, share = self._done / (now - self._began), self._done / self._total
        told = f"{share:4.0%}  {rate:,.0f} matches a second, {(self._total - self._done) / rate:.0f} s left"
        filled = round(share * BAR_WIDTH)
        bar = f"\r\x1b[K{'█' * filled}{'░' * (BAR_WIDTH - filled)} {told}"
        print(bar if self._is_bar else told.strip(), end="" if self._is_bar else "\n", file=sys.stderr, flush=True)


def _as_json(
    options: argparse.Namespace, league: DirectLeague, comparison: Comparison, progress: _Progress
) -> dict[str, Any]:
    matches = comparison.leagues * league.matches
    return {
        "game": options.game,
        "faults": "none",
        "first_seed": options.seed,
        "seeds": options.seeds,
        "leagues": comparison.leagues,
        "matches": matches,
        "seconds": round(progress.seconds, 3),
        "cpu_seconds": round(progress.cpu_seconds, 3),
        "matches_per_second": round(matches / progress.seconds),
        "players": [
            {"player_id": player, "strategy": comparison.strategy_of[player]}
            | _told(tally)
            | {"moves": msgspec.to_builtins(league.players[player].origins)}
            for player, tally in comparison.players.items()
        ],
        "strategies": [{"strategy": strategy} | _told(tally) for strategy, tally in comparison.strategies.items()],
    }


def _told(tally: Tally) -> dict[str, Any]:
    if not tally.leagues:
        return {"matches": 0}
    margin, per_match = tally.margin, tally.points_per_match
    return {
        "matches": tally.matches,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "points": tally.points,
        "points_per_match": round(per_match, 6),
        "interval_95": None if margin is None else [round(per_match - margin, 6), round(per_match + margin, 6)],
        "share_of_leagues_won": round(tally.share_won, 6),
    }


def _as_text(
    options: argparse.Namespace, league: DirectLeague, comparison: Comparison, progress: _Progress
) -> Iterator[str]:
    played = comparison.leagues
    if played < options.seeds:
        yield f"Interrupted: {played} of {options.seeds} leagues are over, and only they count."
    if not played:
        return
    heads = ["matches", "won", "drawn", "lost", "points", "points a match", "leagues won"]
    of_players = [
        [player, comparison.strategy_of[player], *_cells(tally)] for player, tally in _best_first(comparison.players)
    ]
    yield f"\n{table(['player', 'strategy', *heads], of_players)}"
    if len(comparison.strategies) < len(comparison.players):
        of_strategies = [[strategy, *_cells(tally)] for strategy, tally in _best_first(comparison.strategies)]
        yield f"\n{table(['strategy', *heads], of_strategies)}"
    if played < FEWEST_LEAGUES:
        yield f"\nHow much of this is chance shows from {FEWEST_LEAGUES} leagues on (--seeds)."
    else:
        yield "\n±: in 95 of 100 cases the points a match are within this of what they would be over endless leagues."
    if league.game.luck:
        yield league.game.luck
    matches = played * league.matches
    seeds = f"seeds {options.seed} to {options.seed + played - 1}"
    yield f"{played:,} leagues of {options.game} ({seeds}), {matches:,} matches in {progress.seconds:.2f} s"
    by_cpu = f"{matches / progress.cpu_seconds:,.0f} by processor time"
    yield f"{matches / progress.seconds:,.0f} matches a second, {by_cpu}"


def _best_first(tallies: dict[str, Tally]) -> list[tuple[str, Tally]]:
    return sorted(tallies.items(), key=lambda one: -one[1].points_per_match)


def _cells(tally: Tally) -> list[object]:
    margin = tally.margin
    per_match = f"{tally.points_per_match:.3f}" + ("" if margin is None else f" ± {margin:.3f}")
    counts = [tally.matches, tally.wins, tally.draws, tally.losses, tally.points]
    return [*counts, per_match, f"{tally.share_won:.1%}"]
