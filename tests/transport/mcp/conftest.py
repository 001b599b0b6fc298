"""Tests of MCP run on the loop that our programs use, each with one limit over all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from leaguekit.agents.serving import new_loop
from tests.transport.running import Run


@pytest.fixture
def run() -> Run:
    def run(main: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(60):
                return await main

        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(bounded())

    return run
