"""The kit's players: each sits in one match, and answers its referee as its plan says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Arrived, Desk, Json, Refusal
from leaguekit.kit.incoming import kind_of
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST, PING

# What a player answers a request with; raises Refusal for an error.
Reply = Callable[["Seat", Arrived], Awaitable[Any]]
Plan = Mapping[type[Message], Reply]


class Seat:
    """One player in one match. Its desk has what it is sent; it answers under its own ids, whatever a message says."""

    def __init__(self, world: World, player_id: str, match_id: str, token: str, plan: Plan) -> None:
        self.player_id = player_id
        self.match_id = match_id
        self.token = token
        self.desk = Desk(self._script, world.now)
        self.url = ""
        # When it first answered each kind of request.
        self.answered: dict[type[Message], float] = {}
        self._now = world.now
        self._plan = plan

    def got(self, kind: type[Message]) -> list[Arrived]:
        """The messages of a kind that have come."""
        return [one for one in self.desk.arrived if kind_of(one) is kind]

    async def _script(self, arrived: Arrived) -> Any:
        kind = kind_of(arrived)
        if kind is None or "player" not in BY_REQUEST[kind].receivers:
            if arrived.method == PING:
                return {"status": "ok"}
            raise Refusal(-32601, f"a player has no method {arrived.method!r}")
        result = await self._plan.get(kind, _good)(self, arrived)
        self.answered.setdefault(kind, asyncio.get_running_loop().time())
        return result

    def answer(self, kind: type[Message], **fields: Any) -> Json:
        """An answer of this player's."""
        return {
            **m.envelope(sender_of("player", self.player_id), self._now(), "conv-check"),
            "message_type": message_type(kind),
            "auth_token": self.token,
            "match_id": self.match_id,
            "player_id": self.player_id,
            **fields,
        }

    def join(self, *, accept: bool = True, **fields: Any) -> Json:
        arrival = times.written(self._now())
        return self.answer(m.GameJoinAck, arrival_timestamp=arrival, accept=accept, **fields)

    def choice(self, choice: Any, **fields: Any) -> Json:
        return self.answer(m.ChooseParityResponse, parity_choice=choice, **fields)


async def _good(seat: Seat, arrived: Arrived) -> Json:
    """Takes every invitation, chooses even, and acknowledges whatever else comes."""
    kind = kind_of(arrived)
    if kind is m.GameInvitation:
        return seat.join()
    if kind is m.ChooseParityCall:
        return seat.choice("even")
    return seat.answer(BY_REQUEST[kind].answer, status="ACKNOWLEDGED") if kind is not None else {}


# What plans are made of


def joins(*, after: float = 0.0, accept: bool = True) -> Reply:
    async def reply(seat: Seat, _arrived: Arrived) -> Json:
        await asyncio.sleep(after)
        return seat.join(accept=accept)

    return reply


def chooses(*choices: Any, after: float = 0.0) -> Reply:
    """Answers the first call with the first choice and so on, and further ones with the last."""

    async def reply(seat: Seat, _arrived: Arrived) -> Json:
        number = len(seat.got(m.ChooseParityCall))
        await asyncio.sleep(after)
        return seat.choice(choices[min(number, len(choices)) - 1])

    return reply


def in_turn(*replies: Reply) -> Reply:
    """Answers the first request of its kind by the first reply and so on, and further ones by the last."""

    async def reply(seat: Seat, arrived: Arrived) -> Any:
        kind = kind_of(arrived)
        number = 0 if kind is None else len(seat.got(kind))
        return await replies[min(number, len(replies)) - 1](seat, arrived)

    return reply


def says(body: bytes) -> Reply:
    async def reply(_seat: Seat, _arrived: Arrived) -> bytes:
        return body

    return reply


async def never(_seat: Seat, _arrived: Arrived) -> Any:
    """Leaves the request unanswered."""
    await asyncio.Event().wait()


def plan(choice: str = "even", **replies: Reply) -> Plan:
    """A plan by the names of what is asked: ``join`` and ``choose``."""
    kinds: dict[str, type[Message]] = {"join": m.GameInvitation, "choose": m.ChooseParityCall}
    return {m.ChooseParityCall: chooses(choice)} | {kinds[name]: reply for name, reply in replies.items()}
