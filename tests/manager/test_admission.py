"""Registration at the manager: the referee code, seats, revoked tokens, and agents that register again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.world import World
from leaguekit.league import commands
from leaguekit.league.settings import MAX_PER_ADDRESS, Settings
from leaguekit.manager.admission import RETURNS_BURST
from leaguekit.manager.manager import Manager
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import codes, tokens
from leaguekit.referee.referee import RefereeAgent
from leaguekit.store.base import StoreError
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.base import Peer
from leaguekit.transport.memory import MemoryCaller
from tests.agents.leagues import ADMIN, LEAGUE, MANAGER_URL, Hall, Json, Scripted, in_virtual_time, url_of

HERE, THERE = "127.0.0.1", "10.0.0.7"
CODE = codes.new_code(b"0123456789")
SERVED = ("127.0.0.1", 8000)


async def register_from(hall: Hall, role: str, number: int, query: str = "", host: str = THERE, **more: Any) -> Json:
    """Register an agent that listens, from an address. Returns the result of the answer."""
    url = f"http://{host}:{9000 + number + 100 * (role == 'referee')}/mcp"
    hall.network.close(url)
    hall.network.listen(url, _acknowledge)
    params = hall.registration(role, number, **{"meta": {"contact_endpoint": url}} | more)
    call = {"jsonrpc": "2.0", "method": f"register_{role}", "params": params, "id": 1}
    answer = await hall.manager.handle(json.dumps(call).encode(), Peer(host, query, SERVED))
    assert answer is not None
    return dict(json.loads(answer)["result"])


async def _acknowledge(body: bytes, _peer: Peer) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": {}}).encode()


def assert_rejected(result: Json, *words: str) -> None:
    assert (result["status"], result["error_code"], result["code"]) == ("REJECTED", "E058", None)
    assert result.get("player_id") is None
    assert result.get("referee_id") is None
    for word in words:
        assert word in result["reason"]


async def repeat(hall: Hall, params: Json, host: str) -> Json:
    """Send a registration once more, from an address. Returns the whole answer."""
    call = {"jsonrpc": "2.0", "method": f"register_{params['sender'].partition(':')[0]}", "params": params, "id": 1}
    return dict(json.loads(await hall.manager.handle(json.dumps(call).encode(), Peer(host, "", SERVED)) or b""))


async def new_seats(hall: Hall, count: int) -> list[str]:
    shown = await hall.operate("seats_new", count=count)
    return [one["code"] for one in shown["seats"]]


# Repeats


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_registration_copied_by_another_sender_or_from_another_address_is_not_given_the_token(
    tmp_path: Path, role: str
) -> None:
    # The dashboard shows all that another client needs for that, except the conversation_id.
    async with Hall(tmp_path) as hall:
        agent = Scripted(hall, role, 1, {})
        hall.network.listen(agent.url, agent.handle)
        params = hall.registration(role, 1)
        token = (await repeat(hall, params, HERE))["result"]["auth_token"]
        for copy, host in ((params | {"sender": f"{role}:other"}, HERE), (params, "127.0.0.2"), (params, THERE)):
            answer = await repeat(hall, copy, host)
            assert token not in str(answer)
            assert "error" in answer or answer["result"]["status"] == "REJECTED"
        known = hall.league.agent("P01" if role == "player" else "REF01")
        assert known is not None
        # The token is still valid, and its owner gets it again.
        assert hall.league.agent_with(tokens.verifier(token)) is known
        assert (await repeat(hall, params, HERE))["result"]["auth_token"] == token


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_registration_is_not_repeated_by_guessing_its_conversation(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        agent = Scripted(hall, role, 1, {})
        hall.network.listen(agent.url, agent.handle)
        params = hall.registration(role, 1) | {"conversation_id": "conv-reg-020"}
        token = (await repeat(hall, params, HERE))["result"]["auth_token"]
        guesses = [await repeat(hall, params | {"conversation_id": f"conv-reg-{n:03}"}, HERE) for n in range(40)]
        assert token not in str(guesses)
        known = hall.league.agent("P01" if role == "player" else "REF01")
        assert hall.league.agent_with(tokens.verifier(token)) is known


@in_virtual_time
async def test_a_repeat_is_answered_within_ten_minutes_and_then_the_operator_lets_its_sender_in(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        agent = Scripted(hall, "player", 1, {})
        hall.network.listen(agent.url, agent.handle)
        params = hall.registration("player", 1)
        token = (await repeat(hall, params, HERE))["result"]["auth_token"]
        await asyncio.sleep(599)
        # A manager that was restarted recognises the repeat by its log, and makes another token.
        await hall.crash()
        await hall.restart()
        again = (await repeat(hall, params, HERE))["result"]
        assert again["player_id"] == "P01"
        assert again["auth_token"] != token
        await asyncio.sleep(602)
        assert (await repeat(hall, params, HERE))["error"]["code"] == 2002
        code = (await hall.operate("token_rotate", agent_id="P01"))["seat"]["code"]
        body = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}).encode()
        back = json.loads(await hall.manager.handle(body, Peer(HERE, f"seat={code}", SERVED)) or b"")["result"]
        assert (back["status"], back["player_id"]) == ("ACCEPTED", "P01")


# Players per address


def assert_too_many(result: Json, words: str) -> None:
    assert (result["status"], result["error_code"], result["player_id"]) == ("REJECTED", "E020", None)
    assert result["reason"] == f"Maximum players reached: {words}, and no more may. Ask the operator for a seat code"


@in_virtual_time
async def test_one_address_registers_two_hundred_players_and_no_more(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for number in range(1, MAX_PER_ADDRESS + 1):
            assert (await register_from(hall, "player", number))["status"] == "ACCEPTED"
        assert_too_many(await register_from(hall, "player", 999), "200 players have registered from 10.0.0.7")
        # Other addresses are not affected, nor is a player that returns, nor one with a seat.
        elsewhere = await register_from(hall, "player", 300, host="10.0.0.8")
        assert elsewhere["status"] == "ACCEPTED"
        back = await register_from(hall, "player", 300, host="10.0.0.8", auth_token=elsewhere["auth_token"])
        assert back["player_id"] == elsewhere["player_id"]
        (code,) = await new_seats(hall, 1)
        assert (await register_from(hall, "player", 301, f"seat={code}"))["status"] == "ACCEPTED"
        # A withdrawn player does not count.
        await hall.operate("withdraw", player_id="P01")
        await hall.operate("withdraw", player_id="P02")
        assert (await register_from(hall, "player", 302))["status"] == "ACCEPTED"
        assert_too_many(await register_from(hall, "player", 303), "200 players have registered from 10.0.0.7")
        assert hall.league.settings.max_players == 1_000


@pytest.mark.parametrize(
    ("addresses", "counted"),
    [
        (["2001:db8::1", "2001:db8::2", "2001:db8::3"], "2001:db8::/64"),
        (["10.0.0.7", "::ffff:10.0.0.7", "10.0.0.7"], "10.0.0.7"),
    ],
)
@in_virtual_time
async def test_addresses_of_one_network_are_counted_together(
    tmp_path: Path, addresses: list[str], counted: str
) -> None:
    async with Hall(tmp_path) as hall:
        hall.manager._admission._max_per_address = 2
        for number, address in enumerate(addresses, 1):
            url = f"http://10.0.1.{number}:9000/mcp"
            hall.network.listen(url, _acknowledge)
            params = hall.registration("player", number, meta={"contact_endpoint": url})
            result = (await repeat(hall, params, address))["result"]
        assert_too_many(result, f"2 players have registered from {counted}")


@in_virtual_time
async def test_endpoints_at_one_host_are_counted_whatever_address_registers_them(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.manager._admission._max_per_address = 2
        for number in (1, 2, 3):
            url = f"http://victim.example:{9000 + number}/mcp"
            hall.network.listen(url, _acknowledge)
            params = hall.registration("player", number, meta={"contact_endpoint": url})
            result = (await repeat(hall, params, f"10.0.0.{number}"))["result"]
        assert_too_many(result, "2 players listen at victim.example")


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.5"], ids=["loopback", "its own address"])
@in_virtual_time
async def test_on_the_managers_own_machine_players_are_not_counted(tmp_path: Path, host: str) -> None:
    async with Hall(tmp_path) as hall:
        settings = Settings(league_id=LEAGUE, seed_hex="5e" * 32)
        endpoint = f"http://{host}:8000/mcp"
        manager = Manager(hall.world("other"), MemoryLog(), settings, endpoint, ADMIN, max_per_address=1)
        await manager.open()
        for number in (1, 2, 3):
            url = f"http://{host}:{9000 + number}/mcp"
            hall.network.listen(url, _acknowledge)
            params = hall.registration("player", number, meta={"contact_endpoint": url})
            call = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
            answer = await manager.handle(json.dumps(call).encode(), Peer(host, "", (host, 8000)))
            assert json.loads(answer or b"")["result"]["status"] == "ACCEPTED"
        await manager.close()


# The referee code


@in_virtual_time
async def test_a_referee_from_elsewhere_needs_the_code(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        code = await hall.manager.provide_referee_code(None)
        assert code is not None
        assert_rejected(await register_from(hall, "referee", 1), "/mcp?referee=CODE")
        for query in ("referee=", f"referee={CODE}", f"seat={code}", f"Referee={code}", f"referee={code}0"):
            result = await register_from(hall, "referee", 1, query)
            assert (result["status"], result["error_code"]) == ("REJECTED", "E058")
        assert (await register_from(hall, "referee", 1, f"referee={code}"))["referee_id"] == "REF01"
        assert (await register_from(hall, "referee", 2, f"referee={code.lower().replace('-', '')}"))[
            "referee_id"
        ] == "REF02"
        assert (await register_from(hall, "player", 1))["player_id"] == "P01"


@in_virtual_time
async def test_a_league_without_a_code_takes_no_referee_from_elsewhere(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for query in ("", "referee=", f"referee={CODE}"):
            assert_rejected(await register_from(hall, "referee", 1, query))


@pytest.mark.parametrize(
    ("host", "called_at", "listens_at", "is_local"),
    [
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:8000/mcp", True),
        ("::1", "::1", "http://[::1]:8000/mcp", True),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", "http://localhost:8000/mcp", True),
        # The manager listens for other machines, too. A caller on this machine may forward calls of others.
        ("127.0.0.1", "127.0.0.1", "http://10.0.0.5:8000/mcp", False),
        ("127.0.0.1", "127.0.0.1", "http://0.0.0.0:8000/mcp", False),
        ("127.0.0.1", "127.0.0.1", "https://league.example/mcp", False),
        ("10.0.0.7", "127.0.0.1", "http://127.0.0.1:8000/mcp", False),
        ("127.0.0.1", "10.0.0.5", "http://127.0.0.1:8000/mcp", False),
        ("", "", "http://127.0.0.1:8000/mcp", False),
        ("localhost.example", "127.0.0.1", "http://127.0.0.1:8000/mcp", False),
    ],
)
@in_virtual_time
async def test_only_a_referee_on_the_machine_of_a_manager_for_that_machine_needs_no_code(
    tmp_path: Path, host: str, called_at: str, listens_at: str, is_local: bool
) -> None:
    async with Hall(tmp_path) as hall:
        settings = Settings(league_id=LEAGUE, seed_hex="5e" * 32)
        hall.manager = manager = Manager(hall.world("other"), MemoryLog(), settings, listens_at, ADMIN)
        await manager.open()
        hall.network.listen(url_of("referee", 1), _acknowledge)
        call = {"jsonrpc": "2.0", "method": "register_referee", "params": hall.registration("referee", 1), "id": 1}
        answer = await manager.handle(json.dumps(call).encode(), Peer(host, "", (called_at, 8000)))
        assert (json.loads(answer or b"")["result"]["status"] == "ACCEPTED") is is_local
        hall.running = None


@in_virtual_time
async def test_the_code_outlives_the_manager_and_only_its_verifier_is_in_the_log(tmp_path: Path) -> None:
    kept: dict[str, str] = {}
    log = MemoryLog()
    async with Hall(tmp_path, log=log) as hall:
        hall.manager._operator._keep = kept.__setitem__
        code = await hall.manager.provide_referee_code(None)
        assert kept == {"referee_code": code}
    assert code is not None
    assert not any(code.encode() in event for event in log.content.events)
    async with Hall(tmp_path, log=MemoryLog(log.content)) as hall:
        assert await hall.manager.provide_referee_code(code) == code
        assert (await register_from(hall, "referee", 1, f"referee={code}"))["referee_id"] == "REF01"
        # Its file is lost, or is that of another league. The code is still valid, but cannot be shown.
        assert await hall.manager.provide_referee_code(None) is None
        assert await hall.manager.provide_referee_code(CODE) is None
        assert (await register_from(hall, "referee", 2, f"referee={code}"))["referee_id"] == "REF02"


@in_virtual_time
async def test_a_new_referee_code_voids_the_old_one_and_those_who_are_in_stay_in(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        old = await hall.manager.provide_referee_code(None)
        token = (await register_from(hall, "referee", 1, f"referee={old}"))["auth_token"]
        new = (await hall.operate("token_rotate_referee_code"))["referee_code"]
        assert_rejected(await register_from(hall, "referee", 2, f"referee={old}"))
        assert (await register_from(hall, "referee", 2, f"referee={new}"))["referee_id"] == "REF02"
        assert (await register_from(hall, "referee", 1, f"referee={old}", auth_token=token))["referee_id"] == "REF01"


@in_virtual_time
async def test_an_agent_at_a_server_of_the_host_comes_back_when_the_host_has_another_address(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        world, settings = hall.world("other"), Settings(league_id=LEAGUE, seed_hex="5e" * 32)
        own = ["http://10.0.0.9:9001/mcp"]
        hall.manager = Manager(world, MemoryLog(), settings, "http://10.0.0.5/mcp", ADMIN, own_servers=own)
        await hall.manager.open()
        token = (await register_from(hall, "player", 1))["auth_token"]
        assert_rejected(await register_from(hall, "player", 1, host="10.0.0.8", auth_token=token), "its host")
        assert (await register_from(hall, "player", 1, host="10.0.0.9", auth_token=token))["player_id"] == "P01"
        hall.running = None


@in_virtual_time
async def test_who_starts_a_manager_can_give_its_own_referees_a_code_of_their_own(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        world, settings = hall.world("other"), Settings(league_id=LEAGUE, seed_hex="5e" * 32)
        hall.manager = Manager(world, MemoryLog(), settings, "http://10.0.0.5/mcp", ADMIN, referee_code=CODE)
        await hall.manager.open()
        printed = await hall.manager.provide_referee_code(None)
        assert (await register_from(hall, "referee", 1, f"referee={CODE}"))["referee_id"] == "REF01"
        assert (await register_from(hall, "referee", 2, f"referee={printed}"))["referee_id"] == "REF02"
        for number in (1, 2):
            await register_from(hall, "player", number)
        hall.manager.ledger.record(commands.start(hall.manager.ledger.league, hall.timestamp))
        # A referee of the host itself may come after the start, and no other new one.
        late = await register_from(hall, "referee", 3, f"referee={printed}")
        assert (late["status"], late["error_code"]) == ("REJECTED", "E019")
        assert (await register_from(hall, "referee", 3, f"referee={CODE}"))["referee_id"] == "REF03"
        hall.running = None


# Seats


@in_virtual_time
async def test_with_a_seat_an_unmodified_agent_comes_back_as_itself_from_anywhere_at_any_time(tmp_path: Path) -> None:
    async with Hall(tmp_path, require_seat=True) as hall:
        first, second = await new_seats(hall, 2)
        assert_rejected(await register_from(hall, "player", 1), "/mcp?seat=CODE")
        assert_rejected(await register_from(hall, "player", 1, f"seat={CODE}"), "opens nothing")
        was = await register_from(hall, "player", 1, f"seat={first}")
        assert was["player_id"] == "P01"
        assert (await register_from(hall, "player", 2, f"seat={second}"))["player_id"] == "P02"
        await hall.scripted("referee", 1)
        await hall.operate("start")
        now = await register_from(hall, "player", 1, f"seat={first.lower()}", host="192.168.3.4")
        assert (now["player_id"], now["auth_token"] == was["auth_token"]) == ("P01", False)
        assert_rejected(await register_from(hall, "player", 3))
        assert not any(one.encode() in event for event in hall.log.content.events for one in (first, second))


@in_virtual_time
async def test_the_operator_sees_who_has_which_seat_and_revokes_by_id_or_code(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        first, second, third = await new_seats(hall, 3)
        await register_from(hall, "player", 1, f"seat={first}")
        seats = (await hall.operate("seats"))["seats"]
        assert [(one["id"], one["state"], one["holder"], one["display_name"]) for one in seats] == [
            ("S01", "taken", "P01", "Player 1"),
            ("S02", "free", None, None),
            ("S03", "free", None, None),
        ]
        assert not any(code in json.dumps(seats) for code in (first, second, third))
        await hall.operate("seats_revoke", seat="s01")
        shown = await hall.operate("seats_revoke", seat=second.lower())
        assert [one["state"] for one in shown["seats"]] == ["revoked", "revoked", "free"]
        for number, code in ((1, first), (2, second)):
            assert_rejected(await register_from(hall, "player", number, f"seat={code}"), "opens nothing")
        assert (await register_from(hall, "player", 3, f"seat={third}"))["player_id"] == "P02"


@pytest.mark.parametrize(
    ("command", "fields", "code"),
    [
        ("seats_new", {"count": 0}, "E044"),
        ("seats_new", {"count": 1001}, "E044"),
        ("seats_revoke", {"seat": "S77"}, "E044"),
        ("seats_revoke", {}, "E044"),
        ("token_rotate", {"agent_id": "P77"}, "E005"),
    ],
)
@in_virtual_time
async def test_what_cannot_be_given_or_taken_changes_nothing(
    tmp_path: Path, command: str, fields: Json, code: str
) -> None:
    async with Hall(tmp_path) as hall:
        before = hall.league.digest()
        answer = await hall.post("operator", {"command": command, "admin_token": ADMIN} | fields)
        assert answer["error"]["data"]["error_code"] == code
        assert hall.league.digest() == before


# Agents of leaguekit


def unregistered_agent(hall: Hall, role: str, query: str, host: str = THERE) -> PlayerAgent | RefereeAgent:
    """An agent of leaguekit on another machine that has not registered yet."""
    caller = MemoryCaller(hall.network, host)
    hall._callers[caller] = role
    world = World(caller, hall.root / host, now=hall.clock, entropy=hall._random.randbytes, inline=True)
    url, manager = f"http://{host}:9000/mcp", f"{MANAGER_URL}?{query}"
    agent: PlayerAgent | RefereeAgent
    if role == "player":
        agent = PlayerAgent(Player("Alpha", STRATEGIES["random"]), world, manager, url)
    else:
        agent = RefereeAgent(world, manager_url=manager, endpoint=url, name="Alpha")
    hall.network.listen(url, agent.handle)
    return agent


@in_virtual_time
async def test_our_agents_carry_their_codes_in_the_managers_url(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    async with Hall(tmp_path, require_seat=True) as hall:
        (seat,) = await new_seats(hall, 1)
        code = await hall.manager.provide_referee_code(None)
        player = unregistered_agent(hall, "player", f"seat={seat}")
        referee = unregistered_agent(hall, "referee", f"referee={code}", "10.0.0.8")
        assert (await player.register()).agent_id == "P01"
        assert (await referee.register()).agent_id == "REF01"
        await player.close()
        await referee.close()
        assert code is not None
        assert not any(secret in caplog.text for secret in (seat, code))
        # Codes are only for registering. Nothing else is sent to a URL that contains them.
        assert {one.kind for one in hall.wire if one.by in ("player", "referee")} == {"ping"}


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_an_agent_that_is_refused_is_told_why_without_its_code(
    tmp_path: Path, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hall(tmp_path, require_seat=True) as hall:
        agent = unregistered_agent(hall, role, f"{'seat' if role == 'player' else role}={CODE}")
        with pytest.raises(RegistrationRefused) as caught:
            await agent.register()
        assert caught.value.code == "E058"
        assert CODE not in f"{caught.value}{caplog.text}"
        await agent.close()


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_seated_agent_whose_token_is_taken_away_comes_back_when_it_is_next_called(
    tmp_path: Path, role: str
) -> None:
    async with Hall(tmp_path) as hall:
        for other, number in (("player", 2), ("player", 3), ("referee", 2)):
            await hall.scripted(other, number)
        if role == "referee":
            code = await hall.manager.provide_referee_code(None)
            agent = unregistered_agent(hall, role, f"referee={code}")
            name = (await agent.register()).agent_id
            await agent.close()
            hall.network.close("http://10.0.0.7:9000/mcp")
            (seat,) = [(await hall.operate("token_rotate", agent_id=name))["seat"]["code"]]
        else:
            (seat,) = await new_seats(hall, 1)
        agent = unregistered_agent(hall, role, f"seat={seat}")
        name = (await agent.register()).agent_id
        old = agent.registrar.identity
        assert old is not None
        shown = await hall.operate("token_rotate", agent_id=name)
        assert shown["seat"]["code"] is None
        assert hall.league.agent_with(b"") is None
        await hall.operate("start")
        await hall.until(lambda: agent.registrar.identity != old, seconds=30)
        new = agent.registrar.identity
        assert (new.agent_id, new.auth_token == old.auth_token) == (name, False)
        query = {"message_type": "LEAGUE_QUERY", "league_id": LEAGUE, "query_type": "GET_STATUS"}
        for token, code in ((old.auth_token, 6001), (new.auth_token, None)):
            message = hall.envelope(f"{role}:{name}") | query | {"auth_token": token}
            answer = await hall.post("league_query", message)
            assert answer.get("error", {}).get("code") == code
        await agent.close()


@in_virtual_time
async def test_a_stranger_does_not_make_an_agent_give_up_its_token(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        (seat,) = await new_seats(hall, 1)
        agent = unregistered_agent(hall, "player", f"seat={seat}")
        identity = await agent.register()
        false = hall.envelope("league_manager") | {
            "message_type": "ROUND_COMPLETED",
            "auth_token": "drv-made-up",
            "league_id": LEAGUE,
            "round_id": 1,
            "matches_completed": 1,
            "next_round_id": None,
            "summary": {"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
        }
        call = {"jsonrpc": "2.0", "method": "notify_round_completed", "params": false, "id": 1}
        for _ in range(3):
            answer = await agent.handle(json.dumps(call).encode(), Peer(THERE))
            assert json.loads(answer or b"")["error"]["code"] == 3001
        await asyncio.sleep(60)
        assert agent.registrar.identity == identity
        # It asked its manager once, although it was called several times meanwhile.
        assert len([one for one in hall.wire if one.kind == "LEAGUE_QUERY"]) == 1
        # It does not either when its manager cannot be asked. No call waits for that.
        hall.network.close(MANAGER_URL)
        await agent.handle(json.dumps(call).encode(), Peer(THERE))
        await asyncio.sleep(60)
        await agent.handle(json.dumps(call).encode(), Peer(THERE))
        await agent.close()
        assert agent.registrar.identity == identity


@in_virtual_time
async def test_an_agent_without_a_seat_waits_for_its_owner(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.player()
        await hall.operate("token_rotate", agent_id="P01")
        player.registrar.check_own_token()
        await asyncio.sleep(60)
        assert not [one for one in hall.wire if one.kind == "LEAGUE_QUERY"]


# The admin token


@in_virtual_time
async def test_a_new_admin_token_is_the_only_one_and_is_kept(tmp_path: Path) -> None:
    kept: dict[str, str] = {}
    async with Hall(tmp_path) as hall:
        hall.manager._operator._keep = kept.__setitem__
        new = (await hall.operate("token_rotate_admin"))["admin_token"]
        assert kept == {"admin_token": new}
        assert (await hall.post("operator", {"command": "seats", "admin_token": ADMIN}))["error"]["code"] == 12
        assert "result" in await hall.post("operator", {"command": "seats", "admin_token": new})
        assert hall.manager.is_operator(new)
        assert not hall.manager.is_operator(ADMIN)


@pytest.mark.parametrize("command", ["token_rotate_admin", "token_rotate_referee_code"])
@in_virtual_time
async def test_a_secret_that_cannot_be_kept_is_not_changed(tmp_path: Path, command: str) -> None:
    def full(_name: str, _secret: str) -> None:
        raise StoreError("The disk is full.")

    async with Hall(tmp_path) as hall:
        code = await hall.manager.provide_referee_code(None)
        hall.manager._operator._keep = full
        answer = await hall.post("operator", {"command": command, "admin_token": ADMIN})
        assert answer["error"]["data"]["error_code"] == "E060"
        assert "The disk is full. Nothing has changed." in answer["error"]["data"]["context"]["detail"]
        assert await hall.manager.provide_referee_code(code) == code
        await hall.operate("seats")


# Results


@in_virtual_time
async def test_a_second_report_that_differs_is_refused_and_the_operator_sees_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        assert "result" in await referee.report("R1M1")
        assert (await referee.report("R1M1"))["error"]["code"] == 5003
        flags = (await hall.operate("status"))["flags"]
        assert [one for one in flags if "second" in one] == []
        changed = {"winner": "P02", "score": {"P01": 0, "P02": 3}}
        lie = referee.report_of("R1M1")["result"] | changed
        for _ in range(3):
            assert (await referee.report("R1M1", lie))["error"]["code"] == 5003
        flags = (await hall.operate("status"))["flags"]
        assert [one for one in flags if "second" in one] == ["R1M1: REF01 reported it a second time, and differently"]
        assert b"ResultFlagged" in hall.log.content.events[-1]
        assert "REF01's report of R1M1 is refused" in caplog.text


@in_virtual_time
async def test_an_agent_that_registers_again_and_again_is_slowed_down_and_fills_no_log(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        again = hall.registration("player", 1) | {"auth_token": player.token}
        answers = [await hall.post("register_player", again) for _ in range(100)]
        refused = [one["error"]["data"] for one in answers if "error" in one]
        assert {one["error_code"] for one in refused} == {"E059"}
        assert len(answers) - len(refused) == RETURNS_BURST
        await asyncio.sleep(10)
        assert (await hall.post("register_player", again))["result"]["status"] == "ACCEPTED"
