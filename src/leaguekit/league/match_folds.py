"""What events about rounds and matches change in the state of a league: draws, assignments, results, corrections."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from leaguekit.league import events as e
from leaguekit.league.evidence import count_requests, read_evidence
from leaguekit.league.records import Match, Round, failures_after
from leaguekit.league.standings import is_technical
from leaguekit.league.state import League
from leaguekit.protocol.ids import match_id, match_numbers
from leaguekit.protocol.messages import MatchResult, MoveOrigins, RequestCounts, ResultDetails


def round_drawn(league: League, event: e.RoundDrawn) -> None:
    round_ = add_round(league, event.pairs)
    round_.label, round_.engine = event.label, event.engine
    round_.byes = [league.players[name].id for name in event.byes]
    rank_players(league, event.ranking)


def add_round(league: League, pairs: Iterable[tuple[str, str]]) -> Round:
    number = len(league.rounds) + 1
    matches = [
        Match(id=match_id(number, order), round_id=number, a=league.players[a].id, b=league.players[b].id)
        for order, (a, b) in enumerate(pairs, start=1)
    ]
    round_ = Round(id=number, matches=[match.id for match in matches], remaining=len(matches))
    league.rounds.append(round_)
    for match in matches:
        league.matches[match.id] = match
        for player in match.players:
            league.players[player].unplayed[match.id] = None
    league.outstanding += len(matches)
    return round_


def rank_players(league: League, ranking: list[str]) -> None:
    league.table.ranking = [league.players[name].id for name in ranking]


def round_announced(league: League, event: e.RoundAnnounced) -> None:
    league.current_round = event.round_id
    for name, referee in zip(league.rounds[event.round_id - 1].matches, event.referees, strict=True):
        league.matches[name].planned = league.referees[referee].id
        league.waiting[name] = None


def match_assigned(league: League, event: e.MatchAssigned) -> None:
    match = league.matches[event.match_id]
    referee = league.referees[event.referee_id]
    match.referee_id, match.attempt, match.in_play = referee.id, event.attempt, True
    match.assigned_at = sys.intern(event.at)
    del league.waiting[match.id]
    referee.assigned_matches[match.id] = None
    for player in match.players:
        league.players[player].playing = match.id


def result_recorded(league: League, event: e.ResultRecorded) -> None:
    match = league.matches[event.match_id]
    _end_match(league, match, event.result, event.at)
    match.reported = True
    for name in match.players:
        player = league.players[name]
        failures = failures_after(player.failures, event.result.details, name)
        if failures != player.failures:
            player.count_failures(failures, event.at)
    for name, origins in (event.result.details.move_origins or {}).items():
        league.move_origins.setdefault(league.players[name].id, MoveOrigins()).add(origins)
    for name, evidence in read_evidence(event.result.details).items():
        count_requests(league.requests.setdefault(league.players[name].id, RequestCounts()), evidence)
        league.players[name].left_move_unanswered = evidence.left_move_unanswered


def result_flagged(league: League, event: e.ResultFlagged) -> None:
    league.flags.setdefault(event.match_id, []).append(event.reason)


def match_forfeited(league: League, event: e.MatchForfeited) -> None:
    match = league.matches[event.match_id]
    winner = None if len(event.losers) == 2 else match.opponent_of(event.losers[0])
    _end_match(league, match, technical_loss(match, winner, event.ruling), event.at)


def attempt_voided(league: League, event: e.AttemptVoided) -> None:
    match = league.matches[event.match_id]
    match.voids += not event.outage
    _release_match(league, match)
    league.waiting[match.id] = None


def match_held(league: League, event: e.MatchHeld) -> None:
    league.matches[event.match_id].held = True
    del league.waiting[event.match_id]
    league.held[event.match_id] = None


def round_completed(league: League, event: e.RoundCompleted) -> None:
    round_ = league.rounds[event.round_id - 1]
    round_.completed = True
    if league.draws_rounds:
        league.table.count_without_game(league.idle_players(round_), round_.byes)


def match_replayed(league: League, event: e.MatchReplayed) -> None:
    match = league.matches[event.match_id]
    if (result := match.result) is not None:
        _count(league, match, result, undo=True)
        match.outcome = match.ended_at = None
        league.outstanding += 1
        league.rounds[match.round_id - 1].remaining += 1
        for name in match.players:
            unplayed = league.players[name].unplayed
            league.players[name].unplayed = dict.fromkeys(sorted([*unplayed, match.id], key=match_numbers))
    league.held.pop(match.id, None)
    league.flags.pop(match.id, None)
    match.voids, match.held, match.reported = 0, False, False
    league.waiting[match.id] = None


def result_corrected(league: League, event: e.ResultCorrected) -> None:
    match = league.matches[event.match_id]
    league.flags.pop(match.id, None)
    match.reported = False
    if (before := match.result) is None:
        _end_match(league, match, event.result, event.at)
    else:
        _count(league, match, before, undo=True)
        match.end(event.result, match.ended_at or event.at)
        _count(league, match, event.result)


def _release_match(league: League, match: Match) -> None:
    if match.in_play:
        match.in_play = False
        league.referees[match.referee_id or ""].assigned_matches.pop(match.id)
        for player in match.players:
            league.players[player].playing = None


def _end_match(league: League, match: Match, result: MatchResult, at: str) -> None:
    _release_match(league, match)
    league.waiting.pop(match.id, None)
    league.held.pop(match.id, None)
    match.held = False
    match.end(result, at)
    _count(league, match, result)
    league.outstanding -= 1
    league.rounds[match.round_id - 1].remaining -= 1
    for player in match.players:
        del league.players[player].unplayed[match.id]


def _count(league: League, match: Match, result: MatchResult, *, undo: bool = False) -> None:
    step = -1 if undo else 1
    league.table.count(result, undo=undo)
    round_ = league.rounds[match.round_id - 1]
    if is_technical(result):
        round_.technical_losses += step
    elif result.winner is None:
        round_.draws += step
    else:
        round_.wins += step


def technical_loss(match: Match, winner: str | None, ruling: str) -> MatchResult:
    """The result of a match that was decided without play: 3–0 for the winner, or 0–0 without one."""
    return MatchResult(
        winner=winner,
        score={player: 3 if player == winner else 0 for player in match.players},
        details=ResultDetails(
            choices=dict.fromkeys(match.players),
            drawn_number=None,
            status="TECHNICAL_LOSS",
            ruling=ruling,
        ),
    )
