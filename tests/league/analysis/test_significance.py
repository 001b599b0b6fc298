"""Whether results are more than chance: against exact counts, tables, and leagues of players who are all alike."""

from __future__ import annotations

import itertools
import random

import pytest

from leaguekit.league.analysis.ratings import Played
from leaguekit.league.analysis.significance import champions_chance, chi_square_tail, equality
from tests.league.analysis.test_ratings import simulated


@pytest.mark.parametrize(
    ("statistic", "degrees_of_freedom", "chance"),
    [(5.991, 2, 0.05), (7.815, 3, 0.05), (16.919, 9, 0.05), (66.339, 49, 0.05), (21.666, 9, 0.01), (8.343, 9, 0.5)],
)
def test_the_tail_of_chi_square_is_that_of_the_tables(statistic: float, degrees_of_freedom: int, chance: float) -> None:
    assert chi_square_tail(statistic, degrees_of_freedom) == pytest.approx(chance, abs=0.0015)
    assert chi_square_tail(0.0, degrees_of_freedom) == pytest.approx(1, abs=0.01)


def test_of_a_whole_round_robin_it_is_durbins_statistic() -> None:
    """Four times the squared surpluses of wins, through the number of players."""
    order = ["P01", "P02", "P03", "P04", "P05"]
    played = [Played(a, b, 1) for a, b in itertools.combinations(order, 2)]
    found = equality(played)
    assert found.statistic == pytest.approx(4 * sum((wins - 2) ** 2 for wins in (4, 3, 2, 1, 0)) / 5)
    assert found.degrees_of_freedom == 4


def test_groups_that_never_met_are_not_compared() -> None:
    pairs = [Played("P01", "P02", 1), Played("P03", "P04", 1), Played("P05", "P06", 0)]
    found = equality(pairs)
    assert (found.degrees_of_freedom, found.statistic) == (3, pytest.approx(3))
    joined = equality([*pairs, Played("P02", "P03", 1)])
    assert joined.degrees_of_freedom == 4


def test_the_chance_is_that_of_all_possible_leagues() -> None:
    """Of the 64 leagues of four players without draws, 24 have the wins 3, 2, 1 and 0."""
    order = ["P01", "P02", "P03", "P04"]
    assert equality([Played(a, b, 1) for a, b in itertools.combinations(order, 2)]).chance == 24 / 64
    # A draw more changes nothing: it is drawn in each of these leagues.
    three = [Played("P01", "P02", 1), Played("P01", "P03", 1), Played("P02", "P03", 1)]
    assert equality(three).chance == 6 / 8
    assert equality([*three, Played("P03", "P01", 0.5)]).chance == pytest.approx(6 / 8)


def test_the_chance_is_that_of_drawn_leagues_if_there_are_too_many() -> None:
    """Of the 32,768 leagues of six players without draws, 720 have the wins 5, 4, 3, 2, 1 and 0."""
    played = [Played(a, b, 1) for a, b in itertools.combinations(["P01", "P02", "P03", "P04", "P05", "P06"], 2)]
    assert equality(played).chance == pytest.approx(720 / 32_768, abs=0.008)
    assert equality(played) == equality(played)


@pytest.mark.parametrize("opponents", [1, 5, 40])
def test_results_that_differ_as_much_whatever_they_are_show_nothing(opponents: int) -> None:
    """One match of each opponent against the same player."""
    played = [Played("P00", f"P{number:02}", number % 2) for number in range(1, opponents + 1)]
    assert equality(played).chance == 1


def test_draws_alone_make_no_difference() -> None:
    assert equality([Played("P01", "P02", 0.5)] * 5) == (0.0, 1, 1.0)


def points(played: list[Played]) -> dict[str, int]:
    found: dict[str, int] = {}
    for a, b, score in played:
        found[a] = found.get(a, 0) + {1: 3, 0.5: 1, 0: 0}[score]
        found[b] = found.get(b, 0) + {1: 0, 0.5: 1, 0: 3}[score]
    return found


@pytest.mark.parametrize(
    ("players", "ties"),
    [
        *((4, 0.0), (4, 1.0), (4, 2.0), (10, 0.0)),
        *(pytest.param(*one, marks=pytest.mark.long) for one in ((6, 0.0), (6, 2.0), (10, 2.0))),
    ],
)
def test_players_who_are_all_alike_are_seldom_told_apart(players: int, ties: float) -> None:
    chance = random.Random(11)
    leagues = [simulated(chance, [0.0] * players, ties) for _ in range(300)]
    # 15 of 300 are what is allowed; by chance up to 24.
    assert sum(equality(played).chance < 0.05 for played in leagues) <= 24
    champions = [max(found, key=found.__getitem__) for found in map(points, leagues)]
    assert sum(champions_chance(*one) < 0.05 for one in zip(leagues, champions, strict=True)) <= 24


def test_players_who_differ_are_told_apart() -> None:
    played = simulated(random.Random(1), [2.0 * (3 - place) for place in range(12)], 0.5)
    assert equality(played).chance < 1e-5
    assert champions_chance(played, "P00") < 0.01
    assert champions_chance(played, "P11") == 1.0


def test_the_champions_chance_is_that_of_all_possible_leagues() -> None:
    """All outcomes of a player's three matches, as likely as in this league; any of four may be the champion."""
    played = [
        *(Played("P01", "P02", 1), Played("P01", "P03", 1), Played("P04", "P01", 0.5)),
        *(Played("P02", "P03", 0), Played("P02", "P04", 1), Played("P03", "P04", 0.5)),
    ]
    likely = {3: 1 / 3, 1: 1 / 3, 0: 1 / 3}
    tail = sum(likely[a] * likely[b] * likely[c] for a, b, c in itertools.product(likely, repeat=3) if a + b + c >= 7)
    assert champions_chance(played, "P01") == pytest.approx(4 * tail)
