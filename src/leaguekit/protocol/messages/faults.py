"""The two error messages: LEAGUE_ERROR from the manager, GAME_ERROR from a referee.

Every document asks for another set of fields. Our messages have all of them. Messages of others need only the common
fields.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.fields import (
    Count,
    ErrorCode,
    LeagueId,
    MatchId,
    MatchState,
    Name,
    PlayerId,
    RoundId,
    Seconds,
    Timestamp,
    doc,
)
from leaguekit.protocol.messages.base import AgentAnswer, Envelope, Request
from leaguekit.protocol.messages.rounds import Acknowledged, AckPlayer, AckReferee


class RetryInfo(Struct, kw_only=True, omit_defaults=True):
    """Whether and when the same call comes again."""

    retry_count: Annotated[Count | UnsetType, doc("Which retry comes next, from 1", "000-L1302")] = UNSET
    max_retries: Annotated[Count | UnsetType, doc("How many there are", "000-L1303")] = UNSET
    next_retry_at: Annotated[Timestamp | UnsetType, doc("When the next one comes", "000-L1304")] = UNSET
    time_remaining: Annotated[Seconds | UnsetType, doc("Seconds left in the window", "000-L1305")] = UNSET


class LeagueError(Request, kw_only=True, tag="LEAGUE_ERROR"):
    """Something is wrong with what an agent sent to the manager."""

    error_code: Annotated[ErrorCode, doc("The catalogue's code", "000-L1209")]
    error_description: Annotated[str, doc("The code's name", "000-L1213")]
    error_name: Annotated[Name | UnsetType, doc("The code's name", "003-L0214", examples=["TIMEOUT_ERROR"])] = UNSET
    original_message_type: Annotated[Name | UnsetType, doc("The message that was wrong", "000-L1217")] = UNSET
    affected_player: Annotated[PlayerId | UnsetType | None, doc("The player concerned, if any", "002-L0307b")] = UNSET
    action_required: Annotated[str | UnsetType, doc("What the agent should do", "002-L0308b")] = UNSET
    retryable: Annotated[bool | UnsetType, doc("Whether the same may be sent again", "003-L0219")] = UNSET
    retry_info: Annotated[RetryInfo | UnsetType, doc("When it may be sent again", "002-L0309b")] = UNSET
    consequence: Annotated[str | UnsetType, doc("What follows if it is not", "002-L0313b")] = UNSET
    context: Annotated[dict[str, Any] | UnsetType, doc("What helps to find the mistake", "000-L1220")] = UNSET


class GameError(Request, kw_only=True, tag="GAME_ERROR"):
    """Something is wrong with what a player did, or did not do, in a match."""

    error_code: Annotated[ErrorCode, doc("The catalogue's code", "000-L1294")]
    error_description: Annotated[str, doc("The code's name", "000-L1295")]
    error_name: Annotated[Name | UnsetType, doc("The code's name", "003-L0236", examples=["TIMEOUT_ERROR"])] = UNSET
    match_id: Annotated[MatchId | UnsetType, doc("The match", "000-L1293")] = UNSET
    affected_player: Annotated[PlayerId | UnsetType | None, doc("The player concerned", "000-L1297")] = UNSET
    player_id: Annotated[PlayerId | UnsetType | None, doc("The same by its other name", "003-L0234")] = UNSET
    action_required: Annotated[str | UnsetType, doc("What the player has to do", "000-L1298")] = UNSET
    retry_info: Annotated[RetryInfo | UnsetType, doc("Whether and when the call comes again", "000-L1301")] = UNSET
    retry_count: Annotated[Count | UnsetType, doc("Which retry comes next, from 1", "001-L1583")] = UNSET
    max_retries: Annotated[Count | UnsetType, doc("How many there are", "001-L1584")] = UNSET
    time_remaining: Annotated[Seconds | UnsetType, doc("Seconds left in the window", "000-L0867")] = UNSET
    retryable: Annotated[bool | UnsetType, doc("Whether another answer is taken", "000-L0866")] = UNSET
    game_state: Annotated[MatchState | UnsetType, doc("Where the match stands", "003-L0238")] = UNSET
    consequence: Annotated[str | UnsetType, doc("What follows if it is not mended", "000-L1308")] = UNSET
    context: Annotated[dict[str, Any] | UnsetType, doc("What helps to find the mistake", "000-L1307")] = UNSET
    league_id: Annotated[LeagueId | UnsetType, doc("The league", "003-L0119")] = UNSET
    round_id: Annotated[RoundId | UnsetType, doc("The round", "003-L0120")] = UNSET


class GameErrorAck(AgentAnswer, kw_only=True, tag="GAME_ERROR_ACK"):
    """A player has heard of the error."""

    status: Acknowledged
    player_id: Annotated[PlayerId, doc("The player that acknowledges", "001-L1622")]
    match_id: Annotated[MatchId, doc("The match", "001-L1623")]


class LeagueErrorAck(AgentAnswer, kw_only=True, tag="LEAGUE_ERROR_ACK"):
    """An agent has heard of the error. Before it is registered it has no id."""

    status: Acknowledged
    player_id: AckPlayer = UNSET
    referee_id: AckReferee = UNSET


def game_error(
    envelope: Envelope,
    *,
    code: str,
    player_id: str | None,
    detail: str,
    retry_count: int,
    max_retries: int,
    next_retry_at: str | UnsetType = UNSET,
    time_remaining: float | UnsetType = UNSET,
    context: dict[str, Any] | None = None,
    **fields: Any,
) -> GameError:
    """A GAME_ERROR with the fields of every document. The retries are both at the top and in ``retry_info``."""
    retries: dict[str, Any] = {
        "retry_count": retry_count,
        "max_retries": max_retries,
        "time_remaining": time_remaining,
    }
    return GameError(
        **envelope,
        **fields,
        **retries,
        error_code=code,
        error_description=CATALOGUE[code].name,
        error_name=CATALOGUE[code].name,
        affected_player=player_id,
        player_id=player_id,
        retry_info=RetryInfo(**retries, next_retry_at=next_retry_at),
        context={"detail": detail} | (context or {}),
    )
