"""How much of a server its peers may take: the limits, and who gives way when there is no room for one more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

# The number of connections that are closed for a new one when descriptors are scarce.
CLOSED_WHEN_SCARCE = 4


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
    # Those of requests to /mcp that are being answered are not among them, nor those that wait for news.
    connections: int = 1_000
    connections_per_address: int = 500
    # Of bodies that are arriving, or are large and being answered.
    body_bytes: int = 134_217_728
    body_bytes_per_address: int = 67_108_864
    # Requests to /mcp that are being answered at once. Beyond that number they keep their places as connections.
    requests: int = 2_000

    @property
    def reserved(self) -> int:
        """The connections that are kept for known agents, and that pages cannot hold."""
        return self.connections // 5


# The most connections of one agent that are kept for it.
RESERVED_PER_AGENT = 20


class SlotHolder(Protocol):
    """A connection."""

    def close_for_other(self, *, at_once: bool = False) -> None:
        """Close: another takes its place. ``at_once`` is without an answer."""


class ConnectionControl(Protocol):
    """What an application may do with its connection."""

    def release(self) -> None:
        """Give the connection's place to others until the response is sent: the request waits for news."""

    def belongs_to(self, name: str) -> None:
        """Note that it is the connection of a known agent."""

    def has_gone(self) -> bool:
        """Whether its peer has closed it, so that nobody waits for the response."""

    def become_stream(self) -> None:
        """Stop counting as a connection with a request in progress, after the head of the response is sent."""

    def write(self, data: bytes) -> None:
        """Send part of the body. For streams only."""

    def unsent(self) -> int:
        """The number of bytes that wait to be sent."""

    def end(self) -> None:
        """Close the connection."""


class ConnectionSlots:
    """The connections of a server.

    When there is no room for a new one, that gives way which has kept us waiting longest: whoever only holds
    connections loses them to whoever uses them. Connections of known agents give way last. A request to /mcp needs no
    place while it is being answered. A page does, but pages cannot hold all places.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # Places that are taken, in all and by the peer's address.
        self._count = 0
        self._held: Counter[str] = Counter()
        # Those that wait for their peers, in the order in which they began to.
        self._idle: dict[SlotHolder, str] = {}
        # The bytes of bodies that connections hold, in the order in which they began to; in all, and by address.
        self._bodies: dict[SlotHolder, tuple[str, int]] = {}
        self._bytes = 0
        self._bytes_of: Counter[str] = Counter()
        # Those that are being answered, or wait for news, and have no place.
        self._without_slot: set[SlotHolder] = set()
        # Those for which a page is being made, which have a place.
        self._pages: dict[SlotHolder, str] = {}
        self._known: dict[SlotHolder, str] = {}
        self._known_of: Counter[str] = Counter()

    def acquire(self, guest: SlotHolder, address: str, *, scarce: bool = False) -> bool:
        """Whether there is room for a new connection; ``scarce`` says that this program can hardly open another."""
        if scarce and not self._close_idle():
            return False
        if not self._free_slot(address):
            return False
        self._count += 1
        self._held[address] += 1
        self._idle[guest] = address
        return True

    def set_body_bytes(self, guest: SlotHolder, address: str, size: int) -> None:
        """It holds so many bytes of bodies.

        If that is too much for its address, or for all, those give way that have held some for longest.
        """
        self._count_bytes(guest, address, size)
        while self._bytes_of[address] > self._limits.body_bytes_per_address and self._give_way(address):
            pass
        while self._bytes > self._limits.body_bytes and self._give_way(None):
            pass

    def _give_way(self, address: str | None) -> bool:
        """Whether there was one that could give way, at that address or at any."""
        for guest, (where, _) in self._bodies.items():
            if address in (where, None) and guest in self._idle:
                self.free(guest, where)
                guest.close_for_other()
                return True
        return False

    def _count_bytes(self, guest: SlotHolder, address: str, size: int) -> None:
        before = self._bodies[guest][1] if guest in self._bodies else 0
        if size:
            self._bodies[guest] = address, size
        else:
            self._bodies.pop(guest, None)
        self._bytes += size - before
        self._bytes_of[address] += size - before
        if not self._bytes_of[address]:
            del self._bytes_of[address]

    def _close_idle(self) -> bool:
        """Close some at once, more than come; whether there were any."""
        some = list(islice(self._idle.items(), CLOSED_WHEN_SCARCE))
        for guest, address in some:
            self.free(guest, address)
            guest.close_for_other(at_once=True)
        return bool(some)

    def free(self, guest: SlotHolder, address: str) -> None:
        self._count_bytes(guest, address, 0)
        self._idle.pop(guest, None)
        self._pages.pop(guest, None)
        if (name := self._known.pop(guest, None)) is not None:
            self._known_of[name] -= 1
            if not self._known_of[name]:
                del self._known_of[name]
        if guest in self._without_slot:
            self._without_slot.remove(guest)
        else:
            self._count -= 1
            self._held[address] -= 1
        if not self._held[address]:
            del self._held[address]

    def set_busy(self, guest: SlotHolder, address: str) -> None:
        """Its message is being answered."""
        if self._idle.pop(guest, None) is not None and len(self._without_slot) < self._limits.requests:
            self._without_slot.add(guest)
            self._count -= 1
            self._held[address] -= 1

    def can_make_page(self, address: str) -> bool:
        """Whether another page may be made."""
        limits, pages = self._limits, self._pages.values()
        most = limits.connections_per_address - limits.connections_per_address // 5
        if len(pages) >= limits.connections - limits.reserved:
            return False
        return len(pages) < most or sum(one == address for one in pages) < most

    def set_making_page(self, guest: SlotHolder, address: str) -> None:
        """The application answers it."""
        if self._idle.pop(guest, None) is not None:
            self._pages[guest] = address

    def release(self, guest: SlotHolder, address: str) -> None:
        """It waits for news and needs no place until it is answered."""
        if guest not in self._without_slot:
            self._idle.pop(guest, None)
            self._pages.pop(guest, None)
            self._without_slot.add(guest)
            self._count -= 1
            self._held[address] -= 1

    def set_idle(self, guest: SlotHolder, address: str) -> None:
        """It waits for its peer, from now on."""
        if self._idle.pop(guest, None) is None:
            self._pages.pop(guest, None)
            if guest in self._without_slot:
                self._without_slot.remove(guest)
                # It is not refused: there are at most as many too many as there are requests.
                if (
                    self._count >= self._limits.connections
                    or self._held[address] >= self._limits.connections_per_address
                ):
                    self._free_slot(address)
                self._count += 1
                self._held[address] += 1
        self._idle[guest] = address

    def set_known(self, guest: SlotHolder, name: str) -> None:
        """Keep a connection of a known agent before those of others."""
        has_room = len(self._known) < self._limits.reserved and self._known_of[name] < RESERVED_PER_AGENT
        if has_room and guest not in self._known:
            self._known[guest] = name
            self._known_of[name] += 1

    def _free_slot(self, address: str) -> bool:
        """Whether there is a place, perhaps because a connection gives way."""
        if self._held[address] >= self._limits.connections_per_address:
            gives_way = self._longest_resting(address)
        elif self._count >= self._limits.connections:
            gives_way = self._longest_resting()
        else:
            return True
        if gives_way is None:
            return False
        self.free(gives_way, self._idle[gives_way])
        gives_way.close_for_other()
        return True

    def _longest_resting(self, address: str | None = None) -> SlotHolder | None:
        known = None
        for guest, where in self._idle.items():
            if address in (None, where):
                if guest not in self._known:
                    return guest
                known = known or guest
        return known
