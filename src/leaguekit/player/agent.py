"""The player as a program: it registers, answers the calls of the manager and the referees, and keeps its history.

``caller_checks`` identifies the callers, ``move_chooser`` asks the strategy, and ``history`` writes the files.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import ask
from leaguekit.agents.credentials import TokenOwner
from leaguekit.agents.identity import Identity
from leaguekit.agents.logs import log_fields
from leaguekit.agents.registration import Before, Registrar, SendRegistration, describe_league_error
from leaguekit.agents.world import World
from leaguekit.match.move_messages import BY_CALL, MoveCall, make_response
from leaguekit.player.caller_checks import (
    CallerChecks,
    ManagerMessage,
    RefereeMessage,
    prepare_match,
)
from leaguekit.player.context import (
    OngoingMatch,
    PastMatch,
    UsageReporter,
    past_match,
    record_of,
)
from leaguekit.player.definition import PlayerDefinition
from leaguekit.player.history import MatchHistory
from leaguekit.player.move_chooser import LeagueFacts, MoveChooser
from leaguekit.player.sentences import CHECK, CHECK_OVER, is_league_of_check, place_sentence, result_sentence
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import shorten_json
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerState
from leaguekit.protocol.ids import PROTOCOL, PROTOCOL_VERSION, sender_of
from leaguekit.protocol.methods import BY_NAME, PING, read_call
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, Call, InvalidCall, RpcError, RpcRequest, answer
from leaguekit.transport.base import Peer

if TYPE_CHECKING:
    from leaguekit.player.open_profile import OpenPlayerProfile

Profile = Literal["spec", "open"]
GET_STATE = "get_player_state"
# Anyone may ask for the state. All matches of a long league would be a long answer to a short question.
MAX_SNAPSHOT_MATCHES = 50
# The number of different texts about requests that could not be answered.
MAX_REPORTS = 200
MAX_REPORT_CHARACTERS = 500

log = logging.getLogger(__name__)


class PlayerAgent:
    """One player in one league. Serve ``handle``, ``register``, and wait until it is ``finished``.

    ``seed`` makes the random numbers of the strategy repeatable. ``wanted_id`` asks for an id, which a manager may
    grant. ``notify`` is called with texts for the author: replaced moves, and the end of the league. A strategy that
    ``never_blocks`` runs in the event loop that serves the player. The ``profile`` "open" is for managers and referees
    that deviate from the documents.
    """

    def __init__(
        self,
        player: PlayerDefinition,
        world: World,
        manager_url: str,
        endpoint: str,
        *,
        seed: int | None = None,
        wanted_id: str | None = None,
        notify: Callable[[str], None] = lambda _text: None,
        never_blocks: bool = False,
        profile: Profile = "spec",
    ) -> None:
        self.player = player
        self.world = world
        meta = m.PlayerMeta(
            display_name=player.name,
            version=player.version,
            game_types=[*player.games],
            contact_endpoint=endpoint,
            protocol_version=PROTOCOL_VERSION,
        )
        self.finished = asyncio.Event()
        self._notify = notify
        self._reports: Counter[str] = Counter()
        self._open_profile: OpenPlayerProfile | None = None
        send: SendRegistration = ask
        if profile == "open":
            from leaguekit.player.open_profile import OpenPlayerProfile  # noqa: PLC0415 - the spec profile does not need it

            self._open_profile = OpenPlayerProfile(world, self._answer_spec, self._report, self.finished.set)
            send = self._open_profile.ask
        self.registrar = Registrar(
            *(world, manager_url, "player", meta, self._prepare),
            takes_game=player.takes_game,
            wanted_id=wanted_id,
            send=send,
        )
        self.league_id: str | None = None
        self.round_id: int | None = None
        self.standings: list[m.Standing] = []
        self._callers = CallerChecks(self.registrar)
        self.caller_verifier = self._callers.verifier
        self._chooser = MoveChooser(player, world, seed=seed, notify=notify, never_blocks=never_blocks)
        # The number of moves by origin, and the first moves that were replaced because the strategy failed.
        self.origins, self.replaced = self._chooser.origins, self._chooser.replaced
        self._history = MatchHistory(player, world)
        # The id of the match in play.
        self._current: str | None = None
        # Whether a LEAGUE_ERROR came before the registration, when no caller can prove to be the manager.
        self._has_unproven_error = False
        handlers: dict[type[m.Message], Callable[[Any], Awaitable[m.Message]]] = {
            m.RoundAnnouncement: self._announce_round,
            m.LeagueStandingsUpdate: self._update_standings,
            m.RoundCompleted: self._complete_round,
            m.LeagueCompleted: self._complete_league,
            m.GameInvitation: self._accept_invitation,
            **dict.fromkeys(BY_CALL, self._choose_move),
            m.GameOver: self._end_match,
            m.GameError: self._receive_game_error,
            m.LeagueError: self._receive_league_error,
        }
        # By the name of a method and the type of its message: one look-up finds the handler of a correct call.
        self._handlers: dict[tuple[str, type[m.Message | None]], Callable[[Any], Awaitable[m.Message]]] = {
            (name, method.request): handlers[method.request]
            for name, method in BY_NAME.items()
            if "player" in method.receivers
        }

    @property
    def identity(self) -> Identity | None:
        return self.registrar.identity

    @property
    def player_id(self) -> str | None:
        identity = self.registrar.identity
        return None if identity is None else identity.agent_id

    @property
    def state(self) -> PlayerState:
        if self.identity is None:
            return "UNREGISTERED"
        if self._current is None:
            return "REGISTERED" if self.round_id is None else "WAITING_FOR_ROUND"
        return "WAITING_FOR_RESULT" if self._callers.matches[self._current].chosen else "IN_MATCH"

    @property
    def history(self) -> dict[str, PastMatch]:
        """The past matches by their ids, the oldest first."""
        return self._history.matches

    @property
    def final(self) -> dict[str, Any] | None:
        """The player's own row of the final table and the champion, once the league is over."""
        return self._history.final

    # Registration

    async def register(self) -> Identity:
        """Register with the manager. This tries until the manager answers. Raises RegistrationRefused."""
        return await self.registrar.register()

    async def _prepare(self, identity: Identity, before: Before) -> None:
        self.league_id = identity.league_id
        if identity.auth_token and identity.league_id:
            path = self.registrar.folder(identity.league_id) / "history.jsonl"
            await self._history.open_log(path, came_back=before == "same")
        if is_league_of_check(identity.league_id):
            self._inform(CHECK)

    def _inform(self, text: str) -> None:
        log.info("%s", text)
        self._notify(text)

    async def close(self) -> None:
        """Write what still has to be written."""
        await self.registrar.close()
        await self._history.close()

    # Requests

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer any body."""
        return await self.answer(RpcRequest(body), peer)

    def answer(self, request: RpcRequest, peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer any request."""
        answer = self._answer_spec if self._open_profile is None else self._open_profile.answer
        return answer(request, peer)

    def _answer_spec(self, request: RpcRequest, peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer a request exactly as the documents say."""
        return answer(request, lambda call: self._call(call, peer), self._refuse, MAX_TRUSTED_BYTES)

    def _refuse(self, error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        """Refuse a request, and report that."""
        what = shorten_json(call.method) if call.method else "A request"
        self._report(f"{what} could not be answered: {error.code} {error.detail}")
        return player_refusal(error, call)

    def _report(self, text: str) -> None:
        """Report something that went wrong, for the author. What is repeated is reported when its number has doubled.

        Anybody can call a player, so the number of texts is limited.
        """
        text = sanitize_line(text)[:MAX_REPORT_CHARACTERS]
        if len(self._reports) >= MAX_REPORTS and text not in self._reports:
            text = "Other requests could not be answered"
        self._reports[text] += 1
        count = self._reports[text]
        if count.bit_count() == 1:
            times = "" if count == 1 else f" ({count} times)"
            log.info("%s%s", text, times)
            self._notify(f"{self.player.name}: {text}{times}")

    def admits_large_body(self, beginning: bytes, _peer: Peer) -> bool:
        """Whether the rest of a large body is read. It is, if the manager or a referee may have sent it."""
        identity = self.registrar.identity
        if identity is None or not identity.derived:
            return identity is not None or not self.registrar.is_settled()
        return self._callers.identify(beginning) is not None

    def identify_sender(self, beginning: bytes, _peer: Peer) -> TokenOwner | None:
        """The owner of the token in the beginning of a body: the manager, or the referee of a match."""
        return self._callers.identify(beginning)

    async def _call(self, call: Call, peer: Peer) -> Any:
        """The result of a call."""
        message = call.message
        if self._callers.own_tokens and isinstance(message, RefereeMessage):
            self._callers.check_host(message, peer, self._current)
        handler = self._handlers.get((call.method, type(message)))
        if handler is None:
            if message is None and call.method == GET_STATE:
                return self.snapshot()
            if message is None and call.method == PING:
                return {"status": "ok", "player_id": self.player_id, "league_id": self.league_id, **self.registrar.pong}
            method, message = read_call(call, "player")
            handler = self._handlers[method.name, method.request]
        if not self.registrar.is_settled():
            await self.registrar.settled()
        return await handler(message)

    def snapshot(self) -> dict[str, Any]:
        """The public state of the player. It says nothing about a match in play but that there is one."""
        matches = [*self.history.values()]
        return {
            "player_id": self.player_id,
            "display_name": self.player.name,
            "state": self.state,
            "league_id": self.league_id,
            "round": self.round_id,
            "league_completed": self.finished.is_set(),
            "record": record_of(matches),
            "matches": matches[-MAX_SNAPSHOT_MATCHES:],
        }

    # Messages of the manager

    async def _announce_round(self, message: m.RoundAnnouncement) -> m.RoundAnnouncementAck:
        fields = self._answer_manager(message)
        self.round_id = message.round_id
        ack = m.RoundAnnouncementAck(**fields, round_id=message.round_id)
        matches = [match for match in message.matches if match.referee_verifier is not UNSET]
        if matches:
            await self._callers.add_own_tokens(matches)
        return ack

    async def _update_standings(self, message: m.LeagueStandingsUpdate) -> m.StandingsUpdateAck:
        fields = self._answer_manager(message)
        self.standings = message.standings
        return m.StandingsUpdateAck(**fields, round_id=message.round_id)

    async def _complete_round(self, message: m.RoundCompleted) -> m.RoundCompletedAck:
        fields = self._answer_manager(message)
        # An invitation of the next round may have come before this message.
        if self._current is not None and (self._callers.matches[self._current].round_id or 0) <= message.round_id:
            self._current = None
        return m.RoundCompletedAck(**fields, round_id=message.round_id)

    async def _complete_league(self, message: m.LeagueCompleted) -> m.LeagueCompletedAck:
        fields = self._answer_manager(message)
        if isinstance(self.player.strategy, UsageReporter):
            log.info("%s.", str(self.player.strategy))
        self._current = None
        rows = message.final_standings
        own = next((row for row in rows if row.player_id == self.player_id), None)
        self._history.final = {"standing": own, "champion": message.champion}
        self._history.write(self._identity, self.league_id)
        is_check = is_league_of_check(self.league_id)
        place = "" if own is None or is_check else place_sentence(self.player.name, own, rows)
        if is_check and not self.finished.is_set():
            self._inform(CHECK_OVER)
        if self.round_id is None and not self.finished.is_set():
            self._inform("This league was over before this player registered. Start a new league to play again.")
        moves = f" Moves since it was started: {self.origins}." if self.origins.total else ""
        log.info("The league is over%s.%s", place and f"; {place}", moves, extra=log_fields(message))
        if place and not self.finished.is_set():
            self._notify(place)
        if moves and not self.finished.is_set():
            self._notify(f"Moves of {self.player.name} since it was started: {self.origins}")
        self.finished.set()
        return m.LeagueCompletedAck(**fields)

    async def _receive_league_error(self, message: m.LeagueError) -> m.LeagueErrorAck:
        identity = self.registrar.identity
        if identity is None:
            # No caller can prove to be the manager yet, so its text is not displayed.
            text = f"A caller that may not be the manager reports {message.error_code}."
        else:
            self._callers.check_manager(message, identity)
            text = describe_league_error(message)
        if identity is not None or not self._has_unproven_error:
            log.info("%s", text, extra=log_fields(message))
            self._notify(text)
        self._has_unproven_error = True
        return m.LeagueErrorAck(
            **m.envelope(self.registrar.sender, self.world.now(), message.conversation_id),
            status="ACKNOWLEDGED",
            player_id=UNSET if identity is None else identity.agent_id,
        )

    def _answer_manager(self, message: ManagerMessage) -> dict[str, Any]:
        """The fields of every answer to the manager. Raises ProtocolError if the sender is not the manager."""
        identity = self._identity
        self._callers.check_manager(message, identity)
        self.league_id = self.league_id or message.league_id
        return {
            "protocol": PROTOCOL,
            "sender": sender_of("player", identity.agent_id),
            "timestamp": self.world.timestamp(),
            "conversation_id": message.conversation_id,
            "auth_token": identity.auth_token or UNSET,
            "player_id": identity.agent_id,
            "status": "ACKNOWLEDGED",
        }

    # Messages of referees

    async def _accept_invitation(self, message: m.GameInvitation) -> m.GameJoinAck:
        identity = self._identity
        match = self._callers.find_match(message, message.match_id, identity)
        _check_addressee(message.player_id, identity)
        match.round_id, match.opponent_id, match.role = message.round_id, message.opponent_id, message.role_in_match
        # If the referee plays the match again, the strategy gets the same random numbers again.
        match.random = None
        match.forfeit = None
        self.league_id = self.league_id or message.league_id
        self.round_id = message.round_id
        self._current = message.match_id
        fields = self._answer_referee(message, message.match_id, match, identity)
        return m.GameJoinAck(**fields, arrival_timestamp=fields["timestamp"], accept=True)

    async def _choose_move(self, call: MoveCall) -> m.Message:
        identity = self._identity
        match = self._callers.find_match(call, call.match_id, identity)
        _check_addressee(call.player_id, identity)
        match.chosen = False
        self._current = call.match_id
        facts = LeagueFacts(identity.agent_id, self.league_id, self.standings, tuple(self._history.matches.values()))
        move, info = await self._chooser.choose(call, match, facts)
        match.chosen = True
        fields = self._answer_referee(call, call.match_id, match, self._identity)
        return make_response(call, move, {**fields, "move_info": info})

    async def _end_match(self, message: m.GameOver) -> m.GameOverAck:
        identity = self._identity
        is_ours = message.match_id in self._callers.matches or identity.agent_id in message.game_result.choices
        match = self._callers.find_match(message, message.match_id, identity)
        match.random = None
        if self._current == message.match_id:
            self._current = None
        past = past_match(message, identity.agent_id, match)
        if is_ours and self._history.add(past):
            self._history.write(identity, self.league_id)
            names = {identity.agent_id: self.player.name}
            log.info("%s", result_sentence(past, names, self.standings), extra=log_fields(message))
        return m.GameOverAck(**self._answer_referee(message, message.match_id, match, identity), status="ACKNOWLEDGED")

    async def _receive_game_error(self, message: m.GameError) -> m.GameErrorAck:
        match_id = message.match_id or self._current
        if match_id is None:
            raise ProtocolError("E003", "match_id is missing, and there is no match in play.")
        identity = self._identity
        match = self._callers.find_match(message, match_id, identity)
        error = (message.error_code, message.error_name or message.error_description, message.consequence or "")
        log.warning("%s: the referee reports %s %s. %s", match_id, *error, extra=log_fields(message))
        return m.GameErrorAck(**self._answer_referee(message, match_id, match, identity), status="ACKNOWLEDGED")

    def _answer_referee(
        self, message: m.Request, match_id: str, match: OngoingMatch, identity: Identity
    ) -> dict[str, Any]:
        """The fields of every answer to a referee."""
        if match.identity is not identity:
            prepare_match(match, match_id, identity)
        return {**match.answer_fields, "timestamp": self.world.timestamp(), "conversation_id": message.conversation_id}

    @property
    def _identity(self) -> Identity:
        """Raises ProtocolError before the registration."""
        identity = self.registrar.identity
        if identity is None:
            raise ProtocolError("E005", "This player has not registered.")
        return identity


def _check_addressee(player_id: str | UnsetType, identity: Identity) -> None:
    if player_id != identity.agent_id and player_id is not UNSET:
        raise ProtocolError("E005", f"This is {identity.agent_id}, not {player_id}.")
