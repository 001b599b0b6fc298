"""The referee as a program: it registers, answers the calls of the manager and the players, and plays matches.

This module is the server side. ``match_supervisor`` takes matches from assignment to report, and ``match_runner`` plays
one match.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from leaguekit.agents.credentials import TokenOwner, credentials_in
from leaguekit.agents.identity import Identity
from leaguekit.agents.logs import log_fields
from leaguekit.agents.registration import Before, Registrar, RegistrationRefused, describe_league_error
from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.games import GAMES, game
from leaguekit.games.base import SIDES
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import AgentState
from leaguekit.protocol.ids import PROTOCOL_VERSION, read_sender, sender_of
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.refusals import referee_refusal
from leaguekit.protocol.rpc import MAX_BYTES, MAX_TRUSTED_BYTES, Call, InvalidCall, RpcError, RpcRequest, answer
from leaguekit.protocol.tokens import SCHEME
from leaguekit.referee import announced_matches
from leaguekit.referee.manager_client import ManagerClient
from leaguekit.referee.match_supervisor import MatchSupervisor
from leaguekit.referee.player_client import PlayerClient, PlayerClientFactory, PlayerMessage
from leaguekit.transport.base import Peer

if TYPE_CHECKING:
    from leaguekit.referee.open_profile import OpenProfileHandler

__all__ = ["RefereeAgent", "RegistrationRefused"]

log = logging.getLogger(__name__)

GET_MATCH_STATE = "get_match_state"


class RefereeAgent:
    """A referee, on any network and with any clock. Serve ``handle``, then ``register``.

    ``finished`` is set when the league is over and the manager has every report.
    """

    def __init__(
        self,
        world: World,
        *,
        manager_url: str,
        endpoint: str,
        name: str,
        version: str = "1.0.0",
        game_types: Iterable[str] | None = None,
        max_concurrent: int = 2,
    ) -> None:
        self._world = world
        # The league's game is added, if it is known here.
        games = [*(GAMES if game_types is None else game_types)]
        meta = m.RefereeMeta(
            display_name=name,
            version=version,
            game_types=games,
            contact_endpoint=endpoint,
            max_concurrent_matches=max_concurrent,
            protocol_version=PROTOCOL_VERSION,
            token_scheme=SCHEME,
        )
        self.registrar = Registrar(world, manager_url, "referee", meta, self._prepare, takes_game=_takes_game)
        self._manager_client = ManagerClient(world, manager_url, self.registrar)
        self.matches = MatchSupervisor(
            world,
            self.registrar,
            self._manager_client,
            self._choose_client,
            self._become_active,
            game_types=games,
            max_concurrent=max_concurrent,
        )
        self.state: AgentState = "INIT"
        self.finished = asyncio.Event()
        self._finishing: asyncio.Task[None] | None = None
        # Handles every request first, in a league of the open profile.
        self._open_handler: OpenProfileHandler | None = None
        self._handlers: dict[type[m.Message], Callable[[Any, Identity], m.Message]] = {
            m.MatchAssignment: self._assign_match,
            m.RoundAnnouncement: self._announce_round,
            m.RoundCompleted: self._complete_round,
            m.LeagueCompleted: self._complete_league,
        }

    @property
    def referee_id(self) -> str | None:
        """The id from the registration, or None before it."""
        return None if self.registrar.identity is None else self.registrar.identity.agent_id

    @property
    def league_id(self) -> str | None:
        return None if self.registrar.identity is None else self.registrar.identity.league_id

    async def register(self) -> Identity:
        """Register with the manager, and deliver the rulings of an earlier run. Raises RegistrationRefused."""
        return await self.registrar.register()

    async def _prepare(self, identity: Identity, before: Before) -> None:
        if self.state == "INIT":
            self.state = "REGISTERED"
        await self.matches.open_journal(identity, before)

    async def close(self) -> None:
        """Cancel everything that is under way. The rulings are in the journal."""
        await cancel(self._finishing)
        await self.matches.cancel()
        await self._manager_client.close()
        await self.registrar.close()
        await self.matches.close()

    # Requests

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer any body."""
        return await self.answer(RpcRequest(body), peer)

    def answer(self, request: RpcRequest, peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer any request."""
        return (self._answer_spec if self._open_handler is None else self._open_handler.answer)(request, peer)

    def _answer_spec(self, request: RpcRequest, _peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer any request by the rules of the spec profile."""
        call = partial(self._call, size=len(request.body))
        return answer(request, call, self.refuse, MAX_TRUSTED_BYTES)

    def admits_large_body(self, beginning: bytes, _peer: Peer) -> bool:
        """Whether the rest of a large body is read. It is, if the manager may have sent it."""
        identity = self.registrar.identity
        if identity is None or not identity.derived:
            return identity is not None or not self.registrar.is_settled()
        return identity.may_be_manager(credentials_in(beginning).auth_token)

    def identify_sender(self, beginning: bytes, _peer: Peer) -> TokenOwner | None:
        """The owner of the token in the beginning of a body: the manager, or a player of a match."""
        identity, credentials = self.registrar.identity, credentials_in(beginning)
        if identity is None or not credentials.auth_token:
            return None
        if identity.derived and identity.may_be_manager(credentials.auth_token):
            return TokenOwner("manager", "the manager")
        runners = self.matches.remembered
        named = runners.get(credentials.match_id)
        for runner in runners.values() if named is None else (named,):
            for side in SIDES:
                if runner.seats.is_token_of(side, credentials.auth_token):
                    return TokenOwner("player", runner.seats[side].player_id)
        return None

    def refuse(self, error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        """The JSON-RPC error for a refusal of this referee."""
        return referee_refusal(sender_of("referee", self.referee_id or "unregistered"), self._world.now)(error, call)

    async def _call(self, call: Call, size: int) -> Any:
        """The result of a call."""
        if call.method == GET_MATCH_STATE:
            return self._match_state(call)
        if call.method == PING:
            pong = {"status": "ok", "league_id": self.league_id, "referee_id": self.referee_id, "state": self.state}
            return pong | self.registrar.pong
        _, message = read_call(call, "referee")
        if isinstance(message, m.LeagueError):
            return await self._receive_error(message)
        if isinstance(message, PlayerMessage):
            return self._receive_from_player(message, size)
        identity = self.registrar.identity if self.registrar.is_settled() else await self.registrar.settled()
        return self._handlers[type(message)](message, self._check_manager(message, identity))

    def _match_state(self, call: Call) -> Any:
        """The state of one match, or of all matches in play."""
        try:
            params = msgspec.json.decode(call.params or b"{}", type=dict[str, Any])
        except msgspec.DecodeError:
            raise ProtocolError("E043", "params must be an object.") from None
        if "match_id" not in params:
            return {"matches": [runner.state() for runner in self.matches.in_play.values()]}
        runner = self.matches.remembered.get(str(params["match_id"]))
        if runner is None:
            raise ProtocolError("E050")
        return runner.state()

    def _receive_from_player(self, message: PlayerMessage, size: int) -> m.MatchMessageAck:
        if size > MAX_BYTES:
            raise ProtocolError(
                "E046", f"The message has {size:,} bytes; at most {MAX_BYTES:,} are taken from a player."
            )
        runner = self.matches.remembered.get(message.match_id)
        if runner is None:
            raise ProtocolError("E050")
        return runner.receive(message)

    async def _receive_error(self, message: m.LeagueError) -> m.LeagueErrorAck:
        identity = await self.registrar.settled()
        if identity is not None:
            self._check_sender(message, identity)
            log.warning("%s", describe_league_error(message), extra=log_fields(message))
        return m.LeagueErrorAck(
            **m.envelope(self.registrar.sender, self._world.now(), message.conversation_id),
            status="ACKNOWLEDGED",
            referee_id=UNSET if identity is None else identity.agent_id,
        )

    def _check_manager(self, message: Any, identity: Identity | None) -> Identity:
        """Check that a message is from the manager of this league."""
        if identity is None:
            raise ProtocolError("E012", "This referee has not registered yet: nobody can prove to be its manager.")
        self._check_sender(message, identity)
        if identity.league_id not in (None, message.league_id):
            raise ProtocolError("E053", f"This referee belongs to the league {identity.league_id}.")
        return identity

    def _check_sender(self, message: m.Request, identity: Identity) -> None:
        if not identity.may_be_manager(message.auth_token):
            self.registrar.check_own_token()
            raise ProtocolError("E012", "That is not the token by which this referee knows its manager.")
        if read_sender(message.sender).role != "league_manager":
            raise ProtocolError("E055", f"Only the manager sends this, not {message.sender}.")

    # Messages of the manager

    def _assign_match(self, assignment: m.MatchAssignment, identity: Identity) -> m.MatchAssignmentAck:
        reason = self.matches.start(assignment, identity)
        if reason is not None:
            log.warning("%s is not taken: %s", assignment.match_id, reason, extra=log_fields(assignment))
        return m.MatchAssignmentAck(
            **self._answer_fields(assignment, identity),
            status="ACCEPTED" if reason is None else "REJECTED",
            match_id=assignment.match_id,
            attempt=assignment.attempt,
            reason=reason,
        )

    def _announce_round(self, message: m.RoundAnnouncement, identity: Identity) -> m.RoundAnnouncementAck:
        self._become_active()
        if message.profile == "open":
            self._enter_open_profile().record_announcement(message)
        if not identity.derived:
            # A manager that derives no tokens implements only the documents, and sends no assignments.
            matches = announced_matches.own_matches(message, self.registrar.endpoint, identity.agent_id)
            if matches:
                self.matches.start_announced(message, matches, identity)
        log.info("round %d is announced", message.round_id, extra=log_fields(message))
        return m.RoundAnnouncementAck(**self._ack_fields(message, identity), round_id=message.round_id)

    def _complete_round(self, message: m.RoundCompleted, identity: Identity) -> m.RoundCompletedAck:
        log.info("round %d is over", message.round_id, extra=log_fields(message))
        return m.RoundCompletedAck(**self._ack_fields(message, identity), round_id=message.round_id)

    def _complete_league(self, message: m.LeagueCompleted, identity: Identity) -> m.LeagueCompletedAck:
        log.info("the league is over", extra=log_fields(message))
        self.state = "SHUTDOWN"
        self._manager_client.league_is_over = True
        if self._finishing is None:
            self._finishing = asyncio.create_task(self._finish())
        return m.LeagueCompletedAck(**self._ack_fields(message, identity))

    async def _finish(self) -> None:
        await self.matches.wait_finished()
        self.finished.set()

    def _ack_fields(self, message: m.Request, identity: Identity) -> dict[str, Any]:
        fields = self._answer_fields(message, identity)
        return {**fields, "status": "ACKNOWLEDGED", "referee_id": identity.agent_id}

    def _answer_fields(self, message: m.Request, identity: Identity) -> dict[str, Any]:
        sender = sender_of("referee", identity.agent_id)
        # If tokens are not derived, no caller can prove to be the manager, and the answer must not contain the token.
        token = {"auth_token": identity.auth_token} if identity.derived else {}
        return {**m.envelope(sender, self._world.now(), message.conversation_id), **token}

    def _become_active(self) -> None:
        if self.state == "REGISTERED":
            self.state = "ACTIVE"

    # The open profile

    def _choose_client(self, assignment: m.MatchAssignment) -> PlayerClientFactory:
        return self._enter_open_profile().make_client if assignment.profile == "open" else PlayerClient

    def _enter_open_profile(self) -> OpenProfileHandler:
        """The handler of the open profile. It handles all requests from now on."""
        if self._open_handler is None:
            from leaguekit.referee.open_profile import OpenProfileHandler  # noqa: PLC0415 - not needed in the spec profile

            runners = self.matches.remembered
            self._open_handler = OpenProfileHandler(self._world, self.registrar.endpoint, runners, self._answer_spec)
        return self._open_handler


def _takes_game(game_type: str) -> bool:
    """Whether the game of a league is installed. Raises RegistrationRefused if it is not."""
    try:
        game(game_type)
    except ProtocolError as error:
        reason = f"This referee does not register: the league plays {game_type}. {error.detail}"
        remedy = "Then start it again."
        raise RegistrationRefused(reason, remedy, error.code) from error
    return True
