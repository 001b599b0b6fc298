"""Decides which requests to /mcp belong to MCP and which to the league, by their headers and their method.

The league's own methods always belong to the league, so that no header slows or diverts them. No method of the league
has a slash in its name. Every method of MCP has one, except ``initialize`` and ``ping``.
"""

from __future__ import annotations

from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.rpc import RpcRequest

# Some agents send league.v2 messages with this method. They send no MCP header.
_TOOLS_CALL = "tools/call"
_INITIALIZE = "initialize"


def is_mcp(request: RpcRequest, *, has_mcp_header: bool) -> bool:
    """Whether a request belongs to MCP. ``has_mcp_header`` means that it has a header that only MCP clients send."""
    if request.is_batch:
        return False
    method = request.calls[0].method
    if has_mcp_header:
        # A body that is not JSON is answered by MCP too, because its sender expects that.
        return method not in BY_NAME
    return method is not None and (method == _INITIALIZE or ("/" in method and method != _TOOLS_CALL))
