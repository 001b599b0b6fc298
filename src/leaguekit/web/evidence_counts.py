"""Counts of what the evidence in referees' reports says about each player: errors, answer times and repairs.

The league's own state counts requests. These counts are kept beside it, for the pages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from leaguekit.league.evidence import ACCEPTED, TIMEOUT, UNREACHABLE, PlayerEvidence
from leaguekit.league.state import League
from leaguekit.manager.metrics import Histogram
from leaguekit.protocol import times
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.messages import RequestCounts
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.web.page_types import ErrorRow, Times

# The bounds of a histogram, in seconds. The last one is the default time limit of a choice.
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)


@dataclass(slots=True)
class _Error:
    """How often an error occurred, and the latest occurrence."""

    count: int = 0
    at: str = ""
    match_id: str = ""
    detail: str | None = None


@dataclass(slots=True)
class EvidenceCounts:
    """The counts of one player."""

    # Good answers by kind, and errors by code.
    good: Counter[str] = field(default_factory=Counter)
    errors: dict[str, _Error] = field(default_factory=dict)
    times: Histogram = field(default_factory=lambda: Histogram(BOUNDS))
    # Notices of the manager that the player left unanswered.
    missed: int = 0
    # Since when every match of the player had a wrong answer. None if its latest match had none.
    broken_since: datetime | None = None
    # How often a match without a wrong answer ended such a time, and how long these times lasted together.
    repaired: int = 0
    repair_seconds: float = 0.0

    def error_count(self, code: str) -> int:
        return self.errors[code].count if code in self.errors else 0

    @property
    def answers_everything(self) -> bool:
        """Whether it has answered every kind of request well, and gave no wrong answer in its latest match."""
        return self.good["joined"] > 0 and self.good["moved"] > 0 and self.broken_since is None

    def error_rows(self) -> list[ErrorRow]:
        """Its errors, the most frequent first."""
        return [
            ErrorRow(
                code=code,
                name=CATALOGUE[code].name,
                count=error.count,
                meaning=CATALOGUE[code].sentence,
                remedy=CATALOGUE[code].remedy,
                detail=error.detail,
                last_at=error.at,
                last_match=error.match_id,
            )
            for code, error in sorted(self.errors.items(), key=lambda item: -item[1].count)
        ]

    def add(self, evidence: PlayerEvidence, at: str, match_id: str) -> None:
        """Count the evidence about one match."""
        for noted in evidence.events:
            if noted.what in ACCEPTED:
                self.good[noted.what] += 1
            elif noted.is_error:
                error = self.errors.setdefault(noted.what, _Error())
                error.count += 1
                error.at, error.match_id = at, match_id
                if noted.is_wrong:
                    error.detail = None if evidence.last_wrong is None else remove_addresses(evidence.last_wrong)
            else:
                continue
            if noted.ask is not None and noted.asked_at is not None and noted.what not in (TIMEOUT, UNREACHABLE):
                self.times.add(max(0.0, noted.at - noted.asked_at))
        if evidence.events:
            self._count_repair(at, was_wrong=any(noted.is_wrong for noted in evidence.events))

    def _count_repair(self, at: str, *, was_wrong: bool) -> None:
        if was_wrong and self.broken_since is None:
            self.broken_since = times.parse_timestamp(at)
        elif not was_wrong and self.broken_since is not None:
            self.repaired += 1
            self.repair_seconds += (times.parse_timestamp(at) - self.broken_since).total_seconds()
            self.broken_since = None


def answer_times(histogram: Histogram) -> Times:
    return Times(
        answers=histogram.count,
        median=histogram.quantile(0.5),
        p95=histogram.quantile(0.95),
        longest=histogram.longest if histogram.count else None,
        counts=histogram.counts,
    )


def merge_histograms(histograms: list[Histogram]) -> Histogram:
    """One histogram of everything that several have counted."""
    merged = Histogram(BOUNDS)
    merged.counts = [sum(counts) for counts in zip(merged.counts, *(one.counts for one in histograms), strict=True)]
    merged.count = sum(one.count for one in histograms)
    merged.sum = sum(one.sum for one in histograms)
    merged.longest = max((one.longest for one in histograms), default=0.0)
    return merged


def total_requests(league: League) -> RequestCounts:
    """The requests to all players, by how they were answered."""
    counts = league.requests.values()
    return RequestCounts(
        **{name: sum(getattr(one, name) for one in counts) for name in RequestCounts.__struct_fields__}
    )
