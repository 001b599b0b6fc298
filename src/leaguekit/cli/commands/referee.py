"""``league referee``: referee matches for a league."""

from __future__ import annotations

import argparse

from leaguekit.agents import serving
from leaguekit.agents.world import World
from leaguekit.cli import CommandError, add_manager_option, program
from leaguekit.cli.arguments import add_own_game_option
from leaguekit.referee.referee import RefereeAgent
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.mcp.calling import McpCaller

EXAMPLES = f"""examples:
  league referee --manager http://127.0.0.1:8000/mcp
  league referee --manager http://127.0.0.1:8000/mcp --port 8002 --name "Second referee" --max-concurrent 10
  league referee --manager 'http://10.0.0.5:8000/mcp?referee=7K2M-Q9XD-0RTB-5HVN'
  {serving.REFEREE_CODE_VARIABLE}=7K2M-Q9XD-0RTB-5HVN league referee …      the same, unseen by others on this machine

The referee asks the manager which game the league plays. The game must be installed here, or named by --game.
The manager prints the referee code on its terminal, or keeps it in the file that it names. On the manager's own machine
no code is needed.
The referee registers, plays the matches that it is assigned, and ends with the league. Started again with the same name
and --data-dir, it keeps its id and delivers the rulings that it had made.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    program.add_options(parser, port=8001)
    program.add_allow_option(parser)
    add_manager_option(parser, required=True)
    parser.add_argument("--name", default="Referee", help="its name (default Referee)")
    parser.add_argument(
        "--max-concurrent", metavar="N", type=int, default=2, help="matches at once, 1 to 10 (default 2)"
    )
    add_own_game_option(parser, ", which the league plays")
    # For `league host`: the URL of its own gateway, which may be called whatever --allow says.
    parser.add_argument("--own", metavar="URL", action="append", default=[], help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    if not 1 <= options.max_concurrent <= 10:
        raise CommandError(f"--max-concurrent must be from 1 to 10, got {options.max_concurrent}")
    return program.run(lambda stop: _serve(options, stop), options.parent_fd)


async def _serve(options: argparse.Namespace, stop: program.Stop) -> int:
    caller = McpCaller(HttpCaller(program.policy_for(options).trusting(options.manager, *options.own)))
    world = World(caller, options.data_dir)
    sock, endpoint = program.open_socket(options, options.manager)
    referee = RefereeAgent(
        world,
        manager_url=serving.manager_url(options.manager, "referee"),
        endpoint=endpoint,
        name=options.name,
        max_concurrent=options.max_concurrent,
    )
    try:
        # Under `league host` the manager writes to the same terminal, and prints who registers.
        is_quiet = options.parent_fd is not None
        return await program.serve_agent(referee, sock, referee.refuse, stop, is_quiet=is_quiet)
    finally:
        await world.caller.close()
