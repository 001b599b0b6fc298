"""Which network errors are caused by this machine, and how many file descriptors connections may use."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
import ssl

# Errors of this machine that may concern only one address.
ROUTE_ERRORS = frozenset(
    (
        errno.EADDRNOTAVAIL,  # no local port is free, or there is no local address of that kind
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EPERM,  # a local firewall, or its table is full
    )
)
# Errors that are caused by this machine. Others are caused by the peer: refused, reset, timed out, no route to host.
LOCAL_ERRORS = ROUTE_ERRORS | {
    errno.EMFILE,  # this program has no descriptors left
    errno.ENFILE,  # the system has none
    errno.ENOBUFS,
    errno.ENOMEM,
}
# The share of this process's descriptors that the connections of its servers may use, and the share that all its
# connections may use.
MAX_SERVER_SHARE = 0.75
MAX_SHARE = 0.9


def are_descriptors_scarce(transport: asyncio.BaseTransport, share: float) -> bool:
    """Whether more than a share of all descriptors is in use. A new connection has the lowest free descriptor."""
    sock = transport.get_extra_info("socket")
    return sock is not None and sock.fileno() >= max_descriptors() * share


def backlog(limit: int) -> int:
    """The length of the queue of connections to accept. All of them may be accepted at once and need descriptors."""
    return int(min(limit, max_descriptors() * (MAX_SHARE - MAX_SERVER_SHARE)))


def max_descriptors() -> float:
    """The maximum number of descriptors of this process."""
    try:
        import resource  # noqa: PLC0415 - Windows does not have it
    except ImportError:
        return math.inf

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def local_fault(error: BaseException | None) -> str | None:
    """A description of an error that is caused by this machine, or None for all other errors."""
    # The errors of look-ups and of TLS have other numbers.
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror | ssl.SSLError):
        return os.strerror(error.errno).lower() if error.errno in LOCAL_ERRORS else None
    return None


def is_route_error(error: Exception) -> bool:
    """Whether an error of this machine may concern only one address."""
    return isinstance(error, OSError) and error.errno in ROUTE_ERRORS


def is_unreachable(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENETUNREACH


def is_broadcast(address: str) -> bool:
    """Whether an address is a broadcast address, to which no connection is possible."""
    return _route_error(address) == errno.EACCES


def has_route(address: str) -> bool:
    """Whether this machine has a route to an address. If so, ENETUNREACH comes from another machine."""
    return _route_error(address) is None


def _route_error(address: str) -> int | None:
    """The error number of a look-up in the routing table, or None. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError as error:
        return error.errno
    return None


def local_look_up_fault(error: Exception) -> str | None:
    """The same as ``local_fault`` for the look-up of a host name."""
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_MEMORY:
        return os.strerror(errno.ENOMEM).lower()
    # Without a descriptor the resolver cannot read its configuration, and fails with another error.
    return local_fault(error) or _shortage()


def _shortage() -> str | None:
    """Why no descriptor can be opened at the moment, or None if one can be."""
    try:
        socket.socket().close()
    except OSError as error:
        return local_fault(error)
    return None
