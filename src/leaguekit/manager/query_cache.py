"""The answers to queries, each encoded once for as long as the league stays as it is.

Whoever waits for something asks for the same thing again and again, and so does everybody else.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from msgspec import UNSET, Raw, json

from leaguekit.league import queries
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.ids import MANAGER

# A whole schedule of a large league would take more, and is made each time.
MAX_CACHED_BYTES = 4_000_000
_text = json.Encoder().encode


class _Ready(NamedTuple):
    """An encoded answer without what differs from one query to the next."""

    opening: bytes
    between: bytes
    closing: bytes


class QueryCache:
    """What the league's queries are answered with."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # By what an answer depends on, as of the event with that number; and their size in all.
        self._ready: dict[Hashable, _Ready] = {}
        self._number = 0
        self._size = 0

    def to(self, query: m.LeagueQuery, reader: str, now: str) -> Raw:
        """The encoded answer. Raises ProtocolError for an unknown league or type."""
        ledger = self._ledger
        key = queries.cache_key(ledger.league, query, reader)
        if self._number != ledger.number:
            self._forget()
        opening, between, closing = self._ready.get(key) or self._made(key, query, reader)
        return Raw(b"%b%b%b%b%b" % (opening, now.encode(), between, _text(query.conversation_id), closing))

    def _made(self, key: Hashable, query: m.LeagueQuery, reader: str) -> _Ready:
        league = self._ledger.league
        found = queries.answer(league, query, reader)
        of_standings = query.query_type == "GET_STANDINGS"
        response = m.LeagueQueryResponse(
            protocol="league.v2",
            sender=MANAGER,
            timestamp="",
            conversation_id="",
            query_type=str(query.query_type),
            success=not isinstance(found, m.QueryError),
            data=UNSET if isinstance(found, m.QueryError) else found,
            error=found if isinstance(found, m.QueryError) else UNSET,
            standings=queries.standings(league, reader) if of_standings else UNSET,
            current_round=league.current_round if of_standings else UNSET,
        )
        ready = _taken_apart(encode(response))
        size = sum(map(len, ready))
        if self._size + size > MAX_CACHED_BYTES:
            self._forget()
        if size <= MAX_CACHED_BYTES:
            self._ready[key] = ready
            self._size += size
        return ready

    def _forget(self) -> None:
        self._ready.clear()
        self._number, self._size = self._ledger.number, 0


def _taken_apart(response: bytes) -> _Ready:
    """A response whose timestamp and conversation are empty; they are in the envelope, which comes first."""
    opening, mark, rest = response.partition(b'"timestamp":"')
    between, other_mark, closing = rest.partition(b'"conversation_id":""')
    return _Ready(opening + mark, between + other_mark[:-2], closing)
