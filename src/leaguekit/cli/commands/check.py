"""``league check``: check that an agent conforms to league.v2, sentence by sentence."""

from __future__ import annotations

import argparse
import math
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

from leaguekit.agents.game_loading import load_game
from leaguekit.agents.logs import silenced_logging
from leaguekit.agents.serving import run_until
from leaguekit.agents.world import World
from leaguekit.cli import CommandError, program
from leaguekit.cli.arguments import add_game_option
from leaguekit.cli.manager_client import admin_token
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.kit import report as reports
from leaguekit.kit.checks import CheckSettings, Outcome
from leaguekit.kit.http_network import HttpNetwork
from leaguekit.kit.report import Report
from leaguekit.protocol.plain_text import sanitize_lines
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Unreachable

EXAMPLES = """examples:
  league check player                            wait for a player to register here, then check it
  league check player --full                     also the checks that take long
  league check player http://127.0.0.1:8101/mcp  a player that never registers
  league check player --quiet                    print only what failed
  league check player --json --junit report.xml
  league check referee                           wait for a referee to register here, then check it
  league check manager http://127.0.0.1:8000/mcp a manager whose league is still empty

Each check is a sentence with its requirement (document and line). The exit code is 0 if no required check failed, 1 if
one failed, 2 if no agent was there or the checks could not be made. Recommended checks are printed separately and do
not change the exit code. docs/checks.md lists every check.
"""
PLAYER = """examples:
  league check player
  league check player --port 8000 --timeout 120
  league check player --game tic_tac_toe --full
  league check player http://127.0.0.1:8101/mcp

The command is the player's manager, its referee and its opponent. Point your player at the manager's URL that is
printed, and start it. It registers, and plays a small league to its end. Give a URL only for a player that never
registers: then the checks of registrations are left out. The exit code is 0 if no required check failed, 1 if one
failed, 2 if the checks could not be made. Moves that the player states to be other moves than its strategy's are named
in the conclusion. They do not change the exit code.
"""
REFEREE = """examples:
  league check referee
  league check referee --port 8000 --timeout 120
  league check referee --full                    also the real limits of 5 and 30 seconds: 5 minutes more
  league check referee http://127.0.0.1:8001/mcp

The command is the referee's manager and all of its players. Point your referee at the manager's URL that is printed,
and start it. It registers, is assigned matches by start_match (or by ROUND_ANNOUNCEMENT, if it reacts to that), and
referees players that are right, wrong or silent, until the league ends. Give a URL only for a referee that never
registers: then the checks of registrations are left out. The exit code is 0 if no required check failed, 1 if one
failed, 2 if the checks could not be made.
"""
MANAGER = """examples:
  league manager --port 8000 --announce-lead 0 --start-when players=4,referees=2
  league check manager http://127.0.0.1:8000/mcp
  league check manager 'http://10.0.0.5:8000/mcp?referee=7K2M-Q9XD-0RTB-5HVN' --host 0.0.0.0 --allow lan=10.0.0.0/24
  league check manager http://127.0.0.1:8000/mcp --admin-token-file SHARED/agents/…/manager/admin_token

The command is four players and two referees of the manager's league, which must be empty and not started. It registers
them, sends every query that agents may send, and plays the league to its end. The league must start when they have
registered: by itself, by --admin-token-file if the manager is leaguekit's, or by you, when the command asks for it. If
rounds are announced a minute ahead, the three rounds take three minutes. The exit code is 0 if no required check
failed, 1 if one failed, 2 if the checks could not be made.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    agents = parser.add_subparsers(dest="agent", metavar="AGENT", title="agents", required=True)
    player, referee, manager = (
        agents.add_parser(
            name,
            help=f"check a {name}",
            description=f"check a {name}",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, epilog in (("player", PLAYER), ("referee", REFEREE), ("manager", MANAGER))
    )
    player.add_argument("url", metavar="URL", nargs="?", help="where the player listens, if it never registers")
    add_game_option(player, DEFAULT_GAME)
    _add_options(player, port=8000)
    referee.add_argument("url", metavar="URL", nargs="?", help="where the referee listens, if it never registers")
    _add_options(referee, port=8000)
    manager.add_argument("url", metavar="URL", help="the manager's; with ?referee=CODE if its referees need one")
    manager.add_argument(
        "--admin-token-file", metavar="FILE", type=Path, help="start the league as its operator, with this token"
    )
    _add_options(manager, port=0)


def _add_options(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Add the options of every ``league check``."""
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    default = f"default {port}; with a URL, and for 0, a free one"
    parser.add_argument("--port", type=int, help=f"the port to listen at ({default})")
    parser.set_defaults(usual_port=port)
    program.add_allow_option(parser)
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=60.0, help="how long to wait for the agent (default 60)"
    )
    parser.add_argument("--full", action="store_true", help="also make the checks that take long: those of time limits")
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--quiet", action="store_true", help="print only the checks that failed, and the conclusion")
    how_much.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help="also write a report for build servers (JUnit's XML)"
    )


def _check(options: argparse.Namespace, network: HttpNetwork, settings: CheckSettings) -> Coroutine[Any, Any, Report]:
    """Make the checks of the agent that the options name. Only its part of the kit is imported."""
    world = World(network.caller)
    if options.agent == "manager":
        from leaguekit.kit.manager import check_manager

        token = None if options.admin_token_file is None else admin_token(options)
        return check_manager(world, network, options.url, admin_token=token, settings=settings)
    if options.agent == "referee":
        from leaguekit.kit.referee import check_referee

        return check_referee(world, network, port=_port(options), url=options.url, settings=settings)
    from leaguekit.kit.player import check_player

    return check_player(
        world, network, load_game(options.game), port=_port(options), url=options.url, settings=settings
    )


def _port(options: argparse.Namespace) -> int:
    """The port to listen at. An agent that registers must know it, so it is fixed. With a URL any port will do."""
    if options.port is not None:
        return int(options.port)
    return 0 if options.url else int(options.usual_port)


def run(options: argparse.Namespace) -> int:
    """Make the checks, print each as soon as it is made, and write the reports. Returns the exit code."""
    _check_options(options)
    policy = program.policy_for(options)
    policy = policy.trusting(options.url) if options.url else policy
    text_report = reports.TextReport()

    def print_outcome(outcome: Outcome) -> None:
        if not options.json and (outcome.state == "failed" or not options.quiet):
            _print(text_report.lines_for(outcome))

    settings = CheckSettings(
        timeout_seconds=options.timeout, full=options.full, on_progress=program.print_notice, on_outcome=print_outcome
    )

    async def main(stop: program.Stop) -> int:
        network = HttpNetwork(options.host, policy, program.outward_url(options))
        try:
            report = await run_until(stop, _check(options, network, settings))
        finally:
            # Requests that the kit intentionally never answers are cut off now.
            with silenced_logging():
                await network.close()
        if report is None:
            return 130
        if options.json:
            _print([reports.as_json(report)])
        elif options.quiet:
            _print([*reports.summary(report)][-1:])
        else:
            _print([*text_report.remaining_lines(), "", *reports.summary(report)])
        if options.junit is not None:
            _write(options.junit, reports.as_junit(report))
        return report.exit_code

    return program.run(main)


def _check_options(options: argparse.Namespace) -> None:
    if not 0 < options.timeout < math.inf:
        raise CommandError(f"--timeout must be more than 0 seconds, got {options.timeout:g}")
    if options.url:
        try:
            read_url(options.url)
        except Unreachable as error:
            raise CommandError(f"{error}; give it as http://HOST:PORT/mcp") from None
    if options.junit is not None:
        # Now, so that an error does not come after minutes of checks, and the report of an earlier run is not left.
        _write(options.junit, b"")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(sanitize_lines(line), flush=True)


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise CommandError(f"--junit {file} cannot be written: {error.strerror}; choose another file") from None
