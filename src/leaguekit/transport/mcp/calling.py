"""A caller that also reaches players which are plain MCP servers.

A request of league.v2 is sent as a call of a tool, and the result of the tool is returned as the answer. The caller
need not know.

A server is first called with the plain request that every agent gets. It is recognised by the way in which the SDKs
refuse that request. From then on it is called by MCP directly. The author of such a player writes only a function or
two, so the fields of an answer beside the player's own answer are added here. They are known from the request and from
the endpoint that was called. A player without a tool for the invitation accepts every invitation. Other messages for
which it has no tool are not sent to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from leaguekit.match.move_messages import BY_RESPONSE
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_NAME, Method
from leaguekit.protocol.rpc import NULL, RpcError, RpcRefusal, failure, success
from leaguekit.transport.base import Headers, HttpAnswer, TimedOut
from leaguekit.transport.mcp.client import MAX_SERVERS, HeaderCaller, McpClient, ToolResult
from leaguekit.transport.mcp.surface import Json

# For this time a server that only looked like an MCP server is not tried again by MCP.
MCP_RETRY_SECONDS = 30.0
_METHOD_NOT_FOUND, _INTERNAL_ERROR = -32601, -32603
# A fast check, before an answer is decoded.
_METHOD_NOT_FOUND_TEXT = b"%d" % _METHOD_NOT_FOUND
_EVENTS = "text/event-stream"
_encode = msgspec.json.Encoder().encode

# The field that has the player's own answer. If the result of a tool is not an object, it is the value of this field.
_ANSWER_FIELDS: dict[type[Message], str] = {
    m.GameJoinAck: "accept",
    **{response: messages.field for response, messages in BY_RESPONSE.items()},
}


class _Request(msgspec.Struct):
    method: str
    params: Json
    id: Raw = Raw(NULL)


class _Refusal(msgspec.Struct):
    class Error(msgspec.Struct):
        code: int
        data: str

    error: Error


class _Call(NamedTuple):
    """A request of league.v2 that a tool may answer."""

    method: Method
    params: Json
    id: bytes


class McpCaller:
    """Calls every agent that ``caller`` can call, and MCP servers as well."""

    def __init__(self, caller: HeaderCaller, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._caller = caller
        self._now = now
        self._client = McpClient(caller)
        # The URLs of MCP servers; and of servers that only looked like one, with the time of the next attempt.
        self._servers: set[str] = set()
        self._retry_at: dict[str, float] = {}

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer:
        """As ``Caller.post``."""
        started_at = monotonic()
        plain: HttpAnswer | None = None
        if url not in self._servers:
            plain = await self._caller.post(url, body, seconds, max_bytes, headers)
            if not is_mcp_server(plain) or started_at < self._retry_at.get(url, started_at):
                return plain
        call = _read_request(body)
        if call is None:
            return plain or await self._caller.post(url, body, seconds, max_bytes, headers)
        seconds_left = seconds - (monotonic() - started_at)
        if seconds_left <= 0:
            raise TimedOut(f"{url.partition('?')[0]} left no time to be called by MCP", connected=True)
        return await self._by_mcp(url, call, seconds_left, max_bytes, plain)

    async def close(self) -> None:
        await self._caller.close()

    async def _by_mcp(
        self, url: str, call: _Call, seconds: float, max_bytes: int, plain: HttpAnswer | None
    ) -> HttpAnswer:
        try:
            if len(self._servers) + len(self._retry_at) >= MAX_SERVERS:
                self._servers.clear()
                self._retry_at.clear()
            tools = await self._client.tools(url, seconds)
        except (RpcRefusal, ProtocolError) as error:
            # It only looked like an MCP server, or is one no longer.
            self._servers.discard(url)
            self._retry_at[url] = monotonic() + MCP_RETRY_SECONDS
            return plain or HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, str(error)[:200], None)))
        self._servers.add(url)
        try:
            result = await self._call_tool(url, call, tools, seconds, max_bytes)
        except RpcRefusal as refusal:
            self._client.forget(url)
            return HttpAnswer(200, failure(call.id, refusal.error))
        except ProtocolError as error:
            self._client.forget(url)
            return HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, error.detail[:200], None)))
        if result.is_error:
            detail = f"The tool failed: {str(result.value)[:200]}"
            return HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, detail, None)))
        return HttpAnswer(200, success(call.id, _encode(self._complete_answer(call, result.value))))

    async def _call_tool(
        self, url: str, call: _Call, tools: Mapping[str, Any], seconds: float, max_bytes: int
    ) -> ToolResult:
        names = [name for name in call.method.names if name.islower()]
        tool = next((name for name in names if name in tools), None)
        if tool is not None:
            return await self._client.call(url, tool, call.params, seconds, max_bytes)
        if call.method.answer in BY_RESPONSE:
            detail = f"There is no tool {names[0]} here; there are {', '.join(tools) or 'none'}."
            raise RpcRefusal(RpcError(_METHOD_NOT_FOUND, detail[:500], None))
        return ToolResult({}, is_error=False)

    def _complete_answer(self, call: _Call, value: Any) -> Json:
        """The answer of a player with all of its fields."""
        kind, params, now = call.method.answer, call.params, times.format_timestamp(self._now())
        field = _ANSWER_FIELDS.get(kind)
        fields: Json = value if isinstance(value, dict) else {} if field is None else {field: value}
        if kind is m.GameJoinAck:
            fields = {"accept": True, "arrival_timestamp": now} | fields
        match_fields = {name: params[name] for name in ("match_id", "player_id", "conversation_id") if name in params}
        player_id = params.get("player_id")
        sender = {"sender": sender_of("player", player_id)} if isinstance(player_id, str) else {}
        known = {"message_type": message_type(kind), "protocol": "league.v2", "timestamp": now}
        return known | sender | match_fields | fields


def is_mcp_server(answer: HttpAnswer) -> bool:
    """Whether an answer to a plain request is typical of a server that uses an MCP SDK.

    Such a server requires more headers or a session. If it requires neither, it refuses the method with an error whose
    data is the name of the method.
    """
    if answer.status == 200 and answer.content_type != _EVENTS:
        return _METHOD_NOT_FOUND_TEXT in answer.body and _names_method(answer.body)
    return (
        answer.status == 406
        or answer.content_type == _EVENTS
        or (answer.status == 400 and b"session" in answer.body[:2_000].lower())
    )


def _names_method(body: bytes) -> bool:
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except DECODE_ERRORS:
        return False
    return error.code == _METHOD_NOT_FOUND and error.data in BY_NAME


def _read_request(body: bytes) -> _Call | None:
    """The request in a body, or None if it is not a request of league.v2."""
    try:
        request = msgspec.json.decode(body, type=_Request)
    except DECODE_ERRORS:
        return None
    method = BY_NAME.get(request.method)
    return None if method is None else _Call(method, request.params, bytes(request.id))
