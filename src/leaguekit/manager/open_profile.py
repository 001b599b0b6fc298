"""The manager in the ``open`` profile: takes requests in any form, answers in the same, and writes so that all
understand.

What comes is made a request of document 001 and handed to the manager, which knows nothing of this. Who speaks is
known by its token. What was wrong with it is kept with the agent that sent it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import structs

from leaguekit.agents.calls import reachable
from leaguekit.agents.world import World
from leaguekit.league import commands
from leaguekit.league.records import Player, Referee
from leaguekit.manager.broadcasts import Recipient
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.operator import METHOD
from leaguekit.manager.reachability import SECONDS
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role, sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import CallerLate, CallFailed, Handler, HttpAnswer, Peer
from leaguekit.transport.dialects import requests
from leaguekit.transport.dialects.forms import Form
from leaguekit.transport.dialects.repairs import Repaired, repaired
from leaguekit.transport.dialects.requests import Incoming
from leaguekit.transport.dialects.responses import is_refusal

log = logging.getLogger(__name__)

# How long somebody is looked for before the start.
LOOK_SECONDS = 3.0
LOOK_EVERY = 0.25
_REGISTRATIONS = (m.LeagueRegisterRequest, m.RefereeRegisterRequest)


class _Answer(msgspec.Struct):
    class Result(msgspec.Struct):
        player_id: str | None = None
        referee_id: str | None = None

    result: Result = msgspec.field(default_factory=Result)


class OpenProfileAdapter:
    """Stands before a manager. ``inner`` is how the manager answers a request of document 001."""

    def __init__(self, world: World, ledger: Ledger, inner: Handler, is_operator: Callable[[str], bool]) -> None:
        self._world = world
        self._ledger = ledger
        self._inner = inner
        self._is_operator = is_operator
        # How often an agent has broken a rule since that was last written down.
        self._uncounted: dict[tuple[str, str], int] = {}
        # Who could not be reached before the start: a sentence each.
        self.unreachable: list[str] = []
        # The forms in which players have taken messages, and the players that have only refused the form known of them.
        self._understood: set[tuple[str, str]] = set()
        self.misunderstood: set[str] = set()

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request, whatever it is, in its own form."""
        incoming = requests.read_request(request.body)
        if incoming is None or not _is_for_manager(incoming):
            if incoming is not None and incoming.method == METHOD and self._starts(incoming.message):
                await self.find_unreachable_players()
            return await self._inner(request, peer)
        agent = self._ledger.league.agent_with(tokens.verifier(str(incoming.message.get("auth_token", ""))))
        try:
            good = self._repaired(incoming, agent)
        except ProtocolError:
            # What is wrong with it is for the manager to say.
            answer = await self._inner(RpcRequest(requests.standard(incoming)), peer)
            return None if answer is None else requests.answered(incoming, answer)
        answer = await self._inner(RpcRequest(requests.standard(incoming, good.message)), peer)
        if answer is None:
            return None
        if incoming.kind in _REGISTRATIONS:
            agent = self._registered(answer, incoming.form)
        if agent is not None:
            self._note(agent.id, [*incoming.broken, *good.broken])
            await self._ledger.wait_written()
        return requests.answered(incoming, answer)

    def addressed(self, recipient: Recipient, player: Player) -> Recipient:
        """How a player is told: in the form that it understands."""
        form = player.form or "RPC"

        def write(_method: str, params: bytes, call_id: int) -> bytes:
            return requests.broadcast(params, player.id, form, call_id)

        def answered(answer: HttpAnswer) -> None:
            if not is_refusal(answer.status, answer.body):
                self._understood.add((player.id, form))
                self.misunderstood.discard(player.id)
                if player.form is None:
                    self._learn_form(player.id, "RPC")
            elif (player.id, form) not in self._understood:
                self.misunderstood.add(player.id)

        return recipient._replace(write=write, answered=answered)

    async def find_unreachable_players(self) -> None:
        """Call every player before the start, for nobody was called while it registered; and say who is not there."""
        players = [one for one in self._ledger.league.players.values() if one.out is None]
        there = await asyncio.gather(*(self._is_there(one.meta.contact_endpoint) for one in players))
        self.unreachable = [
            f"{one.id} ({one.meta.display_name}) did not answer at {one.meta.contact_endpoint} before the start: "
            "it is invited like any other, and loses the matches that it does not come to"
            for one, is_there in zip(players, there, strict=True)
            if not is_there
        ]
        for sentence in self.unreachable:
            log.warning("%s", sentence)

    async def _is_there(self, url: str) -> bool:
        """Whether anything answers there; whoever has just registered may be about to open its port."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + LOOK_SECONDS
        while True:
            try:
                await reachable(self._world.caller, url, SECONDS)
            except CallFailed:
                if loop.time() >= latest:
                    return False
                await asyncio.sleep(LOOK_EVERY)
            except CallerLate:
                return True
            else:
                return True

    def _registered(self, answer: bytes, form: Form | None) -> Player | Referee | None:
        """Who was registered by this answer; in which form it speaks is remembered until more is known of it."""
        given = msgspec.json.decode(answer, type=_Answer).result
        agent = self._ledger.league.agent(given.player_id or given.referee_id or "")
        if isinstance(agent, Player) and agent.form is None:
            self._learn_form(agent.id, "RPC" if form is None else form.name)
        return agent

    def _learn_form(self, player_id: str, form: str) -> None:
        self._ledger.record(commands.learn_form(self._ledger.league, player_id, form, self._now()))

    def _note(self, agent_id: str, broken: Iterable[m.BrokenRule]) -> None:
        """Keep what an agent got wrong; the more often it does, the more seldom that is written down."""
        known, due = self._ledger.league.broken_rules.get(agent_id, {}), []
        for one in broken:
            count = self._uncounted.pop((agent_id, one.rule), 0) + one.count
            if one.rule in known and count < known[one.rule].count:
                self._uncounted[agent_id, one.rule] = count
            else:
                due.append(structs.replace(one, count=count))
        self._ledger.record(commands.note_broken_rules(self._ledger.league, agent_id, due, self._now()))

    def _now(self) -> str:
        return times.format_timestamp(self._world.now())

    def _starts(self, operation: dict[str, Any]) -> bool:
        is_start = operation.get("command") == "start" and self._ledger.league.is_open
        return is_start and self._is_operator(str(operation.get("admin_token", "")))

    def _repaired(self, incoming: Incoming, agent: Player | Referee | None) -> Repaired:
        """What was meant. Raises ProtocolError if that cannot be told."""
        if incoming.kind is None:
            raise ProtocolError("E042")
        settings = self._ledger.league.settings
        role: Role = "player"
        if isinstance(agent, Referee) or incoming.kind is m.RefereeRegisterRequest:
            role = "referee"
        known = {
            "protocol": "league.v2",
            "sender": f"{role}:unknown",
            "timestamp": self._now(),
            # Always another: nobody is to pass for the repeat of a request that said too little.
            "conversation_id": f"conv-open-{self._world.entropy(8).hex()}",
            "league_id": settings.league_id,
            "player_meta.version": "0.0.0",
            "player_meta.game_types": [settings.game_type],
        }
        by_token = agent if incoming.kind not in _REGISTRATIONS else None
        certain = {} if by_token is None else {"sender": sender_of(role, by_token.id)}
        return repaired(incoming.message, incoming.kind, known | certain, certain)


def _is_for_manager(incoming: Incoming) -> bool:
    return incoming.kind is not None and "league_manager" in BY_REQUEST[incoming.kind].receivers
