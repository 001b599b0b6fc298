"""Runs a player as a program: opens its port, registers it, and serves it until its league is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path

from leaguekit.agents.logs import restored_logging
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.serving import endpoint_of, new_loop, serve
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent, Profile
from leaguekit.player.definition import PlayerDefinition
from leaguekit.protocol.refusals import player_refusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import CannotListen, listen

# The errors whose text is for the author of the player.
ERRORS = (RegistrationRefused, CannotListen)


def run_player(
    player: PlayerDefinition,
    manager: str,
    *,
    host: str,
    port: int,
    endpoint: str | None,
    data_dir: str | Path,
    stay: bool,
    seed: int | None,
    profile: Profile,
) -> None:
    """Run a player. The arguments are those of ``Player.run``."""

    async def main() -> None:
        world = World(HttpCaller(AddressPolicy.only(manager)), Path(data_dir))
        with contextlib.closing(listen(host, port)) as sock:
            url = endpoint or endpoint_of(sock, manager)
            agent = PlayerAgent(player, world, manager, url, seed=seed, profile=profile)
            try:
                await serve(agent, sock, player_refusal, stay=stay)
            finally:
                await world.caller.close()

    with restored_logging() as package, asyncio.Runner(loop_factory=new_loop) as runner:
        if not package.hasHandlers():
            console = logging.StreamHandler()
            console.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
            package.addHandler(console)
            package.setLevel(logging.INFO)
        runner.run(main())
