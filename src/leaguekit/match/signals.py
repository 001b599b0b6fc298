"""The inputs and the effects of a match: what happened, and what the referee has to do.

The ``ask`` of an input is the number of the request that it answers; None for a message that a player posted.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from leaguekit.games.base import Question, Side
from leaguekit.match.rulings import Verdict
from leaguekit.protocol.fields import MatchState
from leaguekit.protocol.messages import MoveInfo
from leaguekit.protocol.methods import CHOICE_SECONDS, JOIN_SECONDS

RequestKind = Literal["join", "move"]


class Seat(Struct, frozen=True):
    """The player of a side. A suspended player is asked without retries until it has moved.

    ``move_retries`` replaces ``max_retries`` for the calls for a move.
    """

    player_id: str
    suspended: bool = False
    move_retries: int | None = None


class Limits(Struct, frozen=True):
    """The time limits to join and to choose, in seconds, and the retries after no answer."""

    join: float = JOIN_SECONDS
    choice: float = CHOICE_SECONDS
    max_retries: int = 3
    retry_delay: float = 2.0
    backoff: Literal["fixed", "exponential"] = "fixed"

    def delay(self, retry: int) -> float:
        """The seconds between a failure and its retry. The first retry is 1."""
        return self.retry_delay * (1 << retry - 1) if self.backoff == "exponential" else self.retry_delay


# Inputs


class Joined(Struct, frozen=True):
    """The side accepted its invitation."""

    side: Side
    ask: int | None


class Declined(Struct, frozen=True):
    """The side answered its invitation with accept: false."""

    side: Side
    ask: int | None


class Moved(Struct, frozen=True):
    """The side sent a move. The match checks whether it is legal."""

    side: Side
    ask: int | None
    move: Any
    info: MoveInfo | UnsetType = UNSET


class InvalidAnswer(Struct, frozen=True):
    """An answer came in time, but is not valid."""

    side: Side
    ask: int | None
    code: str
    detail: str
    context: dict[str, Any] = {}


class NoAnswer(Struct, frozen=True):
    """No answer came in time, or the connection failed."""

    side: Side
    ask: int
    code: Literal["E001", "E009"]
    # Whether there was a connection.
    connected: bool = True
    # Whether the referee could connect to the other player afterwards; None if it did not try.
    opponent_connected: bool | None = None


class RefereeLate(Struct, frozen=True):
    """The referee itself was too late, or could not call (``why``). The side is not at fault."""

    side: Side
    ask: int
    late_ms: float
    why: str = ""


class Rolled(Struct, frozen=True):
    """What chance gave in a step."""

    step: int
    outcome: Any


Input: TypeAlias = Joined | Declined | Moved | InvalidAnswer | NoAnswer | RefereeLate | Rolled


# Effects


class Ask(Struct, frozen=True):
    """Send the invitation or the call at ``send_at``, unless it is closed then. The answer is due at ``deadline``."""

    side: Side
    ask: int
    what: RequestKind
    question: Question | None
    send_at: float
    deadline: float


class GameFault(Struct, frozen=True):
    """The content of a GAME_ERROR."""

    code: str
    detail: str
    action_required: str
    retry_count: int
    max_retries: int
    retryable: bool
    consequence: str
    next_retry_at: float | None = None
    time_remaining: float | None = None
    context: dict[str, Any] = {}


class SendError(Struct, frozen=True):
    """Send a GAME_ERROR at once. Without an ask it is the answer to a message that the player posted."""

    side: Side
    ask: int | None
    fault: GameFault


class Roll(Struct, frozen=True):
    """Chance moves in a position. Answer at once by ``Rolled`` with the game's ``roll`` of the match's seed."""

    step: int
    position: Any


class StageEntered(Struct, frozen=True):
    """The match has entered a new stage."""

    stage: MatchState


class Finish(Struct, frozen=True):
    """The match is over. This is the last effect."""

    verdict: Verdict


class Void(Struct, frozen=True):
    """The attempt does not count, without any fault of the players. This is the last effect."""

    reason: str
    evidence: dict[str, Any]
    # The player that the referee could not call.
    could_not_call: str | None = None


Effect: TypeAlias = Ask | SendError | Roll | StageEntered | Finish | Void
