"""Anybody can register any endpoint. The program that listens there gets it back, and nobody else takes it away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.calls import registration_digest
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.manager.admission import CONFLICTS_BURST
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import at_random
from leaguekit.referee.referee import RefereeAgent
from leaguekit.transport.base import Peer
from tests.agents.leagues import MANAGER_URL, Hall, Json, in_virtual_time, url_of
from tests.manager.test_admission import new_seats

HERE = "127.0.0.1"
SERVED = (HERE, 8000)


def listening(hall: Hall, role: str, number: int, name: str = "Alice", at: str = "") -> PlayerAgent | RefereeAgent:
    """An agent of ours that listens and has not registered; ``at`` is another URL that it gives by error."""
    url = url_of(role, number)
    agent: PlayerAgent | RefereeAgent
    if role == "player":
        agent = PlayerAgent(Player(name, at_random), hall.world(name), MANAGER_URL, at or url)
        hall.players.append(agent)
    else:
        agent = RefereeAgent(hall.world(name), manager_url=MANAGER_URL, endpoint=at or url, name=name)
        hall.referees.append(agent)
    hall.network.close(url)
    hall.network.listen(url, agent.handle)
    return agent


async def squat(hall: Hall, url: str, name: str = "Mallory", query: str = "", **more: Any) -> Json:
    """Register somebody's endpoint: the whole answer."""
    params = hall.registration("player", 9, meta={"contact_endpoint": url, "display_name": name}, **more)
    call = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
    return dict(json.loads(await hall.manager.handle(json.dumps(call).encode(), Peer(HERE, query, SERVED)) or b""))


@pytest.mark.parametrize("name", ["Mallory", "Alice"])
@pytest.mark.parametrize("profile", ["spec", "open"])
@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_the_program_at_an_endpoint_gets_it_back_from_one_who_registered_it_before(
    tmp_path: Path, role: str, profile: str, name: str
) -> None:
    async with Hall(tmp_path, profile=profile) as hall:
        agent, url = listening(hall, role, 1), url_of(role, 1)
        squatter = (await squat(hall, url, name))["result"]
        assert squatter["player_id"] == "P01"
        identity = await agent.register()
        gone = hall.league.players["P01"]
        assert (gone.out, gone.out_reason) == ("WITHDRAWAL", "the program at its endpoint is that of 'Alice'")
        # It comes back neither with its token nor as another.
        for token in ({"auth_token": squatter["auth_token"]}, {}):
            refused = await squat(hall, url, "Mallory", **token)
            assert refused["result"]["status"] == "REJECTED"
        assert hall.league.agent(identity.agent_id) is not None
        assert list(hall.league.endpoints.values()) == [identity.agent_id]


@in_virtual_time
async def test_a_program_at_another_loopback_address_takes_no_place_from_one_that_is_there(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        victim, elsewhere = (
            listening(hall, "player", 1, "Victim"),
            url_of("player", 1).replace("127.0.0.1", "127.0.0.2"),
        )
        await victim.register()
        attacker = PlayerAgent(Player("Attacker", at_random), hall.world("Attacker"), MANAGER_URL, elsewhere)
        hall.players.append(attacker)
        hall.network.listen(elsewhere, attacker.handle)
        with pytest.raises(RegistrationRefused, match="P01 \\('Victim'\\) has already registered"):
            await attacker.register()
        assert hall.league.players["P01"].out is None


@in_virtual_time
async def test_one_who_gets_an_endpoint_back_again_and_again_is_stopped(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        url, mark = url_of("player", 1), ""

        async def pong(_body: bytes, _peer: Peer) -> bytes:
            return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"registering": mark}}).encode()

        hall.network.listen(url, pong)
        answers = []
        for number in range(60):
            params = {"conversation_id": f"again-{number}"}
            mark = registration_digest(params["conversation_id"], hall.registration("player", 9)["timestamp"])
            answers.append(await squat(hall, url, f"Name {'abcdefghij'[number % 10]}{'x' * (number // 10)}", **params))
        accepted = [one for one in answers if one.get("result", {}).get("status") == "ACCEPTED"]
        assert 2 < len(accepted) <= 1 + CONFLICTS_BURST


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_an_agent_that_names_the_endpoint_of_another_by_error_is_told_whose_it_is_and_what_to_do(
    tmp_path: Path, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hall(tmp_path) as hall:
        await listening(hall, "player", 1).register()
        url = url_of("player", 1)
        with pytest.raises(RegistrationRefused) as refused:
            await listening(hall, role, 2, "Bob", at=url).register()
        told = f"ndpoint taken: P01 ('Alice') has already registered with {url}. If your program listens there, ask the"
        assert f"{told} operator for `league withdraw P01`, and register again. Start the" in str(refused.value)
        assert hall.league.players["P01"].out is None
        # The operator sees it, too.
        assert f"Bob is refused: P01 has registered with its endpoint {url} before" in caplog.messages


@in_virtual_time
async def test_nobody_takes_the_endpoint_of_a_player_that_is_being_started_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        url = url_of("player", 1)
        await listening(hall, "player", 1).register()
        again = listening(hall, "player", 1)
        assert (await squat(hall, url))["result"]["error_code"] == "E048"
        # Nor while it registers, when its answer to a ping shows the mark of its own registration.
        assert isinstance(again, PlayerAgent)
        again.registrar._registration_digest = registration_digest("conv-alice", "2025-01-15T10:30:00Z")
        assert (await squat(hall, url))["result"]["error_code"] == "E048"
        assert (await again.register()).agent_id == "P01"
        assert again.registrar.pong == {}


@in_virtual_time
async def test_a_player_that_the_operator_let_in_and_every_player_after_the_start_stays(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        (code,) = await new_seats(hall, 1)
        agents = [listening(hall, "player", number, name) for number, name in ((1, "Alice"), (2, "Bob"), (3, "Eve"))]
        assert (await squat(hall, url_of("player", 1), query=f"seat={code}"))["result"]["player_id"] == "P01"
        with pytest.raises(RegistrationRefused, match="league withdraw P01"):
            await agents[0].register()
        assert (await squat(hall, url_of("player", 2), "Trudy"))["result"]["player_id"] == "P02"
        await agents[2].register()
        await hall.referee()
        await hall.operate("start")
        with pytest.raises(RegistrationRefused, match="Registration closed"):
            await agents[1].register()
        assert all(player.out is None for player in hall.league.players.values())
