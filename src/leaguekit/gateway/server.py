"""The gateway's server: calls to seats and relays, and MCP, at /mcp; the page for browsers at the other paths."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.agents.server import UNKNOWN, limited_mcp_app, names_of, too_large_answer
from leaguekit.gateway.app import gateway_app
from leaguekit.gateway.gateway import MAX_CALLS, MAX_CALLS_TO_UNKNOWN, MAX_KNOWN_CALLS, Gateway
from leaguekit.gateway.mcp_surface import gateway_mcp_surface
from leaguekit.gateway.relays import GUARANTEED_CALLS, MAX_EXTRA_CALLS, MAX_RELAYS, MAX_UNKNOWN_CALLS
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_BYTES, MAX_TRUSTED_BYTES
from leaguekit.transport.addresses import Network
from leaguekit.transport.server.server import Limits, Server

# The requests that may wait at a gateway: polls of relays, calls to relays and seats, and pings of relays.
MAX_REQUESTS_PER_RELAY = 1 + GUARANTEED_CALLS + GUARANTEED_CALLS + MAX_UNKNOWN_CALLS
MAX_REQUESTS = (
    MAX_CALLS
    + MAX_KNOWN_CALLS
    + MAX_CALLS_TO_UNKNOWN
    + MAX_REQUESTS_PER_RELAY * MAX_RELAYS
    + MAX_EXTRA_CALLS
    + Limits().requests
)


def gateway_server(
    gateway: Gateway, served: socket.socket, *, names: Iterable[str] = (), proxies: Iterable[Network] = ()
) -> Server:
    """The server of a gateway. It answers to the host name of its endpoint, and to other ``names``."""
    allowances, max_bytes = RateLimiter(identify_body=gateway.identify_sender), MAX_TRUSTED_BYTES
    return Server(
        allowances.limit(gateway.answer, player_refusal, max_bytes),
        sockets=[served],
        max_bytes=max_bytes,
        too_large=too_large_answer(player_refusal, max_bytes, f", and {MAX_BYTES:,} {UNKNOWN}"),
        admits_large_body=gateway.admits_large_body,
        app=gateway_app(gateway, allowances),
        mcp=limited_mcp_app(lambda: gateway_mcp_surface(gateway), allowances, max_bytes),
        names=[*names_of(gateway.endpoint), *names],
        endpoint=gateway.endpoint,
        proxies=proxies,
        limits=Limits(requests=MAX_REQUESTS),
    )
