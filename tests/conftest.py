"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import postgres_server, postgres_url  # noqa: F401  fixtures

# Examples are drawn the same way in every run of the suite. `make long`, `make fuzz` and `make soak` look further.
for name, examples in (("suite", 30), ("long", 150)):
    settings.register_profile(name, max_examples=examples, derandomize=True, deadline=None)
for name, examples in (("fuzz", 100_000), ("soak", 10_000)):
    settings.register_profile(
        name, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
settings.load_profile(os.environ.get("LEAGUEKIT_HYPOTHESIS", "suite"))

# A shell that starts the suite in the background lets it ignore Ctrl-C. The programs under test must not inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Exclude the tests from garbage collections: they stay to the end, and a collection would visit all of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
