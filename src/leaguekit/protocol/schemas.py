"""JSON Schemas (2020-12) of all messages, generated from the Structs, for agents in other languages."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from leaguekit.protocol.messages import EVERY_MESSAGE, Conditional, Message, message_type

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


@cache
def message_schemas() -> dict[str, Schema]:
    """A self-contained schema for each message type."""
    references, components = msgspec.json.schema_components(EVERY_MESSAGE, ref_template="#/$defs/{name}")
    for struct in _structs(EVERY_MESSAGE):
        if issubclass(struct, Conditional):
            components[struct.__name__]["allOf"] = [condition.schema() for condition in struct.conditions]
    for component in components.values():
        for field in component["properties"].values():
            if "enum" in field:
                # The decoder accepts any value here, because a rule checks it later. The enumeration is the rule.
                field.pop("anyOf", None)
    schemas = {}
    for message, reference in zip(EVERY_MESSAGE, references, strict=True):
        own = components[reference["$ref"].rpartition("/")[2]]
        nested = {name: components[name] for name in sorted(_references(own, components))}
        name = message_type(message)
        schemas[name] = {"$schema": DIALECT, **own, "title": name, **({"$defs": nested} if nested else {})}
    return schemas


def index() -> Schema:
    """A schema that accepts any message, by reference to the files of the messages."""
    return {
        "$schema": DIALECT,
        "title": "league.v2",
        "description": "Any message of league.v2",
        "oneOf": [{"$ref": f"{name}.json"} for name in message_schemas()],
    }


def encoded(schema: Schema) -> bytes:
    """The content of the file in which a schema is published."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _structs(messages: tuple[type[Message], ...]) -> list[type[msgspec.Struct]]:
    """The messages and all Structs in their fields."""
    found: dict[type[msgspec.Struct], None] = {}

    def collect(kind: msgspec.inspect.Type) -> None:
        match kind:
            case msgspec.inspect.StructType(cls=struct, fields=fields):
                if struct not in found:
                    found[struct] = None
                    for field in fields:
                        collect(field.type)
            case msgspec.inspect.ListType(item_type=item):
                collect(item)
            case msgspec.inspect.UnionType(types=types):
                for one in types:
                    collect(one)
            case msgspec.inspect.Metadata(type=inner):
                collect(inner)

    for kind in msgspec.inspect.multi_type_info(messages):
        collect(kind)
    return list(found)


def _references(schema: Any, components: dict[str, Schema]) -> set[str]:
    """The names of all components that a schema refers to, directly or not."""
    names: set[str] = set()
    if isinstance(schema, dict):
        if (reference := schema.get("$ref")) is not None:
            name = reference.rpartition("/")[2]
            names |= {name} | _references(components[name], components)
        for value in schema.values():
            names |= _references(value, components)
    elif isinstance(schema, list):
        for value in schema:
            names |= _references(value, components)
    return names
