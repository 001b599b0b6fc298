"""Heads that are known: an answer is the same whether its head is read again or not, whatever comes and however cut."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaguekit.transport.base import HttpAnswer, Unreachable
from leaguekit.transport.client import connections
from leaguekit.transport.client.connections import Connection, Head, HostPool

MAX_BYTES = 60
BODY = b'{"jsonrpc":"2.0","result":{},"id":1}'
Outcome = tuple[HttpAnswer | str | None, bool, bool, int]


class NothingKnown(dict[bytes, Head]):
    def __setitem__(self, head: bytes, known: Head) -> None: ...


class Transport:
    """Nothing goes out; it only has a socket, as the connection looks whether that has input."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def get_extra_info(self, _name: str) -> Any:
        return self._line

    def write(self, data: bytes) -> None: ...

    def abort(self) -> None: ...


class Parsing:
    """A parser that counts how often it is needed."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self.fed = 0

    def feed_data(self, data: bytes) -> None:
        self.fed += 1
        self._parser.feed_data(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


class Calls:
    """Calls one after the other, on a kept connection where there is one."""

    def __init__(self) -> None:
        self._loop = asyncio.SelectorEventLoop()
        self._pair = socket.socketpair()
        self._connection: Connection | None = None

    def close(self) -> None:
        for line in self._pair:
            line.close()
        self._loop.close()

    def call(self, pieces: list[bytes], max_bytes: int = MAX_BYTES) -> Outcome:
        """What comes of the answer, whether it is kept and closed, and how often the parser was fed."""
        connection = self._connection
        if connection is None:
            connection = Connection(HostPool("http", "127.0.0.1", 1), self._loop)
            connection.connection_made(Transport(self._pair[0]))  # type: ignore[arg-type]
            self._parsing = Parsing(connection.parser)
            connection.parser = self._parsing  # type: ignore[assignment]
        waiter: asyncio.Future[HttpAnswer] = self._loop.create_future()
        before = self._parsing.fed
        connection.ask(waiter, b"", max_bytes, "http://127.0.0.1/mcp")
        for piece in pieces:
            if not connection.closed:
                connection.data_received(piece)
        came: HttpAnswer | str | None = None
        if waiter.done():
            try:
                came = waiter.result()
            except Unreachable as error:
                came = str(error)
        is_kept = waiter.done() and connection.keep_alive and not connection.closed
        self._connection = connection if is_kept else None
        return came, connection.keep_alive, connection.closed, self._parsing.fed - before


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    monkeypatch.setattr(connections, "_known_heads", {})
    made = Calls()
    yield made
    made.close()


def answer(body: bytes = BODY, head: bytes = b"content-type: application/json\r\n") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)


def test_a_head_seen_before_is_not_parsed_again(calls: Calls) -> None:
    for body, fed in ((BODY, 1), (BODY, 0), (BODY[::-1], 0), (b"{}", 1), (b"{}", 0), (BODY, 0)):
        assert calls.call([answer(body)]) == (HttpAnswer(200, body), True, False, fed)


def test_a_known_head_with_an_answer_in_pieces_or_too_large_is_parsed(calls: Calls) -> None:
    calls.call([answer()])
    whole = answer()
    for place in range(1, len(whole)):
        came, *_, fed = calls.call([whole[:place], whole[place:]])
        assert (came, fed) == (HttpAnswer(200, BODY), 2)
    assert calls.call([whole])[3] == 0
    assert "announced an answer of 36 bytes; at most 35 are taken" in str(calls.call([whole], 35)[0])


def test_what_is_remembered_is_bounded(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_KNOWN_HEADS", 5)
    for number in range(20):
        calls.call([answer(head=b"x: %d\r\n" % number)])
        assert 0 < len(connections._known_heads) <= 5
    for size, fed in ((connections.MAX_KNOWN_HEAD_BYTES, 0), (connections.MAX_KNOWN_HEAD_BYTES + 1, 1)):
        filler = b"x" * (size - len(answer(head=b"x: \r\n")) + len(BODY))
        calls.call([answer(head=b"x: %b\r\n" % filler)])
        assert calls.call([answer(head=b"x: %b\r\n" % filler)])[3] == fed


LINES = [
    b"content-type: application/json",
    b"Content-Type: Text/Event-Stream; charset=utf-8",
    b"mcp-session-id: 4711",
    b"connection: close",
    b"Connection: Keep-Alive",
    b"connection: upgrade\r\nupgrade: h2c",
    b"transfer-encoding: chunked",
    b"content-length: 2",
    b"x-content-length: 3",
    b"x: \xff",
    b"folded: a\r\n b",
    b"",
]
STATUSES = [
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 200 OK",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 204 No Content",
    b"HTTP/1.1 429 Too Many Requests",
    b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 304 Not Modified",
    b"HTTP/2 200 OK",
]
LENGTHS = [b"content-length: %d", b"Content-Length:%d", b"content-length: 0%d", b"content-length: %d ", b"x-length: %d"]
FULL = b"x" * MAX_BYTES
BODIES = [b"", b"{}", BODY, b"\r\n\r\n", b"a\r\n\r\nb", b"2\r\n{}\r\n0\r\n\r\n", FULL, FULL + b"x"]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Mostly an answer, sometimes with something before, behind, or wrong in it."""
    body = draw(st.sampled_from(BODIES))
    lines = draw(st.lists(st.sampled_from(LINES), max_size=2))
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(LENGTHS)) % len(body))
    before = draw(st.sampled_from([b"", b"", b"", b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    behind = draw(st.sampled_from([b"", b"", b"", b"\r\n", b"H", answer()]))
    end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n"]))
    head = b"\r\n".join([draw(st.sampled_from(STATUSES)), *lines]) + end + end
    return before + head + body + behind


@st.composite
def conversations(draw: st.DrawFn) -> list[list[bytes]]:
    """Answers of which most come several times, each in one piece or more."""
    kinds = [*draw(st.lists(streams(), min_size=1, max_size=3)), answer()]
    found = []
    for stream in draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=8)):
        places = sorted(draw(st.one_of(st.just([]), st.lists(st.integers(0, len(stream)), max_size=3))))
        cuts = [0, *places, len(stream)]
        found.append([stream[a:b] for a, b in pairwise(cuts) if a < b])
    return found


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_every_answer_is_what_the_parser_makes_of_it(conversation: list[list[bytes]]) -> None:
    outcomes = []
    ways: list[dict[bytes, Head]] = [{}, NothingKnown()]
    for known in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connections, "_known_heads", known)
            calls = Calls()
            outcomes.append([calls.call(pieces)[:3] for pieces in conversation])
            calls.close()
    assert outcomes[0] == outcomes[1]
