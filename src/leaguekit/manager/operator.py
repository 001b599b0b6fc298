"""The operator's commands: actions that change the league, each with a reason, and queries.

All commands come as one JSON-RPC method, ``operator``, on the manager's own URL. A command needs the admin token if it
changes the league, shows the endpoints of agents, or returns a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.world import World
from leaguekit.league import commands, queries
from leaguekit.league.commands.access import find_seat, seat_of
from leaguekit.league.commands.results import known_match
from leaguekit.league.events import (
    Event,
    LeagueStarted,
    MatchForfeited,
    PlayerDisqualified,
    PlayerReadmitted,
    PlayerRegistered,
    PlayerWithdrawn,
    RegistrationsClosed,
)
from leaguekit.league.records import Match, Player
from leaguekit.league.sentences import add_player_names, describe_event
from leaguekit.league.state import League
from leaguekit.manager.operator_queries import (
    ADMIN_QUERIES,
    PUBLIC_QUERIES,
    Operation,
    describe_free_seats,
    seats,
    status,
)
from leaguekit.protocol import codes, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import Url
from leaguekit.protocol.messages import (
    BrokenRule,
    MatchResult,
    PlayerMeta,
    ResultDetails,
)
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.rpc import Call, params_of
from leaguekit.store.base import StoreError
from leaguekit.transport.base import Unreachable

METHOD = "operator"
MAX_SEATS = 1_000


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
        if command in PUBLIC_QUERIES:
            return OperationResult([], lambda after: PUBLIC_QUERIES[command](after, operation))
        if command not in (need_token := [*_ACTIONS, *ADMIN_QUERIES, *self._secret_actions]):
            known = ", ".join([*PUBLIC_QUERIES, *need_token])
            raise ProtocolError("E044", f"There is no command {command!r}; there are {known}.")
        if not operation.admin_token:
            raise ProtocolError("E011", "The operator's commands need the admin token.")
        if not self.is_admin_token(operation.admin_token):
            raise ProtocolError("E012", "This is not the admin token of this league.")
        for field in ("player_id", "agent_id", "outcome"):
            setattr(operation, field, _find_agent(league, getattr(operation, field)))
        operation.match_id = operation.match_id.upper()
        if command in self._secret_actions:
            events, describe = self._secret_actions[command](league, operation, at)
        elif command in ADMIN_QUERIES:
            return OperationResult([], lambda after: ADMIN_QUERIES[command](after, operation))
        else:
            events, query = _ACTIONS[command](league, operation, at), seats if command == "seats_revoke" else status
            describe = lambda after: query(after, operation)  # noqa: E731 - shorter than a function
        return OperationResult(events, lambda after: describe(after) | {"done": _describe(after, events)})

    def is_admin_token(self, token: str) -> bool:
        return tokens.matches_verifier(token, self._admin)

    def new_referee_code(self, at: str) -> tuple[str, list[Event]]:
        """A new code with which referees may register, and the event that replaces the old code by it."""
        code = self._new_code()
        self._save(REFEREE_CODE, code)
        return code, commands.set_referee_code(codes.verifier("referee", code), at)

    def _new_seats(self, league: League, operation: Operation, at: str) -> OperationResult:
        people = operation.people
        if not 1 <= (count := len(people) or operation.count) <= MAX_SEATS:
            raise ProtocolError("E044", f"count must be from 1 to {MAX_SEATS}, got {count}.")
        new = [self._new_code() for _ in range(count)]
        verifiers = [codes.verifier("seat", code) for code in new]
        events = commands.issue_seats(league, verifiers, at, people=people, again=operation.again)
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
        return OperationResult(events, lambda after: status(after, operation) | {"player_id": player_id})

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


def _find_agent(league: League, text: str) -> str:
    """The id of the agent with this id or name, in upper or lower case. Returns another text as it is."""
    if league.agent(text.upper()) is not None:
        return text.upper()
    found = [agent.id for agent in league.agents if agent.meta.display_name.casefold() == text.casefold()]
    if len(found) > 1:
        raise ProtocolError("E044", f"{len(found)} agents are called {text!r}; name the id: {', '.join(found)}.")
    return found[0] if found else text


def _describe(league: League, events: list[Event]) -> str:
    """What a command of the operator did, as one sentence with the names of players."""
    main = next((event for event in events if not isinstance(event, RegistrationsClosed)), None)
    if main is None:
        return "Nothing has changed: it was so already."
    text = f"{describe_event(main)}."
    if isinstance(main, LeagueStarted):
        return f"{text} {describe_free_seats(league)}".rstrip()
    if isinstance(main, PlayerRegistered):
        return text if league.is_open else f"{text} Its agent may register after `league readmit {main.player_id}`."
    text = add_player_names(text, {player.id: player.meta.display_name for player in league.players.values()})
    if isinstance(main, PlayerWithdrawn | PlayerDisqualified):
        lost = [event.match_id for event in events if isinstance(event, MatchForfeited)]
        text += _describe_departure(league, league.players[main.player_id], lost)
    elif isinstance(main, PlayerReadmitted):
        text += _describe_return(league, league.players[main.player_id])
    return text


def _describe_departure(league: League, player: Player, lost: list[str]) -> str:
    """What a player loses that has just left the league, and how it comes back."""
    later = len(player.unplayed)
    losses = [*([", ".join(lost)] if lost else []), *([f"its later matches ({later})"] if later else [])]
    text = f" It loses {' and '.join(losses)}." if losses else ""
    return text if league.state == "LEAGUE_COMPLETED" else f"{text} `league readmit {player.id}` brings it back."


def _describe_return(league: League, player: Player) -> str:
    """Which match a player plays next that was readmitted, and which remain lost."""
    match = queries.next_match(league, player.id)
    # A program that was refused has ended.
    text = " If its program has ended, start it again."
    text += f" Its next match is {match.match_id}." if match is not None else ""
    if lost := [one.id for one in league.matches.values() if _is_forfeited_by(one, player.id)]:
        text += f" It still loses {', '.join(lost)}: `league rematch {lost[-1]}` has a match played again."
    return text


def _is_forfeited_by(match: Match, player_id: str) -> bool:
    """Whether a player has lost a match only because it was out of the league, and both players are in it now."""
    outcome = match.outcome
    if outcome is None or match.reported or outcome.ruling not in ("WITHDRAWAL", "DISQUALIFICATION"):
        return False
    points = dict(zip(match.players, (outcome.points_a, outcome.points_b), strict=True))
    return points.get(player_id) == 0


def new_admin_token(entropy: Callable[[int], bytes]) -> str:
    return f"adm-{entropy(tokens.ENTROPY_BYTES).hex()}"


def _seats_with_codes(league: League, new: list[str]) -> list[dict[str, Any]]:
    seats = [(league.seats[codes.verifier("seat", code).hex()], code) for code in new]
    return [{"id": seat.id, "name": seat.name, "email": seat.email, "code": code} for seat, code in seats]


def _return_seat(league: League, agent_id: str, code: str) -> dict[str, Any]:
    """The seat with which an agent registers again, with its code if the code is new."""
    seat = seat_of(league, agent_id)
    is_new = codes.verifier("seat", code).hex() in league.seats
    return {"id": None if seat is None else seat.id, "code": code if is_new else None}


def _correct(league: League, operation: Operation, at: str) -> list[Event]:
    match = known_match(league, operation.match_id)
    outcome = operation.outcome
    if outcome not in (*match.players, "draw", "none"):
        names = {player.id: player.meta.display_name for player in league.players.values()}
        detail = f"The outcome of {match.id} must be {match.a}, {match.b}, draw or none, got {outcome}."
        raise ProtocolError("E044", add_player_names(detail, names))
    winner = outcome if outcome in match.players else None
    points = {player: 1 if outcome == "draw" else 3 if player == winner else 0 for player in match.players}
    status = {"draw": "DRAW", "none": "TECHNICAL_LOSS"}.get(outcome, "WIN")
    details = ResultDetails(choices=dict.fromkeys(match.players), drawn_number=None, status=status)  # type: ignore[arg-type]
    result = MatchResult(winner=winner, score=points, details=details)  # type: ignore[arg-type]
    return commands.correct(league, operation.match_id, result, operation.reason, at)


def _revoke_seat(league: League, operation: Operation, at: str) -> list[Event]:
    is_named = find_seat(league, operation.seat) is not None
    seat = operation.seat if is_named else codes.verifier("seat", operation.seat).hex()
    return commands.revoke_seat(league, seat, at)


Action = Callable[[League, Operation, str], list[Event]]
_ACTIONS: dict[str, Action] = {
    "start": lambda league, operation, at: commands.start(
        league, at, by_operator=True, max_matches=operation.max_matches
    ),
    "pause": lambda league, operation, at: commands.pause(league, operation.reason, at),
    "resume": lambda league, operation, at: commands.resume(league, operation.reason, at),
    "withdraw": lambda league, operation, at: commands.withdraw(league, operation.player_id, operation.reason, at),
    "readmit": lambda league, operation, at: commands.readmit(league, operation.player_id, operation.reason, at),
    "set": lambda league, operation, at: commands.change_settings(league, operation.settings, operation.reason, at),
    "disqualify": lambda league, operation, at: commands.disqualify(league, operation.player_id, operation.reason, at),
    "rematch": lambda league, operation, at: commands.rematch(league, operation.match_id, operation.reason, at),
    "correct": _correct,
    "seats_revoke": _revoke_seat,
}
