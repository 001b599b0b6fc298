"""The form that one document gives a message, as a JSON Schema composed of that document's field rows."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema_rs

from tests.documents.rows import Document, Requirement, Rule

# What we send that a document's own form would not have: (document, type, path) and the decision that settles it.
# The rows at these paths are settled otherwise, except those in DESCRIBES_OTHERS.
EXCEPTIONS = {
    ("001", "REFEREE_REGISTER_RESPONSE", "referee_id"): 14,
    ("001", "LEAGUE_REGISTER_RESPONSE", "player_id"): 14,
    ("002", "REFEREE_REGISTER_RESPONSE", "referee_id"): 14,
    ("002", "LEAGUE_REGISTER_RESPONSE", "player_id"): 14,
    ("003", "LEAGUE_REGISTER_RESPONSE", "player_id"): 14,
    ("001", "ROUND_ANNOUNCEMENT_ACK", "player_id"): 22,
    ("001", "LEAGUE_QUERY", "query_type"): 29,
    ("001", "LEAGUE_QUERY_RESPONSE", "query_type"): 29,
    ("001", "LEAGUE_QUERY_RESPONSE", "standings"): 29,
    ("001", "LEAGUE_QUERY_RESPONSE", "current_round"): 29,
    ("001", "GAME_OVER", "game_result.choices.P01"): 33,
    ("001", "GAME_OVER", "game_result.choices.P02"): 33,
    ("001", "GAME_OVER", "game_result.drawn_number"): 33,
    ("001", "GAME_OVER", "game_result.number_parity"): 33,
    ("001", "MATCH_RESULT_REPORT", "result.details.choices.P02"): 33,
    ("001", "MATCH_RESULT_REPORT", "result.details.drawn_number"): 33,
    ("002", "GAME_OVER", "game_result.drawn_number"): 33,
    ("002", "GAME_OVER", "game_result.number_parity"): 33,
}
# Exceptions in messages that the document does not describe: acknowledgements of referees, and answers to queries that
# it does not have. What it does describe has its form.
DESCRIBES_OTHERS = {
    ("001", "ROUND_ANNOUNCEMENT_ACK", "player_id"),
    ("001", "ROUND_COMPLETED_ACK", "player_id"),
    ("001", "LEAGUE_COMPLETED_ACK", "player_id"),
    ("001", "LEAGUE_QUERY_RESPONSE", "query_type"),
    ("001", "LEAGUE_QUERY_RESPONSE", "standings"),
    ("001", "LEAGUE_QUERY_RESPONSE", "current_round"),
}
# Beside the exceptions that the samples need: what only the recorded league shows, and the decision that settles it.
MORE_EXCEPTIONS = {
    ("000", "LEAGUE_QUERY", "query_type"): 29,
    ("000", "LEAGUE_QUERY_RESPONSE", "query_type"): 29,
    ("004", "LEAGUE_QUERY", "query_type"): 29,
    ("004", "LEAGUE_QUERY_RESPONSE", "query_type"): 29,
    ("004", "LEAGUE_QUERY_RESPONSE", "data.next_match"): 29,
    ("001", "ROUND_COMPLETED_ACK", "player_id"): 22,
    ("001", "LEAGUE_COMPLETED_ACK", "player_id"): 22,
    ("002", "LEAGUE_ERROR", "affected_player"): 13,
}


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


def departures(document: Document, message: str, value: dict[str, Any]) -> set[str]:
    """The paths at which a message does not have the form that the document gives it."""
    found = set()
    for error in _validator(document, message).iter_errors(value):
        path = [str(step) for step in error.instance_path if not isinstance(step, int)]
        missing = [error.kind.property] if error.schema_path[-1] == "required" else []
        found.add(".".join(path + missing))
    return found


@cache
def _validator(document: Document, message: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(form(rows_of(document, message) + rows_of(document, "*")))


def _within(row: Requirement, path: str) -> Requirement:
    return replace(row, path=path)
