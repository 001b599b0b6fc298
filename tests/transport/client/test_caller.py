"""The guarded caller against the zoo of bad servers: an answer, E001 or E009, in time, and the pool none the worse."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import inspect
import re
import socket
import ssl
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaguekit.transport.addresses import AddressPolicy, Resolver, read_url, system_look_up
from leaguekit.transport.base import CallerLate, CallerUnable, CallFailed, HttpAnswer, TimedOut, TlsFailed, Unreachable
from leaguekit.transport.client import caller as caller_module
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.client.connections import IDLE_SECONDS, MAX_HEAD_BYTES, UNCHECKED_SECONDS, Connection
from leaguekit.transport.client.deadlines import DeadlineTimer
from tests.certificates import make_certificate, server_side
from tests.zoo import bad_servers as zoo
from tests.zoo.bad_servers import ANSWER, BODY, Kind, serving

uvloop = pytest.importorskip("uvloop")

GOOD = HttpAnswer(200, BODY)
# Long enough for anything that is not meant to wait, and short enough for what is.
AMPLE = 20.0
SHORT = 0.2
timed_out = pytest.mark.proves("000-L1313", "003-L0251")
unreachable = pytest.mark.proves("000-L1315", "003-L0255")


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward: to every timer it looks as if the process had been held up."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


def run_on(factory: Callable[[], asyncio.AbstractEventLoop], main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, and let nothing be left behind that the loop would only have logged."""
    complaints: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
        runner.run(main)
        gc.collect()
    assert complaints == []


def on(*factories: Callable[[], asyncio.AbstractEventLoop]) -> Callable[..., Any]:
    """Run an async test once on each of these loops."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Any:
        @pytest.mark.parametrize("factory", factories, ids=lambda factory: factory.__module__.split(".")[0])
        @functools.wraps(test)
        def wrapper(factory: Callable[[], asyncio.AbstractEventLoop], **given: Any) -> None:
            run_on(factory, test(**given))

        own = inspect.signature(test)
        added = inspect.Parameter("factory", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        wrapper.__signature__ = own.replace(parameters=[added, *own.parameters.values()])  # type: ignore[attr-defined]
        return wrapper

    return decorate


on_both_loops = on(asyncio.SelectorEventLoop, uvloop.new_event_loop)


@contextlib.asynccontextmanager
async def calling(policy: AddressPolicy | None = None, **options: Any) -> AsyncIterator[HttpCaller]:
    caller = HttpCaller(policy or AddressPolicy.local(), **options)
    try:
        yield caller
    finally:
        await caller.close()


def is_at_rest(caller: HttpCaller) -> bool:
    """With no call under way, nobody holds a turn or waits, and whatever is open is kept."""
    return not caller._openings and all(
        host.busy == 0
        and all(waiter.done() for waiter in host.slot_waiters)
        and all(connection.waiter is None for connection in host.connections)
        and {connection for connection in host.connections if not connection.closed} == set(host.idle)
        for host in caller._hosts.values()
    )


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(AMPLE):
        while not condition():  # noqa: ASYNC110 - the condition is the server's, and has no event
            await asyncio.sleep(0)


# Answers


@on_both_loops
async def test_what_goes_over_the_wire_is_a_plain_post_that_asks_for_no_compression() -> None:
    async with serving(zoo.good) as server, calling() as caller:
        assert await caller.post(f"{server.url}?seat=4711", b'{"a":1}', AMPLE) == GOOD
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /mcp?seat=4711 HTTP/1.1"
    assert b"host: 127.0.0.1:%d" % server.port in lines
    assert b"content-type: application/json" in lines
    assert b"content-length: 7" in lines
    assert b"accept-encoding: identity" in lines
    assert body == b'{"a":1}'


@pytest.mark.parametrize("kind", [zoo.good, zoo.says_close])
@on_both_loops
async def test_a_connection_that_has_ended_takes_no_memory_without_a_garbage_collection(kind: Kind) -> None:
    gc.collect()
    gc.disable()
    try:
        async with serving(kind) as server:
            async with calling() as caller:
                call = asyncio.ensure_future(caller.post(server.url, b"{}", AMPLE))
                await until(lambda: any(host.connections for host in caller._hosts.values()))
                (ended,) = [weakref.ref(one) for host in caller._hosts.values() for one in host.connections]
                assert await call == GOOD
            await until(lambda: ended() is None)
    finally:
        gc.enable()


ANSWERED: list[tuple[str, Kind, HttpAnswer, bool]] = [
    ("good", zoo.good, GOOD, True),
    ("html", zoo.html, HttpAnswer(404, b"<html>not here</html>\n", "text/html"), True),
    ("wrong_id", zoo.wrong_id, HttpAnswer(200, BODY.replace(b"1}", b"9}")), True),
    ("chunked", zoo.chunked, GOOD, True),
    ("old", zoo.old, GOOD, False),
    ("old_with_length", zoo.old_with_length, GOOD, False),
    ("old_but_kept", zoo.old_but_kept, GOOD, True),
    ("says_close", zoo.says_close, GOOD, False),
    ("without_length", zoo.without_length, GOOD, False),
    ("many_headers", zoo.many_headers, GOOD, True),
    ("one_large_header", zoo.one_large_header, GOOD, True),
    ("offers_upgrade", zoo.offers_upgrade, GOOD, True),
    ("continues", zoo.continues, GOOD, True),
    ("no_content", zoo.no_content, HttpAnswer(204, b"", ""), True),
    ("accepted_empty", zoo.accepted_empty, HttpAnswer(202, b"", ""), True),
    ("fails", zoo.fails, HttpAnswer(500, b"Traceback", "text/plain"), True),
    ("redirects_to_itself", zoo.redirects_to_itself, HttpAnswer(301, b"", ""), True),
    ("two_answers", zoo.two_answers, GOOD, False),
    ("answer_and_a_byte", zoo.answer_and_a_byte, GOOD, False),
    ("answer_and_noise", zoo.answer_and_noise, GOOD, False),
    ("closes_while_idle", zoo.closes_while_idle, GOOD, False),
]


@pytest.mark.parametrize(("kind", "answer", "kept"), [row[1:] for row in ANSWERED], ids=[row[0] for row in ANSWERED])
@on_both_loops
async def test_an_answer_is_taken_and_its_connection_kept_only_if_that_is_safe(
    kind: Kind, answer: HttpAnswer, kept: bool
) -> None:
    async with serving(kind) as server, calling() as caller:
        for _ in range(3):
            assert await caller.post(server.url, b"{}", AMPLE) == answer
            assert is_at_rest(caller)
            if not kept:
                await until(lambda: not server.open)
        assert len(server.requests) == 3
        assert server.connections == (1 if kept else 3)


@on_both_loops
async def test_a_redirect_elsewhere_is_an_answer_and_leads_nowhere() -> None:
    async with serving(zoo.good) as other, serving(zoo.redirects_to(other.url)) as server, calling() as caller:
        assert (await caller.post(server.url, b"{}", AMPLE)).status == 307
        assert (len(server.requests), other.connections) == (1, 0)


@pytest.mark.parametrize("answer", [ANSWER, zoo.CHUNKED, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ANSWER])
@on_both_loops
async def test_an_answer_is_the_same_wherever_it_is_cut_into_pieces(answer: bytes) -> None:
    async with calling() as caller:
        for place in range(1, len(answer), 7):
            async with serving(zoo.says_in_pieces(answer[:place], answer[place:])) as server:
                assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        async with serving(zoo.says_in_pieces(*(bytes([byte]) for byte in answer))) as server:
            assert await caller.post(server.url, b"{}", AMPLE) == GOOD


@on_both_loops
async def test_a_body_may_be_as_large_as_allowed_and_no_larger() -> None:
    body = b"x" * 300_000
    for head in (b"content-length: 300000\r\n\r\n%b", b"transfer-encoding: chunked\r\n\r\n493e0\r\n%b\r\n0\r\n\r\n"):
        async with serving(zoo.says(b"HTTP/1.1 200 OK\r\n" + head % body)) as server, calling() as caller:
            assert (await caller.post(server.url, b"{}", AMPLE, len(body))).body == body
            with pytest.raises(Unreachable, match="bytes"):
                await caller.post(server.url, b"{}", AMPLE, len(body) - 1)
            assert is_at_rest(caller)


@on_both_loops
async def test_headers_may_be_as_large_as_allowed_and_no_larger() -> None:
    for extra, fits in ((0, True), (1, False)):
        filler = MAX_HEAD_BYTES - (len(ANSWER) - len(BODY)) - len(b"x: \r\n") + extra
        answer = ANSWER.replace(b"OK\r\n", b"OK\r\nx: " + b"y" * filler + b"\r\n")
        async with serving(zoo.says(answer)) as server, calling() as caller:
            if fits:
                assert await caller.post(server.url, b"{}", AMPLE) == GOOD
            else:
                with pytest.raises(Unreachable, match="32,768 bytes of headers"):
                    await caller.post(server.url, b"{}", AMPLE)


@on_both_loops
async def test_a_large_request_arrives_whole() -> None:
    body = b"x" * 3_000_000
    async with serving(zoo.good) as server, calling() as caller:
        assert await caller.post(server.url, body, AMPLE) == GOOD
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
    assert server.requests[0].endswith(b"\r\n\r\n" + body)


@on_both_loops
async def test_an_answer_before_the_request_was_read_is_taken_and_the_connection_is_not_kept() -> None:
    async def answers_unread(line: zoo.Line) -> None:
        await line.reader.readexactly(10)
        await line.send(ANSWER)
        await line.server.go_on.wait()

    async with serving(answers_unread) as server, calling() as caller:
        # More than the kernel takes on both sides, so that some of it is still ours when the answer comes.
        assert await caller.post(server.url, b"x" * 30_000_000, AMPLE) == GOOD
        assert is_at_rest(caller)
        assert not any(host.idle for host in caller._hosts.values())


# E009: what fails, and says so in one line that names the URL

BROKEN: list[tuple[str, Kind, str]] = [
    ("resets_at_once", zoo.resets_at_once, "(closed|reset) the connection without an answer"),
    ("closes_at_once", zoo.closes_at_once, "(closed|reset) the connection without an answer"),
    ("resets_after_request", zoo.resets_after_request, "reset the connection without an answer"),
    ("closes_after_request", zoo.closes_after_request, "closed the connection without an answer"),
    ("half_a_body", zoo.says_and_closes(ANSWER[:-10]), "closed the connection in the middle of its answer"),
    ("half_a_head", zoo.says_and_closes(ANSWER[:30]), "closed the connection in the middle of its answer"),
    ("half_a_chunk", zoo.says_and_closes(zoo.CHUNKED[:-40]), "closed the connection in the middle of its answer"),
    ("only_interim", zoo.says_and_closes(b"HTTP/1.1 100 Continue\r\n\r\n"), "in the middle of its answer"),
    ("speaks_first", zoo.speaks_first, "spoke before it was asked|not HTTP/1.1"),
    ("gigabyte_announced", zoo.gigabyte_announced, "announced an answer of 1,073,741,824 bytes; at most 1,048,576"),
    ("gigabyte_chunked", zoo.gigabyte_chunked, "sent more than 1,048,576 bytes"),
    ("gigabyte_in_chunks_of_a_byte", zoo.gigabyte_in_chunks_of_a_byte, "its answer in more than 4,160 pieces"),
    ("gigabyte_without_end", zoo.gigabyte_without_end, "sent more than 1,048,576 bytes"),
    ("gigabyte_of_header", zoo.gigabyte_of_header, "sent more than 32,768 bytes of headers"),
    ("gigabyte_of_headers", zoo.gigabyte_of_headers, "sent more than 32,768 bytes of headers"),
    ("gigabyte_of_interim_answers", zoo.gigabyte_of_interim_answers, "sent more than 32,768 bytes of headers"),
    ("gigabyte_of_empty_lines", zoo.gigabyte_of_empty_lines, "sent more than 32,768 bytes of headers"),
    ("gigabyte_of_chunk_extension", zoo.gigabyte_of_chunk_extension, "still not complete"),
    ("gigabyte_of_trailer", zoo.gigabyte_of_trailer, "more than 64 headers behind its answer"),
    *((name, zoo.says(answer), "not HTTP/1.1|in HTTP/|another protocol") for name, answer in zoo.NONSENSE.items()),
]


async def failure(caller: HttpCaller, url: str, seconds: float = AMPLE) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await caller.post(url, b"{}", seconds)
    error = caught.value
    assert str(error).startswith(url), error
    assert len(str(error).splitlines()) == 1, error
    return error


@unreachable
@pytest.mark.parametrize(("kind", "text"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
@on_both_loops
async def test_what_is_no_answer_that_we_take_is_e009(kind: Kind, text: str) -> None:
    async with serving(kind) as server, calling() as caller:
        for _ in range(2):
            error = await failure(caller, server.url)
            assert (type(error), error.code) == (Unreachable, "E009")
            assert re.search(text, str(error)), error
            assert is_at_rest(caller)
        assert server.sent < 100_000_000
        await until(lambda: not server.open)


@unreachable
@on_both_loops
async def test_a_port_where_nobody_listens_is_e009() -> None:
    with zoo.refusing() as url:
        async with calling() as caller:
            error = await failure(caller, url)
            assert error.code == "E009"
            assert str(error) == f"{url} could not be connected to: connection refused"
            assert is_at_rest(caller)


@unreachable
@on_both_loops
async def test_an_answer_cut_short_at_any_byte_is_e009() -> None:
    async with calling() as caller:
        for answer in (ANSWER, zoo.CHUNKED):
            for place in range(0, len(answer), 5):
                async with serving(zoo.says_and_closes(answer[:place])) as server:
                    assert (await failure(caller, server.url)).code == "E009"


@unreachable
@on_both_loops
async def test_a_reset_in_the_middle_of_an_answer_is_e009() -> None:
    async with serving(zoo.resets_in_body) as server, calling() as caller:
        call = asyncio.create_task(failure(caller, server.url))
        await server.asked.wait()
        await until(lambda: any(c.received_bytes for host in caller._hosts.values() for c in host.connections))
        server.go_on.set()
        assert str(await call) == f"{server.url} reset the connection in the middle of its answer"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://127.0.0.1/mcp", "only http and https"),
        ("127.0.0.1:8101/mcp", "only http and https"),
        ("", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("http:///mcp", "host or port"),
        ("http://:8101/mcp", "host or port"),
        ("http://127.0.0.1:0/mcp", "host or port"),
        ("http://127.0.0.1:99999/mcp", "(?i)port"),
        ("http://127.0.0.1:port/mcp", "(?i)port"),
        ("http://a,b/mcp", "host or port"),
        ("http://[::1/mcp", "not a URL"),
        ("http://[fe80::1%25eth0]/mcp", "zone"),
        ("http://user:secret@127.0.0.1/mcp", "user name or password"),
        ("http://127.0.0.1/mcp HTTP/1.1\r\nx: y", "control characters"),
        ("http://127.0.0.1/mcp\n", "control characters"),
        ("http://" + "é" * 300 + "/mcp", "not a URL"),
        ("http://127.0.0.1:99999/mcp?seat=secret", "(?i)port"),
    ],
)
@on(asyncio.SelectorEventLoop)
async def test_a_url_that_we_do_not_call_is_e009_and_its_secrets_are_not_repeated(url: str, text: str) -> None:
    async with calling() as caller:
        with pytest.raises(Unreachable, match=text) as caught:
            await caller.post(url, b"{}", AMPLE)
        assert "secret" not in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("http://127.0.0.1", "/", "127.0.0.1"),
        ("http://127.0.0.1:80/mcp", "/mcp", "127.0.0.1"),
        ("https://league.example:443/mcp#part", "/mcp", "league.example"),
        ("HTTP://LEAGUE.example:8000/mcp?a=b&c=%20", "/mcp?a=b&c=%20", "league.example:8000"),
        ("http://[::1]:8101/mcp", "/mcp", "[::1]:8101"),
        ("http://bücher.example/é?ü=1", "/%C3%A9?%C3%BC=1", "xn--bcher-kva.example"),
        ("http://a_b.example/x?y?z", "/x?y?z", "a_b.example"),
    ],
)
def test_a_url_is_taken_apart(url: str, target: str, authority: str) -> None:
    read = read_url(url)
    assert (read.target, read.authority) == (target, authority)
    assert "?" not in read.display


# E001: one absolute limit, whatever is waited for

SLOW: list[tuple[str, Kind, str]] = [
    ("hangs", zoo.hangs, "its answer did not begin"),
    ("hangs_in_head", zoo.hangs_in_head, "its answer was not complete"),
    ("hangs_in_body", zoo.hangs_in_body, "its answer was not complete"),
    ("drips", zoo.drips, "its answer was not complete"),
    ("drips_headers", zoo.drips_headers, "its answer was not complete"),
]


@timed_out
@pytest.mark.parametrize(("kind", "text"), [row[1:] for row in SLOW], ids=[row[0] for row in SLOW])
@on_both_loops
async def test_what_does_not_answer_whole_and_in_time_is_e001(kind: Kind, text: str) -> None:
    async with serving(kind) as server, calling() as caller:
        began = time.monotonic()
        error = await failure(caller, server.url, SHORT)
        assert time.monotonic() - began >= SHORT * 0.9
        assert (type(error), error.code) == (TimedOut, "E001")
        assert str(error).startswith(f"{server.url} did not answer within 0.2 s")
        assert str(error).endswith(text)
        assert is_at_rest(caller)
        await until(lambda: not server.open)


@timed_out
@on_both_loops
async def test_a_peer_that_does_not_read_is_e001() -> None:
    async with serving(zoo.never_reads) as server, calling() as caller:
        with pytest.raises(TimedOut):
            await caller.post(server.url, b"x" * 30_000_000, SHORT)
        assert is_at_rest(caller)


@timed_out
@on_both_loops
async def test_a_program_that_does_not_accept_is_e001_and_one_that_accepts_late_is_answered() -> None:
    with zoo.slow_to_accept() as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        async with calling() as caller:
            assert (await failure(caller, url, SHORT)).code == "E001"
            call = asyncio.create_task(caller.post(url, b"{}", AMPLE))
            while not call.done():
                line, _ = await asyncio.get_running_loop().sock_accept(listening)
                with line:
                    line.setblocking(False)
                    await asyncio.get_running_loop().sock_recv(line, 65_536)
                    with contextlib.suppress(ConnectionError):
                        await asyncio.get_running_loop().sock_sendall(line, ANSWER)
                    await asyncio.wait({call}, timeout=0.05)
            assert await call == GOOD


@timed_out
@on_both_loops
async def test_a_slow_look_up_counts_against_the_limit_and_keeps_nobody_else_waiting() -> None:
    slow = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        if host == "slow.test":
            slow.wait(AMPLE)
        return ["127.0.0.1"]

    async with serving(zoo.good) as server, calling(look_up=look_up) as caller:
        url = f"http://slow.test:{server.port}/mcp"
        calls = [asyncio.create_task(failure(caller, url, SHORT)) for _ in range(30)]
        assert await caller.post(f"http://quick.test:{server.port}/mcp", b"{}", AMPLE) == GOOD
        for error in await asyncio.gather(*calls):
            assert error.code == "E001"
            assert str(error).endswith("the connection was not open")
        await until(lambda: is_at_rest(caller))
        slow.set()
        assert await caller.post(url, b"{}", AMPLE) == GOOD
        assert is_at_rest(caller)


@on_both_loops
async def test_that_no_connection_is_free_in_time_is_no_fault_of_the_peer() -> None:
    async with serving(zoo.answers_when_told) as server, calling(max_connections=2) as caller:
        first = [asyncio.create_task(caller.post(server.url, b"{}", AMPLE)) for _ in range(2)]
        await until(lambda: len(server.requests) == 2)
        with pytest.raises(CallerUnable, match="too many calls to that host are under way"):
            await caller.post(server.url, b"{}", SHORT)
        more = [asyncio.create_task(caller.post(server.url, b"{}", AMPLE)) for _ in range(9)]
        await asyncio.sleep(0)
        server.go_on.set()
        assert await asyncio.gather(*first, *more) == [GOOD] * 11
        assert server.connections == 2
        assert is_at_rest(caller)


@timed_out
@on(asyncio.SelectorEventLoop)
async def test_no_time_is_e001_and_nothing_is_sent() -> None:
    async with serving(zoo.good) as server, calling() as caller:
        for seconds in (0.0, -1.0):
            assert (await failure(caller, server.url, seconds)).code == "E001"
        assert server.connections == 0


@timed_out
@on_both_loops
async def test_every_call_is_cut_off_at_its_own_limit_and_not_before() -> None:
    async with serving(zoo.hangs) as silent, serving(zoo.good) as good, calling() as caller:
        cut: list[float] = []

        async def wait(seconds: float) -> None:
            began = time.monotonic()
            assert (await failure(caller, silent.url, seconds)).code == "E001"
            cut.append(seconds)
            assert time.monotonic() - began > seconds - 0.002  # a millisecond is what uvloop's clock shows

        limits = [SHORT, 0.05, 0.3, 0.1, 0.25, 0.1004, 0.15]
        waiting = [asyncio.create_task(wait(seconds)) for seconds in limits]
        for seconds in limits:
            assert await caller.post(good.url, b"{}", seconds + AMPLE) == GOOD
        await asyncio.gather(*waiting)
        assert sorted(cut) == sorted(limits)
        assert caller._deadlines is not None
        assert not caller._deadlines.active


@timed_out
def test_limits_hold_for_a_caller_that_has_come_to_another_loop() -> None:
    caller = HttpCaller(AddressPolicy.local())

    async def answered() -> None:
        async with serving(zoo.says_close) as server:
            assert await caller.post(server.url, b"{}", SHORT) == GOOD

    async def waiting() -> None:
        async with serving(zoo.hangs) as server:
            assert (await failure(caller, server.url, 2 * SHORT)).code == "E001"

    run_on(asyncio.SelectorEventLoop, answered())
    run_on(asyncio.SelectorEventLoop, asyncio.wait_for(waiting(), AMPLE))


# Our own lateness


@contextlib.contextmanager
def thread_that_answers(answer: bytes, sent: threading.Event) -> Iterator[str]:
    """A server in a thread of its own: it is on time while our loop is not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            line, _ = listening.accept()
            with line, contextlib.suppress(ConnectionError):
                line.recv(65_536)
                line.sendall(answer)
                sent.set()
                line.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        thread.join()


@pytest.mark.parametrize("late", [0.02, 0.3], ids=["within the tolerance", "beyond it"])
@on_both_loops
async def test_an_answer_that_came_in_time_counts_though_we_looked_too_late(late: float) -> None:
    loop = asyncio.get_running_loop()
    body = b"x" * 40_000
    sent = threading.Event()
    with thread_that_answers(b"HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n" + body, sent) as url:
        async with calling() as caller:
            ends = loop.time() + SHORT
            call = asyncio.create_task(caller.post(url, b"{}", SHORT))
            await until(lambda: caller._hosts)
            connections = next(iter(caller._hosts.values())).connections
            await until(lambda: call.done() or any(connection.waiter for connection in connections))
            for connection in connections:
                with contextlib.suppress(AttributeError):  # uvloop reads all at once
                    connection.transport.max_size = 4_000  # asyncio then needs ten reads for what is there already
            # Hold up the loop, on purpose, until the limit has passed.
            assert sent.wait(AMPLE)
            time.sleep(max(0.0, ends + late - loop.time()))  # noqa: ASYNC251
            assert (await call).body == body


async def put_forward(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped += seconds
    for _ in range(5):
        await asyncio.sleep(0)


@on(SkippingLoop)
async def test_a_limit_that_fires_late_is_extended_by_as_much_and_an_answer_in_that_time_counts() -> None:
    async with serving(zoo.answers_when_told) as server, calling() as caller:
        call = asyncio.create_task(caller.post(server.url, b"{}", 100))
        await server.asked.wait()
        await put_forward(130)
        await put_forward(25)
        assert not call.done()
        server.go_on.set()
        assert await call == GOOD


@timed_out
@on(SkippingLoop)
async def test_an_extended_limit_that_ends_on_time_is_e001_and_the_lateness_is_told() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(failure(caller, server.url, 100))
        await server.asked.wait()
        await put_forward(110)
        assert not call.done()
        error = await _after(call, 10.1)
        assert isinstance(error, TimedOut)
        assert re.search(r"within 100 s, and (99|10)\d\d\d? ms more because we were late", str(error)), error


async def _after(call: asyncio.Task[Any], seconds: float) -> Any:
    """Let a timer come due without being late: put forward to just before it, and wait for the rest."""
    await put_forward(seconds - 0.11)
    assert not call.done()
    return await call


@timed_out
@on(SkippingLoop)
async def test_a_limit_that_fires_a_little_late_is_not_extended() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(failure(caller, server.url, 100))
        await server.asked.wait()
        assert isinstance(await _after(call, 100), TimedOut)


@on(SkippingLoop)
async def test_after_three_extensions_we_are_too_late_to_rule() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(caller.post(server.url, b"{}", 100))
        await server.asked.wait()
        await put_forward(110)
        for _ in range(3):
            assert not call.done()
            await put_forward(20)
        with pytest.raises(CallerLate) as caught:
            await call
        assert caught.value.late_ms == pytest.approx(40_000, rel=0.05)
        assert is_at_rest(caller)


@on(SkippingLoop)
async def test_a_limit_is_never_extended_by_more_than_itself() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(failure(caller, server.url, 10))
        await server.asked.wait()
        await put_forward(10_000)
        assert not call.done()
        assert isinstance(await _after(call, 10), TimedOut)


@timed_out
@on_both_loops
async def test_time_that_is_up_just_as_one_wait_ends_is_up_for_the_next() -> None:
    loop = asyncio.get_running_loop()
    deadline = DeadlineTimer(loop).start(loop.time(), 0.01, "http://127.0.0.1/mcp")
    turn: asyncio.Future[None] = loop.create_future()
    deadline.wait_on(turn)
    turn.set_result(None)
    await until(lambda: deadline.failure)
    with pytest.raises(TimedOut):
        deadline.wait_on(loop.create_future())


@on_both_loops
async def test_a_connection_that_is_closed_before_the_request_is_written_is_replaced_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def closes_the_first(line: zoo.Line) -> None:
        await (zoo.speaks_first if line.server.connections == 1 else zoo.good)(line)

    opening = HttpCaller._open_connection

    async def open_and_wait(self: HttpCaller, *given: Any) -> Connection:
        connection = await opening(self, *given)
        if server.connections == 1:
            await until(lambda: connection.closed)
        return connection

    monkeypatch.setattr(HttpCaller, "_open_connection", open_and_wait)
    async with serving(closes_the_first) as server, calling() as caller:
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        assert (len(server.requests), server.connections) == (1, 2)
        assert is_at_rest(caller)


# Kept connections


@pytest.mark.parametrize("kind", [zoo.closes_when_used_again, zoo.resets_when_used_again])
@unreachable
@on_both_loops
async def test_a_request_on_a_kept_connection_is_never_sent_twice(kind: Kind) -> None:
    async with serving(kind) as server, calling() as caller:
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        error = await failure(caller, server.url)
        assert error.code == "E009"
        assert "a kept connection just as it was used again" in str(error)
        assert (len(server.requests), server.connections) == (2, 1)
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD


@pytest.mark.parametrize(("answers", "seconds"), [(1, 0.0), (2, UNCHECKED_SECONDS)])
@on_both_loops
async def test_a_connection_that_was_closed_while_idle_is_seen_before_it_is_used_even_if_the_loop_is_behind(
    answers: int, seconds: float
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = threading.Event()

        def serve() -> None:
            for _ in range(2):
                line, _ = listening.accept()
                with line:
                    for _ in range(answers):
                        line.recv(65_536)
                        line.sendall(ANSWER)
                    released.wait(AMPLE)
                closed.set()

        released = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        async with calling() as caller:
            for _ in range(answers):
                assert await caller.post(url, b"{}", AMPLE) == GOOD
            released.set()
            closed.wait(AMPLE)  # without the loop: it has had no chance to read the end
            (host,) = caller._hosts.values()
            host.idle[-1].idle_since -= seconds
            for _ in range(answers):
                assert await caller.post(url, b"{}", AMPLE) == GOOD
        thread.join()


@on_both_loops
async def test_a_connection_that_chatters_while_idle_is_not_used_again() -> None:
    async with serving(zoo.chatters_while_idle) as server, calling() as caller:
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        server.go_on.set()
        await until(lambda: not server.open)
        assert is_at_rest(caller)
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        assert server.connections == 2


@on(SkippingLoop)
async def test_a_connection_is_used_again_only_if_it_was_idle_for_less_than_four_seconds() -> None:
    async with serving(zoo.good) as server, calling() as caller:
        await caller.post(server.url, b"{}", AMPLE)
        await put_forward(3.8)
        await caller.post(server.url, b"{}", AMPLE)
        assert server.connections == 1
        asyncio.get_running_loop().skipped += IDLE_SECONDS  # type: ignore[attr-defined]
        await caller.post(server.url, b"{}", AMPLE)
        assert server.connections == 2


@on(SkippingLoop)
async def test_idle_connections_are_closed_without_being_asked_for() -> None:
    async with serving(zoo.good) as server, calling() as caller:
        await asyncio.gather(*(caller.post(server.url, b"{}", AMPLE) for _ in range(5)))
        assert server.open == 5
        await put_forward(3)
        await caller.post(server.url, b"{}", AMPLE)
        await put_forward(1.5)
        await until(lambda: server.open == 1)
        await put_forward(5)
        await until(lambda: server.open == 0)
        assert caller._idle_timer is None
        assert is_at_rest(caller)


@on_both_loops
async def test_hosts_do_not_share_connections_and_urls_of_one_host_do() -> None:
    async with serving(zoo.good) as one, serving(zoo.good) as other, calling() as caller:
        for url in (one.url, other.url, f"{one.url}?x=1", f"{other.url}/y", one.url):
            assert await caller.post(url, b"{}", AMPLE) == GOOD
        assert (one.connections, other.connections) == (1, 1)


@on(asyncio.SelectorEventLoop)
async def test_what_is_remembered_of_urls_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_module, "MAX_TARGETS", 10)
    with zoo.refusing() as refused:
        async with serving(zoo.good) as server, calling() as caller:
            for number in range(50):
                await failure(caller, f"{refused}/{number}")
                assert await caller.post(f"{server.url}/{number}", b"{}", AMPLE) == GOOD
                assert len(caller._targets) <= 10
            assert server.connections == 1


@on(asyncio.SelectorEventLoop)
@pytest.mark.parametrize("headers", [(), (("accept", "text/event-stream"),)])
@pytest.mark.parametrize("rest", ["/a/b-c_d.e~f", "//x", "/", "", "/a?b=/c", "/a b", "/a#b", "/%41", "/é", "?x=/y"])
async def test_a_url_means_the_same_whether_its_origin_is_known_or_not(
    rest: str, headers: tuple[tuple[str, str], ...]
) -> None:
    def aimed(caller: HttpCaller) -> tuple[Any, ...] | str:
        try:
            target = caller._target_for(f"http://127.0.0.1:8001{rest}", headers)
        except Unreachable as error:
            return str(error)
        return target.head, target.display_url, target.host.scheme, target.host.name, target.host.port

    async with calling() as new, calling() as knowing:
        for known in ("http://127.0.0.1:8001/mcp", "http://127.0.0.1:8001?x=/mcp"):
            knowing._target_for(known, headers)
        remembered = len(knowing._targets)
        assert aimed(knowing) == aimed(new)
        if rest in ("/a/b-c_d.e~f", "//x", "/"):
            assert len(knowing._targets) == remembered


# Cancelling, and closing


@pytest.mark.parametrize("before", ["nothing", "a kept connection", "a name to look up", "a turn to wait for"])
@on_both_loops
async def test_a_call_cancelled_at_any_step_leaves_the_pool_in_order(before: str) -> None:
    for steps in range(2_000):
        async with (
            serving(zoo.answers_when_told) as server,
            calling(max_connections=1, look_up=lambda _host, _port: ["127.0.0.1"]) as caller,
        ):
            url = server.url.replace("127.0.0.1", "peer.test") if before == "a name to look up" else server.url
            first = None
            if before == "a kept connection":
                server.go_on.set()
                await caller.post(url, b"{}", AMPLE)
            if before == "a turn to wait for":
                first = asyncio.create_task(caller.post(url, b"{}", AMPLE))
                await server.asked.wait()
            call = asyncio.create_task(caller.post(url, b"{}", AMPLE))
            server.go_on.set()
            for _ in range(steps):
                await asyncio.sleep(0)
            finished = call.done()
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                assert await call == GOOD
            if first is not None:
                assert await first == GOOD
            await until(functools.partial(is_at_rest, caller))
            assert await caller.post(url, b"{}", AMPLE) == GOOD
            await until(lambda server=server: server.open == 1)
            assert is_at_rest(caller)
        if finished:
            return
    pytest.fail("the call never finished")


@on_both_loops
async def test_a_cancelled_call_closes_the_connection_that_it_was_using() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(caller.post(server.url, b"{}", AMPLE))
        await server.asked.wait()
        call.cancel()
        await until(lambda: not server.open)
        assert is_at_rest(caller)


@on_both_loops
async def test_closing_ends_every_call_at_whatever_it_is() -> None:
    slow = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        slow.wait(AMPLE)
        return ["127.0.0.1"]

    async with serving(zoo.hangs) as server, calling(max_connections=1, look_up=look_up) as caller:
        urls = [server.url, server.url, f"http://slow.test:{server.port}/mcp"]
        calls = [asyncio.create_task(caller.post(url, b"{}", AMPLE)) for url in urls]
        await server.asked.wait()
        await caller.close()
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, Unreachable)
            assert "this caller is closed" in str(outcome)
        with pytest.raises(Unreachable, match="closed"):
            await caller.post(server.url, b"{}", AMPLE)
        assert is_at_rest(caller)
        slow.set()
        await until(lambda: not server.open)


# Addresses

EVERYWHERE_REFUSED = [
    "0.0.0.0", "::", "169.254.169.254", "169.254.1.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1",
    "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1",
    "255.255.255.255", "ff02::1", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe", "", "localhost",
]  # fmt: skip


@pytest.mark.parametrize("ip", EVERYWHERE_REFUSED)
def test_no_policy_allows_link_local_metadata_or_what_is_no_address_of_one_host(ip: str) -> None:
    everything = AddressPolicy.lan(["0.0.0.0/0", "::/0"])
    for policy in (AddressPolicy.local(), AddressPolicy.public(), everything):
        assert not policy.allows(ip)


@pytest.mark.parametrize(
    ("ip", "local", "lan", "public"),
    [
        ("127.0.0.1", True, False, False),
        ("127.8.9.10", True, False, False),
        ("::1", True, False, False),
        ("::ffff:127.0.0.1", True, False, False),
        ("64:ff9b::7f00:1", False, False, False),
        ("192.168.1.7", False, True, False),
        ("::ffff:192.168.1.7", False, True, False),
        ("192.168.2.7", False, False, False),
        ("fd12::7", False, True, False),
        ("fd13::7", False, False, False),
        ("10.0.0.1", False, False, False),
        ("100.64.0.1", False, False, False),
        ("8.8.8.8", False, False, True),
        ("::ffff:8.8.8.8", False, False, True),
        ("2600::1", False, False, True),
    ],
)
def test_a_policy_allows_its_own_networks_only(ip: str, local: bool, lan: bool, public: bool) -> None:
    assert AddressPolicy.local().allows(ip) == local
    assert AddressPolicy.lan(["192.168.1.0/24", "fd12::/16"]).allows(ip) == lan
    assert AddressPolicy.public().allows(ip) == public


def no_look_up(host: str, port: int) -> list[str]:
    pytest.fail(f"{host} was looked up")


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]", "[fe80::1]", "0.0.0.0"])
@unreachable
@on_both_loops
async def test_a_literal_address_that_is_not_allowed_is_not_called_and_not_looked_up(host: str) -> None:
    async with calling(look_up=no_look_up) as caller:
        error = await failure(caller, f"http://{host}:8101/mcp")
        assert error.code == "E009"
        assert str(error).endswith(f"leads to {host.strip('[]')}, which is not allowed here")
        assert is_at_rest(caller)


@unreachable
@on_both_loops
async def test_a_name_leads_only_to_addresses_that_are_allowed_and_is_looked_up_once_a_connection() -> None:
    looked_up: list[str] = []
    names = {
        "inside.test": ["10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"],
        "mixed.test": ["10.0.0.1", "::ffff:127.0.0.1", "127.0.0.1"],
        "empty.test": [],
    }

    def look_up(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return names[host]

    async with serving(zoo.says_close) as server, calling(look_up=look_up) as caller:
        error = await failure(caller, f"http://inside.test:{server.port}/mcp")
        assert "leads to 10.0.0.1, 169.254.169.254, ::ffff:10.0.0.1, which is not allowed here" in str(error)
        assert "no address" in str(await failure(caller, f"http://empty.test:{server.port}/mcp"))
        assert server.connections == 0
        assert await caller.post(f"http://mixed.test:{server.port}/mcp", b"{}", AMPLE) == GOOD
        assert b"host: mixed.test:%d\r\n" % server.port in server.requests[0]
    assert looked_up == ["inside.test", "empty.test", "mixed.test"]


@on_both_loops
async def test_each_allowed_address_is_tried_in_turn() -> None:
    def look_up(host: str, port: int) -> list[str]:
        return ["::1", "127.9.9.9", "127.0.0.1"]

    async with serving(zoo.good) as server, calling(look_up=look_up) as caller:
        assert await caller.post(f"http://three.test:{server.port}/mcp", b"{}", AMPLE) == GOOD
    with zoo.refusing() as url:
        async with calling(look_up=look_up) as caller:
            error = await failure(caller, url.replace("127.0.0.1", "three.test"))
            assert str(error).endswith("could not be connected to: connection refused")


@pytest.mark.skipif(
    sys.platform != "linux", reason="needs a second loopback address, and Linux's way with a full queue"
)
@on_both_loops
async def test_an_address_that_swallows_everything_leaves_time_for_the_next() -> None:
    def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with serving(zoo.good) as server, calling(look_up=look_up) as caller:
        with socket.socket() as full, contextlib.ExitStack() as stack:
            full.bind(("127.0.0.2", server.port))
            full.listen(0)
            for _ in range(3):
                filling = stack.enter_context(socket.socket())
                filling.setblocking(False)
                filling.connect_ex(("127.0.0.2", server.port))
            assert await caller.post(f"http://two.test:{server.port}/mcp", b"{}", 3 * SHORT) == GOOD


@unreachable
@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
@on_both_loops
async def test_a_name_that_leads_nowhere_is_e009(error: Exception) -> None:
    def look_up(host: str, port: int) -> list[str]:
        raise error

    async with calling(look_up=look_up) as caller:
        told = await failure(caller, "http://nowhere.test:8101/mcp")
        assert told.code == "E009"
        assert re.search("has a name that leads nowhere: (name or service not known|label too long)", str(told))


@on(asyncio.SelectorEventLoop)
async def test_many_slow_names_are_looked_up_by_few_threads_each_in_its_turn() -> None:
    release = threading.Event()
    at_once: list[int] = []
    running = set()

    def look_up(host: str, port: int) -> list[str]:
        running.add(host)
        at_once.append(len(running))
        release.wait(AMPLE)
        running.discard(host)
        return [host]

    resolver = Resolver(look_up)
    names = [f"name-{number}" for number in range(100)]
    asked = [asyncio.create_task(resolver.resolve(name, 80)) for name in names]
    asked += [asyncio.create_task(resolver.resolve(name, 80)) for name in names]
    await asyncio.sleep(0)
    release.set()
    assert await asyncio.gather(*asked) == [[name] for name in names] * 2
    assert max(at_once) <= 16
    assert len(at_once) == 100


@on_both_loops
async def test_a_look_up_that_nobody_waits_for_any_more_is_not_made() -> None:
    release = threading.Event()
    looked_up: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        looked_up.append(host)
        release.wait(AMPLE)
        return [host]

    resolver = Resolver(look_up, max_threads=2)
    slow = [asyncio.create_task(resolver.resolve(f"slow-{number}", 80)) for number in range(20)]
    shared = [asyncio.create_task(resolver.resolve("shared", 80)) for _ in range(2)]
    await until(lambda: len(looked_up) == 2)
    for call in (*slow, shared[0]):
        call.cancel()
    await asyncio.wait((*slow, shared[0]))
    last = asyncio.create_task(resolver.resolve("last", 80))
    release.set()
    assert (await shared[1], await last) == (["shared"], ["last"])
    assert sorted(looked_up) == ["last", "shared", "slow-0", "slow-1"]


@on_both_loops
async def test_localhost_and_literal_addresses_are_not_looked_up() -> None:
    async with serving(zoo.good) as server, calling(look_up=no_look_up) as caller:
        for host in ("localhost", "127.0.0.1"):
            assert await caller.post(f"http://{host}:{server.port}/mcp", b"{}", AMPLE) == GOOD


@on_both_loops
async def test_a_name_that_this_machine_does_not_look_up_in_time_is_not_the_peers_failure() -> None:
    release = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        if host == "slow.test":
            release.wait(AMPLE)
        return ["127.0.0.1"]

    async with serving(zoo.good) as server, calling(look_up=look_up, max_look_ups=1) as caller:
        url = f"http://slow.test:{server.port}/mcp"
        slow = asyncio.create_task(failure(caller, url, SHORT))
        await until(lambda: caller._resolver._threads)
        with pytest.raises(CallerUnable, match="from this machine: too many names are being looked up"):
            await caller.post(f"http://quick.test:{server.port}/mcp", b"{}", SHORT)
        # Its own name is slow.
        assert (await slow).code == "E001"
        release.set()
        assert await caller.post(f"http://quick.test:{server.port}/mcp", b"{}", AMPLE) == GOOD


@on(SkippingLoop)
async def test_the_time_for_which_a_look_up_waits_for_a_thread_is_not_the_peers() -> None:
    release = {"first.test": threading.Event(), "second.test": threading.Event()}
    looked_up: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        looked_up.append(host)
        release[host].wait(AMPLE)
        return ["127.0.0.1"]

    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    async with serving(zoo.good) as server, calling(look_up=look_up, max_look_ups=1) as caller:
        first, second = (
            asyncio.create_task(caller.post(f"http://{host}:{server.port}/mcp", b"{}", seconds))
            for host, seconds in zip(release, (10 * AMPLE, AMPLE), strict=True)
        )
        await until(lambda: caller._resolver._queue)
        loop.skipped += AMPLE / 2
        release["first.test"].set()
        assert await first == GOOD
        await until(lambda: looked_up == list(release))
        # Nearly all of the time since the call was begun.
        loop.skipped += AMPLE / 2 - SHORT / 2
        with pytest.raises(CallerUnable):
            await caller.post(f"http://third.test:{server.port}/mcp", b"{}", SHORT)
        release["second.test"].set()
        assert await second == GOOD


def test_a_look_up_that_outlives_its_loop_harms_nobody() -> None:
    release = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        release.wait(AMPLE)
        return []

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Resolver(look_up).resolve("slow.test", 80), 0.01)

    asyncio.run(give_up())
    thread = next(thread for thread in threading.enumerate() if thread.name == "look-up slow.test")
    release.set()
    thread.join()


def test_the_system_knows_where_localhost_is() -> None:
    assert set(system_look_up("localhost", 80)) & {"127.0.0.1", "::1"}


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for league.test that only we trust."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@on_both_loops
async def test_tls_goes_to_the_checked_address_under_the_right_name(certificate: tuple[Path, Path]) -> None:
    trusting = ssl.create_default_context(cafile=certificate[1])

    def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with (
        serving(zoo.good, tls=server_side(certificate)) as server,
        calling(look_up=look_up, tls=trusting) as caller,
    ):
        for _ in range(3):
            assert await caller.post(f"https://league.test:{server.port}/mcp", b"{}", AMPLE) == GOOD
        assert server.connections == 1
        error = await failure(caller, f"https://other.test:{server.port}/mcp")
        assert "its certificate is not valid" in str(error)
        assert is_at_rest(caller)


@unreachable
@on_both_loops
async def test_a_certificate_that_nobody_vouches_for_is_e009(certificate: tuple[Path, Path]) -> None:
    async with serving(zoo.good, tls=server_side(certificate)) as server, calling() as caller:
        error = await failure(caller, server.url.replace("http:", "https:"))
        assert error.code == "E009"
        assert "its certificate is not valid" in str(error)
        assert server.requests == []


@on_both_loops
async def test_a_certificate_that_is_not_valid_is_named_also_if_another_address_refuses(
    certificate: tuple[Path, Path],
) -> None:
    def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "127.0.0.2"]

    async with serving(zoo.good, tls=server_side(certificate)) as server, calling(look_up=look_up) as caller:
        error = await failure(caller, f"https://league.test:{server.port}/mcp")
        assert isinstance(error, TlsFailed)
        assert "its certificate is not valid" in error.why


@unreachable
@on_both_loops
async def test_a_server_without_tls_called_with_it_is_e009() -> None:
    async def answers_anything(line: zoo.Line) -> None:
        await line.reader.read(100)
        await line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(answers_anything) as server, calling() as caller:
        error = await failure(caller, server.url.replace("http:", "https:"))
        assert error.code == "E009"
        assert "TLS" in str(error)
