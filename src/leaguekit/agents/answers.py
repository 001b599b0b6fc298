"""The answers to queries, each encoded once for as long as the league stays as it is.

Whoever waits for something asks for the same thing again and again, and so does everybody else.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
from msgspec import UNSET, Raw

from leaguekit.agents.ledger import Ledger
from leaguekit.league import queries
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import MANAGER
from leaguekit.protocol.reading import encode

# A whole schedule of a large league would take more, and is made each time.
MOST_BYTES_KEPT = 4_000_000


class Answers:
    """What the league's queries are answered with."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # By what an answer depends on, as of the event with that number; and their size in all.
        self._ready: dict[Hashable, m.LeagueQueryResponse] = {}
        self._number = 0
        self._size = 0

    def to(self, query: m.LeagueQuery, reader: str, now: str) -> Raw:
        """The encoded answer. Raises ProtocolError for an unknown league or type."""
        key = queries.depends_on(self._ledger.league, query, reader)
        if self._number != self._ledger.number:
            self._forget()
        response = self._ready.get(key)
        if response is None:
            response = self._made(key, query, reader, now)
        response.timestamp, response.conversation_id = now, query.conversation_id
        return Raw(encode(response))

    def _made(self, key: Hashable, query: m.LeagueQuery, reader: str, now: str) -> m.LeagueQueryResponse:
        league = self._ledger.league
        found = queries.answer(league, query, reader)
        of_standings = query.query_type == "GET_STANDINGS"
        response = m.LeagueQueryResponse(
            protocol="league.v2",
            sender=MANAGER,
            timestamp=now,
            conversation_id=query.conversation_id,
            query_type=str(query.query_type),
            success=not isinstance(found, m.QueryError),
            data=UNSET if isinstance(found, m.QueryError) else found,
            error=found if isinstance(found, m.QueryError) else UNSET,
            standings=queries.standings(league, reader) if of_standings else UNSET,
            current_round=league.current_round if of_standings else UNSET,
        )
        size = len(encode(response))
        if self._size + size > MOST_BYTES_KEPT:
            self._forget()
        if size <= MOST_BYTES_KEPT:
            _encode_parts(response)
            self._ready[key] = response
            self._size += size
        return response

    def _forget(self) -> None:
        self._ready.clear()
        self._number, self._size = self._ledger.number, 0


def _encode_parts(response: m.LeagueQueryResponse) -> None:
    """Have all but the envelope ready: what remains takes as long for a long answer as for a short one."""
    for name in ("data", "standings"):
        if (part := getattr(response, name)) is not UNSET:
            setattr(response, name, Raw(msgspec.json.encode(part)))
