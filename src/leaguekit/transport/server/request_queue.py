"""Two queues: of MCP requests and batches that are not started yet, and of connections that have sent much.

An MCP request or a batch may take a hundred times as long as a call of league.v2, and uvloop accepts one connection in
each turn of the loop. Many of them in a row would delay new connections. So would many connections that each send many
requests at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import NamedTuple

# The turns of the loop between the starts of two requests. Without other work they take 0.1 ms.
TURNS_BETWEEN = 64
# The maximum number of waiting requests, in total and per address.
MAX_WAITING = 400
MAX_WAITING_PER_ADDRESS = 100
# The time per turn of the loop for all connections that have sent more than one request.
SECONDS_PER_TURN = 0.0005


class _Request(NamedTuple):
    start: Callable[[], None]
    close_for_other: Callable[[], None]


class RequestQueue:
    """Starts requests one after the other, with turns of the loop between them. The addresses take turns."""

    def __init__(self) -> None:
        # Requests by address, in the order in which the addresses are served.
        self._waiting: dict[str, dict[Hashable, _Request]] = {}
        self._count = 0
        self._is_running = False

    def has_room(self, address: str) -> bool:
        """Whether another request may wait. It may take the place of a request of an address with more requests."""
        waiting = len(self._waiting.get(address, ()))
        if waiting >= MAX_WAITING_PER_ADDRESS:
            return False
        # Afterwards the other address must not have fewer requests than this one.
        return self._count < MAX_WAITING or len(self._waiting[self._busiest()]) > waiting + 1

    def add(self, address: str, key: Hashable, start: Callable[[], None], close_for_other: Callable[[], None]) -> None:
        """Call ``start`` later, or ``close_for_other`` if another request takes the place of this one.

        If the queue is full, the newest request of the address with the most requests is removed.
        """
        if self._count >= MAX_WAITING:
            busiest = self._busiest()
            newest, request = next(reversed(self._waiting[busiest].items()))
            self.remove(busiest, newest)
            request.close_for_other()
        self._waiting.setdefault(address, {})[key] = _Request(start, close_for_other)
        self._count += 1
        if not self._is_running:
            self._is_running = True
            self._schedule(0)

    def remove(self, address: str, key: Hashable) -> None:
        """Remove a request that has not been started."""
        waiting = self._waiting.get(address, {})
        if waiting.pop(key, None) is not None:
            self._count -= 1
            if not waiting:
                del self._waiting[address]

    def _busiest(self) -> str:
        """The address with the most requests. Of several, the one that is served last."""
        return max(reversed(self._waiting), key=lambda address: len(self._waiting[address]))

    def _schedule(self, turns: int) -> None:
        asyncio.get_running_loop().call_soon(self._run_turn, turns)

    def _run_turn(self, turns: int) -> None:
        if turns:
            self._schedule(turns - 1)
        elif not self._waiting:
            self._is_running = False
        else:
            address = next(iter(self._waiting))
            waiting = self._waiting.pop(address)
            request = waiting.pop(next(iter(waiting)))
            self._count -= 1
            if waiting:
                self._waiting[address] = waiting
            self._schedule(TURNS_BETWEEN)
            request.start()


class FairScheduler:
    """Shares a part of each turn of the loop among connections that have sent more than one request, or long ones.

    Each callback does little work. All of them together have a fixed part of each turn of the loop, whatever their
    number, so that other connections need not wait for them. The addresses take turns, and a known agent counts as an
    address.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """Whether any callback waits."""
        return self._count > 0

    def add(self, address: str, callback: Callable[[], None]) -> None:
        """Call ``callback`` once, in a later turn of the loop."""
        if not self._count:
            asyncio.get_running_loop().call_soon(self._run)
        self._waiting.setdefault(address, deque()).append(callback)
        self._count += 1

    def _run(self) -> None:
        until = perf_counter() + SECONDS_PER_TURN
        try:
            # Callbacks that are added meanwhile wait for the next turn.
            for _ in range(self._count):
                address = next(iter(self._waiting))
                waiting = self._waiting.pop(address)
                callback = waiting.popleft()
                if waiting:
                    self._waiting[address] = waiting
                try:
                    callback()
                finally:
                    # Not before the call. Otherwise a callback that is added meanwhile would schedule another run.
                    self._count -= 1
                if perf_counter() >= until:
                    break
        finally:
            if self._count:
                asyncio.get_running_loop().call_soon(self._run)
