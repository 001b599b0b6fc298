"""Caches the answers to queries. Each is encoded once until the league changes.

Agents that wait for something send the same query again and again, and all agents send similar queries.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import UNSET, Raw, json

from leaguekit.league import queries
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.ids import MANAGER

# An answer that is larger, such as the schedule of a large league, is made each time.
MAX_CACHED_BYTES = 4_000_000
_encode_text = json.Encoder().encode


# The parts of an encoded answer around its timestamp and its conversation id, which differ for each query.
_Template = tuple[bytes, bytes, bytes]


class QueryCache:
    """The encoded answers to queries."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # All templates are those of the league after the event with this number.
        self._templates: dict[Hashable, _Template] = {}
        self._number = 0
        self._total_bytes = 0

    def response_to(self, query: m.LeagueQuery, reader: str, now: str) -> Raw:
        """The encoded answer. Raises ProtocolError for an unknown league or type."""
        ledger = self._ledger
        key = queries.cache_key(ledger.league, query, reader)
        if self._number != ledger.number:
            self._clear()
        first, second, third = self._templates.get(key) or self._make(key, query, reader)
        return Raw(b"%b%b%b%b%b" % (first, now.encode(), second, _encode_text(query.conversation_id), third))

    def _make(self, key: Hashable, query: m.LeagueQuery, reader: str) -> _Template:
        league = self._ledger.league
        found = queries.answer(league, query, reader)
        is_standings = query.query_type == "GET_STANDINGS"
        response = m.LeagueQueryResponse(
            protocol="league.v2",
            sender=MANAGER,
            timestamp="",
            conversation_id="",
            query_type=str(query.query_type),
            success=not isinstance(found, m.QueryError),
            data=UNSET if isinstance(found, m.QueryError) else found,
            error=found if isinstance(found, m.QueryError) else UNSET,
            standings=queries.standings(league, reader) if is_standings else UNSET,
            current_round=league.current_round if is_standings else UNSET,
        )
        template = _split(encode(response))
        size = sum(map(len, template))
        if self._total_bytes + size > MAX_CACHED_BYTES:
            self._clear()
        if size <= MAX_CACHED_BYTES:
            self._templates[key] = template
            self._total_bytes += size
        return template

    def _clear(self) -> None:
        self._templates.clear()
        self._number, self._total_bytes = self._ledger.number, 0


def _split(response: bytes) -> _Template:
    """Split a response whose timestamp and conversation id are empty. Both are in the envelope, which comes first."""
    start, timestamp, rest = response.partition(b'"timestamp":"')
    middle, conversation, end = rest.partition(b'"conversation_id":""')
    return start + timestamp, middle + conversation[:-2], end
