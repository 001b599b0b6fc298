"""The form that one document gives a message, as a JSON Schema composed of that document's field rows."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from tests.documents.rows import Document, Requirement, Rule


def message_types(document: Document) -> list[str]:
    """The messages that a document describes, in its order."""
    named = (row.message for row in document.rows if row.message not in (None, "*"))
    return list(dict.fromkeys(name for name in named if name))


def rows_of(document: Document, message: str) -> list[Requirement]:
    """The rows of one message; several at one path are all to be met."""
    return [row for row in document.rows if row.kind == "field" and row.message == message]


def form(rows: list[Requirement]) -> Rule:
    """One schema out of rows: nested as their paths say."""
    by_head: dict[str, list[tuple[str, Requirement]]] = defaultdict(list)
    for row in rows:
        assert row.path is not None
        found = re.match(r"([^.\[{]+)(\[\]\.?|\{\}|\.)?(.*)", row.path)
        assert found is not None, row.path
        by_head[found[1]].append(((found[2] or "") + found[3], row))
    properties: dict[str, Any] = {}
    required = []
    for head, inner in by_head.items():
        parts: list[Rule] = []
        for rest, row in inner:
            assert row.rule is not None
            if rest == "":
                parts.append(row.rule)
                if row.required:
                    required.append(head)
            elif rest == "{}":
                parts.append({"type": "object", "additionalProperties": row.rule})
            elif rest == "[]":
                parts.append({"type": "array", "items": row.rule})
        members = [_within(row, rest[3:]) for rest, row in inner if rest.startswith("[].")]
        if members:
            parts.append({"if": {"type": "array"}, "then": {"items": form(members)}})
        nested = [_within(row, rest[1:]) for rest, row in inner if rest.startswith(".")]
        if nested:
            parts.append({"if": {"type": "object"}, "then": form(nested)})
        properties[head] = parts[0] if len(parts) == 1 else {"allOf": parts}
    return {"type": "object", "properties": properties, "required": sorted(set(required))}


def _within(row: Requirement, path: str) -> Requirement:
    return Requirement(row.id, row.kind, row.sentence, row.decision, row.message, path, row.rule, row.required)
