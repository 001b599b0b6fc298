"""Every requirement is proven by a test or stands in the list of what is still to come, and never in both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.requirements import DOCUMENTS, REQUIREMENTS
from tests.still_to_come import STILL_TO_COME

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def proven(request: pytest.FixtureRequest) -> set[str]:
    """The ids that the tests of this run name; only a run of the whole suite knows them all."""
    collected = {Path(item.path) for item in request.session.items}
    # Files with nothing but long tests are not among them.
    if missing := {path for path in TESTS.rglob("test_*.py") if "mark.long" not in path.read_text()} - collected:
        pytest.skip(f"needs the whole suite; {len(missing)} test files were not collected (run `make test`)")
    return {name for item in request.session.items for mark in item.iter_markers("proves") for name in mark.args}


def test_tests_name_only_requirements_that_exist(proven: set[str]) -> None:
    assert proven - set(REQUIREMENTS) == set()


def test_what_is_still_to_come_exists(proven: set[str]) -> None:
    assert set(STILL_TO_COME) - set(REQUIREMENTS) == set()


def test_every_requirement_is_proven_or_still_to_come(proven: set[str]) -> None:
    assert set(REQUIREMENTS) - proven - set(STILL_TO_COME) == set()


def test_nothing_that_is_proven_is_still_to_come(proven: set[str]) -> None:
    assert proven & set(STILL_TO_COME) == set()


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
