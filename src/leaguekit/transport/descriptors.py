"""Which errors of the network are this machine's own, and how many descriptors its connections may take."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
import ssl
import sys

# Errors that may concern one address only.
ROUTE_ERRORS = frozenset(
    (
        errno.EADDRNOTAVAIL,  # no local port is free, or there is no local address of that kind
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EPERM,  # a local firewall, or its table is full
    )
)
# Others of connect and its like are the peer's: refused, reset, timed out, no route to that one host.
LOCAL_ERRORS = ROUTE_ERRORS | {
    errno.EMFILE,  # this program has no descriptors left
    errno.ENFILE,  # the system has none
    errno.ENOBUFS,
    errno.ENOMEM,
}
# Of the descriptors of this program, the share that its servers' connections may take, and with its calls all may.
MAX_SERVER_SHARE = 0.75
MAX_SHARE = 0.9


def is_scarce(transport: asyncio.BaseTransport, share: float) -> bool:
    """Whether a connection takes more than a share of all descriptors; the system gives the lowest that is free."""
    sock = transport.get_extra_info("socket")
    return sock is not None and sock.fileno() >= max_descriptors() * share


def backlog(most: int) -> int:
    """How many connections may wait to be accepted: all that do are accepted at once."""
    return int(min(most, max_descriptors() * (MAX_SHARE - MAX_SERVER_SHARE)))


def max_descriptors() -> float:
    """How many descriptors this program may have."""
    if sys.platform == "win32":
        return math.inf
    import resource  # noqa: PLC0415 - there is none on Windows

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if most == resource.RLIM_INFINITY else most


def local_fault(error: BaseException | None) -> str | None:
    """Why an error is this machine's own fault, in words; None if it is the peer's or cannot be told."""
    # Look-ups and TLS have numbers of their own.
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror | ssl.SSLError):
        return os.strerror(error.errno).lower() if error.errno in LOCAL_ERRORS else None
    return None


def is_route_error(error: Exception) -> bool:
    """Whether an error of this machine may concern one address only."""
    return isinstance(error, OSError) and error.errno in ROUTE_ERRORS


def is_unreachable(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENETUNREACH


def is_broadcast(address: str) -> bool:
    """Whether an address means all hosts of a network, so that nobody can be connected to there."""
    return _route_error(address) == errno.EACCES


def has_route(address: str) -> bool:
    """Whether this machine has a route to an address. Then a network that is unreachable is not its own."""
    return _route_error(address) is None


def _route_error(address: str) -> int | None:
    """The error of a look at the table of routes: nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError as error:
        return error.errno
    return None


def local_look_up_fault(error: Exception) -> str | None:
    """The same of the look-up of a name."""
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_MEMORY:
        return os.strerror(errno.ENOMEM).lower()
    # Without a descriptor it cannot read its configuration, and fails in some other way.
    return local_fault(error) or _shortage()


def _shortage() -> str | None:
    """Why no descriptor can be opened now; None if one can be."""
    try:
        socket.socket().close()
    except OSError as error:
        return local_fault(error)
    return None
