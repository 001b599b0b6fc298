"""The manager in the ``open`` profile: accepts requests in any form, and answers each agent in its own form.

A request is converted into a request of document 001, and is then answered by the manager, which does not know of the
conversion. The sender is identified by its token. The rules that a request breaks are recorded with its sender.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import structs

from leaguekit.agents.calls import answers_ping
from leaguekit.agents.world import World
from leaguekit.league import commands
from leaguekit.league.records import Player, Referee
from leaguekit.manager.broadcasts import Recipient
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.operator import METHOD
from leaguekit.manager.reachability import PING_SECONDS
from leaguekit.manager.refused_registrations import find_endpoint, find_name
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role, sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import Handler, HttpAnswer, Peer
from leaguekit.transport.dialects import requests
from leaguekit.transport.dialects.forms import Form
from leaguekit.transport.dialects.repairs import Repaired, repair
from leaguekit.transport.dialects.requests import Incoming
from leaguekit.transport.dialects.responses import is_refusal

log = logging.getLogger(__name__)

# How long a player may take to answer before the start.
MAX_WAIT_SECONDS = 3.0
PING_PAUSE_SECONDS = 0.25
_REGISTRATIONS = (m.LeagueRegisterRequest, m.RefereeRegisterRequest)


class _RegistrationAnswer(msgspec.Struct):
    class Result(msgspec.Struct):
        player_id: str | None = None
        referee_id: str | None = None

    result: Result = msgspec.field(default_factory=Result)


class OpenProfileAdapter:
    """Converts the requests to a manager, and the messages from it.

    ``answer_spec`` is the manager's handler for requests of document 001.
    """

    def __init__(self, world: World, ledger: Ledger, answer_spec: Handler, is_operator: Callable[[str], bool]) -> None:
        self._world = world
        self._now = world.timestamp
        self._ledger = ledger
        self._answer_spec = answer_spec
        self._is_operator = is_operator
        # How often an agent has broken a rule since that was last recorded.
        self._uncounted: dict[tuple[str, str], int] = {}
        # One sentence per player that could not be reached before the start.
        self.unreachable: list[str] = []
        # Each player with a form in which it has accepted a message.
        self._understood: set[tuple[str, str]] = set()
        # Players that have refused a message in their known form, and have never accepted one in that form.
        self.misunderstood: set[str] = set()

    async def answer(self, request: RpcRequest, peer: Peer, path: str = "") -> bytes | None:
        """Answer any request, in its own form. ``path`` is the path of its URL if that is not /mcp."""
        incoming = requests.read_request(request.body, path)
        if incoming is None or not _is_for_manager(incoming):
            if incoming is not None and incoming.method == METHOD and self._is_start(incoming.message):
                await self.find_unreachable_players()
            return await self._answer_spec(request, peer)
        agent = self._ledger.league.agent_with(tokens.verifier(str(incoming.message.get("auth_token", ""))))
        try:
            repaired_request = self._repair(incoming, agent)
        except ProtocolError:
            # The manager's own answer says what is wrong with the request.
            unrepaired = incoming._replace(message=self._fill_registration(incoming))
            answer = await self._answer_spec(RpcRequest(requests.encode_standard(unrepaired)), peer)
            return None if answer is None else requests.encode_answer(incoming, answer)
        answer = await self._answer_spec(RpcRequest(requests.encode_standard(incoming, repaired_request.message)), peer)
        if answer is None:
            return None
        if incoming.kind in _REGISTRATIONS:
            agent = self._registered_agent(answer, incoming.form)
        if agent is not None:
            self._note_broken_rules(agent.id, [*incoming.broken, *repaired_request.broken])
            await self._ledger.wait_written()
        return requests.encode_answer(incoming, answer)

    def adapt_recipient(self, recipient: Recipient, player: Player) -> Recipient:
        """The same recipient, which gets requests in the form that the player understands."""
        form = player.form or "RPC"

        def encode_request(_method: str, params: bytes, call_id: int) -> bytes:
            return requests.broadcast(params, player.id, form, call_id)

        def on_answer(answer: HttpAnswer) -> None:
            if not is_refusal(answer.status, answer.body):
                self._understood.add((player.id, form))
                self.misunderstood.discard(player.id)
                if player.form is None:
                    self._learn_form(player.id, "RPC")
            elif (player.id, form) not in self._understood:
                self.misunderstood.add(player.id)

        return recipient._replace(encode_request=encode_request, on_answer=on_answer)

    async def find_unreachable_players(self) -> None:
        """Ping every player before the start, and list in ``unreachable`` those that do not answer.

        In this profile, players are not called when they register.
        """
        players = [one for one in self._ledger.league.players.values() if one.out is None]
        answers = await asyncio.gather(*(self._answers_at(one.meta.contact_endpoint) for one in players))
        self.unreachable = [
            f"{one.id} ({one.meta.display_name}) did not answer at {one.meta.contact_endpoint} before the start: "
            "it is invited like any other, and loses the matches that it does not come to"
            for one, has_answered in zip(players, answers, strict=True)
            if not has_answered
        ]
        for sentence in self.unreachable:
            log.warning("%s", sentence)

    async def _answers_at(self, url: str) -> bool:
        """Whether anything answers at a URL. A player that has just registered may be about to open its port."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_WAIT_SECONDS
        while not await answers_ping(self._world.caller, url, PING_SECONDS):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(PING_PAUSE_SECONDS)
        return True

    def _registered_agent(self, answer: bytes, form: Form | None) -> Player | Referee | None:
        """The agent that this answer has registered. The form of its request is recorded if no other is known."""
        result = msgspec.json.decode(answer, type=_RegistrationAnswer).result
        agent = self._ledger.league.agent(result.player_id or result.referee_id or "")
        if isinstance(agent, Player) and agent.form is None:
            self._learn_form(agent.id, "RPC" if form is None else form.name)
        return agent

    def _learn_form(self, player_id: str, form: str) -> None:
        self._ledger.record(commands.learn_form(self._ledger.league, player_id, form, self._now()))

    def _note_broken_rules(self, agent_id: str, broken: Iterable[m.BrokenRule]) -> None:
        """Record the rules that an agent has broken.

        A rule is recorded again only when its count has doubled, so that the log stays short.
        """
        known, due = self._ledger.league.broken_rules.get(agent_id, {}), []
        for one in broken:
            count = self._uncounted.pop((agent_id, one.rule), 0) + one.count
            if one.rule in known and count < known[one.rule].count:
                self._uncounted[agent_id, one.rule] = count
            else:
                due.append(structs.replace(one, count=count))
        self._ledger.record(commands.note_broken_rules(self._ledger.league, agent_id, due, self._now()))

    def _is_start(self, operation: dict[str, Any]) -> bool:
        is_start = operation.get("command") == "start" and self._ledger.league.is_open
        return is_start and self._is_operator(str(operation.get("admin_token", "")))

    def _repair(self, incoming: Incoming, agent: Player | Referee | None) -> Repaired:
        """The request of document 001 that the sender meant. Raises ProtocolError if that cannot be found out."""
        if incoming.kind is None:
            raise ProtocolError("E042")
        role: Role = "player"
        if isinstance(agent, Referee) or incoming.kind is m.RefereeRegisterRequest:
            role = "referee"
        known = self._known_fields(role)
        if incoming.kind in _REGISTRATIONS:
            known |= self._known_meta(incoming.message, role)
        by_token = agent if incoming.kind not in _REGISTRATIONS else None
        certain = {} if by_token is None else {"sender": sender_of(role, by_token.id)}
        return repair(incoming.message, incoming.kind, known | certain, certain)

    def _known_fields(self, role: Role) -> dict[str, Any]:
        """The fields of a request that are known even if it omits them."""
        return {
            "protocol": "league.v2",
            "sender": f"{role}:unknown",
            "timestamp": self._now(),
            # A new one each time: a request without an id must not count as the repeat of another one.
            "conversation_id": f"conv-open-{self._world.entropy(8).hex()}",
            "league_id": self._ledger.league.settings.league_id,
        }

    def _fill_registration(self, incoming: Incoming) -> dict[str, Any]:
        """A registration with all fields that are known, so that a refusal names only what the sender must add."""
        if incoming.kind not in _REGISTRATIONS:
            return incoming.message
        role: Role = "referee" if incoming.kind is m.RefereeRegisterRequest else "player"
        known = self._known_fields(role) | self._known_meta(incoming.message, role)
        filled = {name: value for name, value in known.items() if "." not in name} | incoming.message
        name = f"{role}_meta"
        if isinstance(filled[name], dict):
            filled[name] = known[name] | filled[name]
        return filled | {"message_type": m.message_type(incoming.kind)}

    def _known_meta(self, message: dict[str, Any], role: Role) -> dict[str, Any]:
        """The description of an agent that registers, as far as its message has it anywhere."""
        endpoint = find_endpoint(message)
        # The name must not contain the endpoint, which other agents may not see.
        meta: dict[str, Any] = {
            "display_name": find_name(message) or f"Guest {self._world.entropy(2).hex()}",
            "version": "0.0.0",
            "game_types": [self._ledger.league.settings.game_type],
        }
        if endpoint:
            meta["contact_endpoint"] = endpoint
        name = f"{role}_meta"
        return {name: meta} | {f"{name}.{field}": value for field, value in meta.items()}


def _is_for_manager(incoming: Incoming) -> bool:
    return incoming.kind is not None and "league_manager" in BY_REQUEST[incoming.kind].receivers
