"""Counts requests, durations and first registrations for the manager's metrics.

These figures are not part of the league's state. They are lost when the process ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import Any

from leaguekit.agents.credentials import endpoint_in
from leaguekit.protocol.methods import BY_NAME, PING
from leaguekit.protocol.rpc import Call

DEFAULT_BOUNDS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# The number of applicants that are remembered, the latest.
MAX_APPLICANTS = 10_000
_REGISTRATIONS = ("register_player", "register_referee")
_NAMES = {name: method.name for name, method in BY_NAME.items()} | {PING: PING, "operator": "operator"}
OTHER = "other"


class Histogram:
    """Counts durations by upper bound. ``counts`` has one more element, for those above the last bound."""

    __slots__ = ("bounds", "count", "counts", "longest", "sum")

    def __init__(self, bounds: tuple[float, ...] = DEFAULT_BOUNDS_SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.count = 0
        self.sum = 0.0
        self.longest = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.count += 1
        self.sum += seconds
        if seconds > self.longest:  # noqa: PLR1730 - a call would take longer than all the rest
            self.longest = seconds

    def quantile(self, share: float) -> float | None:
        """The upper bound of a share of the durations; None if there are none."""
        left = share * self.count
        for bound, count in zip((*self.bounds, self.longest), self.counts, strict=True):
            left -= count
            if count and left <= 0:
                return min(bound, self.longest)
        return None


class Metrics:
    """The counts since this process began."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.answered: defaultdict[str, Histogram] = defaultdict(Histogram)
        # By method and error code.
        self.refused: Counter[tuple[str, str]] = Counter()
        self.first_tries = 0
        self.applicants = 0
        # The applicants that were first refused and then admitted, and the time that this took in total.
        self.repaired = 0
        self.repair_seconds = 0.0
        # By applicant, the time of its first refusal; None if it is admitted. The key is the hash of its endpoint,
        # because the endpoint itself may be as long as a message.
        self._refused_since: dict[int, datetime | None] = {}

    def count_result(self, call: Call, result: Any, seconds: float) -> None:
        """Count a call that was answered with a result."""
        method = _NAMES.get(call.method, OTHER)
        self.answered[method].add(seconds)
        if method in _REGISTRATIONS:
            self._count_application(call, admitted=result.status == "ACCEPTED")

    def count_refusal(self, call: Call | None, code: str) -> None:
        """Count a request that was answered with an error. ``call`` is None if the request could not be read."""
        method = OTHER if call is None else _NAMES.get(call.method, OTHER)
        self.refused[method, code] += 1
        if call is not None and method in _REGISTRATIONS:
            self._count_application(call, admitted=False)

    def _count_application(self, call: Call, *, admitted: bool) -> None:
        # All applicants without an endpoint count as one.
        applicant = hash(endpoint_in(call))
        if applicant not in self._refused_since:
            if len(self._refused_since) >= MAX_APPLICANTS:
                del self._refused_since[next(iter(self._refused_since))]
            self._refused_since[applicant] = None if admitted else self._now()
            self.applicants += 1
            self.first_tries += admitted
        elif admitted and (since := self._refused_since[applicant]) is not None:
            self._refused_since[applicant] = None
            self.repaired += 1
            self.repair_seconds += (self._now() - since).total_seconds()
