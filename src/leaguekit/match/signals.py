"""What goes into a match and what comes out: seats and limits, inputs (what happened), effects (what is to be done).

An input's ``ask`` is the number of the request that it answers, or None for what a player posted by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from leaguekit.games.base import Question, Side
from leaguekit.match.rulings import Verdict
from leaguekit.protocol.fields import MatchState

What = Literal["join", "move"]


@dataclass(frozen=True, slots=True)
class Seat:
    """Who plays a side. A suspended player is asked once, without retries, until it answers."""

    player_id: str
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
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


@dataclass(frozen=True, slots=True)
class Joined:
    """The side accepted its invitation."""

    side: Side
    ask: int | None


@dataclass(frozen=True, slots=True)
class Declined:
    """The side answered its invitation with accept: false."""

    side: Side
    ask: int | None


@dataclass(frozen=True, slots=True)
class Moved:
    """The side chose; whether that is legal is judged here."""

    side: Side
    ask: int | None
    move: Any


@dataclass(frozen=True, slots=True)
class Wrong:
    """An answer came in time, but it is wrong."""

    side: Side
    ask: int | None
    code: str
    detail: str
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer came: not in time, or the connection failed."""

    side: Side
    ask: int
    code: Literal["E001", "E009"]


@dataclass(frozen=True, slots=True)
class Late:
    """Our own caller was late beyond repair: nobody can say whether the side was in time."""

    side: Side
    ask: int
    late_ms: float


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The time of an Alarm has come."""

    side: Side
    ask: int


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The manager has taken the side out of the league."""

    side: Side
    ruling: Literal["WITHDRAWAL", "DISQUALIFICATION"]


Input: TypeAlias = Joined | Declined | Moved | Wrong | Failed | Late | DeadlinePassed | Withdrawn


# Effects


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the invitation or the call at ``send_at``, if it is still open then; the answer has until ``deadline``."""

    side: Side
    ask: int
    what: What
    question: Question | None
    send_at: float
    deadline: float


@dataclass(frozen=True, slots=True)
class GameFault:
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
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tell:
    """Send a GAME_ERROR at once; without an ask it is the answer to what the player posted by itself."""

    side: Side
    ask: int | None
    fault: GameFault


@dataclass(frozen=True, slots=True)
class Alarm:
    """Hand in DeadlinePassed with this ask at that time."""

    side: Side
    ask: int
    at: float


@dataclass(frozen=True, slots=True)
class Entered:
    """The match has come to a new stage."""

    stage: MatchState


@dataclass(frozen=True, slots=True)
class Finish:
    """The match is over: the last effect."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Void:
    """The attempt does not count, by no fault of the players: the last effect."""

    reason: str
    evidence: dict[str, Any]


Effect: TypeAlias = Ask | Tell | Alarm | Entered | Finish | Void
