"""The OpenAPI 3.1 description of the dashboard's API, generated from the table of routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from leaguekit import __version__
from leaguekit.manager.operator import METHOD
from leaguekit.manager.operator_queries import Operation
from leaguekit.web import api_types
from leaguekit.web.parameters import Parameter


class PageDescription(NamedTuple):
    """The description of a route that answers with a JSON object."""

    summary: str
    response_type: type[api_types.JsonObject]
    parameters: tuple[Parameter, ...] = ()


class StreamDescription(NamedTuple):
    """The description of a route that answers with a stream of events, and the type of each event's data."""

    summary: str
    text: str
    event_types: dict[str, type[api_types.JsonObject]]


Description = PageDescription | StreamDescription

_ERRORS = {
    "400": "A parameter is wrong",
    "403": "A page of another site asks",
    "404": "There is no such thing",
    "429": "Too many requests",
    "503": "Not now",
}


def openapi_document(descriptions: Mapping[str, Description]) -> dict[str, Any]:
    """The whole document, for the routes with these paths, and for POST /mcp."""
    types: dict[type[msgspec.Struct], None] = {}
    for description in descriptions.values():
        if isinstance(description, PageDescription):
            types[description.response_type] = None
        else:
            types |= dict.fromkeys(description.event_types.values())
    types |= dict.fromkeys((api_types.Problem, Operation))
    references, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schemas = dict(zip(types, references, strict=True))
    paths: dict[str, Any] = {}
    for path, description in descriptions.items():
        if isinstance(description, PageDescription):
            paths[path] = {"get": _page(path, description, schemas)}
        else:
            paths[path] = {"get": _stream(path, description, schemas)}
    paths["/mcp"] = {"post": _operator(schemas[Operation])}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A league's dashboard",
            "version": __version__,
            "description": "What everybody may see of a league. Answers carry an ETag; send it back as If-None-Match.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _page(path: str, page: PageDescription, schemas: dict[type, Any]) -> dict[str, Any]:
    return {
        "summary": page.summary,
        "operationId": _operation_id(path),
        "parameters": [_parameter(path, parameter) for parameter in page.parameters],
        "responses": {"200": _json(page.summary, schemas[page.response_type]), "304": {"description": "Not changed"}}
        | {status: _json(text, schemas[api_types.Problem]) for status, text in _ERRORS.items()},
    }


def _operation_id(path: str) -> str:
    return "_".join(part.strip("{}") for part in path.split("/") if part)


def _parameter(path: str, parameter: Parameter) -> dict[str, Any]:
    in_path = f"{{{parameter.name}}}" in path
    if parameter.maximum is None:
        schema: dict[str, Any] = {"type": "string"}
    else:
        schema = {"type": "integer", "minimum": 0, "maximum": parameter.maximum}
        if parameter.default is not None:
            schema["default"] = parameter.default
    return {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "required": in_path,
        "description": parameter.description,
        "schema": schema,
    }


def _json(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _stream(path: str, stream: StreamDescription, schemas: dict[type, Any]) -> dict[str, Any]:
    events = {name: schemas[event_type] for name, event_type in stream.event_types.items()}
    return {
        "summary": stream.summary,
        "description": stream.text,
        "operationId": _operation_id(path),
        "responses": {
            "200": {
                "description": "A stream; the data of its events are JSON",
                "content": {"text/event-stream": {"schema": {"type": "string"}, "x-events": events}},
            },
            "503": _json("Too many are watching", schemas[api_types.Problem]),
        },
    }


def _operator(params: dict[str, Any]) -> dict[str, Any]:
    command = {
        "type": "object",
        "required": ["jsonrpc", "method", "params", "id"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "method": {"const": METHOD},
            "id": {"type": ["integer", "string"]},
            "params": params,
        },
    }
    return {
        "summary": "The operator's commands",
        "description": (
            "JSON-RPC 2.0. Anybody may ask for status, standings and schedule; what changes the league, or shows more "
            "of it, needs the admin token. A wrong command is answered with the list of all."
        ),
        "operationId": "operator",
        "requestBody": {"required": True, "content": {"application/json": {"schema": command}}},
        "responses": {"200": {"description": "A JSON-RPC answer, also to what is refused"}},
    }
