"""What the league's state is made of: its agents, matches and rounds. Only the fold changes them."""

from __future__ import annotations

import sys
from typing import Literal

from msgspec import UNSET, Struct

from leaguekit.league.events import PlayerRegistered, RefereeRegistered
from leaguekit.league.standings import WIN_POINTS
from leaguekit.protocol.fields import INT32_MAX, AgentState, ResultStatus
from leaguekit.protocol.messages import MatchResult, PlayerMeta, RefereeMeta, ResultDetails

Out = Literal["WITHDRAWAL", "DISQUALIFICATION"]
Points = Literal[0, 1, 3]


class Player(Struct, kw_only=True):
    """A player. ``failures`` counts the calls in a row that it left unanswered."""

    id: str
    state: AgentState
    # The registration that counts now.
    registered: PlayerRegistered
    failures: int = 0
    out: Out | None = None
    out_reason: str = ""
    # The form in which it understands requests, if that is known.
    form: str | None = None
    # The match that a referee has in hand with it.
    playing: str | None = None
    # Its matches that have not ended, in their order.
    todo: dict[str, None] = {}

    @property
    def meta(self) -> PlayerMeta:
        return self.registered.meta

    @property
    def key(self) -> bytes:
        """What tokens for and from it are derived under."""
        return bytes.fromhex(self.registered.key)


class Referee(Struct, kw_only=True):
    """A referee, with the matches that it has in hand."""

    id: str
    state: AgentState
    registered: RefereeRegistered
    lost: bool = False
    assigned_matches: dict[str, None] = {}

    @property
    def meta(self) -> RefereeMeta:
        return self.registered.meta

    @property
    def key(self) -> bytes:
        return bytes.fromhex(self.registered.key)

    @property
    def shows_own_token(self) -> bool:
        """Whether it knows no more than the documents: it shows players its own token and begins on announcements."""
        return self.registered.shows_own_token

    @property
    def capacity(self) -> int:
        return self.meta.max_concurrent_matches or 1

    @property
    def free(self) -> int:
        """How many more matches it may be given now."""
        return 0 if self.lost else max(0, self.capacity - len(self.assigned_matches))


class Seat(Struct, kw_only=True):
    """A place in the league that its code opens, from anywhere and at any time."""

    id: str
    holder: str | None = None
    revoked: bool = False


class RuleBreach(Struct, kw_only=True):
    """A rule that an agent broke: the first time in full, and how often so far."""

    first_at: str
    came: str
    expected: str
    count: int = 0


class Outcome(Struct, array_like=True, gc=False):
    """How a match ended, side A first: a result without its evidence, which is in the log.

    A league may have a hundred thousand matches: each is kept small, and out of the garbage collector's sight.
    """

    points_a: Points
    points_b: Points
    choice_a: str | None
    choice_b: str | None
    drawn_number: int | None
    status: ResultStatus | None
    ruling: str | None


class Match(Struct, kw_only=True, array_like=True, gc=False):
    """A match of the schedule. ``referee_id`` has, or had, its latest attempt; ``in_play`` says which."""

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
    # Whether the result is as its referee reported it.
    reported: bool = False

    @property
    def players(self) -> tuple[str, str]:
        return (self.a, self.b)

    @property
    def has_ended(self) -> bool:
        return self.outcome is not None

    @property
    def result(self) -> MatchResult | None:
        """The result as everybody may see it, without evidence; made anew each time."""
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
            ),
        )

    def end(self, result: MatchResult, at: str) -> None:
        """Keep what everybody may see of a result."""
        details = result.details
        self.ended_at = _once(at)
        self.outcome = Outcome(
            result.score[self.a],
            result.score[self.b],
            _once(details.choices.get(self.a)),
            _once(details.choices.get(self.b)),
            details.drawn_number or None,
            details.status or None,
            _once(details.ruling or None),
        )

    def opponent_of(self, player_id: str) -> str:
        return self.b if player_id == self.a else self.a


class Round(Struct, kw_only=True, array_like=True):
    """A round, with how many of its matches are still to end and how the others ended."""

    id: int
    matches: list[str]
    remaining: int
    wins: int = 0
    draws: int = 0
    technical_losses: int = 0
    completed: bool = False


def _once(text: str | None) -> str | None:
    """Equal texts as the same object: most matches have the same few."""
    return None if text is None else sys.intern(text)


def failures_after(before: int, details: ResultDetails, player_id: str) -> int:
    """Unanswered calls in a row after a match, from those before it and what the referee tells.

    A choice, or a referee that counts none, means that the player has answered. A referee that tells nothing changes
    nothing.
    """
    answered = details.choices.get(player_id) is not None
    count = None if details.failures is UNSET else details.failures.get(player_id)
    if answered or count == 0:
        return count or 0
    return min(before + (count or 0), INT32_MAX)
