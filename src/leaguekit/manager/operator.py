"""The operator's commands: actions that change the league, each with a reason, and queries.

All commands come as one JSON-RPC method, ``operator``, on the manager's own URL. A command needs the admin token if it
changes the league, shows the endpoints of agents, or returns a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from leaguekit.agents.world import World
from leaguekit.league import commands, queries
from leaguekit.league.access import seat_of
from leaguekit.league.events import Event
from leaguekit.league.records import Player, Referee
from leaguekit.league.results import known_match
from leaguekit.league.schedule import MAX_MATCHES, match_count
from leaguekit.league.state import League
from leaguekit.league.ties import describe_order, first_place, tie_sentences
from leaguekit.protocol import codes, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import Count, RoundId, Url
from leaguekit.protocol.messages import (
    MAX_STANDINGS,
    BrokenRule,
    MatchResult,
    PlayerMeta,
    QueryError,
    QueryParams,
    ResultDetails,
)
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.rpc import Call, params_of
from leaguekit.store.base import StoreError
from leaguekit.transport.base import Unreachable

METHOD = "operator"
MAX_SEATS = 1_000
MAX_TIES = 10
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
    # The id or the code of a seat.
    seat: str = ""
    # For a player that never registers: where it listens, and its name.
    endpoint: str = ""
    display_name: str = ""
    # For a start: the maximum number of matches that the operator has agreed to.
    max_matches: int = MAX_MATCHES
    # For a correction: the winner's id, "draw", or "none" if both lose.
    outcome: str = ""


_NEVER_REGISTERED = BrokenRule(
    rule="000-L0209", came="nothing: the operator took it in", expected="LEAGUE_REGISTER_REQUEST"
)


class OperationResult(NamedTuple):
    """The events of a command, and a function that makes its result from the league after these events."""

    events: list[Event]
    describe: Callable[[League], Any]


# Saves a secret under a name where only its owner finds it. Raises StoreError.
SaveSecret = Callable[[str, str], None]
ADMIN_TOKEN, REFEREE_CODE = "admin_token", "referee_code"


class Operator:
    """Decides on the operator's commands, and makes the secrets that some of them return."""

    def __init__(
        self,
        admin_token: str,
        world: World,
        manager_endpoint: str,
        keep: SaveSecret | None,
    ) -> None:
        self._manager_endpoint = manager_endpoint
        self._policy = world.policy
        self._admin = tokens.verifier(admin_token)
        self._entropy = world.entropy
        self._keep = keep or (lambda _name, _secret: None)
        self._secret_actions: dict[str, Callable[[League, Operation, str], OperationResult]] = {
            "seats_new": self._new_seats,
            "add_player": self._add_player,
            "token_rotate": self._rotate_token,
            "token_rotate_admin": self._rotate_admin_token,
            "token_rotate_referee_code": self._rotate_referee_code,
        }

    def operate(self, league: League, call: Call, at: str) -> OperationResult:
        """Decide on a command. Raises ProtocolError if it is unknown, not allowed, or impossible now."""
        try:
            operation = msgspec.json.decode(params_of(call), type=Operation)
        except msgspec.DecodeError as error:
            raise ProtocolError("E043", f"The operator's command cannot be read: {error}.") from None
        command = operation.command
        if command in _PUBLIC_QUERIES:
            return OperationResult([], lambda after: _PUBLIC_QUERIES[command](after, operation))
        if command not in (need_token := [*_ACTIONS, *_ADMIN_QUERIES, *self._secret_actions]):
            known = ", ".join([*_PUBLIC_QUERIES, *need_token])
            raise ProtocolError("E044", f"There is no command {command!r}; there are {known}.")
        if not operation.admin_token:
            raise ProtocolError("E011", "The operator's commands need the admin token.")
        if not self.is_admin_token(operation.admin_token):
            raise ProtocolError("E012", "This is not the admin token of this league.")
        if command in self._secret_actions:
            return self._secret_actions[command](league, operation, at)
        if command in _ADMIN_QUERIES:
            return OperationResult([], lambda after: _ADMIN_QUERIES[command](after, operation))
        query = _seats if command == "seats_revoke" else _status
        return OperationResult(_ACTIONS[command](league, operation, at), lambda after: query(after, operation))

    def is_admin_token(self, token: str) -> bool:
        return tokens.matches_verifier(token, self._admin)

    def new_referee_code(self, at: str) -> tuple[str, list[Event]]:
        """A new code with which referees may register, and the event that replaces the old code by it."""
        code = self._new_code()
        self._save(REFEREE_CODE, code)
        return code, commands.set_referee_code(codes.verifier("referee", code), at)

    def _new_seats(self, league: League, operation: Operation, at: str) -> OperationResult:
        if not 1 <= operation.count <= MAX_SEATS:
            raise ProtocolError("E044", f"count must be from 1 to {MAX_SEATS}, got {operation.count}.")
        new = [self._new_code() for _ in range(operation.count)]
        events = commands.issue_seats(league, [codes.verifier("seat", code) for code in new], at)
        return OperationResult(events, lambda after: {"seats": _seats_with_codes(after, new)})

    def _add_player(self, league: League, operation: Operation, at: str) -> OperationResult:
        """Add a player that never registers. It gets no token, and is identified by its endpoint only."""
        url, name = operation.endpoint, operation.display_name
        if not valid(Url, url):
            raise ProtocolError("E044", f"endpoint must be a URL such as http://127.0.0.1:8101/mcp, got {url!r}.")
        self._check_allowed(url)
        applicant = commands.Applicant(
            meta=PlayerMeta(
                # The name must not contain the endpoint, which other agents may not see.
                display_name=name or f"Guest {self._entropy(2).hex()}",
                version="0.0.0",
                game_types=[league.settings.game_type],
                contact_endpoint=url,
            ),
            conversation_id=f"conv-added-{self._entropy(8).hex()}",
            timestamp=at,
            manager_endpoint=self._manager_endpoint,
            added_by_operator=True,
        )
        try:
            player_id = commands.admit_player(league, applicant, at)
            token = tokens.new_token(player_id, self._entropy(tokens.ENTROPY_BYTES))
            proof = {"verifier": tokens.verifier(token), "key": tokens.signing_key(token)}
            events = commands.register_player(league, applicant, **proof, at=at)
            events += commands.note_broken_rules(league, player_id, [_NEVER_REGISTERED], at)
        except commands.Rejected as rejected:
            raise ProtocolError(rejected.code, rejected.reason) from None
        return OperationResult(events, lambda after: _status(after, operation) | {"player_id": player_id})

    def _check_allowed(self, url: str) -> None:
        """Raises ProtocolError if the manager may not call a URL. Otherwise this would be found only at the start."""
        try:
            is_forbidden = self._policy is not None and self._policy.forbids(url)
        except Unreachable as error:
            raise ProtocolError("E044", f"{error}.") from None
        if is_forbidden:
            remedy = "start it, and its referees, with --allow lan=NETWORK,… or --allow public"
            raise ProtocolError("E048", f"This manager may not call {url}: {remedy}.")

    def _rotate_token(self, league: League, operation: Operation, at: str) -> OperationResult:
        code, key = self._new_code(), self._entropy(tokens.ENTROPY_BYTES)
        agent, proof = operation.agent_id, codes.verifier("seat", code)
        events = commands.void_token(league, agent, key=key, code=proof, at=at)
        return OperationResult(events, lambda after: {"agent_id": agent, "seat": _return_seat(after, agent, code)})

    def _rotate_admin_token(self, _league: League, _operation: Operation, _at: str) -> OperationResult:
        token = new_admin_token(self._entropy)
        self._save(ADMIN_TOKEN, token)
        self._admin = tokens.verifier(token)
        return OperationResult([], lambda _after: {"admin_token": token})

    def _rotate_referee_code(self, _league: League, _operation: Operation, at: str) -> OperationResult:
        code, events = self.new_referee_code(at)
        return OperationResult(events, lambda _after: {"referee_code": code})

    def _new_code(self) -> str:
        return codes.new_code(self._entropy(codes.ENTROPY_BYTES))

    def _save(self, name: str, secret: str) -> None:
        try:
            self._keep(name, secret)
        except StoreError as error:
            raise ProtocolError("E060", f"{error} Nothing has changed.") from error


def new_admin_token(entropy: Callable[[int], bytes]) -> str:
    return f"adm-{entropy(tokens.ENTROPY_BYTES).hex()}"


def _seats_with_codes(league: League, new: list[str]) -> list[dict[str, Any]]:
    return [{"id": league.seats[codes.verifier("seat", code).hex()].id, "code": code} for code in new]


def _return_seat(league: League, agent_id: str, code: str) -> dict[str, Any]:
    """The seat with which an agent registers again, with its code if the code is new."""
    seat = seat_of(league, agent_id)
    is_new = codes.verifier("seat", code).hex() in league.seats
    return {"id": None if seat is None else seat.id, "code": code if is_new else None}


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


def _revoke_seat(league: League, operation: Operation, at: str) -> list[Event]:
    is_id = any(seat.id == operation.seat.upper() for seat in league.seats.values())
    return commands.revoke_seat(league, operation.seat if is_id else codes.verifier("seat", operation.seat).hex(), at)


Action = Callable[[League, Operation, str], list[Event]]
_ACTIONS: dict[str, Action] = {
    "start": lambda league, operation, at: commands.start(
        league, at, by_operator=True, max_matches=operation.max_matches
    ),
    "pause": lambda league, operation, at: commands.pause(league, operation.reason, at),
    "resume": lambda league, operation, at: commands.resume(league, operation.reason, at),
    "withdraw": lambda league, operation, at: commands.withdraw(league, operation.player_id, operation.reason, at),
    "disqualify": lambda league, operation, at: commands.disqualify(league, operation.player_id, operation.reason, at),
    "rematch": lambda league, operation, at: commands.rematch(league, operation.match_id, operation.reason, at),
    "correct": _correct,
    "seats_revoke": _revoke_seat,
}


def _status(league: League, _operation: Operation) -> dict[str, Any]:
    counts: dict[str, Any] = msgspec.to_builtins(queries.status(league))
    waits = queries.waits_for(league)
    flags = [f"{match}: {reason}" for match, reasons in league.flags.items() for reason in reasons]
    settings = league.settings
    status: dict[str, Any] = {
        "league_id": settings.league_id,
        "paused": league.paused,
        "seed_commitment": settings.seed_commitment,
        "held": [*league.held],
        "players_out": [player.id for player in league.players.values() if player.out is not None],
    }
    if league.is_open:
        # The number of matches if the league started now.
        planned = status["planned_matches"] = match_count(len(league.table.rows), settings.rounds)
        if planned > MAX_MATCHES:
            waits.append(f"the operator: {planned:,} matches are more than {MAX_MATCHES:,} (withdraw players)")
    return status | {"waits_for": waits, "flags": flags} | counts


def _standings(league: League, _operation: Operation) -> dict[str, Any]:
    rows = league.table.placed_rows()
    return {
        "standings": msgspec.to_builtins(rows[:MAX_STANDINGS]),
        "first": first_place(rows, is_over=league.state == "LEAGUE_COMPLETED") if rows else None,
        "ties": tie_sentences(rows, league.settings.tie_breaks, MAX_TIES),
        "order": describe_order(league.settings.tie_breaks),
    }


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
    agents: list[Player | Referee] = [*league.players.values(), *league.referees.values()]
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
            for agent in agents
        ],
        "refused": [msgspec.to_builtins(one) for one in reversed(league.refused.values())],
    }


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


def _seats(league: League, _operation: Operation) -> dict[str, Any]:
    return {
        "seats": [
            {
                "id": seat.id,
                "state": "revoked" if seat.revoked else "free" if seat.holder is None else "taken",
                "holder": seat.holder,
                "display_name": None if (agent := league.agent(seat.holder or "")) is None else agent.meta.display_name,
            }
            for seat in league.seats.values()
        ]
    }


def _query(league: League, operation: Operation) -> dict[str, Any]:
    """The answer that an agent would get to a LEAGUE_QUERY."""
    params = QueryParams(player_id=operation.player_id or UNSET, round_id=operation.round_id or UNSET)
    found = queries.data(league, operation.query_type, params)
    return {"success": not isinstance(found, QueryError), "data": msgspec.to_builtins(found)}


def _schedule(league: League, operation: Operation) -> dict[str, Any]:
    """One page of the schedule, beginning at an offset. It has a ``next_offset`` if there is a next page."""
    found: list[Any] = []
    size = 0
    for match in queries.schedule_from(league, operation.round_id, operation.offset):
        size += len(msgspec.json.encode(match)) + 1
        if size > MAX_SCHEDULE_BYTES:
            return {"schedule": found, "next_offset": operation.offset + len(found)}
        found.append(msgspec.to_builtins(match))
    return {"schedule": found}


Query = Callable[[League, Operation], dict[str, Any]]
# These show the endpoints of agents or the holders of seats. They need the admin token.
_ADMIN_QUERIES: dict[str, Query] = {"agents": _agents, "query": _query, "seats": _seats}
_PUBLIC_QUERIES: dict[str, Query] = {
    "status": _status,
    # What an agent states about its moves may contain an address.
    "moves": lambda league, _operation: {"moves": remove_addresses(msgspec.to_builtins(league.move_origins))},
    "standings": _standings,
    "schedule": _schedule,
}
