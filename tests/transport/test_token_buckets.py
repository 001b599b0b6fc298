"""Token buckets: the rate and the burst per name, and bounded memory."""

from __future__ import annotations

import random

import pytest

from leaguekit.transport.token_buckets import TokenBuckets


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def buckets(per_second: float = 10, burst: float = 20, max_names: int = 100) -> tuple[TokenBuckets, Clock]:
    clock = Clock()
    return TokenBuckets(per_second, burst, max_names=max_names, clock=clock), clock


def test_a_burst_passes_and_then_the_rate_per_second() -> None:
    rates, clock = buckets()
    assert [rates.take("a") for _ in range(20)] == [0.0] * 20
    assert rates.take("a") == pytest.approx(0.1)
    passed = 0
    for _ in range(1_000):
        clock.now += 0.01
        passed += rates.take("a") == 0.0
    assert passed == pytest.approx(100, abs=1)


def test_whoever_waits_as_long_as_told_is_let_in() -> None:
    rates, clock = buckets()
    chance = random.Random(1)
    for _ in range(1_000):
        amount = chance.choice([1, 2, 5])
        waits = rates.take("a", amount)
        if waits:
            clock.now += waits * 0.9
            assert rates.take("a", amount) > 0
            clock.now += waits * 0.1 + 1e-6
            assert rates.take("a", amount) == 0.0


def test_a_refusal_costs_nothing_and_names_do_not_share() -> None:
    rates, clock = buckets()
    for _ in range(1_000):
        rates.take("a")
    assert rates.take("b") == 0.0
    clock.now += 0.1001
    assert rates.take("a") == 0.0


def test_what_is_owed_is_paid_before_anything_else_is_taken() -> None:
    rates, clock = buckets()
    rates.charge("a", 120)
    assert rates.take("a") == pytest.approx(10.1)
    clock.now += 10.2
    assert rates.take("a") == 0.0
    rates.charge("b", 5)
    assert [rates.take("b") == 0.0 for _ in range(16)] == [True] * 15 + [False]


def test_after_a_rest_there_is_as_much_as_at_first_and_no_more() -> None:
    rates, clock = buckets()
    for _ in range(30):
        rates.take("a")
    clock.now += 1_000_000
    assert [rates.take("a") == 0.0 for _ in range(25)] == [True] * 20 + [False] * 5


def test_any_number_of_names_takes_bounded_memory_and_those_at_rest_are_forgotten_first() -> None:
    rates, clock = buckets(max_names=100)
    for number in range(99):
        rates.take(f"at rest {number}")
    clock.now += 10
    for _ in range(30):
        rates.take("busy")
    for number in range(1_000_000 // 20):
        rates.take(number)
        assert len(rates._full_at) <= 100
        if number == 30:
            assert rates.take("busy") > 0
