"""A player that is a plain MCP server: the official SDK, a function for each game's question, and nothing of leaguekit.

python examples/plain_mcp/player.py 8110
league add-player --endpoint http://127.0.0.1:8110/mcp --name Plain
"""

import sys
from typing import Any

from mcp.server import MCPServer

server = MCPServer("Plain", log_level="WARNING")


@server.tool()
def parity_choose(match_id: str) -> str:
    """Even/odd: which of the two?"""
    return "even" if match_id.endswith("1") else "odd"


@server.tool()
def choose_move(move_request: dict[str, Any]) -> Any:
    """Every other game: the first of the moves that are legal."""
    return move_request["valid_options"][0]


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
