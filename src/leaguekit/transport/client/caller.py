"""The HTTP client for calls to agents that are not trusted.

A call takes a slot of its host, then an idle connection or a new one, writes the request, and waits for one future. One
timer limits all of these steps. A request is never sent twice, because the peer may have read and processed it.
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
    are_descriptors_scarce,
    has_route,
    is_broadcast,
    is_route_error,
    is_unreachable,
    local_fault,
    local_look_up_fault,
)

MAX_CONNECTIONS = 32  # to one host and port
MAX_TARGETS = 4_096
# A URL whose path needs no quoting.
_PLAIN_URL = re.compile(r"(https?://[^/?#]+)(/[A-Za-z0-9/_.~-]*)")
_HEADERS = {
    "user-agent": "leaguekit",
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
}


class HttpCaller:
    """Calls agents over HTTP, only at addresses that the policy allows. All calls are made in one event loop."""

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
        self._origins: dict[tuple[str, Headers], _Target] = {}
        self._hosts: dict[tuple[str, str, int], HostPool] = {}
        self._openings: set[asyncio.Task[Connection]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._deadlines: DeadlineTimer | None = None
        self._closed = False

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer:
        """As ``Caller.post``. ``headers`` are added to the usual ones or replace them.

        Raises TimedOut, Unreachable, CallerLate, or CallerUnable.
        """
        target = self._targets.get((url, headers)) or self._target_for(url, headers)
        if seconds <= 0:
            raise TimedOut(f"{target.display_url} was not called: there was no time left")
        host = target.host
        deadlines = self._deadlines
        if deadlines is None or deadlines.loop.is_closed():
            deadlines = self._deadlines = DeadlineTimer(asyncio.get_running_loop())
        loop = deadlines.loop
        now = loop.time()
        deadline = deadlines.start(now, seconds, target.display_url)
        try:
            if host.busy < self._max_connections:
                host.busy += 1
            else:
                await _wait_for_slot(host, loop, deadline)
                now = loop.time()
            try:
                connection = host.take_idle(now) or await self._connect(host, loop, deadline)
                if connection.closed:
                    # The peer had no place for it, or has just stopped. Nothing has been written yet.
                    connection = await self._connect(host, loop, deadline)
                try:
                    waiter: asyncio.Future[HttpAnswer] = loop.create_future()
                    deadline.wait_on(waiter, connection)
                    connection.ask(
                        waiter, b"%b%d\r\n\r\n%b" % (target.head, len(body), body), max_bytes, target.display_url
                    )
                    answer = await waiter
                except BaseException:
                    connection.abort()
                    raise
                self._keep_idle(connection, loop)
                return answer
            finally:
                host.release_slot()
        finally:
            deadlines.active.discard(deadline)

    async def close(self) -> None:
        """Close every connection. Active calls fail."""
        self._closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for opening in self._openings:
            opening.cancel()
        await asyncio.gather(*self._openings, return_exceptions=True)
        for host in self._hosts.values():
            host.close()
        await asyncio.gather(
            *(connection.closed_event for host in self._hosts.values() for connection in host.connections)
        )
        if self._deadlines is not None:
            self._deadlines.close()

    def _target_for(self, url: str, headers: Headers) -> _Target:
        plain = _PLAIN_URL.fullmatch(url)
        if plain is not None and (origin := self._origins.get((plain[1], headers))) is not None:
            # Not stored: every transcript has its own URL, which is used only once.
            path = plain[2]
            return _Target(origin.host, b"POST %b%b" % (path.encode("ascii"), origin.head), origin.display_url + path)
        if len(self._targets) >= MAX_TARGETS:
            self._targets.clear()
            self._origins.clear()
            self._hosts = {key: host for key, host in self._hosts.items() if host.busy or host.connections}
        parts = read_url(url)
        host = self._hosts.setdefault(
            (parts.scheme, parts.host, parts.port), HostPool(parts.scheme, parts.host, parts.port)
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in (_HEADERS | dict(headers)).items())
        head = f" HTTP/1.1\r\nhost: {parts.authority}\r\n{lines}content-length: ".encode("ascii")
        if plain is not None:
            self._origins[plain[1], headers] = _Target(host, head, f"{parts.scheme}://{parts.authority}")
        asked = parts.target.encode("ascii")
        target = self._targets[url, headers] = _Target(host, b"POST %b%b" % (asked, head), parts.display)
        return target

    async def _connect(self, host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> Connection:
        """Open a connection, in a task, so that the deadline has one future to fail here too."""
        if self._closed:
            raise Unreachable(f"{deadline.display_url} {CLOSED}")
        waiter: asyncio.Future[None] = loop.create_future()
        deadline.wait_on(waiter)
        opening = loop.create_task(self._open_connection(host, loop, deadline))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        opening.add_done_callback(partial(_wake_waiter, waiter))
        try:
            await waiter
        except BaseException:
            opening.cancel()
            opening.add_done_callback(_abort_opened)
            raise
        if opening.cancelled():
            raise Unreachable(f"{deadline.display_url} {CLOSED}")
        return opening.result()

    async def _open_connection(self, host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> Connection:
        deadline.pause("too many names are being looked up")
        try:
            found = await self._resolver.resolve(host.name, host.port, deadline.resume)
        except (OSError, ValueError) as error:
            if (local_reason := local_look_up_fault(error)) is not None:
                raise CallerUnable(deadline.display_url, local_reason) from error
            raise Unreachable(f"{deadline.display_url} has a name that leads nowhere: {_describe(error)}") from error
        allowed = [address for address in found if self._policy.allows(address, host.name, host.port)]
        if not allowed:
            addresses = ", ".join(found[:3]) or "no address"
            raise Unreachable(f"{deadline.display_url} leads to {addresses}, which is not allowed here")
        tls = self._tls_context() if host.scheme == "https" else None
        failures: list[Exception] = []
        for addresses_left, address in zip(range(len(allowed) - 1, -1, -1), allowed, strict=True):
            # An address that does not answer must leave time for the next one.
            share = (deadline.ends_at - loop.time()) / 2 if addresses_left else None
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
                # Not earlier: uvloop does not call connection_lost for a connection whose opening is cancelled.
                if not connection.closed_event.done():
                    host.connections.add(connection)
                if are_descriptors_scarce(connection.transport, MAX_SHARE) and not self._close_all_idle():
                    connection.abort()
                    raise CallerUnable(deadline.display_url, "nearly all descriptors of this program are in use")
                return connection
        raise _connect_error(deadline.display_url, allowed, failures)

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _keep_idle(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        # If the answer came before the whole request was sent, the rest of it would precede the next request.
        if connection.closed or not connection.keep_alive or connection.transport.get_write_buffer_size():
            connection.abort()
            return
        connection.is_proven = connection.is_reused
        connection.is_reused = True
        connection.idle_since = loop.time()
        connection.host.idle.append(connection)
        if self._idle_timer is None:
            self._idle_timer = loop.call_later(IDLE_SECONDS, self._close_expired, loop)

    def _close_all_idle(self) -> bool:
        """Close all idle connections. Return whether there was one."""
        idle = [connection for host in self._hosts.values() for connection in host.idle]
        for host in self._hosts.values():
            host.idle.clear()
        for connection in idle:
            connection.abort()
        return bool(idle)

    def _close_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connections that have been idle for too long."""
        oldest = loop.time() - IDLE_SECONDS
        for host in self._hosts.values():
            while host.idle and host.idle[0].idle_since <= oldest:
                host.idle.popleft().abort()
        some_left = any(host.idle for host in self._hosts.values())
        self._idle_timer = loop.call_later(IDLE_SECONDS, self._close_expired, loop) if some_left else None


class _Target(NamedTuple):
    """A parsed URL, ready for requests; or what URLs of one scheme, host and port share.

    To parse a URL takes 21 µs, and another path of it 2 µs.
    """

    host: HostPool
    head: bytes
    display_url: str


async def _wait_for_slot(host: HostPool, loop: asyncio.AbstractEventLoop, deadline: Deadline) -> None:
    waiter: asyncio.Future[None] = loop.create_future()
    deadline.wait_on(waiter)
    # The call waits for our own limit, and perhaps for other players at the same gateway.
    deadline.pause("too many calls to that host are under way")
    host.slot_waiters.append(waiter)
    try:
        await waiter
        deadline.resume()
    except BaseException:
        if not waiter.cancelled() and waiter.exception() is None:
            host.release_slot()  # the slot was granted just as the call was cancelled
        raise


def _wake_waiter(waiter: asyncio.Future[None], _opening: asyncio.Task[Connection]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _abort_opened(opening: asyncio.Task[Connection]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abort()


def _unreachable(display_url: str, failures: list[Exception]) -> Unreachable:
    """The exception for a peer whose addresses all failed."""
    if (tls_error := next((error for error in failures if isinstance(error, ssl.SSLError)), None)) is not None:
        return TlsFailed(display_url, _describe(tls_error))
    return Unreachable(f"{display_url} could not be connected to: {_describe(failures[-1])}")


def _connect_error(display_url: str, addresses: list[str], failures: list[Exception]) -> Unreachable | CallerUnable:
    """The exception if none of some addresses could be connected to."""
    # This machine may have no route to one kind of address. Then an error at another address is the peer's.
    peer_errors = [error for error in failures if local_fault(error) is None]
    if peer_errors or (local_reason := local_fault(failures[-1])) is None:
        return _unreachable(display_url, peer_errors)
    if all(map(is_broadcast, addresses)):
        return Unreachable(f"{display_url} leads to a broadcast address, where nobody can be called")
    if not all(map(is_route_error, failures)):
        return CallerUnable(display_url, local_reason)
    # A firewall of another machine, perhaps of the peer, may cause the same error as a missing route.
    is_peer_error = is_unreachable(failures[-1]) and all(map(has_route, addresses))
    return _unreachable(display_url, failures) if is_peer_error else NoRoute(display_url, local_reason)


def _describe(error: Exception) -> str:
    """A short description of a network error, in one line."""
    if isinstance(error, TimeoutError):
        return "nobody answered there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as we do ({error.reason})"
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower() if error.errno > 0 else str(error.strerror).lower()
    return " ".join(str(error).split())[:200] or type(error).__name__
