"""Commands of the operator. Each results in an event with the operator's reason."""

from __future__ import annotations

from leaguekit.league import events as e
from leaguekit.league.records import Departure, Match
from leaguekit.league.results import known_match, validate_result
from leaguekit.league.rounds import completion_events
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchResult


def pause(league: League, reason: str, at: str) -> list[e.Event]:
    """Pause the league: no round or match begins. Matches in play are finished."""
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; there is nothing to pause.")
    return [] if league.paused else [e.LeaguePaused(at=at, reason=reason)]


def resume(league: League, reason: str, at: str) -> list[e.Event]:
    return [e.LeagueResumed(at=at, reason=reason)] if league.paused else []


def withdraw(league: League, player_id: str, reason: str, at: str) -> list[e.Event]:
    """Withdraw a player. It loses its open matches now, and the matches of later rounds when they are announced."""
    return [
        e.PlayerWithdrawn(at=at, player_id=player_id, reason=reason),
        *_forfeit_open_matches(league, player_id, "WITHDRAWAL", reason, at),
    ]


def disqualify(league: League, player_id: str, reason: str, at: str) -> list[e.Event]:
    """Disqualify a player, with the same consequences as a withdrawal."""
    return [
        e.PlayerDisqualified(at=at, player_id=player_id, reason=reason),
        *_forfeit_open_matches(league, player_id, "DISQUALIFICATION", reason, at),
    ]


def rematch(league: League, match_id: str, reason: str, at: str) -> list[e.Event]:
    """Annul the result of a match, or release a held match, so that it is played again."""
    match = known_match(league, match_id)
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; a result can still be corrected.")
    if not match.has_ended and not match.held:
        raise ProtocolError("E051", f"{match_id} has no result yet, and does not wait for the operator.")
    departed = [player for player in match.players if league.players[player].out is not None]
    if departed:
        raise ProtocolError("E058", f"{' and '.join(departed)} left the league; {match_id} cannot be played again.")
    return [e.MatchReplayed(at=at, match_id=match_id, reason=reason)]


def correct(league: League, match_id: str, result: MatchResult, reason: str, at: str) -> list[e.Event]:
    """Set the result of a match, also after the league's end. A match without a result ends with it."""
    match = known_match(league, match_id)
    if match.round_id > league.current_round:
        raise ProtocolError("E051", f"{match_id} belongs to a round that has not been announced.")
    corrected = e.ResultCorrected(at=at, match_id=match_id, result=validate_result(match, result), reason=reason)
    return [corrected, *(_completion_of_round(league, [match], at) if not match.has_ended else [])]


def _forfeit_open_matches(league: League, player_id: str, ruling: Departure, reason: str, at: str) -> list[e.Event]:
    """Forfeit the open matches of a player in the rounds that were announced."""
    player = league.players.get(player_id)
    if player is None:
        raise ProtocolError("E005", f"There is no player {player_id} in this league.")
    if player.out is not None or league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E058", f"{player_id} has left the league already, or the league is over.")
    matches = [match for name in player.unplayed if (match := league.matches[name]).round_id <= league.current_round]
    forfeits: list[e.Event] = [
        e.MatchForfeited(at=at, match_id=match.id, losers=[player_id], ruling=ruling, reason=reason)
        for match in matches
    ]
    return [*forfeits, *(_completion_of_round(league, matches, at) if matches else [])]


def _completion_of_round(league: League, ended: list[Match], at: str) -> list[e.Event]:
    return completion_events(league, league.rounds[league.current_round - 1], ended, at)
