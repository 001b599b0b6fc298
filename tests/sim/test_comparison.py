"""What many leagues come to: counted whole, and as sure as it is."""

from __future__ import annotations

import math
import statistics
from random import Random

import pytest

from leaguekit.protocol.messages import Standing
from leaguekit.sim.comparison import FEWEST_LEAGUES, Comparison, Tally, _t_quantile


def row(player: str, rank: int, wins: int = 0, draws: int = 0, losses: int = 0) -> Standing:
    return Standing(
        rank=rank,
        player_id=player,
        display_name=player,
        played=wins + draws + losses,
        wins=wins,
        draws=draws,
        losses=losses,
        points=3 * wins + draws,
    )


def test_players_and_those_who_play_alike_are_tallied() -> None:
    comparison = Comparison(["P01", "P02", "P03"], ["x", "y", "x"])
    comparison.add([row("P02", 1, wins=2), row("P03", 2, draws=1, losses=1), row("P01", 3, draws=1, losses=1)])
    comparison.add([row("P01", 1, wins=1, draws=1), row("P02", 2, wins=1, losses=1), row("P03", 3, draws=1, losses=1)])
    assert comparison.leagues == 2
    assert comparison.players["P01"] == Tally(2, 1, 4, 1, 2, 1, 5, 1 + 16)
    assert comparison.players["P02"] == Tally(2, 1, 4, 3, 0, 1, 9, 36 + 9)
    assert comparison.strategies["x"] == Tally(2, 1, 8, 1, 4, 3, 7, 4 + 25)
    assert comparison.strategies["y"] == comparison.players["P02"]
    assert (comparison.strategies["x"].points_per_match, comparison.strategies["x"].share_won) == (7 / 8, 0.5)


def tally_of(points: list[int], matches: int) -> Tally:
    """Leagues with those points, all won by draws."""
    tally = Tally()
    for each in points:
        tally.add([row("P01", 2, draws=each, losses=matches - each)])
    return tally


def test_the_margin_is_students() -> None:
    points = [3, 5, 4, 7, 2, 6, 5, 5, 4, 3]
    tally = tally_of(points, matches=10)
    # t for 9 degrees of freedom is 2.262.
    expected = 2.262 * statistics.stdev(points) / math.sqrt(10) / 10
    assert tally.margin == pytest.approx(expected, rel=1e-3)


def test_too_few_leagues_say_nothing_of_chance() -> None:
    assert tally_of([3, 5] * 4 + [4], 10).margin is None
    assert tally_of([3] * FEWEST_LEAGUES, 10).margin == 0.0


# From the usual printed tables.
@pytest.mark.parametrize(("freedom", "t"), [(9, 2.262), (14, 2.145), (29, 2.045), (99, 1.984), (100_000, 1.960)])
def test_the_quantile_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert _t_quantile(freedom) == pytest.approx(t, abs=1e-3)


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    chance = Random(5)
    held = 0
    for _ in range(1_000):
        tally = tally_of([sum(chance.random() < 0.3 for _ in range(20)) for _ in range(12)], matches=20)
        assert tally.margin is not None
        held += abs(tally.points_per_match - 0.3) <= tally.margin
    assert 930 <= held <= 970
