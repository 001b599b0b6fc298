"""The server, over real sockets, spoken to in raw bytes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.metadata
import inspect
import json
import logging
import signal
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any, cast

import pytest
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import HttpAnswer, Peer, TooManyRequests
from leaguekit.transport.server import request_queue
from leaguekit.transport.server.connection import HttpConnection
from leaguekit.transport.server.connection_base import connection_of
from leaguekit.transport.server.endpoint import PostRoutes
from leaguekit.transport.server.pending_requests import query_of_mcp
from leaguekit.transport.server.server import CannotListen, Limits, Server, listen
from tests.transport.running import MAX_BYTES, QUICK, TOO_LARGE, Run, chunked, echo, of_requests, post, serving

# Answers


@pytest.mark.proves("001-L0008")
def test_a_post_to_mcp_is_answered_with_json(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(post(b'{"a":1}'))
            status, headers, body = await client.answer()
            assert (status, headers["content-type"], body) == (200, "application/json", b'{"a":1}')
            assert "connection" not in headers

    run(main())


def test_no_answer_is_204_and_the_connection_goes_on(run: Run) -> None:
    async def silent(body: bytes, peer: Peer) -> bytes | None:
        return body or None

    async def main() -> None:
        async with serving(silent) as running:
            client = await running.say(post(b"") + post(b"x"))
            assert await client.head() == (204, {})
            assert (await client.answer())[2] == b"x"

    run(main())


@pytest.mark.parametrize(
    ("target", "query"),
    [
        (b"/mcp", ""),
        (b"/mcp/", ""),
        (b"/mcp?seat=a%20b&x", "seat=a%20b&x"),
        (b"/mcp/?seat=1", "seat=1"),
        (b"http://elsewhere/mcp?seat=1", "seat=1"),
    ],
)
def test_the_peer_has_the_query_the_address_and_the_port_that_was_called(run: Run, target: bytes, query: str) -> None:
    peers: list[Peer] = []

    async def note(body: bytes, peer: Peer) -> bytes:
        peers.append(peer)
        return body

    async def main() -> None:
        async with serving(note, sockets=3) as running:
            for port in running.server.ports:
                client = await running.connect(port)
                await client.send(post(b"x", target=target))
                assert (await client.answer())[0] == 200
            assert [peer.server for peer in peers] == running.server.addresses
            assert {(peer.host, peer.query) for peer in peers} == {("127.0.0.1", query)}

    run(main())


@pytest.mark.parametrize(
    "url", [b"/", b"/mc", b"/mcpx", b"/mcp/x", b"/x/mcp", b"*", b"host:80", b"http://h/", b"http://", b"?"]
)
def test_other_paths_are_not_mcp(url: bytes) -> None:
    assert query_of_mcp(url) is None


def test_a_thousand_requests_on_one_connection(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.connect()
            for number in range(1_000):
                await client.send(post(b"%d" % number))
                assert (await client.answer())[2] == b"%d" % number

    run(main())


def test_a_thousand_requests_at_once_are_answered_one_at_a_time_and_in_order(run: Run) -> None:
    under_way = most = 0

    async def count(body: bytes, peer: Peer) -> bytes:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return body

    async def main() -> None:
        async with serving(count) as running:
            client = await running.say(b"".join(post(b"%d" % number) for number in range(1_000)))
            assert [(await client.answer())[2] for _ in range(1_000)] == [b"%d" % number for number in range(1_000)]

    run(main())
    assert most == 1


def test_pipelined_requests_to_mcp_and_elsewhere_are_answered_in_order(run: Run) -> None:
    async def main() -> None:
        async with serving(app=application()) as running:
            get = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
            wrong = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n"
            upload = post(b"y" * 100_000, target=b"/upload")
            client = await running.say((post(b"1") + get + wrong + get + upload + chunked(b"2", b"2") + wrong) * 50)
            for _ in range(50):
                assert (await client.answer())[2] == b"1"
                assert (await client.answer())[2] == b'{"status":"ok"}'
                assert (await client.answer())[0] == 405
                assert (await client.answer())[2] == b'{"status":"ok"}'
                assert (await client.answer())[2] == b"100000"
                assert (await client.answer())[2] == b"22"
                assert (await client.answer())[0] == 405

    run(main())


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /mcp HTTP/1.1\r\n\r\n",
        pytest.param(b"GET /mcp HTTP/1.1\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n", marks=pytest.mark.long),
        b"POST /mcp HTTP/1.1\r\ncontent-length: 1\r\n\r\nx",
        pytest.param(b"GET /health HTTP/1.1\r\n\r\n", marks=pytest.mark.long),
    ],
)
def test_of_many_pipelined_requests_few_are_read_at_a_time_and_others_have_their_turn_between_two(
    run: Run, request_: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 5_000
    max_read = turns_of_the_loop = 0
    feed = HttpConnection._feed

    def counted(self: HttpConnection, data: bytes) -> None:
        nonlocal max_read
        feed(self, data)
        max_read = max(max_read, len(self._pending))

    async def count_turns() -> None:
        nonlocal turns_of_the_loop
        while True:
            await asyncio.sleep(0)
            turns_of_the_loop += 1

    async def main() -> None:
        async with serving(app=application()) as running:
            client = await running.connect()
            counting = asyncio.create_task(count_turns())
            sending = asyncio.create_task(client.send(request_ * number))
            for _ in range(number):
                assert (await client.answer())[0] in (200, 405)
            await sending
            counting.cancel()

    monkeypatch.setattr(HttpConnection, "_feed", counted)
    run(main())
    assert max_read < 300
    assert turns_of_the_loop > number / 4


def test_many_connections_that_pipeline_requests_keep_no_other_waiting(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "SECONDS_PER_TURN", 0.0)
    answered = 0

    async def count(body: bytes, peer: Peer) -> bytes:
        nonlocal answered
        answered += 1
        return body

    async def main() -> None:
        async with serving(count) as running:
            many = [await running.say(post(b"x") * 200) for _ in range(40)]
            # The flood is under way.
            await many[-1].answer()
            before = answered
            for _ in range(5):
                client = await running.say(post(b"y"))
                assert (await client.answer())[2] == b"y"
            assert answered - before < 5 * len(many)
            for client in many[:3]:
                await client.answer()

    run(main())


def test_a_body_in_tiny_chunks_is_read_when_it_is_its_turn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    sizes: list[int] = []
    received, feed = HttpConnection.data_received, HttpConnection._feed

    def noted(self: HttpConnection, data: bytes) -> None:
        sizes.append(len(data))
        feed(self, data)

    def receive(self: HttpConnection, data: bytes) -> None:
        received(self, data)
        waited.append(len(self.flow.unread))

    async def main() -> None:
        async with serving() as running:
            client = await running.say(chunked(*[b"a"] * 500))
            assert (await client.answer())[2] == b"a" * 500

    monkeypatch.setattr(HttpConnection, "data_received", receive)
    monkeypatch.setattr(HttpConnection, "_feed", noted)
    run(main())
    assert waited[0] > 2_000
    assert max(sizes) <= 512


def test_an_application_that_wants_a_body_does_not_make_more_of_it_wait_in_memory(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "SECONDS_PER_TURN", 0.0)
    longest = 0
    received = HttpConnection.data_received

    def receive(self: HttpConnection, data: bytes) -> None:
        nonlocal longest
        received(self, data)
        longest = max(longest, len(self.flow.unread))

    async def main() -> None:
        async with serving(app=application()) as running:
            head = b"POST /upload HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            many = [await running.say(head) for _ in range(10)]
            sending = [asyncio.create_task(client.send(b"1\r\na\r\n" * 500_000)) for client in many]
            for _ in range(1_000):
                await asyncio.sleep(0)
            for task in sending:
                task.cancel()

    monkeypatch.setattr(HttpConnection, "data_received", receive)
    run(main())
    assert longest < 600_000


def test_an_endless_body_is_cut_off_when_its_request_has_been_answered_and_holds_up_nobody(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    feed = HttpConnection._feed

    def noted(self: HttpConnection, data: bytes) -> None:
        sizes.append(len(data))
        feed(self, data)

    async def main() -> None:
        async with serving(app=application()) as running:
            client = await running.say(b"GET /health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n")
            assert (await client.answer())[0] == 200
            for _ in range(100):
                client.writer.write(b"1\r\na\r\n" * 20_000)
                with contextlib.suppress(ConnectionError):
                    await client.writer.drain()
            assert await client.ends()

    monkeypatch.setattr(HttpConnection, "_feed", noted)
    run(main())
    assert max(sizes) <= 4_096
    assert 30_000 < sum(sizes) < 600_000


@pytest.mark.parametrize(
    "beginning", [b"", b"POST /mcp HT", b"POST /upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nab"]
)
def test_all_whole_requests_of_a_client_that_has_closed_its_side_are_answered(run: Run, beginning: bytes) -> None:
    async def main() -> None:
        async with serving(app=application()) as running:
            get = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
            posts = [post(b"%d" % number) for number in range(200)]
            client = await running.say(b"".join(posts) + get + b"".join(posts) + beginning)
            client.writer.write_eof()
            for expected in [*range(200), None, *range(200)]:
                status, _, body = await client.answer()
                assert (status, body) == (200, b'{"status":"ok"}' if expected is None else b"%d" % expected)
            assert await client.ends()

    run(main())


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_a_request_may_come_in_pieces_of_any_size(run: Run, size: int) -> None:
    async def main() -> None:
        async with serving(app=application()) as running:
            client = await running.connect()
            data = (
                post(b"hello") + chunked(b"a", b"bc", trailer=b"x: y\r\n") + post(b"up", target=b"/upload") + post(b"")
            )
            for start in range(0, len(data), size):
                await client.send(data[start : start + size])
                await asyncio.sleep(0)
            assert [(await client.answer())[2] for _ in range(4)] == [b"hello", b"abc", b"2", b""]

    run(main())


def test_a_body_of_the_greatest_size_is_taken_whole_or_in_chunks(run: Run) -> None:
    async def main() -> None:
        async with serving(max_bytes=1_000_000) as running:
            body = bytes(range(256)) * 3_906 + b"x" * 64
            client = await running.say(post(body) + chunked(body[:7], body[7:500_000], body[500_000:]))
            assert [(await client.answer())[2] for _ in range(2)] == [body, body]

    run(main())


def test_expect_100_continue_is_invited_before_the_body(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            head, body = post(b"hello", b"Expect: 100-Continue")[:-5], b"hello"
            client = await running.say(head)
            assert await client.head() == (100, {})
            await client.send(body)
            assert (await client.answer())[2] == b"hello"
            # A client that does not wait for it does not get one.
            await client.send(head + body)
            assert (await client.answer())[::2] == (200, b"hello")

    run(main())


def test_expect_100_continue_waits_for_its_turn(run: Run) -> None:
    async def main() -> None:
        go = asyncio.Event()

        async def wait(body: bytes, peer: Peer) -> bytes:
            await go.wait()
            return body

        async with serving(wait) as running:
            client = await running.say(post(b"first") + post(b"second", b"expect: 100-continue")[:-6])
            go.set()
            assert (await client.answer())[2] == b"first"
            assert await client.head() == (100, {})
            await client.send(b"second")
            assert (await client.answer())[2] == b"second"

    run(main())


def test_http_1_0_and_connection_close_are_answered_and_closed(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            for request in (post(b"x", version=b"1.0"), post(b"x", b"connection: close")):
                client = await running.say(request + post(b"ignored"))
                status, headers, body = await client.answer()
                assert (status, headers["connection"], body) == (200, "close", b"x")
                assert await client.ends()

    run(main())


def test_a_peer_that_closed_its_side_still_gets_its_answers(run: Run) -> None:
    async def main() -> None:
        async def slow(body: bytes, peer: Peer) -> bytes:
            for _ in range(10):
                await asyncio.sleep(0)
            return body

        async with serving(slow) as running:
            client = await running.say(post(b"1") + post(b"2") + post(b"3")[:-1])
            client.writer.write_eof()
            assert [(await client.answer())[2] for _ in range(2)] == [b"1", b"2"]
            assert await client.ends()

    run(main())


def test_a_peer_that_closed_its_side_still_gets_a_page(run: Run) -> None:
    async def main() -> None:
        async def page(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await at_eof.wait()
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
                await send({"type": "http.response.body", "body": b"page"})

        at_eof = asyncio.Event()
        async with serving(app=page) as running:
            client = await running.say(b"GET /health HTTP/1.1\r\n\r\n")
            client.writer.write_eof()
            await running.at_eof()
            at_eof.set()
            status, headers, body = await client.answer()
            assert (status, headers["connection"], body) == (200, "close", b"page")
            assert await client.ends()

    run(main())


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["stream", "news"])
def test_a_stream_and_a_wait_for_news_end_when_the_peer_closes_its_side(run: Run, kind: str, when: str) -> None:
    async def main() -> None:
        async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return
            line = cast("HttpConnection", connection_of(scope))
            await may_begin.wait()
            if kind == "stream":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                line.become_stream()
            else:
                line.release()
            begun.set()
            await receive()
            while (await receive())["type"] != "http.disconnect":
                pass
            ended.set()

        may_begin, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        async with serving(app=waiting) as running:
            client = await running.say(b"GET /events HTTP/1.1\r\n\r\n")
            if when == "before":
                may_begin.set()
                await begun.wait()
            client.writer.write_eof()
            if when == "after":
                await running.at_eof()
                may_begin.set()
            await ended.wait()

    run(main())


def test_a_page_that_is_not_made_in_time_is_given_up_when_the_peer_has_closed_its_side(run: Run) -> None:
    async def main() -> None:
        async def endless(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                while (await receive())["type"] != "http.disconnect":
                    pass
                ended.set()

        ended = asyncio.Event()
        async with serving(app=endless, limits=QUICK) as running:
            client = await running.say(b"GET /health HTTP/1.1\r\n\r\n")
            client.writer.write_eof()
            await ended.wait()
            assert await client.ends()

    run(main())


def test_an_offer_to_speak_another_protocol_is_passed_over(run: Run) -> None:
    async def main() -> None:
        async with serving(app=application()) as running:
            offer = (b"connection: Upgrade, HTTP2-Settings", b"upgrade: h2c", b"http2-settings: AAMAAABkAAQAAP__")
            get = b"\r\n".join((b"GET /health HTTP/1.1", b"connection: upgrade", b"upgrade: websocket", b"", b""))
            client = await running.say((post(b"x", *offer) + get + post(b"", *offer)) * 100)
            for _ in range(100):
                assert (await client.answer())[2] == b"x"
                assert (await client.answer())[2] == b'{"status":"ok"}'
                assert (await client.answer())[2] == b""

    run(main())


# Refusals


@pytest.mark.parametrize("method", [b"GET", b"PUT", b"DELETE", b"OPTIONS", b"HEAD", b"PATCH"])
def test_another_method_at_mcp_is_told_to_post(run: Run, method: bytes) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(post(b"body", method=method))
            status, headers = await client.head()
            assert (status, headers["allow"]) == (405, "POST")
            if method != b"HEAD":
                body = await client.reader.readexactly(int(headers["content-length"]))
                assert "use POST" in json.loads(body)["error"]
            await client.send(post(b"x"))
            assert (await client.answer())[2] == b"x"

    run(main())


@pytest.mark.parametrize(
    "request_bytes",
    [
        post(b"x" * (MAX_BYTES + 1)),
        post(b"x" * 5_000_000),
        post(b"x" * (MAX_BYTES + 1), b"expect: 100-continue"),
        post(b"x" * (MAX_BYTES + 1))[:100],
        b"POST /mcp HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\nx",
        chunked(b"x" * (MAX_BYTES + 1)),
        chunked(*[b"x" * 1_000] * 11),
        chunked(*[b"x" * 10_000] * 500),
        chunked(*[b"x" * 1_000] * 11) + post(b"ignored") + b"garbage",
        post(b"x" * (MAX_BYTES + 1), method=b"GET"),
    ],
    ids=[
        "one more",
        "huge",
        "expect",
        "head only",
        "2**64-1",
        "one chunk",
        "chunks",
        "huge chunks",
        "more behind",
        "GET",
    ],
)
def test_a_body_that_is_too_large_gets_413_and_the_connection_ends(run: Run, request_bytes: bytes) -> None:
    async def never(body: bytes, peer: Peer) -> bytes:
        raise AssertionError(body)

    async def main() -> None:
        async with serving(never) as running:
            client = await running.connect()
            client.writer.write(request_bytes)
            status, headers, body = await client.answer()
            assert (status, headers["connection"], body) == (413, "close", TOO_LARGE)
            assert await client.ends()

    run(main())


def test_the_answer_to_a_body_that_is_too_large_is_made_when_it_is_sent(run: Run) -> None:
    async def main() -> None:
        go, moments = asyncio.Event(), [b"before"]

        async def wait(body: bytes, peer: Peer) -> bytes:
            await go.wait()
            return body

        async with serving(wait, too_large=lambda: moments[-1]) as running:
            client = await running.say(post(b"1") + post(b"x" * (MAX_BYTES + 1)))
            moments.append(b"now")
            go.set()
            assert [(await client.answer())[::2] for _ in range(2)] == [(200, b"1"), (413, b"now")]

    run(main())


def test_a_refusal_waits_for_the_answers_before_it(run: Run) -> None:
    async def main() -> None:
        go = asyncio.Event()

        async def wait(body: bytes, peer: Peer) -> bytes:
            await go.wait()
            return body

        async with serving(wait, app=application()) as running:
            for last, status in (
                (post(b"x" * 20_000), 413),
                (b"garbage\r\n\r\n", 400),
                (post(b"x", b"a: " + b"b" * 40_000), 431),
                (chunked(b"x")[:-5] + b"zzz\r\n", 400),
                (chunked(b"x").replace(b"/mcp", b"/upload")[:-5] + b"zzz\r\n", 400),
            ):
                go.clear()
                client = await running.say(post(b"1") + post(b"2") + last)
                go.set()
                assert [(await client.answer())[0] for _ in range(3)] == [200, 200, status]
                assert await client.ends()

    run(main())


@pytest.mark.parametrize(
    "head",
    [
        b"a: " + b"b" * 33_000,
        b"a: b\r\n" * 6_000,
        b"a: " + b"b" * 5_000_000,
        b"a" * 5_000_000,
        b"a: b\r\n" * 1_000_000,
    ],
    ids=["long", "many", "huge value", "huge name", "very many"],
)
@pytest.mark.parametrize("path", [b"/mcp", b"/other"])
def test_too_many_headers_get_431(run: Run, head: bytes, path: bytes) -> None:
    async def main() -> None:
        async with serving() as running:
            for request in (b"POST %b HTTP/1.1\r\n%b\r\n\r\n" % (path, head), b"POST %b HTTP/1.1\r\n%b" % (path, head)):
                client = await running.connect()
                client.writer.write(request)
                if len(request) < 40_000 and not request.endswith(b"\r\n\r\n"):
                    await client.send(b"b" * 40_000)
                assert (await client.answer())[0] == 431
                assert await client.ends()

    run(main())


def test_a_long_url_and_long_trailers_get_431(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            for request in (
                b"POST /mcp?" + b"x" * 60_000,
                post(b"", target=b"/mcp?" + b"x" * 33_000),
                chunked(b"x", trailer=b"a: " + b"b" * 100_000),
                chunked(b"x", trailer=b"a: b\r\n" * 20_000),
                chunked(b"x")[:-5] + b"1;" + b"e" * 100_000,
            ):
                client = await running.connect()
                client.writer.write(request)
                assert (await client.answer())[0] in ((431,) if b";" not in request else (431, 400))
                assert await client.ends()

    run(main())


def test_headers_just_within_the_limit_are_taken(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(post(b"x", b"a: " + b"b" * 32_000) * 5)
            assert [(await client.answer())[0] for _ in range(5)] == [200] * 5

    run(main())


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"POST /mcp HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"POST /upload HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"POST /mcp HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\na: b\x00c\r\n\r\n",
        b"CONNECT host:80 HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
        b"GET http://host HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET mcp HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_400_or_404_and_never_a_traceback(
    run: Run, request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with serving(app=application()) as running:
            client = await running.say(request_bytes)
            status, headers, _ = await client.answer()
            assert status in (400, 404)
            assert status == 404 or headers["connection"] == "close"
            client.writer.write_eof()
            assert await client.ends()

    run(main())
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_handler_that_fails_is_an_internal_error_in_json(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(body: bytes, peer: Peer) -> bytes:
        if body == b"cancelled":
            other = asyncio.ensure_future(asyncio.sleep(1))
            other.cancel()
            await other
        if body == b"wrong":
            return 7  # type: ignore[return-value]
        raise ValueError("a secret")

    async def main() -> None:
        async with serving(fails) as running:
            client = await running.connect()
            for body in (b"x", b"cancelled", b"wrong"):
                await client.send(post(body))
                status, _, answer = await client.answer()
                assert status == 200
                assert json.loads(answer)["error"] == {"code": -32603, "message": "Internal error", "data": None}

    run(main())
    assert [record.message for record in caplog.records] == ["internal error while answering 127.0.0.1"] * 3


# Patience


def test_a_silent_connection_and_an_idle_one_are_closed(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=QUICK) as running:
            silent = await running.connect()
            idle = await running.say(post(b"x"))
            assert (await idle.answer())[0] == 200
            newlines = await running.say(b"\r\n" * 10)
            assert await silent.ends()
            assert await idle.ends()
            assert await newlines.ends()

    run(main())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST /mcp HTTP/1.1\r\nx: ",
        post(b"x"),
        post(b"hello")[:-1],
        post(b"x") * 3,
        post(b"initialize"),
        post(b"hello", target=b"/unread")[:-1],
        post(b"hello", target=b"/upload")[:-1],
        b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"not HTTP\r\n\r\n",
    ],
)
@pytest.mark.parametrize("closed_by", ["peer", pytest.param("server", marks=pytest.mark.long)])
def test_a_connection_that_has_ended_takes_no_memory_without_a_garbage_collection(
    run: Run, data: bytes, closed_by: str
) -> None:
    """Collections are rare, and a flood of connections would fill the memory until the next one."""

    async def main() -> None:
        async with serving(limits=QUICK if closed_by == "server" else Limits(), app=application()) as running:
            client = await running.say(data)
            if data.endswith((b"\r\n\r\n", b"x")):
                await client.head()
            connections = running.server._state.connections
            while not connections:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)
            (ended,) = map(weakref.ref, connections)
            if closed_by == "peer" or data.startswith(b"GET /stream"):
                client.writer.transport.abort()
            else:
                await client.ends()
                client.writer.close()
            # A task or a timer may hold it for a few turns of the loop.
            while ended() is not None:  # noqa: ASYNC110 - there is no event for that
                await asyncio.sleep(0)

    gc.collect()
    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "part",
    [
        b"P",
        b"POST /mcp HTTP/1.1\r\nhost:",
        post(b"hello")[:-1],
        post(b"hello", b"expect: 100-continue")[:-1],
        chunked(b"x")[:-1],
        b"GET /health HTTP/1.1\r\n",
        post(b"hello", target=b"/upload")[:-1],
        b"\r\n\r\nPOST",
    ],
)
def test_half_a_request_gets_408(run: Run, part: bytes) -> None:
    async def main() -> None:
        async with serving(limits=QUICK, app=application()) as running:
            for before in (b"", post(b"x")):
                client = await running.say(before + part)
                if before:
                    assert (await client.answer())[0] == 200
                status, headers, _ = await client.answer()
                assert (status, headers["connection"]) == (408, "close")
                assert await client.ends()

    run(main())


@pytest.mark.parametrize(
    "data",
    [
        post(b"x" * 300, b"a: " + b"b" * 200),
        post(b"x" * 300),
        chunked(*[b"x"] * 100),
        post(b"x" * 300, target=b"/upload"),
    ],
)
@pytest.mark.parametrize("only_body", [False, True])
def test_a_request_that_drips_gets_408_at_the_same_moment(run: Run, data: bytes, only_body: bool) -> None:
    async def main() -> None:
        async with serving(limits=QUICK, app=application()) as running:
            client = await running.connect()
            began = asyncio.get_running_loop().time()
            answer = asyncio.ensure_future(client.answer())
            at_once = data.index(b"\r\n\r\n") + 4 if only_body else 0
            await client.send(data[:at_once])
            for byte in data[at_once:]:
                await client.send(bytes([byte]))
                if (await asyncio.wait((answer,), timeout=0.01))[0]:
                    break
            assert answer.result()[0] == 408
            assert asyncio.get_running_loop().time() - began < 1

    run(main())


def test_a_request_behind_a_slow_answer_is_not_called_late(run: Run) -> None:
    async def main() -> None:
        async def slow(body: bytes, peer: Peer) -> bytes:
            await asyncio.sleep(0.5)
            return body

        async with serving(slow, limits=QUICK) as running:
            client = await running.say(post(b"1") + post(b"2")[:-1])
            assert (await client.answer())[2] == b"1"
            await client.send(b"2")
            assert (await client.answer())[2] == b"2"

    run(main())


def test_who_does_not_take_its_answers_is_cut_off(run: Run) -> None:
    answered = 0

    async def large(body: bytes, peer: Peer) -> bytes:
        nonlocal answered
        answered += 1
        return b"x" * 1_000_000

    async def main() -> None:
        async with serving(large, limits=QUICK) as running:
            loop = asyncio.get_running_loop()
            sock = socket.create_connection(("127.0.0.1", running.server.port))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            sock.setblocking(False)
            with sock:
                await loop.sock_sendall(sock, post(b"x") * 1_000)
                # The next byte cannot be sent, or the answers end short: either way the server let go.
                await loop.run_in_executor(None, _until_reset, sock)
        assert answered < 100

    run(main())


def test_who_takes_its_answers_slowly_gets_them_all_in_order(run: Run) -> None:
    async def large(body: bytes, peer: Peer) -> bytes:
        return body * 1_000_000

    async def main() -> None:
        async with serving(large, app=application()) as running:
            client = await running.say(
                b"".join(post(b"%d" % number) for number in range(30)) + post(b"5", method=b"PUT")
            )
            for number in range(30):
                assert (await client.answer())[2] == b"%d" % number * 1_000_000
            assert (await client.answer())[0] == 405
            await client.send(post(b"x"))
            assert (await client.answer())[0] == 200

    run(main())


def _until_reset(sock: socket.socket) -> None:
    """Send now and then, read nothing, until the connection is cut."""
    sock.settimeout(10)
    try:
        while True:
            sock.sendall(b"x" * 1_000)
    except (ConnectionError, TimeoutError) as error:
        assert isinstance(error, ConnectionError)


# The application


def application(events: list[str] | None = None) -> Starlette:
    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def upload(request: Request) -> JSONResponse:
        return JSONResponse(len(await request.body()))

    async def unread(request: Request) -> JSONResponse:
        return JSONResponse("unread")

    async def stream(request: Request) -> StreamingResponse:
        async def forever() -> AsyncIterator[bytes]:
            try:
                yield b"first"
                await asyncio.Event().wait()
            finally:
                if events is not None:
                    events.append("stream over")

        return StreamingResponse(forever())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if events is not None:
            events.append("up")
        yield
        if events is not None:
            events.append("down")

    routes = [
        Route("/health", health),
        Route("/upload", upload, methods=["POST"]),
        Route("/unread", unread, methods=["POST"]),
        Route("/stream", stream),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def test_everything_else_goes_to_the_application(run: Run) -> None:
    events: list[str] = []

    async def main() -> None:
        async with serving(app=application(events)) as running:
            assert events == ["up"]
            client = await running.say(b"GET /health?x HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await client.answer())[::2] == (200, b'{"status":"ok"}')
            await client.send(b"HEAD /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await client.head())[0] == 200
            await client.send(post(b"x" * 300_000, target=b"/upload"))
            assert (await client.answer())[::2] == (200, b"300000")
            await client.send(post(b"hello", b"expect: 100-continue", target=b"/upload")[:-5])
            assert (await client.head())[0] == 100
            await client.send(b"hello")
            assert (await client.answer())[::2] == (200, b"5")
            await client.send(post(b"x" * 10_000, target=b"/unread") + post(b"x"))
            assert (await client.answer())[::2] == (200, b'"unread"')
            assert (await client.answer())[::2] == (200, b"x")
            await client.send(b"GET /none HTTP/1.0\r\n\r\n")
            assert (await client.answer())[0] == 404
            assert await client.ends()
        assert events == ["up", "down"]

    run(main())


def test_without_an_application_other_paths_are_404_in_json(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            status, headers, body = await client.answer()
            assert (status, headers["content-type"]) == (404, "application/json")
            assert "/mcp" in json.loads(body)["error"]

    run(main())


@pytest.mark.parametrize("behind", [b"", post(b"x")])
def test_a_stream_ends_when_its_reader_goes(run: Run, behind: bytes) -> None:
    events: list[str] = []

    async def main() -> None:
        async with serving(app=application(events)) as running:
            client = await running.say(b"GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n" + behind)
            assert (await client.head())[0] == 200
            client.writer.transport.abort()
            await running.server.stop()
            assert events == ["up", "stream over", "down"]

    run(main())


def test_a_stream_ends_when_the_body_of_its_request_is_broken(run: Run) -> None:
    events: list[str] = []

    async def main() -> None:
        async with serving(app=application(events)) as running:
            client = await running.say(b"GET /stream HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
            assert (await client.head())[0] == 200
            await client.send(b"broken\r\n")
            await client.ends()
            await running.server.stop()
            assert events == ["up", "stream over", "down"]

    run(main())


def test_an_application_that_does_not_start_is_an_error(run: Run) -> None:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        raise ValueError("no")
        yield

    async def main() -> None:
        sock = listen("127.0.0.1", 0)
        app = Starlette(lifespan=lifespan)
        server = Server(of_requests(echo), sockets=[sock], max_bytes=MAX_BYTES, too_large=TOO_LARGE, app=app)
        with pytest.raises(RuntimeError, match="did not start"):
            await server.start()
        assert sock.fileno() == -1
        await server.stop()

    run(main())


# Beside /mcp


def test_what_is_posted_below_another_path_has_its_own_handler_and_limit(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[tuple[str, bytes, Peer]] = []

    async def take(name: str, request: RpcRequest, peer: Peer) -> HttpAnswer:
        body = request.body
        if len(body) % 2:
            await asyncio.sleep(0)
        if body == b"often":
            raise TooManyRequests(b"later", 1.5)
        if body == b"fault":
            raise ValueError(name)
        taken.append((name, body, peer))
        return HttpAnswer(400 if body == b"bad" else 200, b"taken " + body)

    async def main() -> None:
        routes = PostRoutes(b"/notes/", take, 50_000, b"too large")
        async with serving(app=application(), find_route=routes.match) as running:
            client = await running.connect()
            for target, request, status, body in (
                (b"/notes/1", b"x", 200, b"taken x"),
                (b"/notes/1", b"xy", 200, b"taken xy"),
                (b"/notes/1", b"bad", 400, b"taken bad"),
                (b"/notes/1", b"often", 429, b"later"),
                (b"/notes/1", b"y" * 50_000, 200, b"taken " + b"y" * 50_000),
                (b"/notes/a%20b?c=d", b"x", 200, b"taken x"),
                (b"http://localhost/notes/2", b"x", 200, b"taken x"),
                (b"/notes/1/2", b"x", 404, None),
                (b"/notes/1%2f2", b"x", 404, None),
                (b"/notes/", b"x", 404, None),
                (b"/notes", b"x", 404, None),
            ):
                for asked in (post(request, target=target), chunked(request).replace(b"/mcp", target)):
                    await client.send(post(b"before") + asked + post(b"behind"))
                    assert (await client.answer())[2] == b"before"
                    answered = await client.answer()
                    assert (answered[0], answered[2]) == (status, answered[2] if body is None else body)
                    assert (await client.answer())[2] == b"behind"
            await client.send(post(b"fault", target=b"/notes/1") + post(b"", target=b"/notes/1", method=b"PUT"))
            assert [(await client.answer())[0] for _ in range(2)] == [500, 404]
            for large in (
                post(b"x" * 50_001, target=b"/notes/1"),
                chunked(b"x" * 50_001).replace(b"/mcp", b"/notes/1"),
            ):
                client = await running.say(large)
                assert (await client.answer())[::2] == (413, b"too large")
                assert await client.ends()

    run(main())
    assert {name for name, _, _ in taken} == {"1", "a b", "2"}
    assert [record.message for record in caplog.records] == ["internal error while answering 127.0.0.1"]


# Stopping


def test_stopping_finishes_what_is_being_answered_and_closes_the_rest_at_once(run: Run) -> None:
    async def main() -> None:
        started, go = asyncio.Event(), asyncio.Event()

        async def wait(body: bytes, peer: Peer) -> bytes:
            if body == b"slow":
                started.set()
                await go.wait()
            return body

        async with serving(wait) as running:
            idle, half = await running.connect(), await running.say(post(b"x")[:-1])
            used = await running.say(post(b"x"))
            assert (await used.answer())[0] == 200
            busy = await running.say(post(b"slow") + post(b"dropped"))
            await started.wait()
            stopping = asyncio.ensure_future(running.server.stop())
            for client in (idle, half, used):
                assert await client.ends()
            with pytest.raises(ConnectionRefusedError):
                await running.connect()
            assert not stopping.done()
            go.set()
            status, headers, body = await busy.answer()
            assert (status, headers["connection"], body) == (200, "close", b"slow")
            assert await busy.ends()
            await stopping

    run(main())


def test_stopping_takes_bounded_time(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    async def main() -> None:
        started = asyncio.Event()

        async def forever(body: bytes, peer: Peer) -> bytes:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("handler")
            return body

        async with serving(forever, app=application(ended)) as running:
            client = await running.say(post(b"x"))
            stream = await running.say(b"GET /stream HTTP/1.1\r\n\r\n")
            await started.wait()
            await stream.head()
            await running.server.stop(0.05)
            await client.ends()
            await stream.ends()
            await running.server.stop()

    run(main())
    assert sorted(ended) == ["down", "handler", "stream over", "up"]
    assert "2 requests were cut off unanswered" in caplog.text


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_is_accepted_while_the_server_stops_does_not_hold_it_up(turns: int) -> None:
    async def main() -> None:
        async with serving() as running:
            with ExitStack() as clients:
                for _ in range(10):
                    clients.enter_context(socket.create_connection(("127.0.0.1", running.server.port)))
                # After this number of turns of the loop the connections have been accepted, or nearly.
                for _ in range(turns):
                    await asyncio.sleep(0)
                loop = asyncio.get_running_loop()
                began = loop.time()
                await running.server.stop(10)
                assert loop.time() - began < 5

    # In Python 3.11 asyncio's own loop loses such a connection.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_an_application_that_is_cut_off_when_the_server_stops_is_no_error(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def forever(scope: Any, _receive: Any, _send: Any) -> None:
            if scope["type"] == "http":
                started.set()
                await asyncio.Event().wait()

        async with serving(app=forever) as running:
            client = await running.say(b"GET /page HTTP/1.1\r\n\r\n")
            await started.wait()
            await running.server.stop(0.05)
            await client.ends()

    run(main())
    assert [record.getMessage() for record in caplog.records] == ["1 requests were cut off unanswered"]


def test_a_handler_goes_on_when_its_caller_has_gone(run: Run) -> None:
    async def main() -> None:
        started, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def wait(body: bytes, peer: Peer) -> bytes:
            started.set()
            await go.wait()
            done.set()
            return body

        async with serving(wait) as running:
            client = await running.say(post(b"x"))
            await started.wait()
            client.writer.transport.abort()
            stopping = asyncio.ensure_future(running.server.stop())
            await asyncio.sleep(0)
            go.set()
            await done.wait()
            await stopping

    run(main())


def test_a_server_leaves_the_signals_alone_and_its_port_free(run: Run) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def main() -> None:
        running_before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        async with serving() as running:
            assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == running_before
            port = running.server.port
            client = await running.say(post(b"x"))
            assert (await client.answer())[0] == 200
        listen("127.0.0.1", port).close()

    run(main())
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


# Listening


def test_port_0_takes_a_free_port() -> None:
    with listen("127.0.0.1", 0) as one, listen("localhost", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1] > 0


def test_a_busy_port_is_an_error_that_says_which_and_what_to_do() -> None:
    with listen("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"Port {port} at 127\.0\.0\.1 is in use .* choose another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "port", "sentence"),
    [
        ("192.0.2.1", 0, "is not an address of this machine"),
        ("no such host", 0, "is not an address of this machine"),
        ("x" * 300, 0, "is not an address of this machine"),
        ("127.0.0.1", 70_000, "70000 is not a port"),
        ("127.0.0.1", -1, "-1 is not a port"),
    ],
)
def test_an_address_that_cannot_be_served_is_told(host: str, port: int, sentence: str) -> None:
    with pytest.raises(CannotListen, match=sentence):
        listen(host, port)


# What we stand on


def test_uvicorn_is_the_version_whose_inside_we_know() -> None:
    assert importlib.metadata.version("uvicorn") == "0.54.0"


def test_uvicorns_protocol_has_what_the_subclass_relies_on(run: Run) -> None:
    async def main() -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None: ...

        config = Config(app, log_config=None, workers=1)
        config.load()
        protocol = HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
        expected = "loop parser transport flow server client cycle scope headers expect_100_continue connections tasks"
        assert not [name for name in expected.split() if not hasattr(protocol, name)]

    run(main())
    methods: dict[str, Callable[..., Awaitable[None] | None]] = dict(inspect.getmembers(HttpToolsProtocol, callable))
    for name, parameters in {
        "_start_asgi_task": ["self", "cycle", "app"],
        "on_response_complete": ["self"],
        "on_message_begin": ["self"],
        "on_headers_complete": ["self"],
        "on_body": ["self", "body"],
        "on_message_complete": ["self"],
        "shutdown": ["self"],
    }.items():
        assert list(inspect.signature(methods[name]).parameters) == parameters
    # A cycle is started in one place, tells us when it is over, and takes no more once it is disconnected.
    source = inspect.getsource(HttpToolsProtocol.on_headers_complete)
    assert source.count("self._start_asgi_task(self.cycle, app)") == 1
    assert "on_response=self.on_response_complete" in source
    attributes = inspect.getsource(RequestResponseCycle.__init__)
    for name in ("disconnected", "keep_alive", "response_started", "response_complete", "message_event"):
        assert f"self.{name} =" in attributes
