"""``league host``: a manager and its referees on this machine, waiting for players."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from leaguekit.agents.serving import endpoint_of
from leaguekit.cli import CommandError, manager, program
from leaguekit.cli.processes import Processes
from leaguekit.transport.server import CannotListen, listen

EXAMPLES = """examples:
  league host --referees 2 --start-when players=4,referees=2
  league host --game tic_tac_toe          wait for players, and for `league start`

It takes the options of `league manager`, and starts referees at the ports after the manager's. Ctrl-C ends all.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    manager.configure(parser)
    parser.epilog = EXAMPLES
    parser.add_argument("--referees", metavar="N", type=int, default=1, help="how many referees (default 1)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.referees < 1:
        raise CommandError("a league needs at least --referees 1")
    manager.settings_from(options)
    with Processes(aloud=True) as processes:
        _start(options, processes)
        return program.run(lambda stop: _watch(processes, stop))


def _start(options: argparse.Namespace, processes: Processes) -> None:
    try:
        served = listen(options.host, options.port)
        referees = [
            listen(options.host, options.port and options.port + number) for number in range(1, options.referees + 1)
        ]
    except CannotListen as error:
        raise CommandError(str(error)) from None
    url = options.endpoint or endpoint_of(served)
    shared = ["--host", options.host, "--data-dir", str(options.data_dir)]
    shared += [] if options.allow is None else ["--allow", options.allow]
    given = {
        "--league-id": options.league_id,
        "--game": options.game,
        "--store": options.store,
        "--start-when": options.start_when,
        "--start-at": options.start_at,
        "--announce-lead": options.announce_lead,
        "--max-players": options.max_players,
        "--max-referees": options.max_referees,
        "--config": options.config,
        "--seed": options.seed,
        "--endpoint": options.endpoint,
    }
    chosen = [text for name, value in given.items() if value is not None for text in (name, str(value))]
    processes.start("manager", served, "manager", *shared, *chosen)
    for number, sock in enumerate(referees, 1):
        name = f"Referee {number}"
        processes.start(name, sock, "referee", *shared, "--manager", url, "--name", name, "--max-concurrent", "10")


async def _watch(processes: Processes, stop: program.Stop) -> int:
    while not stop.is_set():
        processes.check()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)
    return 0
