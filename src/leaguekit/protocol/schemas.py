"""JSON Schemas (2020-12) of all messages, generated from the Structs, for agents in other languages."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from leaguekit.protocol import messages
from leaguekit.protocol.messages import EVERY_MESSAGE, message_type

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


@cache
def message_schemas() -> dict[str, Schema]:
    """A self-contained schema for each message type."""
    references, components = msgspec.json.schema_components(EVERY_MESSAGE, ref_template="#/$defs/{name}")
    for name, component in components.items():
        struct = getattr(messages, name)
        if issubclass(struct, messages.Conditional):
            component["allOf"] = [condition.schema() for condition in struct.conditions]
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


def _references(schema: Schema, components: dict[str, Schema]) -> set[str]:
    """The names of all components that a schema refers to, directly or not."""
    names = set(re.findall(r'"#/\$defs/(\w+)"', msgspec.json.encode(schema).decode()))
    return names.union(*(_references(components[name], components) for name in names))
