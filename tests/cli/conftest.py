"""A fixture that runs a command in this process, because a new process takes half a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from leaguekit.cli import main


class CommandResult(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """Carries out a command in this process."""

    def carry_out(*arguments: object) -> CommandResult:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return CommandResult(code, *capfd.readouterr())

    return carry_out
