"""A network in memory: handlers listen at addresses, and callers reach them, with the limits and errors of HTTP.

Every message takes at least one turn of the loop in each direction. Nothing is random or depends on the order of sets.
So in virtual time the same program has the same exchanges.
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
# A path and the body that was posted to it → the answer.
PathHandler = Callable[[str, bytes], Awaitable[HttpAnswer]]
# The second kind answers with an HTTP status and a body.
AnyHandler = BodyHandler | Callable[[bytes, Peer], Awaitable[HttpAnswer]]


class ExchangeTimes(NamedTuple):
    """The times, by the clock of the loop, at which a request was sent and at which it was answered or failed."""

    sent: float
    ended: float


# Called for every exchange with the caller, the URL, the request, the answer (b"" if empty) or error, and the times.
ExchangeListener = Callable[["MemoryCaller", str, bytes, bytes | BaseException, ExchangeTimes], None]


class MemoryNetwork:
    """The handlers that listen, by address."""

    def __init__(self) -> None:
        self.tap: ExchangeListener | None = None
        self._handlers: dict[Address, AnyHandler] = {}
        # What is posted to other paths than /mcp.
        self._path_handlers: dict[Address, PathHandler] = {}
        # References that keep waiting tasks alive.
        self._answering: set[asyncio.Task[bytes | HttpAnswer | None]] = set()

    def listen(self, url: str, handler: AnyHandler, path_handler: PathHandler | None = None) -> None:
        """Serve /mcp at the host and port of a URL. ``path_handler`` answers what is posted to other paths."""
        address = address_of(url)
        if address in self._handlers:
            raise ValueError(f"a handler already listens at {address[0]}:{address[1]}")
        self._handlers[address] = handler
        if path_handler is not None:
            self._path_handlers[address] = path_handler

    def close(self, url: str) -> None:
        """Stop listening. Requests in progress are still answered."""
        self._handlers.pop(address_of(url), None)
        self._path_handlers.pop(address_of(url), None)

    def deliver(self, url: str, body: bytes, host: str) -> asyncio.Task[bytes | HttpAnswer | None] | None:
        """Start a task that answers a request. None if nobody answers at its path. Raises Unreachable."""
        address, parts = address_of(url), urlsplit(url)
        handler = self._handlers.get(address)
        if handler is None:
            raise Unreachable(f"nobody listens at {address[0]}:{address[1]}")
        peer = Peer(host, parts.query, address)
        if parts.path not in ("/mcp", "/mcp/"):
            path_handler = self._path_handlers.get(address)
            if path_handler is None:
                return None
            path = parts.path
            task = asyncio.ensure_future(run_handler(lambda sent, _peer: path_handler(path, sent), body, peer))
        else:
            task = asyncio.ensure_future(run_handler(handler, body, peer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return task


class MemoryCaller:
    """A Caller on a memory network; ``host`` is the address it calls from."""

    def __init__(self, network: MemoryNetwork, host: str = "127.0.0.1") -> None:
        self.host = host
        self._network = network

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """As Caller.post. A handler that is too late keeps running, as over HTTP, and its answer is dropped."""
        loop = asyncio.get_running_loop()
        sent = loop.time()
        outcome: bytes | BaseException = b""
        try:
            answer = await self._post(url, body, sent + seconds, max_bytes)
            outcome = answer.body
        except (TimedOut, Unreachable, asyncio.CancelledError) as error:
            outcome = error
            raise
        finally:
            if self._network.tap is not None:
                self._network.tap(self, url, body, outcome, ExchangeTimes(sent, loop.time()))
        return answer

    async def _post(self, url: str, body: bytes, deadline: float, max_bytes: int) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        display_url = url.partition("?")[0]
        await asyncio.sleep(0)
        task = self._network.deliver(url, body, self.host)
        if task is None:
            return NOT_FOUND
        await asyncio.wait((task,), timeout=deadline - loop.time())
        # An answer exactly at the deadline is too late, whichever of the two events was processed first.
        if not task.done() or loop.time() >= deadline:
            raise TimedOut(f"no answer from {display_url} in time", connected=True)
        if task.cancelled():
            raise Unreachable(f"{display_url} closed the connection without an answer", connected=True)
        answer = task.result()
        if answer is None:
            return HttpAnswer(204, b"", "")
        response = answer if isinstance(answer, HttpAnswer) else HttpAnswer(200, answer)
        if len(response.body) > max_bytes:
            raise Unreachable(f"the answer from {display_url} has more than {max_bytes:,} bytes", connected=True)
        return response

    async def close(self) -> None:
        """There are no connections to close."""


async def run_handler(handler: AnyHandler, body: bytes, peer: Peer) -> bytes | HttpAnswer | None:
    """Call a handler. An exception that it raises becomes an internal error, as over HTTP."""
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
        raise Unreachable(f"{url.partition('?')[0]} is not a URL: {error}") from error
    if not host or parts.scheme not in ("http", "https"):
        raise Unreachable(f"{url.partition('?')[0]} is not an HTTP address")
    return host, port or (443 if parts.scheme == "https" else 80)
