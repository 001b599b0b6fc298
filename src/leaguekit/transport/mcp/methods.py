"""The methods of league.v2 as tools: the same messages, the same handler, and so the same checks as without MCP."""

from __future__ import annotations

from functools import cache

import msgspec

from leaguekit.protocol.ids import AgentRole
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import METHODS, Method
from leaguekit.protocol.rpc import RpcRefusal, RpcRequest, read_answer, request
from leaguekit.protocol.schemas import message_schemas
from leaguekit.transport.base import Handler, TooManyRequests
from leaguekit.transport.mcp.surface import Json, Tool, ToolContext, ToolRefused
from leaguekit.transport.mcp.typed import slim

_encode = msgspec.json.Encoder().encode
_ONLY_READ = ("league_query",)
# An agent that is told the same again is none the wiser.
_REPEATABLE = ("notify_", "update_", "start_match", "game_join_ack", "choose_parity_response", "game_move_response")
_CALL_ID = 1


def method_tools(role: AgentRole, handler: Handler) -> list[Tool]:
    """A tool for each method that an agent of that role answers."""
    return [_tool(method, handler) for method in METHODS if role in method.receivers]


def _tool(method: Method, handler: Handler) -> Tool:
    async def call(arguments: Json, visit: ToolContext) -> Json:
        try:
            asked = RpcRequest(request(method.name, _encode(arguments), _CALL_ID))
            body = await handler(asked, visit.peer)
            answer: Json = msgspec.json.decode(read_answer(body or b"", _CALL_ID))
        except TooManyRequests as refused:
            raise ToolRefused(str(refused)) from None
        except RpcRefusal as refusal:
            raise ToolRefused(_encode(refusal.error._asdict()).decode()) from None
        return answer

    taken, given = message_type(method.request), message_type(method.answer)
    return Tool(
        name=method.name,
        title=method.name.replace("_", " ").capitalize(),
        description=f"league.v2: {_sentence(method.request)} Takes {taken}, gives {given}.",
        input=_schema(method.request),
        output=_schema(method.answer),
        call=call,
        is_read_only=method.name in _ONLY_READ,
        is_idempotent=method.name in _ONLY_READ or method.name.startswith(_REPEATABLE),
    )


def _sentence(message: type[Message]) -> str:
    """What a message is for."""
    return (message.__doc__ or message_type(message)).strip().split("\n")[0]


@cache
def _schema(message: type[Message]) -> Json:
    return slim(message_schemas()[message_type(message)])
