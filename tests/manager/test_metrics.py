"""The manager's metrics: histograms, requests by method, and applicants that were admitted at the first try."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from leaguekit.manager import metrics
from leaguekit.manager.metrics import Histogram, Metrics
from leaguekit.protocol.messages import LeagueRegisterResponse, envelope
from leaguekit.protocol.rpc import Call
from tests.agents.leagues import BEGAN


def test_a_histogram_counts_by_the_first_bound_that_holds() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.0, 0.1, 0.5, 7.0):
        histogram.add(seconds)
    assert (histogram.counts, histogram.count, histogram.longest) == ([2, 1, 1], 4, 7.0)
    assert histogram.sum == pytest.approx(7.6)


def test_a_quantile_is_a_bound_and_never_more_than_the_longest() -> None:
    histogram = Histogram((0.1, 1.0))
    assert histogram.quantile(0.5) is None
    histogram.add(0.04)
    assert histogram.quantile(0.5) == 0.04
    for _ in range(9):
        histogram.add(0.5)
    assert (histogram.quantile(0.1), histogram.quantile(0.5), histogram.quantile(1.0)) == (0.1, 0.5, 0.5)
    histogram.add(30.0)
    assert histogram.quantile(1.0) == 30.0


def call(method: str, **params: Any) -> Call:
    return Call(b"1", method, msgspec.Raw(json.dumps(params).encode()))


def answer(status: str) -> LeagueRegisterResponse:
    is_in = status == "ACCEPTED"
    known = {"player_id": "P01", "auth_token": "tok"} if is_in else {"player_id": None, "reason": "no"}
    return LeagueRegisterResponse(**envelope("league_manager", BEGAN, "c"), status=status, **known)


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_requests_are_counted_under_the_methods_own_name_and_strangers_together() -> None:
    counted = Metrics(Clock())
    for method in ("league_query", "LEAGUE_QUERY", "ping", "x" * 1_000, "y"):
        counted.count_result(call(method), {}, 0.001)
    assert {method: one.count for method, one in counted.answered.items()} == {"league_query": 2, "ping": 1, "other": 2}
    counted.count_refusal(call("LEAGUE_QUERY"), "E012")
    counted.count_refusal(None, "E040")
    assert counted.refused == {("league_query", "E012"): 1, ("other", "E040"): 1}


def test_an_applicant_is_known_by_its_endpoint_and_counts_once() -> None:
    clock = Clock()
    counted = Metrics(clock)
    one, other = ({"player_meta": {"contact_endpoint": f"http://localhost:810{n}/mcp"}} for n in (1, 2))
    counted.count_result(call("register_player", **one), answer("REJECTED"), 0.1)
    counted.count_refusal(call("register_player", **one), "E003")
    clock.advance(60)
    counted.count_result(call("LEAGUE_REGISTER_REQUEST", **one), answer("ACCEPTED"), 0.1)
    clock.advance(60)
    counted.count_result(call("register_player", **one), answer("ACCEPTED"), 0.1)
    counted.count_result(call("register_player", **other), answer("ACCEPTED"), 0.1)
    assert (counted.applicants, counted.first_tries) == (2, 1)
    assert (counted.repaired, counted.repair_seconds) == (1, 60.0)


def test_what_cannot_be_read_is_an_applicant_without_a_place_and_memory_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "MAX_APPLICANTS", 3)
    counted = Metrics(Clock())
    counted.count_refusal(Call(b"1", "register_player", msgspec.Raw(b"[1]")), "E043")
    counted.count_refusal(call("register_player", player_meta=1), "E043")
    assert counted.applicants == 1
    for number in range(10):
        meta = {"contact_endpoint": f"http://localhost:{number}/mcp"}
        counted.count_result(call("register_referee", referee_meta=meta), answer("ACCEPTED"), 0.1)
    assert len(counted._refused_since) == 3
    assert counted.first_tries == 10


def test_the_long_endpoint_of_an_applicant_is_not_kept() -> None:
    counted = Metrics(Clock())
    meta = {"contact_endpoint": "http://localhost:1/" + "a" * 9_000 + "\N{GRINNING FACE}"}
    for _ in range(2):
        counted.count_refusal(call("register_player", player_meta=meta), "E043")
    (kept,) = counted._refused_since
    assert sys.getsizeof(kept) < 100
    assert counted.applicants == 1
