"""The client by which a referee calls the players of a match."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import ask, deliver
from leaguekit.agents.world import World
from leaguekit.games.base import Side
from leaguekit.protocol import messages as m
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript

PlayerMessage: TypeAlias = m.GameJoinAck | m.ChooseParityResponse | m.GameMoveResponse


class PlayerObservations(NamedTuple):
    """What a match has taught of how its players speak, for the manager."""

    broken_rules: dict[str, list[m.BrokenRule]] | UnsetType = UNSET
    forms: dict[str, str] | UnsetType = UNSET


NO_OBSERVATIONS = PlayerObservations()


class PlayerClient(Protocol):
    """Calls the players of one match."""

    def ask(
        self, side: Side, request: m.Request, kind: type[PlayerMessage], seconds: float
    ) -> Awaitable[PlayerMessage]:
        """Send a request and read its answer; raises as ``calls.ask``."""

    def tell(self, side: Side, message: m.Request, seconds: float) -> Awaitable[Any]:
        """Send a message of which any HTTP answer is delivery. Raises CallFailed or CallerLate."""

    def learned(self) -> PlayerObservations:
        """What the match has shown of how its players speak, for the report to the manager."""


class SpecPlayerClient:
    """Calls players exactly as the documents say."""

    def __init__(self, world: World, _assignment: m.MatchAssignment, seats: Seats, _transcript: Transcript) -> None:
        self._caller = world.caller
        self._seats = seats

    def ask(
        self, side: Side, request: m.Request, kind: type[PlayerMessage], seconds: float
    ) -> Awaitable[PlayerMessage]:
        url = self._seats[side].endpoint
        return ask(self._caller, url, request, kind, seconds=seconds, max_bytes=MAX_BYTES)

    def tell(self, side: Side, message: m.Request, seconds: float) -> Awaitable[Any]:
        return deliver(self._caller, self._seats[side].endpoint, message, seconds)

    def learned(self) -> PlayerObservations:
        return NO_OBSERVATIONS


# Makes the client of one match.
PlayerClientFactory: TypeAlias = Callable[[World, m.MatchAssignment, Seats, Transcript], PlayerClient]
