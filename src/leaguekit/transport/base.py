"""The interface of a network for agents: callers, handlers and their exceptions. HTTP and memory implement it.

CallFailed        there was no answer, because of the peer or the network
├── TimedOut          E001: not in time
└── Unreachable       E009: refused, reset, cut short, not HTTP, too large, or an address that is not allowed
    └── TlsFailed         its certificate is not valid, or it does not speak TLS
CallerLate        this process was too busy to know whether the peer was in time; it says nothing about the peer
└── CallerUnable      this machine could not call: no descriptors, no memory, no network
    └── NoRoute           this machine has no route to that address
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from leaguekit.protocol.rpc import RpcRequest


class Peer(NamedTuple):
    """The sender of a request: its address, the query of the URL, and the address of the server that it called."""

    host: str
    query: str = ""
    server: tuple[str, int] = ("", 0)


# The server side of an agent: a request and its sender → the body of the answer, or None for a notification. It is
# started outside of any task. Before it sets a time limit or needs a task for anything else, it must await
# ``eager.ensure_task``.
Handler = Callable[[RpcRequest, Peer], Coroutine[Any, Any, bytes | None]]
# The same for a network in memory.
BodyHandler = Callable[[bytes, Peer], Coroutine[Any, Any, bytes | None]]


class TooManyRequests(Exception):
    """Raised by a handler if a peer sends too many requests: the answer, and the number of seconds to wait."""

    def __init__(self, body: bytes, seconds: float) -> None:
        self.body = body
        self.seconds = seconds
        super().__init__(f"too many requests; the next in {seconds:.1f} s")


# The HTTP status of that answer, and of the refusal of a connection.
TOO_MANY_REQUESTS = 429
# The statuses of a server, or of a proxy in front of it, that does not work at the moment.
UNAVAILABLE_STATUSES = (502, 503, 504)


class NoAnswer(Exception):
    """Raised by a handler to close the connection without an answer, because the agent behind it cannot be reached."""


# Pairs of a name in lower case and a value.
Headers = tuple[tuple[str, str], ...]


class HttpAnswer(Struct, frozen=True, gc=False):
    """An HTTP answer with any status."""

    status: int
    body: bytes
    content_type: str = "application/json"
    # The session that an MCP server has opened for the caller.
    session: str = ""


class CallFailed(Exception):
    """There was no answer. ``code`` is E001 or E009. ``connected`` says whether there was a connection."""

    code: str

    def __init__(self, text: str, *, connected: bool = False) -> None:
        super().__init__(text)
        self.connected = connected


class TimedOut(CallFailed):
    """The time limit passed without a complete answer."""

    code = "E001"


class Unreachable(CallFailed):
    """The connection failed, or there was no acceptable HTTP answer."""

    code = "E009"


class TlsFailed(Unreachable):
    """The peer accepts connections, but TLS failed. ``why`` contains no address."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url} could not be connected to: {why}")
        self.why = why


class CallerLate(Exception):
    """This process was so late itself that it cannot decide whether the peer was in time."""

    def __init__(self, late_ms: float) -> None:
        self.late_ms = late_ms
        super().__init__(f"the caller itself was {late_ms:.0f} ms late")


class CallerUnable(CallerLate):
    """This machine could not make the call, which says nothing about the peer. ``why`` contains no address."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(0.0)
        self.why = why
        self.args = (f"{url} could not be called from this machine: {why}",)


class NoRoute(CallerUnable):
    """This machine has no route to that address. It may have routes to others."""


class Caller(Protocol):
    """Calls other agents."""

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """POST a JSON body. ``seconds`` is one limit for look-up, connect, send and read. No retries, no redirects.

        Raises TimedOut, Unreachable, CallerLate, or CallerUnable.
        """

    async def close(self) -> None:
        """Close every connection."""
