"""The evidence in a referee's report: how a player answered each request of a match.

Evidence is a statement of the referee and is not verified. Evidence of another form is not counted. A referee that is
not ours gives none.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.messages import RequestCounts, ResultDetails

TIMEOUT, UNREACHABLE = "E001", "E009"
# The codes of an illegal move: in the game of the documents, and in all other games.
ILLEGAL_MOVES = ("E004", "E057")
# What an accepted answer is called in the evidence.
ACCEPTED = ("joined", "moved", "refused")


class EvidenceEntry(Struct):
    """Something that happened, with its time. ``ask`` is the number of the request that it answers."""

    at: float
    what: str
    ask: int | None = None
    asked_at: float | None = None

    @property
    def is_error(self) -> bool:
        """Whether a request got no acceptable answer."""
        return self.ask is not None and self.what in CATALOGUE

    @property
    def is_wrong(self) -> bool:
        """Whether a request got an answer that was not acceptable."""
        return self.is_error and self.what not in (TIMEOUT, UNREACHABLE)


class PlayerEvidence(Struct):
    """The evidence about one player in one match."""

    events: Annotated[list[EvidenceEntry], Meta(max_length=100)] = []
    last_wrong: str | None = None
    # Whether the referee's latest connection to the player succeeded. Older referees do not say.
    connected: bool = True

    @property
    def has_answered(self) -> bool:
        return any(entry.what in ACCEPTED for entry in self.events)

    @property
    def left_move_unanswered(self) -> bool:
        """Whether the player joined, and then did not answer its last request, which was a call for a move."""
        return bool(self.events) and self.events[-1].what in (TIMEOUT, UNREACHABLE) and self.has_answered

    @property
    def has_moved(self) -> bool:
        return any(entry.what == "moved" for entry in self.events)


class _Evidence(Struct):
    players: Annotated[dict[str, PlayerEvidence], Meta(max_length=2)]


def read_evidence(details: ResultDetails) -> dict[str, PlayerEvidence]:
    """The evidence about each player of the match."""
    evidence = parse_evidence(details.evidence)
    return {player: evidence[player] for player in evidence if player in details.choices}


def parse_evidence(evidence: object) -> dict[str, PlayerEvidence]:
    """The evidence about each player that it names; empty if it cannot be read."""
    try:
        return msgspec.convert(evidence, _Evidence).players
    except msgspec.ValidationError:
        return {}


def count_requests(counts: RequestCounts, evidence: PlayerEvidence) -> None:
    """Add the requests of one match, by how they were answered."""
    has_failed = False
    for entry in evidence.events:
        if entry.what in ACCEPTED:
            counts.answered += 1
            counts.recovered += has_failed
            has_failed = False
        elif entry.is_error:
            counts.timeouts += entry.what == TIMEOUT
            counts.unreachable += entry.what == UNREACHABLE
            counts.wrong += entry.is_wrong
            counts.illegal += entry.what in ILLEGAL_MOVES
            counts.retried += not has_failed
            has_failed = True
