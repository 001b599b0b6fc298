"""The schemas that we publish: whole, described, and never losing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from leaguekit.protocol.fields import REQUIREMENT
from leaguekit.protocol.messages import BY_TYPE, SPECIFIED, message_type
from leaguekit.protocol.schemas import encoded, index, message_schemas
from tests.documents import catalogue_000
from tests.requirements import REQUIREMENTS

RELEASED = Path(__file__).parent.parent / "released_schemas.json"
SCHEMAS = message_schemas()
# Fields of our own stand on a decision (docs/why.md), not on a line of a document.
DECISIONS = {f"decision {number}" for number in range(1, 37)}


def _objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield schema["title"], schema
    yield from schema.get("$defs", {}).items()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_json_schema_2020_12(name: str) -> None:
    schema = json.loads(encoded(SCHEMAS[name]))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_message_and_every_field_is_described_and_names_its_requirement(name: str) -> None:
    for where, part in _objects(SCHEMAS[name]):
        assert part["description"], where
        for field, schema in part["properties"].items():
            if field != "message_type":
                assert schema["description"], (where, field)
                assert schema[REQUIREMENT] in REQUIREMENTS or schema[REQUIREMENT] in DECISIONS, (where, field)


@pytest.mark.settles("000-L0050", "000-L1371", "004-L0544")
def test_the_18_types_of_the_catalogue_are_there_under_their_names_and_ours_beside_them() -> None:
    assert len(SPECIFIED) == 18
    assert {message_type(message) for message in SPECIFIED} == set(catalogue_000.TYPES["enum"])
    own = {"MATCH_ASSIGNMENT", "MATCH_PROGRESS", "MATCH_VOID_REPORT", "GAME_MOVE_CALL", "GAME_MOVE_RESPONSE"}
    assert own <= set(BY_TYPE) - set(catalogue_000.TYPES["enum"])


def test_the_index_accepts_any_message_by_the_files_beside_it() -> None:
    assert [part["$ref"] for part in index()["oneOf"]] == [f"{name}.json" for name in BY_TYPE]


def _values(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field and every allowed value, by the path to it."""
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            yield f"{path}.{name}", None
            yield from _values(inner, f"{path}.{name}")
        for value in schema.get("enum", ()):
            yield f"{path}=", value
        for member in ("items", "additionalProperties"):
            yield from _values(schema.get(member), f"{path}[]")
        for option in schema.get("anyOf", ()):
            yield from _values(option, path)
        if "type" in schema:
            yield f"{path}:", schema["type"]
        for name, inner in schema.get("$defs", {}).items():
            yield from _values(inner, f"{path}#{name}")


def _required(schema: dict[str, Any]) -> set[tuple[str, str]]:
    return {(where, field) for where, part in _objects(schema) for field in part.get("required", ())}


@pytest.mark.proves("000-L1593", "000-L1594", "000-L1595")
def test_no_schema_has_lost_a_type_a_field_or_a_value_since_the_last_release() -> None:
    released = json.loads(RELEASED.read_bytes())
    assert set(released) <= set(SCHEMAS)
    for name, old in released.items():
        lost = {(path, json.dumps(value)) for path, value in _values(old)} - {
            (path, json.dumps(value)) for path, value in _values(SCHEMAS[name])
        }
        assert not lost, name
        # What is new itself may ask for as much as it likes: whatever has it is new, too.
        were = {where for where, _ in _objects(old)}
        newly_required = {one for one in _required(SCHEMAS[name]) - _required(old) if one[0] in were}
        assert not newly_required, name
