"""The client by which a referee calls the players of one match."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import ask, deliver
from leaguekit.agents.world import World
from leaguekit.games.base import Side
from leaguekit.match.move_messages import MoveResponse
from leaguekit.protocol import messages as m
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript

# What a player sends to a referee, as an answer or by itself.
PlayerMessage: TypeAlias = m.GameJoinAck | MoveResponse


class PlayerObservations(NamedTuple):
    """What a client has found out about the players' messages, for the report to the manager. Keys are player ids."""

    broken_rules: dict[str, list[m.BrokenRule]] | UnsetType = UNSET
    forms: dict[str, str] | UnsetType = UNSET


NO_OBSERVATIONS = PlayerObservations()


class PlayerClient:
    """Calls the players of one match, exactly as the documents say."""

    def __init__(self, world: World, assignment: m.MatchAssignment, seats: Seats, transcript: Transcript) -> None:
        self._caller = world.caller
        self._assignment = assignment
        self._seats = seats
        self._transcript = transcript

    def ask(
        self, side: Side, request: m.Request, kind: type[PlayerMessage], seconds: float
    ) -> Awaitable[PlayerMessage]:
        """Send a request, and return its answer. Raises the same exceptions as ``calls.ask``."""
        url = self._seats[side].endpoint
        return ask(self._caller, url, request, kind, seconds=seconds, max_bytes=MAX_BYTES)

    def notify(self, side: Side, message: m.Request, seconds: float) -> Awaitable[Any]:
        """Send a message. Any HTTP answer counts as delivery. Raises CallFailed or CallerLate."""
        return deliver(self._caller, self._seats[side].endpoint, message, seconds)

    def observations(self) -> PlayerObservations:
        """What the match has shown so far about the players' messages."""
        return NO_OBSERVATIONS


# Makes the client of one match.
PlayerClientFactory: TypeAlias = Callable[[World, m.MatchAssignment, Seats, Transcript], PlayerClient]
