"""A network in memory: handlers listen at addresses, callers reach them with the limits and failures of the real one.

Every message takes at least one turn of the loop each way. Nothing depends on chance or on the order of sets, so in
virtual time the same program sees the same exchanges.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from leaguekit.protocol.rpc import NULL, RpcError, failure
from leaguekit.transport.base import BodyHandler, HttpAnswer, NoAnswer, Peer, TimedOut, Unreachable

log = logging.getLogger(__name__)

_INTERNAL_ERROR = failure(NULL, RpcError(-32603, "Internal error", None))
NOT_FOUND = HttpAnswer(404, b'{"error":"There is nothing here. Messages are posted to /mcp."}')

Address = tuple[str, int]
# A server that is not ours answers with a status of its own.
AnyHandler = BodyHandler | Callable[[bytes, Peer], Awaitable[HttpAnswer]]


class ExchangeTimes(NamedTuple):
    """When a request was sent and when its fate was known, in the loop's time."""

    sent: float
    ended: float


# Sees every exchange: the caller, the URL, the request, what came of it (b"" where there is no answer), and when.
Tap = Callable[["MemoryCaller", str, bytes, bytes | BaseException, ExchangeTimes], None]


class MemoryNetwork:
    """Who listens where."""

    def __init__(self) -> None:
        self.tap: Tap | None = None
        self._handlers: dict[Address, AnyHandler] = {}
        # A task that nobody holds may vanish while it waits.
        self._answering: set[asyncio.Task[bytes | HttpAnswer | None]] = set()

    def listen(self, url: str, handler: AnyHandler) -> None:
        """Serve /mcp at the host and port of a URL."""
        address = address_of(url)
        if address in self._handlers:
            raise ValueError(f"somebody already listens at {address[0]}:{address[1]}")
        self._handlers[address] = handler

    def close(self, url: str) -> None:
        """Listen no more; what is being answered is still answered."""
        self._handlers.pop(address_of(url), None)

    def deliver(self, url: str, body: bytes, host: str) -> asyncio.Task[bytes | HttpAnswer | None] | None:
        """Start the answer to a request, in a task of its own; None if the path is not /mcp."""
        address, parts = address_of(url), urlsplit(url)
        handler = self._handlers.get(address)
        if handler is None:
            raise Unreachable(f"nobody listens at {address[0]}:{address[1]}")
        if parts.path not in ("/mcp", "/mcp/"):
            return None
        task = asyncio.ensure_future(run_handler(handler, body, Peer(host, parts.query, address)))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return task


class MemoryCaller:
    """A Caller on a memory network; ``host`` is the address it calls from."""

    def __init__(self, network: MemoryNetwork, host: str = "127.0.0.1") -> None:
        self.host = host
        self._network = network

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """As Caller.post. A handler that is too late keeps running, as it would elsewhere; its answer is dropped."""
        loop = asyncio.get_running_loop()
        sent = loop.time()
        seen: bytes | BaseException = b""
        try:
            answer = await self._post(url, body, sent + seconds, max_bytes)
            seen = answer.body
        except (TimedOut, Unreachable, asyncio.CancelledError) as error:
            seen = error
            raise
        finally:
            if self._network.tap is not None:
                self._network.tap(self, url, body, seen, ExchangeTimes(sent, loop.time()))
        return answer

    async def _post(self, url: str, body: bytes, deadline: float, max_bytes: int) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        shown = url.partition("?")[0]
        await asyncio.sleep(0)
        task = self._network.deliver(url, body, self.host)
        if task is None:
            return NOT_FOUND
        await asyncio.wait((task,), timeout=deadline - loop.time())
        # At the very moment of the limit it is over, whichever of the two woke first.
        if not task.done() or loop.time() >= deadline:
            raise TimedOut(f"no answer from {shown} in time", connected=True)
        if task.cancelled():
            raise Unreachable(f"{shown} closed the connection without an answer", connected=True)
        answer = task.result()
        if answer is None:
            return HttpAnswer(204, b"", "")
        whole = answer if isinstance(answer, HttpAnswer) else HttpAnswer(200, answer)
        if len(whole.body) > max_bytes:
            raise Unreachable(f"the answer from {shown} has more than {max_bytes:,} bytes", connected=True)
        return whole

    async def close(self) -> None:
        """There are no connections to close."""


async def run_handler(handler: AnyHandler, body: bytes, peer: Peer) -> bytes | HttpAnswer | None:
    """What a handler answers; a fault of its own is an internal error, as with a real server."""
    try:
        return await handler(body, peer)
    except NoAnswer:
        raise asyncio.CancelledError from None
    except Exception:
        log.exception("internal error while answering %s", peer.host)
        return _INTERNAL_ERROR


def address_of(url: str) -> Address:
    """The host and port of a URL. Raises Unreachable if it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Unreachable(f"{url.partition('?')[0]} is no URL: {error}") from error
    if not host or parts.scheme not in ("http", "https"):
        raise Unreachable(f"{url.partition('?')[0]} is no HTTP address")
    return host, port or (443 if parts.scheme == "https" else 80)
