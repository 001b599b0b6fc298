"""The guarded caller: HTTP/1.1 to agents that nobody vouches for.

A call takes a turn at its host, then a kept connection or a new one, writes, and waits for one future. Whatever it is
waiting for, one timer cuts it off. It is never sent twice: what a peer may have read, it may have acted on.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from functools import partial
from typing import NamedTuple

from leaguekit.transport.addresses import MAX_THREADS, AddressPolicy, LookUp, Resolver, read_url, system_look_up
from leaguekit.transport.base import CallerUnable, Headers, HttpAnswer, NoRoute, TimedOut, TlsFailed, Unreachable
from leaguekit.transport.client.connections import CLOSED, IDLE_SECONDS, Connection, HostPool
from leaguekit.transport.client.deadlines import Deadline, DeadlineTimer
from leaguekit.transport.descriptors import (
    MAX_SHARE,
    has_route,
    is_broadcast,
    is_route_error,
    is_scarce,
    is_unreachable,
    local_fault,
    local_look_up_fault,
)

MAX_CONNECTIONS = 32  # to one host and port
MAX_TARGETS = 4_096
# A URL of which everything behind the origin is asked for as it stands.
_PLAIN_URL = re.compile(r"(https?://[^/?#]+)(/[A-Za-z0-9/_.~-]*)")
_HEADERS = {
    "user-agent": "leaguekit",
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
}


class HttpCaller:
    """Calls agents over HTTP, only at addresses that the policy allows."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        max_connections: int = MAX_CONNECTIONS,
        look_up: LookUp = system_look_up,
        max_look_ups: int = MAX_THREADS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._max_connections = max_connections
        self._resolver = Resolver(look_up, max_look_ups)
        self._tls = tls
        self._targets: dict[tuple[str, Headers], _Target] = {}
        self._origins: dict[tuple[str, Headers], _Origin] = {}
        self._hosts: dict[tuple[str, str, int], HostPool] = {}
        self._openings: set[asyncio.Task[Connection]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._deadlines: DeadlineTimer | None = None
        self._closed = False

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer:
        """POST a JSON body; one absolute limit over look-up, connect, send and read. Never retries, never redirects.
        ``headers`` stand beside the usual ones, or in their place.

        Raises TimedOut, Unreachable, CallerLate, or CallerUnable.
        """
        target = self._targets.get((url, headers)) or self._aim(url, headers)
        if seconds <= 0:
            raise TimedOut(f"{target.shown} was not called: there was no time left")
        host = target.host
        loop = asyncio.get_running_loop()
        deadlines = self._deadlines
        if deadlines is None or deadlines.loop is not loop:
            deadlines = self._deadlines = DeadlineTimer(loop)
        now = loop.time()
        deadline = deadlines.begin(now, seconds, target.shown)
        try:
            if host.busy < self._max_connections:
                host.busy += 1
            else:
                await _turn(host, loop, deadline)
                now = loop.time()
            try:
                connection = host.kept(now) or await self._opened(host, loop, deadline)
                try:
                    waiter: asyncio.Future[HttpAnswer] = loop.create_future()
                    deadline.watch(waiter, connection)
                    connection.ask(waiter, b"%b%d\r\n\r\n%b" % (target.head, len(body), body), max_bytes, target.shown)
                    answer = await waiter
                except BaseException:
                    connection.abort()
                    raise
                self._keep(connection, loop)
                return answer
            finally:
                host.leave()
        finally:
            deadlines.under_way.discard(deadline)

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
        if self._deadlines is not None:
            self._deadlines.close()

    def _aim(self, url: str, headers: Headers) -> _Target:
        plain = _PLAIN_URL.fullmatch(url)
        if plain is not None and (origin := self._origins.get((plain[1], headers))) is not None:
            # Not remembered: every transcript has a URL of its own, which is used once.
            path = plain[2]
            return _Target(origin.host, b"POST %b%b" % (path.encode("ascii"), origin.head), origin.shown + path)
        if len(self._targets) >= MAX_TARGETS:
            self._targets.clear()
            self._origins.clear()
            self._hosts = {key: host for key, host in self._hosts.items() if host.busy or host.connections}
        to = read_url(url)
        host = self._hosts.setdefault((to.scheme, to.host, to.port), HostPool(to.scheme, to.host, to.port))
        lines = "".join(f"{name}: {value}\r\n" for name, value in (_HEADERS | dict(headers)).items())
        head = f" HTTP/1.1\r\nhost: {to.authority}\r\n{lines}content-length: ".encode("ascii")
        if plain is not None:
            self._origins[plain[1], headers] = _Origin(host, head, f"{to.scheme}://{to.authority}")
        asked = to.target.encode("ascii")
        target = self._targets[url, headers] = _Target(host, b"POST %b%b" % (asked, head), to.shown)
        return target

    async def _opened(self, host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> Connection:
        """A new connection. A task does it, so that the deadline has one future to cut here too."""
        if self._closed:
            raise Unreachable(f"{deadline.shown} {CLOSED}")
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
            raise Unreachable(f"{deadline.shown} {CLOSED}")
        return opening.result()

    async def _open(self, host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> Connection:
        deadline.hold("too many names are being looked up")
        try:
            found = await self._resolver.resolve(host.name, host.port, deadline.go_on)
        except (OSError, ValueError) as error:
            if (own := local_look_up_fault(error)) is not None:
                raise CallerUnable(deadline.shown, own) from error
            raise Unreachable(f"{deadline.shown} has a name that leads nowhere: {_told(error)}") from error
        allowed = [address for address in found if self._policy.allows(address, host.name, host.port)]
        if not allowed:
            addresses = ", ".join(found[:3]) or "no address"
            raise Unreachable(f"{deadline.shown} leads to {addresses}, which is not allowed here")
        tls = self._tls_context() if host.scheme == "https" else None
        failures: list[Exception] = []
        for left, address in zip(range(len(allowed) - 1, -1, -1), allowed, strict=True):
            # One address that swallows everything must leave time for the next.
            share = (deadline.ends - loop.time()) / 2 if left else None
            try:
                async with asyncio.timeout(share):
                    _, connection = await loop.create_connection(
                        lambda: Connection(host, loop),
                        address,
                        host.port,
                        ssl=tls,
                        server_hostname=host.name if tls else None,
                    )
            except (OSError, ValueError) as error:
                failures.append(error)
            else:
                # Not any earlier: of one whose opening is cancelled, uvloop never says that it is lost.
                if not connection.gone.done():
                    host.connections.add(connection)
                if is_scarce(connection.transport, MAX_SHARE) and not self._drop_idle():
                    connection.abort()
                    raise CallerUnable(deadline.shown, "nearly all descriptors of this program are in use")
                return connection
        raise _failure(deadline.shown, allowed, failures)

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _keep(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        # An answer that came before the whole request had gone out leaves the rest of it in the way of the next.
        if connection.closed or not connection.keep or connection.transport.get_write_buffer_size():
            connection.abort()
            return
        connection.used = True
        connection.idle_since = loop.time()
        connection.host.idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep, loop)

    def _drop_idle(self) -> bool:
        """Close every connection that is only kept; whether there was one."""
        idle = [connection for host in self._hosts.values() for connection in host.idle]
        for host in self._hosts.values():
            host.idle.clear()
        for connection in idle:
            connection.abort()
        return bool(idle)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what has been idle for too long, here and not only when it is asked for again."""
        oldest = loop.time() - IDLE_SECONDS
        for host in self._hosts.values():
            while host.idle and host.idle[0].idle_since <= oldest:
                host.idle.popleft().abort()
        some_left = any(host.idle for host in self._hosts.values())
        self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep, loop) if some_left else None


class _Origin(NamedTuple):
    """What the URLs of one scheme, host and port share: to take one apart takes 21 µs, another path 2."""

    host: HostPool
    head: bytes
    shown: str


class _Target(NamedTuple):
    """A URL, taken apart once."""

    host: HostPool
    head: bytes
    shown: str


async def _turn(host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> None:
    waiter: asyncio.Future[None] = loop.create_future()
    deadline.watch(waiter)
    # It is our own limit that is waited for, and perhaps other players at the same gateway.
    deadline.hold("too many calls to that host are under way")
    host.waiting.append(waiter)
    try:
        await waiter
        deadline.go_on()
    except BaseException:
        if not waiter.cancelled() and waiter.exception() is None:
            host.leave()  # the turn came just as the call was cancelled
        raise


def _wake(waiter: asyncio.Future[None], _opening: asyncio.Task[Connection]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _discard(opening: asyncio.Task[Connection]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abort()


def _unreachable(shown: str, failures: list[Exception]) -> Unreachable:
    """What it comes to that a peer failed at each of its addresses."""
    if (of_tls := next((error for error in failures if isinstance(error, ssl.SSLError)), None)) is not None:
        return TlsFailed(shown, _told(of_tls))
    return Unreachable(f"{shown} could not be connected to: {_told(failures[-1])}")


def _failure(shown: str, addresses: list[str], failures: list[Exception]) -> Unreachable | CallerUnable:
    """Why none of some addresses could be connected to."""
    # One address may be of a kind that this machine has no way to; what another shows is the peer's.
    theirs = [error for error in failures if local_fault(error) is None]
    if theirs or (own := local_fault(failures[-1])) is None:
        return _unreachable(shown, theirs)
    if all(map(is_broadcast, addresses)):
        return Unreachable(f"{shown} leads to a broadcast address, where nobody can be called")
    if not all(map(is_route_error, failures)):
        return CallerUnable(shown, own)
    # A message of another machine, which may be the peer's own firewall, gives the same error as a missing route.
    is_theirs = is_unreachable(failures[-1]) and all(map(has_route, addresses))
    return _unreachable(shown, failures) if is_theirs else NoRoute(shown, own)


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
