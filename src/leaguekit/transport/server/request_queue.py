"""The queue of MCP requests and batches that are not begun yet, and that of connections that have sent much.

Each of the former may take a hundred times as long as a call of league.v2, and uvloop accepts one connection in each
turn of the loop. Many of them in a row would keep new connections waiting, and so would many connections that each send
many requests at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import NamedTuple

# The turns of the loop between the beginnings of two requests. Without other work they take 0.1 ms.
TURNS_BETWEEN = 64
# Requests that wait, in all and of one address.
MAX_WAITING = 400
MAX_WAITING_PER_ADDRESS = 100
# The time in each turn of the loop for all connections that have sent more than one request.
SECONDS_PER_TURN = 0.0005


class _Request(NamedTuple):
    begin: Callable[[], None]
    close_for_other: Callable[[], None]


class RequestQueue:
    """Begins requests one after the other, with turns of the loop between them. The addresses take turns."""

    def __init__(self) -> None:
        # By address, in the order in which they are served.
        self._waiting: dict[str, dict[Hashable, _Request]] = {}
        self._count = 0
        self._runs = False

    def has_room(self, address: str) -> bool:
        """Whether one more may wait, perhaps because one of another address gives way."""
        waiting = len(self._waiting.get(address, ()))
        if waiting >= MAX_WAITING_PER_ADDRESS:
            return False
        # Afterwards the other address must not have fewer than this one.
        return self._count < MAX_WAITING or len(self._waiting[self._busiest()]) > waiting + 1

    def add(self, address: str, key: Hashable, begin: Callable[[], None], close_for_other: Callable[[], None]) -> None:
        """Call ``begin`` when it is its turn, or ``close_for_other`` if another takes its place.

        If all places are taken, the newest request of the address that has most of them gives way.
        """
        if self._count >= MAX_WAITING:
            busiest = self._busiest()
            newest, request = next(reversed(self._waiting[busiest].items()))
            self.remove(busiest, newest)
            request.close_for_other()
        self._waiting.setdefault(address, {})[key] = _Request(begin, close_for_other)
        self._count += 1
        if not self._runs:
            self._runs = True
            self._wait(0)

    def remove(self, address: str, key: Hashable) -> None:
        """Do not begin it, if it has not begun."""
        waiting = self._waiting.get(address, {})
        if waiting.pop(key, None) is not None:
            self._count -= 1
            if not waiting:
                del self._waiting[address]

    def _busiest(self) -> str:
        """The address that has most; of several, the one that is served last."""
        return max(reversed(self._waiting), key=lambda address: len(self._waiting[address]))

    def _wait(self, turns: int) -> None:
        asyncio.get_running_loop().call_soon(self._turn, turns)

    def _turn(self, turns: int) -> None:
        if turns:
            self._wait(turns - 1)
        elif not self._waiting:
            self._runs = False
        else:
            address = next(iter(self._waiting))
            waiting = self._waiting.pop(address)
            request = waiting.pop(next(iter(waiting)))
            self._count -= 1
            if waiting:
                self._waiting[address] = waiting
            self._wait(TURNS_BETWEEN)
            request.begin()


class SharedTurns:
    """Reads and answers on for connections that have sent more than one request, or long ones.

    Each gets little done at a time. All of them together have a part of each turn of the loop, whatever their number,
    so that others need not wait for them. The addresses take turns, and known agents count as addresses.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """Whether anything waits."""
        return self._count > 0

    def add(self, address: str, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` once, in a later turn of the loop."""
        if not self._count:
            asyncio.get_running_loop().call_soon(self._run)
        self._waiting.setdefault(address, deque()).append(go_on)
        self._count += 1

    def _run(self) -> None:
        until = perf_counter() + SECONDS_PER_TURN
        try:
            # What is added meanwhile waits for the next turn.
            for _ in range(self._count):
                address = next(iter(self._waiting))
                waiting = self._waiting.pop(address)
                go_on = waiting.popleft()
                if waiting:
                    self._waiting[address] = waiting
                try:
                    go_on()
                finally:
                    # Only now, or what is added meanwhile would begin another run.
                    self._count -= 1
                if perf_counter() >= until:
                    break
        finally:
            if self._count:
                asyncio.get_running_loop().call_soon(self._run)
