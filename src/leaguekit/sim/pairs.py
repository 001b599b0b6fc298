"""Pairs of games between two strategies, for a sequential test."""

from __future__ import annotations

from leaguekit.league.settings import Settings
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.sim.direct import DirectLeague, Entrant
from leaguekit.sim.sprt import SequentialTest


class PairedGames:
    """Plays pairs of games and counts them in a test.

    In the second game of a pair the sides are swapped, and the game's chance is the same. The strategies see nothing of
    earlier games, and have other random numbers of their own: otherwise what happened in the first game would tell them
    what comes in the second.
    """

    def __init__(self, game: str, first: Entrant, second: Entrant, test: SequentialTest) -> None:
        settings = Settings(league_id="simulation", game_type=game, rounds="double")
        self.test = test
        # The number of moves of each strategy by origin.
        self.origins = (MoveOrigins(), MoveOrigins())
        self._league = DirectLeague(settings, [first, second], fresh=True, same_chance=True)
        self.luck = self._league.game.luck

    def play(self, seed: int) -> None:
        """Play the pair of a seed, and count it. Raises AsyncStrategyError."""
        self._league.play(seed)
        first, second = self._league.players.values()
        self.test.pairs[2 * first.row.wins + first.row.draws] += 1
        for origins, player in zip(self.origins, (first, second), strict=True):
            origins.add(player.origins)
