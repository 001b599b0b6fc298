"""The kit records everything that it receives, and nothing that it receives breaks it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from leaguekit.games import game
from leaguekit.kit.checks import CheckSettings, NotRun
from leaguekit.kit.exchanges import (
    ExchangesByName,
    Inbox,
    IncomingRequest,
    RecordingClient,
    Refusal,
    Unreadable,
    encode_request,
    read_json,
)
from leaguekit.kit.http_network import HttpNetwork
from leaguekit.kit.player import check_player
from leaguekit.sim import loop
from leaguekit.transport.base import CallerLate, HttpAnswer, Peer, TimedOut, Unreachable
from tests.kit.memory_network import KIT_URL, MemoryKitNetwork, virtual_now
from tests.kit.scripted_player import URL

PEER = Peer("127.0.0.1")
RUBBISH = [
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"[1]",
    b'"text"',
    b"{}",
    b"{",
    b"[" * 5_000,
    b'{"jsonrpc":"2.0","result":[],"id":1}',
    b'{"jsonrpc":"2.0","result":{"match_id":{},"accept":1e999,"parity_choice":["even"]},"id":1}',
    b'{"jsonrpc":"2.0","error":"no","id":1}',
    b'{"jsonrpc":"2.0","error":{"code":1e99,"message":null},"id":[]}',
    b'{"jsonrpc":"2.0","result":{"message_type":"GAME_JOIN_ACK","match_id":"\\ud800"},"id":"\\ud800"}',
    b'{"jsonrpc":"2.0","result":{"message_type":["GAME_JOIN_ACK"],"auth_token":{}},"id":true}',
    b"<html>\x1b[2J</html>" * 10_000,
]


async def _echo(request: IncomingRequest) -> Any:
    if request.method == "refuse":
        raise Refusal(4001, "no", {"why": "because"})
    return b"as it is" if request.method == "raw" else {"method": request.method}


async def _new_inbox() -> Inbox:
    return Inbox(_echo, virtual_now)


@pytest.mark.parametrize("body", RUBBISH)
def test_a_player_that_answers_everything_with_rubbish_gets_a_whole_report(body: bytes) -> None:
    async def main() -> None:
        network = MemoryKitNetwork()

        async def handle(_body: bytes, _peer: Peer) -> bytes:
            return body

        network.memory.listen(URL, handle)
        report = await check_player(network.world(), network, game("even_odd"), url=URL)
        assert not [one for one in report.outcomes if one.is_our_fault]
        assert report.exit_code == 1

    loop.run(main())


@pytest.mark.parametrize(
    "body",
    [
        *RUBBISH,
        b'{"method":"register_player"}',
        b'{"method":"register_player","params":[],"id":1}',
        b'{"method":"register_player","params":{"player_meta":7},"id":1}',
        b'{"method":"register_player","params":{"player_meta":{"contact_endpoint":{}}},"id":{}}',
        b'{"method":"register_player","params":{"player_meta":{"contact_endpoint":"x"},"sender":[],"timestamp":1},"id":1}',
        b'{"params":{"player_meta":{"game_types":{},"display_name":null,"protocol_version":[]}}}',
    ],
)
def test_whatever_registers_there_is_a_whole_report(body: bytes) -> None:
    async def main() -> None:
        network = MemoryKitNetwork()
        checking = asyncio.ensure_future(
            check_player(
                network.world(), network, game("even_odd"), settings=CheckSettings(timeout_seconds=5.0, full=True)
            )
        )
        await asyncio.sleep(1)
        await network.caller.post(KIT_URL, body, 20.0)
        report = await checking
        assert not [one for one in report.outcomes if one.is_our_fault]
        # An empty batch has no request: nothing came.
        assert report.exit_code == (2 if body == b"[]" else 1)

    loop.run(main())


def test_an_inbox_records_requests_and_answers_as_its_script_says() -> None:
    async def main() -> None:
        inbox = await _new_inbox()
        answer = json.loads(await inbox.handle(encode_request("hello", {}, 7), PEER) or b"")
        assert answer == {"jsonrpc": "2.0", "result": {"method": "hello"}, "id": 7}
        assert json.loads(await inbox.handle(encode_request("refuse", {}, "a"), PEER) or b"") == {
            "jsonrpc": "2.0",
            "error": {"code": 4001, "message": "no", "data": {"why": "because"}},
            "id": "a",
        }
        assert await inbox.handle(encode_request("raw", {}, 1), PEER) == b"as it is"
        assert await inbox.handle(encode_request("told", {}, None), PEER) is None
        batch = b"[%b,%b]" % (encode_request("one", {}, 1), encode_request("two", {}, 2))
        assert [one["id"] for one in json.loads(await inbox.handle(batch, PEER) or b"")] == [1, 2]
        assert json.loads(await inbox.handle(b"{", PEER) or b"")["error"]["code"] == -32700
        assert [one.method for one in inbox.requests] == ["hello", "refuse", "raw", "told", "one", "two", ""]

    loop.run(main())


def test_waiting_for_a_request_that_has_arrived_that_arrives_and_that_does_not() -> None:
    async def main() -> None:
        inbox = await _new_inbox()
        await inbox.handle(encode_request("first", {}, 1), PEER)
        assert await inbox.wait_for(lambda one: one.method == "first", 1.0) is inbox.requests[0]
        waiting = asyncio.ensure_future(inbox.wait_for(lambda one: one.method == "third", 5.0))
        for method in ("second", "third"):
            await asyncio.sleep(1)
            await inbox.handle(encode_request(method, {}, 1), PEER)
        assert await waiting is inbox.requests[2]
        assert await inbox.wait_for(lambda one: one.method == "fourth", 5.0) is None
        assert asyncio.get_running_loop().time() == pytest.approx(7.0)

    loop.run(main())


class _Caller:
    def __init__(self, fate: HttpAnswer | Exception) -> None:
        self._fate = fate

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 0) -> HttpAnswer:
        if isinstance(self._fate, Exception):
            raise self._fate
        return self._fate

    async def close(self) -> None: ...


def test_an_exchange_says_what_came_of_it() -> None:
    async def main() -> None:
        good = await RecordingClient(_Caller(HttpAnswer(200, b'{"result": {"a": 1}, "error": null}'))).call(
            URL, "ping", {}, 1.0
        )
        assert (good.result, good.error, good.call_id) == ({"a": 1}, None, 1)
        assert good.came.startswith("HTTP 200 after")
        late = await RecordingClient(_Caller(TimedOut("too late"))).call(URL, "ping", {}, 1.0)
        assert (late.answer, late.failure, late.result) == (None, "no answer (E001): too late", None)
        gone = await RecordingClient(_Caller(Unreachable("gone"))).call(URL, "ping", {}, 1.0)
        assert gone.came == "no answer (E009): gone"

    loop.run(main())


def test_a_machine_that_is_too_busy_says_nothing_of_the_agent() -> None:
    with pytest.raises(NotRun, match="too busy"):
        loop.run(RecordingClient(_Caller(CallerLate(80.0))).call(URL, "ping", {}, 1.0))


def test_what_was_not_asked_says_nothing_of_the_agent() -> None:
    with pytest.raises(NotRun, match="was not asked"):
        ExchangesByName()["join"]


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100, b""])
def test_what_is_no_json_is_said_to_be_none(body: bytes) -> None:
    assert isinstance(read_json(body), Unreadable)


def test_over_http_requests_to_other_paths_are_recorded_too() -> None:
    async def main() -> None:
        network = HttpNetwork()
        inbox = Inbox(_echo, virtual_now)
        url = await network.open(inbox)
        try:
            answer = await network.caller.post(url.replace("/mcp", "/register"), b"{}", 5.0)
            assert answer.status == 404
            assert inbox.requests[0].other_target == "POST /register"
            exchange = await RecordingClient(network.another_caller()).call(url, "hello", {}, 5.0)
            assert exchange.result == {"method": "hello"}
        finally:
            await network.close()

    asyncio.run(main())
