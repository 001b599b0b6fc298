"""The operator's commands with their parameters, and the queries among them: the state of a league and its agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from leaguekit.league import queries
from leaguekit.league.commands.rounds import MAX_MATCHES, match_count, start_fault
from leaguekit.league.commands.tournaments import describe_round
from leaguekit.league.pairings import advancement
from leaguekit.league.problems import find_problems
from leaguekit.league.records import Player, Referee, Seat, agent_order
from leaguekit.league.sentences import add_player_names
from leaguekit.league.settings import CHANGEABLE
from leaguekit.league.state import League
from leaguekit.league.ties import describe_order, first_place, payoff_sentence, tie_sentences
from leaguekit.protocol.fields import Count, RoundId
from leaguekit.protocol.ids import match_numbers
from leaguekit.protocol.messages import (
    MAX_STANDINGS,
    QueryError,
    QueryParams,
)
from leaguekit.protocol.plain_text import remove_addresses

MAX_TIES = 10
# At most this number of free seats is named.
MAX_FREE_SEATS = 20
# The maximum size of one page of the schedule. No token is needed to query it.
MAX_SCHEDULE_BYTES = 60_000


class Operation(msgspec.Struct, kw_only=True):
    """A command of the operator, with its parameters."""

    command: str
    admin_token: str = ""
    player_id: str = ""
    match_id: str = ""
    round_id: RoundId | None = None
    # The number of matches at the beginning of the schedule that are skipped.
    offset: Count = 0
    reason: str = ""
    query_type: str = ""
    agent_id: str = ""
    # The number of new seats.
    count: int = 0
    # The id, the person or the code of a seat.
    seat: str = ""
    # For new seats: the name and the e-mail address of each person.
    people: list[tuple[str, str]] = []
    # Whether people that have a seat get another one.
    again: bool = False
    # The settings that are changed.
    settings: dict[str, str | int | float] = {}
    # For a player that never registers: where it listens, and its name.
    endpoint: str = ""
    display_name: str = ""
    # For a start: the maximum number of matches that the operator has agreed to.
    max_matches: int = MAX_MATCHES
    # For a correction: the winner's id, "draw", or "none" if both lose.
    outcome: str = ""


def status(league: League, _operation: Operation) -> dict[str, Any]:
    counts: dict[str, Any] = msgspec.to_builtins(queries.status(league))
    waits = queries.waits_for(league)
    flags = [f"{match}: {reason}" for match, reasons in league.flags.items() for reason in reasons]
    settings = league.settings
    status: dict[str, Any] = {
        "league_id": settings.league_id,
        "title": settings.title,
        "format": settings.format_text,
        "advancement": advancement(league),
        "paused": league.paused,
        "seed_commitment": settings.seed_commitment,
        "held": sorted(league.held, key=match_numbers),
        "players_out": [player.id for player in league.players.values() if player.out is not None],
    }
    if league.is_open:
        status["free_seats"] = len(_free_seats(league))
        # The number of matches if the league started now.
        planned = status["planned_matches"] = match_count(settings, len(league.table.rows))
        players = len(league.table.rows)
        if players > 1 and (fault := start_fault(settings, players)) is not None:
            more_help = any(start_fault(settings, n) is None for n in range(players + 1, settings.max_players + 1))
            waits.append(f"{'more players' if more_help else 'the operator'}: {fault}")
        if planned > MAX_MATCHES:
            waits.append(f"the operator: {planned:,} matches are more than {MAX_MATCHES:,} (withdraw players)")
    elif league.state == "LEAGUE_COMPLETED":
        status["first"] = add_player_names(_describe_first(league), _names(league, league.players))
    round_ = describe_round(league, league.current_round)
    return status | {"waits_for": waits, "flags": flags, "round": round_} | counts


def _standings(league: League, _operation: Operation) -> dict[str, Any]:
    rows = league.table.placed_rows()
    order = describe_order(league.settings)
    ranked_by = payoff_sentence(league.settings) if not league.table.ranking else f"The table is ranked by {order}."
    return {
        "standings": [
            msgspec.to_builtins(row) | {"out": league.players[row.player_id].out} for row in rows[:MAX_STANDINGS]
        ],
        "first": _describe_first(league) if rows else None,
        "ties": tie_sentences(rows, league.settings.tie_breaks, MAX_TIES),
        "order": order,
        "tie_breaks": league.settings.tie_breaks,
    } | ({"ranked_by": ranked_by} if ranked_by else {})


def _describe_first(league: League) -> str:
    """Which player is, or has come, first."""
    is_over, by_points = league.state == "LEAGUE_COMPLETED", not league.table.ranking
    first = first_place(league.table.placed_rows(), is_over=is_over, by_points=by_points)
    # Where the points do not decide, it is said what did.
    return f"{first}. {league.end_reason}" if is_over and not by_points else first


def _names(league: League, ids: Iterable[str]) -> dict[str, str]:
    return {one: league.players[one].meta.display_name for one in ids}


def _technical_losses(league: League) -> dict[str, list[dict[str, str]]]:
    """The matches that players have lost without play, by player, each with the ruling."""
    lost: dict[str, list[dict[str, str]]] = {}
    for match in league.matches.values():
        outcome = match.outcome
        if outcome is not None and outcome.status == "TECHNICAL_LOSS":
            for player_id, points in ((match.a, outcome.points_a), (match.b, outcome.points_b)):
                if not points:
                    ruling = outcome.ruling or "TECHNICAL_LOSS"
                    lost.setdefault(player_id, []).append({"match_id": match.id, "ruling": ruling})
    return lost


def _agents(league: League, _operation: Operation) -> dict[str, Any]:
    lost = _technical_losses(league)
    return {
        "agents": [
            {
                "id": agent.id,
                "display_name": agent.meta.display_name,
                "state": agent.state,
                "endpoint": agent.meta.contact_endpoint,
                "address": agent.registered.address or None,
                **({"shows_own_token": True} if isinstance(agent, Referee) and agent.shows_own_token else {}),
                **({"lost_technically": lost[agent.id]} if agent.id in lost else {}),
                **_move_origins(league, agent),
                **_dialect(league, agent),
            }
            for agent in sorted(league.agents, key=agent_order)
        ],
        "refused": [msgspec.to_builtins(one) for one in reversed(league.refused.values())],
    }


def _problems(league: League, _operation: Operation) -> dict[str, Any]:
    problems: dict[str, Any] = msgspec.to_builtins(find_problems(league))
    # A player that is silent now has not lost anything yet.
    return problems | {"waits_for": queries.waits_for(league)}


def _move_origins(league: League, agent: Player | Referee) -> dict[str, Any]:
    origins = league.move_origins.get(agent.id)
    return {} if origins is None else {"moves": msgspec.to_builtins(origins)}


def _dialect(league: League, agent: Player | Referee) -> dict[str, Any]:
    """In the open profile: the form in which an agent understands requests, and the rules that it has broken."""
    if league.settings.profile != "open":
        return {}
    broken = league.broken_rules.get(agent.id, {})
    return {
        "form": agent.form if isinstance(agent, Player) else None,
        "broken_rules": [{"rule": rule} | msgspec.to_builtins(breach) for rule, breach in broken.items()],
    }


def _free_seats(league: League) -> list[Seat]:
    return [seat for seat in league.seats.values() if not seat.revoked and seat.holder is None]


def describe_free_seats(league: League) -> str:
    """Which seats no player has taken, with the names of people for the operator; empty if there is none."""
    free = _free_seats(league)
    if not free:
        return ""
    valid = sum(not seat.revoked for seat in league.seats.values())
    who = ", ".join(seat.name or seat.id for seat in free[:MAX_FREE_SEATS])
    more = f" and {len(free) - MAX_FREE_SEATS} more" if len(free) > MAX_FREE_SEATS else ""
    return f"{len(free)} of {valid} seats {'is' if len(free) == 1 else 'are'} free: {who}{more}."


def seats(league: League, _operation: Operation) -> dict[str, Any]:
    return {
        "free": describe_free_seats(league),
        "seats": [
            {
                "id": seat.id,
                "state": "revoked" if seat.revoked else "free" if seat.holder is None else "taken",
                "name": seat.name,
                "email": seat.email,
                "holder": seat.holder,
                "display_name": None if (agent := league.agent(seat.holder or "")) is None else agent.meta.display_name,
            }
            for seat in league.seats.values()
        ],
    }


def _settings(league: League, _operation: Operation) -> dict[str, Any]:
    """The settings without the seed, and the names of those that may change."""
    settings = msgspec.to_builtins(league.settings)
    del settings["seed_hex"]
    return {"settings": settings, "changeable": [*CHANGEABLE]}


def _query(league: League, operation: Operation) -> dict[str, Any]:
    """The answer that an agent would get to a LEAGUE_QUERY."""
    params = QueryParams(player_id=operation.player_id or UNSET, round_id=operation.round_id or UNSET)
    found = queries.data(league, operation.query_type, params)
    return {"success": not isinstance(found, QueryError), "data": msgspec.to_builtins(found)}


def _schedule(league: League, operation: Operation) -> dict[str, Any]:
    """One page of the schedule, beginning at an offset. It has a ``next_offset`` if there is a next page.

    The page of a round begins with its name. Each page has the names of its players.
    """
    found: list[Any] = []
    names: dict[str, str] = {}
    number = operation.round_id or 0
    head = {"round": describe_round(league, number)} if 0 < number <= len(league.rounds) else {}
    size = 0
    for match in queries.schedule_from(league, operation.round_id, operation.offset):
        new = _names(league, {match.player_A_id, match.player_B_id} - names.keys())
        size += len(msgspec.json.encode(match)) + len(msgspec.json.encode(new))
        if size > MAX_SCHEDULE_BYTES:
            return head | {"schedule": found, "names": names, "next_offset": operation.offset + len(found)}
        found.append(msgspec.to_builtins(match))
        names |= new
    return head | {"schedule": found, "names": names}


Query = Callable[[League, Operation], dict[str, Any]]
# These show the endpoints of agents or the holders of seats. They need the admin token.
ADMIN_QUERIES: dict[str, Query] = {
    "agents": _agents,
    "problems": _problems,
    "query": _query,
    "seats": seats,
    "settings": _settings,
}
PUBLIC_QUERIES: dict[str, Query] = {
    "status": status,
    # What an agent states about its moves may contain an address.
    "moves": lambda league, _operation: {"moves": remove_addresses(msgspec.to_builtins(league.move_origins))},
    "standings": _standings,
    "schedule": _schedule,
}
