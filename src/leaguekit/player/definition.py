"""The definition of a player: its name, the function that chooses its moves, and the games that it can play."""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.player.context import Strategy
from leaguekit.player.strategies import can_play, check_can_play, games_of
from leaguekit.protocol.fields import DisplayName, Version
from leaguekit.protocol.patterns import valid


class PlayerDefinition:
    """The name, strategy, games and version of a player. The constructor raises ValueError or TypeError."""

    def __init__(
        self,
        name: str,
        strategy: Strategy,
        *,
        games: Sequence[str] | None = None,
        version: str = "1.0.0",
    ) -> None:
        if not valid(DisplayName, name):
            raise ValueError(f"a player's name has 1 to 50 characters, got {name!r}")
        if not callable(strategy):
            raise TypeError(f"a strategy is a function of one Context, got {strategy!r}")
        # The games that the author named. Without them, the player also takes other games that its strategy can play.
        self.given_games = games
        if games is None:
            games = games_of(strategy)
        if isinstance(games, str) or not games:
            raise ValueError(f"games is a list of at least one game, got {games!r}")
        for game in games:
            check_can_play(str(getattr(strategy, "__name__", strategy)), strategy, game)
        if not valid(Version, version):
            raise ValueError(f"a version has the form 1.0.0, got {version!r}")
        self.name = name
        self.strategy = strategy
        self.games = tuple(games)
        self.version = version

    def takes_game(self, game_type: str) -> bool:
        """Whether the player also takes a game that is not among its ``games``."""
        return self.given_games is None and can_play(self.strategy, game_type)
