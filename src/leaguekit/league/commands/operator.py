"""Commands of the operator. Each results in an event with the operator's reason."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from leaguekit.league import events as e
from leaguekit.league.commands.results import known_match, validate_result
from leaguekit.league.commands.rounds import completion_events
from leaguekit.league.commands.tournaments import late_player_fault, objection
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.names import confusable_forms
from leaguekit.league.records import Departure, Match
from leaguekit.league.settings import (
    CHANGEABLE,
    LIMITS,
    Settings,
    changed_settings,
    describe_invalid,
    find_fault,
    unknown_setting,
)
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchResult


def pause(league: League, reason: str, at: str) -> list[e.Event]:
    """Pause the league: no round or match begins. Matches in play are finished."""
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; there is nothing to pause.")
    return [] if league.paused else [e.LeaguePaused(at=at, reason=reason)]


def resume(league: League, reason: str, at: str) -> list[e.Event]:
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; there is nothing to resume.")
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


def readmit(league: League, player_id: str, reason: str, at: str) -> list[e.Event]:
    """Let a player come back. It plays the matches of the rounds from now on.

    A player that left before the start comes in as a late player, if the format takes some.

    Its next registration needs no token if it has the same name and endpoint. So a player that lost its token can be
    readmitted, too.
    """
    player = league.players.get(player_id)
    if player is None:
        raise ProtocolError("E005", f"There is no player {player_id} in this league.")
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", f"The league is over; {player_id} cannot come back.")
    if player.out is not None:
        if not league.is_open and player_id not in league.table.rows and (fault := late_player_fault(league)):
            raise ProtocolError("E058", f"{player_id} left before the start, and {fault}.")
        forms = confusable_forms(player.meta.display_name)
        taken = league.endpoints.get(str(parse_endpoint(player.meta.contact_endpoint)), player_id) != player_id
        if taken or any(league.names.get(form, player_id) != player_id for form in forms):
            detail = f"Another player has the name or the endpoint of {player_id} now; let {player_id} register again."
            raise ProtocolError("E058", detail)
    return [e.PlayerReadmitted(at=at, player_id=player_id, reason=reason)]


def change_settings(league: League, changes: Mapping[str, object], reason: str, at: str) -> list[e.Event]:
    """Change settings that may change in mid-season. Settings that have the value already are left out."""
    for name in changes:
        if name not in Settings.__struct_fields__:
            detail = unknown_setting(name)
            raise ProtocolError("E044", f"{detail[0].upper()}{detail[1:]}.")
        if name not in CHANGEABLE:
            fixed = f"{name} cannot be changed after the league's creation; these can: {', '.join(CHANGEABLE)}"
            raise ProtocolError("E044", f"{fixed}.")
    try:
        after = changed_settings(league.settings, changes)
    except msgspec.ValidationError as error:
        raise ProtocolError("E044", f"The settings are wrong: {describe_invalid(error)}.") from None
    for name in LIMITS.keys() & changes.keys():
        if (fault := find_fault(name, getattr(after, name))) is not None:
            raise ProtocolError("E044", f"{fault}.")
    new = {name: value for name in changes if (value := getattr(after, name)) != getattr(league.settings, name)}
    return [e.SettingsChanged(at=at, settings=new, reason=reason)] if new else []


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
    if match.has_ended and (why := objection(league, match, None)) is not None:
        raise ProtocolError("E058", f"{match_id} cannot be played again: {why}.")
    return [e.MatchReplayed(at=at, match_id=match_id, reason=reason)]


def correct(league: League, match_id: str, result: MatchResult, reason: str, at: str) -> list[e.Event]:
    """Set the result of a match, also after the league's end. A match without a result ends with it."""
    match = known_match(league, match_id)
    if match.round_id > league.current_round:
        raise ProtocolError("E051", f"{match_id} belongs to a round that has not been announced.")
    valid = validate_result(match, result)
    if (why := objection(league, match, valid)) is not None:
        raise ProtocolError("E058", f"The result of {match_id} cannot be set so: {why}.")
    corrected = e.ResultCorrected(at=at, match_id=match_id, result=valid, reason=reason)
    return [corrected, *(_completion_of_round(league, [match], at) if not match.has_ended else [])]


def _forfeit_open_matches(league: League, player_id: str, ruling: Departure, reason: str, at: str) -> list[e.Event]:
    """Forfeit the open matches of a player in the rounds that were announced."""
    player = league.players.get(player_id)
    if player is None:
        raise ProtocolError("E005", f"There is no player {player_id} in this league.")
    if player.out is not None:
        raise ProtocolError("E058", f"{player_id} has left the league already.")
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E058", f"The league is over; {player_id} cannot leave it.")
    matches = [match for name in player.unplayed if (match := league.matches[name]).round_id <= league.current_round]
    forfeits: list[e.Event] = [
        e.MatchForfeited(at=at, match_id=match.id, losers=[player_id], ruling=ruling, reason=reason)
        for match in matches
    ]
    return [*forfeits, *(_completion_of_round(league, matches, at) if matches else [])]


def _completion_of_round(league: League, ended: list[Match], at: str) -> list[e.Event]:
    return completion_events(league, league.rounds[league.current_round - 1], ended, at)
