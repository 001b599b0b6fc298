"""The text format of Prometheus: names, labels with whatever text, and histograms that add up."""

from __future__ import annotations

from leaguekit.manager.metrics import Histogram
from leaguekit.web.prometheus import Exposition


def test_a_family_has_a_head_and_a_line_for_each_of_its_labels() -> None:
    text = Exposition()
    text.add("gauge", "agents", "Agents by state", [({"state": "ACTIVE"}, 3), ({"state": 'a "b"\\\n'}, 0.5)])
    text.add("counter", "events_total", "Events", 12_345_678)
    assert text.text().decode().splitlines() == [
        "# HELP agents Agents by state",
        "# TYPE agents gauge",
        'agents{state="ACTIVE"} 3',
        'agents{state="a \\"b\\"\\\\\\n"} 0.5',
        "# HELP events_total Events",
        "# TYPE events_total counter",
        "events_total 12345678",
    ]


def test_a_histograms_buckets_add_up_to_its_count() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.5, 0.5, 3.0):
        histogram.add(seconds)
    text = Exposition()
    text.add("histogram", "answer_seconds", "Answers", [({"method": "ping"}, histogram)])
    assert text.text().decode().splitlines()[2:] == [
        'answer_seconds_bucket{method="ping",le="0.1"} 1',
        'answer_seconds_bucket{method="ping",le="1"} 3',
        'answer_seconds_bucket{method="ping",le="+Inf"} 4',
        'answer_seconds_sum{method="ping"} 4.05',
        'answer_seconds_count{method="ping"} 4',
    ]
