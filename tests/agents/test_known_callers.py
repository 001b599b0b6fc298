"""A caller that shows its token is charged by itself, whatever others at its address have asked for.

All agents here share one address, and nobody who is not known by a token may ask for anything there any more.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.credentials import IdentifyBody, TokenOwner
from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.protocol.refusals import Refuse, player_refusal
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, RpcRequest
from leaguekit.transport.base import Handler, HttpAnswer, Peer, TooManyRequests
from leaguekit.transport.memory import MemoryNetwork
from leaguekit.transport.token_buckets import TokenBuckets
from tests.agents.leagues import Hall
from tests.agents.leagues import in_virtual_time as in_a_hall
from tests.agents.scene import OTHER, PARITY, REFEREE_URL, Scene, derived, in_virtual_time, player_token, silent
from tests.gateway.test_seats import technical_losses
from tests.gateway.virtual_gateway import GATEWAY_URL, RelayedPlayer, opened_gateway, play_in_seat
from tests.referee.test_match_runner import _choice, _message
from tests.transport.running import of_requests

HERE = Peer("127.0.0.1", "", ("127.0.0.1", 8101))
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'


def refuse_unknown(network: MemoryNetwork, url: str, handle: Handler, identify: IdentifyBody, refuse: Refuse) -> None:
    """Refuse all callers at an address that are not known there."""
    made = RateLimiter(identify_body=identify)
    made._addresses = TokenBuckets(1e-9, 1e-9)
    limited_handler = made.limit(of_requests(handle), refuse, MAX_TRUSTED_BYTES)

    async def limited(body: bytes, peer: Peer) -> Any:
        try:
            return await limited_handler(RpcRequest(body), peer)
        except TooManyRequests as refused:
            return HttpAnswer(429, refused.body)

    network.close(url)
    network.listen(url, limited)


async def status_of_ping(network: MemoryNetwork, url: str) -> int:
    answering = network.deliver(url, PING, "127.0.0.1")
    assert answering is not None
    came = await answering
    return came.status if isinstance(came, HttpAnswer) else 200


@pytest.mark.parametrize("token", [derived("P01"), player_token("P01")])
@in_virtual_time
async def test_no_429_of_a_referee_to_strangers_costs_a_player_at_their_address_its_match(
    scene: Scene, token: str
) -> None:
    player = scene.player("P01", PARITY, game_invitation=silent, choose_parity_call=silent)
    scene.player("P02", OTHER)
    referee = await scene.start()
    refuse_unknown(scene.network, REFEREE_URL, referee.handle, referee.identify_sender, referee.refuse)
    assert (await scene.assign())["status"] == "ACCEPTED"
    assert await status_of_ping(scene.network, REFEREE_URL) == 429
    await asyncio.sleep(3)
    assert (await player.post("game_join_ack", _message(scene, "P01", auth_token="tok-p01-x")))["code"]
    joined = await player.post("game_join_ack", _message(scene, "P01", auth_token=token))
    await asyncio.sleep(4)
    chosen = await player.post("choose_parity_response", _choice(scene, "P01", PARITY, auth_token=token))
    assert (joined["status"], chosen["status"]) == ("ACKNOWLEDGED", "ACKNOWLEDGED")
    await scene.manager.reported.wait()
    assert scene.manager.reports[0]["result"]["winner"] == "P01"


@in_a_hall
async def test_a_league_is_played_while_strangers_at_everybodys_address_are_refused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random", "random", referees=2)
        for player in hall.players:
            url = player.registrar.endpoint
            refuse_unknown(hall.network, url, player.handle, player.identify_sender, player_refusal)
            assert await status_of_ping(hall.network, url) == 429
        for referee in hall.referees:
            endpoint = referee.registrar.endpoint
            refuse_unknown(hall.network, endpoint, referee.handle, referee.identify_sender, referee.refuse)
        await hall.operate("start")
        await hall.end()
        assert technical_losses(hall) == 0
        assert all(match.result is not None for match in hall.league.matches.values())


@in_a_hall
async def test_seats_and_relays_are_played_while_strangers_at_their_address_are_refused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", referees=1)
        code, seat = await gateway.join(None, "Ada", "127.0.0.1")
        by_code = gateway.identify_sender(b'{"code":"%b"}' % code.encode(), HERE)
        assert by_code == gateway.identify_sender(b"{}", HERE._replace(query=f"seat={code}"))
        assert by_code is not None
        assert gateway.identify_sender(b'{"code":"AAAA-BBBB-CCCC-DDDD"}', HERE) is None
        relayed = RelayedPlayer(hall, "Bob")
        await relayed.start()
        refuse_unknown(hall.network, GATEWAY_URL, gateway.handle, gateway.identify_sender, player_refusal)
        assert await status_of_ping(hall.network, GATEWAY_URL) == 429
        sitting = asyncio.create_task(play_in_seat(seat))
        await hall.operate("start")
        await hall.end()
        await sitting
        assert technical_losses(hall) == 0


def test_long_answers_are_charged_to_whoever_shows_a_token_and_not_to_its_address() -> None:
    def identify(beginning: bytes, _peer: Peer) -> TokenOwner | None:
        return TokenOwner("player", "P01") if b"good" in beginning else None

    made = RateLimiter(identify_body=identify)
    for buckets in (made._addresses, made._players, made._mcp_addresses, made._mcp_agents):
        buckets._clock = lambda: 1.0

    async def answer(_request: RpcRequest, _peer: Peer) -> bytes:
        return b"x" * 204_800

    limited = made.limit(answer, player_refusal, 10_240)

    def is_taken(body: bytes) -> bool:
        try:
            return asyncio.run(limited(RpcRequest(body), HERE)) is not None  # type: ignore[arg-type]
        except TooManyRequests:
            return False

    assert sum(is_taken(b'{"auth_token":"good"}') for _ in range(100)) == 4
    assert sum(is_taken(b"{}") for _ in range(100)) == 20
    for buckets in (made._addresses, made._players):
        buckets._clock = lambda: 11.0
    assert is_taken(b'{"auth_token":"good"}')
    assert made._over_limit == {}


def test_a_visitor_by_mcp_that_shows_a_token_is_counted_by_itself() -> None:
    tokens = {"good": TokenOwner("player", "P01")}
    made = RateLimiter(tokens.get)
    for buckets in (made._mcp_addresses, made._mcp_agents):
        buckets._clock = lambda: 1.0
    while not made.acquire_for_mcp(HERE, b"{}"):
        pass
    shown = json.dumps({"params": {"arguments": {"auth_token": "good"}}}).encode()
    assert made.acquire_for_mcp(HERE, shown) == 0
    assert made.acquire_for_mcp(HERE, shown.replace(b"good", b"bad")) > 0
    assert made.acquire_for_mcp(HERE, shown + b" " * 2_048_000) == 0
    assert made.acquire_for_mcp(HERE, shown) > 0


def test_whoever_looks_at_pages_pays_for_long_ones_and_not_for_short_ones() -> None:
    made = RateLimiter()
    made._pages._clock = lambda: 1.0
    sent = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def main(size: int) -> None:
        await made.charging_send(HERE, send)({"type": "http.response.start"})
        await made.charging_send(HERE, send)({"type": "http.response.body", "body": b"x" * size})

    asyncio.run(main(60_000))
    assert made._pages._full_at == {}
    for _ in range(6):
        asyncio.run(main(65_536_000))
    assert len(sent) == 14
    assert made.acquire_for_page(HERE) > 0
