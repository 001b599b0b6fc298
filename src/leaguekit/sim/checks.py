"""What must hold after every simulated league, whatever went wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator

from leaguekit.league import events as e
from leaguekit.league.audit import Audit
from leaguekit.league.state import League, fold
from leaguekit.protocol.ids import match_conversation
from leaguekit.sim.faults import Kinds
from leaguekit.sim.outcome import Cast, Outcome, Told


def violations(outcome: Outcome, cast: Cast, faults: Kinds = "all") -> list[str]:
    """Everything that is wrong with what came of a league; nothing, if all is well."""
    events = [e.decode(text) for text in outcome.events]
    if not events:
        return [*outcome.faults, "nothing was written to the log"]
    league = fold(events)
    # Where nothing but hosts failed, no player is at fault.
    blamed = _blamed(events) if faults in ("none", "outage") else ()
    return [*outcome.faults, *_course(league, cast), *_audited(outcome), *_told(events, outcome.told), *blamed]


def _course(league: League, cast: Cast) -> Iterator[str]:
    if league.state != "LEAGUE_COMPLETED":
        yield f"the league has not ended: it is in {league.state}, round {league.current_round}"
    matches = cast.players * (cast.players - 1) // 2
    if league.state not in ("WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE") and len(league.matches) != matches:
        yield f"{cast.players} players have {matches} matches, but the schedule has {len(league.matches)}"
    if missing := [match.id for match in league.matches.values() if match.ended_at is None]:
        yield f"these have no result: {', '.join(missing)}"


def _audited(outcome: Outcome) -> Iterator[str]:
    """What the audit finds in the log: each match counted once, as ruled, and the table as its matches make it."""
    audit = Audit()
    for number, text in enumerate(outcome.events, 1):
        event = audit.take(number, text)
        kept = outcome.kept.get(f"transcript/{event.match_id}") if isinstance(event, e.ResultRecorded) else None
        if kept is not None and isinstance(event, e.ResultRecorded):
            audit.transcript(event, kept)
    yield from (str(finding) for finding in audit.close() if not finding.is_warning)


def _blamed(events: list[e.Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, e.ResultRecorded) and event.result.details.status == "TECHNICAL_LOSS":
            yield f"{event.match_id} was lost ({event.result.details.ruling}), and only hosts were at fault"
        elif isinstance(event, e.MatchForfeited):
            yield f"{event.match_id} was lost ({event.ruling}), and only hosts were at fault"


def _told(events: list[e.Event], told: list[Told]) -> Iterator[str]:
    """What players were told of a match is what was recorded, unless that attempt was void."""
    ended: dict[str, e.ResultRecorded | None] = {}
    for event in events:
        if isinstance(event, e.ResultRecorded):
            ended[match_conversation(event.match_id, event.attempt)] = event
        elif isinstance(event, e.AttemptVoided):
            ended[match_conversation(event.match_id, event.attempt)] = None
    for one in told:
        over = one.over
        if over.conversation_id not in ended:
            yield f"{one.player} was told the end of {over.conversation_id}, which neither ended nor was void"
            continue
        recorded = ended[over.conversation_id]
        if recorded is None:
            continue
        heard, details = over.game_result, recorded.result.details
        # The nonce too: a match that was told and then played again would have another.
        pairs = {
            "winner": (heard.winner_player_id or None, recorded.result.winner),
            "status": (heard.status, details.status),
            "choices": (heard.choices, details.choices),
            "number": (heard.drawn_number or None, details.drawn_number or None),
            "nonce": (heard.draw_nonce or None, details.draw_nonce or None),
        }
        for what, (said, written) in pairs.items():
            if said != written:
                yield f"{one.player} was told the {what} {said} of {over.conversation_id}, and {written} was recorded"
