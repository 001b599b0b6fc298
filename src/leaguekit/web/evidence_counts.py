"""What the evidence in referees' reports says about players beside what the league counts: errors and times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from leaguekit.league.events import ResultRecorded
from leaguekit.league.evidence import ACCEPTED, TIMEOUT, UNREACHABLE, PlayerEvidence, read_evidence
from leaguekit.manager.metrics import Histogram
from leaguekit.protocol import times
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.web.page_types import ErrorRow, Times

# Seconds: players have up to 30 to answer.
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
INVALID_CHOICES = ("E004", "E057")


@dataclass(slots=True)
class _Error:
    count: int = 0
    at: str = ""
    match_id: str = ""
    detail: str | None = None


@dataclass(slots=True)
class Tally:
    """One player's. ``good`` counts its good answers by kind, ``errors`` its bad ones by code."""

    good: Counter[str] = field(default_factory=Counter)
    errors: dict[str, _Error] = field(default_factory=dict)
    times: Histogram = field(default_factory=lambda: Histogram(BOUNDS))
    # Notices of the manager that it left unanswered.
    missed: int = 0
    # Since when each of its matches has had a wrong answer in it, and how long it took to mend that.
    broken_since: datetime | None = None
    repaired: int = 0
    repair_seconds: float = 0.0

    def failed(self, *codes: str) -> int:
        return sum(self.errors[code].count for code in codes if code in self.errors)

    @property
    def has_all(self) -> bool:
        """Whether it has answered every kind of request well, and its latest match too."""
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
            for code, error in sorted(self.errors.items(), key=lambda one: -one[1].count)
        ]

    def take(self, told: PlayerEvidence, at: str, match_id: str) -> None:
        """Count what a referee tells of one match."""
        for noted in told.events:
            if noted.what in ACCEPTED:
                self.good[noted.what] += 1
            elif noted.is_error:
                error = self.errors.setdefault(noted.what, _Error())
                error.count += 1
                error.at, error.match_id = at, match_id
                if noted.is_wrong:
                    error.detail = None if told.last_wrong is None else remove_addresses(told.last_wrong)
            else:
                continue
            if noted.ask is not None and noted.asked_at is not None and noted.what not in (TIMEOUT, UNREACHABLE):
                self.times.add(max(0.0, noted.at - noted.asked_at))
        if told.events:
            self._mend(at, was_wrong=any(noted.is_wrong for noted in told.events))

    def _mend(self, at: str, *, was_wrong: bool) -> None:
        if was_wrong and self.broken_since is None:
            self.broken_since = times.parse_timestamp(at)
        elif not was_wrong and self.broken_since is not None:
            self.repaired += 1
            self.repair_seconds += (times.parse_timestamp(at) - self.broken_since).total_seconds()
            self.broken_since = None


class EvidenceCountsByPlayer(dict[str, Tally]):
    """The tallies of all players, by id."""

    def of(self, player_id: str) -> Tally:
        tally = self.get(player_id)
        if tally is None:
            tally = self[player_id] = Tally()
        return tally

    def take(self, recorded: ResultRecorded) -> None:
        """Count what a report tells."""
        for player, told in read_evidence(recorded.result.details).items():
            self.of(player).take(told, recorded.at, recorded.match_id)


def times_of(histogram: Histogram) -> Times:
    return Times(
        answers=histogram.count,
        median=histogram.quantile(0.5),
        p95=histogram.quantile(0.95),
        longest=histogram.longest if histogram.count else None,
        counts=histogram.counts,
    )


def together(histograms: list[Histogram]) -> Histogram:
    """All of them as one."""
    whole = Histogram(BOUNDS)
    whole.counts = [sum(counts) for counts in zip(whole.counts, *(one.counts for one in histograms), strict=True)]
    whole.count = sum(one.count for one in histograms)
    whole.sum = sum(one.sum for one in histograms)
    whole.longest = max((one.longest for one in histograms), default=0.0)
    return whole
