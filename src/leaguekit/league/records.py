"""The records in the state of a league: agents, seats, matches and rounds. Only the fold changes them."""

from __future__ import annotations

import sys
from typing import ClassVar, Literal

from msgspec import UNSET, Struct

from leaguekit.league.events import PlayerRegistered, RefereeRegistered
from leaguekit.league.standings import WIN_POINTS
from leaguekit.protocol.fields import INT32_MAX, AgentState, ResultStatus
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import MatchResult, PlayerMeta, RefereeMeta, ResultDetails

Departure = Literal["WITHDRAWAL", "DISQUALIFICATION"]
Points = Literal[0, 1, 3]


class Player(Struct, kw_only=True):
    """A player. ``failures`` is the number of consecutive calls that it did not answer."""

    role: ClassVar[Role] = "player"
    id: str
    state: AgentState
    # The latest registration.
    registered: PlayerRegistered
    failures: int = 0
    # The time of the first of them; None if there is none.
    silent_since: str | None = None
    # Whether its latest match ended because it did not answer a call for a move.
    left_move_unanswered: bool = False
    # Why it has left the league; None while it is in the league.
    out: Departure | None = None
    out_reason: str = ""
    # Whether its next registration needs no token, because the operator readmitted it.
    readmitted: bool = False
    # The form in which it understands requests, if that is known.
    form: str | None = None
    # The match that a referee is running with it.
    playing: str | None = None
    # Its matches that have not ended, in their order.
    unplayed: dict[str, None] = {}

    def count_failures(self, failures: int, at: str) -> None:
        """Set the number of consecutive calls that it did not answer."""
        self.failures = failures
        self.silent_since = (self.silent_since or at) if failures else None

    @property
    def meta(self) -> PlayerMeta:
        return self.registered.meta

    @property
    def key(self) -> bytes:
        """The key under which tokens for this player, and tokens of this player, are derived."""
        return bytes.fromhex(self.registered.key)


class Referee(Struct, kw_only=True):
    """A referee, with the matches that are assigned to it."""

    role: ClassVar[Role] = "referee"
    id: str
    state: AgentState
    registered: RefereeRegistered
    # Since when it does not answer; None if it answers.
    lost_since: str | None = None
    assigned_matches: dict[str, None] = {}

    @property
    def meta(self) -> RefereeMeta:
        return self.registered.meta

    @property
    def key(self) -> bytes:
        return bytes.fromhex(self.registered.key)

    @property
    def lost(self) -> bool:
        return self.lost_since is not None

    @property
    def shows_own_token(self) -> bool:
        """Whether it implements only the documents: it sends its own token to players, and begins on announcements."""
        return self.registered.shows_own_token

    @property
    def capacity(self) -> int:
        return self.meta.max_concurrent_matches or 1

    @property
    def free(self) -> int:
        """The number of matches that may still be assigned to it."""
        return 0 if self.lost_since is not None else max(0, self.capacity - len(self.assigned_matches))


class Seat(Struct, kw_only=True):
    """A reserved place in the league. An agent with the code of the seat may register from any address."""

    id: str
    holder: str | None = None
    revoked: bool = False
    # The person that it is for.
    name: str = ""
    email: str = ""


class RuleBreach(Struct, kw_only=True):
    """A rule that an agent broke: what came the first time, and the number of times so far."""

    first_at: str
    came: str
    expected: str
    count: int = 0


class RefusedAgent(Struct, kw_only=True):
    """An agent that tried to register and was refused, with the latest reason."""

    role: Role
    display_name: str
    endpoint: str
    address: str
    code: str
    reason: str
    first_at: str
    last_at: str
    count: int = 0


class Outcome(Struct, array_like=True, gc=False):
    """How a match ended, side A first: a result without its evidence. The evidence is in the log.

    A league may have a hundred thousand matches. So each outcome is small and is not tracked by the garbage collector.
    """

    points_a: Points
    points_b: Points
    choice_a: str | None
    choice_b: str | None
    drawn_number: int | None
    status: ResultStatus | None
    ruling: str | None
    payoffs: tuple[float, float] | None = None


class Match(Struct, kw_only=True, array_like=True, gc=False):
    """A match of the schedule. ``referee_id`` is the referee of its latest attempt, which may still be in play."""

    id: str
    round_id: int
    a: str
    b: str
    planned: str | None = None
    referee_id: str | None = None
    attempt: int = 0
    in_play: bool = False
    assigned_at: str | None = None
    voids: int = 0
    held: bool = False
    outcome: Outcome | None = None
    ended_at: str | None = None
    # Whether the result is the one that the referee reported.
    reported: bool = False

    @property
    def players(self) -> tuple[str, str]:
        return (self.a, self.b)

    @property
    def has_ended(self) -> bool:
        return self.outcome is not None

    @property
    def result(self) -> MatchResult | None:
        """The public result, without evidence. Each call builds a new object."""
        return None if self.outcome is None else self.result_by(self.outcome)

    def result_by(self, outcome: Outcome) -> MatchResult:
        points = {self.a: outcome.points_a, self.b: outcome.points_b}
        return MatchResult(
            winner=next((player for player in points if points[player] == WIN_POINTS), None),
            score=points,
            details=ResultDetails(
                choices={self.a: outcome.choice_a, self.b: outcome.choice_b},
                drawn_number=outcome.drawn_number,
                status=outcome.status or UNSET,
                ruling=outcome.ruling or UNSET,
                payoffs=UNSET if outcome.payoffs is None else dict(zip(self.players, outcome.payoffs, strict=True)),
            ),
        )

    def end(self, result: MatchResult, at: str) -> None:
        """Store the public part of a result."""
        details = result.details
        self.ended_at = _intern(at)
        self.outcome = Outcome(
            result.score[self.a],
            result.score[self.b],
            _intern(details.choices.get(self.a)),
            _intern(details.choices.get(self.b)),
            details.drawn_number or None,
            details.status or None,
            _intern(details.ruling or None),
            (details.payoffs[self.a], details.payoffs[self.b]) if details.payoffs else None,
        )

    def opponent_of(self, player_id: str) -> str:
        return self.b if player_id == self.a else self.a


class Round(Struct, kw_only=True, array_like=True):
    """A round: its matches, how many have not ended, and how the others ended."""

    id: int
    matches: list[str]
    remaining: int
    wins: int = 0
    draws: int = 0
    technical_losses: int = 0
    completed: bool = False
    # What the format says of it, if it drew the round: its name, the players with a bye, and what drew it.
    label: str = ""
    byes: list[str] = []
    engine: str = ""


def _intern(text: str | None) -> str | None:
    """The same object for equal texts: most matches have the same few texts."""
    return None if text is None else sys.intern(text)


def agent_order(agent: Player | Referee) -> tuple[bool, int, str]:
    """The key by which agents are sorted: players first, then by their numbers."""
    return isinstance(agent, Referee), len(agent.id), agent.id


def failures_after(before: int, details: ResultDetails, player_id: str) -> int:
    """The number of consecutive unanswered calls after a match.

    It follows from the number before the match and the referee's report. A choice, or a reported count of 0, means that
    the player has answered. A report without a count changes nothing.
    """
    answered = details.choices.get(player_id) is not None
    count = None if details.failures is UNSET else details.failures.get(player_id)
    if answered or count == 0:
        return count or 0
    return min(before + (count or 0), INT32_MAX)
