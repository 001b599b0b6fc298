"""The success metrics of the specification (000 §13), as the manager counts them, beside their goals."""

from __future__ import annotations

from typing import Literal

from leaguekit.manager.metrics import Histogram, Metrics
from leaguekit.web.evidence_counts import merge_histograms, total_requests
from leaguekit.web.page_types import Metric, MetricsPage
from leaguekit.web.projection import Projection

IN_LOG = "in the reports of this league's referees"
HERE = "at the manager since it was started"
# The errors of a message that is not written as the protocol says.
MALFORMED = ("E003", "E018", "E021", "E040", "E041", "E042", "E043", "E044", "E045", "E046")
WRONG_TYPE = "E043"
# An amount, and the number by which it is divided.
Ratio = tuple[float, int]


def metrics(projection: Projection, meters: Metrics, standings_delays: Histogram) -> MetricsPage:
    evidence = list(projection.evidence_counts.values())
    league = projection.league
    requests = total_requests(league)
    answers = requests.wrong + requests.answered
    calls = sum(histogram.count for histogram in meters.answered.values()) + sum(meters.refused.values())
    malformed = sum(count for (_, code), count in meters.refused.items() if code in MALFORMED)
    messages, valid = answers + calls, requests.answered + calls - malformed
    wrong_types = sum(count for (_, code), count in meters.refused.items() if code == WRONG_TYPE)
    wrong_types += sum(counts.error_count(WRONG_TYPE) for counts in evidence)
    choices = requests.illegal + sum(counts.good["moved"] for counts in evidence)
    answering = [
        projection.evidence_counts[player] for player, one in league.requests.items() if one.answered or one.wrong
    ]
    correct = sum(counts.answers_everything for counts in answering)
    round_trips = merge_histograms([counts.times for counts in evidence])
    queries = meters.answered.get("league_query", Histogram())
    repair_seconds = sum(counts.repair_seconds for counts in evidence) + meters.repair_seconds
    repaired = sum(counts.repaired for counts in evidence) + meters.repaired
    tries, applicants = meters.first_tries, meters.applicants
    both = f"{HERE}, and {IN_LOG}"
    return MetricsPage(
        seq=projection.number,
        metrics=[
            _metric("000-L1543", "Messages that pass validation", "> 99 %", (valid, messages), both),
            _metric("000-L1544", "Messages with a field of the wrong type", "< 1 %", (wrong_types, messages), both),
            _metric(
                "000-L1547", "Errors overcome by a retry", "> 80 %", (requests.recovered, requests.retried), IN_LOG
            ),
            _metric("000-L1548", "Requests that ran out of time", "< 5 %", (requests.timeouts, requests.asked), IN_LOG),
            _metric("000-L1549", "Choices that are invalid", "< 5 %", (requests.illegal, choices), IN_LOG),
            _metric("000-L1552", "A message and its answer, on average", "< 0.5 s", _mean(round_trips), IN_LOG),
            _metric("000-L1553", "A query, on average", "< 1 s", _mean(queries), HERE),
            _metric("000-L1554", "From a result to the standings, on average", "< 5 s", _mean(standings_delays), HERE),
            _metric(
                "000-L1557",
                "Players that answer every type of message correctly",
                "> 95 %",
                (correct, len(answering)),
                IN_LOG,
            ),
            _metric("000-L1558", "Agents admitted at their first try", "> 80 %", (tries, applicants), HERE),
            _metric(
                "000-L1559", "From an error to its repair, on average", "< 30 min", (repair_seconds, repaired), both
            ),
        ],
    )


def _mean(histogram: Histogram) -> Ratio:
    return histogram.sum, histogram.count


def _metric(requirement: str, name: str, goal: str, ratio: Ratio, counted: str) -> Metric:
    """A metric beside its goal, such as ``> 99 %``, ``< 5 s`` or ``< 30 min``."""
    sign, limit, unit = goal.split()
    amount, of = ratio
    value = amount / of if of else None
    bound = float(limit) / 100 if unit == "%" else float(limit) * (60 if unit == "min" else 1)
    is_met = None if value is None else value > bound if sign == ">" else value < bound
    kind: Literal["share", "seconds"] = "share" if unit == "%" else "seconds"
    return Metric(id=requirement, name=name, goal=goal, value=value, unit=kind, of=of, met=is_met, counted=counted)
