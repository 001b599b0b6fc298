"""The events of a league: one Struct per kind of event. The log has one event per line; the state is their fold."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from leaguekit.league.settings import Settings
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import BrokenRule, MatchResult, PlayerMeta, RefereeMeta


class _Event(Struct, frozen=True, kw_only=True, tag_field="event", tag=True, omit_defaults=True):
    # The time of the event, as ``times.format_timestamp`` writes it.
    at: str


class LeagueCreated(_Event, frozen=True, kw_only=True):
    """A league was created and waits for registrations."""

    settings: Settings


class _Registered(_Event, frozen=True, kw_only=True):
    # Fields of the request. A repeat of the request is recognised by them.
    conversation_id: str
    timestamp: str
    # Both in hex. The token itself is never stored.
    verifier: str
    key: str
    # The sender in the request, and the network address that it came from. Older logs do not have them.
    sender: str = ""
    address: str = ""


class PlayerRegistered(_Registered, frozen=True, kw_only=True):
    """A player was registered, or registered again under its id."""

    player_id: str
    meta: PlayerMeta
    seat: str | None = None
    by_operator: bool = False


class RefereeRegistered(_Registered, frozen=True, kw_only=True):
    """A referee was registered, or registered again under its id."""

    referee_id: str
    meta: RefereeMeta
    # Whether it implements only the documents. Older releases did not accept such a referee.
    shows_own_token: bool = False


class RegistrationRefused(_Event, frozen=True, kw_only=True):
    """An agent tried to register and was refused. Every text is as the agent sent it; what it did not say is empty."""

    role: Role
    display_name: str
    endpoint: str
    # The network address that the request came from.
    address: str
    code: str
    reason: str
    # The attempts since the last such event of the same agent.
    count: int = 1


class SeatsIssued(_Event, frozen=True, kw_only=True):
    """Seats were issued: the id of each, and the verifier of its code."""

    seats: list[tuple[str, str]]
    # The agent that holds the seats from the beginning. Without one, the first player with the code takes the seat.
    holder: str | None = None
    # The person that each seat is for: name and e-mail address. Older logs do not have it.
    people: list[tuple[str, str]] = []


class SeatRevoked(_Event, frozen=True, kw_only=True):
    """The code of a seat is no longer valid."""

    seat_id: str


class RefereeCodeSet(_Event, frozen=True, kw_only=True):
    """The code with which referees register was set. Earlier codes are no longer valid."""

    verifier: str


class TokenVoided(_Event, frozen=True, kw_only=True):
    """The operator revoked an agent's token. Tokens that were derived from it are no longer valid either."""

    agent_id: str
    # Replaces the key of the token until the agent registers again.
    key: str


class RegistrationsClosed(_Event, frozen=True, kw_only=True):
    """Registrations were closed; the schedule is created next."""


class LeagueStarted(_Event, frozen=True, kw_only=True):
    """The schedule: the pairs of each round, side A first."""

    # Empty if the format draws each round when the previous one is over.
    rounds: list[list[tuple[str, str]]]
    by_operator: bool = False
    # The players in the order of the seeding; empty if it is that of the ids.
    seeding: list[str] = []


class RoundDrawn(_Event, frozen=True, kw_only=True):
    """The format drew the next round, from the results so far."""

    round_id: int
    # Side A first.
    pairs: list[tuple[str, str]]
    # Players without an opponent. A bye counts as a win.
    byes: list[str] = []
    label: str = ""
    # What drew it, with versions. The same versions draw the same pairs.
    engine: str = ""
    # The order of the table until the next draw. Without it the points decide.
    ranking: list[str] = []


class RoundAnnounced(_Event, frozen=True, kw_only=True):
    """A round was announced, with the planned referee of each of its matches, in their order."""

    round_id: int
    referees: list[str]


class MatchAssigned(_Event, frozen=True, kw_only=True):
    """An attempt at a match was assigned to a referee."""

    match_id: str
    referee_id: str
    attempt: int


class ResultRecorded(_Event, frozen=True, kw_only=True):
    """A referee's report was accepted."""

    match_id: str
    attempt: int
    referee_id: str
    result: MatchResult


class ResultFlagged(_Event, frozen=True, kw_only=True):
    """The operator should look at a referee's report. The result that counts does not change."""

    match_id: str
    referee_id: str
    reason: str
    # The result that the referee reported, if it is not the one that counts.
    reported: MatchResult | None = None


class MatchForfeited(_Event, frozen=True, kw_only=True):
    """The manager decided a match because players have left or cannot be reached. These players lose."""

    match_id: str
    losers: list[str]
    ruling: str
    reason: str


class AttemptVoided(_Event, frozen=True, kw_only=True):
    """An attempt was voided without any fault of a player."""

    match_id: str
    attempt: int
    reason: str
    # The network was at fault. Such an attempt does not count towards the limit of void attempts.
    outage: bool = False


class MatchHeld(_Event, frozen=True, kw_only=True):
    """Too many attempts were void. The match waits for the operator."""

    match_id: str


class RefereeLost(_Event, frozen=True, kw_only=True):
    """A referee no longer answers."""

    referee_id: str
    reason: str


class RefereeReturned(_Event, frozen=True, kw_only=True):
    """A lost referee answers again."""

    referee_id: str


class FailuresCounted(_Event, frozen=True, kw_only=True):
    """The number of consecutive calls of the manager and of referees that a player did not answer has changed."""

    player_id: str
    in_a_row: int


class PlayerSuspended(_Event, frozen=True, kw_only=True):
    """A player did not answer too many calls and was suspended."""

    player_id: str


class PlayerReturned(_Event, frozen=True, kw_only=True):
    """A suspended player answers again."""

    player_id: str


class FormLearned(_Event, frozen=True, kw_only=True):
    """It became known in which form a player understands requests."""

    player_id: str
    form: str


class RulesBroken(_Event, frozen=True, kw_only=True):
    """An agent broke rules of the protocol, which was tolerated. Known breaches have only their number."""

    agent_id: str
    rules: list[BrokenRule]


class RoundCompleted(_Event, frozen=True, kw_only=True):
    """All matches of a round have ended."""

    round_id: int


class LeagueCompleted(_Event, frozen=True, kw_only=True):
    """All matches of the league have ended."""

    # What the format says of the end, and its final order of the table. Without it the points decide.
    reason: str = ""
    ranking: list[str] = []


class LeaguePaused(_Event, frozen=True, kw_only=True):
    """The operator paused the league: no round or match begins."""

    reason: str


class LeagueResumed(_Event, frozen=True, kw_only=True):
    """The operator resumed the league."""

    reason: str


class SettingsChanged(_Event, frozen=True, kw_only=True):
    """The operator changed settings of the league (``settings.CHANGEABLE``)."""

    settings: dict[str, str | int | float]
    reason: str


class PlayerWithdrawn(_Event, frozen=True, kw_only=True):
    """A player was withdrawn from the league, by the operator or because of its endpoint. Its results remain valid."""

    player_id: str
    reason: str


class PlayerDisqualified(_Event, frozen=True, kw_only=True):
    """The operator removed a player from the league. Its results remain valid."""

    player_id: str
    reason: str


class PlayerReadmitted(_Event, frozen=True, kw_only=True):
    """The operator let a player come back that has left the league, cannot be reached, or has lost its token."""

    player_id: str
    reason: str


class MatchReplayed(_Event, frozen=True, kw_only=True):
    """The operator annulled the result of a match, or released a held match. It is played again."""

    match_id: str
    reason: str


class ResultCorrected(_Event, frozen=True, kw_only=True):
    """The operator set the result of a match."""

    match_id: str
    result: MatchResult
    reason: str


Event = (
    LeagueCreated
    | PlayerRegistered
    | RefereeRegistered
    | RegistrationRefused
    | SeatsIssued
    | SeatRevoked
    | RefereeCodeSet
    | TokenVoided
    | RegistrationsClosed
    | LeagueStarted
    | RoundDrawn
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
    | SettingsChanged
    | PlayerWithdrawn
    | PlayerDisqualified
    | PlayerReadmitted
    | MatchReplayed
    | ResultCorrected
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    return _encoder.encode(event)


def decode(text: bytes) -> Event:
    return _decoder.decode(text)
