"""The network in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from leaguekit.sim.loop import run
from leaguekit.transport.base import Caller, HttpAnswer, Peer, TimedOut, Unreachable
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller, MemoryNetwork

URL = "http://127.0.0.1:8101"


async def echo(body: bytes, peer: Peer) -> bytes:
    return body


def network(handler: Any = echo) -> tuple[MemoryNetwork, Caller]:
    made = MemoryNetwork()
    made.listen(URL, handler)
    return made, MemoryCaller(made, "10.0.0.7")


def failing(call: Coroutine[Any, Any, HttpAnswer]) -> tuple[BaseException, float]:
    """What a call raises, and when."""

    async def main() -> tuple[BaseException, float]:
        try:
            answer = await call
        except (TimedOut, Unreachable) as error:
            return error, asyncio.get_running_loop().time()
        raise AssertionError(answer)

    return run(main())


def test_a_server_that_is_not_ours_answers_with_a_status_of_its_own() -> None:
    answer = HttpAnswer(422, b"no", "text/plain")

    async def refuse(body: bytes, peer: Peer) -> HttpAnswer:
        return answer

    assert run(network(refuse)[1].post(f"{URL}/mcp", b"{}", 1)) == answer


def test_an_answer_comes_back() -> None:
    peers: list[Peer] = []

    async def note(body: bytes, peer: Peer) -> bytes:
        peers.append(peer)
        return body.upper()

    async def main() -> None:
        _, caller = network(note)
        assert await caller.post(f"{URL}/mcp?seat=1%20", b"x", 5) == HttpAnswer(200, b"X", "application/json")
        assert (await caller.post(f"{URL}/mcp/", b"x", 5)).status == 200
        await caller.close()

    run(main())
    assert peers == [Peer("10.0.0.7", "seat=1%20", ("127.0.0.1", 8101)), Peer("10.0.0.7", "", ("127.0.0.1", 8101))]


def test_no_answer_is_204() -> None:
    async def silent(body: bytes, peer: Peer) -> None:
        return None

    answer = run(network(silent)[1].post(f"{URL}/mcp", b"x", 5))
    assert (answer.status, answer.body) == (204, b"")


def test_another_path_is_404() -> None:
    answer = run(network()[1].post(f"{URL}/other", b"x", 5))
    assert answer.status == 404
    assert "/mcp" in json.loads(answer.body)["error"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8102/mcp", "http://127.0.0.2:8101/mcp", "http://127.0.0.1/mcp"])
def test_where_nobody_listens_nobody_is_reached(url: str) -> None:
    error, when = failing(network()[1].post(url, b"x", 5))
    assert isinstance(error, Unreachable)
    assert (error.code, when) == ("E009", 0)
    assert "nobody listens" in str(error)


@pytest.mark.parametrize(
    "url", ["", "mcp", "ftp://127.0.0.1:8101/mcp", "http://:1/mcp", "http://x:99999/mcp", "http://[/"]
)
def test_what_is_no_address_is_unreachable(url: str) -> None:
    assert isinstance(failing(network()[1].post(url, b"x", 5))[0], Unreachable)


def test_who_has_closed_is_reached_no_more_but_finishes_its_answers() -> None:
    async def main() -> None:
        started, go = asyncio.Event(), asyncio.Event()

        async def wait(body: bytes, peer: Peer) -> bytes:
            started.set()
            await go.wait()
            return body

        net, caller = network(wait)
        call = asyncio.ensure_future(caller.post(f"{URL}/mcp", b"x", 5))
        await started.wait()
        net.close(URL)
        net.close(URL)
        with pytest.raises(Unreachable):
            await caller.post(f"{URL}/mcp", b"x", 5)
        go.set()
        assert (await call).body == b"x"
        net.listen(URL, echo)
        assert (await caller.post(f"{URL}/mcp", b"y", 5)).body == b"y"

    run(main())


def test_an_address_has_one_listener() -> None:
    net, _ = network()
    with pytest.raises(ValueError, match="already listens"):
        net.listen(f"{URL}/mcp", echo)


def test_a_late_handler_keeps_running_and_its_answer_is_dropped() -> None:
    async def main() -> None:
        loop, ended = asyncio.get_running_loop(), []

        async def slow(body: bytes, peer: Peer) -> bytes:
            await asyncio.sleep(20)
            ended.append(loop.time())
            return body

        _, caller = network(slow)
        with pytest.raises(TimedOut, match=r"no answer from http://127\.0\.0\.1:8101/mcp in time") as caught:
            await caller.post(f"{URL}/mcp", b"x", 5)
        assert (caught.value.code, loop.time(), ended) == ("E001", 5, [])
        await asyncio.sleep(60)
        assert ended == [20]

    run(main())


@pytest.mark.parametrize("others", range(8))
def test_at_the_very_moment_of_the_limit_it_is_too_late(others: int) -> None:
    """Whatever other timers are set for the same moment."""

    async def slow(body: bytes, peer: Peer) -> bytes:
        await asyncio.sleep(float(body))
        return body

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(others):
            loop.call_later(5, int)
        _, caller = network(slow)
        calls = [caller.post(f"{URL}/mcp", body, 5) for body in (b"5", b"4.999999", b"5.000001")]
        late, in_time, later = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(late, TimedOut)
        assert in_time == HttpAnswer(200, b"4.999999")
        assert isinstance(later, TimedOut)

    run(main())


def test_an_answer_may_have_so_many_bytes_and_no_more() -> None:
    async def main() -> None:
        _, caller = network()
        assert (await caller.post(f"{URL}/mcp", b"x" * 100, 5, max_bytes=100)).status == 200
        with pytest.raises(Unreachable, match="more than 100 bytes"):
            await caller.post(f"{URL}/mcp", b"x" * 101, 5, max_bytes=100)

    run(main())


def test_a_handler_that_fails_answers_as_over_http(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(body: bytes, peer: Peer) -> bytes:
        raise ValueError("a secret")

    answer = run(network(fails)[1].post(f"{URL}/mcp", b"x", 5))
    assert answer.status == 200
    assert json.loads(answer.body)["error"]["code"] == -32603
    assert "internal error while answering" in caplog.text


def test_a_handler_that_is_cancelled_gives_no_answer() -> None:
    async def cancelled(body: bytes, peer: Peer) -> bytes:
        raise asyncio.CancelledError

    error, _ = failing(network(cancelled)[1].post(f"{URL}/mcp", b"x", 5))
    assert isinstance(error, Unreachable)


def test_messages_take_turns_of_the_loop_both_ways() -> None:
    order: list[str] = []

    async def note(body: bytes, peer: Peer) -> bytes:
        order.append("handled")
        return body

    async def main() -> None:
        _, caller = network(note)
        call = asyncio.ensure_future(caller.post(f"{URL}/mcp", b"x", 5))
        call.add_done_callback(lambda _: order.append("answered"))
        await asyncio.sleep(0)
        order.append("sent")
        await call

    run(main())
    assert order == ["sent", "handled", "answered"]


def test_the_tap_sees_every_exchange() -> None:
    seen: list[tuple[Any, ...]] = []

    async def slow(body: bytes, peer: Peer) -> bytes | None:
        await asyncio.sleep(float(body))
        return body if float(body) else None

    async def main() -> None:
        net, caller = network(slow)
        net.tap = lambda *exchange: seen.append(exchange)
        for body in (b"1", b"0", b"9"):
            try:
                await caller.post(f"{URL}/mcp", body, 5)
            except TimedOut as error:
                assert error is seen[-1][3]
        call = asyncio.ensure_future(caller.post(f"{URL}/mcp", b"3", 5))
        await asyncio.sleep(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert {exchange[0] for exchange in seen} == {caller}

    run(main())
    assert [exchange[2] for exchange in seen] == [b"1", b"0", b"9", b"3"]
    assert [exchange[3] if isinstance(exchange[3], bytes) else type(exchange[3]) for exchange in seen] == [
        b"1",
        b"",
        TimedOut,
        asyncio.CancelledError,
    ]
    assert [exchange[4] for exchange in seen] == [
        ExchangeTimes(0, 1),
        ExchangeTimes(1, 1),
        ExchangeTimes(1, 6),
        ExchangeTimes(6, 7),
    ]


def test_the_same_program_makes_the_same_exchanges() -> None:
    async def main() -> list[tuple[Any, ...]]:
        seen: list[tuple[Any, ...]] = []
        net, _ = network(_work)
        net.tap = lambda caller, *exchange: seen.append((caller.host, *exchange))
        callers = [MemoryCaller(net, f"10.0.0.{number}") for number in range(20)]
        await asyncio.gather(
            *(caller.post(f"{URL}/mcp", b"%d" % n, 5) for n in range(5) for caller in callers), return_exceptions=True
        )
        return [(*exchange[:3], repr(exchange[3]), exchange[4]) for exchange in seen]

    first = run(main())
    assert len(first) == 100
    assert all(run(main()) == first for _ in range(3))


async def _work(body: bytes, peer: Peer) -> bytes:
    await asyncio.sleep((int(body) * 7 + int(peer.host.rsplit(".", 1)[1])) % 9)
    return body
