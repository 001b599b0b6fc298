"""The League Manager: registers agents, keeps the table, and answers requests.

This module answers requests, those about matches by ``match_reports``. What the manager does without a request (rounds,
assignments, pings of referees) is in ``rounds``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from time import perf_counter
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from leaguekit.agents.world import World
from leaguekit.league import commands
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.events import PlayerRegistered, RefereeRegistered
from leaguekit.league.records import Player, Referee
from leaguekit.league.settings import MAX_PER_ADDRESS, Settings
from leaguekit.manager.admission import Admission
from leaguekit.manager.broadcasts import Recipient
from leaguekit.manager.json_files import JsonFiles
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.match_reports import MatchReports, store_unavailable
from leaguekit.manager.metrics import Metrics
from leaguekit.manager.operator import METHOD, Operator, SaveSecret
from leaguekit.manager.query_cache import QueryCache
from leaguekit.manager.refused_registrations import RefusedRegistrations
from leaguekit.manager.rounds.league_runner import LeagueRunner
from leaguekit.manager.sender_check import SenderCheck
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import MAX_BYTES, Call, InvalidCall, RpcError, RpcRequest, answer
from leaguekit.store.base import EventLog, StoreError
from leaguekit.transport.base import Peer

if TYPE_CHECKING:
    from leaguekit.manager.open_profile import OpenProfileAdapter


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
        takes_over: bool = False,
    ) -> None:
        """``grant_ids`` gives a player the id that its ``sender`` asks for, if that is free. ``referee_code`` is an
        additional code with which referees may register. ``keep`` saves a new admin token or referee code where its
        owner finds it. ``max_per_address`` limits the players that register from one address without a seat.
        ``own_servers`` are the URLs of the referees and the gateway that were started together with the manager, and
        ``gateway_page`` is the URL of the gateway's page. ``takes_over`` says that another manager has just served the
        league, so that the agents have not stopped together with this one.
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
        self.json_files = JsonFiles(world, self.ledger)
        self.runner = LeagueRunner(world, self.ledger, self.recipient, takes_over=takes_over)
        self.runner.outages.gateways = frozenset(own_servers)
        self._senders = SenderCheck(self.ledger, self._admission.accepts_token_from)
        self.reports = MatchReports(world, self.ledger, self.runner, self._senders)
        self.gateway_page = gateway_page
        self._handlers: dict[type[m.Message], Callable[[Any, Peer], Awaitable[m.Message | Raw]]] = {
            m.LeagueRegisterRequest: self._admission.register_player,
            m.RefereeRegisterRequest: self._admission.register_referee,
            m.MatchResultReport: self.reports.receive_result,
            m.MatchProgress: self.reports.receive_progress,
            m.MatchVoidReport: self.reports.receive_void,
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
        await self.json_files.start()

    def _enter_open_profile(self) -> None:
        from leaguekit.manager.open_profile import OpenProfileAdapter  # noqa: PLC0415 - the spec profile does not need it

        self._open_profile = OpenProfileAdapter(self.world, self.ledger, self._answer_spec, self.is_operator)
        self.runner.before_start = self._open_profile.find_unreachable_players
        self.reports.misunderstood = self._open_profile.misunderstood

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
        await self.json_files.close()
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
        try:
            if call.method == PING:
                game_type = self.ledger.league.settings.game_type
                result = {"status": "ok", "league_id": self.league_id, "game_type": game_type}
            elif call.method == METHOD:
                result = await self._operate(call)
            else:
                _, message = read_call(call, "league_manager")
                result = await self._handlers[type(message)](message, peer)
                if not self.ledger.is_written:
                    await self.ledger.wait_to_answer()
        except ProtocolError as error:
            self.refused_registrations.note_request(call.method, call.params, error, peer)
            raise
        except StoreError as error:
            raise store_unavailable() from error
        self.metrics.count_result(call, result, perf_counter() - began)
        return result

    async def _operate(self, call: Call) -> dict[str, Any]:
        operation = self._operator.operate(self.ledger.league, call, self._now())
        self.ledger.record(operation.events)
        result = operation.describe(self.ledger.league)
        await self.ledger.wait_to_answer()
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

    async def _query(self, query: m.LeagueQuery, peer: Peer) -> Raw:
        return self._query_cache.response_to(query, self._senders.agent_of(query, peer).id, self._now())

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
