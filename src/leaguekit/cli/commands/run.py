"""``league run``: a whole league on this machine, from registration to champion, in processes of agents."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import structs

from leaguekit.agents.game_loading import known_name
from leaguekit.cli import CommandError, formats, program
from leaguekit.cli.arguments import add_game_option, at_least, names
from leaguekit.cli.commands.manager import default_store, requested_game, requested_settings, settings_from
from leaguekit.cli.commands.player import add_move_delay_option
from leaguekit.cli.processes import FILES_PER_PROCESS, Processes
from leaguekit.cli.run_agents import open_sockets, start_agents
from leaguekit.cli.run_progress import RunDisplay, RunningLeague, follow
from leaguekit.cli.stored_plans import RunPlan, is_resumable, read_run_plan, resume_command
from leaguekit.league.commands.rounds import start_fault
from leaguekit.manager.operator import ADMIN_TOKEN
from leaguekit.player.strategies import STRATEGIES, CannotPlay, check_can_play, strategies_for
from leaguekit.player.strategy_loading import OWN_STRATEGY
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import MEMORY

DEFAULT_PLAYERS = 4
MAX_CONCURRENT = 10
MAX_MOVE_DELAY = 10
# A program that ends with an error if a strategy cannot be loaded.
_LOAD_STRATEGIES = """
import sys
from leaguekit.player.strategy_loading import NoSuchStrategy, load
try:
    for name in sys.argv[1:]:
        load(name)
except NoSuchStrategy as error:
    sys.exit(str(error))
"""
EXAMPLES = """examples:
  league run                                       four players, two referees, even/odd
  league run --players 50 --referees 4 --seed 7    the same league every time
  league run --game tic_tac_toe --strategies random,frequency
  league run --game tic_tac_toe --move-delay 1     slowly enough to watch
  league run --players 16 --format 'knockout(third_place=true)' --title "Winter Cup"
  league run --players 100 --format swiss          seven rounds instead of ninety-nine
  league run --players 200 --players-per-process 10     200 players in 20 processes
  league run --config league.toml                  settings from a file (docs/settings.md lists them)
  league run --json                                one JSON object at the end, for programs
  league run --resume SHARED/agents/…/manager/league.db     go on with a league that was broken off

The n-th player is always P0n. The players take the --strategies in turn. Ctrl-C ends every process, and
prints how to resume. A process that is killed is started again. The store says what is resumed, and with which players.
An agent whose own token is lost (state.json) gets a new one. --resume plays matches again that waited for the operator.
Players that were withdrawn or disqualified are not started again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resume", metavar="STORE", help="go on with the league in this store")
    parser.add_argument(
        "--players",
        metavar="N",
        type=at_least(2),
        help=f"default {DEFAULT_PLAYERS}, or as many as --strategies if these are three or more",
    )
    parser.add_argument(
        "--players-per-process",
        metavar="N",
        type=at_least(1),
        help="default 1; a league takes about two thirds of the processor time with 10, but a strategy that blocks "
        "holds up the others of its process",
    )
    parser.add_argument("--referees", metavar="N", type=at_least(1), help="default 2")
    add_game_option(parser)
    formats.add_options(parser)
    parser.add_argument(
        "--strategies",
        metavar="A,B,…",
        type=names,
        help=f"of {', '.join(STRATEGIES)}, or {OWN_STRATEGY} (default: all of ours that fit the game)",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="the same league every time; it reveals the draws")
    parser.add_argument("--port", type=int, help="the manager's; 0 takes free ports for all (default 8000)")
    parser.add_argument("--announce-lead", metavar="SECONDS", type=float, help="before each round (default 0)")
    add_move_delay_option(parser)
    parser.add_argument(
        "--max-concurrent", metavar="N", type=int, help=f"matches per referee at once (default {MAX_CONCURRENT})"
    )
    parser.add_argument("--profile", choices=("spec", "open"), help="as for `league manager` (default spec)")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="as for `league manager`: settings from a TOML file"
    )
    parser.add_argument("--title", metavar="TEXT", help="what pages and reports call the league, such as 'Winter Cup'")
    parser.add_argument("--league-id", metavar="ID", help="default: a new one")
    parser.add_argument("--store", metavar="STORE", help="as for `league manager`; memory: keeps nothing")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="default SHARED")
    parser.add_argument("--stay", action="store_true", help="keep the manager and its page up at the end, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def run(options: argparse.Namespace) -> int:
    plan = new_plan(options) if options.resume is None else _resumed_plan(options)
    # Relative if the user gave a relative folder, because the path is printed.
    data_dir = options.data_dir or Path(plan.data_dir if options.resume else "SHARED")
    default_file = default_store(data_dir, plan.league_id)
    given_store = options.resume or options.store
    store = given_store or default_file
    # Raises UnicodeEncodeError for an argument that is not UTF-8, before anything is opened.
    msgspec.json.encode(plan)
    if options.resume is None:
        _check_own_strategies(plan)
    program.check_file_limit(FILES_PER_PROCESS * (1 + plan.referees + plan.players))
    try:
        code, display = _play(options, plan, given_store, default_file)
    except KeyboardInterrupt:
        # Before the league was followed. Its manager may have begun.
        if is_resumable(store):
            print(f"Go on with: {resume_command(store)}", file=sys.stderr if options.json else sys.stdout)
        raise
    if display.failure is not None:
        where = f"; {resume_command(store)} prints the results" if code == 0 and store != MEMORY else ""
        raise CommandError(f"not everything could be printed: {display.failure.strerror}{where}")
    return code


def _play(
    options: argparse.Namespace, plan: RunPlan, given_store: str | None, default_file: Path
) -> tuple[int, RunDisplay]:
    """Start the agents, and follow the league. Returns the exit code, and the display with its failure."""
    with Processes(uses_fork=True) as processes:
        token_file = default_file.with_name(ADMIN_TOKEN) if options.resume else None
        sockets, given = open_sockets(options, plan), _manager_options(options)
        manager = start_agents(plan, given_store, sockets, processes, token_file=token_file, given=given)
        display = RunDisplay(quiet=options.json, paced=plan.announce_lead > 0, resumed=options.resume is not None)
        store = given_store or default_file
        league = RunningLeague(plan, store, default_file.parent, manager, options.stay, options.resume is not None)
        return program.run(lambda stop: follow(league, processes, display, stop)), display


def new_plan(options: argparse.Namespace) -> RunPlan:
    """The plan of a new league, by the options."""
    settings = settings_from(options)
    game = settings.game_name
    # Of one or two strategies, each gets as many of the players.
    named = len(options.strategies or ())
    players = options.players or (named if named > 2 else DEFAULT_PLAYERS)
    plan = RunPlan(
        league_id=settings.league_id,
        players=players,
        referees=options.referees or 2,
        game=requested_game(options),
        strategies=options.strategies or strategies_for(game),
        max_concurrent=MAX_CONCURRENT if options.max_concurrent is None else options.max_concurrent,
        announce_lead=settings.announce_lead if "announce_lead" in requested_settings(options) else 0.0,
        move_delay=options.move_delay or 0.0,
        players_per_process=options.players_per_process or 1,
        data_dir=str((options.data_dir or Path("SHARED")).absolute()),
        seed=options.seed,
        profile=settings.profile,
        title=settings.title,
    )
    if (fault := start_fault(settings, plan.players)) is not None:
        raise CommandError(fault)
    if not 1 <= plan.max_concurrent <= 10:
        raise CommandError("--max-concurrent must be from 1 to 10")
    if not 0 <= plan.move_delay <= MAX_MOVE_DELAY:
        raise CommandError(f"--move-delay must be from 0 to {MAX_MOVE_DELAY}, got {plan.move_delay:g}")
    _check_strategies(plan)
    return plan


def _manager_options(options: argparse.Namespace) -> list[str]:
    """The options of a new league that only its manager needs."""
    given = {
        "--config": None if options.config is None else str(options.config.absolute()),
        "--title": options.title,
        "--format": options.format,
        "--rounds": options.rounds,
        "--seeding": options.seeding,
    }
    return [text for option, value in given.items() if value is not None for text in (option, value)]


def _check_strategies(plan: RunPlan) -> None:
    """Refuse built-in strategies that cannot play the game."""
    game = known_name(plan.game)
    for name in plan.strategies:
        if name in STRATEGIES:
            check_can_play(name, STRATEGIES[name], game)


def _check_own_strategies(plan: RunPlan) -> None:
    """Refuse strategies that cannot be loaded, before there is a league.

    They are loaded in another process. In this one, all players that are forked would share what their modules do.
    """
    if own := [name for name in dict.fromkeys(plan.strategies) if name not in STRATEGIES]:
        command = [sys.executable, "-c", _LOAD_STRATEGIES, *own]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)  # noqa: S603
        if done.returncode:
            why = sanitize_line(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
            raise CommandError(why or f"loading {', '.join(own)} ends the program with exit code {done.returncode}")


def _resumed_plan(options: argparse.Namespace) -> RunPlan:
    """The plan of a league that is resumed, from its store."""
    for name in ("players", "players_per_process", "referees", "game", "strategies", "seed", "port", "announce_lead",
                 "move_delay", "max_concurrent", "league_id", "store", "profile", "config", "title",
                 "format", "rounds", "seeding"):  # fmt: skip
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} and --resume exclude each other: the store says what is resumed")
    plan = asyncio.run(read_run_plan(options.resume))
    try:
        _check_strategies(plan)
    except CannotPlay as error:
        by_hand = f"league manager --store {shlex.quote(options.resume)}"
        raise CommandError(f"{error}. The league was begun with it: serve it with `{by_hand}`") from None
    return plan if options.data_dir is None else structs.replace(plan, data_dir=str(options.data_dir.absolute()))
