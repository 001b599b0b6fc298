"""An MCP client that calls tools, without the SDK. It has the deadlines, limits and address checks of its caller.

Only the part of MCP that a call of a tool needs is implemented, in both versions: since 2026-07-28 every request is
independent, and before that a session is opened first. The first call to a server finds out which version it has, and
its tools. Both are remembered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol

import msgspec

from leaguekit import __version__
from leaguekit.protocol.decoding import check_text
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import RpcRefusal, read_answer
from leaguekit.transport.base import Caller, Headers, HttpAnswer, TimedOut
from leaguekit.transport.mcp.surface import Json

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
MAX_SERVERS = 4_096
MAX_PAGES = 5
# The HTTP statuses of a server that needs another version or another session. It has not processed the request.
_OTHER_VERSION_STATUSES = (400, 404, 405, 406, 415)
_ACCEPT = ("accept", "application/json, text/event-stream")
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "leaguekit", "version": __version__}
_SESSION = re.compile(r"[\x21-\x7e]{1,200}")
_encode = msgspec.json.Encoder().encode
_ids = count(1)


class HeaderCaller(Caller, Protocol):
    """A caller that can send further headers. Callers in memory cannot."""

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer: ...


class ToolResult(NamedTuple):
    """The result of a tool: an object, another value, or text. If the tool failed, the reason."""

    value: Any
    is_error: bool


class _Server(NamedTuple):
    """What is remembered of a server: the headers that it needs, and the input schemas of its tools by name."""

    is_modern: bool
    headers: Headers
    tools: Mapping[str, Json]


class _OtherVersionNeeded(Exception):
    """The server may need the other version of the protocol, or a new session."""


class McpClient:
    """Calls tools at any number of servers."""

    def __init__(self, caller: HeaderCaller) -> None:
        self._caller = caller
        self._servers: dict[str, _Server] = {}

    async def tools(self, url: str, seconds: float) -> Mapping[str, Json]:
        """The input schemas of the tools of a server, by name. Raises the exceptions of ``call``."""
        return (await self._get_server(url, _Budget(seconds))).tools

    async def call(
        self, url: str, tool: str, arguments: Json, seconds: float, max_bytes: int = 1_048_576
    ) -> ToolResult:
        """Call a tool. ``seconds`` is the limit for all requests of the call.

        Raises CallFailed (there was no answer), CallerLate (this machine was too slow or could not call), RpcRefusal
        (the server refused) or ProtocolError (the answer is not an MCP answer).
        """
        budget = _Budget(seconds)
        server = await self._get_server(url, budget)
        params = {"name": tool, "arguments": _accepted_arguments(arguments, server.tools.get(tool, {}))}
        try:
            result = await self._request(url, server, "tools/call", params, budget, max_bytes=max_bytes)
        except _OtherVersionNeeded:
            # The session has ended, or the server was restarted with another version.
            self.forget(url)
            server = await self._get_server(url, budget)
            result = await self._request(url, server, "tools/call", params, budget, max_bytes=max_bytes, is_final=True)
        return _tool_result(result)

    def forget(self, url: str) -> None:
        """Forget a server. The next call asks again for its version and its tools."""
        self._servers.pop(url, None)

    async def _get_server(self, url: str, budget: _Budget) -> _Server:
        if (server := self._servers.get(url)) is not None:
            return server
        server = _Server(True, (), {})
        try:
            tools = await self._list_tools(url, server, budget)
        except _OtherVersionNeeded:
            server = await self._open_session(url, budget)
            tools = await self._list_tools(url, server, budget, is_final=True)
        if len(self._servers) >= MAX_SERVERS:
            self._servers.clear()
        server = self._servers[url] = server._replace(tools=tools)
        return server

    async def _list_tools(
        self, url: str, server: _Server, budget: _Budget, *, is_final: bool = False
    ) -> dict[str, Json]:
        tools: dict[str, Json] = {}
        params: Json = {}
        for _ in range(MAX_PAGES):
            page = await self._request(url, server, "tools/list", params, budget, is_final=is_final)
            for tool in page.get("tools") or ():
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    schema = tool.get("inputSchema")
                    tools[tool["name"]] = schema if isinstance(schema, dict) else {}
            if not isinstance(page.get("nextCursor"), str):
                break
            params = {"cursor": page["nextCursor"]}
        return tools

    async def _open_session(self, url: str, budget: _Budget) -> _Server:
        """Open a session, for servers of the older version."""
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
        call_id = next(_ids)
        body = _encode({"jsonrpc": "2.0", "id": call_id, "method": "initialize", "params": params})
        response = await self._caller.post(url, body, budget.seconds_left(url), headers=(_ACCEPT,))
        agreed = _result(response, call_id, is_final=True).get("protocolVersion")
        version = agreed if isinstance(agreed, str) and _SESSION.fullmatch(agreed) else HANDSHAKE
        headers: Headers = (_ACCEPT, ("mcp-protocol-version", version))
        if response.session:
            if not _SESSION.fullmatch(response.session):
                raise ProtocolError("E041", "The server's mcp-session-id has invalid characters.")
            headers = (*headers, ("mcp-session-id", response.session))
        notification = _encode({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self._caller.post(url, notification, budget.seconds_left(url), headers=headers)
        return _Server(False, headers, {})

    async def _request(
        self,
        url: str,
        server: _Server,
        method: str,
        params: Json,
        budget: _Budget,
        *,
        max_bytes: int = 1_048_576,
        is_final: bool = False,
    ) -> Json:
        headers = server.headers
        if server.is_modern:
            headers = (_ACCEPT, ("mcp-protocol-version", MODERN), ("mcp-method", method))
            if "name" in params:
                headers = (*headers, ("mcp-name", params["name"]))
            meta = {f"{_META}protocolVersion": MODERN, f"{_META}clientCapabilities": {}, f"{_META}clientInfo": _CLIENT}
            params = params | {"_meta": meta}
        call_id = next(_ids)
        body = _encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        response = await self._caller.post(url, body, budget.seconds_left(url), max_bytes, headers)
        return _result(response, call_id, is_final=is_final)


class _Budget:
    """One time limit for all requests of a call."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + seconds

    def seconds_left(self, url: str) -> float:
        if (seconds_left := self._ends - self._loop.time()) > 0:
            return seconds_left
        raise TimedOut(f"{url.partition('?')[0]} took all the time before the call", connected=True)


def _result(response: HttpAnswer, call_id: int, *, is_final: bool) -> Json:
    """The result in an answer. Raises _OtherVersionNeeded unless ``is_final``, where the other version may help."""
    body = _answer_in_events(response.body, call_id) if response.content_type == "text/event-stream" else response.body
    try:
        result = msgspec.json.decode(read_answer(body, call_id))
    except (RpcRefusal, ProtocolError) as error:
        if response.status in _OTHER_VERSION_STATUSES and not is_final:
            raise _OtherVersionNeeded from error
        raise
    if not isinstance(result, dict):
        raise ProtocolError("E041", "The result is not an object.")
    return result


def _answer_in_events(stream: bytes, call_id: int) -> bytes:
    """The answer to a request in a stream of events, which may contain notifications before it."""
    for data in _events(stream):
        try:
            check_text(data)
            found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, ProtocolError):
            continue
        if bytes(found.get("id", b"")) == b"%d" % call_id and "method" not in found:
            return data
    raise ProtocolError("E041", "The stream of events ended without an answer.")


def _events(stream: bytes) -> Iterator[bytes]:
    data: list[bytes] = []
    for line in [*stream.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []


def _accepted_arguments(arguments: Json, schema: Json) -> Json:
    """The arguments without those that the tool does not know, if its schema forbids further arguments."""
    fields = schema.get("properties")
    if schema.get("additionalProperties") is False and isinstance(fields, dict):
        return {name: value for name, value in arguments.items() if name in fields}
    return arguments


def _tool_result(result: Json) -> ToolResult:
    content = result.get("content")
    texts = [
        part["text"]
        for part in (content if isinstance(content, list) else ())
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    if result.get("isError"):
        return ToolResult(" ".join(texts)[:500], is_error=True)
    value = result.get("structuredContent")
    if value is None:
        value = _decode_or_text("".join(texts))
    # The SDKs wrap a result that is not an object in this way.
    if isinstance(value, dict) and value.keys() == {"result"}:
        value = value["result"]
    return ToolResult(value, is_error=False)


def _decode_or_text(text: str) -> Any:
    """The JSON value of a text, or the text itself if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text.strip()
