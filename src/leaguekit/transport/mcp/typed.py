"""Tools whose arguments and results are Structs. The schemas and the checks of arguments come from the Structs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from leaguekit.transport.mcp.surface import Json, Tool, ToolContext, ToolRefused

TakesT = TypeVar("TakesT", bound=msgspec.Struct)
# Longer patterns are removed from schemas. That of a timestamp has 800 characters, and its example says the same.
_MAX_PATTERN_LENGTH = 200


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
    """A tool whose ``call`` takes and returns a Struct."""

    async def call_with_dict(arguments: Json, context: ToolContext) -> Json:
        try:
            taken = msgspec.convert(arguments, takes)
        except msgspec.ValidationError as error:
            raise ToolRefused(f"The arguments of {name} are wrong: {error}.") from None
        result: Json = msgspec.to_builtins(await call(taken, context))
        return result

    return Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=description,
        input=object_schema(takes),
        output=object_schema(gives),
        call=call_with_dict,
        is_read_only=is_read_only,
        is_idempotent=is_idempotent,
    )


def object_schema(kind: type[msgspec.Struct]) -> Json:
    """The schema of a Struct, with an object at its root. Older clients do not accept a reference there."""
    schema = msgspec.json.schema(kind)
    components = schema["$defs"]
    root = components.pop(kind.__name__)
    shortened: Json = shorten_schema(root | ({"$defs": components} if components else {}))
    return shortened


def shorten_schema(schema: Any) -> Any:
    """A schema without parts that cost tokens and do not help a model. Arguments are checked by the full schema."""
    if isinstance(schema, list):
        return [shorten_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: shorten_schema(value) for name, value in schema.items() if not name.startswith("x-")}
    if len(str(kept.get("pattern", ""))) > _MAX_PATTERN_LENGTH:
        del kept["pattern"]
    return kept
