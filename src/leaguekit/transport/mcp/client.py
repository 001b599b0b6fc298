"""Calls of tools at other people's MCP servers, over the guarded caller: its deadlines, limits and addresses hold.

Only what a call of a tool needs of MCP is spoken here, in both its ways: since 2026-07-28 every request stands alone;
before that a session is opened first. Which of the two a server knows, and its tools, are learned by the first call
and remembered.
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
# What a server says that wants another version, a session, or has forgotten ours; none of it has been acted upon.
_TRY_OTHERWISE = (400, 404, 405, 406, 415)
_ACCEPT = ("accept", "application/json, text/event-stream")
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "leaguekit", "version": __version__}
_SESSION = re.compile(r"[\x21-\x7e]{1,200}")
_encode = msgspec.json.Encoder().encode
_ids = count(1)


class HeaderCaller(Caller, Protocol):
    """A caller that can send other headers than the usual ones; there are none in memory."""

    async def post(
        self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576, headers: Headers = ()
    ) -> HttpAnswer: ...


class ToolResult(NamedTuple):
    """What a tool gave: an object, some other value, or text; or, if it failed, why."""

    value: Any
    is_error: bool


class _Known(NamedTuple):
    """What is remembered of a server: the headers that it wants, and its tools with the schemas of what they take."""

    is_modern: bool
    headers: Headers
    tools: Mapping[str, Json]


class _NotSo(Exception):
    """The server does not speak this way."""


class McpClient:
    """Calls tools at any number of servers."""

    def __init__(self, caller: HeaderCaller) -> None:
        self._caller = caller
        self._known: dict[str, _Known] = {}

    async def tools(self, url: str, seconds: float) -> Mapping[str, Json]:
        """The tools of a server, with the schemas of what they take. Raises as ``call`` does."""
        return (await self._meet(url, _Until(seconds))).tools

    async def call(
        self, url: str, tool: str, arguments: Json, seconds: float, max_bytes: int = 1_048_576
    ) -> ToolResult:
        """Call a tool, within so many seconds in all.

        Raises CallFailed (no answer), CallerLate (our own fault), RpcRefusal (the server refused), ProtocolError (what
        came is no answer of MCP's).
        """
        until = _Until(seconds)
        known = await self._meet(url, until)
        params = {"name": tool, "arguments": _taken(arguments, known.tools.get(tool, {}))}
        try:
            result = await self._request(url, known, "tools/call", params, until, max_bytes=max_bytes)
        except _NotSo:
            # A session that has ended, or a server that was started again in another version.
            self.forget(url)
            known = await self._meet(url, until)
            result = await self._request(url, known, "tools/call", params, until, max_bytes=max_bytes, firmly=True)
        return _given(result)

    def forget(self, url: str) -> None:
        """Meet a server anew at the next call."""
        self._known.pop(url, None)

    async def _meet(self, url: str, until: _Until) -> _Known:
        if (known := self._known.get(url)) is not None:
            return known
        known = _Known(True, (), {})
        try:
            tools = await self._tools(url, known, until)
        except _NotSo:
            known = await self._shake_hands(url, until)
            tools = await self._tools(url, known, until, firmly=True)
        if len(self._known) >= MAX_SERVERS:
            self._known.clear()
        known = self._known[url] = known._replace(tools=tools)
        return known

    async def _tools(self, url: str, known: _Known, until: _Until, *, firmly: bool = False) -> dict[str, Json]:
        tools: dict[str, Json] = {}
        params: Json = {}
        for _ in range(MAX_PAGES):
            page = await self._request(url, known, "tools/list", params, until, firmly=firmly)
            for tool in page.get("tools") or ():
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    schema = tool.get("inputSchema")
                    tools[tool["name"]] = schema if isinstance(schema, dict) else {}
            if not isinstance(page.get("nextCursor"), str):
                break
            params = {"cursor": page["nextCursor"]}
        return tools

    async def _shake_hands(self, url: str, until: _Until) -> _Known:
        """Open a session, as it was done before every request stood alone."""
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
        call_id = next(_ids)
        body = _encode({"jsonrpc": "2.0", "id": call_id, "method": "initialize", "params": params})
        came = await self._caller.post(url, body, until.left(url), headers=(_ACCEPT,))
        agreed = _result(came, call_id, firmly=True).get("protocolVersion")
        version = agreed if isinstance(agreed, str) and _SESSION.fullmatch(agreed) else HANDSHAKE
        headers: Headers = (_ACCEPT, ("mcp-protocol-version", version))
        if came.session:
            if not _SESSION.fullmatch(came.session):
                raise ProtocolError("E041", "The server's mcp-session-id is no plain word.")
            headers = (*headers, ("mcp-session-id", came.session))
        ready = _encode({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self._caller.post(url, ready, until.left(url), headers=headers)
        return _Known(False, headers, {})

    async def _request(
        self,
        url: str,
        known: _Known,
        method: str,
        params: Json,
        until: _Until,
        *,
        max_bytes: int = 1_048_576,
        firmly: bool = False,
    ) -> Json:
        headers = known.headers
        if known.is_modern:
            headers = (_ACCEPT, ("mcp-protocol-version", MODERN), ("mcp-method", method))
            if "name" in params:
                headers = (*headers, ("mcp-name", params["name"]))
            meta = {f"{_META}protocolVersion": MODERN, f"{_META}clientCapabilities": {}, f"{_META}clientInfo": _CLIENT}
            params = params | {"_meta": meta}
        call_id = next(_ids)
        body = _encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        came = await self._caller.post(url, body, until.left(url), max_bytes, headers)
        return _result(came, call_id, firmly=firmly)


class _Until:
    """One limit over all requests of a call."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + seconds

    def left(self, url: str) -> float:
        if (left := self._ends - self._loop.time()) > 0:
            return left
        raise TimedOut(f"{url.partition('?')[0]} took all the time for its greetings", connected=True)


def _result(came: HttpAnswer, call_id: int, *, firmly: bool) -> Json:
    """The result in an answer. Raises _NotSo where the server may only want to be spoken to in the other way."""
    body = _event(came.body, call_id) if came.content_type == "text/event-stream" else came.body
    try:
        result = msgspec.json.decode(read_answer(body, call_id))
    except (RpcRefusal, ProtocolError) as error:
        if came.status in _TRY_OTHERWISE and not firmly:
            raise _NotSo from error
        raise
    if not isinstance(result, dict):
        raise ProtocolError("E041", "The result is no object.")
    return result


def _event(stream: bytes, call_id: int) -> bytes:
    """The answer to a request in a stream of events, behind whatever the server told meanwhile."""
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


def _taken(arguments: Json, schema: Json) -> Json:
    """The arguments that a tool takes: one that is strict would refuse all for one more."""
    fields = schema.get("properties")
    if schema.get("additionalProperties") is False and isinstance(fields, dict):
        return {name: value for name, value in arguments.items() if name in fields}
    return arguments


def _given(result: Json) -> ToolResult:
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
        value = _read("".join(texts))
    # So the SDKs wrap what is no object.
    if isinstance(value, dict) and value.keys() == {"result"}:
        value = value["result"]
    return ToolResult(value, is_error=False)


def _read(text: str) -> Any:
    """What text says as JSON, or the text itself."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text.strip()
