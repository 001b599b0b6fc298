"""Commands for matches in play: results, void attempts, lost referees, and players that do not answer."""

from __future__ import annotations

from collections.abc import Container, Sequence

from msgspec import UNSET, structs

from leaguekit.games.base import Moves
from leaguekit.league import events as e
from leaguekit.league.commands.rounds import completion_events
from leaguekit.league.commands.rule_breaches import FORMS, learn_form, note_broken_rules
from leaguekit.league.outcomes import judge
from leaguekit.league.records import Match, failures_after
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import ResultStatus
from leaguekit.protocol.messages import MatchResult, MatchResultReport, ResultDetails

# A player is suspended after this number of consecutive unanswered calls.
MAX_FAILURES = 5
# A match waits for the operator after this number of void attempts.
MAX_VOIDS = 3

# The statuses that are possible, by whether there is a winner, and by the points of winner and loser (or of both).
_STATUSES: dict[tuple[bool, tuple[int, int]], tuple[ResultStatus, ...]] = {
    (True, (3, 0)): ("WIN", "TECHNICAL_LOSS"),
    (False, (1, 1)): ("DRAW",),
    (False, (0, 0)): ("TECHNICAL_LOSS",),
}


def record_result(
    league: League,
    report: MatchResultReport,
    referee_id: str,
    at: str,
    *,
    misunderstood: Container[str] = (),
    posted: Sequence[Moves] | None = None,
) -> list[e.Event]:
    """Count a referee's report.

    Raises ProtocolError unless the report is for an attempt that the referee is running, and is consistent with itself
    and with the rules. ``misunderstood`` are the players that rejected messages in the form that is known for them.
    ``posted`` is the record of a match whose report has only its SHA-256. Without it the report can come again later.
    """
    _check_league(league, report.league_id)
    attempt = None if report.attempt is UNSET else report.attempt
    match = _match_in_play(league, report.match_id, attempt, referee_id)
    if (report.round_id, report.game_type) != (match.round_id, league.settings.game_type):
        raise ProtocolError("E056", f"{match.id} is a match of {league.settings.game_type} in round {match.round_id}.")
    result = validate_result(match, report.result)
    about_players = _events_about_players(league, match, result.details, at, misunderstood)
    result.details.broken_rules = result.details.forms = UNSET
    doubts = [
        f"{referee_id} {doubt.removeprefix('the referee ')}" for doubt in _check_by_rules(league, match, result, posted)
    ]
    return [
        e.ResultRecorded(at=at, match_id=match.id, attempt=match.attempt, referee_id=referee_id, result=result),
        *(e.ResultFlagged(at=at, match_id=match.id, referee_id=referee_id, reason=doubt) for doubt in doubts),
        *_suspensions_and_returns(league, match, result.details, at),
        *about_players,
        *completion_events(league, league.rounds[league.current_round - 1], [match], at),
    ]


def flag_second_report(league: League, report: MatchResultReport, referee_id: str, at: str) -> list[e.Event]:
    """Flag a second report if it differs from the first. The second report never counts."""
    match = league.matches[report.match_id]
    reason = f"{referee_id} reported it a second time, and differently"
    is_flagged = reason in league.flags.get(match.id, ())
    first = match.result if match.reported else None
    if is_flagged or first is None or _comparable(report.result) == _comparable(first):
        return []
    return [e.ResultFlagged(at=at, match_id=match.id, referee_id=referee_id, reason=reason, reported=report.result)]


def void_attempt(
    league: League,
    match_id: str,
    attempt: int | None,
    reason: str,
    at: str,
    *,
    referee_id: str | None = None,
    outage: bool = False,
) -> list[e.Event]:
    """Void an attempt. After the third void attempt the match waits for the operator; outages do not count.

    ``referee_id`` is the referee that gives the attempt up; None if the manager decides. No attempt means the latest.
    """
    match = _match_in_play(league, match_id, attempt, referee_id)
    if outage:
        return [e.AttemptVoided(at=at, match_id=match.id, attempt=match.attempt, reason=reason, outage=True)]
    return _voided(match, reason, at)


def forfeit_unreachable(
    league: League, match_id: str, attempt: int, losers: list[str], at: str, *, referee_id: str
) -> list[e.Event]:
    """Forfeit a match because neither its referee nor the manager can call the losers."""
    match = _match_in_play(league, match_id, attempt, referee_id)
    reason = f"neither {referee_id} nor the manager can call {' and '.join(losers)}"
    lost = e.MatchForfeited(at=at, match_id=match.id, losers=losers, ruling="UNREACHABLE", reason=reason)
    return [lost, *completion_events(league, league.rounds[league.current_round - 1], [match], at)]


def referee_lost(league: League, referee_id: str, reason: str, at: str) -> list[e.Event]:
    """Record that a referee no longer answers, and void its matches. After the league's end nothing happens."""
    referee = league.referees[referee_id]
    if referee.lost or league.state == "LEAGUE_COMPLETED":
        return []
    voided = [event for name in referee.assigned_matches for event in _voided(league.matches[name], reason, at)]
    return [e.RefereeLost(at=at, referee_id=referee_id, reason=reason), *voided]


def referee_returned(league: League, referee_id: str, at: str) -> list[e.Event]:
    """Record that a lost referee answers again."""
    return [e.RefereeReturned(at=at, referee_id=referee_id)] if league.referees[referee_id].lost else []


def note_failures(league: League, agent_id: str, count: int, at: str) -> list[e.Event]:
    """Record that a player did not answer ``count`` more calls. For referees, see ``referee_lost``."""
    player = league.players.get(agent_id)
    if player is None or player.state != "ACTIVE" or not count:
        return []
    in_a_row = player.failures + count
    counted = e.FailuresCounted(at=at, player_id=agent_id, in_a_row=in_a_row)
    return [counted, *([e.PlayerSuspended(at=at, player_id=agent_id)] if in_a_row >= MAX_FAILURES else [])]


def has_missed_calls(league: League, agent_id: str) -> bool:
    """Whether an agent is a player that did not answer the latest calls."""
    player = league.players.get(agent_id)
    return player is not None and (player.state == "SUSPENDED" or (player.state == "ACTIVE" and player.failures > 0))


def note_answer(league: League, agent_id: str, at: str) -> list[e.Event]:
    """Record that an agent answered the manager. Nothing happens unless it had missed calls."""
    if not has_missed_calls(league, agent_id):
        return []
    player, events = league.players[agent_id], list[e.Event]()
    if player.failures:
        events.append(e.FailuresCounted(at=at, player_id=agent_id, in_a_row=0))
    if player.state == "SUSPENDED":
        events.append(e.PlayerReturned(at=at, player_id=agent_id))
    return events


def validate_result(match: Match, result: MatchResult) -> MatchResult:
    """The result with its status filled in. Raises E056 unless players, winner, score and status are consistent."""
    players = set(match.players)
    details = result.details
    named = {*details.choices, *(details.payoffs or ()), *(details.failures or ()), *(details.move_origins or ())}
    if set(result.score) != players or not named <= players:
        raise ProtocolError("E056", f"{match.id} is between {match.a} and {match.b}, and nobody else.")
    first = match.a if result.winner is None else result.winner
    if first not in players:
        raise ProtocolError("E056", f"{first} cannot win {match.id}, a match between {match.a} and {match.b}.")
    points = (result.score[first], result.score[match.opponent_of(first)])
    possible = _STATUSES.get((result.winner is not None, points), ())
    status = details.status
    if status is UNSET and possible:
        chose = all(details.choices.get(player) is not None for player in match.players)
        status = possible[0 if chose else -1]
    if status not in possible:
        raise ProtocolError(
            "E056", f"The winner {result.winner}, the score {points[0]}–{points[1]} and {status} do not go together."
        )
    return structs.replace(result, details=structs.replace(details, status=status))


def _check_by_rules(league: League, match: Match, result: MatchResult, posted: Sequence[Moves] | None) -> list[str]:
    """Play a match again: what the operator should know of its result. Raises E056 if the rules do not give it."""
    if result.details.record_sha256 is not UNSET and posted is None:
        raise ProtocolError("E061", f"The record of {match.id} was not posted, or is another one.")
    seed = bytes.fromhex(league.settings.seed_hex or "")
    has_seed = not league.referees[match.referee_id or ""].shows_own_token
    judgement = judge(league.settings, match, match.attempt, result, seed, has_seed=has_seed, posted=posted)
    if judgement.faults:
        faults = "; ".join(f"expected {fault.expected}, found {fault.found}" for fault in judgement.faults)
        raise ProtocolError("E056", f"{match.id} cannot have ended so: {faults}.")
    return judgement.doubts


def _events_about_players(
    league: League, match: Match, details: ResultDetails, at: str, misunderstood: Container[str]
) -> list[e.Event]:
    """Events about the players that a report contains: message forms and rule breaches. They do not affect results.

    A report replaces the known form of a player only if the player itself has rejected that form, because other
    referees use the form too.
    """
    events: list[e.Event] = []
    for name in match.players:
        form = details.forms.get(name) if details.forms else None
        if form in FORMS and (league.players[name].form is None or name in misunderstood):
            events += learn_form(league, name, form, at)
        if details.broken_rules and name in details.broken_rules:
            events += note_broken_rules(league, name, details.broken_rules[name], at)
    return events


def _comparable(result: MatchResult) -> tuple[object, ...]:
    """The parts of a result in which two reports of the same match must agree."""
    details = result.details
    return result.winner, result.score, *map(details.choices.get, sorted(result.score)), details.drawn_number or None


def known_match(league: League, match_id: str) -> Match:
    match = league.matches.get(match_id)
    if match is None:
        raise ProtocolError("E050", f"There is no match {match_id} in this league.")
    return match


def _check_league(league: League, league_id: str) -> None:
    if league_id != league.settings.league_id:
        raise ProtocolError("E053", f"This is the league {league.settings.league_id}.")


def _match_in_play(league: League, match_id: str, attempt: int | None, referee_id: str | None) -> Match:
    """The match of an attempt that a referee is running. Raises ProtocolError if it is not running one."""
    if not league.matches:
        raise ProtocolError("E030", "The league has not started yet; there are no matches.")
    match = league.matches.get(match_id)
    own = match is not None and referee_id in (None, match.referee_id)
    if match is not None and own and match.has_ended:
        data = {"match_id": match_id, "previous_report_time": match.ended_at}
        raise ProtocolError("E054", f"{match_id} ended at {match.ended_at}.", data=data)
    if league.state == "LEAGUE_COMPLETED":
        raise ProtocolError("E031", "The league is over; all its matches have ended.")
    if match is None or not own:
        raise ProtocolError("E050", f"There is no match {match_id} here, or another referee has it.")
    if not match.in_play or attempt not in (None, match.attempt):
        raise ProtocolError("E050", f"That attempt at {match_id} is void.")
    return match


def _voided(match: Match, reason: str, at: str) -> list[e.Event]:
    voided = e.AttemptVoided(at=at, match_id=match.id, attempt=match.attempt, reason=reason)
    return [voided, *([e.MatchHeld(at=at, match_id=match.id)] if match.voids + 1 >= MAX_VOIDS else [])]


def _suspensions_and_returns(league: League, match: Match, details: ResultDetails, at: str) -> list[e.Event]:
    """Suspend players that did not answer too many calls, and end the suspension of players that answered."""
    events: list[e.Event] = []
    for name in match.players:
        player = league.players[name]
        silent = failures_after(player.failures, details, name) >= MAX_FAILURES
        if silent and player.state == "ACTIVE":
            events.append(e.PlayerSuspended(at=at, player_id=name))
        elif not silent and player.state == "SUSPENDED":
            events.append(e.PlayerReturned(at=at, player_id=name))
    return events
