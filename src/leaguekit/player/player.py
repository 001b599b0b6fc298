"""The player as its author uses it: one function, and around it a program that registers and answers calls.

Player               a name and a strategy; ``run()`` runs the whole program, ``main()`` runs it as a command
PlayerAgent          the player without sockets and signals, on any network and with any clock
RegistrationRefused  the league did not accept the player
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path

from leaguekit.agents.logs import restored_logging
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.serving import endpoint_of, new_loop, serve
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent, Profile
from leaguekit.player.context import Strategy
from leaguekit.player.definition import PlayerDefinition
from leaguekit.protocol.plain_text import sanitize_lines
from leaguekit.protocol.refusals import player_refusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import CannotListen, listen

__all__ = ["Player", "PlayerAgent", "RegistrationRefused"]

# The options of a player's own command. Their defaults are those of ``run``.
_OPTIONS = {
    "manager": "the manager's URL",
    "host": "the address to listen at",
    "port": "the port; 0 takes a free one",
    "endpoint": "how others reach it, if not at host and port",
    "data_dir": "where its files go",
}


class Player(PlayerDefinition):
    """A player of a league: a name, the function that chooses its moves, and the games that it can play.

    The default of ``games`` is every known game. For a built-in strategy it is the games that the strategy can play.
    """

    @classmethod
    def from_function(
        cls,
        choose: Strategy,
        *,
        name: str | None = None,
        games: Sequence[str] | None = None,
        version: str = "1.0.0",
    ) -> Player:
        """A player from a function. Its default name is the name of the function."""
        return cls(name or str(getattr(choose, "__name__", "player")), choose, games=games, version=version)

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the player as a command, with options from the command line. Returns the exit code.

        ``if __name__ == "__main__": raise SystemExit(player.main())``
        """
        parser = argparse.ArgumentParser(description=f"{self.name}: register with a league, play it, and end with it.")
        for name, text in _OPTIONS.items():
            default = signature(self.run).parameters[name].default
            suffix = "" if default is None else f" (default {default})"
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, default=default, type=type(default or ""), help=f"{text}{suffix}")
        parser.add_argument("--stay", action="store_true", help="stay after the league's end, until Ctrl-C")
        parser.add_argument(
            "--profile", choices=["spec", "open"], default="spec", help="open: managers that deviate from the documents"
        )
        parser.add_argument("--seed", metavar="N", type=int, help="make the strategy's chance repeatable")
        options = parser.parse_args(arguments)
        try:
            return self.run(**vars(options))
        except (RegistrationRefused, CannotListen) as error:
            print(f"{self.name}: {sanitize_lines(error)}", file=sys.stderr)  # noqa: T201 - it is a command here
            return 2

    def run(
        self,
        manager: str = "http://127.0.0.1:8000/mcp",
        *,
        host: str = "127.0.0.1",
        port: int = 8101,
        endpoint: str | None = None,
        data_dir: str | Path = "SHARED",
        stay: bool = False,
        seed: int | None = None,
        profile: Profile = "spec",
    ) -> int:
        """Register, play until the league is over, and return the exit code. With ``stay``, go on until Ctrl-C.

        ``endpoint`` is the URL at which others reach this player, if it is not at its host and port. Raises
        RegistrationRefused, or CannotListen if the port is in use. With the ``profile`` "open", the player also
        plays under managers and referees that deviate from the documents.
        """

        async def main() -> None:
            world = World(HttpCaller(AddressPolicy.only(manager)), Path(data_dir))
            with contextlib.closing(listen(host, port)) as sock:
                agent = PlayerAgent(
                    self, world, manager, endpoint or endpoint_of(sock, manager), seed=seed, profile=profile
                )
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
            try:
                runner.run(main())
            except KeyboardInterrupt:
                return 130
        return 0
