"""Messages of rounds and of the league's end, with their acknowledgements."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import (
    Count,
    DisplayName,
    GameType,
    LeagueId,
    MatchId,
    PlayerId,
    Profile,
    Rank,
    RefereeId,
    RoundId,
    Url,
    doc,
)
from leaguekit.protocol.messages.base import AgentAnswer, Conditional, Needs, Request

MAX_STANDINGS = 100

Acknowledged = Annotated[Literal["ACKNOWLEDGED"], doc("The message has arrived", "001-L0439")]
AckPlayer = Annotated[PlayerId | UnsetType, doc("The player that acknowledges", "001-L0440")]
AckReferee = Annotated[RefereeId | UnsetType, doc("The referee that acknowledges", "000-L0447")]
AckRound = Annotated[RoundId, doc("The round acknowledged", "001-L0441")]
TotalPlayers = Annotated[Count | UnsetType, doc("Players in the league, where the table shows only some", "000-L1567")]
BY_ITS_SENDER = (Needs(("player_id", "referee_id")),)


# It has only texts, so the garbage collector need not track the many of them in a message.
class AnnouncedMatch(Struct, kw_only=True, gc=False):
    """One match of the round; ``referee_id`` and the players' endpoints only in the copy for referees."""

    match_id: Annotated[MatchId, doc("The match", "000-L0368")]
    game_type: Annotated[GameType, doc("The game to be played", "000-L0372")]
    player_A_id: Annotated[PlayerId, doc("The first player", "000-L0375")]
    player_B_id: Annotated[PlayerId, doc("The second player", "000-L0378")]
    referee_endpoint: Annotated[Url, doc("Where the match's referee listens", "000-L0381")]
    referee_id: Annotated[RefereeId | UnsetType, doc("The match's referee", "decision 22")] = UNSET
    player_A_endpoint: Annotated[Url | UnsetType, doc("Where the first player listens", "decision 22")] = UNSET
    player_B_endpoint: Annotated[Url | UnsetType, doc("Where the second player listens", "decision 22")] = UNSET
    referee_verifier: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | UnsetType,
        doc(
            "Only if the referee shows players its own token: SHA-256 of the word verify and that token, in hex",
            "decision 19",
        ),
    ] = UNSET
    game_args: Annotated[dict[str, Any] | UnsetType, doc("The game's arguments, if it has any", "003-L0012")] = UNSET


class RoundAnnouncement(Request, kw_only=True, tag="ROUND_ANNOUNCEMENT"):
    """A round is about to begin, with these matches."""

    league_id: Annotated[LeagueId, doc("The league", "000-L0355")]
    round_id: Annotated[RoundId, doc("The round, from 1", "000-L0358")]
    matches: Annotated[
        Annotated[list[AnnouncedMatch], Meta(min_length=1)], doc("All matches of the round", "000-L0363")
    ]
    profile: Annotated[
        Profile | UnsetType, doc("The league's profile, in the copy for referees; spec when left out", "decision 22")
    ] = UNSET
    label: Annotated[
        Annotated[str, Meta(max_length=100)] | UnsetType,
        doc("What the league's format calls the round, such as Semi-finals", "decision 36"),
    ] = UNSET
    byes: Annotated[list[PlayerId] | UnsetType, doc("The players with a bye, which counts as a win", "decision 36")] = (
        UNSET
    )


class RoundSummary(Struct, kw_only=True):
    """How a round's matches ended; wins, draws and technical losses add up to the total."""

    total_matches: Annotated[Count, doc("Matches in the round", "000-L0437")]
    wins: Annotated[Count, doc("Matches won in play", "000-L0438")]
    draws: Annotated[Count, doc("Matches drawn", "000-L0439")]
    technical_losses: Annotated[Count, doc("Matches decided by a failure", "000-L0440")]


class RoundCompleted(Request, Conditional, kw_only=True, tag="ROUND_COMPLETED"):
    """All matches of a round have ended."""

    conditions = (Needs(("matches_completed", "matches_played")),)

    league_id: Annotated[LeagueId, doc("The league", "000-L0429")]
    round_id: Annotated[RoundId, doc("The round that ended", "000-L0430")]
    next_round_id: Annotated[RoundId | None, doc("The round to come; null after the last", "000-L0432")]
    matches_completed: Annotated[Count | UnsetType, doc("Matches that ended", "000-L0431")] = UNSET
    matches_played: Annotated[Count | UnsetType, doc("The same number by its other name", "001-L0668")] = UNSET
    summary: Annotated[RoundSummary | UnsetType, doc("How they ended", "000-L0436")] = UNSET


class Champion(Struct, kw_only=True):
    """The league's winner."""

    player_id: Annotated[PlayerId, doc("The champion", "000-L0487")]
    display_name: Annotated[DisplayName, doc("The champion's name", "000-L0488")]
    points: Annotated[Count, doc("The champion's points", "000-L0489")]


class FinalStanding(Struct, kw_only=True):
    """One row of the final table; document 004 leaves all but rank, player and points out."""

    rank: Annotated[Rank, doc("The rank, 1 for the first", "000-L0496")]
    player_id: Annotated[PlayerId, doc("The player", "000-L0497")]
    points: Annotated[Count, doc("Points in all", "000-L0499")]
    display_name: Annotated[DisplayName | UnsetType, doc("The player's name", "000-L0498")] = UNSET
    played: Annotated[Count | UnsetType, doc("Matches played", "000-L1001")] = UNSET
    wins: Annotated[Count | UnsetType, doc("Matches won", "001-L0779")] = UNSET
    draws: Annotated[Count | UnsetType, doc("Matches drawn", "001-L0780")] = UNSET
    losses: Annotated[Count | UnsetType, doc("Matches lost", "001-L0781")] = UNSET
    payoff: Annotated[
        float | UnsetType, doc("The mean payoff of a match, if the league is ranked by it", "003-L0012")
    ] = UNSET


class LeagueCompleted(Request, kw_only=True, tag="LEAGUE_COMPLETED"):
    """The league is over."""

    league_id: Annotated[LeagueId, doc("The league", "000-L0482")]
    total_rounds: Annotated[Count, doc("Rounds played", "000-L0483")]
    total_matches: Annotated[Count, doc("Matches played", "000-L0484")]
    champion: Annotated[Champion, doc("The winner", "000-L0486")]
    final_standings: Annotated[
        Annotated[list[FinalStanding], Meta(max_length=MAX_STANDINGS)],
        doc("The final table in the order of ranks", "000-L0491"),
    ]
    total_players: TotalPlayers = UNSET


class _RoundAck(AgentAnswer, Conditional, kw_only=True):
    conditions = BY_ITS_SENDER

    status: Acknowledged
    round_id: AckRound
    player_id: AckPlayer = UNSET
    referee_id: AckReferee = UNSET


class RoundAnnouncementAck(_RoundAck, kw_only=True, tag="ROUND_ANNOUNCEMENT_ACK"):
    """An agent has heard of the round."""


class StandingsUpdateAck(_RoundAck, kw_only=True, tag="STANDINGS_UPDATE_ACK"):
    """An agent has the new standings."""


class RoundCompletedAck(_RoundAck, kw_only=True, tag="ROUND_COMPLETED_ACK"):
    """An agent knows that the round is over."""


class LeagueCompletedAck(AgentAnswer, Conditional, kw_only=True, tag="LEAGUE_COMPLETED_ACK"):
    """An agent knows that the league is over."""

    conditions = BY_ITS_SENDER

    status: Acknowledged
    player_id: AckPlayer = UNSET
    referee_id: AckReferee = UNSET
