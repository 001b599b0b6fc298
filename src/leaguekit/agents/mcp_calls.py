"""Calls to players that are plain MCP servers: a message out as the arguments of a tool, what the tool gives back.

Whoever writes such a player writes a function or two. So what a message has beside the player's own word is put in
here: who answers is known by the endpoint that was called, and all else by the question. A player without a tool for
the invitation comes to every match; what it has no tool for at all it need not hear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.reading import decode, encode, of_type
from leaguekit.protocol.rpc import MOST_BYTES
from leaguekit.transport.base import Caller
from leaguekit.transport.mcp.client import McpClient, ToolGave
from leaguekit.transport.mcp.surface import Json

# The form of request by which the manager and its referees remember such a player.
FORM = "MCP"

WordT = TypeVar("WordT", m.GameJoinAck, m.ChooseParityResponse, m.GameMoveResponse)

# The field that has a player's own word: what a tool gives that is no object is that.
_WORD: dict[type[Message], str] = {
    m.GameJoinAck: "accept",
    m.ChooseParityResponse: "parity_choice",
    m.GameMoveResponse: "move_data",
}


class McpCalls:
    """Calls players by MCP."""

    def __init__(self, caller: Caller, now: Callable[[], datetime]) -> None:
        self._client = McpClient(caller)
        self._now = now

    async def ask(self, url: str, player_id: str, request: m.Request, kind: type[WordT], seconds: float) -> WordT:
        """Ask a player for its word; raises as ``calls.ask``."""
        gave = await self._call(url, request, seconds, MOST_BYTES)
        if gave is None:
            if kind is not m.GameJoinAck:
                names = ", ".join(_names(type(request)))
                raise ProtocolError(
                    "E042", f"The player's MCP server has no tool for this: it would be called {names}."
                )
            gave = ToolGave(True, is_error=False)
        if gave.is_error:
            raise ProtocolError("E045", f"The player's tool failed: {str(gave.value)[:200]}")
        value = gave.value if isinstance(gave.value, dict) else {_WORD[kind]: gave.value}
        if kind is m.GameJoinAck:
            value.setdefault("accept", True)
        known = self._known(request, player_id, kind)
        return of_type(kind, decode(msgspec.json.encode(known | value)))

    async def tell(self, url: str, message: m.Request, seconds: float) -> None:
        """Tell a player something, if it has a tool for that. Raises CallFailed, CallerLate, and as ``calls.ask``."""
        await self._call(url, message, seconds)

    async def _call(self, url: str, message: m.Request, seconds: float, most_bytes: int = 1_048_576) -> ToolGave | None:
        """What the tool for a message gives; None if there is none."""
        tools = await self._client.tools(url, seconds)
        name = _tool(type(message), tools)
        if name is None:
            return None
        arguments: Json = msgspec.json.decode(encode(message))
        return await self._client.call(url, name, arguments, seconds, most_bytes)

    def _known(self, request: m.Request, player_id: str, kind: type[Message]) -> Json:
        now = times.written(self._now())
        return {
            "message_type": message_type(kind),
            "protocol": "league.v2",
            "timestamp": now,
            "sender": sender_of("player", player_id),
            "conversation_id": request.conversation_id,
            "match_id": getattr(request, "match_id", None),
            "player_id": player_id,
            **({"arrival_timestamp": now} if kind is m.GameJoinAck else {}),
        }


def _names(kind: type[Message]) -> tuple[str, ...]:
    """What a tool for a message may be called, our own name for it first."""
    name, *others = BY_REQUEST[kind].names
    return (name, *(other for other in others if other.islower()))


def _tool(kind: type[Message], tools: Mapping[str, Any]) -> str | None:
    return next((name for name in _names(kind) if name in tools), None)
