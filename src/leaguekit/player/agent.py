"""The player's program: what answers a league's calls, asks the author's strategy for moves, and remembers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET, UnsetType

from leaguekit.agents.credentials import Known, credentials_in
from leaguekit.agents.logs import about
from leaguekit.agents.registration import UNNAMED, Before, Identity, Kind, Registrar, text_of
from leaguekit.agents.world import World
from leaguekit.player.caller_checks import (
    CallerVerifier,
    RefereeMessage,
    RefereeOwnToken,
    common_of,
    is_referees,
    match_of,
)
from leaguekit.player.context import (
    Context,
    History,
    MoveCall,
    OngoingMatch,
    PastMatch,
    ReplacedMove,
    past_match,
    question_of,
    record_of,
    seconds_for,
    tally_of,
)
from leaguekit.player.decisions import Decision, decide, decide_at_once, is_quick
from leaguekit.player.definition import PlayerDefinition
from leaguekit.player.history import DialectMemory, remember
from leaguekit.player.keyed_random import KeyedRandom, match_key
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerState
from leaguekit.protocol.ids import PROTOCOL, PROTOCOL_VERSION, sender_of
from leaguekit.protocol.messages.matches import MAX_REASON
from leaguekit.protocol.methods import BY_NAME, PING, read_call
from leaguekit.protocol.plain_text import without_places
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_BYTES_FROM_ABOVE, Call, RpcRequest, answer
from leaguekit.protocol.tokens import redacted
from leaguekit.store.base import StoreError
from leaguekit.store.files import Shared, Views, ViewWriter
from leaguekit.transport.addresses import Resolver, addresses_of, plain_address
from leaguekit.transport.base import Peer

PLAYER = Kind("player", m.LeagueRegisterRequest, m.LeagueRegisterResponse)
GET_STATE = "get_player_state"
# Of the moves that were played for a strategy, so many are remembered.
MAX_REPLACED = 20
_OWN = m.MoveInfo(origin="own")
# To anybody who asks: all of a long league would be a long answer to a short question.
MAX_MATCHES_SHOWN = 50
# How often the file is written that shows the matches so far. A match is in it within a second.
HISTORIES_A_SECOND = 1.1

log = logging.getLogger(__name__)

ManagerMessage = m.RoundAnnouncement | m.LeagueStandingsUpdate | m.RoundCompleted | m.LeagueCompleted


class PlayerAgent:
    """One player in one league. Give ``handle`` to a server, ``register``, and wait until it is ``finished``.

    ``seed`` makes the strategy's chance repeatable; ``wanted_id`` asks for an id, which a manager may grant. ``tell``
    hears what the author must know at once: moves that had to be played for the strategy, and the end. A strategy that
    ``never_blocks`` is asked in the loop that serves the player.
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
        tell: Callable[[str], None] = lambda _text: None,
        never_blocks: bool = False,
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
        self.registrar = Registrar(world, manager_url, PLAYER, meta, self._prepare, wanted_id=wanted_id)
        self.league_id: str | None = None
        self.round_id: int | None = None
        self.standings: list[m.Standing] = []
        self.history: dict[str, PastMatch] = {}
        self.final: dict[str, Any] | None = None
        # How many moves were the strategy's own, and the first of those that were not.
        # Whether a LEAGUE_ERROR came that nobody can prove to be the manager's.
        self._heard_unproven = False
        self.origins = m.MoveOrigins()
        self.replaced: list[ReplacedMove] = []
        self.finished = asyncio.Event()
        self._seed = seed
        self._tell = tell
        self._asks_here = never_blocks or world.inline
        self._is_quick = is_quick(player.strategy)
        self._chance_of_all: KeyedRandom | None = None
        self._matches: dict[str, OngoingMatch] = {}
        self._current: str | None = None
        # By match, what the manager has announced of a referee that shows its own token.
        self._own_tokens: dict[str, RefereeOwnToken] = {}
        self._resolver = Resolver()
        self._memory: DialectMemory | None = None
        self._views = Views(world.data_root)
        # Whose history file waits for its turn to be written: what it will say is made then.
        self._to_save: str | None = None
        self._writer = ViewWriter(HISTORIES_A_SECOND, files=world.files, inline=world.inline, stretch=False)
        handlers: dict[type[m.Message], Callable[[Any], Awaitable[m.Message]]] = {
            m.RoundAnnouncement: self._round_announced,
            m.LeagueStandingsUpdate: self._standings_updated,
            m.RoundCompleted: self._round_completed,
            m.LeagueCompleted: self._league_completed,
            m.GameInvitation: self._invited,
            m.ChooseParityCall: self._asked,
            m.GameMoveCall: self._asked,
            m.GameOver: self._over,
            m.GameError: self._told_of_error,
            m.LeagueError: self._told_of_league_error,
        }
        # By a method's name and what it carries: a call that is right is found at one go.
        self._handlers: dict[tuple[str, type[m.Message | None]], Callable[[Any], Awaitable[m.Message]]] = {
            (name, method.request): handlers[method.request]
            for name, method in BY_NAME.items()
            if PLAYER.role in method.receivers
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
        return "WAITING_FOR_RESULT" if self._matches[self._current].chosen else "IN_MATCH"

    async def close(self) -> None:
        """Write what is still to be written."""
        await self.registrar.close()
        await self._writer.close()
        if self._memory is not None:
            self._memory.close()

    # Registration.

    async def register(self) -> Identity:
        """Introduce the player to the manager, for as long as it takes. Raises RegistrationRefused."""
        return await self.registrar.register()

    async def _prepare(self, identity: Identity, before: Before) -> None:
        self.league_id = identity.league_id
        if self._memory is None and identity.auth_token and identity.league_id:
            path = self.registrar.folder(identity.league_id) / "history.jsonl"
            try:
                self._memory = await self.world.blocking(DialectMemory, path, self.world.files, before == "same")
            except StoreError as error:
                log.warning("%s", error)
            else:
                self.history = self._memory.matches

    # Answers.

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer a body, whatever it is."""
        return await self.answer(RpcRequest(body), peer)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request, whatever it is."""
        return await answer(request, lambda call: self._call(call, peer), player_refusal, MAX_BYTES_FROM_ABOVE)

    def admits(self, beginning: bytes, _peer: Peer) -> bool:
        """Whether the rest of a large body is read: if it is from the manager or a referee, as far as can be known."""
        me = self.registrar.identity
        if me is None or not me.derived:
            return me is not None or not self.registrar.is_settled()
        return self.caller(beginning, _peer) is not None

    def caller(self, beginning: bytes, _peer: Peer) -> Known | None:
        """Whose token the beginning of a body shows: the manager's, or that of a match's referee."""
        me, shown = self.registrar.identity, credentials_in(beginning)
        if me is None or not me.derived or not shown.auth_token:
            return None
        if me.may_be_manager(shown.auth_token):
            return Known("manager", "the manager")
        is_one = is_referees(self._matches, shown, me, self._own_tokens.get(shown.match_id))
        # Not by its sender: nothing proves that of a referee which shows its own token.
        return Known("referee", tokens.shortened(shown.auth_token)) if is_one else None

    def callers(self) -> CallerVerifier | None:
        """By what a gateway recognises those whose tokens this player takes; None while it takes anybody's, or none."""
        me = self.registrar.identity
        if me is None or not me.derived:
            return None
        verifiers = {own.verifier for own in self._own_tokens.values()}
        return CallerVerifier(
            player_id=me.agent_id, league_id=str(me.league_id), key=me.key, verifiers=sorted(verifiers)
        )

    async def _call(self, call: Call, peer: Peer) -> Any:
        """The result of a call."""
        message = call.message
        if self._own_tokens and isinstance(message, RefereeMessage):
            self._check_host(message, peer)
        handler = self._handlers.get((call.method, type(message)))
        if handler is None:
            if message is None and call.method == GET_STATE:
                return self.snapshot()
            if message is None and call.method == PING:
                return {"status": "ok", "player_id": self.player_id, "league_id": self.league_id, **self.registrar.pong}
            method, message = read_call(call, PLAYER.role)
            handler = self._handlers[method.name, method.request]
        if not self.registrar.is_settled():
            await self.registrar.settled()
        return await handler(message)

    def snapshot(self) -> dict[str, Any]:
        """What anybody may know: nothing of a match that is still in play but that there is one."""
        matches = [*self.history.values()]
        return {
            "player_id": self.player_id,
            "display_name": self.player.name,
            "state": self.state,
            "league_id": self.league_id,
            "round": self.round_id,
            "league_completed": self.finished.is_set(),
            "record": record_of(matches),
            "matches": matches[-MAX_MATCHES_SHOWN:],
        }

    async def _round_announced(self, message: m.RoundAnnouncement) -> m.RoundAnnouncementAck:
        common = self._from_manager(message)
        self.round_id = message.round_id
        ack = m.RoundAnnouncementAck(**common, round_id=message.round_id)
        shown = [match for match in message.matches if match.referee_verifier is not UNSET]
        return await self._note_own_tokens(shown, ack) if shown else ack

    async def _note_own_tokens(
        self, matches: list[m.AnnouncedMatch], ack: m.RoundAnnouncementAck
    ) -> m.RoundAnnouncementAck:
        """Note which referees show their own tokens, and the hosts from which these count."""
        urls = {match.referee_endpoint for match in matches}
        hosts = {url: await addresses_of(url, self._resolver) for url in urls}
        for match in matches:
            verifier = bytes.fromhex(str(match.referee_verifier))
            self._own_tokens[match.match_id] = RefereeOwnToken(verifier, hosts[match.referee_endpoint])
        return ack

    def _check_host(self, message: RefereeMessage, peer: Peer) -> None:
        """Refuse a referee's own token from another host: other players have seen it, too."""
        known = self._own_tokens.get(message.match_id or self._current or "")
        if known is None or not message.auth_token or not tokens.recognised(message.auth_token, known.verifier):
            return
        # Behind a relay nobody knows where a call came from.
        if peer.host and plain_address(peer.host) not in known.hosts:
            raise self._stranger()

    async def _standings_updated(self, message: m.LeagueStandingsUpdate) -> m.StandingsUpdateAck:
        common = self._from_manager(message)
        self.standings = message.standings
        return m.StandingsUpdateAck(**common, round_id=message.round_id)

    async def _round_completed(self, message: m.RoundCompleted) -> m.RoundCompletedAck:
        common = self._from_manager(message)
        # The next round's invitation may have overtaken this.
        if self._current is not None and (self._matches[self._current].round_id or 0) <= message.round_id:
            self._current = None
        return m.RoundCompletedAck(**common, round_id=message.round_id)

    async def _league_completed(self, message: m.LeagueCompleted) -> m.LeagueCompletedAck:
        common = self._from_manager(message)
        if tally_of(self.player.strategy) is not None:
            log.info("%s.", str(self.player.strategy))
        self._current = None
        own = next((row for row in message.final_standings if row.player_id == self.player_id), None)
        self.final = {"standing": own, "champion": message.champion}
        self._save()
        place = ""
        if own is not None:
            points = f"{own.points} point{'' if own.points == 1 else 's'}"
            place = f"{self.player.name} is number {own.rank} with {points}"
        moves = f" Moves since it was started: {self.origins}." if self.origins.total else ""
        log.info("The league is over%s.%s", place and f"; {place}", moves, extra=about(message))
        if not self.finished.is_set():
            self._tell_the_end(place)
        self.finished.set()
        return m.LeagueCompletedAck(**common)

    def _tell_the_end(self, place: str) -> None:
        if place:
            self._tell(place)
        if self.origins.total:
            self._tell(f"Moves of {self.player.name} since it was started: {self.origins}")

    async def _invited(self, message: m.GameInvitation) -> m.GameJoinAck:
        me = self._me
        match = self._match(message, message.match_id, me)
        _check_addressee(message.player_id, me)
        match.round_id, match.opponent_id, match.role = message.round_id, message.opponent_id, message.role_in_match
        # A referee that has forgotten the match plays it anew, and chance is the same again.
        match.random = None
        self.league_id = self.league_id or message.league_id
        self.round_id = message.round_id
        self._current = message.match_id
        common = self._of_match(message, message.match_id, match, me)
        return m.GameJoinAck(**common, arrival_timestamp=common["timestamp"], accept=True)

    async def _asked(self, call: MoveCall) -> m.Message:
        me = self._me
        match = self._match(call, call.match_id, me)
        _check_addressee(call.player_id, me)
        match.chosen = False
        self._current = call.match_id
        if self._is_quick:
            # Without a deadline, at which ours do not look: to read the call's two times is a fifth of its answer.
            return self._moved(call, match, decide_at_once(self.player.strategy, self._context(call, match, None)))
        seconds = seconds_for(call)
        ctx = self._context(call, match, self.world.now() + timedelta(seconds=seconds))
        return self._moved(call, match, await decide(self.player.strategy, ctx, seconds, inline=self._asks_here))

    def _moved(self, call: MoveCall, match: OngoingMatch, decision: Decision) -> m.Message:
        move, info = decision.move, _OWN
        if decision.origin == "own":
            self.origins.own += 1
        else:
            info = m.MoveInfo(origin=decision.origin, reason=_reason(decision.reason))
            self.origins.count(info)
            self._note_not_own(call, decision)
        match.chosen = True
        common = self._of_match(call, call.match_id, match, self._me)
        if isinstance(call, m.ChooseParityCall):
            return m.ChooseParityResponse(**common, parity_choice=move, move_info=info)
        return m.GameMoveResponse(**common, move_data=move, move_info=info)

    def _note_not_own(self, call: MoveCall, decision: Decision) -> None:
        """Keep a move that is not the strategy's own. Tell the author, unless the strategy itself says so."""
        replaced = ReplacedMove(call.match_id, decision.move, decision.fault or decision.reason, decision.error)
        if decision.origin == "replaced" and len(self.replaced) < MAX_REPLACED:
            self.replaced.append(replaced)
        if decision.fault is None:
            return
        told = (replaced.match_id, replaced.fault, replaced.move)
        log.error("%s: %s; played %r instead.", *told, exc_info=replaced.error, extra=about(call))
        self._tell(str(replaced))

    def _context(self, call: MoveCall, match: OngoingMatch, deadline: datetime | None) -> Context:
        question = question_of(call)
        known = call.context or None
        history = tuple(self.history.values())
        record = known.your_standings if known is not None and known.your_standings is not UNSET else record_of(history)
        if record.points is UNSET:
            record.points = 3 * record.wins + record.draws
        if match.random is None:
            match.random = self._chance(call.match_id, match.attempt)
        return Context(
            game_type=call.game_type,
            move_type=question.move_type,
            valid_options=[*question.valid_options],
            view=question.context,
            league_id=self.league_id,
            player_id=str(self.player_id),
            match_id=call.match_id,
            round_id=call.round_id or (match.round_id if known is None else known.round_id),
            opponent_id=match.opponent_id if known is None else known.opponent_id,
            role=match.role,
            record=record,
            standings=self.standings,
            history=history,
            deadline=deadline,
            random=match.random,
            now=self.world.now,
        )

    def _chance(self, match_id: str, attempt: int) -> KeyedRandom:
        if self._seed is None:
            # Ours share one, which is quicker; an author's may go on with it in a thread when its match is over.
            if self._chance_of_all is None or not self._is_quick:
                self._chance_of_all = KeyedRandom(self.world.entropy(16))
            return self._chance_of_all
        return KeyedRandom(match_key(self._seed, str(self.player_id), match_id, attempt))

    async def _over(self, message: m.GameOver) -> m.GameOverAck:
        me = self._me
        is_ours = message.match_id in self._matches or me.agent_id in message.game_result.choices
        match = self._match(message, message.match_id, me)
        match.random = None
        if self._current == message.match_id:
            self._current = None
        past = past_match(message, me.agent_id, match)
        if is_ours and self.history.get(past.match_id) != past:
            remember(self.history, past)
            if self._memory is not None:
                self._memory.add(past)
            self._save()
            log.info("%s: %s. %s", past.match_id, past.result, past.reason, extra=about(message))
        return m.GameOverAck(**self._of_match(message, message.match_id, match, me), status="ACKNOWLEDGED")

    async def _told_of_error(self, message: m.GameError) -> m.GameErrorAck:
        match_id = message.match_id or self._current
        if match_id is None:
            raise ProtocolError("E003", "match_id is missing, and there is no match in play.")
        me = self._me
        match = self._match(message, match_id, me)
        told = (message.error_code, message.error_name or message.error_description, message.consequence or "")
        log.warning("%s: the referee reports %s %s. %s", match_id, *told, extra=about(message))
        return m.GameErrorAck(**self._of_match(message, match_id, match, me), status="ACKNOWLEDGED")

    async def _told_of_league_error(self, message: m.LeagueError) -> m.LeagueErrorAck:
        me = self.registrar.identity
        if me is not None and not me.may_be_manager(message.auth_token):
            raise self._stranger()
        # Before the registration no caller can prove to be the manager, and its words are not shown.
        text = f"A caller that may not be the manager reports {message.error_code}." if me is None else text_of(message)
        if me is not None or not self._heard_unproven:
            log.info("%s", text, extra=about(message))
            self._tell(text)
        self._heard_unproven = True
        return m.LeagueErrorAck(
            **m.envelope(self.registrar.sender, self.world.now(), message.conversation_id),
            status="ACKNOWLEDGED",
            player_id=UNSET if me is None else me.agent_id,
        )

    # Who is speaking, and how we show who we are.

    @property
    def _me(self) -> Identity:
        identity = self.registrar.identity
        if identity is None:
            raise ProtocolError("E005", "This player has not registered.")
        return identity

    def _from_manager(self, message: ManagerMessage) -> dict[str, Any]:
        """What every answer to the manager carries, if it is the manager who speaks."""
        me = self._me
        if not me.may_be_manager(message.auth_token):
            raise self._stranger()
        self.league_id = self.league_id or message.league_id
        return {
            "protocol": PROTOCOL,
            "sender": sender_of("player", me.agent_id),
            "timestamp": self.world.timestamp(),
            "conversation_id": message.conversation_id,
            "auth_token": me.auth_token or UNSET,
            "player_id": me.agent_id,
            "status": "ACKNOWLEDGED",
        }

    def _stranger(self) -> ProtocolError:
        self.registrar.doubt()
        detail = "The auth_token is not the one that was made for this caller."
        return ProtocolError("E012", detail, data={"player_id": self.player_id})

    def _match(self, message: RefereeMessage, match_id: str, me: Identity) -> OngoingMatch:
        """The match that a referee's message is about."""
        match = match_of(self._matches, message, match_id, me, self._own_tokens.get(match_id))
        if match is None:
            raise self._stranger()
        return match

    def _of_match(self, message: m.Request, match_id: str, match: OngoingMatch, me: Identity) -> dict[str, Any]:
        """What every answer to a referee carries."""
        common = match.common if match.identity is me else common_of(match, match_id, me)
        return {**common, "timestamp": self.world.timestamp(), "conversation_id": message.conversation_id}

    def _save(self) -> None:
        me = self._me.agent_id
        if self._to_save != me:
            self._to_save = me
            self._writer.renew(self._views.history(self.league_id or UNNAMED, me), self._saved)

    def _saved(self) -> Shared:
        self._to_save = None
        matches, tally = [*self.history.values()], tally_of(self.player.strategy)
        me = self._me
        history = History(
            player_id=me.agent_id,
            league_id=self.league_id,
            joined_at=me.joined_at,
            display_name=self.player.name,
            record=record_of(matches),
            matches=matches,
            final=self.final,
            account=UNSET if tally is None else tally.account(),
        )
        return Shared(history, self._views.newest_history(me.agent_id), me.joined_at, self.league_id)


def _reason(text: str) -> str:
    """As much of a reason as an answer may carry, on one line, without tokens and addresses."""
    line: str = without_places(redacted(" ".join(text.split())))
    return line if len(line) <= MAX_REASON else f"{line[: MAX_REASON - 1]}…"


def _check_addressee(player_id: str | UnsetType, me: Identity) -> None:
    if player_id != me.agent_id and player_id is not UNSET:
        raise ProtocolError("E005", f"This is {me.agent_id}, not {player_id}.")
