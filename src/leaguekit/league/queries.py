"""Queries of a league's state: answers to LEAGUE_QUERY, and the contents of announcements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from itertools import islice

from msgspec import UNSET

from leaguekit.formats import DEFAULT_FORMAT
from leaguekit.league.commands.rounds import available_referees, referee_rotation
from leaguekit.league.commands.tournaments import has_next_round, total_rounds
from leaguekit.league.records import Match, Outcome, Referee
from leaguekit.league.state import League
from leaguekit.league.statistics import player_stats
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE, ProtocolError
from leaguekit.protocol.ids import match_numbers

# At most this number of matches is named in a sentence.
MAX_NAMED = 5


def answer(league: League, query: m.LeagueQuery, reader: str | None = None) -> m.QueryData | m.QueryError:
    """The answer to a query. Raises ProtocolError for an unknown league or an unknown type of query."""
    if query.league_id != league.settings.league_id:
        raise ProtocolError("E053", f"This is the league {league.settings.league_id}.")
    return data(
        league, query.query_type, m.QueryParams() if query.query_params is UNSET else query.query_params, reader
    )


def data(
    league: League, query_type: object, params: m.QueryParams, reader: str | None = None
) -> m.QueryData | m.QueryError:
    """The answer to a type of query. Raises ProtocolError for an unknown type."""
    make = _ANSWERS.get(query_type) if isinstance(query_type, str) else None
    if make is None:
        raise ProtocolError("E052")
    return make(league, params, reader)


def cache_key(league: League, query: m.LeagueQuery, reader: str) -> Hashable:
    """A cache key: while the league does not change, queries with equal keys have equal answers."""
    params = query.query_params
    match query.query_type:
        case "GET_STANDINGS":
            return ("GET_STANDINGS", reader if len(league.table.rows) > m.MAX_STANDINGS else None)
        case "GET_SCHEDULE":
            return ("GET_SCHEDULE", None if params is UNSET else params.round_id)
        case asked:
            return (str(asked), None if params is UNSET else params.player_id)


def waits_for(league: League) -> list[str]:
    """What a running league is waiting for."""
    waits = [] if available_referees(league) or league.state != "RUNNING_LEAGUE" else ["a referee: none answers"]
    if league.held:
        remedy = "(`league rematch --held`, or `league correct`)"
        waits.append(f"the operator: {list_matches(league.held)} came to nothing too often {remedy}")
    return waits


def list_matches(matches: Collection[str]) -> str:
    """The ids of matches as a text; a long list is shortened."""
    more = len(matches) - MAX_NAMED
    return ", ".join(sorted(matches, key=match_numbers)[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def standings(league: League, reader: str | None = None) -> list[m.Standing]:
    """The table, at most 100 rows. Of a longer table, these are the first 99 and the reader's own."""
    return league.table.rows_for(reader)


def final_standings(league: League, reader: str | None = None) -> list[m.FinalStanding]:
    """The same table in the form of LEAGUE_COMPLETED and of query answers."""
    return m.final_rows(standings(league, reader))


def schedule(league: League, round_id: int | None = None) -> list[m.ScheduledMatch]:
    """The matches of one round or of all rounds; none before the start, or for an unknown round."""
    return list(schedule_from(league, round_id, 0))


def schedule_from(league: League, round_id: int | None, offset: int) -> Iterator[m.ScheduledMatch]:
    """The same without the first ``offset`` matches, as an iterator."""
    rounds = league.rounds if round_id is None else league.rounds[round_id - 1 : round_id]
    names = (name for round_ in rounds for name in round_.matches)
    for match in map(league.matches.__getitem__, islice(names, offset, None)):
        yield scheduled_match(league.settings.game_type, match, match.outcome)


def scheduled_match(game_type: str, match: Match, outcome: Outcome | None) -> m.ScheduledMatch:
    """A match of the schedule with its result."""
    return m.ScheduledMatch(
        match_id=match.id,
        round_id=match.round_id,
        game_type=game_type,
        player_A_id=match.a,
        player_B_id=match.b,
        result=UNSET if outcome is None else match.result_by(outcome),
    )


def next_match(league: League, player_id: str) -> m.NextMatch | None:
    """A player's next match, with its referee: the assigned one, the planned one, or the likely one."""
    if league.players[player_id].out is not None:
        return None
    for match in (league.matches[name] for name in league.players[player_id].unplayed):
        opponent = match.opponent_of(player_id)
        if league.players[opponent].out is None:
            return m.NextMatch(
                match_id=match.id,
                round_id=match.round_id,
                opponent_id=opponent,
                referee_endpoint=_referee(league, match).meta.contact_endpoint,
            )
    return None


def status(league: League) -> m.LeagueStatus:
    return m.LeagueStatus(
        state=league.state,
        current_round=league.current_round,
        total_rounds=total_rounds(league),
        matches_played=len(league.matches) - league.outstanding,
        total_matches=len(league.matches),
        players=len(league.table.rows),
        referees=len(league.referees),
        format=UNSET if league.settings.format_text == DEFAULT_FORMAT else league.settings.format_text,
    )


def announced_matches(league: League, names: Iterable[str], *, to_referees: bool = False) -> list[m.AnnouncedMatch]:
    """Matches as they are announced. The copy for referees also has their ids and the players' endpoints."""
    matches = [league.matches[name] for name in names]
    return [
        m.AnnouncedMatch(
            match_id=match.id,
            game_type=league.settings.game_type,
            player_A_id=match.a,
            player_B_id=match.b,
            referee_endpoint=referee.meta.contact_endpoint,
            referee_id=referee.id if to_referees else UNSET,
            player_A_endpoint=league.players[match.a].meta.contact_endpoint if to_referees else UNSET,
            player_B_endpoint=league.players[match.b].meta.contact_endpoint if to_referees else UNSET,
            referee_verifier=referee.registered.verifier if referee.shows_own_token else UNSET,
            game_args=league.settings.game_args,
        )
        for match in matches
        for referee in [_referee(league, match)]
    ]


def round_summary(league: League, round_id: int) -> m.RoundSummary:
    round_ = league.rounds[round_id - 1]
    return m.RoundSummary(
        total_matches=len(round_.matches),
        wins=round_.wins,
        draws=round_.draws,
        technical_losses=round_.technical_losses,
    )


def next_round_id(league: League, round_id: int) -> int | None:
    """The round after this one; None after the last."""
    return round_id + 1 if round_id < len(league.rounds) or has_next_round(league) else None


def champion(league: League) -> m.Champion:
    """The first player of the table, which is the champion at the end."""
    first = standings(league)[0]
    return m.Champion(player_id=first.player_id, display_name=first.display_name, points=first.points)


def _referee(league: League, match: Match) -> Referee:
    known = match.referee_id if match.in_play else match.planned
    if known is None or league.referees[known].lost:
        turns = referee_rotation(league)
        known = turns[(match_numbers(match.id)[1] - 1) % len(turns)]
    return league.referees[known]


def _error(code: str, sentence: str) -> m.QueryError:
    return m.QueryError(error_code=code, error_name=CATALOGUE[code].name, error_description=sentence)


def _of_player(
    make: Callable[[League, str], m.QueryData],
) -> Callable[[League, m.QueryParams, str | None], m.QueryData | m.QueryError]:
    """Make an answer about the player that the parameters name, or an error if they name none."""

    def answer_about_player(league: League, params: m.QueryParams, _reader: str | None) -> m.QueryData | m.QueryError:
        if params.player_id is UNSET:
            return _error("E003", "query_params.player_id is missing: it says which player is meant.")
        if params.player_id not in league.table.rows:
            return _error("E005", f"There is no player {params.player_id} in this league.")
        return make(league, params.player_id)

    return answer_about_player


_ANSWERS: dict[str, Callable[[League, m.QueryParams, str | None], m.QueryData | m.QueryError]] = {
    "GET_STANDINGS": lambda league, _params, reader: m.QueryData(standings=final_standings(league, reader)),
    "GET_SCHEDULE": lambda league, params, _reader: m.QueryData(
        schedule=schedule(league, None if params.round_id is UNSET else params.round_id)
    ),
    "GET_NEXT_MATCH": _of_player(lambda league, player: m.QueryData(next_match=next_match(league, player))),
    "GET_PLAYER_STATS": _of_player(lambda league, player: m.QueryData(player_stats=player_stats(league, player))),
    "GET_STATUS": lambda league, _params, _reader: m.QueryData(status=status(league)),
}
