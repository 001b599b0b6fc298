"""The participants of a simulated league, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from leaguekit.formats import find_format
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.protocol.messages import GameOver

MANAGER = "manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueSetup:
    """The size and the game of a simulated league. The players take the strategies in turn."""

    players: int = 4
    referees: int = 2
    game: str = DEFAULT_GAME
    strategies: tuple[str, ...] = ("random",)
    # The format, if it is not a single round-robin.
    format: str | None = None

    def agent_names(self) -> list[str]:
        """The names of all agents, the manager's first."""
        referees = [f"referee {number}" for number in range(1, self.referees + 1)]
        return [MANAGER, *referees, *(f"player {number}" for number in range(1, self.players + 1))]

    @property
    def late_rounds(self) -> int:
        """The number of rounds after whose draw the operator may still add players."""
        made = None if self.format is None else find_format(self.format)
        total = None if made is None or not made.takes_late_players else made.total_rounds(self.players)
        return 0 if total is None else total - 1


class ReceivedGameOver(NamedTuple):
    """A GAME_OVER message that reached a player."""

    player: str
    message: GameOver


@dataclass(slots=True)
class Outcome:
    """What a simulated league left behind."""

    events: list[bytes] = field(default_factory=list)
    # The documents that the manager stored beside the events, by name.
    documents: dict[str, bytes] = field(default_factory=dict)
    game_overs: list[ReceivedGameOver] = field(default_factory=list)
    # Violations that were seen during the league, as sentences.
    violations: list[str] = field(default_factory=list)
    # Formats the last lines that the agents logged. Most callers do not need them.
    recent_log: Callable[[], list[str]] = list
    crashes: int = 0
    exchanges: int = 0
    # The number of injected faults by kind.
    injected: dict[str, int] = field(default_factory=dict)
    # The duration in virtual time.
    seconds: float = 0.0
