"""What the manager counts while it works: requests, how long things took, and who got in at the first try.

Nothing of it is a fact of the league: it is of this process, and begins anew with it.
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

# Seconds: what was waited for a machine, and what was waited for an agent.
QUICK = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# So many applicants are remembered, the latest.
MAX_APPLICANTS = 10_000
_REGISTRATIONS = ("register_player", "register_referee")
_NAMES = {name: method.name for name, method in BY_NAME.items()} | {PING: PING, "operator": "operator"}
OTHER = "other"


class Histogram:
    """How often something took at most so long; ``counts`` has one place more, for what took longer than the last."""

    __slots__ = ("bounds", "count", "counts", "longest", "sum")

    def __init__(self, bounds: tuple[float, ...] = QUICK) -> None:
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
        """The bound within which such a share lies; None while there is nothing."""
        left = share * self.count
        for bound, count in zip((*self.bounds, self.longest), self.counts, strict=True):
            left -= count
            if count and left <= 0:
                return min(bound, self.longest)
        return None


class Metrics:
    """What was counted since this process began."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.answered: defaultdict[str, Histogram] = defaultdict(Histogram)
        # By method and error code.
        self.refused: Counter[tuple[str, str]] = Counter()
        self.first_tries = 0
        self.applicants = 0
        # How long it took from an applicant's first refusal to its admission.
        self.repaired = 0
        self.repair_seconds = 0.0
        # Who has applied, by the hash of its endpoint, and since when in vain; None once it is in. The endpoint itself
        # may be as long as a message.
        self._in_vain: dict[int, datetime | None] = {}

    def took(self, call: Call, result: Any, seconds: float) -> None:
        """A call was answered with a result."""
        method = _NAMES.get(call.method, OTHER)
        self.answered[method].add(seconds)
        if method in _REGISTRATIONS:
            self._applied(call, admitted=result.status == "ACCEPTED")

    def refuse(self, call: Call | None, code: str) -> None:
        """A request was answered with an error; None is one that could not be read."""
        method = OTHER if call is None else _NAMES.get(call.method, OTHER)
        self.refused[method, code] += 1
        if call is not None and method in _REGISTRATIONS:
            self._applied(call, admitted=False)

    def _applied(self, call: Call, *, admitted: bool) -> None:
        # All applicants that name no endpoint count as one.
        who = hash(endpoint_in(call))
        if who not in self._in_vain:
            if len(self._in_vain) >= MAX_APPLICANTS:
                del self._in_vain[next(iter(self._in_vain))]
            self._in_vain[who] = None if admitted else self._now()
            self.applicants += 1
            self.first_tries += admitted
        elif admitted and (since := self._in_vain[who]) is not None:
            self._in_vain[who] = None
            self.repaired += 1
            self.repair_seconds += (self._now() - since).total_seconds()
