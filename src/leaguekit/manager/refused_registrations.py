"""Records agents that tried to register and were refused, so that the operator sees each of them and the reason.

Anybody can send registrations, so their number is limited in the log and in memory. An agent that is refused again is
recorded only when the reason is another one, or the number of its attempts has doubled. The remaining attempts are only
counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import msgspec

from leaguekit.agents.world import World
from leaguekit.league.events import RegistrationRefused
from leaguekit.league.state import refused_key
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.transport.base import Peer
from leaguekit.transport.server.origin_headers import address_block, peer_address
from leaguekit.transport.token_buckets import TokenBuckets

# How often attempts are recorded: in all, and from one address.
ALL_BURST, ALL_PER_SECOND = 500.0, 0.1
# A whole class may come from one address.
ADDRESS_BURST, ADDRESS_PER_SECOND = 100.0, 1 / 20
MAX_NAME, MAX_ENDPOINT, MAX_REASON = 100, 200, 300
# A refusal that only says to try again later. The agent will.
_TRY_AGAIN = "E059"
_ENDPOINT_FIELDS = ("contact_endpoint", "endpoint", "url", "callback_url", "mcp_endpoint", "address")
_NAME_FIELDS = ("display_name", "name", "player_name", "referee_name", "agent_name", "player_id", "agent_id")

log = logging.getLogger(__name__)


class RefusedRegistrations:
    """Records refused registrations of one league as events. ``unrecorded`` counts those that were too many."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._now = world.timestamp
        self._ledger = ledger
        clock = asyncio.get_running_loop().time
        self._all = TokenBuckets(ALL_PER_SECOND, ALL_BURST, clock=clock)
        self._addresses = TokenBuckets(ADDRESS_PER_SECOND, ADDRESS_BURST, clock=clock)
        # By key, the attempts since the last event.
        self._uncounted: Counter[str] = Counter()
        self.unrecorded = 0

    def note_request(self, words: str, params: bytes, error: ProtocolError, peer: Peer) -> None:
        """Record a refused request, if it was meant as a registration. ``words`` are its method or its path."""
        words = words.lower()
        if "regist" not in words:
            return
        try:
            message = msgspec.json.decode(params, type=dict[str, Any])
        except DECODE_ERRORS:
            message = {}
        role: Role = "referee" if "referee" in words else "player"
        self.note(role, find_name(message), find_endpoint(message), peer, code=error.code, reason=error.detail)

    def note(self, role: Role, name: str, endpoint: str, peer: Peer, *, code: str, reason: str) -> None:
        """Record an attempt, unless there were too many."""
        if code == _TRY_AGAIN:
            return
        name, endpoint = sanitize_line(name)[:MAX_NAME], sanitize_line(endpoint)[:MAX_ENDPOINT]
        reason = sanitize_line(reason)
        reason = reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 1]}…"
        address, refused = peer_address(peer.host), self._ledger.league.refused
        key = refused_key(role, endpoint, name, address)
        count = 1
        if (known := refused.get(key)) is not None:
            count += self._uncounted[key]
            if (known.code, known.reason) == (code, reason) and count < known.count:
                self._uncounted[key] = count
                return
        if self._addresses.take(address_block(peer.host)) or self._all.take(""):
            self.unrecorded += 1
            return
        self._uncounted.pop(key, None)
        self._ledger.record(
            [
                RegistrationRefused(
                    at=self._now(),
                    role=role,
                    display_name=name,
                    endpoint=endpoint,
                    address=address,
                    code=code,
                    reason=reason,
                    count=count,
                )
            ]
        )
        for old in self._uncounted.keys() - refused.keys():
            del self._uncounted[old]
        log.warning("%s at %s is refused: %s (%s)", name or f"a {role}", endpoint or address, reason, code)


def find_endpoint(message: dict[str, Any]) -> str:
    """The URL at which the sender of a registration in any form listens, or an empty text."""
    return next((text for text in _texts(message, _ENDPOINT_FIELDS) if text.startswith(("http://", "https://"))), "")


def find_name(message: dict[str, Any]) -> str:
    """The name of the sender of a registration in any form, or an empty text."""
    return next(iter(_texts(message, _NAME_FIELDS)), "")


def _texts(message: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    """The texts in these fields, first those in the objects of a message and then its own."""
    holders = [*(value for value in message.values() if isinstance(value, dict)), message]
    found = [holder.get(field) for field in fields for holder in holders]
    return [text for text in found if isinstance(text, str) and text]
