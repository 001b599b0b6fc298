"""What the agents need of a network: to call, and to be called. HTTP and memory both provide it.

CallFailed        no answer came: the peer's fault, or the way to it
├── TimedOut          E001: not in time
└── Unreachable       E009: refused, reset, cut short, not HTTP, too large, or an address that is not allowed
    └── TlsFailed         its certificate is not valid, or it does not speak TLS
CallerLate        our own fault: we were too busy to tell whether the peer was in time; nothing follows from it
└── CallerUnable      this machine could not call: no descriptors, no memory, no network
    └── NoRoute           this machine has no way to that address
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from leaguekit.protocol.rpc import RpcRequest


class Peer(NamedTuple):
    """Who is calling: the address, what stands behind the ? of the URL, and at which address we were called."""

    host: str
    query: str = ""
    server: tuple[str, int] = ("", 0)


# The server side of an agent: a request and its sender → the body of the answer, or None for a notification. It is
# started outside of any task. Before it sets a time limit or needs a task for anything else, it must await
# ``eager.in_a_task``.
Handler = Callable[[RpcRequest, Peer], Coroutine[Any, Any, bytes | None]]
# The same for a network in memory.
BodyHandler = Callable[[bytes, Peer], Coroutine[Any, Any, bytes | None]]


class TooManyRequests(Exception):
    """What a handler raises to take nothing more of a peer for some seconds; the body is the answer to this request."""

    def __init__(self, body: bytes, seconds: float) -> None:
        self.body = body
        self.seconds = seconds
        super().__init__(f"too many requests; the next in {seconds:.1f} s")


# The status of such an answer, and of one on a connection too many.
TOO_MANY_REQUESTS = 429


class NoAnswer(Exception):
    """What a handler raises to hang up without an answer: whom it speaks for cannot be reached."""


# Names in lower case, and values.
Headers = tuple[tuple[str, str], ...]


class HttpAnswer(Struct, frozen=True, gc=False):
    """An HTTP answer, of whatever status: any is a sign of life."""

    status: int
    body: bytes
    content_type: str = "application/json"
    # The session that an MCP server has opened for us.
    session: str = ""


class CallFailed(Exception):
    """No answer came. ``code`` is the catalogue's: E001 or E009. ``connected`` says that there was a connection."""

    code: str

    def __init__(self, text: str, *, connected: bool = False) -> None:
        super().__init__(text)
        self.connected = connected


class TimedOut(CallFailed):
    """The whole time limit passed without a whole answer."""

    code = "E001"


class Unreachable(CallFailed):
    """The connection failed, or what came over it was no HTTP answer that we take."""

    code = "E009"


class TlsFailed(Unreachable):
    """Something listens there, but no TLS connection could be made. ``why`` names no address."""

    def __init__(self, shown: str, why: str) -> None:
        super().__init__(f"{shown} could not be connected to: {why}")
        self.why = why


class CallerLate(Exception):
    """We were ourselves so late in looking that no time-out can be ruled."""

    def __init__(self, late_ms: float) -> None:
        self.late_ms = late_ms
        super().__init__(f"the caller itself was {late_ms:.0f} ms late")


class CallerUnable(CallerLate):
    """This machine could not make the call; that says nothing about the peer. ``why`` names no address."""

    def __init__(self, shown: str, why: str) -> None:
        super().__init__(0.0)
        self.why = why
        self.args = (f"{shown} could not be called from this machine: {why}",)


class NoRoute(CallerUnable):
    """This machine has no way to that address; it may have one to others."""


class Caller(Protocol):
    """Calls other agents."""

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """POST a JSON body; one absolute limit over look-up, connect, send and read. Never retries, never redirects.

        Raises TimedOut, Unreachable, CallerLate, or CallerUnable.
        """

    async def close(self) -> None:
        """Close every connection."""
