"""Serves a surface with the official MCP SDK. To import this takes most of a second and 35 MB: only ``lazy_app`` does.

Every request is independent (``stateless``), so that nothing is kept of a client that has disconnected. Answers are
event streams for clients that accept them, because only streams can report progress. Host names and origins are checked
before a request comes here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from leaguekit import __version__
from leaguekit.transport.base import Peer
from leaguekit.transport.mcp.lazy_app import Served
from leaguekit.transport.mcp.surface import (
    ChangeNotifier,
    Json,
    Resource,
    Surface,
    Tool,
    ToolContext,
    ToolRefused,
    UnknownResource,
)
from leaguekit.transport.server.connection_base import BaseConnection, connection_of
from leaguekit.transport.server.origin_headers import address_block

# A stream needs no slot among the connections of its server.
MAX_STREAMS = 200
MAX_STREAMS_PER_PEER = 50
# The maximum number of waiting notifications of a stream.
MAX_WAITING = 100
_JSON = "application/json"

Context = ServerRequestContext[Any, Any]


@asynccontextmanager
async def served(surface: Surface, max_bytes: int) -> AsyncIterator[Served]:
    """An application that serves a surface, within this context."""
    # The SDK logs every request at INFO.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    streams = None if surface.changes is None else _Streams(surface.changes)
    server = _server(surface, streams)
    in_events, in_json = (
        StreamableHTTPSessionManager(server, stateless=True, json_response=is_json, max_request_body_size=max_bytes)
        for is_json in (False, True)
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if _accepts_events(scope):
            await in_events.handle_request(scope, receive, send)
            return
        # A client that names no type at all can read JSON.
        headers = [header for header in scope["headers"] if header[0] != b"accept"]
        scope = dict(scope, headers=[*headers, (b"accept", _JSON.encode())])
        await in_json.handle_request(scope, receive, send)

    async with in_events.run(), in_json.run():
        yield Served(app, _do_nothing if streams is None else streams.end)


def _accepts_events(scope: Scope) -> bool:
    """Whether the client of a request accepts event streams."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    return any(kind in accepted for kind in (b"text/event-stream", b"text/*", b"*/*"))


def _do_nothing() -> None: ...


def _server(surface: Surface, streams: _Streams | None) -> Server[Any]:
    tools = {tool.name: tool for tool in surface.tools}

    async def list_tools(_context: Context, _params: t.PaginatedRequestParams | None) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[_describe_tool(tool) for tool in surface.tools])

    async def call_tool(context: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise _unknown("tool", params.name, tools)
        tool_context = ToolContext(_peer(context), context.session.report_progress, _connection(context))
        try:
            result = await tool.call(params.arguments or {}, tool_context)
        except ToolRefused as refused:
            return t.CallToolResult(content=[_text(str(refused))], is_error=True)
        if isinstance(result, str):
            return t.CallToolResult(content=[_text(result)])
        return t.CallToolResult(content=[_text(_encode(result))], structured_content=result)

    with_resources: dict[str, Any] = {} if not surface.resources else _resources(surface)
    with_prompts: dict[str, Any] = {} if not surface.prompts else _prompts(surface)
    return Server(
        surface.name,
        version=__version__,
        title=surface.title,
        instructions=surface.instructions,
        get_tool_input_schema=lambda name: tools[name].input if name in tools else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=streams,
        **with_resources,
        **with_prompts,
    )


def _resources(surface: Surface) -> dict[str, Any]:
    resources = [resource for resource in surface.resources if not resource.is_template]
    templates = [resource for resource in surface.resources if resource.is_template]

    async def list_resources(_context: Context, _params: t.PaginatedRequestParams | None) -> t.ListResourcesResult:
        return t.ListResourcesResult(resources=[t.Resource(uri=one.uri, **_describe(one)) for one in resources])

    async def list_templates(
        _context: Context, _params: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        described = [t.ResourceTemplate(uri_template=one.uri, **_describe(one)) for one in templates]
        return t.ListResourceTemplatesResult(resource_templates=described)

    async def read(_context: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        uri = str(params.uri)
        for resource in surface.resources:
            if (names := resource.match_uri(uri)) is not None:
                try:
                    text = _encode(await resource.read(names))
                except UnknownResource as unknown:
                    raise MCPError(t.INVALID_PARAMS, str(unknown), {"uri": uri}) from None
                return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, mime_type=_JSON, text=text)])
        raise _unknown("resource", uri, [resource.uri for resource in surface.resources], {"uri": uri})

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read,
    }


def _prompts(surface: Surface) -> dict[str, Any]:
    prompts = {prompt.name: prompt for prompt in surface.prompts}

    async def list_prompts(_context: Context, _params: t.PaginatedRequestParams | None) -> t.ListPromptsResult:
        described = [
            t.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[t.PromptArgument(name=name, description=text) for name, text in prompt.arguments.items()],
            )
            for prompt in surface.prompts
        ]
        return t.ListPromptsResult(prompts=described)

    async def get_prompt(_context: Context, params: t.GetPromptRequestParams) -> t.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise _unknown("prompt", params.name, prompts)
        message = t.PromptMessage(role="user", content=_text(prompt.text(params.arguments or {})))
        return t.GetPromptResult(description=prompt.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}


class _Streams:
    """Streams of notifications about changed resources, with limits in total and per peer."""

    def __init__(self, changes: ChangeNotifier) -> None:
        self._handler = ListenHandler(_Bus(changes), max_subscriptions=MAX_STREAMS, max_buffered_events=MAX_WAITING)
        self._open_streams: Counter[str] = Counter()

    async def __call__(
        self, context: Context, params: t.SubscriptionsListenRequestParams
    ) -> t.SubscriptionsListenResult:
        host = address_block(_peer(context).host)
        if self._open_streams[host] >= MAX_STREAMS_PER_PEER:
            raise MCPError(t.INTERNAL_ERROR, f"At most {MAX_STREAMS_PER_PEER} streams are open to one address.")
        self._open_streams[host] += 1
        if (connection := _connection(context)) is not None:
            connection.release()
        try:
            return await self._handler(context, params)
        finally:
            self._open_streams[host] -= 1
            if not self._open_streams[host]:
                del self._open_streams[host]

    def end(self) -> None:
        """End all streams."""
        self._handler.close()


class _Bus:
    """Adapts a ChangeNotifier to the SDK."""

    def __init__(self, changes: ChangeNotifier) -> None:
        self._changes = changes

    async def publish(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated):
            self._changes.notify(event.uri)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        return self._changes.subscribe(lambda uri: listener(ResourceUpdated(uri)))


def _unknown(what: str, name: str, known: Iterable[str], data: Json | None = None) -> MCPError:
    sentence = f"There is no {what} {name[:100]!r} here; there are {', '.join(known)}."
    return MCPError(t.INVALID_PARAMS, sentence, data)


def _peer(context: Context) -> Peer:
    scope = context.request.scope if context.request is not None else {}
    host, _ = scope.get("client") or ("", 0)
    return Peer(host, scope.get("query_string", b"").decode("latin-1"), scope.get("server") or ("", 0))


def _connection(context: Context) -> BaseConnection | None:
    return None if context.request is None else connection_of(context.request.scope)


def _describe_tool(tool: Tool) -> t.Tool:
    return t.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output,
        annotations=t.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=False,
            idempotent_hint=tool.is_read_only or tool.is_idempotent,
            open_world_hint=False,
        ),
    )


def _describe(resource: Resource) -> Json:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": _JSON,
    }


def _text(text: str) -> t.TextContent:
    return t.TextContent(text=text)


def _encode(value: Json) -> str:
    return msgspec.json.encode(value).decode()
