"""The success metrics of the specification (000 §13), as the manager counts them, beside their goals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from leaguekit.manager.metrics import Histogram, Metrics
from leaguekit.web.evidence_counts import INVALID_CHOICES, Tally, together
from leaguekit.web.page_types import Metric, MetricsPage
from leaguekit.web.projection import Projection

IN_LOG = "in the reports of this league's referees"
HERE = "at the manager since it was started"
# What a message's sender did wrong in writing it.
MALFORMED = ("E003", "E018", "E021", "E040", "E041", "E042", "E043", "E044", "E045", "E046")
WRONG_TYPE = "E043"


class Counted(NamedTuple):
    """So many of so many, or seconds in all and over how many."""

    amount: float
    of: int

    @property
    def value(self) -> float | None:
        return self.amount / self.of if self.of else None


def metrics(shown: Projection, meters: Metrics, standings_delays: Histogram) -> MetricsPage:
    tallies = list(shown.tallies.values())
    requests = shown.league.requests
    wrong = sum(one.wrong for one in requests.values())
    answers = wrong + sum(one.answered for one in requests.values())
    calls = sum(histogram.count for histogram in meters.answered.values()) + sum(meters.refused.values())
    malformed = sum(count for (_, code), count in meters.refused.items() if code in MALFORMED)
    wrong_types = sum(count for (_, code), count in meters.refused.items() if code == WRONG_TYPE)
    chosen = _sum(tallies, lambda tally: tally.good["moved"] + tally.failed(*INVALID_CHOICES))
    invalid = _sum(tallies, lambda tally: tally.failed(*INVALID_CHOICES))
    heard = [shown.tallies.of(player) for player, one in requests.items() if one.answered or one.wrong]
    round_trips, queries = (
        together([tally.times for tally in tallies]),
        meters.answered.get("league_query", Histogram()),
    )
    repairs = Counted(
        sum(tally.repair_seconds for tally in tallies) + meters.repair_seconds,
        _sum(tallies, lambda tally: tally.repaired) + meters.repaired,
    )
    both = f"{HERE}, and {IN_LOG}"
    valid = Counted(answers - wrong + calls - malformed, answers + calls)
    wrong_types += _sum(tallies, lambda tally: tally.failed(WRONG_TYPE))
    return MetricsPage(
        seq=shown.number,
        metrics=[
            _above("000-L1543", "Messages that pass validation", 0.99, valid, both),
            _below("000-L1544", "Messages with a field of the wrong type", 0.01, Counted(wrong_types, valid.of), both),
            _above(
                "000-L1547",
                "Errors overcome by a retry",
                0.80,
                Counted(sum(one.recovered for one in requests.values()), sum(one.retried for one in requests.values())),
                IN_LOG,
            ),
            _below(
                "000-L1548",
                "Requests that ran out of time",
                0.05,
                Counted(sum(one.timeouts for one in requests.values()), sum(one.asked for one in requests.values())),
                IN_LOG,
            ),
            _below("000-L1549", "Choices that are invalid", 0.05, Counted(invalid, chosen), IN_LOG),
            _within("000-L1552", "A message and its answer, on average", 0.5, _mean(round_trips), IN_LOG),
            _within("000-L1553", "A query, on average", 1.0, _mean(queries), HERE),
            _within("000-L1554", "From a result to the standings, on average", 5.0, _mean(standings_delays), HERE),
            _above(
                "000-L1557",
                "Players that answer every type of message correctly",
                0.95,
                Counted(sum(tally.has_all for tally in heard), len(heard)),
                IN_LOG,
            ),
            _above(
                "000-L1558",
                "Agents admitted at their first try",
                0.80,
                Counted(meters.first_tries, meters.applicants),
                HERE,
            ),
            _within("000-L1559", "From an error to its repair, on average", 1_800.0, repairs, both),
        ],
    )


def _sum(tallies: list[Tally], figure: Callable[[Tally], int]) -> int:
    return sum(map(figure, tallies))


def _mean(histogram: Histogram) -> Counted:
    return Counted(histogram.sum, histogram.count)


def _above(name: str, what: str, goal: float, found: Counted, counted: str) -> Metric:
    metric = _metric(name, what, found, counted)
    metric.goal = f"> {100 * goal:g} %"
    metric.met = None if found.value is None else found.value > goal
    return metric


def _below(name: str, what: str, goal: float, found: Counted, counted: str) -> Metric:
    metric = _metric(name, what, found, counted)
    metric.goal = f"< {100 * goal:g} %"
    metric.met = None if found.value is None else found.value < goal
    return metric


def _within(name: str, what: str, goal: float, found: Counted, counted: str) -> Metric:
    metric = _metric(name, what, found, counted)
    metric.unit = "seconds"
    metric.goal = f"< {goal / 60:g} min" if goal >= 60 else f"< {goal:g} s"
    metric.met = None if found.value is None else found.value < goal
    return metric


def _metric(name: str, what: str, found: Counted, counted: str) -> Metric:
    return Metric(id=name, name=what, goal="", value=found.value, unit="share", of=found.of, met=None, counted=counted)
