"""The limits of a server, and the slots of its connections: which connection is closed when no slot is free."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

# The number of connections that are closed for a new one when descriptors are scarce.
CLOSED_WHEN_SCARCE = 4
# The further connections for each further socket of a server. Its players are called by one manager at one address.
CONNECTIONS_PER_SOCKET = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server, except the size of one body and the rate of requests."""

    head_bytes: int = 32_768
    # For a request from its first to its last byte, and for the peer to read a response.
    request_seconds: float = 10.0
    # Between requests.
    idle_seconds: float = 5.0
    # The time for which input is discarded after a refusal. Otherwise the peer might get a reset and no response.
    linger_seconds: float = 1.0
    # Connections with a request to /mcp in progress, or with a request that waits for a change, are not counted.
    connections: int = 1_000
    connections_per_address: int = 500
    # Of bodies that are arriving or whose requests are being answered, and of received data that is not parsed yet.
    held_bytes: int = 134_217_728
    held_bytes_per_address: int = 67_108_864
    # Concurrent requests to /mcp that need no slot. Beyond this number their connections keep their slots.
    requests: int = 2_000

    @property
    def reserved(self) -> int:
        """The number of slots that are reserved for known agents. Pages cannot hold them."""
        return self.connections // 5

    def for_sockets(self, count: int) -> Limits:
        """The limits of a server with this number of sockets, which many players may share."""
        more = CONNECTIONS_PER_SOCKET * (count - 1)
        return replace(
            self,
            connections=self.connections + more,
            connections_per_address=self.connections_per_address + more,
        )


# The maximum number of reserved slots of one agent.
RESERVED_PER_AGENT = 20


class SlotHolder(Protocol):
    """A connection, which can hold a slot."""

    def close_for_other(self, *, at_once: bool = False) -> None:
        """Free the slot and close. With ``at_once``, do not send a response first."""


class ConnectionSlots:
    """The slots of the connections of a server.

    When no slot is free for a new connection, the connection that has been idle longest is closed. So a peer that only
    holds connections loses them to peers that use them. Connections of known agents are closed last. A connection needs
    no slot while a request to /mcp is being answered. It needs one while a page is made, but pages cannot hold all
    slots.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # The number of slots in use, in total and by the address of the peer.
        self._count = 0
        self._count_by_address: Counter[str] = Counter()
        # Connections that wait for their peers, the longest idle first, with their addresses.
        self._idle: dict[SlotHolder, str] = {}
        # The bytes that are held for connections, the oldest first; and their sums, in total and by address.
        self._held_bytes: dict[SlotHolder, tuple[str, int]] = {}
        self._total_bytes = 0
        self._bytes_by_address: Counter[str] = Counter()
        # Connections with a request in progress that hold no slot.
        self._without_slot: set[SlotHolder] = set()
        # Connections for which a page is being made. They hold slots.
        self._pages: dict[SlotHolder, str] = {}
        # Connections of known agents with a reserved slot, and their number by agent.
        self._known: dict[SlotHolder, str] = {}
        self._known_count: Counter[str] = Counter()

    def acquire(self, connection: SlotHolder, address: str, *, scarce: bool = False) -> bool:
        """Take a slot for a new connection, and return whether there was one.

        ``scarce`` means that this process has hardly any descriptors left. Then idle connections are closed first.
        """
        if scarce and not self._close_idle():
            return False
        if not self._free_slot(address):
            return False
        self._count += 1
        self._count_by_address[address] += 1
        self._idle[connection] = address
        return True

    def set_held_bytes(self, connection: SlotHolder, address: str, size: int) -> bool:
        """Set the number of bytes that are held for a connection. Return whether the sums are within their limits.

        If the sum is too large for its address, or in total, close the idle connections that have held bytes for
        longest.
        """
        self._set_bytes(connection, address, size)
        while self._bytes_by_address[address] > self._limits.held_bytes_per_address:
            if not self._close_byte_holder(address):
                return False
        while self._total_bytes > self._limits.held_bytes:
            if not self._close_byte_holder(None):
                return False
        return True

    def _close_byte_holder(self, address: str | None) -> bool:
        """Close an idle connection that holds bytes, at that address or at any. Return whether there was one."""
        for connection, (holder_address, _) in self._held_bytes.items():
            if address in (holder_address, None) and connection in self._idle:
                connection.close_for_other()
                return True
        return False

    def _set_bytes(self, connection: SlotHolder, address: str, size: int) -> None:
        before = self._held_bytes[connection][1] if connection in self._held_bytes else 0
        if size:
            self._held_bytes[connection] = address, size
        else:
            self._held_bytes.pop(connection, None)
        self._total_bytes += size - before
        self._bytes_by_address[address] += size - before
        if not self._bytes_by_address[address]:
            del self._bytes_by_address[address]

    def _close_idle(self) -> bool:
        """Close some idle connections, more than one per new connection. Return whether there were any."""
        oldest = list(islice(self._idle, CLOSED_WHEN_SCARCE))
        for connection in oldest:
            connection.close_for_other(at_once=True)
        return bool(oldest)

    def free(self, connection: SlotHolder, address: str) -> None:
        self._set_bytes(connection, address, 0)
        self._idle.pop(connection, None)
        self._pages.pop(connection, None)
        if (name := self._known.pop(connection, None)) is not None:
            self._known_count[name] -= 1
            if not self._known_count[name]:
                del self._known_count[name]
        if connection in self._without_slot:
            self._without_slot.remove(connection)
        else:
            self._count -= 1
            self._count_by_address[address] -= 1
        if not self._count_by_address[address]:
            del self._count_by_address[address]

    def set_busy(self, connection: SlotHolder, address: str) -> None:
        """Note that a message of the connection is being answered. It needs no slot meanwhile."""
        if self._idle.pop(connection, None) is not None and len(self._without_slot) < self._limits.requests:
            self._without_slot.add(connection)
            self._count -= 1
            self._count_by_address[address] -= 1

    def can_make_page(self, address: str) -> bool:
        """Whether another page may be made for that address."""
        limits, pages = self._limits, self._pages.values()
        max_pages = limits.connections_per_address - limits.connections_per_address // 5
        if len(pages) >= limits.connections - limits.reserved:
            return False
        return len(pages) < max_pages or sum(one == address for one in pages) < max_pages

    def set_making_page(self, connection: SlotHolder, address: str) -> None:
        """Note that the application makes a page for the connection."""
        if self._idle.pop(connection, None) is not None:
            self._pages[connection] = address

    def release(self, connection: SlotHolder, address: str) -> None:
        """Free the slot of a connection whose request waits for a change, until it is answered."""
        if connection not in self._without_slot:
            self._idle.pop(connection, None)
            self._pages.pop(connection, None)
            self._without_slot.add(connection)
            self._count -= 1
            self._count_by_address[address] -= 1

    def set_idle(self, connection: SlotHolder, address: str) -> None:
        """Note that the connection waits for its peer from now on."""
        if self._idle.pop(connection, None) is None:
            self._pages.pop(connection, None)
            if connection in self._without_slot:
                self._without_slot.remove(connection)
                # It gets a slot even if none is free. The excess is at most the number of concurrent requests.
                if (
                    self._count >= self._limits.connections
                    or self._count_by_address[address] >= self._limits.connections_per_address
                ):
                    self._free_slot(address)
                self._count += 1
                self._count_by_address[address] += 1
        self._idle[connection] = address

    def set_known(self, connection: SlotHolder, name: str) -> None:
        """Reserve a slot for a connection of a known agent, if one is left."""
        has_room = len(self._known) < self._limits.reserved and self._known_count[name] < RESERVED_PER_AGENT
        if has_room and connection not in self._known:
            self._known[connection] = name
            self._known_count[name] += 1

    def _free_slot(self, address: str) -> bool:
        """Whether a slot is free. If not, try to free one by closing the connection that has been idle longest."""
        if self._count_by_address[address] >= self._limits.connections_per_address:
            oldest = self._longest_idle(address)
        elif self._count >= self._limits.connections:
            oldest = self._longest_idle()
        else:
            return True
        if oldest is None:
            return False
        oldest.close_for_other()
        return True

    def _longest_idle(self, address: str | None = None) -> SlotHolder | None:
        known = None
        for connection, holder_address in self._idle.items():
            if address in (None, holder_address):
                if connection not in self._known:
                    return connection
                known = known or connection
        return known
