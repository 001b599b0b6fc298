"""Fixtures of the tests of language models: the stand-in server, and an environment without settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llm_stand_in import StandIn, forget_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_settings(monkeypatch)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running
