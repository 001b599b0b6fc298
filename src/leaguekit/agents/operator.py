"""The operator's hand: starting, pausing and settling a league, each with its reason; and looking at it.

The commands come as one JSON-RPC method, ``operator``, on the manager's own URL. What changes the league, or shows
where agents live, needs the admin token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from leaguekit.league import commands, queries
from leaguekit.league.events import Event
from leaguekit.league.records import Player, Referee
from leaguekit.league.results import known_match
from leaguekit.league.rounds import living_referees
from leaguekit.league.state import League
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import RoundId
from leaguekit.protocol.messages import MatchResult, QueryError, QueryParams, ResultDetails
from leaguekit.protocol.rpc import Call, params_of

METHOD = "operator"


class Operation(msgspec.Struct, kw_only=True):
    """What the operator asks for."""

    command: str
    admin_token: str = ""
    player_id: str = ""
    match_id: str = ""
    round_id: RoundId | None = None
    reason: str = ""
    query_type: str = ""
    # For a correction: the winner's id, "draw", or "none" if both lose.
    outcome: str = ""


class Operated(NamedTuple):
    """What follows from a command, and what to show of the league once that has been recorded."""

    events: list[Event]
    shown: Callable[[League], Any]


def operate(league: League, call: Call, admin_token: str, at: str) -> Operated:
    """Decide on a command. Raises ProtocolError if it is unknown, not allowed, or impossible now."""
    try:
        operation = msgspec.json.decode(params_of(call), type=Operation)
    except msgspec.DecodeError as error:
        raise ProtocolError("E043", f"The operator's command cannot be read: {error}.") from None
    if operation.command in _LOOKS:
        return Operated([], lambda after: _LOOKS[operation.command](after, operation))
    if operation.command not in (*_DEEDS, *_GUARDED_LOOKS):
        known = ", ".join([*_DEEDS, *_LOOKS, *_GUARDED_LOOKS])
        raise ProtocolError("E044", f"There is no command {operation.command!r}; there are {known}.")
    if not operation.admin_token:
        raise ProtocolError("E011", "The operator's commands need the admin token.")
    if not tokens.same(operation.admin_token, admin_token):
        raise ProtocolError("E012", "This is not the admin token of this league.")
    if operation.command in _GUARDED_LOOKS:
        return Operated([], lambda after: _GUARDED_LOOKS[operation.command](after, operation))
    return Operated(_DEEDS[operation.command](league, operation, at), lambda after: _status(after, operation))


def _correct(league: League, operation: Operation, at: str) -> list[Event]:
    match = known_match(league, operation.match_id)
    outcome = operation.outcome
    if outcome not in (*match.players, "draw", "none"):
        known = f"{match.a}, {match.b}, draw or none"
        raise ProtocolError("E044", f"The outcome of {match.id} must be {known}, got {outcome!r}.")
    winner = outcome if outcome in match.players else None
    points = {player: 1 if outcome == "draw" else 3 if player == winner else 0 for player in match.players}
    status = {"draw": "DRAW", "none": "TECHNICAL_LOSS"}.get(outcome, "WIN")
    details = ResultDetails(choices=dict.fromkeys(match.players), drawn_number=None, status=status)  # type: ignore[arg-type]
    result = MatchResult(winner=winner, score=points, details=details)  # type: ignore[arg-type]
    return commands.correct(league, operation.match_id, result, operation.reason, at)


Deed = Callable[[League, Operation, str], list[Event]]
_DEEDS: dict[str, Deed] = {
    "start": lambda league, _operation, at: commands.start(league, at),
    "pause": lambda league, operation, at: commands.pause(league, operation.reason, at),
    "resume": lambda league, operation, at: commands.resume(league, operation.reason, at),
    "withdraw": lambda league, operation, at: commands.withdraw(league, operation.player_id, operation.reason, at),
    "disqualify": lambda league, operation, at: commands.disqualify(league, operation.player_id, operation.reason, at),
    "rematch": lambda league, operation, at: commands.rematch(league, operation.match_id, operation.reason, at),
    "correct": _correct,
}


def _status(league: League, _operation: Operation) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(queries.status(league))
    waits = [] if living_referees(league) or league.state != "RUNNING_LEAGUE" else ["a referee: none answers"]
    waits += [f"the operator: {name} came to nothing too often (rematch or correct it)" for name in league.held]
    return {"league_id": league.settings.league_id, "paused": league.paused, "waits_for": waits} | shown


def _agents(league: League, _operation: Operation) -> dict[str, Any]:
    agents: list[Player | Referee] = [*league.players.values(), *league.referees.values()]
    return {
        "agents": [
            {
                "id": agent.id,
                "display_name": agent.meta.display_name,
                "state": agent.state,
                "endpoint": agent.meta.contact_endpoint,
            }
            for agent in agents
        ]
    }


def _query(league: League, operation: Operation) -> dict[str, Any]:
    """What an agent's LEAGUE_QUERY would be answered with."""
    params = QueryParams(player_id=operation.player_id or UNSET, round_id=operation.round_id or UNSET)
    found = queries.data(league, operation.query_type, params)
    return {"success": not isinstance(found, QueryError), "data": msgspec.to_builtins(found)}


Look = Callable[[League, Operation], dict[str, Any]]
# These show where agents live, and need the admin token.
_GUARDED_LOOKS: dict[str, Look] = {"agents": _agents, "query": _query}
_LOOKS: dict[str, Look] = {
    "status": _status,
    "standings": lambda league, _operation: {"standings": msgspec.to_builtins(queries.standings(league))},
    "schedule": lambda league, operation: {
        "schedule": msgspec.to_builtins(queries.schedule(league, operation.round_id))
    },
}
