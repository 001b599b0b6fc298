"""``league simulate``: play many leagues without a server, to compare strategies or to test the system with faults."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from msgspec import UNSET

from leaguekit.agents.game_loading import known_name
from leaguekit.cli import CommandError, formats
from leaguekit.cli.arguments import add_game_option, at_least, names
from leaguekit.cli.simulation.comparison_report import as_json, as_text, wrap
from leaguekit.cli.simulation.progress import Progress
from leaguekit.cli.simulation.run import SimulationRun, add_options, pool_of
from leaguekit.cli.simulation.sequential import compare_until_decided, sequential_test
from leaguekit.cli.tables import json_line, pluralize, rate_text, warn_of_replaced_moves
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.league.commands.rounds import start_fault
from leaguekit.league.settings import Settings
from leaguekit.player.move_limit import MOVE_SECONDS
from leaguekit.player.strategies import STRATEGIES, check_can_play, strategies_for
from leaguekit.player.strategy_loading import LLM, OWN_STRATEGY
from leaguekit.sim.comparison.leagues import Comparison, LeagueTotals
from leaguekit.sim.comparison.parts import SimulationSetup, hash_code, remember_simulation
from leaguekit.sim.workers import InlinePool, ProcessPool, WorkersLost, available_cores

# The default of --seeds: leagues, and pairs of games with --until.
LEAGUES, PAIRS = 100, 100_000
PLAYERS_WITH_FAULTS, REFEREES_WITH_FAULTS = 4, 2
# A league with faults takes 0.15 s, and a process 0.3 s to start.
MIN_SEEDS_FOR_PROCESSES = 10
EXAMPLES = f"""examples:
  league simulate                                       compare our strategies over 100 leagues
  league simulate --strategies frequency,my_agent:choose --game rock_paper_scissors --seeds 1000
  league simulate --rounds double --players 20          each pair meets twice, in longer leagues
  league simulate --seeds 1000 --out matches.csv        also write every match
  league simulate --fresh                               every match as if it were the first
  league simulate --seed 7 --seeds 1                    the league of `league run --players 6 --seed 7`
  league simulate --format swiss --players 32           a Swiss instead of a round-robin
  league simulate --until sprt=0,30 --strategies my_agent:choose,frequency --game rock_paper_scissors
                                                        as many games as it takes to decide which is stronger
  league simulate --faults all --seeds 300              real agents, with everything going wrong that can
  league simulate --seeds 1000000 --resume all.json     continue where this command was ended before
  league simulate --cluster tls://10.0.0.5:8786         on a Dask cluster
  league simulate --json                                one JSON object at the end, for programs

Without faults, only schedule, rules, games and strategies are used: there are no messages and no clock.

What is estimated: a strategy's points per match in a league of these strategies, as a mean over all seatings. Players
learn during a league, so it matters which strategies meet first. Therefore each league's seed decides which strategy
has which seat. The order in which strategies are named changes nothing. A figure is all points of a strategy divided by
all its matches. Each league is one observation: the interval is Student's t for such a ratio over the leagues, with two
matches won and two lost in addition.
Each pair of players meets once, so that ctx.against() is always empty. With --rounds double it meets twice. A strategy
that learns needs matches to learn from: in leagues of more --players, the strategies may be in another order.
With --fresh the players see nothing of earlier matches.
In a game that is ranked by payoff, such as prisoners_dilemma, payoffs take the place of points in all of this.
A strategy is called better if the interval of the difference excludes 0. The more pairs there are, the wider are these
intervals (Bonferroni), so that in 95 of 100 comparisons no such claim is false.
--seeds 1 seats strategies in the order named: its results are those of `league run` with this seed and these players.
If there are more players than strategies, the players take the strategies in turn. If the numbers do not divide evenly,
the seed decides which strategies get one more player.
If a strategy raises or chooses an illegal move, a legal move is played instead, and counted in the column "replaced".
The exit code is 1 if all moves of a strategy were replaced. A strategy that takes longer than {MOVE_SECONDS:g} s for a
move, as no league would wait, ends the simulation: the error names its line.

A simulation that takes more than two seconds is played on all cores (--jobs). The result is the same with any number
of processes, and on a cluster: strategies and games are loaded by name in each process, so a strategy must not keep
anything from one league to the next. If a process is lost, its leagues are played again. Ctrl-C prints the results so
far, and the command that continues.

With --until sprt=0,30 the first of two strategies plays the second until it is decided whether it is more than 0 or
less than 30 Elo above it (a sequential test). If the true difference is 0 or less, "more than 0" is decided in at most
5 of 100 tests; the same is true of "less than 30" if the true difference is 30 or more. Games are played in
pairs, with sides swapped and the same chance. Players see nothing of earlier games. Elo is normalised: 347 are one
standard deviation of the score of a game. About 400 pairs are needed for 30 Elo, nine times as many for 10.

Faults are for the whole system in virtual time: network (delays, losses, repeats, resets), crash (of any agent, at any
moment), outage (hosts that are cut off), all (these, and slow or full disks and clocks that jump). With standby there
are two managers with one PostgreSQL. They are killed, stopped, cut off and handed over, and the database is restarted,
slow and away. A league that fails is printed with the command that replays it: it did not end, its log or table breaks
a rule, a player was sent another result than was recorded, an agent failed by itself, or no manager served the league
although one could. Ctrl-C prints the results so far.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--players",
        metavar="N",
        type=at_least(2),
        help=f"at least as many as strategies (default: as many as these; with faults {PLAYERS_WITH_FAULTS})",
    )
    parser.add_argument("--referees", metavar="N", type=at_least(1), help="only with faults (default 2)")
    add_game_option(parser, DEFAULT_GAME)
    formats.add_options(parser, seeding=False)
    parser.add_argument(
        "--strategies",
        metavar="A,B,…",
        type=names,
        help=f"of {', '.join(STRATEGIES)}, or without faults {OWN_STRATEGY} (default: all of ours that fit the game)",
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=at_least(1),
        help=f"how many leagues (default {LEAGUES}), or with --until at most how many pairs of games "
        f"(default {PAIRS:,})",
    )
    parser.add_argument(
        "--until",
        metavar="sprt=LOW,HIGH",
        type=sequential_test,
        help="play pairs of games between two strategies until it is decided whether the first is more than LOW or "
        "less than HIGH Elo above the second",
    )
    parser.add_argument("--seed", metavar="FIRST", type=int, default=1, help="the first league's seed (default 1)")
    parser.add_argument("--fresh", action="store_true", help="play every match without earlier history")
    parser.add_argument("--out", metavar="FILE.csv", type=Path, help="also write every match to this file")
    parser.add_argument(
        "--faults",
        choices=["none", "network", "crash", "outage", "all", "standby"],
        default="none",
        help="what goes wrong (default none)",
    )
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def run(options: argparse.Namespace) -> int:
    if options.until is not None:
        _check_until(options)
    options.seeds = options.seeds or (LEAGUES if options.until is None else PAIRS)
    game, options.game = options.game, known_name(options.game)
    options.strategies = options.strategies or strategies_for(options.game)
    has_faults, strategy_count = options.faults != "none", len(options.strategies)
    if options.until is not None:
        options.players = 2
    if options.players is None:
        options.players = PLAYERS_WITH_FAULTS if has_faults else max(2, strategy_count)
    if has_faults:
        return _test_with_faults(options)
    if LLM in options.strategies:
        raise CommandError(f"--strategies {LLM}: a simulation asks no server; `league run` plays leagues with a model")
    if options.players < strategy_count:
        raise CommandError(
            f"--players {options.players} is too few for {strategy_count} strategies: "
            f"use --players {strategy_count} or more, or name fewer --strategies"
        )
    if options.referees is not None:
        raise CommandError("--referees needs --faults: without faults there are no referees")
    if options.out is not None and options.out.suffix not in ("", ".csv"):
        raise CommandError(f"--out {options.out}: the matches are written as CSV; name a file that ends with .csv")
    strategies = tuple(options.strategies)
    settings = _settings(options)
    setup = SimulationSetup(
        settings,
        game,
        strategies,
        options.players,
        fresh=options.fresh,
        as_named=options.seeds == 1,
        in_pairs=options.until is not None,
        with_matches=options.out is not None,
        code=hash_code(game, settings.format_text, strategies),
    )
    simulation = setup.load()
    remember_simulation(setup, simulation)
    if isinstance(simulation, Comparison):
        return _compare(options, setup, simulation)
    return compare_until_decided(options, setup, simulation)


def _test_with_faults(options: argparse.Namespace) -> int:
    """Play leagues with faults, and print which fail."""
    given = (("--fresh", options.fresh), ("--out", options.out), ("--resume", options.resume))
    for option, is_given in given:
        if is_given:
            raise CommandError(f"{option} cannot be used with --faults {options.faults}: leave out one of them")
    if not set(options.strategies) <= set(STRATEGIES):
        raise CommandError(
            f"--faults {options.faults} tests the system and not strategies: "
            f"--strategies must be of {', '.join(strategies_for(options.game))}"
        )
    for name in options.strategies:
        check_can_play(name, STRATEGIES[name], options.game)
    if options.faults == "standby" and find_spec("asyncpg") is None:
        raise CommandError("--faults standby needs the extra `postgres`: pip install 'leaguekit[postgres]'")
    from leaguekit.sim.campaign import Scenario, run_campaign
    from leaguekit.sim.outcome import LeagueSetup

    settings = _settings(options)
    setup = LeagueSetup(
        players=options.players,
        referees=options.referees or REFEREES_WITH_FAULTS,
        game=options.game,
        strategies=tuple(options.strategies),
        format=None if settings.format_text == "round_robin" else settings.format_text,
    )
    scenarios = [Scenario(options.seed + number, setup, options.faults) for number in range(options.seeds)]
    pool = pool_of(options)
    if pool is None and options.seeds >= MIN_SEEDS_FOR_PROCESSES and (cores := available_cores()) > 1:
        pool = ProcessPool(cores)

    def command_of_rest(done: int) -> str:
        return Scenario(options.seed + done, setup, options.faults).command(options.seeds - done)

    try:
        return run_campaign(scenarios, options.seeds, as_json=options.json, pool=pool, command_of_rest=command_of_rest)
    except WorkersLost as error:
        raise CommandError(str(error)) from None


def _check_until(options: argparse.Namespace) -> None:
    """Raise CommandError if other options contradict --until."""
    count = len(options.strategies or ())
    if count != 2:
        raise CommandError(
            f"--until compares two strategies, and --strategies names {count or 'none'}: name two, such as "
            "--strategies random,frequency"
        )
    given = {
        "--players": options.players not in (None, 2),
        "--referees": options.referees is not None,
        "--format": options.format is not None,
        "--rounds": options.rounds is not None,
        "--out": options.out is not None,
        f"--faults {options.faults}": options.faults != "none",
    }
    for option, is_given in given.items():
        if is_given:
            raise CommandError(
                f"{option} cannot be used with --until, which plays pairs of games: leave out one of them"
            )


def _settings(options: argparse.Namespace) -> Settings:
    """The settings of each league. Raises CommandError."""
    chosen = {name: value for name, value in formats.requested_settings(options, {}).items() if value is not UNSET}
    settings = Settings(league_id="simulation", game_type=options.game, **chosen)
    formats.check(settings)
    if (fault := start_fault(settings, options.players)) is not None:
        raise CommandError(fault)
    return settings


def _compare(options: argparse.Namespace, setup: SimulationSetup, comparison: Comparison) -> int:
    """Play leagues without faults, and print the comparison."""
    run = SimulationRun(options, setup, comparison.counted)
    leagues = comparison.counted = run.counted
    matches_before = leagues.matches

    def describe(seconds: float) -> str:
        rate = leagues.matches / seconds
        left = f", {(options.seeds / leagues.count - 1) * seconds:.0f} s left" if leagues.count else ""
        return f"{rate_text(rate)} matches per second{left}"

    # The table of a single league is read from the league that this process has played.
    pool = InlinePool() if comparison.as_named else pool_of(options)
    run.play(pool, lambda: leagues.count / options.seeds, describe)
    if options.json:
        print(json_line(_figures(options, comparison, run.progress) | as_json(comparison) | run.resume_figures()))
    else:
        print("\n".join(_report_lines(options, comparison, run)))
        if options.out is not None:
            written = pluralize(leagues.matches, "match", "es")
            before = f", {matches_before:,} of them before" if matches_before else ""
            replaced = ", instead of what was there" * run.matches.replaces
            print(wrap(f"Wrote {written} to {options.out}{before}{replaced}"))
        run.print_resume_command()
    warn_of_replaced_moves(dict(zip(comparison.names, leagues.origins, strict=True)))
    has_failed = any(origins.total and origins.replaced == origins.total for origins in leagues.origins)
    return 130 if run.is_interrupted else int(has_failed)


def _figures(options: argparse.Namespace, comparison: Comparison, progress: Progress) -> dict[str, object]:
    leagues = comparison.counted.sums.leagues
    matches = comparison.counted.matches
    return {
        "game": options.game,
        "format": comparison.settings.format_text,
        "faults": "none",
        "first_seed": options.seed,
        "seeds": options.seeds,
        "players_per_league": options.players,
        "rounds": options.rounds or "single",
        "leagues": leagues,
        "matches": matches,
        "seconds": round(progress.seconds, 3),
        "cpu_seconds": round(progress.cpu_seconds, 3),
        "matches_per_second": round(matches / progress.seconds, 1),
    }


def _report_lines(
    options: argparse.Namespace, comparison: Comparison, run: SimulationRun[LeagueTotals]
) -> Iterator[str]:
    leagues, progress = comparison.counted.sums.leagues, run.progress
    if leagues < options.seeds:
        yield f"Interrupted: {leagues} of {options.seeds} leagues are over, and only they count."
    if not leagues:
        return
    yield from as_text(comparison)
    matches = comparison.counted.matches
    seeds = f"seed {options.seed}" if leagues == 1 else f"seeds {options.seed} to {options.seed + leagues - 1}"
    how = "" if comparison.settings.format_text == "round_robin" else f", {comparison.settings.format_text}"
    played = f"{pluralize(leagues, 'league')} of {options.game}{how} ({seeds})"
    yield wrap(f"{played}, {pluralize(matches, 'match', 'es')} in {progress.seconds:.2f} s")
    by_cpu = f"{rate_text(matches / progress.cpu_seconds)} by processor time"
    yield wrap(f"{rate_text(matches / progress.seconds)} matches per second, {by_cpu}")
