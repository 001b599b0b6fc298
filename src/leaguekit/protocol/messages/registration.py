"""Messages of registration: an agent describes itself, and gets an id and a token."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import (
    Count,
    DisplayName,
    ErrorCode,
    GameType,
    LeagueId,
    PlayerId,
    RefereeId,
    RegistrationStatus,
    Token,
    Url,
    Version,
    doc,
)
from leaguekit.protocol.messages.base import Answer, Conditional, Needs, Request

ProtocolVersion = Annotated[
    Version | UnsetType, doc("The protocol version it speaks; 2.1.0 when left out", "003-L0279", examples=["2.1.0"])
]
Games = Annotated[list[GameType], Meta(min_length=1, max_length=50)]


class PlayerMeta(Struct, kw_only=True):
    """What a player says about itself."""

    display_name: Annotated[DisplayName, doc("The player's name, unique in the league", "000-L0230")]
    version: Annotated[Version, doc("The agent's own version", "000-L0235")]
    game_types: Annotated[Games, doc("The games it can play; the league's must be among them", "000-L0239")]
    contact_endpoint: Annotated[Url, doc("Where others call it", "000-L0243")]
    protocol_version: ProtocolVersion = UNSET


class RefereeMeta(Struct, kw_only=True):
    """What a referee says about itself."""

    display_name: Annotated[DisplayName, doc("The referee's name", "000-L0110")]
    version: Annotated[Version, doc("The referee's own version", "000-L0115")]
    game_types: Annotated[Games, doc("The games it can judge; the league's must be among them", "000-L0119")]
    contact_endpoint: Annotated[Url, doc("Where others call it", "000-L0124")]
    max_concurrent_matches: Annotated[
        Annotated[int, Meta(ge=1, le=10)] | UnsetType,
        doc("How many matches it takes at once; 1 when left out", "000-L0129"),
    ] = UNSET
    protocol_version: ProtocolVersion = UNSET
    token_scheme: Annotated[
        Annotated[str, Meta(max_length=20)] | UnsetType,
        doc(
            "derived: it shows players the tokens of MATCH_ASSIGNMENT; when left out, it shows them its own token and "
            "begins a match when the match is announced",
            "decision 19",
        ),
    ] = UNSET


class RefereeRegisterRequest(Request, kw_only=True, tag="REFEREE_REGISTER_REQUEST"):
    """A referee asks to be taken on. An agent that comes back shows its token."""

    referee_meta: Annotated[RefereeMeta, doc("The referee's description of itself", "000-L0109")]


class LeagueRegisterRequest(Request, kw_only=True, tag="LEAGUE_REGISTER_REQUEST"):
    """A player asks to take part. An agent that comes back shows its token."""

    player_meta: Annotated[PlayerMeta, doc("The player's description of itself", "000-L0229")]


class _RegisterResponse(Answer, kw_only=True):
    status: Annotated[RegistrationStatus, doc("Whether the agent was taken", "000-L0182")]
    reason: Annotated[str | UnsetType | None, doc("Why not; null when accepted", "000-L0191")] = UNSET
    league_id: Annotated[LeagueId | UnsetType, doc("The league it is now part of", "001-L0153")] = UNSET
    error_code: Annotated[ErrorCode | UnsetType, doc("The catalogue's code for the reason", "decision 14")] = UNSET
    code: Annotated[
        int | UnsetType | None, doc("Document 001's number for the reason, if it has one", "decision 14")
    ] = UNSET
    token_scheme: Annotated[
        str | UnsetType,
        doc("derived: callers of this league show tokens made for one purpose, which can be checked", "decision 19"),
    ] = UNSET


class RefereeRegisterResponse(_RegisterResponse, Conditional, kw_only=True, tag="REFEREE_REGISTER_RESPONSE"):
    """The manager takes a referee on, or says why not."""

    conditions = (Needs(("referee_id",), "status", "ACCEPTED"),)

    referee_id: Annotated[RefereeId | UnsetType | None, doc("The id given; null when rejected", "000-L0186")] = UNSET
    auth_token: Annotated[
        Token | UnsetType | None, doc("The token that proves the referee's identity from now on", "001-L0152")
    ] = UNSET
    max_referees: Annotated[
        Count | UnsetType, doc("How many referees the league takes, if it is full", "001-L0216")
    ] = UNSET
    current_referees: Annotated[Count | UnsetType, doc("How many it has, if it is full", "001-L0217")] = UNSET


class LeagueRegisterResponse(_RegisterResponse, Conditional, kw_only=True, tag="LEAGUE_REGISTER_RESPONSE"):
    """The manager takes a player into the league, or says why not."""

    conditions = (Needs(("player_id",), "status", "ACCEPTED"),)

    player_id: Annotated[PlayerId | UnsetType | None, doc("The id given; null when rejected", "000-L0296")] = UNSET
    auth_token: Annotated[
        Token | UnsetType | None, doc("The token that proves the player's identity from now on", "001-L0294")
    ] = UNSET
    max_players: Annotated[
        Count | UnsetType, doc("How many players the league takes, if it is full", "decision 14")
    ] = UNSET
    current_players: Annotated[Count | UnsetType, doc("How many it has, if it is full", "decision 14")] = UNSET
    display_name: Annotated[
        DisplayName | UnsetType, doc("The name it plays under, if another player has the one it asked for", "000-L0230")
    ] = UNSET
