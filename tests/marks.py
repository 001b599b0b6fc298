"""The mark of a test that proves many requirements, written below the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def proves(test: Callable[..., Any], *requirement_ids: str) -> None:
    """Mark a test as ``@pytest.mark.proves`` does, so that a reader sees the test before its ids."""
    pytest.mark.proves(*requirement_ids)(test)
