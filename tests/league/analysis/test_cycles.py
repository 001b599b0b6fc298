"""Cycles: found where players beat each other in circles, and seldom claimed where a rating describes them."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from leaguekit.league.analysis.cycles import MAX_PLAYERS, Cycles, _Graph, find_cycles
from leaguekit.league.analysis.figures import _cycle_sentence, _side_sentence
from leaguekit.league.analysis.linear_algebra import never_cancel
from leaguekit.league.analysis.ratings import Difference, Played
from tests.league.analysis.test_ratings import simulated


def claims(number: int, players: int, spread: float, ties: float, legs: int, side: float) -> int:
    """How many of this number of leagues without true cycles are said to have some."""
    chance = random.Random(number * players)
    claimed = 0
    for _ in range(number):
        strengths = [chance.gauss(0, spread) for _ in range(players)]
        played = [match for _ in range(legs) for match in simulated(chance, strengths, ties, side)]
        claimed += find_cycles(played) is not None
    return claimed


@pytest.mark.parametrize(
    ("players", "spread", "ties", "legs", "side"),
    [
        (6, 0.0, 0.5, 1, 0.3),
        (10, 0.0, 0.0, 1, 0.0),
        (10, 0.0, 0.5, 1, 2.0),
        (8, 1.0, 0.5, 2, 1.0),
        (3, 0.5, 0.0, 2, 0.3),
    ],
)
def test_without_true_cycles_they_are_seldom_claimed(
    players: int, spread: float, ties: float, legs: int, side: float
) -> None:
    # 5 of 100 are allowed; at that rate more than 12 come about once in a thousand.
    assert claims(100, players, spread, ties, legs, side) <= 12


def rock_paper_scissors(players: int, legs: int) -> list[Played]:
    """A league in which each player always makes the same move."""
    pairs = [pair for pair in permutations(range(players), 2) if legs == 2 or pair[0] < pair[1]]
    return [Played(f"P{a:02d}", f"P{b:02d}", (0.5, 1.0, 0.0)[(a - b) % 3]) for a, b in pairs]


@pytest.mark.parametrize(("players", "legs"), [(3, 2), (6, 1), (9, 1), (12, 2)])
def test_rock_paper_and_scissors_are_a_cycle(players: int, legs: int) -> None:
    found = find_cycles(rock_paper_scissors(players, legs))
    assert found is not None
    # One player of each move.
    assert found.found == (players // 3) ** 3
    assert found.expected < found.found
    assert len({int(player[1:]) % 3 for player in found.example}) == 3
    (sentence,) = _cycle_sentence(found)
    first, second, third = found.example
    assert f"{first} beat {second}, {second} beat {third}, and {third} beat {first}." in sentence


def noisy_rock_paper_scissors(chance: random.Random) -> list[Played]:
    """Twelve players of whom each mostly makes the same move: 75 % of the results are as the moves say."""
    return [
        match if chance.random() < 0.75 else match._replace(score=chance.choice((0.0, 0.5, 1.0)))
        for match in rock_paper_scissors(12, 2)
    ]


def test_a_noisy_cycle_is_usually_found() -> None:
    assert sum(find_cycles(noisy_rock_paper_scissors(random.Random(number))) is not None for number in range(30)) >= 24


def test_cycles_are_counted_as_by_trying_all_groups_of_three() -> None:
    chance = random.Random(2)
    for _ in range(20):
        pairs = [*permutations(range(7), 2)]
        scores = chance.choices((0.0, 0.5, 1.0), k=len(pairs))
        net = dict.fromkeys(pairs, 0.0)
        for (a, b), score in zip(pairs, scores, strict=True):
            net[a, b] += score - 0.5
            net[b, a] -= score - 0.5
        tried = [
            cycle
            for three in combinations(range(7), 3)
            for cycle in (three, three[::-1])
            if all(net[cycle[at], cycle[(at + 1) % 3]] > 0 for at in range(3))
        ]
        graph = _Graph(7, pairs, scores)
        assert graph.cycle_count() == len(tried)
        if tried:
            example = graph.example()
            assert {*example} in [{*cycle} for cycle in tried]
            assert net[example[:2]] > 0


def test_leagues_that_are_too_large_or_have_no_matches_have_no_claim() -> None:
    assert find_cycles([]) is None
    large = [Played("P000", f"P{number:03d}", 1.0) for number in range(1, MAX_PLAYERS + 1)]
    assert find_cycles(large) is None


def test_the_search_can_be_cancelled() -> None:
    played = rock_paper_scissors(6, 1)
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        never_cancel()

    assert find_cycles(played, check) == find_cycles(played)
    assert calls == 199


def test_a_single_cycle_is_said_in_the_singular() -> None:
    (sentence,) = _cycle_sentence(Cycles(("P01", "P02", "P03"), 1, 0.04))
    assert "1 group of three has such a circle, where among equal players about 0.0 would." in sentence
    assert not [*_cycle_sentence(None)]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(5, 75, "an advantage"), (-35, 115, "no more than chance explains"), (-90, -10, "a disadvantage")],
)
def test_it_is_said_what_side_a_is_worth(low: float, high: float, said: str) -> None:
    (sentence,) = _side_sentence(Difference((low + high) / 2, low, high))
    assert f"), {said}; the ratings allow for it." in sentence
    assert not [*_side_sentence(None)]
