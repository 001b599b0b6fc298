"""Every requirement of the five documents, by id. Tests name the ids they prove: ``@pytest.mark.proves("000-L0143")``.

``tests/test_requirements.py`` enforces both directions: each id is proven by a test or stands in
``tests/still_to_come.py``, and no test names an id that does not exist.
"""

from __future__ import annotations

from tests.documents import catalogue_000, contracts_001, general_003, short_002, structures_004
from tests.documents.rows import Requirement

DOCUMENTS = tuple(module.DOCUMENT for module in (catalogue_000, contracts_001, short_002, general_003, structures_004))
REQUIREMENTS: dict[str, Requirement] = {row.id: row for document in DOCUMENTS for row in document.rows}
FIELDS = tuple(row for row in REQUIREMENTS.values() if row.kind == "field")
