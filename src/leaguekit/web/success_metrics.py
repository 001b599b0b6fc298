"""The success metrics of the specification (000 §13), as the manager counts them, beside their goals."""

from __future__ import annotations

from typing import Literal, NamedTuple

from leaguekit.manager.metrics import Histogram, Metrics
from leaguekit.web.evidence_counts import INVALID_CHOICES, merge_histograms
from leaguekit.web.page_types import Metric, MetricsPage
from leaguekit.web.projection import Projection

IN_LOG = "in the reports of this league's referees"
HERE = "at the manager since it was started"
# The errors of a message that is not written as the protocol says.
MALFORMED = ("E003", "E018", "E021", "E040", "E041", "E042", "E043", "E044", "E045", "E046")
WRONG_TYPE = "E043"


class Ratio(NamedTuple):
    """A share, or a mean: an amount, and the number that it is divided by."""

    amount: float
    of: int

    @property
    def value(self) -> float | None:
        return self.amount / self.of if self.of else None


def metrics(projection: Projection, meters: Metrics, standings_delays: Histogram) -> MetricsPage:
    evidence = list(projection.evidence_counts.values())
    requests = projection.league.requests
    wrong = sum(one.wrong for one in requests.values())
    answers = wrong + sum(one.answered for one in requests.values())
    calls = sum(histogram.count for histogram in meters.answered.values()) + sum(meters.refused.values())
    malformed = sum(count for (_, code), count in meters.refused.items() if code in MALFORMED)
    valid = Ratio(answers - wrong + calls - malformed, answers + calls)
    wrong_types = sum(count for (_, code), count in meters.refused.items() if code == WRONG_TYPE)
    wrong_types += sum(counts.error_count(WRONG_TYPE) for counts in evidence)
    invalid = sum(counts.error_count(*INVALID_CHOICES) for counts in evidence)
    choices = invalid + sum(counts.good["moved"] for counts in evidence)
    answering = [projection.evidence_counts[player] for player, one in requests.items() if one.answered or one.wrong]
    round_trips = merge_histograms([counts.times for counts in evidence])
    queries = meters.answered.get("league_query", Histogram())
    repairs = Ratio(
        sum(counts.repair_seconds for counts in evidence) + meters.repair_seconds,
        sum(counts.repaired for counts in evidence) + meters.repaired,
    )
    both = f"{HERE}, and {IN_LOG}"
    return MetricsPage(
        seq=projection.number,
        metrics=[
            _above("000-L1543", "Messages that pass validation", 0.99, valid, both),
            _below("000-L1544", "Messages with a field of the wrong type", 0.01, Ratio(wrong_types, valid.of), both),
            _above(
                "000-L1547",
                "Errors overcome by a retry",
                0.80,
                Ratio(sum(one.recovered for one in requests.values()), sum(one.retried for one in requests.values())),
                IN_LOG,
            ),
            _below(
                "000-L1548",
                "Requests that ran out of time",
                0.05,
                Ratio(sum(one.timeouts for one in requests.values()), sum(one.asked for one in requests.values())),
                IN_LOG,
            ),
            _below("000-L1549", "Choices that are invalid", 0.05, Ratio(invalid, choices), IN_LOG),
            _within("000-L1552", "A message and its answer, on average", 0.5, _mean(round_trips), IN_LOG),
            _within("000-L1553", "A query, on average", 1.0, _mean(queries), HERE),
            _within("000-L1554", "From a result to the standings, on average", 5.0, _mean(standings_delays), HERE),
            _above(
                "000-L1557",
                "Players that answer every type of message correctly",
                0.95,
                Ratio(sum(counts.answers_everything for counts in answering), len(answering)),
                IN_LOG,
            ),
            _above(
                "000-L1558",
                "Agents admitted at their first try",
                0.80,
                Ratio(meters.first_tries, meters.applicants),
                HERE,
            ),
            _within("000-L1559", "From an error to its repair, on average", 1_800.0, repairs, both),
        ],
    )


def _mean(histogram: Histogram) -> Ratio:
    return Ratio(histogram.sum, histogram.count)


def _above(requirement: str, name: str, goal: float, ratio: Ratio, counted: str) -> Metric:
    is_met = None if ratio.value is None else ratio.value > goal
    return _metric(requirement, name, f"> {100 * goal:g} %", ratio, counted, is_met=is_met)


def _below(requirement: str, name: str, goal: float, ratio: Ratio, counted: str) -> Metric:
    is_met = None if ratio.value is None else ratio.value < goal
    return _metric(requirement, name, f"< {100 * goal:g} %", ratio, counted, is_met=is_met)


def _within(requirement: str, name: str, goal_seconds: float, ratio: Ratio, counted: str) -> Metric:
    is_met = None if ratio.value is None else ratio.value < goal_seconds
    goal = f"< {goal_seconds / 60:g} min" if goal_seconds >= 60 else f"< {goal_seconds:g} s"
    return _metric(requirement, name, goal, ratio, counted, is_met=is_met, unit="seconds")


def _metric(
    requirement: str,
    name: str,
    goal: str,
    ratio: Ratio,
    counted: str,
    *,
    is_met: bool | None,
    unit: Literal["share", "seconds"] = "share",
) -> Metric:
    return Metric(
        id=requirement, name=name, goal=goal, value=ratio.value, unit=unit, of=ratio.of, met=is_met, counted=counted
    )
