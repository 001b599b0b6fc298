"""The API's description for programs, as OpenAPI 3.1: from the table of routes and the shapes of their answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from leaguekit import __version__
from leaguekit.manager.operator import METHOD, Operation
from leaguekit.web import api_types


class Parameter(NamedTuple):
    """What may stand in a path or behind its ?."""

    name: str
    about: str
    default: int | None = None
    most: int | None = None


class Described(NamedTuple):
    """One thing that can be asked for."""

    path: str
    about: str
    shape: type[api_types.Shape]
    parameters: tuple[Parameter, ...] = ()


_MORE: tuple[type[msgspec.Struct], ...] = (api_types.Live, api_types.Change, api_types.Problem, Operation)
_PROBLEMS = {
    "400": "A parameter is wrong",
    "403": "A page of another site asks",
    "404": "There is no such thing",
    "429": "Too many requests",
    "503": "Not now",
}


def document(endpoints: Iterable[Described]) -> dict[str, Any]:
    """The whole description."""
    described = list(endpoints)
    kinds: list[type[msgspec.Struct]] = list(dict.fromkeys([*(one.shape for one in described), *_MORE]))
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    of_kind = dict(zip(kinds, references, strict=True))
    paths: dict[str, Any] = {one.path: {"get": _operation(one, of_kind)} for one in described}
    paths["/events"] = {"get": _stream(of_kind)}
    paths["/mcp"] = {"post": _operator(of_kind[Operation])}
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


def _operation(one: Described, of_kind: dict[type, Any]) -> dict[str, Any]:
    return {
        "summary": one.about,
        "operationId": _name(one.path),
        "parameters": [_parameter(one.path, parameter) for parameter in one.parameters],
        "responses": {"200": _json(one.about, of_kind[one.shape]), "304": {"description": "Not changed"}}
        | {status: _json(about, of_kind[api_types.Problem]) for status, about in _PROBLEMS.items()},
    }


def _name(path: str) -> str:
    return "_".join(part.strip("{}") for part in path.split("/") if part)


def _parameter(path: str, one: Parameter) -> dict[str, Any]:
    in_path = f"{{{one.name}}}" in path
    if in_path and one.most is None:
        schema: dict[str, Any] = {"type": "string"}
    else:
        bounds = {name: value for name, value in (("maximum", one.most), ("default", one.default)) if value is not None}
        schema = {"type": "integer", "minimum": 0, **bounds}
    return {
        "name": one.name,
        "in": "path" if in_path else "query",
        "required": in_path,
        "description": one.about,
        "schema": schema,
    }


def _json(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _stream(of_kind: dict[type, Any]) -> dict[str, Any]:
    events = {"snapshot": of_kind[api_types.Live], "change": of_kind[api_types.Change]}
    return {
        "summary": "The league as it goes",
        "description": (
            "Server-sent events: first `snapshot`, then `change` at most four times a second; each with its sequence "
            "number as `id`. A page that comes back gets a new snapshot, and so does one that was too slow."
        ),
        "operationId": "events",
        "responses": {
            "200": {
                "description": "A stream; the data of its events are JSON",
                "content": {"text/event-stream": {"schema": {"type": "string"}, "x-events": events}},
            },
            "503": _json("Too many are watching", of_kind[api_types.Problem]),
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
