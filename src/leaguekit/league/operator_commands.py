"""The operator's hand: each command is an event with its reason."""

from __future__ import annotations

from leaguekit.league.events import (
    Event,
    LeaguePaused,
    LeagueResumed,
    MatchForfeited,
    MatchReplayed,
    PlayerDisqualified,
    PlayerWithdrawn,
    ResultCorrected,
)
from leaguekit.league.records import Match, Out
from leaguekit.league.results import checked, known_match
from leaguekit.league.rounds import closing
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchResult


def pause(league: League, reason: str, at: str) -> list[Event]:
    """Let nothing new begin; what is in play is played to its end."""
    return [] if league.paused else [LeaguePaused(at=at, reason=reason)]


def resume(league: League, reason: str, at: str) -> list[Event]:
    return [LeagueResumed(at=at, reason=reason)] if league.paused else []


def withdraw(league: League, player_id: str, reason: str, at: str) -> list[Event]:
    """A player leaves: it loses its open matches now, and those of later rounds when they are announced."""
    return [
        PlayerWithdrawn(at=at, player_id=player_id, reason=reason),
        *_left_behind(league, player_id, "WITHDRAWAL", reason, at),
    ]


def disqualify(league: League, player_id: str, reason: str, at: str) -> list[Event]:
    """A player must leave, with the same consequences."""
    return [
        PlayerDisqualified(at=at, player_id=player_id, reason=reason),
        *_left_behind(league, player_id, "DISQUALIFICATION", reason, at),
    ]


def rematch(league: League, match_id: str, reason: str, at: str) -> list[Event]:
    """Take a match's result back, or end its waiting, and let it be played again."""
    match = known_match(league, match_id)
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; a result can still be corrected.")
    if not match.has_ended and not match.held:
        raise ProtocolError("E051", f"{match_id} has no result yet, and does not wait for the operator.")
    gone = [player for player in match.players if league.players[player].out is not None]
    if gone:
        raise ProtocolError("E058", f"{' and '.join(gone)} left the league; {match_id} cannot be played again.")
    return [MatchReplayed(at=at, match_id=match_id, reason=reason)]


def correct(league: League, match_id: str, result: MatchResult, reason: str, at: str) -> list[Event]:
    """Settle a match's result, also after the league; one that had none has ended with it."""
    match = known_match(league, match_id)
    if match.round_id > league.current_round:
        raise ProtocolError("E051", f"{match_id} belongs to a round that has not been announced.")
    corrected = ResultCorrected(at=at, match_id=match_id, result=checked(match, result), reason=reason)
    return [corrected, *(_closing(league, [match], at) if not match.has_ended else [])]


def _left_behind(league: League, player_id: str, ruling: Out, reason: str, at: str) -> list[Event]:
    """What a player that leaves has open in the rounds announced so far, ruled against it."""
    player = league.players.get(player_id)
    if player is None:
        raise ProtocolError("E005", f"There is no player {player_id} in this league.")
    if player.out is not None or league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E058", f"{player_id} has left the league already, or the league is over.")
    matches = [match for name in player.todo if (match := league.matches[name]).round_id <= league.current_round]
    forfeits: list[Event] = [
        MatchForfeited(at=at, match_id=match.id, losers=[player_id], ruling=ruling, reason=reason) for match in matches
    ]
    return [*forfeits, *(_closing(league, matches, at) if matches else [])]


def _closing(league: League, ended: list[Match], at: str) -> list[Event]:
    return closing(league, league.rounds[league.current_round - 1], ended, at)
