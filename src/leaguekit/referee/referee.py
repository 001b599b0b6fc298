"""The referee: registers, takes the matches that it is assigned, plays several at once, and reports each.

This is its server side and what becomes of a match from its assignment to its report; how one match is played is
``refereeing``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from leaguekit.agents.credentials import Known, credentials_in
from leaguekit.agents.logs import about
from leaguekit.agents.registration import Before, Identity, Kind, Registrar, RegistrationRefused, text_of
from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.games.base import SIDES
from leaguekit.match.rulings import Verdict
from leaguekit.match.signals import Void
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import AgentState
from leaguekit.protocol.ids import PROTOCOL_VERSION, read_sender, sender_of
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.refusals import referee_refusal
from leaguekit.protocol.rpc import MAX_BYTES, MAX_BYTES_FROM_ABOVE, Call, Refused, RpcError, RpcRequest, answer
from leaguekit.protocol.tokens import SCHEME
from leaguekit.referee import announced_matches
from leaguekit.referee.manager_client import ManagerClient
from leaguekit.referee.match_file import match_view
from leaguekit.referee.match_runner import MatchRunner, RulingRecord
from leaguekit.referee.player_client import PlayerMessage, SpecPlayerClient
from leaguekit.referee.ruling_journal import RulingJournal
from leaguekit.referee.transcripts import WrittenTranscript
from leaguekit.store.base import StoreError
from leaguekit.store.files import Views, ViewWriter
from leaguekit.store.journal import Journal
from leaguekit.transport.base import Peer

if TYPE_CHECKING:
    from leaguekit.referee.open_profile import OpenProfileHandler

__all__ = ["RefereeAgent", "RegistrationRefused"]

log = logging.getLogger(__name__)

REFEREE = Kind("referee", m.RefereeRegisterRequest, m.RefereeRegisterResponse)
GET_MATCH_STATE = "get_match_state"
# Of so many matches a player may still hear how they stand.
MAX_REMEMBERED = 200


class RefereeAgent:
    """A referee's program on any network and in any time. Serve ``handle``, then ``register``.

    ``finished`` is set when the league is over and the manager has everything.
    """

    def __init__(
        self,
        world: World,
        *,
        manager_url: str,
        endpoint: str,
        name: str,
        version: str = "1.0.0",
        game_types: Sequence[str] = tuple(GAMES),
        max_concurrent: int = 2,
    ) -> None:
        self._world = world
        self._game_types = tuple(game_types)
        self._max_concurrent = max_concurrent
        meta = m.RefereeMeta(
            display_name=name,
            version=version,
            game_types=list(game_types),
            contact_endpoint=endpoint,
            max_concurrent_matches=max_concurrent,
            protocol_version=PROTOCOL_VERSION,
            token_scheme=SCHEME,
        )
        self.registrar = Registrar(world, manager_url, REFEREE, meta, self._prepare)
        self._reports = ManagerClient(world, manager_url, self.registrar)
        self._views = Views(world.data_root)
        self._view_writer = ViewWriter(files=world.files, inline=world.inline)
        self._rulings: RulingJournal | None = None
        self.state: AgentState = "INIT"
        self.finished = asyncio.Event()
        # The latest attempt that was taken at each match; which of them are in play; the matches by their id.
        self._attempts: dict[str, int] = {}
        self._in_play: dict[str, MatchRunner] = {}
        self._matches: dict[str, MatchRunner] = {}
        # Matches that are not in ``_matches`` any more, but whose players are still being told.
        self._earlier: list[MatchRunner] = []
        # Set whenever a match is no longer in play.
        self._has_room = asyncio.Event()
        self._reporting: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None
        # Stands before it in a league of the open profile.
        self._open: OpenProfileHandler | None = None
        self._handlers: dict[type[m.Message], Callable[[Any, Identity], m.Message]] = {
            m.MatchAssignment: self._start_match,
            m.RoundAnnouncement: self._hear_of_round,
            m.RoundCompleted: self._hear_of_rounds_end,
            m.LeagueCompleted: self._hear_of_leagues_end,
        }

    @property
    def referee_id(self) -> str | None:
        """The id it was given, once it has one."""
        return None if self.registrar.identity is None else self.registrar.identity.agent_id

    @property
    def league_id(self) -> str | None:
        return None if self.registrar.identity is None else self.registrar.identity.league_id

    async def register(self) -> Identity:
        """Be taken on by the manager, and deliver what an earlier run left. Raises RegistrationRefused."""
        return await self.registrar.register()

    async def _prepare(self, identity: Identity, before: Before) -> None:
        if self.state == "INIT":
            self.state = "REGISTERED"
        if self._rulings is None:
            path = self.registrar.folder(identity.league_id) / "journal.jsonl"
            # What was ruled in another league of this name is nothing to this one.
            is_ours = before != "another"
            journal = await self._world.blocking(lambda: Journal(path, self._world.files, is_ours=is_ours))
            self._rulings = RulingJournal(self._world, journal)
            for match_id, attempt in journal.done():
                self._attempts[match_id] = max(attempt, self._attempts.get(match_id, 0))
            for entry in journal.pending():
                ruling = msgspec.json.decode(entry, type=RulingRecord)
                self._attempts[ruling.match_id] = ruling.attempt
                self._task(self._deliver_late(ruling))

    async def close(self) -> None:
        """Break off whatever is under way; what was ruled is in the journal."""
        tasks = [*self._reporting, *([] if self._ending is None else [self._ending])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for match in [*self._matches.values(), *self._earlier]:
            await match.close()
        await self._reports.close()
        await self.registrar.close()
        await self._view_writer.close()
        if self._rulings is not None:
            await self._rulings.close()

    # Its server side

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer a body, whatever it is."""
        return await self.answer(RpcRequest(body), peer)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request, whatever it is."""
        return await (self._answer_spec if self._open is None else self._open.answer)(request, peer)

    async def _answer_spec(self, request: RpcRequest, _peer: Peer) -> bytes | None:
        """Answer a request exactly as the documents say."""
        call = partial(self._call, size=len(request.body))
        return await answer(request, call, self.refuse, MAX_BYTES_FROM_ABOVE)

    def admits(self, beginning: bytes, _peer: Peer) -> bool:
        """Whether the rest of a large body is read: if it is from the manager, as far as can be known."""
        me = self.registrar.identity
        if me is None or not me.derived:
            return me is not None or not self.registrar.is_settled()
        return me.may_be_manager(credentials_in(beginning).auth_token)

    def caller(self, beginning: bytes, _peer: Peer) -> Known | None:
        """Whose token the beginning of a body shows: the manager's, or that of a player of a match."""
        me, shown = self.registrar.identity, credentials_in(beginning)
        if me is None or not shown.auth_token:
            return None
        if me.derived and me.may_be_manager(shown.auth_token):
            return Known("manager", "the manager")
        named = self._matches.get(shown.match_id)
        for match in self._matches.values() if named is None else (named,):
            for side in SIDES:
                if match.seats.is_token_of(side, shown.auth_token):
                    return Known("player", match.seats[side].player_id)
        return None

    def refuse(self, error: ProtocolError, call: Call | Refused) -> RpcError:
        """How this referee words a refusal."""
        return referee_refusal(sender_of("referee", self.referee_id or "unregistered"), self._world.now)(error, call)

    async def _call(self, call: Call, size: int) -> Any:
        """The result of a call."""
        if call.method == GET_MATCH_STATE:
            return self._match_state(call)
        if call.method == PING:
            known = {"status": "ok", "league_id": self.league_id, "referee_id": self.referee_id, "state": self.state}
            return known | self.registrar.pong
        _, message = read_call(call, "referee")
        if isinstance(message, m.LeagueError):
            return await self._told_of_error(message)
        if isinstance(message, PlayerMessage):
            return self._take(message, size)
        identity = self.registrar.identity if self.registrar.is_settled() else await self.registrar.settled()
        return self._handlers[type(message)](message, self._check_manager(message, identity))

    async def _told_of_error(self, message: m.LeagueError) -> m.LeagueErrorAck:
        me = await self.registrar.settled()
        if me is not None:
            self._check_speaker(message, me)
            log.warning("%s", text_of(message), extra=about(message))
        return m.LeagueErrorAck(
            **m.envelope(self.registrar.sender, self._world.now(), message.conversation_id),
            status="ACKNOWLEDGED",
            referee_id=UNSET if me is None else me.agent_id,
        )

    def _check_manager(self, message: Any, identity: Identity | None) -> Identity:
        """Judge whether the manager of this league speaks."""
        if identity is None:
            raise ProtocolError("E012", "This referee has not registered yet: nobody can prove to be its manager.")
        self._check_speaker(message, identity)
        if identity.league_id not in (None, message.league_id):
            raise ProtocolError("E053", f"This referee belongs to the league {identity.league_id}.")
        return identity

    def _check_speaker(self, message: m.Request, identity: Identity) -> None:
        if not identity.may_be_manager(message.auth_token):
            self.registrar.doubt()
            raise ProtocolError("E012", "That is not the token by which this referee knows its manager.")
        if read_sender(message.sender).role != "league_manager":
            raise ProtocolError("E055", f"Only the manager sends this, not {message.sender}.")

    def _match_state(self, call: Call) -> Any:
        """Where one match stands, or all that are in play."""
        try:
            asked = msgspec.json.decode(call.params or b"{}", type=dict[str, Any])
        except msgspec.DecodeError:
            raise ProtocolError("E043", "params must be an object.") from None
        if "match_id" not in asked:
            return {"matches": [match.state() for match in self._in_play.values()]}
        match = self._matches.get(str(asked["match_id"]))
        if match is None:
            raise ProtocolError("E050")
        return match.state()

    def _take(self, message: PlayerMessage, size: int) -> m.MatchMessageAck:
        if size > MAX_BYTES:
            raise ProtocolError(
                "E046", f"The message has {size:,} bytes; at most {MAX_BYTES:,} are taken from a player."
            )
        match = self._matches.get(message.match_id)
        if match is None:
            raise ProtocolError("E050")
        return match.take(message)

    def _hear_of_round(self, message: m.RoundAnnouncement, by: Identity) -> m.RoundAnnouncementAck:
        self._become_active()
        if message.profile == "open":
            self._opened_up().record_announcement(message)
        if not by.derived and (matches := announced_matches.own_matches(message, self.registrar.endpoint, by.agent_id)):
            # Such a manager assigns none.
            self._task(self._play_announced(message, matches, by))
        log.info("round %d is announced", message.round_id, extra=about(message))
        return m.RoundAnnouncementAck(
            **self._acknowledging(message, by), round_id=message.round_id, referee_id=by.agent_id
        )

    def _hear_of_rounds_end(self, message: m.RoundCompleted, by: Identity) -> m.RoundCompletedAck:
        log.info("round %d is over", message.round_id, extra=about(message))
        return m.RoundCompletedAck(
            **self._acknowledging(message, by), round_id=message.round_id, referee_id=by.agent_id
        )

    def _hear_of_leagues_end(self, message: m.LeagueCompleted, by: Identity) -> m.LeagueCompletedAck:
        log.info("the league is over", extra=about(message))
        self.state = "SHUTDOWN"
        self._reports.league_is_over = True
        if self._ending is None:
            self._ending = asyncio.create_task(self._finish())
        return m.LeagueCompletedAck(**self._acknowledging(message, by), referee_id=by.agent_id)

    def _acknowledging(self, message: m.Request, by: Identity) -> dict[str, Any]:
        return {**self._echo(message, by), "status": "ACKNOWLEDGED"}

    def _echo(self, message: m.Request, by: Identity) -> dict[str, Any]:
        sender = sender_of("referee", by.agent_id)
        # Where nobody can prove to be the manager, nobody is shown the token either.
        shown = {"auth_token": by.auth_token} if by.derived else {}
        return {**m.envelope(sender, self._world.now(), message.conversation_id), **shown}

    def _opened_up(self) -> OpenProfileHandler:
        """What stands before this referee now that it knows its league to be of the open profile."""
        if self._open is None:
            from leaguekit.referee.open_profile import OpenProfileHandler  # noqa: PLC0415 - the spec profile does without

            self._open = OpenProfileHandler(self._world, self.registrar.endpoint, self._matches, self._answer_spec)
        return self._open

    # Its matches

    def _start_match(self, assignment: m.MatchAssignment, by: Identity) -> m.MatchAssignmentAck:
        reason = self._take_up(assignment, by)
        if reason is not None:
            log.warning("%s is not taken: %s", assignment.match_id, reason, extra=about(assignment))
        return m.MatchAssignmentAck(
            **self._echo(assignment, by),
            status="ACCEPTED" if reason is None else "REJECTED",
            match_id=assignment.match_id,
            attempt=assignment.attempt,
            reason=reason,
        )

    def _take_up(self, assignment: m.MatchAssignment, by: Identity) -> str | None:
        """Begin a match, unless that has been done; why not, if it cannot be."""
        match_id, attempt = assignment.match_id, assignment.attempt
        latest = self._attempts.get(match_id, 0)
        if attempt == latest:
            if match_id in self._in_play:
                # One of its players may have come back elsewhere, or with another token.
                self._in_play[match_id].seats.renew(assignment)
            return None
        if attempt < latest:
            return f"Attempt {latest} at {match_id} has been made since."
        if self.state == "SHUTDOWN":
            return "The league is over."
        if assignment.game_type not in self._game_types:
            return f"This referee judges {', '.join(self._game_types)}, not {assignment.game_type}."
        # A further attempt says that the one before is void: it does not count, but the new one waits for its end.
        void = self._in_play.get(match_id)
        if void is None and len(self._in_play) >= self._max_concurrent:
            return f"This referee plays {self._max_concurrent} matches at once, and has as many."
        try:
            make_client = self._opened_up().make_client if assignment.profile == "open" else SpecPlayerClient
            match = MatchRunner(self._world, assignment, by.agent_id, self._reports.entered, make_client)
        except (ProtocolError, ValueError) as error:
            return f"The assignment cannot be carried out: {error}"
        self._become_active()
        self._attempts[match_id] = attempt
        self._in_play[match_id] = match
        log.info("%s begins", match_id, extra=about(assignment))
        self._task(self._carry_out(match, void))
        return None

    async def _play_announced(
        self, message: m.RoundAnnouncement, matches: list[m.AnnouncedMatch], by: Identity
    ) -> None:
        """Begin announced matches, as many at once as this referee plays."""
        known = await announced_matches.records(self._world, self.registrar.manager_url, by, message.league_id)
        for match in matches:
            while len(self._in_play) >= self._max_concurrent:
                self._has_room.clear()
                await self._has_room.wait()
            reason = self._take_up(announced_matches.assignment(self._world, message, match, by, known), by)
            if reason is not None:
                log.error("%s is announced for this referee and not played: %s", match.match_id, reason)

    async def _carry_out(self, match: MatchRunner, void: MatchRunner | None) -> None:
        """Play a match to its report."""
        if void is not None:
            await void.ended()
        self._remember(match)
        try:
            ruled = await self._ruled(match)
        finally:
            # Before the report: when the manager has it, it may send the next match.
            self._reports.left(match)
            if self._in_play.get(match.match_id) is match:
                del self._in_play[match.match_id]
                self._has_room.set()
        if isinstance(ruled, Void):
            match.transcript.add("ruled", note=f"VOID: {ruled.reason}")
            await self._reports.deliver(match.messages.void(ruled))
            await self._reports.hand_in(match.messages.transcript(match.transcript.text()))
            return
        verdict, ruling = ruled
        if self._matches.get(ruling.match_id) is not match:
            # It was replaced or forgotten while its ruling was written down.
            self._earlier.append(match)
        await match.send_result(verdict, ruling)
        await self._deliver(ruling)
        transcript = match.messages.transcript(match.transcript.text())
        self._show(ruling.report, transcript)
        await self._reports.hand_in(transcript)

    async def _ruled(self, match: MatchRunner) -> tuple[Verdict, RulingRecord] | Void:
        """Play a match and write its ruling down; if that fails, nobody may hear of the ruling."""
        ended = await match.play()
        if isinstance(ended, Void):
            return ended
        ruling = match.ruling(ended.verdict)
        try:
            await self._opened().write(msgspec.json.encode(ruling))
        except StoreError:
            log.exception("%s cannot be written down", ruling.match_id, extra=about(ruling.report))
            return Void("The referee could not write its ruling down.", {})
        return ended.verdict, ruling

    async def _deliver(self, ruling: RulingRecord) -> None:
        if await self._reports.deliver(ruling.report):
            self._opened().delivered(ruling.match_id, ruling.attempt)

    def _opened(self) -> RulingJournal:
        if self._rulings is None:
            raise RuntimeError("a referee rules only after it has registered")
        return self._rulings

    async def _deliver_late(self, ruling: RulingRecord) -> None:
        """What an earlier run had ruled: the players may not have heard of it, nor the manager."""
        await self._reports.tell_again(ruling)
        await self._deliver(ruling)

    def _show(self, report: m.MatchResultReport, transcript: WrittenTranscript) -> None:
        """Write the match to the file that other tools read."""
        path, view = match_view(
            self._views,
            league_id=report.league_id,
            round_id=report.round_id,
            match_id=report.match_id,
            game_type=report.game_type,
            attempt=transcript.attempt,
            referee_id=self.referee_id,
            reported_at=transcript.timestamp,
            result=report.result,
            transcript=transcript.entries,
        )
        self._view_writer.put_once(path, view)

    def _remember(self, match: MatchRunner) -> None:
        before = self._matches.pop(match.match_id, None)
        self._earlier = [one for one in (*self._earlier, before) if one is not None and not one.is_at_rest]
        self._matches[match.match_id] = match
        if len(self._matches) > MAX_REMEMBERED:
            oldest = next((name for name, one in self._matches.items() if one.is_at_rest), None)
            self._matches.pop(oldest or "", None)

    async def _finish(self) -> None:
        """Wait until the manager has everything."""
        while self._reporting:
            await asyncio.wait(self._reporting)
        await self._view_writer.flush()
        self.finished.set()

    def _become_active(self) -> None:
        if self.state == "REGISTERED":
            self.state = "ACTIVE"

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._reporting.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._reporting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a match could not be carried out", exc_info=error)
