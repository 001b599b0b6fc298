"""The servers of players and referees: /mcp for messages, and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import MOST_BYTES_FROM_ABOVE, NULL, Refused, failure
from leaguekit.transport.base import Handler
from leaguekit.transport.server import Server


def agent_server(handle: Handler, sockets: Sequence[socket.socket], refuse: Refuse) -> Server:
    """A player's or a referee's: it takes more from its manager than the manager takes from it."""
    most = MOST_BYTES_FROM_ABOVE
    return Server(handle, sockets=sockets, most_bytes=most, too_large=too_large_answer(refuse, most))


def too_large_answer(refuse: Refuse, most_bytes: int) -> bytes:
    """What a body that is too large is answered with, whatever it was."""
    error = ProtocolError("E046", f"At most {most_bytes:,} bytes are taken.")
    return failure(NULL, refuse(error, Refused(NULL, None, error)))
