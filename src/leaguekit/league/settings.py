"""The settings of a league: its game, its limits, its rules. They do not change after its creation."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from msgspec import Meta, Struct, convert
from msgspec.structs import force_setattr

from leaguekit.games.base import DEFAULT_GAME
from leaguekit.protocol.fields import Count, GameType, LeagueId, Profile, Seconds
from leaguekit.protocol.messages import TimeLimits

# The number of players that may register from one address, and listen at one host. A class behind one router fits.
MAX_PER_ADDRESS = 200
# The default of a setting that depends on another setting. It is not a valid value.
_NOT_SET = -1.0
TieBreak = Literal["head_to_head", "sonneborn_berger", "wins", "technical_losses", "lot"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A league's settings; the defaults are the specification's."""

    league_id: LeagueId
    game_type: GameType = DEFAULT_GAME
    # In a double round-robin each pair meets twice, with the sides swapped.
    rounds: Literal["single", "double"] = "single"
    # A start with 1,000 players makes 499,500 matches: it takes seconds, and a few hundred MB.
    max_players: Annotated[int, Meta(ge=2)] = 1_000
    max_referees: Annotated[int, Meta(ge=1)] = 100
    # Whether players need a seat code to register.
    require_seat: bool = False
    # Whether referees must implement the token scheme. Other referees send their own token to players.
    strict_referees: bool = False
    # Seconds between a round's announcement and its first match.
    announce_lead: Seconds = 60.0
    join_seconds: Seconds = 5.0
    choice_seconds: Seconds = 30.0
    game_over_seconds: Seconds = 5.0
    max_retries: Count = 3
    # Before the first retry: 2 seconds, or 1 second if the wait doubles.
    retry_seconds: Seconds = _NOT_SET
    backoff: Literal["fixed", "exponential"] = "fixed"
    profile: Profile = "spec"
    # What decides between players with equal points, in this order. Without a lot the lower id decides in the end.
    tie_breaks: tuple[TieBreak, ...] = ("head_to_head", "sonneborn_berger", "wins", "technical_losses", "lot")
    # Draws and lots are derived from it. Without a seed they are predictable.
    seed_hex: str | None = None

    def __post_init__(self) -> None:
        if self.retry_seconds == _NOT_SET:
            force_setattr(self, "retry_seconds", 1.0 if self.backoff == "exponential" else 2.0)

    @property
    def seed_commitment(self) -> str:
        """The SHA-256 of the seed in hex. It is published from the start, so that nobody can change the seed."""
        return hashlib.sha256((self.seed_hex or "").encode()).hexdigest()

    @property
    def time_limits(self) -> TimeLimits:
        """The limits as they are sent to referees."""
        return convert(self, TimeLimits, from_attributes=True)
