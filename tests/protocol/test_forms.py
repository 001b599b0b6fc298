"""Our messages against every document's own form, and every document's field rules against our decoder."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import InvalidMessage
from tests.documents.forms import (
    DESCRIBES_OTHERS,
    EXCEPTIONS,
    MORE_EXCEPTIONS,
    departures,
    form,
    message_types,
)
from tests.documents.rows import Document, Requirement
from tests.requirements import DOCUMENTS, FIELDS
from tests.samples import SAMPLES, samples_of


def _documented() -> Iterator[tuple[Document, str, m.Message]]:
    for document in DOCUMENTS:
        for name in message_types(document):
            for sample in samples_of(name):
                yield document, name, sample


def _departures(document: Document, name: str, sample: m.Message) -> set[tuple[str, str, str]]:
    paths = departures(document, name, msgspec.json.decode(encode(sample)))
    return {(document.number, name, path) for path in paths}


@pytest.mark.parametrize(
    ("document", "name", "sample"),
    [pytest.param(*case, id=f"{case[0].number}-{case[1]}-{number}") for number, case in enumerate(_documented())],
)
def test_what_we_send_has_the_form_of_each_document(document: Document, name: str, sample: m.Message) -> None:
    assert _departures(document, name, sample) - set(EXCEPTIONS) == set()


def test_every_exception_to_a_documents_form_is_needed() -> None:
    assert set(EXCEPTIONS) == {path for case in _documented() for path in _departures(*case)}


def test_there_is_a_sample_of_every_message() -> None:
    assert {m.message_type(sample) for sample in SAMPLES} == set(m.BY_TYPE)


@pytest.mark.proves("001-L1963")
@pytest.mark.parametrize("sample", SAMPLES, ids=m.message_type)
def test_what_we_send_can_be_read_back_and_satisfies_its_published_schema(sample: m.Message) -> None:
    assert decode(encode(sample)) == sample
    assert violations(msgspec.json.decode(encode(sample))) == []


# Values of every type, among them the edges of every range that the documents name.
CANDIDATES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 4, 11, 1.5, 2**31, -(2**31) - 1, "", "1", "x", "even", "Even", "true", "x" * 51,
    [], [1], {}, {"x": 1}, "P1", "REF1", "R0M1", "1.0", "ftp://localhost/mcp", "2025-01-15T10:30:00+02:00", "E1",
)  # fmt: skip
BY_RULE = {"parity_choice", "query_type"}

# Where a document's rule gives way when we read, and the decision that settles it: (type, path), "*" for any type.
GIVES_WAY = {
    ("*", "auth_token"): 14,  # null in a rejected registration
    ("LEAGUE_REGISTER_RESPONSE", "auth_token"): 14,
    ("REFEREE_REGISTER_RESPONSE", "auth_token"): 14,
    ("GAME_ERROR", "affected_player"): 13,
    ("GAME_ERROR", "player_id"): 13,
    ("LEAGUE_ERROR", "affected_player"): 13,
    ("LEAGUE_ERROR", "context.action"): 13,
    ("LEAGUE_ERROR", "context.expected_format"): 13,
    ("LEAGUE_ERROR", "context.player_id"): 13,
    ("LEAGUE_ERROR", "context.provided_token"): 13,
    ("LEAGUE_QUERY_RESPONSE", "data.next_match"): 29,
}
# Required, but judged with the sender's identity and not with the fields: absent is E011.
JUDGED_LATER = {("LEAGUE_QUERY", "auth_token"): 10}

# What was chosen is judged by the rules of the game, for the general protocol knows none.
GENERAL = [row for row in FIELDS if not (row.path or "").endswith("choices{}")]
RULES_AT: dict[tuple[str | None, str | None], list[Requirement]] = {}
for _row in FIELDS:
    RULES_AT.setdefault((_row.message, _row.path), []).append(_row)


def _rules_at(row: Requirement) -> list[Requirement]:
    """What every document says of the same field."""
    return RULES_AT[row.message, row.path]


def _required_by_all(row: Requirement) -> bool:
    """Whether every document that describes the message, or all messages, requires the field."""
    documents = [one for one in DOCUMENTS if row.message == "*" or row.message in message_types(one)]
    rules = {one.id[:3]: one.required for one in _rules_at(row)}
    return all(rules.get(document.number, row.message == "*") for document in documents)


def _accepts(rule: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.is_valid(rule, value)


@functools.cache
def _carriers(message: str | None, path: str) -> list[bytes]:
    """Of each message of that type, or of all types, a sample that has the field."""
    names = m.BY_TYPE if message == "*" else (message,)
    found = []
    for name in names:
        assert name is not None
        for sample in map(encode, samples_of(name)):
            if list(_places(msgspec.json.decode(sample), path)):
                found.append(sample)
                break
    return found


def _places(value: Any, path: str) -> Iterator[tuple[Any, str | int, str]]:
    """Where a path leads in a message: (container, key, path as we report it)."""
    steps = re.findall(r"[^.\[\]{}]+|\[\]|\{\}", path)
    found: list[tuple[Any, str | int, str]] = [({"": value}, "", "")]
    for step in steps:
        inside = [(container[key], name) for container, key, name in found]
        if step == "[]":
            found = [(each, index, f"{name}[{index}]") for each, name in inside for index in range(len(each))]
        elif step == "{}":
            found = [(each, key, f"{name}.{key}") for each, name in inside for key in each]
        else:
            found = [(each, step, f"{name}.{step}".lstrip(".")) for each, name in inside if step in each]
    yield from found


def _refused_at(value: dict[str, Any], reported: str) -> bool:
    """Whether a broken message is refused, by the schema and by the decoder, with a violation at that path."""
    found = [violation.path for violation in violations(value)]
    named = any(reported in path.split(" or ") or path.startswith((f"{reported}.", f"{reported}[")) for path in found)
    if reported in BY_RULE:
        return named
    try:
        decode(msgspec.json.encode(value))
    except InvalidMessage as error:
        assert named, (reported, error.detail)
        return True
    assert not named, (reported, found)
    return False


@functools.cache
def _refusals(message: str | None, path: str, candidate: int) -> list[tuple[str, bool]]:
    """Where a candidate was put into samples, and whether each was refused. Many rows describe the same field."""
    found = []
    for carrier in _carriers(message, path):
        value = msgspec.json.decode(carrier)
        container, key, reported = next(_places(value, path))
        container[key] = CANDIDATES[candidate]
        found.append((reported, _refused_at(value, reported)))
    return found


# Settled otherwise although what we send has the form that the row describes. Other tests show what we do instead.
IN_FORM = {
    "000-L0064", "000-L0491", "000-L1371", "000-L1372", "001-L0087", "003-L0094", "003-L0215", "003-L0237", "004-L0494",
}  # fmt: skip


def _case(row: Requirement) -> Any:
    mark = pytest.mark.settles(row.id) if row.is_otherwise else pytest.mark.proves(row.id)
    return pytest.param(row, id=row.id, marks=() if row.id in IN_FORM else mark)


def _rows_of_messages() -> Iterator[Any]:
    """The rows of each message together."""
    for name in dict.fromkeys(row.message for row in GENERAL):
        rows = [row for row in GENERAL if row.message == name]
        marks = [mark for row in rows for mark in _case(row).marks]
        yield pytest.param(rows, id="every message" if name == "*" else str(name), marks=marks)


ROWS_OF_EACH_MESSAGE = pytest.mark.parametrize("rows", [*_rows_of_messages()])


def _rows_at(exceptions: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Document, type and path, as rows have them."""
    return {(number, name, re.sub(r"choices\.P\d+$", "choices{}", path)) for number, name, path in exceptions}


def test_the_fields_that_are_settled_otherwise_are_those_that_we_send_in_another_form() -> None:
    settled = {(row.id[:3], row.message, row.path) for row in FIELDS if row.is_otherwise and row.id not in IN_FORM}
    assert settled == _rows_at({*EXCEPTIONS, *MORE_EXCEPTIONS} - DESCRIBES_OTHERS)


@pytest.mark.parametrize("row", [_case(row) for row in FIELDS])
def test_a_field_that_we_send_is_as_its_row_says_unless_a_decision_settles_it(row: Requirement) -> None:
    (document,) = (one for one in DOCUMENTS if row in one.rows)
    names = message_types(document) if row.message == "*" else [str(row.message)]
    sent = [msgspec.json.decode(encode(sample)) for name in names for sample in samples_of(name)]
    assert [place for value in sent for place in _places(value, row.path or "")]
    has_the_form = all(jsonschema_rs.is_valid(form([row]), value) for value in sent)
    assert has_the_form == ((row.id[:3], row.message, row.path) not in _rows_at(EXCEPTIONS))


@ROWS_OF_EACH_MESSAGE
def test_a_value_that_a_field_rule_forbids_is_refused_by_path(rows: list[Requirement]) -> None:
    for row in rows:
        assert row.rule is not None
        forbidden = [number for number, candidate in enumerate(CANDIDATES) if not _accepts(row.rule, candidate)]
        cases = [
            (CANDIDATES[number], *case)
            for number in forbidden
            for case in _refusals(row.message, row.path or "", number)
        ]
        assert cases, row.id
        for candidate, reported, is_refused in cases:
            if not is_refused:
                elsewhere = any(one.rule is not None and _accepts(one.rule, candidate) for one in _rules_at(row))
                settled = (row.message, row.path) in GIVES_WAY or (elsewhere and row.decision is not None)
                assert settled, f"{row.id}: {candidate!r} is taken at {reported}"


@ROWS_OF_EACH_MESSAGE
def test_a_field_that_every_document_requires_must_be_there(rows: list[Requirement]) -> None:
    for row in rows:
        for carrier in _carriers(row.message, row.path or ""):
            value = msgspec.json.decode(carrier)
            container, key, reported = next(_places(value, row.path or ""))
            del container[key]
            of_a_map = (row.path or "").endswith("{}")
            refused = _refused_at(value, reported.rpartition(".")[0] if of_a_map else reported)
            if _required_by_all(row) and row.decision is None and (row.message, row.path) not in JUDGED_LATER:
                assert refused, f"{row.id}: {reported} may be left out"
