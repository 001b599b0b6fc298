"""The League Manager: registers agents, keeps the table, and answers whoever asks.

This is its server side. What it does by itself (rounds, assignments, watching referees) is the ``conductor``'s.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET, structs

from leaguekit.agents import operator
from leaguekit.agents.broadcasts import Recipient
from leaguekit.agents.conductor import Conductor
from leaguekit.agents.ledger import Ledger
from leaguekit.agents.logs import about
from leaguekit.agents.reachability import check_reachable
from leaguekit.agents.views import ManagerViews
from leaguekit.agents.world import World
from leaguekit.league import commands, queries
from leaguekit.league.records import Player, Referee
from leaguekit.league.settings import Settings
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerId
from leaguekit.protocol.ids import MANAGER, read_sender
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.reading import encode
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import MOST_BYTES, Call, answer
from leaguekit.store.base import EventLog
from leaguekit.transport.base import Peer

log = logging.getLogger(__name__)


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
    ) -> None:
        """``grant_ids`` gives a player the id that its ``sender`` asks for, if that is free."""
        self.world = world
        self._grant_ids = grant_ids
        self.ledger = Ledger(log)
        self.endpoint = endpoint
        self._settings = settings
        self._admin_token = admin_token
        self._refuse = manager_refusal(world.now)
        self.views = ManagerViews(world, self.ledger)
        self.conductor = Conductor(world, self.ledger, self.recipient)
        self._handlers: dict[type[m.Message], Callable[[Any], Awaitable[m.Message]]] = {
            m.MatchResultReport: self._report_result,
            m.MatchProgress: self._report_progress,
            m.MatchVoidReport: self._report_void,
            m.LeagueQuery: self._query,
        }

    @property
    def league_id(self) -> str:
        return self._settings.league_id

    async def open(self) -> None:
        """Take the league up where its log left it, or create it."""
        if not await self.ledger.recover():
            self.ledger.record(commands.create(self._settings, self._now()))
        self._settings = self.ledger.league.settings
        self.views.refresh()
        await self.ledger.settled()

    async def run(self) -> None:
        """Conduct the league to its end. Raises StoreError if the log cannot be written."""
        await self.conductor.run()

    async def close(self) -> None:
        await self.conductor.close()
        await self.views.close()
        await self.ledger.close()

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer a body, whatever it is; nothing leaves before what it depends on is written."""
        return await answer(body, lambda call: self._answer(call, peer), self._refuse, MOST_BYTES)

    async def _answer(self, call: Call, peer: Peer) -> Any:
        if call.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        if call.method == operator.METHOD:
            operated = operator.operate(self.ledger.league, call, self._admin_token, self._now())
            self.ledger.record(operated.events)
            shown = operated.shown(self.ledger.league)
            await self.ledger.settled()
            return shown | self.conductor.course()
        _, message = read_call(call, "league_manager")
        if isinstance(message, m.LeagueRegisterRequest):
            result: m.Message = await self._register_player(message, peer)
        elif isinstance(message, m.RefereeRegisterRequest):
            result = await self._register_referee(message, peer)
        else:
            result = await self._handlers[type(message)](message)
        await self.ledger.settled()
        return result

    async def _register_player(self, request: m.LeagueRegisterRequest, peer: Peer) -> m.LeagueRegisterResponse:
        applicant = self._applicant(request, request.player_meta)
        league = self.ledger.league
        try:
            commands.admit_player(league, applicant)
            await check_reachable(self.world.caller, "player", request.player_meta.contact_endpoint, peer)
            player_id = commands.admit_player(league, applicant)
        except commands.Rejected as rejected:
            return m.LeagueRegisterResponse(**self._echo(request), **_rejection(rejected), player_id=None)
        token, proof = self._token(player_id, applicant, request)
        self.ledger.record(commands.register_player(league, applicant, **proof, at=self._now()))
        log.info("%s registered as %s", request.player_meta.display_name, player_id, extra=about(request))
        return m.LeagueRegisterResponse(**self._echo(request), **self._accepted(token), player_id=player_id)

    async def _register_referee(self, request: m.RefereeRegisterRequest, peer: Peer) -> m.RefereeRegisterResponse:
        applicant = self._applicant(request, request.referee_meta)
        league = self.ledger.league
        try:
            commands.admit_referee(league, applicant)
            await check_reachable(self.world.caller, "referee", request.referee_meta.contact_endpoint, peer)
            referee_id = commands.admit_referee(league, applicant)
        except commands.Rejected as rejected:
            return m.RefereeRegisterResponse(**self._echo(request), **_rejection(rejected), referee_id=None)
        token, proof = self._token(referee_id, applicant, request)
        self.ledger.record(commands.register_referee(league, applicant, **proof, at=self._now()))
        log.info("%s registered as %s", request.referee_meta.display_name, referee_id, extra=about(request))
        return m.RefereeRegisterResponse(**self._echo(request), **self._accepted(token), referee_id=referee_id)

    def _applicant(
        self, request: m.LeagueRegisterRequest | m.RefereeRegisterRequest, meta: Any
    ) -> commands.Applicant[Any]:
        known = None
        if request.auth_token is not UNSET:
            known = self.ledger.league.agent_with(tokens.verifier(request.auth_token))
        return commands.Applicant(
            meta=meta,
            conversation_id=request.conversation_id,
            timestamp=request.timestamp,
            manager_endpoint=self.endpoint,
            returning_id=None if known is None else known.id,
            wanted_id=self._wanted_id(request.sender),
        )

    def _wanted_id(self, sender: str) -> str | None:
        wanted = read_sender(sender).id or ""
        return wanted if self._grant_ids and valid(PlayerId, wanted) else None

    def _token(
        self, agent_id: str, applicant: commands.Applicant[Any], request: m.Request
    ) -> tuple[str, dict[str, bytes]]:
        # Who comes back with its token keeps it: then an answer that is lost locks nobody out, and what was derived
        # for a match in play still holds.
        kept = request.auth_token if applicant.returning_id == agent_id else UNSET
        token = kept or tokens.new_token(agent_id, self.world.entropy(tokens.ENTROPY_BYTES))
        return token, {"verifier": tokens.verifier(token), "key": tokens.signing_key(token)}

    async def _report_result(self, report: m.MatchResultReport) -> m.MatchResultAck:
        referee = self._sender(report, Referee)
        self.ledger.record(commands.record_result(self.ledger.league, report, referee.id, self._now()))
        return m.MatchResultAck(
            **self._echo(report), status="ACCEPTED", match_id=report.match_id, round_id=report.round_id
        )

    async def _report_progress(self, report: m.MatchProgress) -> m.MatchProgressAck:
        referee = self._sender(report, Referee)
        match = self.ledger.league.matches.get(report.match_id)
        if match is None or not match.in_play or (referee.id, report.attempt) != (match.referee_id, match.attempt):
            raise ProtocolError("E050", f"{referee.id} is not playing {report.match_id}.")
        self.conductor.progress[report.match_id] = report
        return m.MatchProgressAck(**self._echo(report), status="ACKNOWLEDGED", match_id=report.match_id)

    async def _report_void(self, report: m.MatchVoidReport) -> m.MatchVoidAck:
        referee = self._sender(report, Referee)
        events = commands.void_attempt(
            self.ledger.league, report.match_id, report.attempt, report.reason, self._now(), referee_id=referee.id
        )
        self.ledger.record(events)
        return m.MatchVoidAck(**self._echo(report), status="ACCEPTED", match_id=report.match_id, attempt=report.attempt)

    async def keep_transcript(self, transcript: m.MatchTranscript, match_id: str) -> None:
        """Keep what a referee saw of a match, beside the log. Raises ProtocolError unless it refereed that match."""
        referee = self._sender(transcript, Referee)
        match = self.ledger.league.matches.get(match_id)
        if match is None or (transcript.match_id, referee.id) != (match_id, match.referee_id):
            raise ProtocolError("E050", f"{referee.id} has not refereed {match_id}.")
        await self.ledger.log.keep(f"transcript/{match_id}", encode(structs.replace(transcript, auth_token=UNSET)))

    async def _query(self, query: m.LeagueQuery) -> m.LeagueQueryResponse:
        league = self.ledger.league
        reader = self._sender(query)
        found = queries.answer(league, query, reader.id)
        of_standings = query.query_type == "GET_STANDINGS"
        return m.LeagueQueryResponse(
            **self._echo(query),
            query_type=str(query.query_type),
            success=not isinstance(found, m.QueryError),
            data=UNSET if isinstance(found, m.QueryError) else found,
            error=found if isinstance(found, m.QueryError) else UNSET,
            standings=queries.standings(league, reader.id) if of_standings else UNSET,
            current_round=league.current_round if of_standings else UNSET,
        )

    def _sender(self, request: m.Request, kind: type[Player | Referee] | None = None) -> Player | Referee:
        """Whose token a request carries, if that is who it says it is and may send this. Raises ProtocolError."""
        if request.auth_token is UNSET:
            raise ProtocolError("E011")
        agent = self.ledger.league.agent_with(tokens.verifier(request.auth_token))
        shown = {"provided_token": tokens.shortened(request.auth_token), "expected_format": "tok-{agent_id}-{hash}"}
        if agent is None or (kind is not None and not isinstance(agent, kind)):
            raise ProtocolError("E012", context=shown)
        role = "player" if isinstance(agent, Player) else "referee"
        if read_sender(request.sender) != (role, agent.id):
            raise ProtocolError("E055", f"This is the token of {role}:{agent.id}, not of {request.sender}.")
        return agent

    def is_operator(self, token: str) -> bool:
        return tokens.same(token, self._admin_token)

    def recipient(self, agent_id: str) -> Recipient | None:
        """Where an agent listens, and what the manager shows it; None for one that has left."""
        agent = self.ledger.league.agent(agent_id)
        if agent is None or (isinstance(agent, Player) and agent.out is not None):
            return None
        return Recipient(agent.meta.contact_endpoint, tokens.manager_to_agent(agent.key, self.league_id, agent_id))

    def _now(self) -> str:
        return times.written(self.world.now())

    def _echo(self, request: m.Request) -> m.Envelope:
        return m.envelope(MANAGER, self.world.now(), request.conversation_id)

    def _accepted(self, token: str) -> dict[str, Any]:
        return {
            "status": "ACCEPTED",
            "reason": None,
            "auth_token": token,
            "league_id": self.league_id,
            "token_scheme": tokens.SCHEME,
        }


def _rejection(rejected: commands.Rejected) -> dict[str, Any]:
    return {
        "status": "REJECTED",
        "reason": rejected.reason,
        "error_code": rejected.code,
        "code": rejected.number,
    }
