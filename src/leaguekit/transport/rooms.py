"""How much of a server its peers may take: the limits, and who gives way when there is no room for one more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

# So many connections are closed for a new one when descriptors are scarce.
DISMISSED = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """What a peer may take of a server, beside the size of a body and requests a second."""

    head_bytes: int = 32_768
    # From the first byte of a request to its last; and for taking an answer.
    request_seconds: float = 10.0
    # Without a request under way.
    idle_seconds: float = 5.0
    # After a refusal what still comes is thrown away for so long, or the peer would see a reset and not the answer.
    linger_seconds: float = 1.0
    connections: int = 1_000
    connections_an_address: int = 500


class Guest(Protocol):
    """A connection."""

    def give_way(self, *, at_once: bool = False) -> None:
        """Close: another takes its place. ``at_once`` is without an answer."""


class Room:
    """The connections of a server.

    When there is no room for a new one, that gives way which has kept us waiting longest: whoever only holds
    connections loses them to whoever uses them. None that is being answered gives way.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # In all, and by the peer's address.
        self._count = 0
        self._held: Counter[str] = Counter()
        # Those that wait for their peers, in the order in which they began to.
        self._resting: dict[Guest, str] = {}

    def enter(self, guest: Guest, address: str, *, scarce: bool = False) -> bool:
        """Whether there is room for a new connection; ``scarce`` says that this program can hardly open another."""
        if scarce and not self._dismiss_some():
            return False
        if self._held[address] >= self._limits.connections_an_address:
            gives_way = next((one for one, where in self._resting.items() if where == address), None)
        elif self._count >= self._limits.connections:
            gives_way = next(iter(self._resting), None)
        else:
            gives_way = guest
        if gives_way is None:
            return False
        if gives_way is not guest:
            self.leave(gives_way, self._resting[gives_way])
            gives_way.give_way()
        self._count += 1
        self._held[address] += 1
        self._resting[guest] = address
        return True

    def _dismiss_some(self) -> bool:
        """Close some at once, more than come; whether there were any."""
        some = list(islice(self._resting.items(), DISMISSED))
        for guest, address in some:
            self.leave(guest, address)
            guest.give_way(at_once=True)
        return bool(some)

    def leave(self, guest: Guest, address: str) -> None:
        self._resting.pop(guest, None)
        self._count -= 1
        self._held[address] -= 1
        if not self._held[address]:
            del self._held[address]

    def is_busy(self, guest: Guest) -> None:
        """It is being answered."""
        self._resting.pop(guest, None)

    def rests(self, guest: Guest, address: str) -> None:
        """It waits for its peer, from now on."""
        self._resting.pop(guest, None)
        self._resting[guest] = address
