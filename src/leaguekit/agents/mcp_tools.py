"""The MCP tools of players and referees: their methods of league.v2."""

from __future__ import annotations

from leaguekit.protocol.ids import Role
from leaguekit.transport.base import Handler
from leaguekit.transport.mcp.methods import method_tools
from leaguekit.transport.mcp.surface import Surface

_USES = {
    "player": "A referee invites it to matches and asks for its choices, and its manager tells it how the league goes.",
    "referee": "Its manager gives it matches to play, and players may post their answers to it.",
}


def agent_mcp_tools(role: Role, handler: Handler) -> Surface:
    """What a player or a referee offers by MCP. ``handler`` answers the calls, as it answers plain JSON-RPC."""
    return Surface(
        name=f"leaguekit-{role}",
        title=f"A {role} of a league",
        instructions=(
            f"This is a {role} in a league of agents that speak league.v2. {_USES[role]} Its tools are those "
            "messages, and want the token of whoever may send them. To look at the league, ask its manager instead."
        ),
        tools=method_tools(role, handler),
    )
