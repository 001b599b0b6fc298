"""What goes into a match and what comes out: seats and limits, inputs (what happened), effects (what is to be done).

An input's ``ask`` is the number of the request that it answers, or None for what a player posted by itself.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from leaguekit.games.base import Question, Side
from leaguekit.match.rulings import Verdict
from leaguekit.protocol.fields import MatchState
from leaguekit.protocol.messages import MoveInfo

What = Literal["join", "move"]


class Seat(Struct, frozen=True):
    """Who plays a side. A suspended player is asked once, without retries, until it answers."""

    player_id: str
    suspended: bool = False


class Limits(Struct, frozen=True):
    """Seconds to join and to choose, and the retries after no answer."""

    join: float = 5.0
    choice: float = 30.0
    max_retries: int = 3
    retry_delay: float = 2.0
    backoff: Literal["fixed", "exponential"] = "fixed"

    def delay(self, retry: int) -> float:
        """How long after a failure its retry comes; the first is 1."""
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
    """The side chose; whether that is legal is judged here."""

    side: Side
    ask: int | None
    move: Any
    info: MoveInfo | UnsetType = UNSET


class Wrong(Struct, frozen=True):
    """An answer came in time, but it is wrong."""

    side: Side
    ask: int | None
    code: str
    detail: str
    context: dict[str, Any] = {}


class Failed(Struct, frozen=True):
    """No answer came: not in time, or the connection failed."""

    side: Side
    ask: int
    code: Literal["E001", "E009"]
    # Whether there was a connection.
    connected: bool = True


class Late(Struct, frozen=True):
    """Our own caller was late beyond repair, or could not call (``why``): nothing can be said of the side."""

    side: Side
    ask: int
    late_ms: float
    why: str = ""


class Withdrawn(Struct, frozen=True):
    """The manager has taken the side out of the league."""

    side: Side
    ruling: Literal["WITHDRAWAL", "DISQUALIFICATION"]


Input: TypeAlias = Joined | Declined | Moved | Wrong | Failed | Late | Withdrawn


# Effects


class Ask(Struct, frozen=True):
    """Send the invitation or the call at ``send_at``, if it is still open then; the answer has until ``deadline``."""

    side: Side
    ask: int
    what: What
    question: Question | None
    send_at: float
    deadline: float


class GameFault(Struct, frozen=True):
    """What a GAME_ERROR says."""

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
    """Send a GAME_ERROR at once; without an ask it is the answer to what the player posted by itself."""

    side: Side
    ask: int | None
    fault: GameFault


class StageEntered(Struct, frozen=True):
    """The match has come to a new stage."""

    stage: MatchState


class Finish(Struct, frozen=True):
    """The match is over: the last effect."""

    verdict: Verdict


class Void(Struct, frozen=True):
    """The attempt does not count, by no fault of the players: the last effect."""

    reason: str
    evidence: dict[str, Any]
    # The player that the referee's machine could not call.
    could_not_call: str | None = None


Effect: TypeAlias = Ask | SendError | StageEntered | Finish | Void
