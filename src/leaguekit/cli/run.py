"""``league run``: a whole league on this machine, each agent a process of its own, from registration to champion."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

from leaguekit.agents.strategies import STRATEGIES
from leaguekit.cli import CommandError, program
from leaguekit.cli.manager import new_league_id
from leaguekit.cli.operate import ask_manager
from leaguekit.cli.processes import Processes
from leaguekit.cli.tables import harmless, standings_table
from leaguekit.games import GAMES
from leaguekit.store.addresses import shown
from leaguekit.store.files import safe_name
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.caller import HttpCaller
from leaguekit.transport.server import CannotListen, listen

POLL_SECONDS = 0.2
MANAGER_ENDS_SECONDS = 2.0
REFEREE_MATCHES = 10
MOST_ROWS = 10
EXAMPLES = """examples:
  league run                                       four players, two referees, even/odd
  league run --players 50 --referees 4 --seed 7    the same league every time
  league run --game tic_tac_toe --strategies random,frequency
  league run --json                                one JSON object at the end, for programs

The n-th player is always P0n. --strategies are given out in turn. Ctrl-C ends every process.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--players", metavar="N", type=int, default=4, help="default 4")
    parser.add_argument("--referees", metavar="N", type=int, default=2, help="default 2")
    parser.add_argument("--game", choices=sorted(GAMES), default="even_odd", help="default even_odd")
    parser.add_argument("--strategies", metavar="A,B,…", help=f"of {', '.join(STRATEGIES)}, or module:function")
    parser.add_argument(
        "--seed", metavar="N", type=int, help="the same league every time; who knows it knows the draws"
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="the manager's; 0 takes free ports for all (default 8000)"
    )
    parser.add_argument("--announce-lead", metavar="SECONDS", type=float, default=0.0, help="before each round")
    parser.add_argument("--max-concurrent", metavar="N", type=int, default=REFEREE_MATCHES, help="matches a referee")
    parser.add_argument("--league-id", metavar="ID", help="default: a new one")
    parser.add_argument("--store", metavar="STORE", help="as for `league manager`; memory: keeps nothing")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, default=Path("SHARED"), help="default SHARED")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.players < 2 or options.referees < 1:
        raise CommandError("a league needs at least --players 2 and --referees 1")
    if not 1 <= options.max_concurrent <= 10:
        raise CommandError("--max-concurrent must be from 1 to 10")
    league_id = options.league_id or new_league_id(options.game)
    with Processes() as processes:
        manager = _start_all(options, league_id, processes)
        return program.run(lambda stop: _follow(options, league_id, manager, processes, stop))


def _start_all(options: argparse.Namespace, league_id: str, processes: Processes) -> str:
    """Bind every socket, start every process; the manager's URL."""
    base = options.port
    try:
        served = {"manager": listen("127.0.0.1", base)}
        for number in range(1, options.referees + 1):
            served[f"referee {number}"] = listen("127.0.0.1", base and base + number)
        for number in range(1, options.players + 1):
            served[f"player {number}"] = listen("127.0.0.1", base and base + 100 + number)
    except CannotListen as error:
        raise CommandError(str(error)) from None
    manager = f"http://127.0.0.1:{served['manager'].getsockname()[1]}/mcp"
    seed = [] if options.seed is None else ["--seed", str(options.seed)]
    shared = ["--data-dir", str(options.data_dir)]
    store = [] if options.store is None else ["--store", options.store]
    processes.start(
        "manager", served["manager"], "manager", *shared, *seed, *store, "--league-id", league_id,
        "--game", options.game, "--announce-lead", str(options.announce_lead), "--grant-ids",
        "--start-when", f"players={options.players},referees={options.referees}",
    )  # fmt: skip
    for number in range(1, options.referees + 1):
        name = f"referee {number}"
        processes.start(
            name, served[name], "referee", *shared, "--manager", manager, "--name", f"Referee {number}",
            "--max-concurrent", str(options.max_concurrent),
        )  # fmt: skip
    strategies = (options.strategies or ",".join(STRATEGIES)).split(",")
    for number in range(1, options.players + 1):
        name = f"player {number}"
        strategy = strategies[(number - 1) % len(strategies)]
        processes.start(
            name, served[name], "player", *shared, *seed, "--manager", manager, "--strategy", strategy,
            "--name", f"{strategy.rpartition(':')[2]} {number}", "--wanted-id", f"P{number:02d}",
        )  # fmt: skip
    return manager


async def _follow(
    options: argparse.Namespace, league_id: str, manager: str, processes: Processes, stop: program.Stop
) -> int:
    """Show the league as it goes, until it is over."""
    show = _Show(quiet=options.json, paced=options.announce_lead > 0)
    show.say(f"League {league_id}: {options.players} players, {options.referees} referees, {options.game}")
    show.say(f"  manager: {manager}")
    caller = HttpCaller(AddressPolicy.local())
    try:
        while not stop.is_set():
            try:
                status = await ask_manager(caller, manager, {"command": "status"})
            except CommandError:
                # How it ended says more.
                processes.check(MANAGER_ENDS_SECONDS)
                raise
            await _show_news(caller, manager, status, show)
            if status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"]:
                return await _finish(options, caller, manager, status, show)
            processes.check()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), POLL_SECONDS)
    finally:
        await caller.close()
    show.say("Interrupted; every process is being ended.")
    return 130


class _Show:
    """What is shown of a league in progress: plain lines."""

    def __init__(self, *, quiet: bool, paced: bool) -> None:
        # Between rounds that follow each other at once there is no table that a reader could look at.
        self.paced = paced
        self.quiet = quiet
        self.round = 0
        self.told: set[str] = set()

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, flush=True)


async def _show_news(caller: HttpCaller, manager: str, status: dict[str, Any], show: _Show) -> None:
    """Tell of rounds that began and matches that ended since the last look."""
    if show.quiet:
        return
    for round_id in range(max(1, show.round), status["current_round"] + 1):
        if round_id > show.round:
            if show.paced and round_id > 1:
                standings = (await ask_manager(caller, manager, {"command": "standings"}))["standings"]
                show.say(f"\n{standings_table(standings[:MOST_ROWS])}")
            show.round = round_id
            show.say(f"\nRound {round_id} of {status['total_rounds']}")
        found = await ask_manager(caller, manager, {"command": "schedule", "round_id": round_id})
        for match in found["schedule"]:
            if "result" in match and match["match_id"] not in show.told:
                show.told.add(match["match_id"])
                show.say(f"  {_sentence(match)}")


def _sentence(match: dict[str, Any]) -> str:
    result = match["result"]
    a, b = match["player_A_id"], match["player_B_id"]
    status = result["details"].get("status")
    winner = result["winner"]
    outcome = "draw" if winner is None else f"{winner} wins"
    if status == "TECHNICAL_LOSS":
        outcome = f"{'nobody wins' if winner is None else outcome} ({result['details'].get('ruling', status)})"
    choices = [harmless(result["details"]["choices"].get(player) or "-") for player in (a, b)]
    number = result["details"].get("drawn_number")
    drawn = "" if number is None else f", number {number}"
    return f"{match['match_id']:6} {a} ({choices[0]}) – {b} ({choices[1]}){drawn}: {outcome}"


async def _finish(
    options: argparse.Namespace, caller: HttpCaller, manager: str, status: dict[str, Any], show: _Show
) -> int:
    standings = (await ask_manager(caller, manager, {"command": "standings"}))["standings"]
    schedule = (await ask_manager(caller, manager, {"command": "schedule"}))["schedule"]
    technical = sum(one["result"]["details"].get("status") == "TECHNICAL_LOSS" for one in schedule)
    first = standings[0]
    champion = {name: first[name] for name in ("player_id", "display_name", "points")}
    if options.json:
        told = {
            "league_id": status["league_id"],
            "champion": champion,
            "final_standings": standings,
            "rounds": status["total_rounds"],
            "matches": status["total_matches"],
            "technical_losses": technical,
            "seconds": status["seconds"],
        }
        print(json.dumps(told, ensure_ascii=False))
        return 0
    folder = options.data_dir / "agents" / safe_name(status["league_id"]) / "manager"
    show.say(f"\n{standings_table(standings)}\n")
    show.say(f"Champion: {champion['display_name']} ({champion['player_id']}) with {champion['points']} points")
    rate = status["total_matches"] / max(status["seconds"], 0.001)
    show.say(f"{status['total_matches']} matches in {status['seconds']:.2f} s ({rate:.0f} a second)")
    show.say(f"Log: {folder / 'log.jsonl'}\nEvents: {shown(options.store or folder / 'league.db')}")
    return 0
