"""``league host``: start a manager and its referees on this machine, and wait for players."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import socket
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from secrets import token_bytes
from urllib.parse import unquote

from leaguekit.agents import serving
from leaguekit.agents.game_loading import is_in_file
from leaguekit.cli import EXIT_INTERRUPTED, CommandError, program, stored_plans
from leaguekit.cli.commands import manager
from leaguekit.cli.commands.manager import DEFAULT_REFEREE_PORT, REFEREE_PORT_HINT
from leaguekit.cli.processes import FILES_PER_PROCESS, Processes
from leaguekit.protocol.codes import ENTROPY_BYTES, new_code
from leaguekit.store.base import MEMORY, redact_address
from leaguekit.transport.server.server import CannotListen, listen

EXAMPLES = """examples:
  league host --referees 2 --start-when players=4
  league host --game tic_tac_toe          wait for players, and for `league start`
  league host --title "Winter Cup" --format swiss         few rounds for many players
  league host --store postgresql://… --standby            take over when the machine of another host dies
  league host --gateway                   with seats for chat applications and for people in a browser
  league host --profile open              host agents as they are; its first referee listens at 8001 if it can

For a class, where agents of students are sometimes slow or down, set shorter time limits at any time:
  league set announce_lead=5 choice_seconds=5 max_retries=1 retry_seconds=1
By default a player that does not choose delays its match by 126 s, and with these limits by 11 s.

It takes the options of `league manager`, and starts referees at the ports after the manager's. Ctrl-C ends all, and
prints how to continue. A process that is killed is started again.
"""
# The options of the manager that have a value and are passed on to it. The store remembers them: settings, when the
# league starts, where to listen, and which addresses may be called.
_PASSED_ON = (
    *("title", "game", "format", "rounds", "seeding", "start_when", "start_at", "announce_lead", "max_players"),
    *("max_referees", "config", "seed"),
)
# Those that have to be given again when the league is continued.
_NEEDED_AGAIN = ("league_id", "store", "profile", "max_per_address", "endpoint")


def configure(parser: argparse.ArgumentParser) -> None:
    manager.configure(parser)
    parser.add_argument(
        "--referees", metavar="N", type=int, help="how many referees (default 1, or as many as were there)"
    )
    parser.add_argument(
        "--gateway", action="store_true", help="seats for chat applications and people too, at the port after the rest"
    )


def run(options: argparse.Namespace) -> int:
    settings = manager.settings_from(options)
    when = manager.check_options(options)
    if options.store is None and options.league_id is not None:
        _warn_of_new_league(options.data_dir, options.league_id)
    if options.store is None:
        # The command to continue needs the id.
        options.league_id = settings.league_id
    store = options.store or manager.default_store(options.data_dir, settings.league_id)
    asyncio.run(manager.check_store(options, store))
    asyncio.run(stored_plans.recall_listening(options, store))
    if options.referees is None:
        options.referees = max(1, asyncio.run(stored_plans.count_referees(store)))
    if options.referees < 1:
        raise CommandError("a league needs at least --referees 1")
    if when is not None:
        when = when[0], when[1] or options.referees
        options.start_when = f"players={when[0]},referees={when[1]}"
    if when is not None and when[1] > options.referees:
        started = "1 referee" if options.referees == 1 else f"{options.referees} referees"
        program.print_notice(
            f"--start-when waits for {when[1]} referees, and this command starts {started} (--referees); "
            f"others must register before the league starts"
        )
    program.policy_for(options)
    program.check_file_limit(FILES_PER_PROCESS * (1 + options.referees + options.gateway))
    resume = None

    async def serve(stop: program.Stop) -> int:
        nonlocal resume
        resume = _start(options, processes)
        return await _watch(processes, stop)

    with Processes(inherits_stderr=True) as processes:
        code = program.run(lambda stop: manager.serve_or_stand_by(options, store, stop, lambda: serve(stop)))
    if store != MEMORY and resume is not None:
        is_over = asyncio.run(stored_plans.is_over(store))
        again = "Serve its page again" if is_over else "Start it again, at the same address and port,"
        program.print_notice(f"{again} with: {resume}")
    return code


def _warn_of_new_league(data_dir: Path, league_id: str) -> None:
    """Print that a league is new if there is one with a similar id, which may be meant."""
    stores = [*data_dir.glob("agents/*/manager/league.db")]
    known = [unquote(store.parent.parent.name) for store in stores]
    if league_id not in known and (near := get_close_matches(league_id, known, 1)):
        program.print_notice(f"{league_id} is a new league. To go on with {near[0]}, give --league-id {near[0]}")


def _start(options: argparse.Namespace, processes: Processes) -> str:
    """Start all processes. Returns the command that starts them again."""
    sock = listen(options.host, options.port)
    referees = _open_referee_sockets(options)
    gateways = [listen(options.host, options.port and referees[-1].getsockname()[1] + 1)] if options.gateway else []
    # The referees call the manager from this machine, so its local URL is right for them. But if the manager hangs, and
    # a standby takes the league over, they can go on only at the URL of both.
    url = (options.standby and options.endpoint) or program.url_of_socket(sock)
    endpoints = [program.url_of_socket(sock, program.outward_url(options)) for sock in referees]
    gateway_urls = [program.url_of_socket(sock, program.outward_url(options)) for sock in gateways]
    at = ["--host", options.host, "--data-dir", str(options.data_dir)]
    shared = at if options.allow is None else [*at, "--allow", options.allow]
    behind_proxy = [*_repeat("--host-name", options.host_name), *_repeat("--proxy", options.proxy)]
    chosen = _options(options, (*_PASSED_ON, *_NEEDED_AGAIN)) + behind_proxy
    chosen += ["--require-seat"] if options.require_seat else []
    chosen += ["--strict-referees"] if options.strict_referees else []
    chosen += ["--takes-over"] if options.takes_over else []
    own = _repeat("--own", [*endpoints, *gateway_urls])
    own += _repeat("--gateway-page", [program.dashboard_url(one) for one in gateway_urls])
    # The referees register with a code that is passed only to them and the manager.
    code = {serving.REFEREE_CODE_VARIABLE: new_code(token_bytes(ENTROPY_BYTES))}
    processes.start("manager", sock, "manager", *shared, "--port", str(options.port), *chosen, *own, secrets=code)
    own_game = ["--game", game] if is_in_file(game := manager.requested_game(options)) else []
    for number, (sock, endpoint) in enumerate(zip(referees, endpoints, strict=True), 1):
        name = f"Referee {number}"
        of_referee = ["--endpoint", endpoint, "--manager", url, "--name", name, "--max-concurrent", "10", *own_game]
        program.print_notice(f"{name} listens at port {sock.getsockname()[1]} and registers at {url}")
        processes.start(name, sock, "referee", *shared, *of_referee, *_repeat("--own", gateway_urls), secrets=code)
    for sock, gateway_url in zip(gateways, gateway_urls, strict=True):
        processes.start("gateway", sock, "gateway", *at, "--endpoint", gateway_url, "--manager", url, *behind_proxy)
    again = ["league", "host", "--data-dir", str(options.data_dir), "--referees", str(options.referees)]
    again += ["--gateway"] if options.gateway else []
    again += ["--standby"] if options.standby else []
    again += own_game
    return shlex.join([*again, *map(redact_address, _options(options, _NEEDED_AGAIN) + behind_proxy)])


def _options(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Those of the options that are given, as a command line."""
    given = {name: getattr(options, name) for name in names}
    return [
        text
        for name, value in given.items()
        if value is not None
        for text in (f"--{name.replace('_', '-')}", str(value))
    ]


def _repeat(option: str, values: Iterable[str]) -> list[str]:
    """An option that is given once per value."""
    return [text for value in values for text in (option, value)]


def _open_referee_sockets(options: argparse.Namespace) -> list[socket.socket]:
    """The referees' sockets, after the manager's port. In the open profile the first is at 8001 if that is free."""
    ports = [options.port and options.port + number for number in range(1, options.referees + 1)]
    if manager.settings_from(options).profile != "open" or DEFAULT_REFEREE_PORT in ports:
        return [listen(options.host, port) for port in ports]
    try:
        first = listen(options.host, DEFAULT_REFEREE_PORT)
    except CannotListen as error:
        program.print_notice(f"{REFEREE_PORT_HINT}; none can listen there: {error}")
        return [listen(options.host, port) for port in ports]
    return [first, *(listen(options.host, port) for port in ports[1:])]


async def _watch(processes: Processes, stop: program.Stop) -> int:
    while not (stop.is_set() or processes.is_interrupted):
        for news in processes.check():
            program.print_notice(news)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)
    return EXIT_INTERRUPTED if processes.is_interrupted else stop.exit_code
