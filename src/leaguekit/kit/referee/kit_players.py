"""The players of the kit. Each plays one match, and answers its referee as its plan says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from leaguekit.agents.world import World
from leaguekit.kit.documented_game import CHOICE, ONE, ChoiceAnswer, ChoiceCall
from leaguekit.kit.exchanges import IncomingRequest, Json, KitAgent
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import BY_REQUEST

# Returns the answer of a player to a request. Raises Refusal for an error.
Reply = Callable[["KitPlayer", IncomingRequest], Awaitable[Any]]
Plan = Mapping[type[m.Message], Reply]


class KitPlayer(KitAgent):
    """One player in one match. It answers under its own ids, whatever ids a message has."""

    def __init__(self, world: World, player_id: str, match_id: str, token: str, plan: Plan) -> None:
        super().__init__(world, "player")
        self.player_id = player_id
        self.match_id = match_id
        self.token = token
        # The loop time at which it first answered each kind of request.
        self.answer_times: dict[type[m.Message], float] = {}
        self._plan = plan

    async def reply(self, kind: type[m.Message], request: IncomingRequest) -> Any:
        acknowledgement = self.answer(BY_REQUEST[kind].answer, status="ACKNOWLEDGED")
        result = await self._plan[kind](self, request) if kind in self._plan else acknowledgement
        self.answer_times.setdefault(kind, asyncio.get_running_loop().time())
        return result

    def answer(self, kind: type[m.Message], **fields: Any) -> Json:
        """Return an answer of this player."""
        return {
            **m.envelope(sender_of("player", self.player_id), self.now(), "conv-check"),
            "message_type": m.message_type(kind),
            "auth_token": self.token,
            "match_id": self.match_id,
            "player_id": self.player_id,
            **fields,
        }

    def join(self, *, accept: bool = True, **fields: Any) -> Json:
        arrival = times.format_timestamp(self.now())
        return self.answer(m.GameJoinAck, arrival_timestamp=arrival, accept=accept, **fields)

    def choice(self, choice: Any, **fields: Any) -> Json:
        return self.answer(ChoiceAnswer, **{CHOICE: choice}, **fields)


# The parts of a plan


def joins(*, after: float = 0.0, **fields: Any) -> Reply:
    async def reply(player: KitPlayer, _request: IncomingRequest) -> Json:
        await asyncio.sleep(after)
        return player.join(**fields)

    return reply


def chooses(*choices: Any, after: float = 0.0) -> Reply:
    """Return a reply that gives the first choice to the first call, and so on. Further calls get the last choice."""

    def choose(choice: Any) -> Reply:
        async def reply(player: KitPlayer, _request: IncomingRequest) -> Json:
            await asyncio.sleep(after)
            return player.choice(choice)

        return reply

    return in_turn(*map(choose, choices))


def in_turn(*replies: Reply) -> Reply:
    """Return a reply that uses the first reply for the first request, and so on. Further requests get the last."""

    async def reply(player: KitPlayer, request: IncomingRequest) -> Any:
        number = 0 if request.kind is None else len(player.received(request.kind))
        return await replies[min(number, len(replies)) - 1](player, request)

    return reply


def answers_with(body: bytes) -> Reply:
    async def reply(_player: KitPlayer, _request: IncomingRequest) -> bytes:
        return body

    return reply


async def no_answer(_player: KitPlayer, _request: IncomingRequest) -> Any:
    """Do not answer."""
    await asyncio.Event().wait()


def plan(choice: str = ONE, *, join: Reply | None = None, choose: Reply | None = None) -> Plan:
    """Return a plan: the replies to an invitation and to a call. Without them, the player joins and makes a choice."""
    return {m.GameInvitation: join or joins(), ChoiceCall: choose or chooses(choice)}
