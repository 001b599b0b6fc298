"""``league host``: a manager and its referees on this machine, waiting for players."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import socket
from secrets import token_bytes

from leaguekit.cli import CommandError, manager, program, stored_plans
from leaguekit.cli.manager import USUAL_NEEDED, USUAL_PORT
from leaguekit.cli.processes import FILES_A_PROCESS, Processes
from leaguekit.protocol.codes import ENTROPY_BYTES, new_code
from leaguekit.store.opening import shown
from leaguekit.transport.server.server import CannotListen, listen

EXAMPLES = """examples:
  league host --referees 2 --start-when players=4,referees=2
  league host --game tic_tac_toe          wait for players, and for `league start`
  league host --gateway                   with seats for chat applications and for people in a browser
  league host --profile open              host agents as they are; its first referee listens at 8001 if it can

It takes the options of `league manager`, and starts referees at the ports after the manager's. Ctrl-C ends all, and
says how to go on; a process that is killed is started again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    manager.configure(parser)
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--referees", metavar="N", type=int, help="how many referees (default 1, or as many as were there)"
    )
    parser.add_argument(
        "--gateway", action="store_true", help="seats for chat applications and people too, at the port after the rest"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    settings = manager.settings_from(options)
    if options.store is None:
        # So that it is known which league to go on with.
        options.league_id = settings.league_id
    store = options.store or manager.default_store(options.data_dir, settings.league_id)
    if options.referees is None:
        options.referees = max(1, asyncio.run(stored_plans.referees_in(store)))
    if options.referees < 1:
        raise CommandError("a league needs at least --referees 1")
    program.policy_for(options)
    program.check_files(FILES_A_PROCESS * (1 + options.referees + options.gateway))
    with Processes(aloud=True) as processes:
        again = _start(options, processes)
        code = program.run(lambda stop: _watch(processes, stop))
    program.say(f"Go on with: {again}")
    return code


def _start(options: argparse.Namespace, processes: Processes) -> str:
    """Start every process; the command that does so again."""
    try:
        served = listen(options.host, options.port)
        referees = _referees(options)
        gateways = [listen(options.host, options.port and referees[-1].getsockname()[1] + 1)] if options.gateway else []
    except CannotListen as error:
        raise CommandError(str(error)) from None
    # Its own referees reach the manager from this machine, whatever way others take.
    url = program.reached_at(served)
    endpoints = [program.reached_at(sock, program.facing(options)) for sock in referees]
    gateway_urls = [program.reached_at(sock, program.facing(options)) for sock in gateways]
    at = ["--host", options.host, "--data-dir", str(options.data_dir)]
    shared = at if options.allow is None else [*at, "--allow", options.allow]
    given = {
        "--league-id": options.league_id,
        "--game": options.game,
        "--store": options.store,
        "--start-when": options.start_when,
        "--start-at": options.start_at,
        "--announce-lead": options.announce_lead,
        "--max-players": options.max_players,
        "--max-referees": options.max_referees,
        "--max-per-address": options.max_per_address,
        "--config": options.config,
        "--seed": options.seed,
        "--profile": options.profile,
        "--endpoint": options.endpoint,
    }
    chosen = [text for name, value in given.items() if value is not None for text in (name, str(value))]
    several = {"--host-name": options.host_name, "--proxy": options.proxy}
    chosen += [text for name, values in several.items() for value in values for text in (name, value)]
    chosen += ["--require-seat"] if options.require_seat else []
    chosen += ["--strict-referees"] if options.strict_referees else []
    # Its own referees come in by a code that nobody else is told.
    own = [text for endpoint in (*endpoints, *gateway_urls) for text in ("--own", endpoint)]
    code = {program.REFEREE_CODE: new_code(token_bytes(ENTROPY_BYTES))}
    processes.start("manager", served, "manager", *shared, *chosen, *own, secrets=code)
    for number, (sock, endpoint) in enumerate(zip(referees, endpoints, strict=True), 1):
        name = f"Referee {number}"
        of_referee = ["--endpoint", endpoint, "--manager", url, "--name", name, "--max-concurrent", "10"]
        seats = [text for gateway_url in gateway_urls for text in ("--own", gateway_url)]
        processes.start(name, sock, "referee", *shared, *of_referee, *seats, secrets=code)
    for sock, gateway_url in zip(gateways, gateway_urls, strict=True):
        named = [text for value in options.host_name for text in ("--host-name", value)]
        proxied = [text for value in options.proxy for text in ("--proxy", value)]
        processes.start("gateway", sock, "gateway", *at, "--endpoint", gateway_url, "--manager", url, *named, *proxied)
    where = ["--port", str(options.port), "--referees", str(options.referees)]
    where += ["--gateway"] if options.gateway else []
    return shlex.join(["league", "host", *shared, *where, *map(shown, chosen)])


def _referees(options: argparse.Namespace) -> list[socket.socket]:
    """The referees' sockets, after the manager's port; in the open profile the first at 8001 if that is free."""
    ports = [options.port and options.port + number for number in range(1, options.referees + 1)]
    if manager.settings_from(options).profile != "open" or USUAL_PORT in ports:
        return [listen(options.host, port) for port in ports]
    try:
        first = listen(options.host, USUAL_PORT)
    except CannotListen as error:
        program.say(f"{USUAL_NEEDED}; none can listen there: {error}")
        return [listen(options.host, port) for port in ports]
    return [first, *(listen(options.host, port) for port in ports[1:])]


async def _watch(processes: Processes, stop: program.Stop) -> int:
    while not (stop.is_set() or processes.is_interrupted):
        for news in processes.check():
            program.say(news)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)
    return 0
