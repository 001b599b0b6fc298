"""A gateway beside a league in virtual time, and the owners of its seats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leaguekit.gateway.gateway import Gateway
from leaguekit.gateway.seats import MoveRequest, Seat
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import Strategy
from leaguekit.player.player import Player
from leaguekit.player.relay import RelayClient
from leaguekit.player.strategies import at_random
from tests.agents.leagues import MANAGER_URL, Hall

GATEWAY_URL = "http://127.0.0.1:8200/mcp"
HERE = "127.0.0.1"

Think = Callable[[MoveRequest], Any]


def first_legal(asked: MoveRequest) -> Any:
    return asked.valid_options[0]


async def play_in_seat(seat: Seat, think: Think = first_legal) -> None:
    """Play in a seat, as its owner does, until the league is over."""
    while (state := await seat.wait(20.0)).status != "over":
        if state.asked is not None:
            seat.submit(state.asked.turn, think(state.asked))


@asynccontextmanager
async def opened_gateway(hall: Hall) -> AsyncIterator[Gateway]:
    """A gateway that is open."""
    gateway = Gateway(hall.world("gateway"), MANAGER_URL, GATEWAY_URL)
    hall.network.listen(GATEWAY_URL, gateway.handle)
    await gateway.open()
    try:
        yield gateway
    finally:
        hall.network.close(GATEWAY_URL)
        await gateway.close()


class RelayedPlayer:
    """A player that is called through a gateway, and can be cut off from it."""

    def __init__(self, hall: Hall, name: str, strategy: Strategy = at_random, root: Path | None = None) -> None:
        self._hall = hall
        self._name = name
        self._strategy = strategy
        self.world = hall.world(name)
        self.line = RelayClient(self.world, GATEWAY_URL, name)
        self.serving: asyncio.Task[Any] | None = None

    async def start(self) -> PlayerAgent:
        self.endpoint = await self.line.open()
        self.agent = PlayerAgent(Player(self._name, self._strategy), self.world, MANAGER_URL, self.endpoint)
        self._hall.players.append(self.agent)
        self.connect()
        await self.agent.register()
        return self.agent

    def connect(self) -> None:
        self.serving = asyncio.create_task(self.line.serve(self.agent))

    def cut(self) -> None:
        assert self.serving is not None
        self.serving.cancel()
