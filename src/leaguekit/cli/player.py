"""``league player``: play in a league."""

from __future__ import annotations

import argparse

from leaguekit.agents.player import Player
from leaguekit.agents.strategies import STRATEGIES, load
from leaguekit.cli import CommandError, program

EXAMPLES = f"""examples:
  league player --manager http://127.0.0.1:8000/mcp
  league player --manager http://127.0.0.1:8000/mcp --port 8102 --name Bob --strategy frequency
  league player --manager http://127.0.0.1:8000/mcp --strategy my_agent:choose
  league player --manager 'http://10.0.0.5:8000/mcp?seat=7K2M-Q9XD-0RTB-5HVN'
  {program.SEAT}=7K2M-Q9XD-0RTB-5HVN league player …      the same, unseen by others on this machine

Strategies: {", ".join(STRATEGIES)}; or module:function, a function of your own that is given a context and returns a
move. It registers, plays, and ends with the league. Started again with the same name and --data-dir it comes back
under its id.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    program.add_options(parser, port=8101)
    parser.add_argument(
        "--manager", metavar="URL", required=True, help="the manager's, such as http://127.0.0.1:8000/mcp"
    )
    parser.add_argument("--name", help="its name in the league (default: the strategy's)")
    parser.add_argument("--strategy", default="random", help="a name or module:function (default random)")
    parser.add_argument("--seed", metavar="N", type=int, help="make the strategy's chance repeatable")
    parser.add_argument("--wanted-id", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        player = Player(options.name or options.strategy.rpartition(":")[2], load(options.strategy))
    except (ValueError, LookupError, ImportError) as error:
        raise CommandError(str(error)) from None
    return program.run(lambda stop: _serve(options, player, stop), options.parent_fd)


async def _serve(options: argparse.Namespace, player: Player, stop: program.Stop) -> int:
    from leaguekit.agents.player import PlayerAgent
    from leaguekit.agents.world import World
    from leaguekit.protocol.refusals import player_refusal
    from leaguekit.transport.addresses import AddressPolicy
    from leaguekit.transport.caller import HttpCaller

    # It calls nobody but the manager that it was given.
    world = World(HttpCaller(AddressPolicy.only(options.manager)), options.data_dir)
    served, endpoint = program.opened(options, options.manager)
    manager = program.manager_url(options.manager, "seat")
    agent = PlayerAgent(player, world, manager, endpoint, seed=options.seed, wanted_id=options.wanted_id)
    try:
        return await program.serve_agent(agent, served, player_refusal, stop)
    finally:
        await world.caller.close()
