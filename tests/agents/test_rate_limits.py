"""How often agents and strangers may ask, over real HTTP and by themselves."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents import rate_limits as module
from leaguekit.agents.calls import ask, is_transient
from leaguekit.agents.credentials import TokenOwner, token_in
from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import RpcRefusal, RpcRequest
from leaguekit.transport.base import HttpAnswer, Peer, TooManyRequests
from leaguekit.transport.token_buckets import TokenBuckets
from tests.agents.leagues import LEAGUE, Json
from tests.manager.test_manager import Served

KNOWN = {"p": TokenOwner("player", "P01"), "q": TokenOwner("player", "P02"), "r": TokenOwner("referee", "REF01")}
KNOWN["admin"] = TokenOwner("operator")
LAB = Peer("192.168.1.23", "", ("0.0.0.0", 8000))


def limiter() -> RateLimiter:
    """As the manager has them, in a moment that does not end."""
    made = RateLimiter(KNOWN.get)
    for buckets in (
        made._addresses,
        made._players,
        made._referees,
        made._registrations,
        made._registrations_per_endpoint,
    ):
        buckets._clock = lambda: 1.0
    return made


def call(method: str, token: str = "", call_id: Any = 1) -> bytes:
    params = {"auth_token": token} if token else {}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": call_id}).encode()


def taken(made: RateLimiter, body: bytes, peer: Peer = LAB, most: int = 50_000) -> int:
    """How many of these are taken at once."""

    async def main() -> int:
        for number in range(most):
            try:
                await handler(RpcRequest(body), peer)
            except TooManyRequests:
                return number
        return most

    async def handle(_request: RpcRequest, _peer: Peer) -> bytes:
        return b"{}"

    handler = made.limit(handle, player_refusal, 10_240)
    return asyncio.run(main())


def test_a_class_at_one_address_may_ask_and_register_more_often_than_it_needs() -> None:
    assert taken(limiter(), call("ping")) >= 200
    assert taken(limiter(), call("register_player")) >= 50
    assert taken(limiter(), call("LEAGUE_REGISTER_REQUEST")) == taken(limiter(), call("register_player"))


def test_strangers_cannot_use_up_what_agents_at_their_address_may_ask_for() -> None:
    made = limiter()
    assert taken(made, call("league_query")) < 50_000
    assert taken(made, call("league_query", "wrong token"), most=1) == 0
    players = taken(made, call("league_query", "p"))
    assert 0 < players < 2_000
    assert taken(made, call("league_query", "q")) == players
    assert taken(made, call("report_match_result", "r")) > 10 * players
    assert (
        taken(
            made,
            json.dumps({"jsonrpc": "2.0", "method": "operator", "params": {"admin_token": "admin"}}).encode(),
            most=100,
        )
        == 100
    )


def registration(endpoint: str, role: str = "player") -> bytes:
    params = {f"{role}_meta": {"contact_endpoint": endpoint}}
    return json.dumps({"jsonrpc": "2.0", "method": f"register_{role}", "params": params, "id": 1}).encode()


def test_a_flood_of_registrations_keeps_out_no_other_endpoint_at_its_address() -> None:
    made, flood = limiter(), registration("http://127.0.0.1:31999/mcp")
    assert taken(made, flood) == 2_000 // module.REGISTRATION_COST + 3
    assert taken(made, registration("http://127.0.0.1:31999/other?x=1"), most=1) == 0
    assert taken(made, registration("http://127.0.0.1:8101/mcp"), most=1) == 1
    assert taken(made, registration("http://127.0.0.1:8001/mcp", "referee"), most=1) == 1
    # Only registrations have that, and one address has a limited number, whatever they name.
    assert taken(made, call("ping"), most=1) == 0
    for odd in ("", "http://[/mcp", f"http://{'a' * 300}/mcp"):
        assert taken(made, registration(odd), most=1) == 0
    further = [taken(made, registration(f"http://127.0.0.1:{port}/mcp"), most=1) for port in range(9_000, 9_060)]
    assert sum(further) == 40 - 5
    assert taken(made, registration("http://127.0.0.1:8102/mcp"), LAB._replace(host="192.168.1.24"), most=1) == 1


def test_addresses_and_the_ports_that_they_call_are_counted_apart_and_neighbours_together() -> None:
    made = limiter()
    assert taken(made, call("ping")) == 2_000
    assert taken(made, call("ping"), LAB._replace(host="192.168.1.24")) == 2_000
    assert taken(made, call("ping"), LAB._replace(server=("0.0.0.0", 8001))) == 2_000
    assert taken(made, call("ping"), LAB._replace(host="::ffff:192.168.1.23")) == 0
    assert taken(made, call("ping"), LAB._replace(host="2001:db8::1")) == 2_000
    assert taken(made, call("ping"), LAB._replace(host="2001:db8::ffff:1")) == 0


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        (b"", 1), (b"nonsense", 1), (b"\xff", 1), (b"[" * 300, 1), (b'{"method":1}', 1), (b'{"params":[]}', 1),
        (b"[]", 1), (b"[%b]" % b",".join([call("ping")] * 30), 30),
        (b" [%b]" % b",".join([call("register_player")] * 4), 20), (b'{"params":{"auth_token":1}}', 1),
    ],
)  # fmt: skip
def test_whatever_is_sent_is_counted_and_a_batch_as_often_as_it_has_members(body: bytes, cost: int) -> None:
    assert taken(limiter(), body) == 2_000 // cost


@pytest.mark.parametrize("at_once", [False, True])
def test_a_long_answer_is_paid_for_by_its_length(at_once: bool) -> None:
    async def main() -> int:
        async def handle(_request: RpcRequest, _peer: Peer) -> bytes:
            if not at_once:
                await asyncio.sleep(0)
            return b"x" * 204_800

        limited = limiter().limit(handle, player_refusal, 10_240)
        for number in range(1_000):
            try:
                await limited(RpcRequest(call("operator")), LAB)
            except TooManyRequests as refused:
                assert 0 < refused.seconds < 1
                return number
        return 1_000

    assert asyncio.run(main()) == 20


def test_the_token_of_a_bare_message_is_found_and_nothing_in_what_is_none() -> None:
    assert token_in(b'{"auth_token":"tok","entries":[]}') == "tok"
    assert [token_in(body) for body in (b"", b"\xff", b"[]", b'{"auth_token":1}')] == [""] * 4


def query(token: str) -> Json:
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": "player:P01",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-1",
        "auth_token": token,
        "league_id": LEAGUE,
        "query_type": "GET_STANDINGS",
    }


class Clock:
    now = 1.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of a server whose buckets are a hundredth as large, and are filled only when the clock is put forward."""
    clock = Clock()
    smaller = functools.partial(TokenBuckets, clock=clock)
    monkeypatch.setattr(module, "TokenBuckets", lambda a_second, at_once: smaller(a_second, at_once / 100))
    return clock


@pytest.mark.proves("001-L1948")
def test_who_asks_too_often_gets_429_with_its_id_and_is_served_again_later(tmp_path: Path, clock: Clock) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            url = f"http://127.0.0.1:{served.port}/mcp"

            async def post(body: bytes) -> HttpAnswer:
                return await served.caller.post(url, body, 10)

            token = await served.enter("player", 1)
            statuses = [(await post(call("ping"))).status for _ in range(30)]
            assert statuses == [200] * 15 + [429] * 15
            # The player has its own allowance, at the same address.
            asked = {"jsonrpc": "2.0", "method": "league_query", "params": query(token), "id": 7}
            assert json.loads((await post(json.dumps(asked).encode())).body)["result"]["success"] is True
            refused = await post(b"[%b,%b]" % (call("ping", call_id="a"), call("ping", call_id=2)))
            assert (refused.status, [one["id"] for one in json.loads(refused.body)]) == (429, ["a", 2])
            error = json.loads(refused.body)[0]["error"]
            assert error["data"]["error_code"] == "E059"
            assert error["data"]["retryable"] is True
            assert "try again in" in error["data"]["context"]["detail"]
            notification = await post(b'{"jsonrpc":"2.0","method":"ping"}')
            assert (notification.status, notification.body) == (429, b"")
            # Our own agents know that it passes, and that asking again is worth it.
            wrong = of_type(m.LeagueQuery, decode(json.dumps(query("wrong")).encode()))
            with pytest.raises(RpcRefusal) as caught:
                await ask(served.caller, url, wrong, m.LeagueQueryResponse)
            assert is_transient(caught.value)
            clock.now += 0.1
            assert (await post(call("ping"))).status == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "at_once"),
    [("/health", 50), ("/nowhere", 50), ("/transcripts/R1M1", 20), ("/transcripts/R1M1/more", 50)],
)
def test_other_paths_and_transcripts_have_limits_too(tmp_path: Path, clock: Clock, path: str, at_once: int) -> None:
    async def main() -> None:
        async with Served(tmp_path) as served:
            url = f"http://127.0.0.1:{served.port}{path}"
            came = [await served.caller.post(url, b"{}", 10) for _ in range(at_once + 5)]
            assert [one.status for one in came[at_once:]] == [429] * 5
            assert 429 not in [one.status for one in came[:at_once]]
            assert json.loads(came[-1].body)["error_code"] == "E059"

    asyncio.run(main())
