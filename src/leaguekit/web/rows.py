"""Rows of the pages, made from the league's state: standings, matches, agents, and where moves came from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import UNSET, json

from leaguekit.games import find_game
from leaguekit.games.base import Side
from leaguekit.games.pictures import Picture
from leaguekit.games.records import record_from_choices, replay
from leaguekit.league import pairings as places
from leaguekit.league.pairings import Stage
from leaguekit.league.problems import AgentProblems
from leaguekit.league.records import Match, Outcome, Player, Referee, RefusedAgent
from leaguekit.league.standings import WIN_POINTS, PlacedRow
from leaguekit.league.state import League
from leaguekit.match.rulings import RULINGS, Ruling, describe_ruling
from leaguekit.protocol.messages import MatchProgress, MoveOrigins
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.tokens import redact
from leaguekit.web.api_types import (
    AgentListRow,
    AgentName,
    DecidedBy,
    InPlay,
    MatchRow,
    MatchStatus,
    Pairing,
    PairingGame,
    StandingRow,
)
from leaguekit.web.page_types import Moves, ProblemRow, RefusedRow

# A referee may send any position, and every spectator gets it.
MAX_POSITION_BYTES = 1_000


def move_counts(origins: MoveOrigins) -> Moves:
    reason = remove_addresses(redact(origins.reason)) if origins.reason else None
    return Moves(
        own=origins.own, retried=origins.retried, replaced=origins.replaced, illegal=origins.illegal, reason=reason
    )


def agent_name(league: League, agent_id: str) -> AgentName:
    agent = league.agent(agent_id)
    return AgentName(id=agent_id, name=agent_id if agent is None else agent.meta.display_name)


def standing_row(league: League, row: PlacedRow, rank_before: int | None, form: str) -> StandingRow:
    player = league.players[row.player_id]
    return StandingRow(
        rank=row.rank,
        id=row.player_id,
        name=row.display_name,
        played=row.played,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        technical_losses=row.technical_losses or 0,
        points=row.points,
        movement=None if rank_before is None else rank_before - row.rank,
        state=player.state,
        out=player.out,
        shown_rank=row.shown_rank,
        decided_by=row.decided_by,
        head_to_head=row.head_to_head,
        sonneborn_berger=row.sonneborn_berger,
        buchholz=row.buchholz,
        payoff=row.payoff,
        form=form,
    )


def agent_row(agent: Player | Referee) -> AgentListRow:
    row = AgentListRow(id=agent.id, role="referee", name=agent.meta.display_name, state=agent.state)
    if isinstance(agent, Referee):
        row.playing = list(agent.assigned_matches)
    else:
        row.role, row.out = "player", agent.out
        row.playing = [] if agent.playing is None else [agent.playing]
    return row


def problem_row(problems: AgentProblems) -> ProblemRow:
    return ProblemRow(
        id=problems.agent_id,
        name=problems.display_name,
        state=problems.state,
        out=problems.out,
        unreachable_since=problems.unreachable_since,
        sentences=problems.sentences,
    )


def refused_row(refused: RefusedAgent) -> RefusedRow:
    """A refused registration without addresses."""
    name, reason = remove_addresses([refused.display_name, redact(refused.reason)])
    return RefusedRow(role=refused.role, name=name, code=refused.code, reason=reason, at=refused.last_at)


def in_play_row(league: League, match: Match, progress: MatchProgress | None, picture: Picture | None = None) -> InPlay:
    row = InPlay(
        match_id=match.id,
        round_id=match.round_id,
        a=agent_name(league, match.a),
        b=agent_name(league, match.b),
        referee_id=match.referee_id,
        attempt=match.attempt,
        since=match.assigned_at,
        picture=picture,
    )
    if progress is not None:
        row.stage, row.stage_since = progress.stage, progress.entered_at
        row.deadline = None if progress.deadline is UNSET else progress.deadline
        row.try_number, row.max_tries = progress.try_number or None, progress.max_tries or None
        row.arrived = [] if progress.arrived is UNSET else progress.arrived
        row.missing = [] if progress.missing is UNSET else progress.missing
        if progress.position is not UNSET and len(json.encode(progress.position)) <= MAX_POSITION_BYTES:
            row.position = progress.position
    return row


def match_row(league: League, match: Match, record: Sequence[Any] | None = None) -> MatchRow:
    """A match as a row. The reason for its outcome is from its record, or else from its result."""
    row = MatchRow(
        match_id=match.id,
        round_id=match.round_id,
        a=agent_name(league, match.a),
        b=agent_name(league, match.b),
        status=_status(league, match),
        referee_id=match.referee_id or match.planned,
        attempt=match.attempt,
    )
    if (outcome := match.outcome) is not None:
        row.ended_at = match.ended_at
        row.points = (outcome.points_a, outcome.points_b)
        row.winner = winner_of(match)
        row.result, row.ruling = outcome.status, outcome.ruling
        row.choices = (outcome.choice_a, outcome.choice_b)
        row.drawn_number = outcome.drawn_number
        row.reason = _reason(match, outcome, league.settings.game_name, record)
        row.decided_by = _decided_by(match, outcome)
    return row


def pairing_row(league: League, stage: Stage, pairing: places.Pairing) -> Pairing:
    a, b = pairing.a, pairing.b
    return Pairing(
        stage=stage.number,
        label=stage.label,
        a=None if a is None else agent_name(league, a),
        b=None if b is None else agent_name(league, b),
        games=[PairingGame(match_id=match.id, marks=pairing.marks(match)) for match in pairing.matches],
        winner=pairing.winner,
        by_lot=pairing.by_lot,
        alone=pairing.alone,
        title=pairing.title,
        points=pairing.points,
    )


def _status(league: League, match: Match) -> MatchStatus:
    if match.has_ended:
        return "ended"
    if match.in_play:
        return "in_play"
    if match.held:
        return "held"
    return "waiting" if match.id in league.waiting else "scheduled"


def winner_of(match: Match) -> str | None:
    """The winner of a match; None if nobody has won it."""
    if match.outcome is None:
        return None
    if match.outcome.points_a == WIN_POINTS:
        return match.a
    return match.b if match.outcome.points_b == WIN_POINTS else None


def _decided_by(match: Match, outcome: Outcome) -> DecidedBy:
    if match.reported:
        return "referee"
    by_manager = outcome.ruling in list(Ruling) and RULINGS[Ruling(outcome.ruling)].ruled_by == "manager"
    return "manager" if by_manager else "operator"


def _reason(match: Match, outcome: Outcome, game_name: str, record: Sequence[Any] | None) -> str:
    """The reason for the outcome of a match, in a sentence with the players' ids."""
    if outcome.status == "TECHNICAL_LOSS":
        losers = [
            name for name, points in zip(match.players, (outcome.points_a, outcome.points_b), strict=True) if not points
        ]
        if outcome.ruling in list(Ruling) and len(losers) == 1:
            return describe_ruling(Ruling(outcome.ruling), losers[0])
        lost = "both players lose technically" if len(losers) == 2 else f"{losers[0]} loses technically"
        return f"{lost} ({outcome.ruling})" if outcome.ruling else lost
    reason = _reason_of_record(game_name, record or ())
    if reason is None:
        reason = _reason_of_choices(game_name, outcome.drawn_number, outcome.choice_a, outcome.choice_b)
    if reason is None and outcome.payoffs is not None:
        # The moves are in the record of the match, which the league's state does not have.
        a, b = outcome.payoffs
        reason = f"{{A}} got {a:g} and {{B}} got {b:g}"
    if reason is None:
        winner = winner_of(match)
        return "nobody won" if winner is None else f"{winner} won"
    return reason.replace("{A}", match.a).replace("{B}", match.b)


@lru_cache(maxsize=4_096)
def _reason_of_choices(game_name: str, drawn: int | None, a: str | None, b: str | None) -> str | None:
    """The reason that the game's rules give for the outcome; None if they cannot."""
    game = find_game(game_name)
    choices: dict[Side, str | None] = {"A": a, "B": b}
    if game is None or None in choices.values():
        return None
    try:
        return _reason_of_record(game_name, record_from_choices(game, drawn, choices))
    except ValueError:
        return None


def _reason_of_record(game_name: str, record: Sequence[Any]) -> str | None:
    game = find_game(game_name)
    try:
        return None if game is None or not record else replay(game, record).reason
    except ValueError:
        return None
