"""The servers of players and referees: /mcp for messages, and nothing else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence

from msgspec import DecodeError, Struct, json

from leaguekit.agents.credentials import IdentifyBody
from leaguekit.agents.mcp_tools import agent_mcp_tools
from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import MAX_BYTES, MAX_TRUSTED_BYTES, NULL, InvalidCall, RpcRequest, failure
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Handler, HttpAnswer, Peer, Unreachable
from leaguekit.transport.mcp.lazy_app import LazyMcpApp, lazy_mcp_app
from leaguekit.transport.mcp.surface import Surface
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostHandler
from leaguekit.transport.server.server import Server

# Of whom no more is read than of anybody.
UNKNOWN = "of a body that shows no valid auth_token within them"


def agent_server(
    handle: Handler,
    sockets: Sequence[socket.socket],
    refuse: Refuse,
    endpoint: str = "",
    *,
    role: Role = "player",
    admits: AdmitLargeBody | None = None,
    caller: IdentifyBody | None = None,
) -> Server:
    """A player's or a referee's: it takes more from its manager than the manager takes from it.

    ``endpoint`` is the URL at which others reach it. ``admits`` says of the beginning of a large body whether the rest
    is read, and ``caller`` whose token is in it.
    """
    most = MAX_TRUSTED_BYTES
    allowances = RateLimiter() if caller is None else RateLimiter(identify_body=caller)
    handler = allowances.limit(handle, refuse, most)
    is_referee = role == "referee"
    return Server(
        _refusing_large_posts(handler) if is_referee else handler,
        sockets=sockets,
        max_bytes=most,
        too_large=too_large_answer(
            refuse, most, f", and {MAX_BYTES:,} {'from a player or ' if is_referee else ''}{UNKNOWN}"
        ),
        admits=admits,
        mcp=limited_mcp_app(lambda: agent_mcp_tools(role, handler), allowances, most),
        names=names_of(endpoint),
        endpoint=endpoint,
    )


def limited_mcp_app(surface: Callable[[], Surface], allowances: RateLimiter, max_bytes: int) -> LazyMcpApp:
    """The way in for MCP, within what each address may ask for."""
    return lazy_mcp_app(surface, max_bytes, admit=allowances.visits)


def names_of(*urls: str) -> list[str]:
    """The names in URLs under which a server is known."""
    names = []
    for url in urls:
        with contextlib.suppress(Unreachable):
            names.append(read_url(url).host)
    return names


def too_large_answer(refuse: Refuse, max_bytes: int, more: str = "") -> Callable[[], bytes]:
    """What makes the answer to a body that is too large. Nothing of that body is read: its sender is not known."""

    def make() -> bytes:
        error = ProtocolError("E046", f"At most {max_bytes:,} bytes are taken{more}.")
        return failure(NULL, refuse(error, InvalidCall(NULL, None, error)))

    return make


class _Refusal(Struct):
    class Error(Struct):
        class Data(Struct):
            error_code: str

        data: Data

    error: Error


_refusal = json.Decoder(_Refusal)


def _refusing_large_posts(handler: Handler) -> PostHandler:
    """The same handler. A message that is too large for a player to send gets the status 413 with its refusal."""

    async def refusing(request: RpcRequest, peer: Peer) -> bytes | HttpAnswer | None:
        answer = await handler(request, peer)
        if len(request.body) <= MAX_BYTES:
            return answer
        try:
            is_refused = _refusal.decode(answer or b"").error.data.error_code == "E046"
        except DecodeError:
            is_refused = False
        return HttpAnswer(413, answer or b"") if is_refused else answer

    return refusing
