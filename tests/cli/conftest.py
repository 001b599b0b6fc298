"""What tests of commands share: carrying one out in this process, for a process of its own takes half a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from leaguekit.cli import main


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Carries out a command in this process."""

    def carry_out(*arguments: object) -> Said:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Said(code, *capfd.readouterr())

    return carry_out
