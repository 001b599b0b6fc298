"""Tests of the transport run on both loops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
import uvloop

from tests.transport.running import Run


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    factory = asyncio.SelectorEventLoop if request.param == "asyncio" else uvloop.new_event_loop

    def run(main: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(20):
                return await main

        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(bounded())

    return run
