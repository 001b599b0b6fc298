"""The guarded caller: HTTP/1.1 to agents that nobody vouches for.

A call takes a turn at its host, then a kept connection or a new one, writes, and waits for one future. Whatever it is
waiting for, one timer cuts it off. It is never sent twice: what a peer may have read, it may have acted on.
"""

from __future__ import annotations

import asyncio
import os
import select
import ssl
import sys
from collections import deque
from functools import partial
from typing import NamedTuple, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from leaguekit.transport.addresses import AddressPolicy, LookUp, Resolver, read_url, system_look_up
from leaguekit.transport.base import CallerLate, Headers, HttpAnswer, TimedOut, Unreachable

MOST_CONNECTIONS = 32  # to one host and port
MOST_HEAD_BYTES = 32_768
IDLE_SECONDS = 4.0  # uvicorn closes an idle connection after 5
LATE_SECONDS = 0.05
MOST_EXTENSIONS = 3
MOST_LOOKS = 64
MOST_TARGETS = 4_096
# Small chunks cost more on the wire than they carry; what nobody stores is only bounded.
WIRE_BYTES_A_BODY_BYTE = 8
_HEADERS = {
    "user-agent": "leaguekit",
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
_CLOSED = "was cut off: this caller is closed"


class HttpCaller:
    """Calls agents over HTTP, only at addresses that the policy allows."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        most_connections: int = MOST_CONNECTIONS,
        look_up: LookUp = system_look_up,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._most_connections = most_connections
        self._resolver = Resolver(look_up)
        self._tls = tls
        self._targets: dict[tuple[str, Headers], _Target] = {}
        self._hosts: dict[tuple[str, str, int], _Host] = {}
        self._openings: set[asyncio.Task[_Connection]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def post(
        self, url: str, body: bytes, seconds: float, most_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer:
        """POST a JSON body; one absolute limit over look-up, connect, send and read. Never retries, never redirects.
        ``headers`` stand beside the usual ones, or in their place.

        Raises TimedOut, Unreachable, or CallerLate.
        """
        target = self._targets.get((url, headers)) or self._aim(url, headers)
        if seconds <= 0:
            raise TimedOut(f"{target.shown} was not called: there was no time left")
        host = target.host
        loop = asyncio.get_running_loop()
        deadline = _Deadline(loop, seconds, target.shown)
        try:
            if host.busy < self._most_connections:
                host.busy += 1
            else:
                await _turn(host, loop, deadline)
            try:
                connection = host.kept(loop.time()) or await self._opened(host, loop, deadline)
                try:
                    waiter: asyncio.Future[HttpAnswer] = loop.create_future()
                    deadline.watch(waiter, connection)
                    connection.ask(waiter, b"%b%d\r\n\r\n%b" % (target.head, len(body), body), most_bytes, target.shown)
                    answer = await waiter
                except BaseException:
                    connection.abort()
                    raise
                self._keep(connection, loop)
                return answer
            finally:
                host.leave()
        finally:
            deadline.timer.cancel()

    async def close(self) -> None:
        """Close every connection; calls under way fail."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for opening in self._openings:
            opening.cancel()
        await asyncio.gather(*self._openings, return_exceptions=True)
        for host in self._hosts.values():
            host.close()
        await asyncio.gather(*(connection.gone for host in self._hosts.values() for connection in host.connections))

    def _aim(self, url: str, headers: Headers) -> _Target:
        if len(self._targets) >= MOST_TARGETS:
            self._targets.clear()
            self._hosts = {key: host for key, host in self._hosts.items() if host.busy or host.connections}
        to = read_url(url)
        host = self._hosts.setdefault((to.scheme, to.host, to.port), _Host(to.scheme, to.host, to.port))
        lines = "".join(f"{name}: {value}\r\n" for name, value in (_HEADERS | dict(headers)).items())
        head = f"POST {to.target} HTTP/1.1\r\nhost: {to.authority}\r\n{lines}content-length: "
        target = self._targets[url, headers] = _Target(host, head.encode("ascii"), to.shown)
        return target

    async def _opened(self, host: _Host, loop: asyncio.AbstractEventLoop, deadline: _Deadline) -> _Connection:
        """A new connection. A task does it, so that the deadline has one future to cut here too."""
        if self._closed:
            raise Unreachable(f"{deadline.shown} {_CLOSED}")
        waiter: asyncio.Future[None] = loop.create_future()
        deadline.watch(waiter)
        opening = loop.create_task(self._open(host, loop, deadline))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        opening.add_done_callback(partial(_wake, waiter))
        try:
            await waiter
        except BaseException:
            opening.cancel()
            opening.add_done_callback(_discard)
            raise
        if opening.cancelled():
            raise Unreachable(f"{deadline.shown} {_CLOSED}")
        return opening.result()

    async def _open(self, host: _Host, loop: asyncio.AbstractEventLoop, deadline: _Deadline) -> _Connection:
        try:
            found = await self._resolver.resolve(host.name, host.port)
        except (OSError, ValueError) as error:
            raise Unreachable(f"{deadline.shown} has a name that leads nowhere: {_told(error)}") from error
        allowed = [address for address in found if self._policy.allows(address, host.name, host.port)]
        if not allowed:
            addresses = ", ".join(found[:3]) or "no address"
            raise Unreachable(f"{deadline.shown} leads to {addresses}, which is not allowed here")
        tls = self._tls_context() if host.scheme == "https" else None
        why = ""
        for left, address in zip(range(len(allowed) - 1, -1, -1), allowed, strict=True):
            # One address that swallows everything must leave time for the next.
            share = (deadline.ends - loop.time()) / 2 if left else None
            try:
                async with asyncio.timeout(share):
                    _, connection = await loop.create_connection(
                        lambda: _Connection(host, loop),
                        address,
                        host.port,
                        ssl=tls,
                        server_hostname=host.name if tls else None,
                    )
            except (OSError, ValueError) as error:
                why = _told(error)
            else:
                # Not any earlier: of one whose opening is cancelled, uvloop never says that it is lost.
                if not connection.gone.done():
                    host.connections.add(connection)
                return connection
        raise Unreachable(f"{deadline.shown} could not be connected to: {why}")

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _keep(self, connection: _Connection, loop: asyncio.AbstractEventLoop) -> None:
        # An answer that came before the whole request had gone out leaves the rest of it in the way of the next.
        if connection.closed or not connection.keep or connection.transport.get_write_buffer_size():
            connection.abort()
            return
        connection.used = True
        connection.idle_since = loop.time()
        connection.host.idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what has been idle for too long, here and not only when it is asked for again."""
        oldest = loop.time() - IDLE_SECONDS
        for host in self._hosts.values():
            while host.idle and host.idle[0].idle_since <= oldest:
                host.idle.popleft().abort()
        some_left = any(host.idle for host in self._hosts.values())
        self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep, loop) if some_left else None


class _Deadline:
    """One absolute limit over everything that a call waits for, and honest about our own lateness.

    What has arrived is read before time is called. A timer that fires late was kept waiting by us, so the peer gets
    that much more time (but never more than the limit itself), at most three times; after that nothing can be ruled.
    """

    __slots__ = ("connection", "ends", "extensions", "failure", "late", "loop", "seconds", "shown", "timer", "waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, shown: str) -> None:
        self.loop = loop
        self.seconds = seconds
        self.shown = shown
        self.ends = loop.time() + seconds
        self.timer: asyncio.Handle = loop.call_at(self.ends, self._fired)
        self.waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None] | None = None
        self.connection: _Connection | None = None
        self.failure: Exception | None = None
        self.extensions = 0
        self.late = 0.0

    def watch(
        self, waiter: asyncio.Future[HttpAnswer] | asyncio.Future[None], connection: _Connection | None = None
    ) -> None:
        """This is what the call waits for now. Raises if the time was up as the last wait ended."""
        if self.failure is not None:
            raise self.failure
        self.waiter = waiter
        self.connection = connection

    def _fired(self) -> None:
        now = self.loop.time()
        late = now - self.ends
        if late <= LATE_SECONDS:
            self._look(TimedOut(self._told()), MOST_LOOKS)
            return
        self.late += late
        if self.extensions == MOST_EXTENSIONS:
            self._look(CallerLate(self.late * 1000), MOST_LOOKS)
            return
        self.extensions += 1
        self.ends = now + min(late, self.seconds)
        self.timer = self.loop.call_at(self.ends, self._fired)

    def _look(self, failure: Exception, looks: int) -> None:
        # The loop reads between one round and the next; what it has read by the one after that, it had.
        arrived = 0 if self.connection is None else self.connection.arrived
        self.timer = self.loop.call_soon(self._wait_a_round, failure, looks, arrived)

    def _wait_a_round(self, failure: Exception, looks: int, arrived: int) -> None:
        self.timer = self.loop.call_soon(self._judge, failure, looks, arrived)

    def _judge(self, failure: Exception, looks: int, arrived: int) -> None:
        if looks and self.connection is not None and self.connection.arrived > arrived:
            self._look(failure, looks - 1)
        elif self.waiter is None or self.waiter.done():
            self.failure = failure
        else:
            self.waiter.set_exception(failure)

    def _told(self) -> str:
        if self.connection is not None:
            stage = "its answer was not complete" if self.connection.arrived else "its answer did not begin"
        else:
            stage = "the connection was not open"
        late = f", and {self.late * 1000:.0f} ms more because we were late" if self.late else ""
        return f"{self.shown} did not answer within {self.seconds:g} s{late}: {stage}"


class _Host:
    """What is shared by the calls to one scheme, host and port: turns, and the connections that are kept."""

    __slots__ = ("busy", "connections", "idle", "name", "port", "scheme", "waiting")

    def __init__(self, scheme: str, name: str, port: int) -> None:
        self.scheme = scheme
        self.name = name
        self.port = port
        # Calls that have a turn. A connection is opened only if none is idle, so that turns bound connections too.
        self.busy = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.idle: deque[_Connection] = deque()
        self.connections: set[_Connection] = set()

    def kept(self, now: float) -> _Connection | None:
        """The connection that was used last, if one is fit to be used again."""
        while self.idle:
            connection = self.idle.pop()
            if now - connection.idle_since < IDLE_SECONDS and not connection.is_spent():
                return connection
            connection.abort()
        return None

    def leave(self) -> None:
        """End a turn: it passes to whoever has waited longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.busy -= 1

    def close(self) -> None:
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_exception(Unreachable(f"{self.name}:{self.port} {_CLOSED}"))
        for connection in self.connections:
            connection.fail(_CLOSED)


class _Target(NamedTuple):
    """A URL, taken apart once."""

    host: _Host
    head: bytes
    shown: str


class _Connection(asyncio.Protocol):
    """One connection, and the answer that is arriving on it."""

    transport: asyncio.Transport

    def __init__(self, host: _Host, loop: asyncio.AbstractEventLoop) -> None:
        self.host = host
        self.gone: asyncio.Future[None] = loop.create_future()
        self.parser = HttpResponseParser(self)
        self.waiter: asyncio.Future[HttpAnswer] | None = None
        self.closed = False
        self.ended = "closed the connection without an answer"
        self.keep = False
        self.used = False
        self.idle_since = 0.0
        self.arrived = 0
        self.most_bytes = 0
        self.shown = ""
        self.in_head = False
        self.has_end = False
        self.content_type = b""
        self.session = b""
        self.parts: list[bytes] = []
        self.size = 0

    def ask(self, waiter: asyncio.Future[HttpAnswer], request: bytes, most_bytes: int, shown: str) -> None:
        self.waiter = waiter
        self.keep = False
        self.arrived = 0
        self.most_bytes = most_bytes
        self.shown = shown
        self.in_head = True
        if self.closed:
            self.fail(self.ended)
        else:
            self.transport.write(request)

    def is_spent(self) -> bool:
        """Whether the peer has closed it, or sent what nobody asked for, even if the loop has not seen that yet."""
        return self.closed or _has_input(self.descriptor)

    def abort(self) -> None:
        self.waiter = None
        self.closed = True
        self.transport.abort()

    def fail(self, what: str) -> None:
        """End the call under way, if there is one, and the connection with it."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_exception(Unreachable(f"{self.shown} {what}"))
        self.abort()

    def _finish(self, keep: bool) -> None:
        waiter, self.waiter = self.waiter, None
        self.keep = keep
        if waiter is not None and not waiter.done():
            body = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
            media_type = self.content_type.partition(b";")[0].strip().lower().decode("latin-1")
            session = self.session.decode("latin-1")
            waiter.set_result(HttpAnswer(self.parser.get_status_code(), body, media_type, session))
        self.parts = []

    # What the loop tells us.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self.descriptor: int = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        if self.waiter is None:
            self.ended = "spoke before it was asked"
            self.abort()
            return
        self.arrived += len(data)
        try:
            if self.in_head and self.arrived > MOST_HEAD_BYTES:
                room = MOST_HEAD_BYTES - (self.arrived - len(data))
                self.parser.feed_data(data[:room])
                if self.in_head:
                    self.fail(f"sent more than {MOST_HEAD_BYTES:,} bytes of headers")
                    return
                data = data[room:]
            self.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.fail(f"sent something that is not HTTP/1.1: {error}")
        if self.arrived > MOST_HEAD_BYTES + WIRE_BYTES_A_BODY_BYTE * self.most_bytes:
            self.fail(f"sent {self.arrived:,} bytes, and its answer was still not complete")

    def eof_received(self) -> None:
        self.closed = True
        if self.waiter is not None and not self.in_head and not self.has_end:
            self._finish(keep=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.host.connections.discard(self)
        if self in self.host.idle:
            self.host.idle.remove(self)
        if self.waiter is not None:
            how = "closed" if exc is None else "reset"
            if self.arrived:
                self.fail(f"{how} the connection in the middle of its answer")
            elif self.used:
                self.fail(f"{how} a kept connection just as it was used again")
            else:
                self.fail(f"{how} the connection without an answer")
        self.gone.set_result(None)

    # What the parser tells us. After the answer is complete, or has failed, it may still go on: nothing is heard then.

    def on_message_begin(self) -> None:
        if self.waiter is None:
            self.abort()
        self.has_end = False
        self.content_type = b""
        self.session = b""
        self.parts = []
        self.size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.in_head:
            name = name.lower()
            if name == b"content-type":
                self.content_type = value
            elif name == b"mcp-session-id":
                self.session = value
            elif name in {b"content-length", b"transfer-encoding"}:
                self.has_end = True
                if name == b"content-length" and int(value) > self.most_bytes:
                    self.fail(f"announced an answer of {int(value):,} bytes; at most {self.most_bytes:,} are taken")

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if status == 101:
            self.fail("switched to another protocol")
        elif self.parser.get_http_version() not in {"1.1", "1.0"}:
            self.fail(f"answered in HTTP/{self.parser.get_http_version()}")
        elif status >= 200:
            self.in_head = False

    def on_body(self, data: bytes) -> None:
        if self.waiter is not None:
            self.parts.append(data)
            self.size += len(data)
            if self.size > self.most_bytes:
                self.parts = []
                self.fail(f"sent more than {self.most_bytes:,} bytes")

    def on_message_complete(self) -> None:
        if self.waiter is not None and not self.in_head:
            self._finish(keep=self.parser.should_keep_alive())


async def _turn(host: _Host, loop: asyncio.AbstractEventLoop, deadline: _Deadline) -> None:
    waiter: asyncio.Future[None] = loop.create_future()
    deadline.watch(waiter)
    host.waiting.append(waiter)
    try:
        await waiter
    except BaseException:
        if not waiter.cancelled() and waiter.exception() is None:
            host.leave()  # the turn came just as the call was cancelled
        raise


def _wake(waiter: asyncio.Future[None], _opening: asyncio.Task[_Connection]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _discard(opening: asyncio.Task[_Connection]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abort()


def _has_input(descriptor: int) -> bool:
    if sys.platform == "win32":
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _told(error: Exception) -> str:
    """An error of the network in a few words of one line."""
    if isinstance(error, TimeoutError):
        return "nobody answered there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as we do ({error.reason})"
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower() if error.errno > 0 else str(error.strerror).lower()
    return " ".join(str(error).split())[:200] or type(error).__name__
