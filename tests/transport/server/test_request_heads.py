"""Heads that are remembered: whatever comes is answered as if every head had been read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaguekit.transport.addresses import LOOPBACK
from leaguekit.transport.base import NoAnswer, Peer, TooManyRequests
from leaguekit.transport.server import connection as connections
from leaguekit.transport.server import server as transport_server
from leaguekit.transport.server.request_heads import MAX_HEAD_BYTES, Head, remembered_head
from leaguekit.transport.server.server import Limits, Server, listen
from tests.transport.running import MAX_BYTES, QUICK, TOO_LARGE, Run, chunked, of_requests, post, serving

PEER = Peer("127.0.0.1", "", ("127.0.0.1", 8000))
HEADERS = [(b"host", b"localhost"), (b"Content-Length", b"5"), (b"accept", b"application/json")]
HEAD = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nContent-Length: 5\r\naccept: application/json\r\n\r\n"


def head_of(data: bytes = HEAD + b"hello", **other: Any) -> Head | None:
    read = {"body_bytes": 5, "url": b"/mcp", "headers": HEADERS, "peer": PEER} | other
    return remembered_head(data, **read)


def test_the_next_request_with_the_same_head_is_known_by_it_whatever_the_length_of_its_body() -> None:
    head = head_of()
    assert head is not None
    assert head.peer is PEER
    for body in (b"", b"x", b"world", b"\r\n\r\n", HEAD, b"y" * 9_999_999):
        assert head.body_in(HEAD.replace(b"5", b"%d" % len(body)) + body, 9_999_999) == body
    assert head.body_in(HEAD.replace(b"5", b"0005") + b"hello", 5) == b"hello"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEAD[:-1],
        HEAD,
        HEAD + b"hell",
        HEAD + b"hello!",
        HEAD + b"hello" + HEAD + b"hello",
        b"\r\n" + HEAD + b"hello",
        HEAD[:-2] + b"x: y\r\n\r\nhello",
        HEAD.replace(b"POST", b"post") + b"hello",
        HEAD.replace(b"5", b"") + b"hello",
        HEAD.replace(b"5", b"") + b"",
        HEAD.replace(b"5", b"+5") + b"hello",
        HEAD.replace(b"5", b"-0") + b"",
        HEAD.replace(b"5", b" 5") + b"hello",
        HEAD.replace(b"5", b"5 ") + b"hello",
        HEAD.replace(b"5", b"5, 5") + b"hello",
        HEAD.replace(b"5", b"0_5") + b"hello",
        HEAD.replace(b"5", "٥".encode()) + b"hello",
        HEAD.replace(b"5", b"00000005") + b"hello",
        HEAD.replace(b"5", b"5\r\nContent-Length: 6") + b"hello",
        HEAD.replace(b"5", b"5\r\ntransfer-encoding: chunked") + b"hello",
        HEAD.replace(b"5", b"101") + b"x" * 101,
    ],
)
def test_anything_else_is_not(data: bytes) -> None:
    head = head_of()
    assert head is not None
    assert head.body_in(data, 100) is None


@pytest.mark.parametrize(
    "other",
    [
        # Not what the parser read.
        {"data": HEAD + b"hello\r\n"},
        {"data": b"\r\n" + HEAD + b"hello"},
        {"data": HEAD + b"\r\n\r\n" + b"\r\n", "body_bytes": 4},
        {"data": HEAD.replace(b"\r\n", b"\n") + b"hello"},
        {"data": HEAD.replace(b"accept:", b"accept :") + b"hello"},
        {"data": HEAD.replace(b"json\r\n", b"json\r\n folded\r\n") + b"hello"},
        {"data": HEAD.replace(b"localhost", b" localhost") + b"hello"},
        {"url": b"/mcp/"},
        {"headers": HEADERS[:-1]},
        {"headers": [*HEADERS, (b"x", b"y")]},
        {"data": HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"hello"},
        # More than a head and a body of that length.
        {"data": b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n", "body_bytes": 0, "headers": HEADERS[:1]},
        *(
            {"data": HEAD[:-2] + b"%b: %b\r\n\r\nhello" % more, "headers": [*HEADERS, more]}
            for more in (
                (b"content-length", b"5"),
                (b"Transfer-Encoding", b"identity"),
                (b"Expect", b"100-continue"),
                (b"Upgrade", b"h2c"),
                (b"x", b"y" * MAX_HEAD_BYTES),
            )
        ),
    ],
)
def test_a_head_that_is_not_plain_is_not_remembered(other: dict[str, Any]) -> None:
    assert head_of(**other) is None


# The same streams, with and without


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        if not self.closing:
            self.said.append(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 5000), "sockname": ("127.0.0.1", 8000)}.get(name, default)

    def close(self) -> None:
        self.said.append(b"closed")
        self.closing = True

    def abort(self) -> None:
        self.said.append(b"aborted")
        self.closing = True

    def write_eof(self) -> None:
        self.said.append(b"eof")

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


RAISED = {b"often": TooManyRequests(b"later", 1.0), b"fault": ValueError(), b"nobody": NoAnswer()}


async def application(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
    await send({"type": "http.response.body", "body": b"app"})


class Outcome(NamedTuple):
    """What was answered, what the handler was asked, and how many heads were read."""

    said: list[bytes]
    asked: list[tuple[bytes, Peer]]
    heads: list[bytes]


async def _outcome(pieces: Sequence[bytes]) -> Outcome:
    wire, outcome = Wire(), Outcome([], [], [])

    async def handle(body: bytes, peer: Peer) -> bytes | None:
        outcome.asked.append((body, peer))
        if b"wait" in body:
            await asyncio.sleep(0)
        if body in RAISED:
            raise RAISED[body]
        return None if body == b"none" else body

    class Counting(connections.HttpConnection):
        def on_headers_complete(self) -> None:
            outcome.heads.append(self.url)
            super().on_headers_complete()

    with listen("127.0.0.1", 0) as sock, mock.patch.object(transport_server, "HttpConnection", Counting):
        application.sender_of = None  # type: ignore[attr-defined]
        server = Server(
            of_requests(handle),
            sockets=[sock],
            max_bytes=200,
            too_large=TOO_LARGE,
            app=application,
            mcp=application,  # type: ignore[arg-type]
            proxies=LOOPBACK,
        )
        connection = server._connection()
    connection.connection_made(wire)  # type: ignore[arg-type]
    for piece in pieces:
        if not wire.closing:
            connection.data_received(piece)
        while tasks := server._tasks():
            await asyncio.wait(tasks)
    connection.connection_lost(None)
    outcome.said.append(b"".join(wire.said))
    return outcome


def what_comes_of(pieces: Sequence[bytes], *, remembering: bool) -> Outcome:
    """What comes of a connection that brings these pieces."""
    kept = remembered_head if remembering else lambda *_: None
    with mock.patch.object(connections, "remembered_head", kept), asyncio.Runner() as runner:
        return runner.run(_outcome(pieces))


BODIES = [b"", b"x", b"hello", b"wait", b"none", b"often", b"fault", b"y" * 200, b"y" * 201, b"\r\n\r\n", b"[]"]
BODIES += [b'{"jsonrpc":"2.0","method":"tools/list"}', b'{"jsonrpc":"2.0","method":"initialize","x":"z"}', b"nobody"]
REQUESTS = [
    *(post(body) for body in BODIES),
    *(post(body, b"accept: application/json") for body in BODIES[:5]),
    *(post(body).replace(b"\r\ncontent-length", b"\r\naccept: x\r\nContent-Length") for body in BODIES[:5]),
    post(b"hello", b"x-forwarded-for: 10.0.0.1"),
    post(b"world", b"x-forwarded-for: 10.0.0.1"),
    post(b"hello", b"x-forwarded-for: 10.0.0.2"),
    post(b"hello", b"accept: text/event-stream"),
    post(b"hello", b"content-length: 5"),
    post(b"hello", b"transfer-encoding: chunked"),
    post(b"hello", b"connection: close"),
    post(b"hello", b"connection: keep-alive"),
    post(b"hello", b"connection: upgrade", b"upgrade: h2c"),
    post(b"hello", b"expect: 100-continue"),
    post(b"hello", b"origin: http://elsewhere"),
    post(b"hello", target=b"/mcp?seat=1"),
    post(b"hello", target=b"/other"),
    post(b"hello", method=b"PUT"),
    post(b"hello", version=b"1.0"),
    post(b"hello").replace(b"localhost", b"elsewhere"),
    post(b"hello").replace(b"\r\n", b"\n"),
    post(b"hello").replace(b"content-length: 5", b"content-length: 05"),
    post(b"hello").replace(b"content-length: 5", b"content-length: +5"),
    post(b"hello").replace(b"content-length: 5", b"content-length:5"),
    post(b"hello").replace(b"content-length: 5", b"content-length: 5 "),
    post(b"hello") + b"\r\n",
    b"\r\n" + post(b"hello"),
    post(b"\r\n\r\n") + b"\r\n",
    chunked(b"hello"),
    b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"nonsense\r\n\r\n",
]


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Requests of few kinds, most of them whole and by themselves, some of them cut or together."""
    kinds = draw(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=3))
    requests = draw(st.lists(st.sampled_from([*kinds, *REQUESTS[:3]]), min_size=2, max_size=8))
    pieces: list[bytes] = []
    for request in requests:
        match draw(st.integers(0, 5)):
            case 0:
                cut = draw(st.integers(0, len(request)))
                pieces += [request[:cut], request[cut:]]
            case 1 if pieces:
                pieces[-1] += request
            case _:
                pieces.append(request)
    return [piece for piece in pieces if piece]


@settings(max_examples=150, deadline=None)
@given(streams())
@example([post(b"\r\n\r\n") + b"\r\n", post(b"\r\n\r\n") + b"\r\n", post(b"hello") + b"\r\n", post(b"hello")])
@example([post(b"x"), post(b"hello")[:30], post(b"hello")[30:] + post(b"x")])
def test_every_stream_is_answered_as_if_every_head_were_read(pieces: list[bytes]) -> None:
    short, careful = what_comes_of(pieces, remembering=True), what_comes_of(pieces, remembering=False)
    assert short[:2] == careful[:2]
    assert len(short.heads) <= len(careful.heads)


@pytest.mark.parametrize("one", REQUESTS)
def test_any_request_between_others_is_answered_as_if_every_head_were_read(one: bytes) -> None:
    for other in REQUESTS[:3]:
        pieces = [other, other, one, one, other, one, other]
        assert what_comes_of(pieces, remembering=True)[:2] == what_comes_of(pieces, remembering=False)[:2]


def test_a_head_is_read_once() -> None:
    pieces = [post(b"x" * size) for size in range(100)]
    assert len(what_comes_of(pieces, remembering=True).heads) == 1
    assert len(what_comes_of(pieces, remembering=False).heads) == 100
    other = [post(b"x", b"accept: application/json")] * 3
    assert len(what_comes_of([*pieces, *other, *pieces], remembering=True).heads) == 3


# The limits hold for those too


def test_the_limits_hold_for_a_connection_whose_head_is_known(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=QUICK) as running:

            async def known() -> Any:
                client = await running.connect()
                for _ in range(3):
                    await client.send(post(b"x"))
                    assert (await client.answer())[2] == b"x"
                return client

            large, slow, idle = await known(), await known(), await known()
            await large.send(post(b"y" * (MAX_BYTES + 1)))
            assert (await large.answer())[0] == 413
            await slow.send(post(b"hello")[:-1])
            assert (await slow.answer())[0] == 408
            for client in (large, slow, idle):
                assert await client.ends()

    run(main())


def test_a_connection_whose_head_is_known_counts_as_used_and_may_have_to_go(run: Run) -> None:
    async def main() -> None:
        async with serving(limits=Limits(connections=2)) as running:
            first, second = await running.connect(), await running.connect()
            for client in (first, second, first, second, first):
                await client.send(post(b"x"))
                assert (await client.answer())[2] == b"x"
            await running.connect()
            assert (await second.answer())[0] == 429
            await first.send(post(b"x"))
            assert (await first.answer())[2] == b"x"

    run(main())


def test_who_does_not_take_its_answers_is_read_no_further(run: Run) -> None:
    answered = 0

    async def large(body: bytes, peer: Peer) -> bytes:
        nonlocal answered
        answered += 1
        return b"x" * 4_000_000

    async def main() -> None:
        async with serving(large) as running:
            client = await running.connect()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(20):
                client.writer.write(post(b"x"))
                await asyncio.sleep(0.01)
            client.writer.transport.abort()

    run(main())
    assert answered < 10
