"""The schedule: everybody meets, nobody twice in a round, sides come out even."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.formats.base import Pair
from leaguekit.formats.round_robin import RoundRobin
from leaguekit.protocol.ids import player_id


def _players(count: int) -> list[str]:
    return [player_id(number) for number in range(1, count + 1)]


def round_robin(players: list[str], legs: int = 1) -> list[list[Pair]]:
    return RoundRobin(legs).full_schedule(players)


fields = st.integers(2, 41).map(_players)


@given(fields)
def test_the_number_of_matches_is_known_without_the_schedule(players: list[str]) -> None:
    for legs in (1, 2):
        rounds = round_robin(players, legs)
        made = RoundRobin(legs)
        assert made.match_count(len(players)) == sum(map(len, rounds))
        assert made.total_rounds(len(players)) == len(rounds)


@pytest.mark.proves("004-L0121b", "004-L0461b")
def test_four_players_meet_in_the_documented_order() -> None:
    rounds = [[set(pair) for pair in pairs] for pairs in round_robin(_players(4))]
    assert rounds == [
        [{"P01", "P02"}, {"P03", "P04"}],
        [{"P01", "P03"}, {"P02", "P04"}],
        [{"P01", "P04"}, {"P02", "P03"}],
    ]


def test_of_four_players_the_first_named_is_side_a_but_where_balance_forbids() -> None:
    assert round_robin(_players(4)) == [
        [("P01", "P02"), ("P03", "P04")],
        [("P01", "P03"), ("P02", "P04")],
        [("P04", "P01"), ("P02", "P03")],
    ]


@pytest.mark.proves("003-L0019", "003-L0155b", "000-L0398")
@given(fields)
def test_everybody_meets_everybody_else_once(players: list[str]) -> None:
    met = Counter(frozenset(pair) for pairs in round_robin(players) for pair in pairs)
    assert met == Counter(frozenset(pair) for pair in combinations(players, 2))


@pytest.mark.proves("000-L0397", "000-L0365")
@given(fields)
def test_nobody_plays_twice_in_a_round_and_at_most_one_rests(players: list[str]) -> None:
    for pairs in round_robin(players):
        playing = [player for pair in pairs for player in pair]
        assert len(playing) == len(set(playing))
        assert len(pairs) == len(players) // 2


@given(fields)
def test_rounds_are_as_few_as_can_be(players: list[str]) -> None:
    assert len(round_robin(players)) == len(players) - 1 + len(players) % 2


@given(fields)
def test_in_an_odd_number_each_rests_once(players: list[str]) -> None:
    rests = Counter(
        player for pairs in round_robin(players) for player in set(players) - {one for pair in pairs for one in pair}
    )
    assert rests == (Counter(players) if len(players) % 2 else Counter())


@given(fields)
def test_nobody_is_on_one_side_more_than_once_oftener(players: list[str]) -> None:
    balance: Counter[str] = Counter()
    for pairs in round_robin(players):
        for a, b in pairs:
            balance[a] += 1
            balance[b] -= 1
    assert all(abs(balance[player]) <= 1 for player in players)


@given(fields)
def test_a_double_round_robin_is_the_same_again_with_the_sides_swapped(players: list[str]) -> None:
    once, twice = round_robin(players), round_robin(players, 2)
    assert twice[: len(once)] == once
    assert twice[len(once) :] == [[(b, a) for a, b in pairs] for pairs in once]
