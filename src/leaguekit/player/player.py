"""The player as its author uses it: one function, and around it a program that registers and answers calls.

The program itself, with its server and its files, is imported when the player plays. So a strategy and its tests need
none of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Literal

from leaguekit.player.context import Strategy
from leaguekit.player.definition import PlayerDefinition
from leaguekit.protocol.codes import mcp_url
from leaguekit.protocol.plain_text import sanitize_lines

# The options of a player's own command. Their defaults are those of ``run``.
_OPTIONS = {
    "manager": "the manager's URL, or that of its page",
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

        The environment variable LEAGUE_SEAT may have the code of the player's seat.

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
            from leaguekit.agents.serving import manager_url  # noqa: PLC0415 - see above
            from leaguekit.player.running import ERRORS  # noqa: PLC0415

            try:
                options.manager = manager_url(options.manager, "seat")
                return self.run(**vars(options))
            except ERRORS as error:
                print(f"{self.name}: {sanitize_lines(error)}", file=sys.stderr)  # noqa: T201 - it is a command here
                return 2
        except KeyboardInterrupt:
            return 130

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
        profile: Literal["spec", "open"] = "spec",
    ) -> int:
        """Register, play until the league is over, and return the exit code. With ``stay``, go on until Ctrl-C.

        ``endpoint`` is the URL at which others reach this player, if it is not at its host and port. Raises
        RegistrationRefused, or CannotListen if the port is in use. With the ``profile`` "open", the player also
        plays under managers and referees that deviate from the documents.
        """
        try:
            from leaguekit.player.running import run_player  # noqa: PLC0415 - see above

            run_player(
                self,
                mcp_url(manager),
                host=host,
                port=port,
                endpoint=endpoint,
                data_dir=data_dir,
                stay=stay,
                seed=seed,
                profile=profile,
            )
        except KeyboardInterrupt:
            return 130
        return 0
