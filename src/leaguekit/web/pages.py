"""The pages of the API about the league and its agents: one function for each, from the projection.

A list that grows with the league is paged by ``offset`` and ``limit``. Players are in the order of ranks.
"""

from __future__ import annotations

from itertools import islice

from msgspec import structs

from leaguekit.league.analysis.figures import Figures, mark, matches_of, points_after_rounds
from leaguekit.league.pairings import points_before
from leaguekit.league.problems import find_problems
from leaguekit.league.records import Match, Player, Referee, agent_order
from leaguekit.league.state import League
from leaguekit.protocol.ids import match_numbers
from leaguekit.protocol.messages import MoveOrigins, RequestCounts
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.tokens import redact
from leaguekit.web import page_types as t
from leaguekit.web.api_types import AgentName, StandingRow
from leaguekit.web.evidence_counts import BOUNDS, EvidenceCounts, answer_times, merge_histograms
from leaguekit.web.projection import Projection
from leaguekit.web.rows import agent_name, agent_row, match_row, move_counts, problem_row, refused_row

MAX_ROWS = 100
MAX_ROUNDS = 500
MAX_MATCHES = 200
# The matches of an agent that are still to come.
MAX_TO_COME = 20


class NotFound(Exception):
    """The requested page does not exist; the text says which ones do."""


def league_page(projection: Projection) -> t.LeaguePage:
    settings = projection.league.settings
    return t.LeaguePage(
        seq=projection.number,
        league=projection.league_view(),
        tie_breaks=["points", *settings.tie_breaks, *([] if "lot" in settings.tie_breaks else ["id"])],
        schedule=settings.rounds,
        format=settings.format_text,
        advancement=settings.advancement,
        end_reason=projection.league.end_reason,
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


def standings_page(projection: Projection, offset: int, limit: int) -> t.StandingsPage:
    rows = projection.standings(offset, limit)
    return t.StandingsPage(seq=projection.number, total=len(projection.league.table.rows), offset=offset, rows=rows)


def rounds_page(projection: Projection, offset: int, limit: int) -> t.RoundsPage:
    rounds = projection.league.rounds
    rows = [_round_row(projection, round_.id) for round_ in rounds[offset : offset + limit]]
    return t.RoundsPage(seq=projection.number, total=len(rounds), offset=offset, rounds=rows)


def round_page(projection: Projection, round_id: int, offset: int, limit: int) -> t.RoundPage:
    state = projection.league
    if not 1 <= round_id <= len(state.rounds):
        there_are = f"there are 1 to {len(state.rounds)}" if state.rounds else "there is no schedule yet"
        raise NotFound(f"There is no round {round_id}; {there_are}.")
    names = state.rounds[round_id - 1].matches
    round_ = state.rounds[round_id - 1]
    rests = state.idle_players(round_)
    shown = [state.matches[name] for name in names[offset : offset + limit]]
    points = points_before(state, round_id) if state.draws_rounds else {}
    named = [*(player for match in shown for player in match.players), *rests[:MAX_ROWS]]
    return t.RoundPage(
        seq=projection.number,
        round=_round_row(projection, round_id),
        rests=[agent_name(state, name) for name in rests[:MAX_ROWS]],
        total=len(names),
        offset=offset,
        matches=[match_row(state, match) for match in shown],
        byes=[agent_name(state, name) for name in round_.byes[:MAX_ROWS]],
        points={player: points[player] for player in named} if state.draws_rounds else {},
    )


def _round_row(projection: Projection, round_id: int) -> t.RoundRow:
    round_ = projection.league.rounds[round_id - 1]
    return t.RoundRow(
        round_id=round_.id,
        matches=len(round_.matches),
        played=len(round_.matches) - round_.remaining,
        wins=round_.wins,
        draws=round_.draws,
        technical_losses=round_.technical_losses,
        completed=round_.completed,
        announced_at=projection.announced_at.get(round_.id),
        label=round_.label,
        byes=round_.byes,
    )


def crosstable_page(projection: Projection, offset: int, limit: int, columns_offset: int) -> t.CrossTable:
    state = projection.league
    rows = [
        t.RankedAgent(id=row.player_id, name=row.display_name, shown_rank=row.shown_rank)
        for row in projection.placed_rows()[offset : offset + limit]
    ]
    columns = _ranked(state, columns_offset, limit)
    column_of = {one.id: place for place, one in enumerate(columns)}
    cells: list[list[t.Cell]] = []
    for row in rows:
        met = ((match, column_of.get(match.opponent_of(row.id))) for match in matches_of(state, row.id))
        cells.append(
            [
                t.Cell(column=column, match_id=match.id, mark=mark(match, row.id) if match.has_ended else None)
                for match, column in met
                if column is not None
            ]
        )
    return t.CrossTable(
        seq=projection.number,
        total=len(state.table.rows),
        offset=offset,
        columns_offset=columns_offset,
        rows=rows,
        columns=columns,
        cells=cells,
    )


def points_page(projection: Projection, offset: int, limit: int) -> t.PointsPage:
    state = projection.league
    return t.PointsPage(
        seq=projection.number,
        total=len(state.table.rows),
        offset=offset,
        rounds=state.current_round,
        players=[
            t.PointsRow(id=one.id, name=one.name, points=points_after_rounds(state, one.id))
            for one in _ranked(state, offset, limit)
        ],
    )


def figures_page(number: int, figures: Figures) -> t.FiguresPage:
    """The figures of all players."""
    return t.FiguresPage(
        seq=number,
        sentences=figures.sentences,
        champions_chance=figures.champions_chance,
        alike_chance=None if figures.equality is None else figures.equality.chance,
        certainty=figures.certainty,
        total=len(figures.lines),
        offset=0,
        players=[
            t.RatingRow(
                rank=line.rank,
                id=line.player_id,
                name=line.display_name,
                points=line.points,
                rating=line.rating,
                low=line.rating_low,
                high=line.rating_high,
                matches=line.rated_matches,
                own_rate=line.own_rate,
                illegal_rate=line.illegal_rate,
            )
            for line in figures.lines
        ],
    )


def operations_page(projection: Projection) -> t.NewsPage:
    return t.NewsPage(seq=projection.number, after=0, news=list(projection.operations))


def times_page(projection: Projection, offset: int, limit: int) -> t.TimesPage:
    evidence = projection.evidence_counts
    return t.TimesPage(
        seq=projection.number,
        bounds=list(BOUNDS),
        limit=projection.league.settings.choice_seconds,
        all=answer_times(merge_histograms([counts.times for counts in evidence.values()])),
        total=len(projection.league.table.rows),
        offset=offset,
        players=[
            t.AnswerTimesRow(id=one.id, name=one.name, times=answer_times(evidence[one.id].times))
            for one in _ranked(projection.league, offset, limit)
        ],
    )


def agents_page(projection: Projection, offset: int, limit: int) -> t.AgentsPage:
    state = projection.league
    everybody: list[Player | Referee] = sorted(state.referees.values(), key=agent_order)
    everybody += sorted(state.players.values(), key=agent_order)
    problems = find_problems(state)
    return t.AgentsPage(
        seq=projection.number,
        total=len(everybody),
        offset=offset,
        agents=[agent_row(agent) for agent in everybody[offset : offset + limit]],
        problems=[problem_row(one) for one in problems.agents[:MAX_ROWS]],
        refused=[refused_row(one) for one in problems.refused[:MAX_ROWS]],
        moves={
            agent.id: move_counts(state.move_origins[agent.id])
            for agent in everybody[offset : offset + limit]
            if agent.id in state.move_origins
        },
    )


def agent_page(projection: Projection, agent_id: str, offset: int, limit: int) -> t.AgentPage:
    state = projection.league
    agent = state.agent(agent_id)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id[:50]} in this league; /api/agents lists them.")
    is_player = isinstance(agent, Player)
    evidence = projection.evidence_counts[agent_id] if is_player else EvidenceCounts()
    requests = state.requests.get(agent_id, RequestCounts())
    played, to_come = _ended_and_to_come(state, agent)
    violations = _violations(state, agent_id)
    return t.AgentPage(
        seq=projection.number,
        agent=agent_row(agent),
        version=agent.meta.version or None,
        registered_at=agent.registered.at,
        out_reason=agent.out_reason or None if isinstance(agent, Player) else None,
        record=_record(projection, agent_id),
        counts=t.Counts(asked=requests.asked, **structs.asdict(requests), missed=evidence.missed)
        if is_player
        else None,
        moves=None if (origins := state.move_origins.get(agent_id)) is None else move_counts(origins),
        times=answer_times(evidence.times) if is_player else None,
        times_bounds=list(BOUNDS),
        errors=evidence.error_rows(),
        violations=violations,
        to_fix=[*_moves_to_fix(origins), *_to_fix(agent, evidence, violations)],
        total_to_come=len(to_come),
        to_come=[match_row(state, match) for match in to_come[:MAX_TO_COME]],
        total_played=len(played),
        offset=offset,
        played=[match_row(state, match) for match in played[offset : offset + limit]],
    )


def _record(projection: Projection, agent_id: str) -> StandingRow | None:
    row = projection.league.table.standings().get(agent_id)
    return None if row is None else projection.standings(row.rank - 1, 1)[0]


def _ended_and_to_come(state: League, agent: Player | Referee) -> tuple[list[Match], list[Match]]:
    """The matches of an agent that have ended, the latest first, and those that have not."""
    if isinstance(agent, Player):
        to_come = [state.matches[name] for name in agent.unplayed]
        matches = matches_of(state, agent.id)
    else:
        to_come = [state.matches[name] for name in agent.assigned_matches]
        matches = [match for match in state.matches.values() if match.referee_id == agent.id]
    ended = [match for match in matches if match.has_ended]
    return sorted(ended, key=lambda match: match_numbers(match.id), reverse=True), to_come


def _violations(state: League, agent_id: str) -> list[t.ViolationRow]:
    return [
        t.ViolationRow(
            rule=rule,
            count=breach.count,
            came=remove_addresses(redact(breach.came)),
            expected=remove_addresses(redact(breach.expected)),
            first_at=breach.first_at,
        )
        for rule, breach in state.broken_rules.get(agent_id, {}).items()
    ]


def _moves_to_fix(origins: MoveOrigins | None) -> list[str]:
    if origins is None or not origins.replaced:
        return []
    reason = move_counts(origins).reason
    why = f": {reason}" if reason else "."
    return [
        f"{origins.replaced} of {origins.total} moves were replaced by other legal moves, by its own statement{why}"
    ]


def _to_fix(agent: Player | Referee, evidence: EvidenceCounts, violations: list[t.ViolationRow]) -> list[str]:
    """Advice for the author of an agent, the most urgent first."""
    advice = []
    if isinstance(agent, Referee) and agent.lost:
        advice.append("It no longer answers: start it again.")
    if isinstance(agent, Player) and agent.state == "SUSPENDED":
        advice.append(
            "It is suspended, because it left five calls in a row unanswered: start its server again at the same "
            "contact_endpoint. The next answer brings it back."
        )
    if evidence.broken_since is not None:
        advice.append("Its latest match had wrong answers in it; they cost a technical loss if none is right in time.")
    advice += [f"{row.meaning} ({row.code}, {_times(row.count)}) {row.remedy}" for row in evidence.error_rows()]
    if evidence.missed:
        notices = "1 notice" if evidence.missed == 1 else f"{evidence.missed} notices"
        advice.append(f"It left {notices} of the manager unanswered: acknowledge every message.")
    advice += [f"{one.came}; expected {one.expected} ({one.rule}, {_times(one.count)})" for one in violations]
    return advice


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _ranked(state: League, offset: int, limit: int) -> list[AgentName]:
    return [agent_name(state, name) for name in islice(state.table.standings(), offset, offset + limit)]
