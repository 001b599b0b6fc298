"""Tools with Structs for what they take and give: the schemas come from them, and so does the judging of arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from leaguekit.transport.mcp.surface import Json, Tool, ToolContext, ToolRefused

TakesT = TypeVar("TakesT", bound=msgspec.Struct)
# That of a timestamp says in 800 characters what its example says in twenty.
_LONG_PATTERN = 200


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """No arguments."""


def typed_tool(
    name: str,
    description: str,
    takes: type[TakesT],
    gives: type[msgspec.Struct],
    call: Callable[[TakesT, ToolContext], Awaitable[msgspec.Struct]],
    *,
    is_read_only: bool = False,
    is_idempotent: bool = False,
) -> Tool:
    """A tool whose ``call`` gets a Struct and gives one."""

    async def called(arguments: Json, visit: ToolContext) -> Json:
        try:
            taken = msgspec.convert(arguments, takes)
        except msgspec.ValidationError as error:
            raise ToolRefused(f"The arguments of {name} are wrong: {error}.") from None
        given: Json = msgspec.to_builtins(await call(taken, visit))
        return given

    return Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=description,
        input=object_schema(takes),
        output=object_schema(gives),
        call=called,
        is_read_only=is_read_only,
        is_idempotent=is_idempotent,
    )


def object_schema(kind: type[msgspec.Struct]) -> Json:
    """The schema of a Struct, with an object and no reference at its root: older clients take no other."""
    whole = msgspec.json.schema(kind)
    components = whole["$defs"]
    root = components.pop(kind.__name__)
    return slim({**root, **({"$defs": components} if components else {})})


def slim(schema: Json) -> Json:
    """A schema without what a model has to pay for and cannot use; what it sends is judged by the whole one."""
    kept: Json = _slim(schema)
    return kept


def _slim(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _slim(value) for name, value in schema.items() if not name.startswith("x-")}
    if len(str(kept.get("pattern", ""))) > _LONG_PATTERN:
        del kept["pattern"]
    return kept
