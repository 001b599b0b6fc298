"""JSON Schema 2020-12 of every message, made from the Structs: what agent authors in other languages work from."""

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
                # A value judged by rule is taken as anything by the decoder; what is right is the enumeration.
                field.pop("anyOf", None)
    schemas = {}
    for message, reference in zip(EVERY_MESSAGE, references, strict=True):
        own = components[reference["$ref"].rpartition("/")[2]]
        nested = {name: components[name] for name in sorted(_references(own, components))}
        name = message_type(message)
        schemas[name] = {"$schema": DIALECT, **own, "title": name, **({"$defs": nested} if nested else {})}
    return schemas


def index() -> Schema:
    """One schema that accepts any message, by reference to the files beside it."""
    return {
        "$schema": DIALECT,
        "title": "league.v2",
        "description": "Any message of league.v2",
        "oneOf": [{"$ref": f"{name}.json"} for name in message_schemas()],
    }


def encoded(schema: Schema) -> bytes:
    """A schema as the file we publish."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _structs(messages: tuple[type[Message], ...]) -> list[type[msgspec.Struct]]:
    """The messages and every Struct that stands in one of their fields."""
    found: dict[type[msgspec.Struct], None] = {}

    def look(kind: msgspec.inspect.Type) -> None:
        match kind:
            case msgspec.inspect.StructType(cls=struct, fields=fields):
                if struct not in found:
                    found[struct] = None
                    for field in fields:
                        look(field.type)
            case msgspec.inspect.ListType(item_type=item):
                look(item)
            case msgspec.inspect.UnionType(types=types):
                for one in types:
                    look(one)
            case msgspec.inspect.Metadata(type=inner):
                look(inner)

    for kind in msgspec.inspect.multi_type_info(messages):
        look(kind)
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
