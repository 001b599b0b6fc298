"""One simulated league: who takes part, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from leaguekit.protocol.messages import GameOver

MANAGER = "manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays what. The strategies are given out in turn."""

    players: int = 4
    referees: int = 2
    game: str = "even_odd"
    strategies: tuple[str, ...] = ("random",)

    def agents(self) -> list[str]:
        """Their names, the manager first."""
        referees = [f"referee {number}" for number in range(1, self.referees + 1)]
        return [MANAGER, *referees, *(f"player {number}" for number in range(1, self.players + 1))]


class Told(NamedTuple):
    """A GAME_OVER that reached a player."""

    player: str
    over: GameOver


@dataclass(slots=True)
class Outcome:
    """What came of a league."""

    events: list[bytes] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    # What was seen that must never be.
    faults: list[str] = field(default_factory=list)
    # What the agents logged last, put into words only for who asks.
    tail: Callable[[], list[str]] = list
    crashes: int = 0
    exchanges: int = 0
    injected: dict[str, int] = field(default_factory=dict)
    # In virtual time.
    seconds: float = 0.0
