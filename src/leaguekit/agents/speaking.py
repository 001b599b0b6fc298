"""How a referee speaks to its players: to the letter, or in the ``open`` profile as they understand it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import ask, deliver
from leaguekit.games.base import Side
from leaguekit.protocol import messages as m
from leaguekit.protocol.rpc import MOST_BYTES

if TYPE_CHECKING:
    from leaguekit.agents.refereeing import Refereeing

PlayersWord: TypeAlias = m.GameJoinAck | m.ChooseParityResponse | m.GameMoveResponse


class Learned(NamedTuple):
    """What a match has taught of how its players speak, for the manager."""

    broken_rules: dict[str, list[m.BrokenRule]] | UnsetType = UNSET
    forms: dict[str, str] | UnsetType = UNSET


NOTHING_LEARNED = Learned()


class Speaker(Protocol):
    """Speaks to the players of one match."""

    def ask(self, side: Side, request: m.Request, kind: type[PlayersWord], seconds: float) -> Awaitable[PlayersWord]:
        """Send a request and read its answer; raises as ``calls.ask``."""

    def tell(self, side: Side, message: m.Request, seconds: float) -> Awaitable[Any]:
        """Send a message of which any HTTP answer is delivery. Raises CallFailed or CallerLate."""

    def learned(self) -> Learned:
        """What is to be told to the manager."""


class PlainSpeaker:
    """Speaks to the letter."""

    def __init__(self, match: Refereeing) -> None:
        self._match = match
        self._caller = match.world.caller

    def ask(self, side: Side, request: m.Request, kind: type[PlayersWord], seconds: float) -> Awaitable[PlayersWord]:
        url = self._match.seats[side].endpoint
        return ask(self._caller, url, request, kind, seconds=seconds, most_bytes=MOST_BYTES)

    def tell(self, side: Side, message: m.Request, seconds: float) -> Awaitable[Any]:
        return deliver(self._caller, self._match.seats[side].endpoint, message, seconds)

    def learned(self) -> Learned:
        return NOTHING_LEARNED
