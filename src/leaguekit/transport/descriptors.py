"""Which errors of the network are this machine's own, and how many descriptors its connections may take."""

from __future__ import annotations

import errno
import os
import socket
import ssl

# Others of connect and its like are the peer's: refused, reset, timed out, no route to that one host.
OWN_ERRORS = frozenset(
    (
        errno.EMFILE,  # this program has no descriptors left
        errno.ENFILE,  # the system has none
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EADDRNOTAVAIL,  # no local port is free
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EPERM,  # a local firewall, or its table is full
    )
)
# Windows has only the first.
_OWN_LOOK_UP_ERRORS = frozenset((socket.EAI_MEMORY, getattr(socket, "EAI_SYSTEM", socket.EAI_MEMORY)))


def own_fault(error: BaseException | None) -> str | None:
    """Why an error is this machine's own fault, in words; None if it is the peer's or cannot be told."""
    if isinstance(error, socket.gaierror):
        # Without a descriptor a look-up cannot read its configuration, and reports a name that does not exist.
        return "its look-up failed" if error.errno in _OWN_LOOK_UP_ERRORS else _shortage()
    # TLS has numbers of its own.
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno in OWN_ERRORS:
        return os.strerror(error.errno).lower()
    return None


def _shortage() -> str | None:
    """Why no descriptor can be opened now; None if one can be."""
    try:
        socket.socket().close()
    except OSError as error:
        return own_fault(error)
    return None
