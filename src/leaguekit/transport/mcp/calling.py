"""A caller that also reaches players which are plain MCP servers: a request of league.v2 goes out as the call of a
tool, and what the tool gives comes back as the answer. Whoever calls need not know.

A server is met by the plain request that everybody gets, and known by how the SDKs refuse it; from then on it is called
by MCP at once. Whoever writes such a player writes a function or two, so what an answer has beside the player's own
word is put in here: who answers is known by the endpoint that was called, and all else by the question. A player
without a tool for the invitation comes to every match; what it has no tool for at all it need not hear.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

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

DOUBT_SECONDS = 30.0
_METHOD_NOT_FOUND, _INTERNAL_ERROR = -32601, -32603
# To look for it costs a plain answer next to nothing.
_NO_SUCH_METHOD = b"%d" % _METHOD_NOT_FOUND
_EVENTS = "text/event-stream"
_encode = msgspec.json.Encoder().encode

# The field that has a player's own word: what a tool gives that is no object is that.
_WORD: dict[type[Message], str] = {
    m.GameJoinAck: "accept",
    m.ChooseParityResponse: "parity_choice",
    m.GameMoveResponse: "move_data",
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
    """Calls whoever ``caller`` can call, and MCP servers as well."""

    def __init__(self, caller: HeaderCaller, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._caller = caller
        self._now = now
        self._client = McpClient(caller)
        # Who has been found to be an MCP server; and who only looked like one, with when that may be looked at again.
        self._servers: set[str] = set()
        self._doubtful: dict[str, float] = {}

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer:
        """As ``Caller.post``."""
        began = asyncio.get_running_loop().time()
        plain: HttpAnswer | None = None
        if url not in self._servers:
            plain = await self._caller.post(url, body, seconds, max_bytes, headers)
            if not is_mcp_server(plain) or began < self._doubtful.get(url, began):
                return plain
        call = _read(body)
        if call is None:
            return plain or await self._caller.post(url, body, seconds, max_bytes, headers)
        rest = seconds - (asyncio.get_running_loop().time() - began)
        if rest <= 0:
            raise TimedOut(f"{url.partition('?')[0]} left no time to be called by MCP", connected=True)
        return await self._by_mcp(url, call, rest, max_bytes, plain)

    async def close(self) -> None:
        await self._caller.close()

    async def _by_mcp(
        self, url: str, call: _Call, seconds: float, max_bytes: int, plain: HttpAnswer | None
    ) -> HttpAnswer:
        try:
            if len(self._servers) + len(self._doubtful) >= MAX_SERVERS:
                self._servers.clear()
                self._doubtful.clear()
            tools = await self._client.tools(url, seconds)
        except (RpcRefusal, ProtocolError) as error:
            # It only looked like one, or is one no longer.
            self._servers.discard(url)
            self._doubtful[url] = asyncio.get_running_loop().time() + DOUBT_SECONDS
            return plain or HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, str(error)[:200], None)))
        self._servers.add(url)
        try:
            gave = await self._given(url, call, tools, seconds, max_bytes)
        except RpcRefusal as refusal:
            self._client.forget(url)
            return HttpAnswer(200, failure(call.id, refusal.error))
        except ProtocolError as error:
            self._client.forget(url)
            return HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, error.detail[:200], None)))
        if gave.is_error:
            detail = f"The tool failed: {str(gave.value)[:200]}"
            return HttpAnswer(200, failure(call.id, RpcError(_INTERNAL_ERROR, detail, None)))
        return HttpAnswer(200, success(call.id, _encode(self._completed(call, gave.value))))

    async def _given(
        self, url: str, call: _Call, tools: Mapping[str, Any], seconds: float, max_bytes: int
    ) -> ToolResult:
        names = [name for name in call.method.names if name.islower()]
        tool = next((name for name in names if name in tools), None)
        if tool is not None:
            return await self._client.call(url, tool, call.params, seconds, max_bytes)
        if call.method.answer in (m.ChooseParityResponse, m.GameMoveResponse):
            detail = f"There is no tool {names[0]} here; there are {', '.join(tools) or 'none'}."
            raise RpcRefusal(RpcError(_METHOD_NOT_FOUND, detail[:500], None))
        return ToolResult({}, is_error=False)

    def _completed(self, call: _Call, value: Any) -> Json:
        """An answer with all that is known of it."""
        kind, params, now = call.method.answer, call.params, times.format_timestamp(self._now())
        word = _WORD.get(kind)
        given: Json = value if isinstance(value, dict) else {} if word is None else {word: value}
        if kind is m.GameJoinAck:
            given = {"accept": True, "arrival_timestamp": now} | given
        of_match = {name: params[name] for name in ("match_id", "player_id", "conversation_id") if name in params}
        player_id = params.get("player_id")
        sender = {"sender": sender_of("player", player_id)} if isinstance(player_id, str) else {}
        known = {"message_type": message_type(kind), "protocol": "league.v2", "timestamp": now}
        return known | sender | of_match | given


def is_mcp_server(answer: HttpAnswer) -> bool:
    """Whether an answer to a plain request is as the SDKs' servers give it: they want more headers, or a session; and
    where they want neither, they know no such method, and name it as nobody else does."""
    if answer.status == 200 and answer.content_type != _EVENTS:
        return _NO_SUCH_METHOD in answer.body and _names_method(answer.body)
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


def _read(body: bytes) -> _Call | None:
    """The request in a body, if it is one of league.v2's."""
    try:
        request = msgspec.json.decode(body, type=_Request)
    except DECODE_ERRORS:
        return None
    method = BY_NAME.get(request.method)
    return None if method is None else _Call(method, request.params, bytes(request.id))
