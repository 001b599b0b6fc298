"""Strangers at a gateway cost no player a call of its manager or its referees. ``make stress`` does it in a league."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.agents.identity import Identity
from leaguekit.agents.world import World
from leaguekit.cli.program import raise_file_limit
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.relay import RelayClient
from leaguekit.player.strategies import at_random
from leaguekit.protocol import tokens
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from tests.gateway.served_gateway import ServedGateway, served_gateway
from tests.stress import strangers
from tests.stress.lines import Line, Seen, post
from tests.transport.mcp.served_league import ServedLeague

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback addresses")

CALLS = 25


class Place(NamedTuple):
    """Where a player is called at a gateway, and who it is."""

    port: int
    path: str
    me: Identity


def run(work: Coroutine[Any, Any, None]) -> None:
    raise_file_limit()
    asyncio.run(asyncio.wait_for(work, 60))


@asynccontextmanager
async def relayed(house: ServedLeague, at: ServedGateway, root: Path) -> AsyncIterator[Place]:
    """A player behind a relay."""
    world = World(HttpCaller(AddressPolicy.local()), root)
    line = RelayClient(world, at.url, "Rita")
    endpoint = await line.open()
    agent = PlayerAgent(Player("Rita", at_random), world, house.url, endpoint)
    serving = asyncio.create_task(line.serve(agent))
    try:
        me = await agent.register()
        yield Place(int(at.base.rpartition(":")[2]), f"/mcp?{endpoint.partition('?')[2]}", me)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await line.close()
        await agent.close()
        await world.caller.close()


@asynccontextmanager
async def seated(house: ServedLeague, at: ServedGateway, root: Path) -> AsyncIterator[Place]:
    """A player in a seat."""
    _, seat = await at.gateway.join(None, "Rita", strangers.HERE)
    place = next(place for place, one in at.gateway.seats.items() if one is seat)
    assert seat.agent.identity is not None
    yield Place(int(at.base.rpartition(":")[2]), f"/mcp?at={place}", seat.agent.identity)


def _from_referee(me: Identity, number: int) -> bytes:
    """An invitation to a match of its own, which no earlier call has shown the token of."""
    match_id = f"R{number}M1"
    token = tokens.referee_to_player(me.key, str(me.league_id), match_id, 1, "REF01")
    return strangers.invitation(me.agent_id, token, match_id)


def _from_manager(me: Identity, number: int) -> bytes:
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_STANDINGS_UPDATE",
        "sender": "league_manager",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": f"conv-{number}",
        "auth_token": tokens.manager_to_agent(me.key, str(me.league_id), me.agent_id),
        "league_id": me.league_id,
        "round_id": 1,
        "standings": [],
    }
    return strangers.call("update_standings", message)


# One in every run; the others take long.
FLOODS = [
    pytest.param(
        kind,
        flood,
        id=f"{kind.__name__}-{flood.__name__}",
        marks=[] if (kind, flood.__name__) == (relayed, "pings") else pytest.mark.long,
    )
    for kind in (relayed, seated)
    for flood in strangers.STRANGERS
]


@pytest.mark.parametrize(("kind", "flood"), FLOODS)
def test_a_flood_of_strangers_costs_a_player_at_a_gateway_no_call(
    tmp_path: Path, kind: Any, flood: strangers.Strangers
) -> None:
    async def flooded() -> None:
        async with (
            ServedLeague(tmp_path) as house,
            served_gateway(house.url, tmp_path) as at,
            kind(house, at, tmp_path) as place,
            strangers.flooding(place.port, place.path, flood),
        ):
            for number in range(1, CALLS + 1):
                for body in (_from_referee(place.me, number), _from_manager(place.me, number), strangers.PING):
                    line = Line(place.port, strangers.HERE, Seen())
                    status, answer = await line.ask(post(body, place.path))
                    line.close()
                    # A ping of somebody at a busy address may hear 429, which shows that the player is there.
                    if body is not strangers.PING or status != 429:
                        assert (status, "result" in json.loads(answer or b"{}")) == (200, True), (body, answer)

    run(flooded())
