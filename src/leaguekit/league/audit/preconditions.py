"""The preconditions of events: what must hold in a league before an event is applied to it.

Discrepancy         a precondition does not hold, but the event can be applied
ImpossibleEvent     the event cannot have happened: applying it would fail, or count something twice
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, permutations
from typing import Any

import msgspec

from leaguekit.league import events as e
from leaguekit.league.commands.results import MAX_FAILURES, MAX_VOIDS, validate_result
from leaguekit.league.commands.tournaments import late_player_fault, needs_draw
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.names import confusable_forms
from leaguekit.league.outcomes import Discrepancy
from leaguekit.league.records import Match, Player, Referee
from leaguekit.league.settings import CHANGEABLE, changed_settings
from leaguekit.league.state import League, id_order
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerId, RefereeId
from leaguekit.protocol.messages import MatchResult
from leaguekit.protocol.patterns import valid

# Events that cannot happen after the end of a league.
_EVENTS_BEFORE_END = (
    e.RegistrationsClosed,
    e.LeagueStarted,
    e.RoundDrawn,
    e.RoundAnnounced,
    e.MatchAssigned,
    e.ResultRecorded,
    e.MatchForfeited,
    e.AttemptVoided,
    e.MatchHeld,
    e.RefereeLost,
    e.PlayerSuspended,
    e.PlayerReturned,
    e.RoundCompleted,
    e.LeagueCompleted,
    e.PlayerWithdrawn,
    e.PlayerDisqualified,
    e.PlayerReadmitted,
    e.MatchReplayed,
)
# At most this number of wrong pairs is listed.
_MAX_PAIRS = 5


class ImpossibleEvent(Exception):
    """An event that cannot have happened in this state of the league."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}; there is {found}")
        self.fault = Discrepancy(expected, found)


def check_preconditions(event: e.Event, league: League) -> Iterator[Discrepancy]:
    """The preconditions of an event that do not hold in a league. Raises Impossible."""
    if league.state == "LEAGUE_COMPLETED" and isinstance(event, _EVENTS_BEFORE_END):
        raise ImpossibleEvent("no more play after the league's end", type(event).__name__)
    check = _CHECKS.get(type(event))
    return iter(()) if check is None else check(event, league)


def _league_created(_event: e.LeagueCreated, _league: League) -> Iterator[Discrepancy]:
    raise ImpossibleEvent("one LeagueCreated", "a second one")


# Agents


def _player_registered(event: e.PlayerRegistered, league: League) -> Iterator[Discrepancy]:
    name = event.player_id
    known = league.players.get(name)
    if known is None:
        if not valid(PlayerId, name):
            raise ImpossibleEvent("a player's id such as P01", repr(name))
        if not league.is_open and not (event.by_operator and _may_take_late_player(league)):
            raise ImpossibleEvent("no new players after the start", f"the new player {name}")
        if len(league.table.rows) >= (limit := league.settings.max_players):
            yield Discrepancy(f"at most {limit} players", f"one more, {name}")
    elif known.out is not None:
        raise ImpossibleEvent(f"no return of {name}, which has left the league", "its registration")
    if event.seat is not None and event.seat not in league.seats:
        raise ImpossibleEvent("a seat that was given out", f"another one of {name}")
    yield from _conflicts_with_others(name, event, league)
    owners = {league.names.get(one, name) for one in confusable_forms(event.meta.display_name)} - {name}
    for owner in sorted(owners):
        yield Discrepancy(f"a name of its own for {name}", f"{event.meta.display_name!r}, which is {owner}'s")


def _may_take_late_player(league: League) -> bool:
    """Whether a player may come in after the start. Nobody knows that of a format that cannot be loaded."""
    return league.settings.known_format is None or late_player_fault(league) is None


def _referee_registered(event: e.RefereeRegistered, league: League) -> Iterator[Discrepancy]:
    name = event.referee_id
    if name not in league.referees:
        if not valid(RefereeId, name):
            raise ImpossibleEvent("a referee's id such as REF01", repr(name))
        if len(league.referees) >= (limit := league.settings.max_referees):
            yield Discrepancy(f"at most {limit} referees", f"one more, {name}")
    yield from _conflicts_with_others(name, event, league)


def _conflicts_with_others(
    name: str, event: e.PlayerRegistered | e.RefereeRegistered, league: League
) -> Iterator[Discrepancy]:
    owner = league.endpoints.get(str(parse_endpoint(event.meta.contact_endpoint)), name)
    if owner != name:
        yield Discrepancy(f"an endpoint of its own for {name}", f"{owner}'s")
    owner = league.verifiers.get(event.verifier, name)
    if owner != name:
        yield Discrepancy(f"a token of its own for {name}", f"{owner}'s")


def _referee_lost(event: e.RefereeLost, league: League) -> Iterator[Discrepancy]:
    if _referee(event.referee_id, league).lost:
        yield Discrepancy("the loss of a referee that was there", f"that of {event.referee_id}, which was lost already")


def _referee_returned(event: e.RefereeReturned, league: League) -> Iterator[Discrepancy]:
    if not _referee(event.referee_id, league).lost:
        yield Discrepancy("the return of a referee that was lost", f"that of {event.referee_id}, which was there")


def _failures_counted(event: e.FailuresCounted, league: League) -> Iterator[Discrepancy]:
    _player(event.player_id, league)
    if event.in_a_row < 0:
        yield Discrepancy("a number of failures", str(event.in_a_row))


def _player_suspended(event: e.PlayerSuspended, league: League) -> Iterator[Discrepancy]:
    player = _player(event.player_id, league)
    if player.state != "ACTIVE" or player.failures < MAX_FAILURES:
        yield Discrepancy(
            f"the suspension of an active player after {MAX_FAILURES} failures",
            f"that of {player.id}, {player.state} after {player.failures}",
        )


def _player_returned(event: e.PlayerReturned, league: League) -> Iterator[Discrepancy]:
    player = _player(event.player_id, league)
    if player.state != "SUSPENDED":
        yield Discrepancy("the return of a suspended player", f"that of {player.id}, which was {player.state}")


def _form_learned(event: e.FormLearned, league: League) -> Iterator[Discrepancy]:
    _player(event.player_id, league)
    return iter(())


def _rules_broken(event: e.RulesBroken, league: League) -> Iterator[Discrepancy]:
    if league.agent(event.agent_id) is None:
        raise ImpossibleEvent("an agent of the league", event.agent_id)
    return iter(())


def _player_left(event: e.PlayerWithdrawn | e.PlayerDisqualified, league: League) -> Iterator[Discrepancy]:
    if _player(event.player_id, league).out is not None:
        raise ImpossibleEvent(f"{event.player_id} leaving once", "a second time")
    return iter(())


def _player_readmitted(event: e.PlayerReadmitted, league: League) -> Iterator[Discrepancy]:
    player = _player(event.player_id, league)
    if player.id not in league.table.rows and not league.is_open and not _may_take_late_player(league):
        raise ImpossibleEvent("the return of a player that is in the schedule", f"that of {player.id}")
    return iter(())


# The course of the league


def _registrations_closed(_event: e.RegistrationsClosed, league: League) -> Iterator[Discrepancy]:
    if not league.is_open:
        raise ImpossibleEvent("one end of the registrations", "a second one")
    return iter(())


def _league_started(event: e.LeagueStarted, league: League) -> Iterator[Discrepancy]:
    if league.state != "CREATING_SCHEDULE":
        raise ImpossibleEvent("one start, after the end of the registrations", f"a start in {league.state}")
    playing = {player for pairs in event.rounds for pair in pairs for player in pair}
    if unknown := sorted(playing - set(league.table.rows)):
        raise ImpossibleEvent("a schedule of the players that are registered", f"{', '.join(unknown)} in it")
    for number, pairs in enumerate(event.rounds, start=1):
        counts = Counter(player for pair in pairs for player in pair)
        if twice := [player for player, count in counts.items() if count > 1]:
            yield Discrepancy(f"everybody at most once in round {number}", f"{', '.join(twice)} more than once")
    made = league.settings.known_format
    if event.seeding and sorted(event.seeding) != sorted(league.table.rows):
        raise ImpossibleEvent("a seeding of the players that are registered", ", ".join(event.seeding))
    if made is not None and made.name == "round_robin":
        yield from _check_round_robin(event, league, is_double=made.total_rounds(2) == 2)
    elif made is not None:
        seeding = event.seeding or sorted(league.table.rows, key=id_order)
        if (made.full_schedule(seeding) or []) != event.rounds:
            yield Discrepancy(f"the schedule of {made}", "another one")


def _check_round_robin(event: e.LeagueStarted, league: League, *, is_double: bool) -> Iterator[Discrepancy]:
    if is_double:
        wanted, met = list(permutations(league.table.rows, 2)), [pair for pairs in event.rounds for pair in pairs]
        how_often = "twice, once on each side"
    else:
        wanted = [_unordered(pair) for pair in combinations(league.table.rows, 2)]
        met = [_unordered(pair) for pairs in event.rounds for pair in pairs]
        how_often = "once"
    missing, too_often = Counter(wanted) - Counter(met), Counter(met) - Counter(wanted)
    if missing or too_often:
        said = [f"{what} {_list_pairs(pairs)}" for what, pairs in (("no", missing), ("one more", too_often)) if pairs]
        yield Discrepancy(f"everybody against everybody {how_often}", " and ".join(said))


def _round_drawn(event: e.RoundDrawn, league: League) -> Iterator[Discrepancy]:
    if not needs_draw(league):
        raise ImpossibleEvent("a draw when all rounds are over", f"the draw of round {event.round_id}")
    if event.round_id != len(league.rounds) + 1:
        raise ImpossibleEvent(f"the draw of round {len(league.rounds) + 1}", f"that of round {event.round_id}")
    playing = [player for pair in event.pairs for player in pair] + event.byes
    if unknown := sorted({*playing, *event.ranking} - set(league.table.rows)):
        raise ImpossibleEvent("a draw of the league's players", f"{', '.join(unknown)} in it")
    if event.ranking and len(event.ranking) != len(league.table.rows):
        raise ImpossibleEvent("a ranking of all players", f"one of {len(event.ranking)}")
    if len(set(playing)) != len(playing):
        yield Discrepancy(f"everybody at most once in round {event.round_id}", ", ".join(playing))


def _unordered(pair: tuple[str, str]) -> tuple[str, str]:
    return (min(pair), max(pair))


def _list_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    texts = [f"{a}–{b}" for a, b in pairs]
    more = f" and {len(texts) - _MAX_PAIRS} more" if len(texts) > _MAX_PAIRS else ""
    return ", ".join(texts[:_MAX_PAIRS]) + more


def _round_announced(event: e.RoundAnnounced, league: League) -> Iterator[Discrepancy]:
    following, there_are = league.current_round + 1, len(league.rounds)
    if event.round_id != following or following > there_are:
        wanted = f"round {following}" if following <= there_are else "no more rounds"
        raise ImpossibleEvent(f"{wanted} (of {there_are})", f"the announcement of round {event.round_id}")
    matches = league.rounds[following - 1].matches
    if len(event.referees) != len(matches) or not set(event.referees) <= set(league.referees):
        raise ImpossibleEvent(
            f"a known referee for each of {len(matches)} matches", ", ".join(event.referees) or "none"
        )
    if league.round_in_play:
        yield Discrepancy(f"the end of round {league.current_round} first", f"the announcement of round {following}")
    if league.paused:
        yield Discrepancy("no new round while the league is paused", f"the announcement of round {following}")


def _round_completed(event: e.RoundCompleted, league: League) -> Iterator[Discrepancy]:
    if not 1 <= event.round_id <= league.current_round:
        raise ImpossibleEvent("the end of a round that was announced", f"that of round {event.round_id}")
    round_ = league.rounds[event.round_id - 1]
    if round_.completed:
        yield Discrepancy(f"one end of round {round_.id}", "a second one")
    if open_ones := [name for name in round_.matches if league.matches[name].result is None]:
        yield Discrepancy(
            f"the end of round {round_.id} when all its matches have ended", f"{', '.join(open_ones)} open"
        )


def _league_completed(event: e.LeagueCompleted, league: League) -> Iterator[Discrepancy]:
    if event.ranking and sorted(event.ranking) != sorted(league.table.rows):
        raise ImpossibleEvent("a final ranking of all players", ", ".join(event.ranking))
    open_ones = [match.id for match in league.matches.values() if match.result is None]
    if open_ones or not (league.matches or league.draws_rounds):
        found = ", ".join(open_ones) if open_ones else "no match"
        yield Discrepancy("the league's end when all its matches have ended", f"{found} open" if open_ones else found)
    if open_rounds := [str(round_.id) for round_ in league.rounds if not round_.completed]:
        yield Discrepancy("the league's end after that of all its rounds", f"no end of round {', '.join(open_rounds)}")


def _paused_or_resumed(event: e.LeaguePaused | e.LeagueResumed, league: League) -> Iterator[Discrepancy]:
    if league.paused == isinstance(event, e.LeaguePaused):
        yield Discrepancy("pauses and their ends in turn", f"another {type(event).__name__}")


def _settings_changed(event: e.SettingsChanged, league: League) -> Iterator[Discrepancy]:
    if fixed := [name for name in event.settings if name not in CHANGEABLE]:
        raise ImpossibleEvent("changes of settings that may change", ", ".join(fixed))
    try:
        changed_settings(league.settings, event.settings)
    except msgspec.ValidationError as error:
        raise ImpossibleEvent("settings that a league can have", str(error)) from None
    return iter(())


# Matches


def _match_assigned(event: e.MatchAssigned, league: League) -> Iterator[Discrepancy]:
    match, referee = _match(event.match_id, league), _referee(event.referee_id, league)
    if match.id not in league.waiting:
        raise ImpossibleEvent("a match that waits for a referee", f"one that {_situation(match, league)}")
    if event.attempt != match.attempt + 1:
        yield Discrepancy(f"attempt {match.attempt + 1}", f"attempt {event.attempt}")
    if match.voids >= MAX_VOIDS:
        yield Discrepancy(f"the operator's word after {match.voids} void attempts", "another assignment")
    if league.paused:
        yield Discrepancy("no new match while the league is paused", "an assignment")
    if not referee.free:
        busy = (
            "is lost" if referee.lost else f"has {len(referee.assigned_matches)} of {referee.capacity} matches in hand"
        )
        yield Discrepancy("a referee that is free", f"{referee.id}, which {busy}")
    for player in (league.players[name] for name in match.players):
        if player.playing is not None:
            yield Discrepancy(f"{player.id} in one match at a time", f"it in {player.playing} as well")
        if player.out is not None:
            yield Discrepancy(f"no match of {player.id}, which has left the league", "an assignment")


def _result_recorded(event: e.ResultRecorded, league: League) -> Iterator[Discrepancy]:
    match, referee = _match(event.match_id, league), _referee(event.referee_id, league)
    if not match.in_play:
        raise ImpossibleEvent("a result of an attempt that is open", f"one of a match that {_situation(match, league)}")
    yield from _check_result(match, event.result)
    if (event.attempt, referee.id) != (match.attempt, match.referee_id):
        yield Discrepancy(
            f"the result of attempt {match.attempt} by {match.referee_id}",
            f"that of attempt {event.attempt} by {referee.id}",
        )
    if referee.lost:
        yield Discrepancy(f"no result of {referee.id}, which is lost", "its result")


def _match_forfeited(event: e.MatchForfeited, league: League) -> Iterator[Discrepancy]:
    match = _unfinished(event.match_id, league)
    if not 1 <= len(set(event.losers) & set(match.players)) == len(event.losers):
        raise ImpossibleEvent(f"{match.a} or {match.b} losing", ", ".join(event.losers) or "nobody")
    if event.ruling == "UNREACHABLE":
        if not match.in_play:
            yield Discrepancy("an open attempt to be lost by a player that cannot be reached", "none")
        return
    causes = {league.players[name].out for name in event.losers}
    if None in causes or event.ruling not in causes:
        gone = ", ".join(f"{name}: {league.players[name].out or 'in the league'}" for name in event.losers)
        yield Discrepancy("a loss of players that have left, by what they left for", f"{event.ruling} ({gone})")


def _attempt_voided(event: e.AttemptVoided, league: League) -> Iterator[Discrepancy]:
    match = _match(event.match_id, league)
    if not match.in_play:
        raise ImpossibleEvent("an open attempt to be void", f"a match that {_situation(match, league)}")
    if event.attempt != match.attempt:
        yield Discrepancy(f"attempt {match.attempt} to be void", f"attempt {event.attempt}")


def _match_held(event: e.MatchHeld, league: League) -> Iterator[Discrepancy]:
    match = _match(event.match_id, league)
    if match.id not in league.waiting:
        raise ImpossibleEvent("a match that waits to be held", f"one that {_situation(match, league)}")
    if match.voids < MAX_VOIDS:
        yield Discrepancy(f"a match held after {MAX_VOIDS} void attempts", f"one held after {match.voids}")


def _match_replayed(event: e.MatchReplayed, league: League) -> Iterator[Discrepancy]:
    match = _match(event.match_id, league)
    if match.result is None and not match.held:
        raise ImpossibleEvent("a match that has ended or is held", f"one that {_situation(match, league)}")
    for name in match.players:
        if league.players[name].out is not None:
            yield Discrepancy(f"no rematch of {name}, which has left the league", "a rematch")


def _result_corrected(event: e.ResultCorrected, league: League) -> Iterator[Discrepancy]:
    match = _match(event.match_id, league)
    if match.round_id > league.current_round:
        raise ImpossibleEvent("a match whose round was announced", f"one of round {match.round_id}")
    yield from _check_result(match, event.result)


def _check_result(match: Match, result: MatchResult) -> Iterator[Discrepancy]:
    if set(result.score) != set(match.players):
        raise ImpossibleEvent(f"points for {match.a} and {match.b}", f"points for {' and '.join(result.score)}")
    try:
        validate_result(match, result)
    except ProtocolError as error:
        yield Discrepancy("3–0 for a win, 1–1 for a draw, 0–0 if both lose", f"this: {error.detail}")


def _situation(match: Match, league: League) -> str:
    if match.result is not None:
        return f"ended at {match.ended_at}"
    if match.held:
        return "waits for the operator"
    if match.in_play:
        return f"{match.referee_id} has in hand"
    return "waits for a referee" if match.id in league.waiting else "was not announced"


def _unfinished(name: str, league: League) -> Match:
    match = _match(name, league)
    if match.result is not None or match.round_id > league.current_round:
        raise ImpossibleEvent("a match that is still to end", f"one that {_situation(match, league)}")
    return match


def _match(name: str, league: League) -> Match:
    if name not in league.matches:
        raise ImpossibleEvent("a match of the schedule", name)
    return league.matches[name]


def _player(name: str, league: League) -> Player:
    if name not in league.players:
        raise ImpossibleEvent("a player of the league", name)
    return league.players[name]


def _referee(name: str, league: League) -> Referee:
    if name not in league.referees:
        raise ImpossibleEvent("a referee of the league", name)
    return league.referees[name]


# The check of each kind of event. An event that is not in the table may happen at any time.
_CHECKS: Mapping[type[e.Event], Callable[[Any, League], Iterator[Discrepancy]]] = {
    e.LeagueCreated: _league_created,
    e.PlayerRegistered: _player_registered,
    e.RefereeRegistered: _referee_registered,
    e.RegistrationsClosed: _registrations_closed,
    e.LeagueStarted: _league_started,
    e.RoundDrawn: _round_drawn,
    e.RoundAnnounced: _round_announced,
    e.MatchAssigned: _match_assigned,
    e.ResultRecorded: _result_recorded,
    e.MatchForfeited: _match_forfeited,
    e.AttemptVoided: _attempt_voided,
    e.MatchHeld: _match_held,
    e.RefereeLost: _referee_lost,
    e.RefereeReturned: _referee_returned,
    e.FailuresCounted: _failures_counted,
    e.PlayerSuspended: _player_suspended,
    e.PlayerReturned: _player_returned,
    e.RegistrationRefused: lambda *_: iter(()),
    e.FormLearned: _form_learned,
    e.RulesBroken: _rules_broken,
    e.RoundCompleted: _round_completed,
    e.LeagueCompleted: _league_completed,
    e.LeaguePaused: _paused_or_resumed,
    e.SettingsChanged: _settings_changed,
    e.PlayerReadmitted: _player_readmitted,
    e.LeagueResumed: _paused_or_resumed,
    e.PlayerWithdrawn: _player_left,
    e.PlayerDisqualified: _player_left,
    e.MatchReplayed: _match_replayed,
    e.ResultCorrected: _result_corrected,
}
