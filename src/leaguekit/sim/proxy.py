"""A simulated proxy in front of two managers, as HAProxy with ``deploy/haproxy.cfg`` is one.

It asks each manager for its health, and forwards all requests to one that is healthy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from leaguekit.sim.network import Network, SimCaller
from leaguekit.sim.processes import Process
from leaguekit.transport.base import CallerLate, CallFailed, HttpAnswer, NoAnswer, Peer

HEALTH = "/health"
CHECK_SECONDS, CHECK_TIMEOUT_SECONDS = 1.0, 1.0
# After this number of failed checks, a manager gets no more requests.
MAX_FAILED_CHECKS = 2
# Longer than any caller waits.
FORWARD_SECONDS = 50.0
_NO_MANAGER = HttpAnswer(503, b"No server is available to handle this request.")


class Proxy:
    """The proxy at ``url``. ``managers`` are the URLs that it forwards requests to, and ``active`` is that of now."""

    def __init__(self, network: Network, process: Process, url: str, managers: Sequence[str]) -> None:
        self.active: str | None = None
        self._process = process
        self._caller = SimCaller(network, process)
        self._failed = dict.fromkeys(managers, MAX_FAILED_CHECKS)
        self._forwarded: set[asyncio.Task[Any]] = set()
        network.listen(url, process, self._forward_message, self._forward_document)

    async def check(self) -> None:
        """Ask all managers for their health, again and again. One that does not answer delays no other check."""
        await asyncio.gather(*map(self._keep_checking, self._failed))

    async def _keep_checking(self, url: str) -> None:
        while True:
            await self._check(url)
            healthy = [url for url, failed in self._failed.items() if failed < MAX_FAILED_CHECKS]
            active = self.active if self.active in healthy else next(iter(healthy), None)
            if active != self.active:
                self.active = active
                for task in self._forwarded:
                    task.cancel()
            await asyncio.sleep(CHECK_SECONDS)

    async def _check(self, url: str) -> None:
        try:
            answer = await self._caller.post(url.replace("/mcp", HEALTH), b"", CHECK_TIMEOUT_SECONDS)
            is_healthy = answer.status == 200
        except (CallFailed, CallerLate):
            is_healthy = False
        self._failed[url] = 0 if is_healthy else self._failed[url] + 1

    async def _forward_message(self, body: bytes, peer: Peer) -> Any:
        return await self._forward("/mcp" + (f"?{peer.query}" if peer.query else ""), body)

    async def _forward_document(self, path: str, body: bytes) -> HttpAnswer:
        try:
            return await self._forward(path, body)
        except NoAnswer:
            return _NO_MANAGER

    async def _forward(self, path: str, body: bytes) -> HttpAnswer:
        """Forward a request. If the proxy changes to the other manager, the connection ends without an answer."""
        if self.active is None:
            return _NO_MANAGER
        task = self._process.start(self._caller.post(self.active.replace("/mcp", path), body, FORWARD_SECONDS))
        self._forwarded.add(task)
        try:
            await asyncio.wait([task])
            if task.cancelled() or task.exception() is not None:
                raise NoAnswer
            answer: HttpAnswer = task.result()
            return answer
        finally:
            self._forwarded.discard(task)
