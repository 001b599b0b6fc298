"""The HTTP servers of players and referees. They serve messages at /mcp, also as the tools of MCP, and nothing else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence

from leaguekit.agents.calls import read_error_code
from leaguekit.agents.credentials import IdentifyBody
from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import MAX_BYTES, MAX_TRUSTED_BYTES, NULL, InvalidCall, RpcRequest, failure
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Handler, HttpAnswer, Peer, Unreachable
from leaguekit.transport.mcp.lazy_app import LazyMcpApp, lazy_mcp_app
from leaguekit.transport.mcp.methods import method_tools
from leaguekit.transport.mcp.surface import Surface
from leaguekit.transport.server.pending_requests import AdmitLargeBody, PostHandler
from leaguekit.transport.server.server import Server

# Part of a refusal: describes the bodies of which only the first MAX_BYTES are read.
UNKNOWN = "of a body that shows no valid auth_token within them"
_USES = {
    "player": "A referee invites it to matches and asks for its choices, and its manager informs it of the league.",
    "referee": "Its manager gives it matches to play, and players may post their answers to it.",
}


def agent_server(
    handle: Handler,
    sockets: Sequence[socket.socket],
    refuse: Refuse,
    endpoint: str = "",
    *,
    role: Role = "player",
    admits_large_body: AdmitLargeBody | None = None,
    identify_sender: IdentifyBody = lambda _beginning, _peer: None,
) -> Server:
    """Make the server of a player or a referee.

    It accepts larger messages from its manager than the manager accepts from it. ``endpoint`` is the URL at which
    others reach it. ``admits_large_body`` decides by the beginning of a large body whether the rest is read.
    ``identify_sender`` gives the owner of the token in the beginning of a body.
    """
    max_bytes = MAX_TRUSTED_BYTES
    limiter = RateLimiter(identify_body=identify_sender)
    handler = limiter.limit(handle, refuse, max_bytes)
    is_referee = role == "referee"
    return Server(
        _refusing_large_posts(handler) if is_referee else handler,
        sockets=sockets,
        max_bytes=max_bytes,
        too_large=too_large_answer(
            refuse, max_bytes, f", and {MAX_BYTES:,} {'from a player or ' if is_referee else ''}{UNKNOWN}"
        ),
        admits_large_body=admits_large_body,
        mcp=limited_mcp_app(lambda: agent_mcp_tools(role, handler), limiter, max_bytes),
        names=names_of(endpoint),
        endpoint=endpoint,
    )


def agent_mcp_tools(role: Role, handler: Handler) -> Surface:
    """What a player or a referee offers by MCP. ``handler`` answers the calls, as it answers plain JSON-RPC."""
    return Surface(
        name=f"leaguekit-{role}",
        title=f"A {role} of a league",
        instructions=(
            f"This is a {role} in a league of agents that speak league.v2. {_USES[role]} Its tools are those "
            "messages, and need the token of the sender. To look at the league, ask its manager instead."
        ),
        tools=method_tools(role, handler),
    )


def limited_mcp_app(surface: Callable[[], Surface], limiter: RateLimiter, max_bytes: int) -> LazyMcpApp:
    """An application that serves MCP within the limiter's rates."""
    return lazy_mcp_app(surface, max_bytes, admit=limiter.acquire_for_mcp, sender_of=limiter.sender_of_body)


def names_of(*urls: str) -> list[str]:
    """The host names in URLs. What is not a URL is skipped."""
    names = []
    for url in urls:
        with contextlib.suppress(Unreachable):
            names.append(read_url(url).host)
    return names


def too_large_answer(refuse: Refuse, max_bytes: int, more: str = "") -> Callable[[], bytes]:
    """Return a function that makes the answer to a body that is too large. The body itself is not read."""

    def make() -> bytes:
        error = ProtocolError("E046", f"At most {max_bytes:,} bytes are taken{more}.")
        return failure(NULL, refuse(error, InvalidCall(NULL, None, error)))

    return make


def _refusing_large_posts(handler: Handler) -> PostHandler:
    """Wrap a handler, so that the refusal of a message that is too large for its sender has the status 413."""

    async def refusing(request: RpcRequest, peer: Peer) -> bytes | HttpAnswer | None:
        answer = await handler(request, peer)
        is_refused = len(request.body) > MAX_BYTES and read_error_code(answer or b"") == "E046"
        return HttpAnswer(413, answer or b"") if is_refused else answer

    return refusing
