"""A league as flat tables for other programs: results, standings and agents, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec import UNSET, Struct, UnsetType

from leaguekit.league import events as e
from leaguekit.league.fold import apply
from leaguekit.league.records import agent_order
from leaguekit.league.standings import PlacedRow, payoff_of
from leaguekit.league.state import League
from leaguekit.protocol.ids import match_numbers
from leaguekit.protocol.messages import MatchResult, MoveOrigins


class ResultRow(Struct, kw_only=True):
    """A match that has ended. It was decided by its referee, the manager, or the operator."""

    match_id: str
    round_id: int
    player_A_id: str
    player_A_name: str
    player_B_id: str
    player_B_name: str
    winner: str | None
    status: str | None
    ruling: str | None
    score_A: int
    score_B: int
    choice_A: str | None
    choice_B: str | None
    drawn_number: int | None
    draw_commitment: str | None
    draw_nonce: str | None
    decided_by: str
    attempt: int
    ended_at: str
    reason: str | None
    # Moves by origin, as the players state; None for a player that states nothing.
    own_A: int | None = None
    retried_A: int | None = None
    replaced_A: int | None = None
    own_B: int | None = None
    retried_B: int | None = None
    replaced_B: int | None = None
    # Of these, how many had an illegal move stated at first.
    illegal_A: int | None = None
    illegal_B: int | None = None
    # What counts in the table. Left out if the league is not ranked by payoff.
    payoff_A: float | UnsetType = UNSET
    payoff_B: float | UnsetType = UNSET


class AgentRow(Struct, kw_only=True, omit_defaults=True):
    """A player or a referee. Its endpoint is optional."""

    agent_id: str
    role: str
    display_name: str
    version: str
    state: str
    game_types: list[str]
    registered_at: str
    contact_endpoint: str | None = None
    # Moves by origin, as the player states, and the reason for the first replaced move.
    own_moves: int | None = None
    retried_moves: int | None = None
    replaced_moves: int | None = None
    replaced_because: str | None = None
    # Moves for which it stated an illegal move at first.
    illegal_moves: int | None = None
    own_rate: float | None = None
    illegal_rate: float | None = None


# The columns about the person whose player it is. They are empty without a seat.
PERSON_COLUMNS = ("seat", "person", "email")


class LeagueTables:
    """Builds the tables of a league from its events."""

    def __init__(self) -> None:
        self.league = League()
        self._rows: dict[str, ResultRow] = {}

    def take(self, event: e.Event) -> None:
        apply(self.league, event)
        match event:
            case e.ResultRecorded():
                self._put(event, event.result, event.referee_id, None)
            case e.ResultCorrected():
                self._put(event, event.result, "operator", event.reason)
            case e.MatchForfeited():
                ruled = cast("MatchResult", self.league.matches[event.match_id].result)
                self._put(event, ruled, "manager", event.reason)
            case e.MatchReplayed():
                self._rows.pop(event.match_id, None)

    def _put(
        self,
        event: e.ResultRecorded | e.ResultCorrected | e.MatchForfeited,
        result: MatchResult,
        decided_by: str,
        reason: str | None,
    ) -> None:
        match = self.league.matches[event.match_id]
        details, names, payoffs = result.details, self.league.players, self.league.settings.payoff_range
        a, b = (_counts(details.move_origins or {}, player) for player in match.players)
        self._rows[match.id] = ResultRow(
            match_id=match.id,
            round_id=match.round_id,
            player_A_id=match.a,
            player_A_name=names[match.a].meta.display_name,
            player_B_id=match.b,
            player_B_name=names[match.b].meta.display_name,
            winner=result.winner,
            status=details.status or None,
            ruling=details.ruling or None,
            score_A=result.score[match.a],
            score_B=result.score[match.b],
            choice_A=details.choices.get(match.a),
            choice_B=details.choices.get(match.b),
            drawn_number=details.drawn_number or None,
            draw_commitment=details.draw_commitment or None,
            draw_nonce=details.draw_nonce or None,
            decided_by=decided_by,
            attempt=match.attempt,
            ended_at=event.at,
            reason=reason or None,
            payoff_A=UNSET if payoffs is UNSET else payoff_of(result, match.a, payoffs),
            payoff_B=UNSET if payoffs is UNSET else payoff_of(result, match.b, payoffs),
            **{f"{origin}_A": count for origin, count in a.items()},
            **{f"{origin}_B": count for origin, count in b.items()},
        )

    def has_column(self, name: str) -> bool:
        """Whether the league's tables have a column: those for payoffs only if it is ranked by payoff."""
        return self.league.settings.payoff_range is not UNSET or not name.startswith("payoff")

    def with_replaced_moves(self) -> set[str]:
        """The matches in which another move was played than a strategy's own, as the players state."""
        return {row.match_id for row in self._rows.values() if row.replaced_A or row.replaced_B}

    def people(self) -> dict[str, dict[str, str]]:
        """By agent with a seat: the id of its seat, and the name and e-mail address of the person it is for."""
        seats = sorted(self.league.seats.values(), key=lambda seat: bool(seat.name or seat.email))
        return {
            seat.holder: {"seat": seat.id, "person": seat.name, "email": seat.email}
            for seat in seats
            if seat.holder is not None
        }

    def results(self) -> list[ResultRow]:
        """The matches that have ended, each once, in the order of the schedule."""
        return sorted(self._rows.values(), key=lambda row: match_numbers(row.match_id))

    def standings(self) -> list[PlacedRow]:
        """The whole table, however long."""
        return self.league.table.placed_rows()

    def agents(self, *, endpoints: bool = False) -> list[AgentRow]:
        return [
            AgentRow(
                agent_id=agent.id,
                role=agent.role,
                display_name=agent.meta.display_name,
                version=agent.meta.version,
                state=agent.state,
                game_types=[str(game) for game in agent.meta.game_types],
                registered_at=agent.registered.at,
                contact_endpoint=agent.meta.contact_endpoint if endpoints else None,
                **{f"{origin}_moves": count for origin, count in _counts(self.league.move_origins, agent.id).items()},
                replaced_because=_first_reason(self.league, agent.id),
                own_rate=self.league.move_origins.get(agent.id, MoveOrigins()).own_rate,
                illegal_rate=self.league.move_origins.get(agent.id, MoveOrigins()).illegal_rate,
            )
            for agent in sorted(self.league.agents, key=agent_order)
        ]


def _counts(moves: Mapping[str, MoveOrigins], agent_id: str) -> dict[str, int]:
    """An agent's moves by origin; empty if the agent states none."""
    origins = moves.get(agent_id)
    if origins is None:
        return {}
    return {"own": origins.own, "retried": origins.retried, "replaced": origins.replaced, "illegal": origins.illegal}


def _first_reason(league: League, agent_id: str) -> str | None:
    origins = league.move_origins.get(agent_id)
    return None if origins is None else origins.reason or None
