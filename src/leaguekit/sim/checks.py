"""Checks of what must be true after every simulated league, whatever faults it had."""

from __future__ import annotations

from collections.abc import Iterator

from leaguekit.league import events as e
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.commands.rounds import match_count
from leaguekit.league.fold import fold
from leaguekit.league.outcomes import record_name
from leaguekit.league.state import League
from leaguekit.manager.rounds.pairing_engine import Py4Swiss, installed_version
from leaguekit.protocol.ids import match_conversation
from leaguekit.sim.faults import FaultKind
from leaguekit.sim.outcome import LeagueSetup, Outcome, ReceivedGameOver


def find_violations(outcome: Outcome, setup: LeagueSetup, faults: FaultKind = "all") -> list[str]:
    """Everything that is wrong with the outcome of a league, as sentences."""
    events = [e.decode(text) for text in outcome.events]
    if not events:
        return [*outcome.violations, "nothing was written to the log"]
    return [
        *outcome.violations,
        *_check_completeness(fold(events), setup),
        *_check_log(outcome),
        *_check_game_overs(events, outcome.game_overs),
        # If only hosts failed, no player is at fault.
        *(_check_no_losses(events) if faults in ("none", "outage", "standby") else ()),
    ]


def _check_completeness(league: League, setup: LeagueSetup) -> Iterator[str]:
    if league.state != "LEAGUE_COMPLETED":
        yield f"the league has not ended: it is in {league.state}, round {league.current_round}"
    has_schedule = league.state not in ("WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE")
    wanted = match_count(league.settings, setup.players)
    if has_schedule and wanted and len(league.matches) != wanted:
        yield f"{setup.players} players have {wanted} matches, but the schedule has {len(league.matches)}"
    if missing := [match.id for match in league.matches.values() if match.ended_at is None]:
        yield f"these have no result: {', '.join(missing)}"


def _check_log(outcome: Outcome) -> Iterator[str]:
    """Audit the log: each match counts once and as it was ruled, and the table follows from the matches."""
    audit = Audit(Py4Swiss() if installed_version() else None)
    for number, text in enumerate(outcome.events, 1):
        event = audit.take(number, text)
        if isinstance(event, e.ResultRecorded):
            if event.result.details.record_sha256:
                audit.record(event, outcome.documents.get(record_name(event.match_id, event.attempt)))
            transcript = outcome.documents.get(f"transcript/{event.match_id}")
            if transcript is not None:
                audit.transcript(event, transcript)
    yield from (str(finding) for finding in audit.close() if not finding.is_warning)


def _check_no_losses(events: list[e.Event]) -> Iterator[str]:
    """Check that no match ended in a technical loss."""
    for event in events:
        if isinstance(event, e.ResultRecorded) and event.result.details.status == "TECHNICAL_LOSS":
            yield f"{event.match_id} was lost ({event.result.details.ruling}), and only hosts were at fault"
        elif isinstance(event, e.MatchForfeited):
            yield f"{event.match_id} was lost ({event.ruling}), and only hosts were at fault"


def _check_game_overs(events: list[e.Event], game_overs: list[ReceivedGameOver]) -> Iterator[str]:
    """Check that each GAME_OVER that a player received agrees with the recorded result, unless the attempt was void."""
    ended: dict[str, e.ResultRecorded | None] = {}
    for event in events:
        if isinstance(event, e.ResultRecorded):
            ended[match_conversation(event.match_id, event.attempt)] = event
        elif isinstance(event, e.AttemptVoided):
            ended[match_conversation(event.match_id, event.attempt)] = None
    for player, message in game_overs:
        conversation = message.conversation_id
        if conversation not in ended:
            yield f"{player} received the end of {conversation}, which neither ended nor was void"
            continue
        recorded = ended[conversation]
        if recorded is None:
            continue
        received, details = message.game_result, recorded.result.details
        # The nonce too: if the match had been played again after this message, it would have another nonce.
        pairs = {
            "winner": (received.winner_player_id or None, recorded.result.winner),
            "status": (received.status, details.status),
            "choices": (received.choices, details.choices),
            "number": (received.drawn_number or None, details.drawn_number or None),
            "nonce": (received.draw_nonce or None, details.draw_nonce or None),
            "seed": (received.match_seed, details.match_seed),
            "payoffs": (received.payoffs, details.payoffs),
        }
        for what, (sent, expected) in pairs.items():
            if sent != expected:
                yield f"{player} received the {what} {sent} of {conversation}, and {expected} was recorded"
