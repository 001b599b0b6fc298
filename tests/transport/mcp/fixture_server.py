"""All that the official conformance suite wants to find in a server, behind our own server and its router.

The suite names every tool, resource and prompt here, and what each must do. Run it: it prints its port, and serves
until it is ended.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
from mcp.server.lowlevel.server import Server as McpServer
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from leaguekit.transport.mcp.lazy_app import LazyMcpApp, Served
from leaguekit.transport.server.server import Server, listen
from tests.transport.running import MAX_BYTES, TOO_LARGE, echo, of_requests

Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MISSING_CAPABILITY = -32021
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}

bus = InMemorySubscriptionBus()


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def image() -> Json:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri: str, mime_type: str, words: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def given(*content: Json) -> Json:
    return {"content": list(content), "resultType": "complete"}


def form(**fields: Json) -> Json:
    return {"type": "object", "properties": fields, "required": list(fields)}


def elicitation(message: str, **fields: Json) -> Json:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": form(**fields)}}


def sampling(words: str) -> Json:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


ROOTS = {"method": "roots/list", "params": {}}
WORD = {"type": "string"}


def wanted(state: str | None = None, **requests: Json) -> Json:
    """More is wanted of the client before there is a result."""
    return {"resultType": "input_required", "inputRequests": requests} | ({"requestState": state} if state else {})


Handler = Callable[[Any, Any], Awaitable[Json]]


def saying(*content: Json) -> Handler:
    async def says(_context: Any, _params: Any) -> Json:
        return given(*content)

    return says


def needing(state: str | None = None, **requests: Json) -> Handler:
    """A tool that has a result once the client has answered every request, and shows the state that it was given."""

    async def needs(_context: Any, params: Any) -> Json:
        if not requests.keys() <= (params.input_responses or {}).keys() or (state and params.request_state != state):
            return wanted(state, **requests)
        return given(text("state-ok"))

    return needs


async def logs(context: Any, _params: Any) -> Json:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await asyncio.sleep(0.05)
    return given(text("It has logged."))


async def progresses(context: Any, _params: Any) -> Json:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return given(text("It is done."))


async def samples(context: Any, params: Any) -> Json:
    content = t.TextContent(text=params.arguments["prompt"])
    answer = await context.session.create_message(
        [t.SamplingMessage(role="user", content=content)], max_tokens=100, related_request_id=context.request_id
    )
    return given(text(f"LLM response: {answer.content.text}"))


def eliciting(message: str | None, schema: Json) -> Handler:
    async def elicits(context: Any, params: Any) -> Json:
        said = message or params.arguments["message"]
        answer = await context.session.elicit_form(said, schema, related_request_id=context.request_id)
        return given(text(f"Elicitation completed: action={answer.action}, content={answer.content}"))

    return elicits


async def reconnects(context: Any, _params: Any) -> Json:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(0.2)
    return given(text("The stream was closed and taken up again."))


async def fails(_context: Any, _params: Any) -> Json:
    return given(text("This tool intentionally returns an error for testing")) | {"isError": True}


async def in_rounds(_context: Any, params: Any) -> Json:
    if params.request_state == "round-2":
        return given(text("Three rounds."))
    if params.request_state == "round-1":
        return wanted("round-2", step2=elicitation("Step 2: What is your favorite color?", color=WORD))
    return wanted("round-1", step1=elicitation("Step 1: What is your name?", name=WORD))


def declared(context: Any) -> Json:
    """The capabilities that a client declares in a request without a session."""
    return (context.params or {}).get("_meta", {}).get(CAPABILITIES, {})


async def only_what_it_can(context: Any, _params: Any) -> Json:
    could = {"sampling": sampling("Hello"), "elicitation": elicitation("Name?", name=WORD), "roots": ROOTS}
    return wanted(**{name: request for name, request in could.items() if name in declared(context)})


async def needs_sampling(context: Any, _params: Any) -> Json:
    if "sampling" not in declared(context):
        raise MCPError(MISSING_CAPABILITY, "This needs sampling.", {"requiredCapabilities": {"sampling": {}}})
    return given(text("The client can sample."))


def publishing(event: Any) -> Handler:
    async def publishes(_context: Any, _params: Any) -> Json:
        await bus.publish(event)
        return given(text("It has changed."))

    return publishes


NAME = elicitation("What is your name?", name=WORD)
CONFIRM = elicitation("Please confirm", ok={"type": "boolean"})
TOOLS: dict[str, Handler] = {
    "test_simple_text": saying(text("This is a simple text response for testing.")),
    "test_image_content": saying(image()),
    "test_audio_content": saying({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": saying(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": saying(
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_tool_with_logging": logs,
    "test_logging_tool": logs,
    "test_error_handling": fails,
    "test_tool_with_progress": progresses,
    "test_sampling": samples,
    "test_elicitation": eliciting(None, form(username=WORD, email=WORD)),
    "test_elicitation_sep1034_defaults": eliciting("Defaults", {"type": "object", "properties": DEFAULTS}),
    "test_elicitation_sep1330_enums": eliciting("Enums", {"type": "object", "properties": ENUMS}),
    "test_reconnection": reconnects,
    "json_schema_2020_12_tool": saying(text("It takes much.")),
    "test_x_mcp_header": saying(text("The header was right.")),
    "test_input_required_result_elicitation": needing(user_name=NAME),
    "test_input_required_result_sampling": needing(capital_question=sampling("What is the capital of France?")),
    "test_input_required_result_list_roots": needing(client_roots=ROOTS),
    "test_input_required_result_request_state": needing("asked", confirm=CONFIRM),
    "test_input_required_result_tampered_state": needing("asked", confirm=CONFIRM),
    "test_input_required_result_multiple_inputs": needing(
        "asked", user_name=NAME, greeting=sampling("Generate a greeting"), client_roots=ROOTS
    ),
    "test_input_required_result_multi_round": in_rounds,
    "test_input_required_result_capabilities": only_what_it_can,
    "test_streaming_elicitation": needing(user_name=NAME),
    "test_missing_capability": needs_sampling,
    "test_trigger_tool_change": publishing(ToolsListChanged()),
    "test_trigger_prompt_change": publishing(PromptsListChanged()),
}
ARGUMENTS: dict[str, Json] = {
    "test_sampling": form(prompt=WORD),
    "test_elicitation": form(message=WORD),
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_x_mcp_header": form(region=WORD | {"x-mcp-header": "Region"}),
}
RESOURCES: dict[str, Json] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "It may change."},
}


async def list_tools(_context: Any, _params: Any) -> t.ListToolsResult:
    nothing: Json = {"type": "object", "properties": {}}
    tools = [t.Tool(name=name, description=name, input_schema=ARGUMENTS.get(name, nothing)) for name in TOOLS]
    return t.ListToolsResult(tools=tools)


async def call_tool(context: Any, params: t.CallToolRequestParams) -> Any:
    if params.name not in TOOLS:
        raise MCPError(t.INVALID_PARAMS, f"There is no tool {params.name}.")
    return await TOOLS[params.name](context, params)


async def list_resources(_context: Any, _params: Any) -> t.ListResourcesResult:
    shown = [
        t.Resource(uri=uri, name=uri, description=uri, mime_type=content["mimeType"])
        for uri, content in RESOURCES.items()
    ]
    return t.ListResourcesResult(resources=shown)


async def list_templates(_context: Any, _params: Any) -> t.ListResourceTemplatesResult:
    template = t.ResourceTemplate(uri_template="test://template/{id}/data", name="template", description="By id")
    return t.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_context: Any, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
    uri = str(params.uri)
    if uri in RESOURCES:
        content: Json = RESOURCES[uri]
    elif uri.startswith("test://template/"):
        number = uri.split("/")[3]
        words = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        content = {"mimeType": "application/json", "text": words}
    else:
        raise MCPError(t.INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    return t.ReadResourceResult.model_validate({"contents": [{"uri": uri, **content}]})


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_prompts(_context: Any, _params: Any) -> t.ListPromptsResult:
    prompts = [
        t.Prompt(name=name, description=name, arguments=[t.PromptArgument(name=one, required=True) for one in names])
        for name, names in PROMPTS.items()
    ]
    return t.ListPromptsResult(prompts=prompts)


async def get_prompt(_context: Any, params: t.GetPromptRequestParams) -> Any:
    arguments = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
            content = [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            content = [image(), text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            if "user_context" not in (params.input_responses or {}):
                return wanted(user_context=elicitation("What context should the prompt use?", context=WORD))
            content = [text("With that context.")]
        case _:
            raise MCPError(t.INVALID_PARAMS, f"There is no prompt {params.name}.")
    return {"messages": [{"role": "user", "content": one} for one in content], "resultType": "complete"}


async def complete(_context: Any, _params: Any) -> t.CompleteResult:
    return t.CompleteResult(completion=t.Completion(values=["paris", "park"], total=2, has_more=False))


async def nothing(_context: Any, _params: Any) -> t.EmptyResult:
    return t.EmptyResult()


class Events(EventStore):
    """Events that a client may ask for again."""

    def __init__(self) -> None:
        self._events: list[tuple[str, t.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: t.JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        first = int(last_event_id)
        if not 0 < first <= len(self._events):
            return None
        stream = self._events[first - 1][0]
        for number, (of, message) in enumerate(self._events[first:], first + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def fixture() -> McpServer[Any]:
    server = McpServer(
        "conformance-fixture",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=nothing,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="fixture"))
    return server


@asynccontextmanager
async def served() -> AsyncIterator[Served]:
    """With sessions, for the older revisions' checks of what only they have."""
    manager = StreamableHTTPSessionManager(fixture(), event_store=Events(), retry_interval=100)
    async with manager.run():
        yield Served(manager.handle_request, lambda: None)


async def main() -> None:
    sock = listen("127.0.0.1", 0)
    server = Server(of_requests(echo), sockets=[sock], max_bytes=MAX_BYTES, too_large=TOO_LARGE, mcp=LazyMcpApp(served))
    await server.start()
    print(server.port, flush=True)  # noqa: T201 - for the process that started it
    await asyncio.Event().wait()


if __name__ == "__main__":
    # The suite checks what is deprecated as well.
    warnings.simplefilter("ignore")
    asyncio.run(main())
