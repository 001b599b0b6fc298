"""The players of the kit. Each plays one match, and answers its referee as its plan says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Inbox, IncomingRequest, Json, Refusal
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST, PING

# Returns the answer of a player to a request. Raises Refusal for an error.
Reply = Callable[["KitPlayer", IncomingRequest], Awaitable[Any]]
Plan = Mapping[type[Message], Reply]


class KitPlayer:
    """One player in one match. It answers under its own ids, whatever ids a message has."""

    def __init__(self, world: World, player_id: str, match_id: str, token: str, plan: Plan) -> None:
        self.player_id = player_id
        self.match_id = match_id
        self.token = token
        self.inbox = Inbox(self._respond, world.now)
        self.url = ""
        # The loop time at which it first answered each kind of request.
        self.answer_times: dict[type[Message], float] = {}
        self._now = world.now
        self._plan = plan

    def received(self, kind: type[Message]) -> list[IncomingRequest]:
        """Return the requests of a kind that it has received."""
        return [one for one in self.inbox.requests if one.kind is kind]

    async def _respond(self, request: IncomingRequest) -> Any:
        kind = request.kind
        if kind is None or "player" not in BY_REQUEST[kind].receivers:
            if request.method == PING:
                return {"status": "ok"}
            raise Refusal(-32601, f"a player has no method {request.method!r}")
        result = await self._plan.get(kind, _default_reply)(self, request)
        self.answer_times.setdefault(kind, asyncio.get_running_loop().time())
        return result

    def answer(self, kind: type[Message], **fields: Any) -> Json:
        """Return an answer of this player."""
        return {
            **m.envelope(sender_of("player", self.player_id), self._now(), "conv-check"),
            "message_type": message_type(kind),
            "auth_token": self.token,
            "match_id": self.match_id,
            "player_id": self.player_id,
            **fields,
        }

    def join(self, *, accept: bool = True, **fields: Any) -> Json:
        arrival = times.format_timestamp(self._now())
        return self.answer(m.GameJoinAck, arrival_timestamp=arrival, accept=accept, **fields)

    def choice(self, choice: Any, **fields: Any) -> Json:
        return self.answer(m.ChooseParityResponse, parity_choice=choice, **fields)


async def _default_reply(player: KitPlayer, request: IncomingRequest) -> Json:
    """Accept every invitation, choose even, and acknowledge all other messages."""
    kind = request.kind
    if kind is m.GameInvitation:
        return player.join()
    if kind is m.ChooseParityCall:
        return player.choice("even")
    return player.answer(BY_REQUEST[kind].answer, status="ACKNOWLEDGED") if kind is not None else {}


# The parts of a plan


def joins(*, after: float = 0.0, accept: bool = True) -> Reply:
    async def reply(player: KitPlayer, _request: IncomingRequest) -> Json:
        await asyncio.sleep(after)
        return player.join(accept=accept)

    return reply


def chooses(*choices: Any, after: float = 0.0) -> Reply:
    """Return a reply that gives the first choice to the first call, and so on. Further calls get the last choice."""

    async def reply(player: KitPlayer, _request: IncomingRequest) -> Json:
        number = len(player.received(m.ChooseParityCall))
        await asyncio.sleep(after)
        return player.choice(choices[min(number, len(choices)) - 1])

    return reply


def in_turn(*replies: Reply) -> Reply:
    """Return a reply that uses the first reply for the first request, and so on. Further requests get the last."""

    async def reply(player: KitPlayer, request: IncomingRequest) -> Any:
        kind = request.kind
        number = 0 if kind is None else len(player.received(kind))
        return await replies[min(number, len(replies)) - 1](player, request)

    return reply


def answers_with(body: bytes) -> Reply:
    async def reply(_player: KitPlayer, _request: IncomingRequest) -> bytes:
        return body

    return reply


async def no_answer(_player: KitPlayer, _request: IncomingRequest) -> Any:
    """Do not answer."""
    await asyncio.Event().wait()


def plan(choice: str = "even", **replies: Reply) -> Plan:
    """Return a plan. The replies are ``join``, to an invitation, and ``choose``, to a call."""
    kinds: dict[str, type[Message]] = {"join": m.GameInvitation, "choose": m.ChooseParityCall}
    return {m.ChooseParityCall: chooses(choice)} | {kinds[name]: reply for name, reply in replies.items()}
