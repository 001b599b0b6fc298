"""What the API answers about the league as a whole and about its agents: one function a page, from the projection.

Whatever grows with the league is paged: ``offset`` and ``limit``, in the order of ranks where players are meant.
"""

from __future__ import annotations

from itertools import islice

from msgspec import structs

from leaguekit.league.figures import Figures, mark, matches_of, points_after_rounds
from leaguekit.league.records import Match, Player, Referee
from leaguekit.league.state import League
from leaguekit.protocol.ids import match_numbers
from leaguekit.protocol.messages import MoveOrigins, RequestCounts
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.tokens import redact
from leaguekit.web import rows
from leaguekit.web.api_types import StandingRow, Who
from leaguekit.web.evidence_counts import BOUNDS, Tally, times_of, together
from leaguekit.web.page_types import (
    AgentPage,
    AgentsPage,
    AnswerTimesRow,
    Cell,
    Counts,
    CrossTable,
    FiguresPage,
    LeaguePage,
    NewsPage,
    PointsPage,
    PointsRow,
    RankedAgent,
    RatingRow,
    RoundPage,
    RoundRow,
    RoundsPage,
    StandingsPage,
    TimesPage,
    ViolationRow,
)
from leaguekit.web.projection import Projection

MAX_ROWS = 100
MAX_ROUNDS = 500
MAX_MATCHES = 200
# Of an agent's matches that are still to come.
NEXT = 20


class NotFound(Exception):
    """What was asked for does not exist; the text says what does."""


def league(shown: Projection) -> LeaguePage:
    settings = shown.league.settings
    return LeaguePage(
        seq=shown.number,
        league=shown.league_view(),
        tie_breaks=["points", *settings.tie_breaks, *([] if "lot" in settings.tie_breaks else ["id"])],
        schedule=settings.rounds,
        profile=settings.profile,
        limits={
            "join_seconds": settings.join_seconds,
            "choice_seconds": settings.choice_seconds,
            "game_over_seconds": settings.game_over_seconds,
            "max_retries": settings.max_retries,
            "retry_seconds": settings.retry_seconds,
        },
        announce_lead=settings.announce_lead,
    )


def standings(shown: Projection, offset: int, limit: int) -> StandingsPage:
    rows = shown.standings(offset, limit)
    return StandingsPage(seq=shown.number, total=len(shown.league.table.rows), offset=offset, rows=rows)


def rounds(shown: Projection, offset: int, limit: int) -> RoundsPage:
    known = shown.league.rounds
    found = [_round(shown, round_.id) for round_ in known[offset : offset + limit]]
    return RoundsPage(seq=shown.number, total=len(known), offset=offset, rounds=found)


def round_(shown: Projection, round_id: int, offset: int, limit: int) -> RoundPage:
    state = shown.league
    if not 1 <= round_id <= len(state.rounds):
        there_are = f"there are 1 to {len(state.rounds)}" if state.rounds else "there is no schedule yet"
        raise NotFound(f"There is no round {round_id}; {there_are}.")
    names = state.rounds[round_id - 1].matches
    plays = {player for name in names for player in state.matches[name].players}
    rests = [name for name in state.table.rows if name not in plays]
    return RoundPage(
        seq=shown.number,
        round=_round(shown, round_id),
        rests=[rows.who(state, name) for name in rests[:MAX_ROWS]],
        total=len(names),
        offset=offset,
        matches=[rows.match_row(state, state.matches[name]) for name in names[offset : offset + limit]],
    )


def _round(shown: Projection, round_id: int) -> RoundRow:
    found = shown.league.rounds[round_id - 1]
    return RoundRow(
        round_id=found.id,
        matches=len(found.matches),
        played=len(found.matches) - found.remaining,
        wins=found.wins,
        draws=found.draws,
        technical_losses=found.technical_losses,
        completed=found.completed,
        announced_at=shown.announced_at.get(found.id),
    )


def crosstable(shown: Projection, offset: int, limit: int, columns_offset: int) -> CrossTable:
    state = shown.league
    rows = [
        RankedAgent(id=row.player_id, name=row.display_name, shown_rank=row.shown_rank)
        for row in shown.placed_rows()[offset : offset + limit]
    ]
    columns = _ranked(state, columns_offset, limit)
    column_of = {one.id: place for place, one in enumerate(columns)}
    cells: list[list[Cell]] = []
    for row in rows:
        met = ((match, column_of.get(match.opponent_of(row.id))) for match in matches_of(state, row.id))
        cells.append(
            [
                Cell(column=column, match_id=match.id, mark=mark(match, row.id) if match.has_ended else None)
                for match, column in met
                if column is not None
            ]
        )
    return CrossTable(
        seq=shown.number,
        total=len(state.table.rows),
        offset=offset,
        columns_offset=columns_offset,
        rows=rows,
        columns=columns,
        cells=cells,
    )


def points(shown: Projection, offset: int, limit: int) -> PointsPage:
    state = shown.league
    return PointsPage(
        seq=shown.number,
        total=len(state.table.rows),
        offset=offset,
        rounds=state.current_round,
        players=[
            PointsRow(id=one.id, name=one.name, points=points_after_rounds(state, one.id))
            for one in _ranked(state, offset, limit)
        ],
    )


def figures(number: int, found: Figures) -> FiguresPage:
    """The figures of all players."""
    return FiguresPage(
        seq=number,
        sentences=found.sentences,
        champions_chance=found.champions_chance,
        alike_chance=None if found.equality is None else found.equality.chance,
        total=len(found.lines),
        offset=0,
        players=[
            RatingRow(
                rank=line.rank,
                id=line.player_id,
                name=line.display_name,
                points=line.points,
                rating=line.rating,
                low=line.rating_low,
                high=line.rating_high,
                matches=line.rated_matches,
            )
            for line in found.lines
        ],
    )


def operations(shown: Projection) -> NewsPage:
    return NewsPage(seq=shown.number, after=0, news=list(shown.operations))


def times(shown: Projection, offset: int, limit: int) -> TimesPage:
    tallies = shown.tallies
    return TimesPage(
        seq=shown.number,
        bounds=list(BOUNDS),
        limit=shown.league.settings.choice_seconds,
        all=times_of(together([tally.times for tally in tallies.values()])),
        total=len(shown.league.table.rows),
        offset=offset,
        players=[
            AnswerTimesRow(id=one.id, name=one.name, times=times_of(tallies.of(one.id).times))
            for one in _ranked(shown.league, offset, limit)
        ],
    )


def agents(shown: Projection, offset: int, limit: int) -> AgentsPage:
    state = shown.league
    everybody: list[Player | Referee] = [*state.referees.values(), *state.players.values()]
    return AgentsPage(
        seq=shown.number,
        total=len(everybody),
        offset=offset,
        agents=[rows.agent_row(agent) for agent in everybody[offset : offset + limit]],
        moves={
            agent.id: rows.moves(state.move_origins[agent.id])
            for agent in everybody[offset : offset + limit]
            if agent.id in state.move_origins
        },
    )


def agent(shown: Projection, agent_id: str, offset: int, limit: int) -> AgentPage:
    state = shown.league
    found = state.agent(agent_id)
    if found is None:
        raise NotFound(f"There is no agent {agent_id[:50]} in this league; /api/agents lists them.")
    is_player = isinstance(found, Player)
    tally = shown.tallies.of(agent_id) if is_player else Tally()
    played, to_come = _matches_of(state, found)
    violations = _violations(state, agent_id)
    return AgentPage(
        seq=shown.number,
        agent=rows.agent_row(found),
        version=found.meta.version or None,
        registered_at=found.registered.at,
        out_reason=found.out_reason or None if isinstance(found, Player) else None,
        record=_record(shown, agent_id),
        counts=_counts(state.requests.get(agent_id, RequestCounts()), tally.missed) if is_player else None,
        moves=None if (origins := state.move_origins.get(agent_id)) is None else rows.moves(origins),
        times=times_of(tally.times) if is_player else None,
        times_bounds=list(BOUNDS),
        errors=tally.error_rows(),
        violations=violations,
        to_fix=[*_moves_to_fix(origins), *_to_fix(found, tally, violations)],
        total_to_come=len(to_come),
        to_come=[rows.match_row(state, match) for match in to_come[:NEXT]],
        total_played=len(played),
        offset=offset,
        played=[rows.match_row(state, match) for match in played[offset : offset + limit]],
    )


def _record(shown: Projection, agent_id: str) -> StandingRow | None:
    row = shown.league.table.standings().get(agent_id)
    return None if row is None else shown.standings(row.rank - 1, 1)[0]


def _matches_of(state: League, found: Player | Referee) -> tuple[list[Match], list[Match]]:
    """Its matches that have ended, the latest first, and those that have not."""
    if isinstance(found, Player):
        to_come = [state.matches[name] for name in found.unplayed]
        mine = matches_of(state, found.id)
    else:
        to_come = [state.matches[name] for name in found.assigned_matches]
        mine = [match for match in state.matches.values() if match.referee_id == found.id]
    ended = [match for match in mine if match.has_ended]
    return sorted(ended, key=lambda match: match_numbers(match.id), reverse=True), to_come


def _violations(state: League, agent_id: str) -> list[ViolationRow]:
    return [
        ViolationRow(
            rule=rule,
            count=breach.count,
            came=remove_addresses(redact(breach.came)),
            expected=remove_addresses(redact(breach.expected)),
            first_at=breach.first_at,
        )
        for rule, breach in state.broken_rules.get(agent_id, {}).items()
    ]


def _counts(requests: RequestCounts, missed: int) -> Counts:
    return Counts(asked=requests.asked, **structs.asdict(requests), missed=missed)


def _moves_to_fix(origins: MoveOrigins | None) -> list[str]:
    if origins is None or not origins.replaced:
        return []
    told = rows.moves(origins)
    why = f": {told.reason}" if told.reason else "."
    return [
        f"{origins.replaced} of {origins.total} moves were replaced by other legal moves, by its own statement{why}"
    ]


def _to_fix(found: Player | Referee, tally: Tally, violations: list[ViolationRow]) -> list[str]:
    """What an agent's author should do."""
    advice = []
    if isinstance(found, Referee) and found.lost:
        advice.append("It no longer answers: start it again.")
    if isinstance(found, Player) and found.state == "SUSPENDED":
        advice.append(
            "It is suspended, because it left five calls in a row unanswered: start its server again at the same "
            "contact_endpoint. The next answer brings it back."
        )
    if tally.broken_since is not None:
        advice.append("Its latest match had wrong answers in it; they cost a technical loss if none is right in time.")
    advice += [f"{line.meaning} ({line.code}, {_times(line.count)}) {line.remedy}" for line in tally.error_rows()]
    if tally.missed:
        notices = "1 notice" if tally.missed == 1 else f"{tally.missed} notices"
        advice.append(f"It left {notices} of the manager unanswered: acknowledge every message.")
    advice += [f"{one.came}; expected {one.expected} ({one.rule}, {_times(one.count)})" for one in violations]
    return advice


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _ranked(state: League, offset: int, limit: int) -> list[Who]:
    return [rows.who(state, name) for name in islice(state.table.standings(), offset, offset + limit)]
