"""What must hold after every simulated league, whatever went wrong on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from leaguekit.league import events as e
from leaguekit.league.records import Match
from leaguekit.league.state import League, fold
from leaguekit.protocol.ids import match_conversation
from leaguekit.protocol.messages import MatchResult
from leaguekit.sim.outcome import Cast, Outcome, Told

_POINTS = {"WIN": ((3, 0),), "DRAW": ((1, 1),), "TECHNICAL_LOSS": ((3, 0), (0, 0))}


def violations(outcome: Outcome, cast: Cast) -> list[str]:
    """Everything that is wrong with what came of a league; nothing, if all is well."""
    events = [e.decode(text) for text in outcome.events]
    if not events:
        return [*outcome.faults, "nothing was written to the log"]
    league = fold(events)
    return [*outcome.faults, *_course(league, cast), *_results(league, events), *_told(events, outcome.told)]


def _course(league: League, cast: Cast) -> Iterator[str]:
    if league.state != "LEAGUE_COMPLETED":
        yield f"the league has not ended: it is in {league.state}, round {league.current_round}"
    matches = cast.players * (cast.players - 1) // 2
    if league.state not in ("WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE") and len(league.matches) != matches:
        yield f"{cast.players} players have {matches} matches, but the schedule has {len(league.matches)}"


def _results(league: League, events: list[e.Event]) -> Iterator[str]:
    """Each match counted once, with the points that its ruling gives; and the table is their sum."""
    counted: dict[str, MatchResult | None] = {}
    for event in events:
        if isinstance(event, e.ResultRecorded):
            if counted.get(event.match_id) is not None:
                yield f"{event.match_id} was counted twice"
            counted[event.match_id] = event.result
        elif isinstance(event, e.MatchReplayed):
            counted[event.match_id] = None
    for match in league.matches.values():
        result = counted.get(match.id)
        if result is None:
            yield f"{match.id} has no result"
        elif _is_odd(match, result):
            yield f"{match.id} is a {result.details.status}, won by {result.winner}, with the score {result.score}"
    yield from _table(league, [result for result in counted.values() if result is not None])


def _table(league: League, results: list[MatchResult]) -> Iterator[str]:
    sums: Counter[tuple[str, str]] = Counter()
    for result in results:
        for player, points in result.score.items():
            otherwise = "draws" if result.details.status == "DRAW" else "losses"
            sums[player, "wins" if player == result.winner else otherwise] += 1
            sums[player, "points"] += points
    for player, row in league.table.rows.items():
        for what in ("wins", "draws", "losses", "points"):
            if getattr(row, what) != sums[player, what]:
                yield f"the table gives {player} {getattr(row, what)} {what}, its matches {sums[player, what]}"


def _is_odd(match: Match, result: MatchResult) -> bool:
    """Whether players, winner, score and ruling do not go together."""
    points = tuple(sorted(result.score.values(), reverse=True))
    if set(result.score) != set(match.players) or points not in _POINTS[str(result.details.status)]:
        return True
    return points != (3, 0) if result.winner else points == (3, 0) or result.details.status == "WIN"


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
