"""The League Manager: registers agents, keeps the table, and answers requests.

This module answers requests. What the manager does without a request (rounds, assignments, pings of referees) is in
``league_runner``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import UNSET, Raw, json, structs

from leaguekit.agents.logs import log_fields
from leaguekit.agents.world import World
from leaguekit.games.base import Moves
from leaguekit.league import commands
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.events import PlayerRegistered, RefereeRegistered
from leaguekit.league.evidence import parse_evidence
from leaguekit.league.outage import is_lost_by_silence, unconnected_players
from leaguekit.league.outcomes import read_record, record_name
from leaguekit.league.records import Player, Referee
from leaguekit.league.settings import MAX_PER_ADDRESS, Settings
from leaguekit.manager.admission import Admission
from leaguekit.manager.broadcasts import Recipient
from leaguekit.manager.league_runner import LeagueRunner
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.metrics import Metrics
from leaguekit.manager.operator import METHOD, Operator, SaveSecret
from leaguekit.manager.query_cache import QueryCache
from leaguekit.manager.refused_registrations import RefusedRegistrations
from leaguekit.manager.views import ManagerViews
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.decoding import check_text, decode, encode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, sender_of
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import MAX_BYTES, Call, InvalidCall, RpcError, RpcRequest, answer
from leaguekit.store.base import EventLog, StoreError
from leaguekit.transport.base import HttpAnswer, Peer

if TYPE_CHECKING:
    from leaguekit.manager.open_profile import OpenProfileAdapter

log = logging.getLogger(__name__)

# Requests that need the token of a registered agent.
AgentRequest = (
    m.MatchResultReport | m.MatchProgress | m.MatchVoidReport | m.MatchTranscript | m.MatchRecord | m.LeagueQuery
)
# A void attempt is not counted if only the referee had no connection to the players: the manager had one. That holds
# for 10 attempts of a match if both players were silent. It holds for one attempt if a single player was silent: such a
# player may have refused the referee's connection on purpose, to avoid a loss.
MAX_EXCUSED_ATTEMPTS = 10
MAX_EXCUSES_OF_ONE_PLAYER = 1
# Timestamps are of whole seconds. A smaller difference to the clock of a referee cannot be seen.
MAX_CLOCK_DIFFERENCE_SECONDS = 2.0


class Manager:
    """One league's manager. ``open`` it, let it ``run``, and give ``handle`` to a server."""

    def __init__(
        self,
        world: World,
        log: EventLog,
        settings: Settings,
        endpoint: str,
        admin_token: str,
        *,
        grant_ids: bool = False,
        referee_code: str | None = None,
        keep: SaveSecret | None = None,
        max_per_address: int = MAX_PER_ADDRESS,
        own_servers: Collection[str] = (),
        gateway_page: str | None = None,
    ) -> None:
        """``grant_ids`` gives a player the id that its ``sender`` asks for, if that is free. ``referee_code`` is an
        additional code with which referees may register. ``keep`` saves a new admin token or referee code where its
        owner finds it. ``max_per_address`` limits the players that register from one address without a seat.
        ``own_servers`` are the URLs of the referees and the gateway that were started together with the manager, and
        ``gateway_page`` is the URL of the gateway's page.
        """
        self.world = world
        self._now = world.timestamp
        self.ledger = Ledger(log)
        self.endpoint = endpoint
        self._settings = settings
        self._operator = Operator(admin_token, world, endpoint, keep)
        self.is_operator = self._operator.is_admin_token
        self.refused_registrations = RefusedRegistrations(world, self.ledger)
        self._admission = Admission(
            world,
            self.ledger,
            endpoint,
            self.refused_registrations,
            grant_ids=grant_ids,
            referee_code=referee_code,
            max_per_address=max_per_address,
            own_servers=own_servers,
        )
        self._query_cache = QueryCache(self.ledger)
        self.metrics = Metrics(world.now)
        self.refusal = manager_refusal(world.now, self._player_with)
        self._open_profile: OpenProfileAdapter | None = None
        # By agent: its last registration, and the recipient that was made from it.
        self._recipients: dict[str, tuple[PlayerRegistered | RefereeRegistered, Recipient]] = {}
        # By match, the number of void attempts that were not counted (see MAX_EXCUSED_ATTEMPTS).
        self._excused: Counter[str] = Counter()
        self.views = ManagerViews(world, self.ledger)
        self.runner = LeagueRunner(world, self.ledger, self.recipient)
        self.runner.outages.gateways = frozenset(own_servers)
        self.gateway_page = gateway_page
        self._handlers: dict[type[m.Message], Callable[[Any, Peer], Awaitable[m.Message | Raw]]] = {
            m.LeagueRegisterRequest: self._admission.register_player,
            m.RefereeRegisterRequest: self._admission.register_referee,
            m.MatchResultReport: self._receive_result,
            m.MatchProgress: self._receive_progress,
            m.MatchVoidReport: self._receive_void,
            m.LeagueQuery: self._query,
        }

    @property
    def league_id(self) -> str:
        return self._settings.league_id

    async def open(self) -> None:
        """Restore the league from its log, or create it."""
        if not await self.ledger.recover():
            self.ledger.record(commands.create(self._settings, self._now()))
        self._settings = self.ledger.league.settings
        await self._admission.recover()
        if self._settings.profile == "open":
            self._enter_open_profile()
        await self.ledger.wait_written()
        await self.views.start()

    def _enter_open_profile(self) -> None:
        from leaguekit.manager.open_profile import OpenProfileAdapter  # noqa: PLC0415 - the spec profile does not need it

        self._open_profile = OpenProfileAdapter(self.world, self.ledger, self._answer_spec, self.is_operator)
        self.runner.before_start = self._open_profile.find_unreachable_players

    async def provide_referee_code(self, kept: str | None) -> str | None:
        """Return the code with which referees may register. Create one if the league has none.

        ``kept`` is the code that an earlier process has saved. If it is not the league's code, the result is None: the
        league's code is still valid, and the operator can replace it.
        """
        if self.ledger.league.referee_code is not None:
            return kept if self._admission.is_referee_code(kept) else None
        code, events = self._operator.new_referee_code(self._now())
        self.ledger.record(events)
        await self.ledger.wait_written()
        return code

    async def run(self) -> None:
        """Run the league to its end. Raises StoreError if the log cannot be written."""
        await self.runner.run()

    async def serve_forever(self) -> None:
        """Go on answering after the end of the league. Raises StoreError when the log cannot be written."""
        raise await asyncio.shield(self.ledger.failed)

    async def close(self) -> None:
        await self.runner.close()
        await self.views.close()
        await self.ledger.close()

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer any body."""
        return await self.answer(RpcRequest(body), peer)

    def answer(self, request: RpcRequest, peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer any request."""
        return (self._answer_spec if self._open_profile is None else self._open_profile.answer)(request, peer)

    async def answer_elsewhere(self, path: str, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request that was posted to another path than /mcp. None if it is not understood."""
        if self._open_profile is not None:
            return await self._open_profile.answer(request, peer, path)
        call, error = request.calls[0], ProtocolError("E042", f"It was posted to {path}, not to {self.endpoint}.")
        params = call.params if isinstance(call, Call) else request.body
        self.refused_registrations.note_request(f"{path} {call.method}", params, error, peer)
        return None

    def _answer_spec(self, request: RpcRequest, peer: Peer) -> Coroutine[Any, Any, bytes | None]:
        """Answer a request exactly as the documents say."""
        return answer(request, lambda call: self._call(call, peer), self._refuse, MAX_BYTES)

    def _refuse(self, error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        self.metrics.count_refusal(call if isinstance(call, Call) else None, error.code)
        return self.refusal(error, call)

    async def _call(self, call: Call, peer: Peer) -> Any:
        """The result of a call. It is returned only when the events that it depends on are written."""
        began = perf_counter()
        result: Any
        if call.method == PING:
            game_type = self.ledger.league.settings.game_type
            result = {"status": "ok", "league_id": self.league_id, "game_type": game_type}
        elif call.method == METHOD:
            result = await self._operate(call)
        else:
            try:
                _, message = read_call(call, "league_manager")
                result = await self._handlers[type(message)](message, peer)
            except ProtocolError as error:
                self.refused_registrations.note_request(call.method, call.params, error, peer)
                raise
            except StoreError as error:
                raise _store_unavailable() from error
            if not self.ledger.is_written:
                await self._wait_to_answer()
        self.metrics.count_result(call, result, perf_counter() - began)
        return result

    async def _operate(self, call: Call) -> dict[str, Any]:
        operation = self._operator.operate(self.ledger.league, call, self._now())
        self.ledger.record(operation.events)
        result = operation.describe(self.ledger.league)
        await self._wait_to_answer()
        if "waits_for" in result:
            result["waits_for"] += self.runner.waits_for
            if self.ledger.league.is_open and self.runner.start_at is not None:
                result["starts_at"] = self.runner.start_at
            if self.ledger.league.is_open and self.runner.start_when is not None:
                players, referees = self.runner.start_when
                result["starts_with"] = {"players": players, "referees": referees}
        more: dict[str, Any] = {} if self._open_profile is None else {"unreachable": self._open_profile.unreachable}
        if "refused" in result:
            more["unrecorded"] = self.refused_registrations.unrecorded
        return {**result, **self.runner.play_status(), **more}

    async def _receive_result(self, report: m.MatchResultReport, peer: Peer) -> m.Message:
        referee = self._sender(report, peer, Referee)
        if is_lost_by_silence(report.result):
            return await self._judge_silence(report, referee)
        return await self._record_result(report, referee)

    async def _judge_silence(self, report: m.MatchResultReport, referee: Player | Referee) -> m.Message:
        """Count a loss of a player that did not answer, unless the network was at fault.

        The network was at fault if most players could not be reached at that time, or if the manager can reach the
        players that the referee could not. A single silent player is excused only once per match, because it may have
        hidden from the referee.
        """
        if (excuse := await self._excuse(report, referee)) is not None:
            reason, outage = excuse
            league, attempt = self.ledger.league, None if report.attempt is UNSET else report.attempt
            events = commands.void_attempt(
                league, report.match_id, attempt, reason, self._now(), referee_id=referee.id, outage=outage
            )
            self.ledger.record(events)
            error = ProtocolError("E050", f"That attempt at {report.match_id} is void: {reason}.")
            await self._raise_when_written(error)
        return await self._record_result(report, referee)

    async def _excuse(self, report: m.MatchResultReport, referee: Player | Referee) -> tuple[str, bool] | None:
        """Find out why players that did not answer are not at fault. Returns None if they are.

        Returns a sentence, and whether the attempt is not counted.
        """
        outages, match = self.runner.outages, self.ledger.league.matches.get(report.match_id)
        if await outages.has_affected(report.match_id):
            return outages.latest_description, True
        if match is None or not match.in_play:
            return None
        silent = unconnected_players(report.result)
        reachable = await outages.find_reachable(silent)
        is_excused = self._excused[match.id] < (MAX_EXCUSED_ATTEMPTS if len(silent) == 2 else MAX_EXCUSES_OF_ONE_PLAYER)
        if not reachable or (len(silent) == 1 and not is_excused):
            return None
        self._excused[match.id] += 1
        return f"{referee.id} had no connection to {' and '.join(reachable)}, and the manager had one", is_excused

    async def _record_result(self, report: m.MatchResultReport, referee: Player | Referee) -> m.Message:
        league = self.ledger.league
        try:
            misunderstood = () if self._open_profile is None else self._open_profile.misunderstood
            posted = await self._posted_record(report)
            events = commands.record_result(
                league, report, referee.id, self._now(), misunderstood=misunderstood, posted=posted
            )
            self.ledger.record(events)
        except ProtocolError as error:
            log.warning(
                "%s's report of %s is refused: %s", referee.id, report.match_id, error, extra=log_fields(report)
            )
            if error.code == "E054":
                self.ledger.record(commands.flag_second_report(league, report, referee.id, self._now()))
                await self._raise_when_written(error)
            raise
        return m.MatchResultAck(
            **self._echo(report), status="ACCEPTED", match_id=report.match_id, round_id=report.round_id
        )

    async def _posted_record(self, report: m.MatchResultReport) -> list[Moves] | None:
        """The record that was posted before a report, if the report has only its SHA-256."""
        details, match = report.result.details, self.ledger.league.matches.get(report.match_id)
        if details.record_sha256 is UNSET or match is None:
            return None
        return read_record(await self.ledger.log.kept(record_name(match.id, match.attempt)), details)

    async def _raise_when_written(self, error: ProtocolError) -> NoReturn:
        await self._wait_to_answer()
        raise error

    async def _wait_to_answer(self) -> None:
        """Wait until the events are written that an answer depends on. Raises ProtocolError if that takes too long."""
        try:
            await self.ledger.wait_to_answer()
        except StoreError as error:
            raise _store_unavailable() from error

    async def _receive_progress(self, report: m.MatchProgress, peer: Peer) -> m.MatchProgressAck:
        referee = self._sender(report, peer, Referee)
        match = self.ledger.league.matches.get(report.match_id)
        if match is None or not match.in_play or (referee.id, report.attempt) != (match.referee_id, match.attempt):
            raise ProtocolError("E050", f"{referee.id} is not playing {report.match_id}.")
        _correct_deadline(report, self.world.now())
        self.runner.progress.note(report)
        return m.MatchProgressAck(**self._echo(report), status="ACKNOWLEDGED", match_id=report.match_id)

    async def _receive_void(self, report: m.MatchVoidReport, peer: Peer) -> m.Message:
        referee = self._sender(report, peer, Referee)
        if report.could_not_call is UNSET:
            return self._void(report, referee, outage=False)
        return await self._judge_unable_referee(report, referee, report.could_not_call)

    async def _judge_unable_referee(
        self, report: m.MatchVoidReport, referee: Player | Referee, player_id: str
    ) -> m.MatchVoidAck:
        """Judge who is at fault when a referee could not call a player.

        The player is at fault if the manager cannot call it either. Otherwise the referee is at fault, and the attempt
        is not counted. But an attempt with moves is always counted, because a player could otherwise leave a lost game
        and play it again, as often as it wants.
        """
        outages, match = self.runner.outages, self.ledger.league.matches.get(report.match_id)
        if match is None or player_id not in match.players:
            return self._void(report, referee, outage=False)
        if await outages.has_affected(match.id):
            return self._void(report, referee, outage=True)
        unreachable, evidence = await outages.find_unreachable(match.players), parse_evidence(report.evidence)
        # An outage may have begun after the first check.
        if player_id in unreachable and await outages.has_affected(match.id):
            return self._void(report, referee, outage=True)
        if player_id in unreachable:
            silent = [one for one in unreachable if one in evidence and not evidence[one].has_answered]
            losers = [one for one in match.players if one == player_id or one in silent]
            league, now = self.ledger.league, self._now()
            events = commands.forfeit_unreachable(league, match.id, report.attempt, losers, now, referee_id=referee.id)
            self.ledger.record(events)
            return self._void_ack(report)
        self._excused[match.id] += 1
        is_excused = self._excused[match.id] <= MAX_EXCUSED_ATTEMPTS and not any(
            one.has_moved for one in evidence.values()
        )
        ack = self._void(report, referee, outage=is_excused)
        why = report.reason.partition(": ")[2]
        sentence = f"{referee.id} cannot call {player_id}" + (f": {why}" if why else "")
        outages.note_unable_referee(match.id, referee.id, sentence)
        return ack

    def _void(self, report: m.MatchVoidReport, referee: Player | Referee, *, outage: bool) -> m.MatchVoidAck:
        league, reason = self.ledger.league, report.reason
        events = commands.void_attempt(
            league, report.match_id, report.attempt, reason, self._now(), referee_id=referee.id, outage=outage
        )
        self.ledger.record(events)
        return self._void_ack(report)

    def _void_ack(self, report: m.MatchVoidReport) -> m.MatchVoidAck:
        return m.MatchVoidAck(**self._echo(report), status="ACCEPTED", match_id=report.match_id, attempt=report.attempt)

    async def receive_document(self, path: str, body: bytes) -> HttpAnswer:
        """Keep what a referee posts about a match, by the path that it was posted to: a transcript, or a record."""
        kind, _, match_id = path.rpartition("/")
        try:
            check_text(body)
            if kind == "/records":
                await self.keep_record(of_type(m.MatchRecord, decode(body)), match_id)
            else:
                await self.keep_transcript(of_type(m.MatchTranscript, decode(body)), match_id)
        except ProtocolError as error:
            status = 503 if error.code == "E060" else 400
            return HttpAnswer(status, json.encode({"error_code": error.code, "error": error.detail}))
        return HttpAnswer(200, json.encode({"status": "ACCEPTED", "match_id": match_id}))

    async def keep_transcript(self, transcript: m.MatchTranscript, match_id: str) -> None:
        """Store a referee's transcript of a match beside the log.

        Raises ProtocolError if another referee had that match.
        """
        referee = self._sender(transcript, Peer(""), Referee)
        match = self.ledger.league.matches.get(match_id)
        if match is None or (transcript.match_id, referee.id) != (match_id, match.referee_id):
            raise ProtocolError("E050", f"{referee.id} has not refereed {match_id}.")
        await self._keep(f"transcript/{match_id}", encode(structs.replace(transcript, auth_token=UNSET)))

    async def keep_record(self, posted: m.MatchRecord, match_id: str) -> None:
        """Store the record of a match that a referee plays, beside the log. It is durable when this returns.

        Raises ProtocolError if the referee does not play that match.
        """
        referee = self._sender(posted, Peer(""), Referee)
        match = self.ledger.league.matches.get(match_id)
        if match is None or (posted.match_id, referee.id) != (match_id, match.referee_id):
            raise ProtocolError("E050", f"{referee.id} does not play {match_id}.")
        if not match.in_play or posted.attempt != match.attempt:
            # A result that counts keeps its record.
            raise ProtocolError("E050", f"That attempt at {match_id} is over.")
        await self._keep(record_name(match_id, posted.attempt), json.encode(posted.record, order="sorted"))

    async def _keep(self, name: str, document: bytes) -> None:
        """Store a document beside the log. Raises ProtocolError if that takes too long."""
        try:
            await self.ledger.keep_in_time(name, document)
        except StoreError as error:
            raise _store_unavailable() from error

    async def _query(self, query: m.LeagueQuery, peer: Peer) -> Raw:
        return self._query_cache.response_to(query, self._sender(query, peer).id, self._now())

    def _sender(
        self, request: AgentRequest, peer: Peer, kind: type[Player | Referee] | None = None
    ) -> Player | Referee:
        """The agent whose token a request carries.

        Raises ProtocolError if there is none, if its ``sender`` is another agent, or if it may not send this request.
        """
        if request.auth_token is UNSET:
            raise ProtocolError("E011")
        agent = self.ledger.league.agent_with(tokens.verifier(request.auth_token))
        if isinstance(agent, Referee) and agent.shows_own_token:
            self._check_shown_token(agent, request, peer)
        if agent is None or (kind is not None and type(agent) is not kind):
            context = {
                "provided_token": tokens.shorten_token(request.auth_token),
                "expected_format": "tok-{agent_id}-{hash}",
            }
            raise ProtocolError("E012", context=context)
        sender = sender_of("player" if type(agent) is Player else "referee", agent.id)
        if request.sender != sender:
            raise ProtocolError("E055", f"This is the token of {sender}, not of {request.sender}.")
        if request.league_id != self._settings.league_id:
            raise ProtocolError("E053", f"This is the league {self.league_id}.")
        return agent

    def _check_shown_token(self, agent: Referee, request: AgentRequest, peer: Peer) -> None:
        """Check the token of a referee that shows it to players. Raises ProtocolError if it may not be used here.

        Such a token counts only for the messages of document 001, and only from the host of the referee's endpoint.
        """
        if not isinstance(request, m.MatchResultReport | m.LeagueQuery):
            raise ProtocolError("E012", f"Players have seen the token of {agent.id}: it does not count for this.")
        if not self._admission.accepts_token_from(agent, peer):
            detail = f"The token of {agent.id} counts only from the host of {agent.meta.contact_endpoint}"
            raise ProtocolError("E012", f"{detail}; this came from {peer.host}.")

    def _player_with(self, token: str) -> str | None:
        agent = self.ledger.league.agent_with(tokens.verifier(token))
        return agent.id if isinstance(agent, Player) else None

    def recipient(self, agent_id: str) -> Recipient | None:
        """Where an agent listens, and the token that the manager shows it.

        Returns None for an unknown agent, and for one that has left and whose endpoint belongs to another agent now.
        """
        league = self.ledger.league
        agent = league.agent(agent_id)
        if agent is None:
            return None
        registered, recipient = self._recipients.get(agent_id, (None, None))
        if recipient is None or registered is not agent.registered:
            token = tokens.manager_to_agent(agent.key, self.league_id, agent_id)
            recipient = Recipient(agent.meta.contact_endpoint, token)
            self._recipients[agent_id] = agent.registered, recipient
        if isinstance(agent, Referee):
            return recipient
        if agent.out is not None:
            if league.endpoints.get(str(parse_endpoint(recipient.url)), agent_id) != agent_id:
                return None
            recipient = recipient._replace(has_left=True)
        return recipient if self._open_profile is None else self._open_profile.adapt_recipient(recipient, agent)

    def _echo(self, request: m.Request) -> m.Envelope:
        return m.envelope(MANAGER, self.world.now(), request.conversation_id)


def _store_unavailable() -> ProtocolError:
    return ProtocolError("E060", "The manager waits for its store: send this again in a while.")


def _correct_deadline(report: m.MatchProgress, now: datetime) -> None:
    """Put the deadline of a report that arrives now on the manager's clock, if the referee's clock is another."""
    ahead = times.parse_timestamp(report.timestamp) - now
    if report.deadline is not UNSET and abs(ahead.total_seconds()) > MAX_CLOCK_DIFFERENCE_SECONDS:
        report.deadline = times.format_timestamp(times.parse_timestamp(report.deadline) - ahead)
