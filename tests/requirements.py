"""Every requirement of the five documents, by id. Each is in one of three states:

- proven: tests show it and name its id, ``@pytest.mark.proves("000-L0143")``;
- settled otherwise: a decision of docs/why.md settles it in another way, and tests show what we do instead,
  ``@pytest.mark.settles("001-L1205")``;
- still to come: it is listed in ``tests/still_to_come.py``.

``tests/test_requirements.py`` enforces that each requirement is in exactly one state, and that no test names an id that
does not exist.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.documents import catalogue_000, contracts_001, general_003, short_002, structures_004
from tests.documents.rows import Document, Requirement
from tests.still_to_come import STILL_TO_COME

DOCUMENTS = tuple(module.DOCUMENT for module in (catalogue_000, contracts_001, short_002, general_003, structures_004))
REQUIREMENTS: dict[str, Requirement] = {row.id: row for document in DOCUMENTS for row in document.rows}
OTHERWISE: dict[str, Requirement] = {name: row for name, row in REQUIREMENTS.items() if row.is_otherwise}
FIELDS = tuple(row for row in REQUIREMENTS.values() if row.kind == "field")


class Counts(NamedTuple):
    """How many requirements are in each state."""

    proven: int
    otherwise: int
    still_to_come: int


def counts(document: Document) -> Counts:
    names = {row.id for row in document.rows}
    to_come = names & set(STILL_TO_COME)
    otherwise = names & set(OTHERWISE) - to_come
    return Counts(len(names - to_come - otherwise), len(otherwise), len(to_come))
