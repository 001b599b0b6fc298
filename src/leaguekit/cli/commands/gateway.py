"""``league gateway``: seats in a league for players that cannot run a server of their own."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from leaguekit.agents.logs import log_to
from leaguekit.agents.serving import run_until
from leaguekit.agents.world import World
from leaguekit.cli import add_manager_option, program
from leaguekit.gateway.gateway import Gateway
from leaguekit.gateway.server import gateway_server
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller

EXAMPLES = """examples:
  league gateway --manager http://127.0.0.1:8000/mcp
  league gateway --manager http://127.0.0.1:8000/mcp --host 0.0.0.0 --endpoint http://10.0.0.5:8200/mcp
  league host --gateway                                                 the manager, its referees and a gateway

These play through it:
  a chat application     add the MCP server http://HOST:8200/mcp to it, and say: play in the league
                         (with /mcp?seat=CODE it already has the code)
  a person               opens http://HOST:8200/ in a browser
  a program behind       league player --manager URL --relay http://HOST:8200
  a router
Each seat is a player of its own, protected by its seat code (`league seats new`) or by a code that the gateway makes if
the league requires none. If no move comes in time, a random legal move is made. Ctrl-C ends the gateway. Started again
with the same --data-dir, it keeps its seats.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    program.add_options(parser, port=8200)
    program.add_proxy_options(parser)
    add_manager_option(parser, required=True)


def run(options: argparse.Namespace) -> int:
    return program.run(lambda stop: _serve(options, stop), options.parent_fd)


async def _serve(options: argparse.Namespace, stop: program.Stop) -> int:
    program.check_url("--manager", options.manager)
    proxies = program.proxies_for(options)
    sock, endpoint = program.open_socket(options, options.manager)
    # It calls only the manager. The players call the gateway.
    world = World(HttpCaller(AddressPolicy.only(options.manager)), options.data_dir)
    gateway = Gateway(world, options.manager, endpoint)

    async def work() -> None:
        await gateway.open(program.print_notice)
        seats = f", with its seats of before: {len(gateway.seats)}" if gateway.seats else ""
        by_mcp = f"{endpoint} (MCP)" if find_spec("mcp") else "not before pip install 'leaguekit[mcp]'"
        program.print_notice(
            f"The gateway to {gateway.league_id or 'the league'} is at {endpoint}{seats}\n"
            f"  people: {program.dashboard_url(endpoint)}\n  chat applications: {by_mcp}\n"
            f"  players behind a router: league player --relay {program.dashboard_url(endpoint)} --manager …"
        )
        await stop.wait()

    with log_to(options.data_dir / "agents" / "gateway" / "log.jsonl", "gateway"):
        server = gateway_server(gateway, sock, names=options.host_name, proxies=proxies)
        await server.start()
        try:
            await run_until(stop, work())
        finally:
            await gateway.close()
            await server.stop()
            await world.caller.close()
    return stop.exit_code
