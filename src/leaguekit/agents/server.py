"""The servers of players and referees: /mcp for messages, and nothing else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from leaguekit.agents.agent_surface import agent_surface
from leaguekit.agents.allowances import Allowances
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import MOST_BYTES_FROM_ABOVE, NULL, Refused, failure
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import QuickHandler, Unreachable
from leaguekit.transport.mcp.door import Door, surface_door
from leaguekit.transport.mcp.surface import Surface
from leaguekit.transport.server import Server


def agent_server(
    handle: QuickHandler,
    sockets: Sequence[socket.socket],
    refuse: Refuse,
    names: Iterable[str] = (),
    role: Literal["player", "referee"] = "player",
) -> Server:
    """A player's or a referee's: it takes more from its manager than the manager takes from it."""
    most = MOST_BYTES_FROM_ABOVE
    allowances = Allowances()
    handler = allowances.guard(handle, refuse, most)
    return Server(
        handler,
        sockets=sockets,
        most_bytes=most,
        too_large=too_large_answer(refuse, most),
        mcp=mcp_door(lambda: agent_surface(role, handler), allowances, most),
        names=names,
    )


def mcp_door(surface: Callable[[], Surface], allowances: Allowances, most_bytes: int) -> Door:
    """The way in for MCP, within what each address may ask for."""
    return surface_door(surface, most_bytes, admit=allowances.visits)


def names_of(*urls: str) -> list[str]:
    """The names in URLs under which a server is known."""
    names = []
    for url in urls:
        with contextlib.suppress(Unreachable):
            names.append(read_url(url).host)
    return names


def too_large_answer(refuse: Refuse, most_bytes: int) -> bytes:
    """What a body that is too large is answered with, whatever it was."""
    error = ProtocolError("E046", f"At most {most_bytes:,} bytes are taken.")
    return failure(NULL, refuse(error, Refused(NULL, None, error)))
