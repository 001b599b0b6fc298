"""Every requirement is in exactly one state: proven, settled otherwise by a decision, or still to come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.requirements import DOCUMENTS, OTHERWISE, REQUIREMENTS, Counts, counts
from tests.still_to_come import STILL_TO_COME

TESTS = Path(__file__).parent


def _named(request: pytest.FixtureRequest, mark: str) -> set[str]:
    """The ids that the tests of this run name; only a run of the whole suite knows them all."""
    collected = {Path(item.path) for item in request.session.items}
    # Files with nothing but long tests are not among them.
    if missing := {path for path in TESTS.rglob("test_*.py") if "mark.long" not in path.read_text()} - collected:
        pytest.skip(f"needs the whole suite; {len(missing)} test files were not collected (run `make test`)")
    return {name for item in request.session.items for one in item.iter_markers(mark) for name in one.args}


@pytest.fixture(scope="module")
def proven(request: pytest.FixtureRequest) -> set[str]:
    return _named(request, "proves")


@pytest.fixture(scope="module")
def settled(request: pytest.FixtureRequest) -> set[str]:
    return _named(request, "settles")


def test_tests_name_only_requirements_that_exist(proven: set[str], settled: set[str]) -> None:
    assert (proven | settled) - set(REQUIREMENTS) == set()


def test_what_is_still_to_come_exists() -> None:
    assert set(STILL_TO_COME) - set(REQUIREMENTS) == set()
    assert len(set(STILL_TO_COME)) == len(STILL_TO_COME)


def test_every_requirement_is_proven_settled_otherwise_or_still_to_come(proven: set[str], settled: set[str]) -> None:
    assert set(REQUIREMENTS) - proven - settled - set(STILL_TO_COME) == set()


def test_no_requirement_is_in_two_states(proven: set[str], settled: set[str]) -> None:
    assert proven & settled == set()
    assert (proven | settled) & set(STILL_TO_COME) == set()


def test_a_test_proves_what_we_do_instead_of_each_requirement_that_is_settled_otherwise(settled: set[str]) -> None:
    assert settled == set(OTHERWISE) - set(STILL_TO_COME)


def test_a_requirement_that_is_settled_otherwise_names_its_decision() -> None:
    assert [name for name, row in OTHERWISE.items() if row.decision is None] == []


def test_each_requirement_is_counted_once() -> None:
    for document in DOCUMENTS:
        assert sum(counts(document)) == len(document.rows)
    assert Counts(*map(sum, zip(*map(counts, DOCUMENTS), strict=True))) == Counts(
        len(REQUIREMENTS) - len(OTHERWISE) - len(STILL_TO_COME), len(OTHERWISE), len(STILL_TO_COME)
    )


def test_no_two_requirements_share_an_id() -> None:
    assert len(REQUIREMENTS) == sum(len(document.rows) for document in DOCUMENTS)


def test_every_acceptance_criterion_that_document_000_marks_is_there() -> None:
    rows = [row for row in DOCUMENTS[0].rows if row.kind == "criterion"]
    in_user_stories = [row for row in rows if "000-L1452" <= row.id <= "000-L1495"]
    assert len(rows) - len(in_user_stories) == 110


def test_every_sentence_is_one_sentence_of_a_decision_that_exists() -> None:
    for row in REQUIREMENTS.values():
        assert row.sentence.endswith("."), row.id
        assert row.decision is None or 1 <= row.decision <= 35, row.id
