"""The evidence in a referee's report: how a player answered each request of a match.

Evidence is whatever a referee says: what cannot be read is not counted, and a referee that is not ours gives none.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.messages import RequestCounts, ResultDetails

TIMEOUT, UNREACHABLE = "E001", "E009"
# Answers that count.
GOOD = ("joined", "moved", "refused")


class EvidenceEntry(Struct):
    """What happened at a time. ``ask`` is the number of the request that it answers."""

    at: float
    what: str
    ask: int | None = None
    asked_at: float | None = None

    @property
    def is_error(self) -> bool:
        """Whether it is a request without an answer that counts."""
        return self.ask is not None and self.what in CATALOGUE

    @property
    def is_wrong(self) -> bool:
        """Whether it is an answer that does not count."""
        return self.is_error and self.what not in (TIMEOUT, UNREACHABLE)


class Told(Struct):
    """What a referee says about one player in one match."""

    events: Annotated[list[EvidenceEntry], Meta(max_length=100)] = []
    last_wrong: str | None = None
    # Whether the referee could connect to it when it called last. Older referees do not say.
    connected: bool = True

    @property
    def has_answered(self) -> bool:
        return any(noted.what in GOOD for noted in self.events)

    @property
    def has_moved(self) -> bool:
        return any(noted.what == "moved" for noted in self.events)


class _Evidence(Struct):
    players: Annotated[dict[str, Told], Meta(max_length=2)]


def read_evidence(details: ResultDetails) -> dict[str, Told]:
    """The evidence about each player of the match."""
    told = parse_evidence(details.evidence)
    return {player: told[player] for player in told if player in details.choices}


def parse_evidence(evidence: object) -> dict[str, Told]:
    """The evidence about each player that it names."""
    try:
        return msgspec.convert(evidence, _Evidence).players
    except msgspec.ValidationError:
        return {}


def count_requests(counts: RequestCounts, told: Told) -> None:
    """Add what became of the requests of one match."""
    in_trouble = False
    for noted in told.events:
        if noted.what in GOOD:
            counts.answered += 1
            counts.recovered += in_trouble
            in_trouble = False
        elif noted.is_error:
            counts.timeouts += noted.what == TIMEOUT
            counts.unreachable += noted.what == UNREACHABLE
            counts.wrong += noted.is_wrong
            counts.retried += not in_trouble
            in_trouble = True
