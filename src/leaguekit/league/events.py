"""What can happen in a league: one Struct an event, each a line of the log. The league's state is their fold."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from leaguekit.league.settings import Settings
from leaguekit.protocol.messages import BrokenRule, MatchResult, PlayerMeta, RefereeMeta


class _Event(Struct, frozen=True, kw_only=True, tag_field="event", tag=True, omit_defaults=True):
    # When it happened, as we write timestamps.
    at: str


class LeagueCreated(_Event, frozen=True, kw_only=True):
    """A league waits for registrations."""

    settings: Settings


class _Registered(_Event, frozen=True, kw_only=True):
    # The request's own, by which a repeat of it is recognised.
    conversation_id: str
    timestamp: str
    # Both in hex; the token itself is never written down.
    verifier: str
    key: str
    # The request's sender, and the address that it came from. Older logs do not have them.
    sender: str = ""
    address: str = ""


class PlayerRegistered(_Registered, frozen=True, kw_only=True):
    """A player was taken, or came back under its id."""

    player_id: str
    meta: PlayerMeta
    seat: str | None = None
    by_operator: bool = False


class RefereeRegistered(_Registered, frozen=True, kw_only=True):
    """A referee was taken on, or came back under its id."""

    referee_id: str
    meta: RefereeMeta
    # Whether it knows no more than the documents. Older releases took no such referee.
    shows_own_token: bool = False


class SeatsIssued(_Event, frozen=True, kw_only=True):
    """Seats were given out: the id of each, and by what its code is recognised."""

    seats: list[tuple[str, str]]
    # The agent whose seats they are from the beginning; others are taken by whoever comes with their code.
    holder: str | None = None


class SeatRevoked(_Event, frozen=True, kw_only=True):
    """A seat's code no longer lets anybody in."""

    seat_id: str


class RefereeCodeSet(_Event, frozen=True, kw_only=True):
    """Referees come in with a code that is recognised by this, and with no earlier one."""

    verifier: str


class TokenVoided(_Event, frozen=True, kw_only=True):
    """The operator took an agent's token away: neither it nor what was derived from it counts any more."""

    agent_id: str
    # What stands in the place of the token's key until the agent comes back.
    key: str


class RegistrationsClosed(_Event, frozen=True, kw_only=True):
    """From now on the schedule is being made."""


class LeagueStarted(_Event, frozen=True, kw_only=True):
    """The schedule: the pairs of each round, side A first."""

    rounds: list[list[tuple[str, str]]]
    by_operator: bool = False


class RoundAnnounced(_Event, frozen=True, kw_only=True):
    """A round was opened, with the referee planned for each of its matches, in their order."""

    round_id: int
    referees: list[str]


class MatchAssigned(_Event, frozen=True, kw_only=True):
    """A referee was given an attempt at a match."""

    match_id: str
    referee_id: str
    attempt: int


class ResultRecorded(_Event, frozen=True, kw_only=True):
    """A referee's report counts."""

    match_id: str
    attempt: int
    referee_id: str
    result: MatchResult


class ResultFlagged(_Event, frozen=True, kw_only=True):
    """Something about a referee's report asks for the operator's eye; what counts does not change."""

    match_id: str
    referee_id: str
    reason: str
    # What the referee reported, where that is not what counts.
    reported: MatchResult | None = None


class MatchForfeited(_Event, frozen=True, kw_only=True):
    """The manager ruled a match because a player has left, or cannot be reached: these players lose it."""

    match_id: str
    losers: list[str]
    ruling: str
    reason: str


class AttemptVoided(_Event, frozen=True, kw_only=True):
    """An attempt came to nothing, through no player's fault."""

    match_id: str
    attempt: int
    reason: str
    # The network was at fault: it is not counted towards those after which the match waits for the operator.
    outage: bool = False


class MatchHeld(_Event, frozen=True, kw_only=True):
    """Too many attempts came to nothing: the match waits for the operator."""

    match_id: str


class RefereeLost(_Event, frozen=True, kw_only=True):
    """A referee no longer answers."""

    referee_id: str
    reason: str


class RefereeReturned(_Event, frozen=True, kw_only=True):
    """A lost referee answers again."""

    referee_id: str


class FailuresCounted(_Event, frozen=True, kw_only=True):
    """How many of the manager's and the referees' calls in a row a player has left unanswered."""

    player_id: str
    in_a_row: int


class PlayerSuspended(_Event, frozen=True, kw_only=True):
    """A player left too many calls unanswered."""

    player_id: str


class PlayerReturned(_Event, frozen=True, kw_only=True):
    """A suspended player answers again."""

    player_id: str


class FormLearned(_Event, frozen=True, kw_only=True):
    """A player understands requests in this form."""

    player_id: str
    form: str


class RulesBroken(_Event, frozen=True, kw_only=True):
    """An agent broke rules of the protocol and was forgiven; of a rule that it had broken before, only how often."""

    agent_id: str
    rules: list[BrokenRule]


class RoundCompleted(_Event, frozen=True, kw_only=True):
    """All matches of a round have ended."""

    round_id: int


class LeagueCompleted(_Event, frozen=True, kw_only=True):
    """All matches of the league have ended."""


class LeaguePaused(_Event, frozen=True, kw_only=True):
    """The operator lets nothing new begin."""

    reason: str


class LeagueResumed(_Event, frozen=True, kw_only=True):
    """The operator lets the league go on."""

    reason: str


class PlayerWithdrawn(_Event, frozen=True, kw_only=True):
    """A player leaves the league; what it has played stands."""

    player_id: str
    reason: str


class PlayerDisqualified(_Event, frozen=True, kw_only=True):
    """A player must leave the league; what it has played stands."""

    player_id: str
    reason: str


class MatchReplayed(_Event, frozen=True, kw_only=True):
    """The operator takes a match's result back and lets it be played again."""

    match_id: str
    reason: str


class ResultCorrected(_Event, frozen=True, kw_only=True):
    """The operator settles a match's result."""

    match_id: str
    result: MatchResult
    reason: str


Event = (
    LeagueCreated
    | PlayerRegistered
    | RefereeRegistered
    | SeatsIssued
    | SeatRevoked
    | RefereeCodeSet
    | TokenVoided
    | RegistrationsClosed
    | LeagueStarted
    | RoundAnnounced
    | MatchAssigned
    | ResultRecorded
    | ResultFlagged
    | MatchForfeited
    | AttemptVoided
    | MatchHeld
    | RefereeLost
    | RefereeReturned
    | FailuresCounted
    | PlayerSuspended
    | PlayerReturned
    | FormLearned
    | RulesBroken
    | RoundCompleted
    | LeagueCompleted
    | LeaguePaused
    | LeagueResumed
    | PlayerWithdrawn
    | PlayerDisqualified
    | MatchReplayed
    | ResultCorrected
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    return _encoder.encode(event)


def decode(text: bytes) -> Event:
    return _decoder.decode(text)
