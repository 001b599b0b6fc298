"""Players behind a router: called through a gateway, cut off from it, and back again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from leaguekit.agents.credentials import TokenOwner, credentials_in
from leaguekit.agents.registration import SETTLING_SECONDS, RegistrationRefused
from leaguekit.gateway.gateway import COMING_BACK_SECONDS
from leaguekit.gateway.relays import (
    GRACE_SECONDS,
    GUARANTEED_CALLS,
    MAX_BYTES,
    MAX_BYTES_PER_ADDRESS,
    MAX_CALLS,
    MAX_CALLS_PER_TOKEN,
    MAX_EXTRA_CALLS_PER_ADDRESS,
    MAX_RELAYS_PER_ADDRESS,
    MAX_UNKNOWN_CALLS,
    UNKNOWN_CALLS_BURST,
    Relays,
    TooManyUnknownCalls,
)
from leaguekit.player.caller_checks import CallerVerifier
from leaguekit.player.context import Context
from leaguekit.player.relay import SECRET_BYTES, RelayClient, RelayGiveRequest, RelayTakeRequest, endpoint_id
from leaguekit.player.strategies import at_random
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.transport.base import NoAnswer, Peer, Unreachable
from leaguekit.transport.memory import MemoryCaller
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION
from tests.agents.leagues import MANAGER_URL, Hall, in_virtual_time
from tests.gateway.test_seats import technical_losses
from tests.gateway.virtual_gateway import GATEWAY_URL, HERE, RelayedPlayer, opened_gateway

SECRET = "s" * 2 * SECRET_BYTES
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'
CALL = b'{"jsonrpc":"2.0","method":"get_player_state","id":1}'


def new_relays() -> Relays:
    return Relays(lambda place: f"{GATEWAY_URL}?at={place}", bytes)


@in_virtual_time
async def test_relayed_players_play_a_whole_league(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="tic_tac_toe") as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", referees=1)
        players = [RelayedPlayer(hall, name) for name in ("Ada", "Bob")]
        for player in players:
            await player.start()
        assert len(gateway.relays) == 2
        await hall.operate("start")
        await hall.end()
        assert technical_losses(hall) == 0
        for player in players:
            player.cut()
        await asyncio.sleep(GRACE_SECONDS + 15)
        assert len(gateway.relays) == 0


@in_virtual_time
async def test_a_relay_that_was_cut_off_comes_back_to_the_same_place_and_loses_nothing(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall):
        await hall.fill("random", referees=1)
        player = RelayedPlayer(hall, "Ada")

        async def cut_while_thinking(ctx: Context) -> str:
            player.cut()
            asyncio.get_running_loop().call_later(4.0, player.connect)
            await asyncio.sleep(1.0)
            return str(at_random(ctx))

        player._strategy = cut_while_thinking
        await player.start()
        await hall.operate("start")
        await hall.end()
        assert technical_losses(hall) == 0
        # Started again, it is called at the same place.
        assert await RelayClient(player.world, GATEWAY_URL, "Ada").open() == player.endpoint


@in_virtual_time
async def test_while_its_relay_is_away_a_player_cannot_be_reached(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        player = RelayedPlayer(hall, "Ada")
        await player.start()
        caller = MemoryCaller(hall.network)
        assert json.loads((await caller.post(player.endpoint, PING, 5.0)).body)["result"]["player_id"] == "P01"
        player.cut()
        # The gateway may still hold its last question, which leads nowhere: a call ends with the grace at the latest.
        began = hall.now
        with pytest.raises(Unreachable):
            await caller.post(player.endpoint, CALL, 30.0)
        assert hall.now - began < GRACE_SECONDS + 0.1
        with pytest.raises(Unreachable):
            await caller.post(player.endpoint, PING, 30.0)
        assert len(gateway.relays) == 0
        player.connect()
        await asyncio.sleep(1.0)
        assert (await caller.post(player.endpoint, PING, 5.0)).status == 200


@in_virtual_time
async def test_a_gateway_that_is_started_again_is_found_by_its_relays(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", referees=1)
        player = RelayedPlayer(hall, "Ada")
        async with opened_gateway(hall):
            await player.start()
        await asyncio.sleep(3.0)
        async with opened_gateway(hall):
            await asyncio.sleep(6.0)
            await hall.operate("start")
            await hall.end()
            assert technical_losses(hall) == 0


@in_virtual_time
async def test_who_gives_the_url_of_no_gateway_is_told_so(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        with pytest.raises(RegistrationRefused, match=r"does not pass calls on.*league gateway"):
            await RelayClient(hall.world("Ada"), MANAGER_URL, "Ada").open()


@in_virtual_time
async def test_a_call_that_got_lost_is_given_again_and_one_that_is_had_is_not() -> None:
    relays = new_relays()
    place = endpoint_id("relay", SECRET)
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    calling = asyncio.ensure_future(relays.forward(place, CALL))
    await asyncio.sleep(0)
    (first,) = (await relays.poll_calls(RelayTakeRequest(secret=SECRET), HERE)).calls
    (again,) = (await relays.poll_calls(RelayTakeRequest(secret=SECRET), HERE)).calls
    assert first == again
    assert (await relays.poll_calls(RelayTakeRequest(secret=SECRET, has=[first.number], seconds=1.0), HERE)).calls == []
    assert relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=first.number, body=b"yes")).in_time
    assert not relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=first.number, body=b"no")).in_time
    assert await calling == b"yes"
    relays.close()


@in_virtual_time
async def test_only_who_has_the_secret_takes_or_answers_calls() -> None:
    relays = new_relays()
    place = endpoint_id("relay", SECRET)
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    calling = asyncio.ensure_future(relays.forward(place, CALL))
    await asyncio.sleep(0)
    for secret in (SECRET.upper(), place * 2):
        assert (await relays.poll_calls(RelayTakeRequest(secret=secret, seconds=0.0), HERE)).calls == []
        assert not relays.deliver_answer(RelayGiveRequest(secret=secret, number=0, body=b"mine")).in_time
    with pytest.raises(ProtocolError):
        await relays.poll_calls(RelayTakeRequest(secret="short"), HERE)
    relays.close()
    with pytest.raises(NoAnswer):
        await calling


@in_virtual_time
async def test_the_relays_of_one_address_cannot_use_up_the_calls_of_others() -> None:
    relays = new_relays()
    secrets = [f"{number:0{2 * SECRET_BYTES}}" for number in range(10)]
    places = [endpoint_id("relay", secret) for secret in secrets]
    for secret in secrets:
        await relays.poll_calls(
            RelayTakeRequest(secret=secret, seconds=0.0), HERE if secret != secrets[-1] else "10.0.0.9"
        )
    calls = [asyncio.ensure_future(relays.forward(place, CALL)) for place in places[:8] for _ in range(MAX_CALLS)]
    await asyncio.sleep(0)
    # Beyond two for each relay, the number of calls to all relays of an address is limited.
    refused = [call for call in calls if call.done() and isinstance(call.exception(), NoAnswer)]
    assert len(refused) == 8 * MAX_CALLS - (8 * GUARANTEED_CALLS + MAX_EXTRA_CALLS_PER_ADDRESS)
    # Every other relay still has its own, and those of other addresses have more.
    for place, more in ((places[8], GUARANTEED_CALLS), (places[9], MAX_CALLS)):
        further = [asyncio.ensure_future(relays.forward(place, CALL)) for _ in range(MAX_CALLS)]
        await asyncio.sleep(0)
        assert sum(not call.done() for call in further) == more
        calls += further
    relays.close()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (relays._extra_calls._total, relays._extra_calls._counts) == (0, {})


@in_virtual_time
async def test_a_relay_takes_no_more_of_a_gateway_than_there_is_for_it() -> None:
    relays = new_relays()
    place = endpoint_id("relay", SECRET)
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    with pytest.raises(NoAnswer):
        await relays.forward(place, b"x" * (MAX_BYTES + 1))
    calls = [asyncio.ensure_future(relays.forward(place, CALL)) for _ in range(MAX_CALLS)]
    await asyncio.sleep(0)
    with pytest.raises(NoAnswer):
        await relays.forward(place, CALL)
    for number in range(MAX_RELAYS_PER_ADDRESS - 1):
        await relays.poll_calls(RelayTakeRequest(secret=(secret := f"{number:0{2 * SECRET_BYTES}}"), seconds=0.0), HERE)
        calls.append(asyncio.ensure_future(relays.forward(endpoint_id("relay", secret), CALL)))
    await asyncio.sleep(0)
    with pytest.raises(ProtocolError, match="Too many players"):
        await relays.poll_calls(RelayTakeRequest(secret="t" * 2 * SECRET_BYTES, seconds=0.0), HERE)
    await relays.poll_calls(RelayTakeRequest(secret="t" * 2 * SECRET_BYTES, seconds=0.0), "10.0.0.9")
    # A player that does not come back has gone, and its callers get no answer.
    await asyncio.sleep(GRACE_SECONDS + 1)
    assert len(relays) == 0
    assert all(isinstance(one, NoAnswer) for one in await asyncio.gather(*calls, return_exceptions=True))


async def answer_a_call(relays: Relays, secret: str) -> None:
    calling = asyncio.ensure_future(relays.forward(endpoint_id("relay", secret), PING))
    await asyncio.sleep(0)
    (passed,) = (await relays.poll_calls(RelayTakeRequest(secret=secret, seconds=0.0), HERE)).calls
    assert relays.deliver_answer(RelayGiveRequest(secret=secret, number=passed.number, body=b"{}")).in_time
    await calling


@pytest.mark.parametrize("limit", ["MAX_RELAYS_PER_ADDRESS", "MAX_RELAYS"])
@in_virtual_time
async def test_relays_that_were_never_called_give_way_to_others_the_oldest_first(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"leaguekit.gateway.relays.{limit}", 4)
    relays = new_relays()
    secrets = [letter * 2 * SECRET_BYTES for letter in "abcdefg"]
    known, called, *idle, first, second, third = secrets
    for secret in (known, called):
        await relays.poll_calls(RelayTakeRequest(secret=secret, seconds=0.0), HERE)
    await answer_a_call(relays, known)
    call = asyncio.ensure_future(relays.forward(endpoint_id("relay", called), CALL))
    waiting = [asyncio.ensure_future(relays.poll_calls(RelayTakeRequest(secret=secret), HERE)) for secret in idle]
    await asyncio.sleep(0)
    assert len(relays) == 4
    await relays.poll_calls(RelayTakeRequest(secret=first, seconds=0.0), HERE)
    # It is refused, so that it does not ask again at once.
    with pytest.raises(ProtocolError, match="Too many players"):
        await waiting[0]
    assert not waiting[1].done()
    await answer_a_call(relays, first)
    await relays.poll_calls(RelayTakeRequest(secret=second, seconds=0.0), HERE)
    await answer_a_call(relays, second)
    assert [relays.has_secret(secret) for secret in secrets] == [True, True, False, False, True, True, False]
    with pytest.raises(ProtocolError, match="Too many players"):
        await relays.poll_calls(RelayTakeRequest(secret=third, seconds=0.0), HERE)
    relays.close()
    await asyncio.gather(call, *waiting, return_exceptions=True)


@in_virtual_time
async def test_a_known_relay_that_was_away_finds_a_place_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaguekit.gateway.relays.MAX_RELAYS", 4)
    monkeypatch.setattr("leaguekit.gateway.relays.MAX_RELAYS_PER_ADDRESS", 3)
    relays = new_relays()
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    await answer_a_call(relays, SECRET)
    await asyncio.sleep(GRACE_SECONDS + 1)
    assert len(relays) == 0

    async def flood(began: int) -> None:
        for number in range(began, began + 6):
            await relays.poll_calls(RelayTakeRequest(secret=f"{number:0{2 * SECRET_BYTES}}", seconds=0.0), HERE)

    await flood(0)
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    await flood(6)
    assert relays.has_secret(SECRET)
    # The number of remembered relays is limited.
    for number in range(20, 25):
        await relays.poll_calls(RelayTakeRequest(secret=(secret := f"{number:0{2 * SECRET_BYTES}}"), seconds=0.0), HERE)
        await answer_a_call(relays, secret)
        await asyncio.sleep(GRACE_SECONDS + 1)
    assert len(relays._answered_before) == 4
    relays.close()


@in_virtual_time
async def test_what_is_no_question_of_a_relay_is_refused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        for params in (b"{}", b'{"secret": 1}', b"[]"):
            body = b'{"jsonrpc":"2.0","method":"relay_take","params":%b,"id":1}' % params
            assert "error" in json.loads(await gateway.handle(body, Peer(HERE)) or b"")


@pytest.mark.parametrize("down", [0.3, 0.5, 0.8])
@in_virtual_time
async def test_a_gateway_that_is_killed_ten_times_in_eleven_seconds_costs_no_relayed_player_a_match(
    tmp_path: Path, down: float
) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill(referees=1)
        async with opened_gateway(hall):
            players = [RelayedPlayer(hall, name) for name in ("Ada", "Bob", "Eve", "Dan", "Fay", "Gus")]
            for player in players:
                await player.start()
            await hall.operate("start")
        for _ in range(10):
            await asyncio.sleep(down)
            async with opened_gateway(hall):
                await asyncio.sleep(1.1 - down)
        async with opened_gateway(hall):
            await hall.end()
        assert technical_losses(hall) == 0
        for player in players:
            player.cut()


@in_virtual_time
async def test_a_young_gateway_waits_a_little_for_one_who_comes_back_and_an_old_one_does_not(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        loop = asyncio.get_running_loop()
        caller, url = MemoryCaller(hall.network), f"{GATEWAY_URL}?at={endpoint_id('relay', SECRET)}"
        early = [asyncio.ensure_future(caller.post(url, CALL, 10.0)) for _ in range(2)]
        await asyncio.sleep(1.0)
        (first, second) = (await gateway.relays.poll_calls(RelayTakeRequest(secret=SECRET), HERE)).calls
        for passed in (first, second):
            gateway.relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=passed.number, body=b"{}"))
        assert [answer.body for answer in await asyncio.gather(*early)] == [b"{}"] * 2
        for waits, already in ((SETTLING_SECONDS, 0.0), (0.0, COMING_BACK_SECONDS)):
            await asyncio.sleep(already)
            began = loop.time()
            with pytest.raises(Unreachable):
                await caller.post(f"{GATEWAY_URL}?at=0123", PING, 10.0)
            assert loop.time() - began == pytest.approx(waits, abs=0.1)
        assert not gateway.relays._waiters


# Whose calls a relayed player takes

KEY = b"k" * 32
OWN = "tok-ref02-own"
CALLERS = CallerVerifier(player_id="P01", league_id="league", key=KEY, verifiers=[tokens.verifier(OWN)])
MANAGERS = tokens.manager_to_agent(KEY, "league", "P01")


def shown(token: str, match_id: str = "R1M1", sender: str = "referee:REF01", more: str = "") -> bytes:
    params = {"auth_token": token, "match_id": match_id, "sender": sender, "more": more}
    return json.dumps({"jsonrpc": "2.0", "method": "x", "params": params, "id": 1}).encode()


def referees(match_id: str, attempt: int = 1) -> bytes:
    return shown(tokens.referee_to_player(KEY, "league", match_id, attempt, "REF01"), match_id)


async def waiting(relays: Relays, *bodies: bytes) -> list[asyncio.Future[bytes | None]]:
    """Calls of a relay that are begun; those that may not wait are done."""
    calls = [asyncio.ensure_future(relays.forward(endpoint_id("relay", SECRET), body)) for body in bodies]
    await asyncio.sleep(0)
    return calls


def of(kind: type[BaseException] | None, calls: list[asyncio.Future[bytes | None]]) -> int:
    """How many calls have failed in a way; how many wait, if there is none."""
    failed = [type(call.exception()) if call.done() else None for call in calls]
    return failed.count(kind)


def test_a_gateway_recognises_the_manager_and_the_referees_of_a_player_by_their_tokens() -> None:
    def recognised(body: bytes) -> str | None:
        known = CALLERS.recognise(credentials_in(body))
        return None if known is None else known.role

    assert recognised(shown(MANAGERS)) == "manager"
    assert recognised(referees("R1M1")) == recognised(referees("R2M7", attempt=3)) == "referee"
    assert recognised(shown(OWN, sender="referee:REF02")) == "referee"
    assert recognised(referees("R1M1").replace(b"REF01", b"REF02")) is None
    assert recognised(referees("R1M1").replace(b"R1M1", b"R1M2")) is None
    assert recognised(shown("drv-wrong")) is None
    assert recognised(CALL) is None


@in_virtual_time
async def test_a_player_says_by_what_its_callers_are_known_once_it_is_registered(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        player = RelayedPlayer(hall, "Ada")
        agent = await player.start()
        me = agent.identity
        assert me is not None
        callers = agent.caller_verifier()
        assert callers == CallerVerifier(player_id="P01", league_id=str(me.league_id), key=me.key)
        (relay,) = gateway.relays._relays.values()
        assert relay.callers is None
        # The next call leads to another question, which tells it.
        await MemoryCaller(hall.network).post(player.endpoint, CALL, 5.0)
        await asyncio.sleep(1.0)
        assert relay.callers == callers
        peer, large = Peer(HERE, player.endpoint.partition("?")[2]), b"x" * BYTES_BEFORE_ADMISSION
        manager = shown(tokens.manager_to_agent(me.key, str(me.league_id), "P01"))
        for beginning, known in ((manager, True), (shown("drv-wrong"), False), (large, False)):
            assert gateway.admits_large_body(beginning, peer) is known
            assert (gateway.identify_sender(beginning, peer) is not None) is known


@in_virtual_time
async def test_strangers_have_a_share_of_a_relay_and_every_token_of_its_callers_another() -> None:
    relays = new_relays()
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0, callers=CALLERS), HERE)
    wrong = [shown(f"drv-{number}") for number in range(30)] + [CALL] * 5
    strangers = await waiting(relays, *wrong)
    assert of(None, strangers) == MAX_UNKNOWN_CALLS
    assert of(TooManyUnknownCalls, strangers) == len(wrong) - MAX_UNKNOWN_CALLS
    calls = await waiting(relays, *[shown(MANAGERS)] * 10)
    assert (of(None, calls), of(NoAnswer, calls)) == (MAX_CALLS_PER_TOKEN, 10 - MAX_CALLS_PER_TOKEN)
    calls += (more := await waiting(relays, *[referees(f"R{number}M1") for number in range(1, 40)]))
    # No more in all than the relay has places.
    assert of(None, more) == MAX_CALLS - MAX_CALLS_PER_TOKEN
    relays.close()
    await asyncio.gather(*calls, *strangers, return_exceptions=True)
    for waits in (relays._calls, relays._calls_by_token, relays._unknown_calls, relays._extra_calls):
        assert (waits._total, waits._counts) == (0, {})


@in_virtual_time
async def test_strangers_cannot_keep_a_relayed_player_busy() -> None:
    relays = new_relays()
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0, callers=CALLERS), HERE)
    taken = 0
    for _ in range(100):
        calls = await waiting(relays, CALL)
        for passed in (
            await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0, callers=CALLERS), HERE)
        ).calls:
            relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=passed.number, body=b"{}"))
            taken += 1
        await asyncio.gather(*calls, return_exceptions=True)
    assert taken == UNKNOWN_CALLS_BURST
    relays.close()


@in_virtual_time
async def test_all_who_ping_a_relay_at_the_same_time_get_the_answer_to_one_ping() -> None:
    relays = new_relays()
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0, callers=CALLERS), HERE)
    place = endpoint_id("relay", SECRET)
    pings = [PING.replace(b"1}", b"%d}" % number) for number in range(1, MAX_CALLS + 1)]
    calls = await waiting(relays, *pings)
    # More do not wait, and there is no earlier answer to give them.
    assert of(NoAnswer, await waiting(relays, PING)) == 1
    (passed,) = (await relays.poll_calls(RelayTakeRequest(secret=SECRET, callers=CALLERS), HERE)).calls
    assert json.loads(passed.body)["method"] == "ping"
    pong = {"jsonrpc": "2.0", "id": json.loads(passed.body)["id"], "result": {"player_id": "P01"}}
    relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=passed.number, body=json.dumps(pong).encode()))
    answers = [json.loads(answer or b"") for answer in await asyncio.gather(*calls)]
    assert answers == [pong | {"id": number} for number in range(1, MAX_CALLS + 1)]
    # Now there is one.
    calls = await waiting(relays, *pings)
    assert json.loads(await relays.forward(place, PING) or b"") == pong | {"id": 1}
    (passed,) = (await relays.poll_calls(RelayTakeRequest(secret=SECRET, callers=CALLERS), HERE)).calls
    relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=passed.number, body=b"no JSON"))
    assert await asyncio.gather(*calls) == [b"no JSON"] * MAX_CALLS
    # A player that answers nothing any more is not there.
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, callers=CALLERS, seconds=0.0), HERE)
    calls = await waiting(relays, *pings)
    await asyncio.sleep(GRACE_SECONDS + 0.1)
    assert of(NoAnswer, calls) == MAX_CALLS
    assert not relays._relays


@in_virtual_time
async def test_a_ping_that_a_relayed_player_takes_and_does_not_answer_ends() -> None:
    relays = new_relays()
    await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
    calls = await waiting(relays, PING)
    (passed,) = (await relays.poll_calls(RelayTakeRequest(secret=SECRET), HERE)).calls
    for _ in range(2):
        await relays.poll_calls(RelayTakeRequest(secret=SECRET, has=[passed.number]), HERE)
    assert of(NoAnswer, calls) == 1
    # Without a body there is no answer, either.
    calls = await waiting(relays, PING)
    relays.deliver_answer(RelayGiveRequest(secret=SECRET, number=passed.number, body=None))
    assert await asyncio.gather(*calls) == [None]
    relays.close()


@in_virtual_time
async def test_large_bodies_that_wait_for_relays_are_counted_by_the_address_of_the_relays() -> None:
    relays = new_relays()
    secrets = [f"{number:0{2 * SECRET_BYTES}}" for number in range(40)]
    for number, secret in enumerate(secrets):
        await relays.poll_calls(RelayTakeRequest(secret=secret, seconds=0.0), HERE if number < 39 else "10.0.0.9")
    body, small = b"x" * (MAX_BYTES // 2), b"x" * BYTES_BEFORE_ADMISSION
    calls = [asyncio.ensure_future(relays.forward(endpoint_id("relay", secret), body)) for secret in secrets[:39]]
    await asyncio.sleep(0)
    assert of(NoAnswer, calls) == 39 - MAX_BYTES_PER_ADDRESS // len(body)
    for secret, waits in ((secrets[0], small), (secrets[39], body)):
        calls.append(asyncio.ensure_future(relays.forward(endpoint_id("relay", secret), waits)))
        await asyncio.sleep(0)
        assert not calls[-1].done()
    relays.close()
    await asyncio.gather(*calls, return_exceptions=True)
    assert not relays._bytes


def test_a_program_that_does_not_say_whose_calls_it_takes_is_called_as_before() -> None:
    async def called() -> None:
        relays = new_relays()
        await relays.poll_calls(RelayTakeRequest(secret=SECRET, seconds=0.0), HERE)
        place = endpoint_id("relay", SECRET)
        assert relays.admits_large_body(place, b"x" * BYTES_BEFORE_ADMISSION)
        assert relays.identify_sender(place, shown("any"), HERE) == TokenOwner("manager", HERE)
        calls = await waiting(relays, *[shown("any")] * (MAX_CALLS + 1))
        assert (of(None, calls), of(NoAnswer, calls)) == (MAX_CALLS, 1)
        relays.close()
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(called())
