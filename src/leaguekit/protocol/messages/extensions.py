"""Messages between manager and referee that the documents do not define: assignments, progress, void attempts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import (
    AgentState,
    Attempt,
    Count,
    DisplayName,
    Form,
    GameType,
    LeagueId,
    MatchId,
    MatchState,
    PlayerId,
    Profile,
    RoundId,
    Seconds,
    Timestamp,
    Token,
    Url,
    doc,
)
from leaguekit.protocol.messages.base import AgentAnswer, Answer, Request
from leaguekit.protocol.messages.matches import GameArgs, OwnRecord, Step

OfAttempt = Annotated[Attempt, doc("Which attempt at the match, from 1", "decision 22")]
OfLeague = Annotated[LeagueId, doc("The league", "003-L0052")]
OfRound = Annotated[RoundId, doc("The round", "003-L0053")]
OfMatch = Annotated[MatchId, doc("The match", "003-L0054")]


class TimeLimits(Struct, kw_only=True):
    """How long a player has, and how often it is asked again."""

    join_seconds: Annotated[Seconds, doc("To answer an invitation", "000-L1573")]
    choice_seconds: Annotated[Seconds, doc("To choose or to move", "000-L1574")]
    game_over_seconds: Annotated[Seconds, doc("To acknowledge the result", "000-L1575")]
    max_retries: Annotated[Count, doc("Further tries after no answer", "000-L1581")]
    retry_seconds: Annotated[Seconds, doc("Between two tries", "000-L1582")]
    backoff: Annotated[Literal["fixed", "exponential"], doc("Whether that time stays or doubles", "002-L0331")] = (
        "fixed"
    )


class AssignedPlayer(Struct, kw_only=True):
    """One side of an assigned match, with all that its referee needs to call it and to know it."""

    player_id: Annotated[PlayerId, doc("The player", "003-L0056")]
    endpoint: Annotated[Url, doc("Where it listens", "decision 22")]
    state: Annotated[AgentState, doc("SUSPENDED players are called once, without retries", "003-L0193")]
    move_retries: Annotated[Count | UnsetType, doc("In place of max_retries, for calls for a move", "decision 30")] = (
        UNSET
    )
    record: Annotated[OwnRecord | UnsetType, doc("Its record, for the call's context", "000-L0784")] = UNSET
    display_name: Annotated[DisplayName | UnsetType, doc("Its name", "000-L0230")] = UNSET
    form: Annotated[Form | UnsetType, doc("The form of request that it understood last", "decision 22")] = UNSET
    shown_token: Annotated[Token | UnsetType, doc("What the referee shows it", "decision 19")] = UNSET
    expected_token: Annotated[Token | UnsetType, doc("What it shows the referee", "decision 19")] = UNSET
    verifier: Annotated[
        str | UnsetType, doc("SHA-256 of the word verify and its real token, in hex", "decision 19")
    ] = UNSET


class MatchAssignment(Request, kw_only=True, tag="MATCH_ASSIGNMENT"):
    """The manager gives a referee a match to play, now."""

    league_id: OfLeague
    round_id: OfRound
    match_id: OfMatch
    game_type: Annotated[GameType, doc("The game", "003-L0055")]
    attempt: OfAttempt
    match_seed: Annotated[str, Meta(min_length=1), doc("What the draw is made from", "001-L1188")]
    time_limits: Annotated[TimeLimits, doc("The limits in this league", "003-L0171")]
    player_A: Annotated[AssignedPlayer, doc("The first player", "decision 22")]
    player_B: Annotated[AssignedPlayer, doc("The second player", "decision 22")]
    profile: Annotated[Profile | UnsetType, doc("The league's profile; spec when left out", "decision 22")] = UNSET
    game_args: GameArgs = UNSET


class MatchAssignmentAck(AgentAnswer, kw_only=True, tag="MATCH_ASSIGNMENT_ACK"):
    """A referee takes a match, or says why not; repeated for the same attempt it is harmless."""

    status: Annotated[Literal["ACCEPTED", "REJECTED"], doc("Whether it plays the match", "decision 22")]
    match_id: OfMatch
    attempt: OfAttempt
    reason: Annotated[str | UnsetType | None, doc("Why not", "decision 22")] = UNSET


class MatchProgress(Request, kw_only=True, tag="MATCH_PROGRESS"):
    """How far a match is, as everybody may see it. It may be lost, and a newer one replaces one that waits."""

    league_id: OfLeague
    round_id: OfRound
    match_id: OfMatch
    attempt: OfAttempt
    stage: Annotated[MatchState, doc("The match's state", "001-L1923")]
    entered_at: Annotated[Timestamp, doc("Since when", "001-L1923")]
    deadline: Annotated[Timestamp | UnsetType, doc("Until when at the latest", "000-L0789")] = UNSET
    arrived: Annotated[list[PlayerId] | UnsetType, doc("Who has come to the match", "001-L1030")] = UNSET
    position: Annotated[dict[str, Any] | UnsetType, doc("The position, as everybody may see it", "decision 22")] = UNSET
    picture: Annotated[dict[str, Any] | UnsetType, doc("The same to be drawn, as plain data", "decision 22")] = UNSET
    try_number: Annotated[Count | UnsetType, doc("Which try runs now; 1 is the first", "000-L1581")] = UNSET
    max_tries: Annotated[Count | UnsetType, doc("How many tries there are", "000-L1581")] = UNSET
    missing: Annotated[list[PlayerId] | UnsetType, doc("Who is asked now and has not answered", "000-L1581")] = UNSET


class MatchProgressAck(Answer, kw_only=True, tag="MATCH_PROGRESS_ACK"):
    """The manager has heard."""

    status: Annotated[Literal["ACKNOWLEDGED"], doc("The message has arrived", "001-L0439")]
    match_id: OfMatch


class TranscriptEntry(Struct, kw_only=True):
    """One thing that happened in a match, as its referee saw it."""

    seconds: Annotated[Seconds, doc("Since the match began", "001-L1472")]
    what: Annotated[Literal["sent", "received", "failed", "ruled"], doc("What it was", "001-L1472")]
    player_id: Annotated[PlayerId | UnsetType, doc("With whom", "001-L1472")] = UNSET
    message_type: Annotated[str | UnsetType, doc("The message's type", "001-L1472")] = UNSET
    body: Annotated[dict[str, Any] | UnsetType, doc("The message, without its tokens", "001-L1472")] = UNSET
    note: Annotated[str | UnsetType, doc("A failure or a ruling in words", "001-L1472")] = UNSET
    wire: Annotated[
        str | UnsetType, doc("What was really sent or received: the first 2 KB, without tokens", "001-L1472")
    ] = UNSET


class MatchTranscript(Request, kw_only=True, tag="MATCH_TRANSCRIPT"):
    """All that happened in a match; posted after the report, and kept beside the log."""

    league_id: OfLeague
    match_id: OfMatch
    attempt: OfAttempt
    entries: Annotated[list[TranscriptEntry], doc("What happened, in order", "001-L1472")]


class MatchRecord(Request, kw_only=True, tag="MATCH_RECORD"):
    """The steps of a long match; posted before its report, and kept beside the log."""

    league_id: OfLeague
    match_id: OfMatch
    attempt: OfAttempt
    record: Annotated[list[Step], doc("The steps, in order", "003-L0012")]


class MatchVoidReport(Request, kw_only=True, tag="MATCH_VOID_REPORT"):
    """A referee gives an attempt up because it was itself at fault; the match is assigned again."""

    league_id: OfLeague
    round_id: OfRound
    match_id: OfMatch
    attempt: OfAttempt
    reason: Annotated[str, doc("What went wrong", "000-L0723")]
    evidence: Annotated[dict[str, Any] | UnsetType, doc("What that rests on", "000-L0944")] = UNSET
    could_not_call: Annotated[
        PlayerId | UnsetType, doc("The player that the referee's machine could not call", "000-L0944")
    ] = UNSET


class MatchVoidAck(Answer, kw_only=True, tag="MATCH_VOID_ACK"):
    """The manager has voided the attempt."""

    status: Annotated[Literal["ACCEPTED"], doc("The attempt is void", "001-L1407")]
    match_id: OfMatch
    attempt: OfAttempt
