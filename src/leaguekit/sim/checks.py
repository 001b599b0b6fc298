"""What must hold after every simulated league, whatever went wrong on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import UNSET

from leaguekit.league import events as e
from leaguekit.league.standings import is_technical
from leaguekit.league.state import League, fold
from leaguekit.protocol.ids import match_conversation
from leaguekit.protocol.messages import MatchResult
from leaguekit.sim.house import Cast, Outcome, Told

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
        match event:
            case e.ResultRecorded():
                if counted.get(event.match_id) is not None:
                    yield f"{event.match_id} was counted twice"
                counted[event.match_id] = event.result
            case e.MatchReplayed():
                counted[event.match_id] = None
    sums: Counter[tuple[str, str]] = Counter()
    for match in league.matches.values():
        result = counted.get(match.id)
        if result is None:
            yield f"{match.id} has no result"
            continue
        points = tuple(sorted(result.score.values(), reverse=True))
        if points not in _POINTS[str(result.details.status)] or set(result.score) != set(match.players):
            yield f"{match.id} is a {result.details.status} with the score {result.score}"
        if (result.winner is None) != (len(set(points)) == 1) or (result.winner and result.score[result.winner] != 3):
            yield f"{match.id} has the winner {result.winner} with the score {result.score}"
        for player in match.players:
            outcome = "draws" if not is_technical(result) and result.winner is None else "losses"
            sums[player, "wins" if player == result.winner else outcome] += 1
            sums[player, "points"] += result.score[player]
    for player, row in league.table.rows.items():
        for what in ("wins", "draws", "losses", "points"):
            if getattr(row, what) != sums[player, what]:
                yield f"the table gives {player} {getattr(row, what)} {what}, its matches {sums[player, what]}"


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
        result, details = over.game_result, recorded.result.details
        heard = (result.winner_player_id or None, result.status, dict(result.choices), result.drawn_number or None)
        number = None if details.drawn_number is UNSET else details.drawn_number
        wrote = (recorded.result.winner, details.status, dict(details.choices), number)
        if heard != wrote:
            yield f"{one.player} was told {heard} of {over.conversation_id}, and {wrote} was recorded"
