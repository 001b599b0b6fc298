"""The methods of league.v2 as MCP tools. They have the same messages, handler and checks as without MCP."""

from __future__ import annotations

from functools import cache

import msgspec

from leaguekit.protocol.ids import AgentRole
from leaguekit.protocol.messages import MatchMessageAck, Message, message_type
from leaguekit.protocol.methods import METHODS, Method
from leaguekit.protocol.rpc import RpcRefusal, RpcRequest, read_answer, request
from leaguekit.protocol.schemas import message_schemas
from leaguekit.transport.base import Handler, TooManyRequests
from leaguekit.transport.mcp.surface import Json, Tool, ToolContext, ToolRefused
from leaguekit.transport.mcp.typed import shorten_schema

_encode = msgspec.json.Encoder().encode
_READ_ONLY = ("league_query",)
# To send one of these messages again, or a player's message of a match, has no further effect.
_IDEMPOTENT = ("notify_", "update_", "start_match")
_CALL_ID = 1


def method_tools(role: AgentRole, handler: Handler) -> list[Tool]:
    """A tool for each method that an agent of that role answers."""
    return [_tool(method, handler) for method in METHODS if role in method.receivers]


def _tool(method: Method, handler: Handler) -> Tool:
    async def call(arguments: Json, context: ToolContext) -> Json:
        try:
            rpc_request = RpcRequest(request(method.name, _encode(arguments), _CALL_ID))
            body = await handler(rpc_request, context.peer)
            answer: Json = msgspec.json.decode(read_answer(body or b"", _CALL_ID))
        except TooManyRequests as refused:
            raise ToolRefused(str(refused)) from None
        except RpcRefusal as refusal:
            raise ToolRefused(_encode(refusal.error).decode()) from None
        return answer

    request_type, answer_type = message_type(method.request), message_type(method.answer)
    return Tool(
        name=method.name,
        title=method.name.replace("_", " ").capitalize(),
        description=f"league.v2: {_summary(method.request)} Takes {request_type}, gives {answer_type}.",
        input=_schema(method.request),
        output=_schema(method.answer),
        call=call,
        is_read_only=method.name in _READ_ONLY,
        is_idempotent=method.name.startswith((*_READ_ONLY, *_IDEMPOTENT)) or method.answer is MatchMessageAck,
    )


def _summary(message: type[Message]) -> str:
    """The first line of a message's documentation."""
    return (message.__doc__ or message_type(message)).strip().split("\n")[0]


@cache
def _schema(message: type[Message]) -> Json:
    schema: Json = shorten_schema(message_schemas()[message_type(message)])
    return schema
