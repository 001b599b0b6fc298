"""A sequential test: its ratio against a plain search, its symmetry, and what it says of results that are all alike."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.player.context import Context
from leaguekit.player.strategies import STRATEGIES
from leaguekit.sim.comparison.offline_league import Entrant
from leaguekit.sim.comparison.pairs import PairedGames, PairedTest
from leaguekit.sim.comparison.sprt import BOUND, SequentialTest

PAIRS = st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(any)


def searched(pairs: list[int], t: float) -> float:
    """The largest log-likelihood of normal scores with a mean of t standard deviations, by trying deviations."""

    def height(log_deviation: float) -> float:
        deviation = math.exp(log_deviation)
        scores = zip((-0.5, -0.25, 0.0, 0.25, 0.5), pairs, strict=True)
        return -sum(n * (log_deviation + (score / deviation - t) ** 2 / 2) for score, n in scores)

    return max(height(step / 1_000) for step in range(-4_000, 1_000))


@pytest.mark.parametrize("pairs", [[3, 10, 20, 14, 5], [40, 0, 3, 0, 60], [0, 0, 1, 9, 20]])
def test_the_ratio_is_that_of_the_largest_likelihoods(pairs: list[int]) -> None:
    scale = 800 / math.log(10) / math.sqrt(2)
    found = SequentialTest(-10, 30, pairs).ratio()
    assert found == pytest.approx(searched(pairs, 30 / scale) - searched(pairs, -10 / scale), abs=1e-4)


@given(PAIRS)
def test_with_the_strategies_swapped_everything_is_reversed(pairs: list[int]) -> None:
    one, other = SequentialTest(-10, 30, pairs), SequentialTest(-30, 10, pairs[::-1])
    assert other.ratio() == pytest.approx(-one.ratio())
    assert other.share == pytest.approx(1 - one.share)
    elo, low, high = one.difference()
    assert other.difference() == pytest.approx((-elo, -high, -low))
    assert low < elo < high


@pytest.mark.parametrize(
    ("score", "decision", "count"), [(4, "above_low", 27), (0, "below_high", 26), (2, "below_high", 427)]
)
def test_results_that_are_all_alike_are_decided_too(score: int, decision: str, count: int) -> None:
    test = SequentialTest.of(0, 30)
    test.pairs[score] = count - 1
    assert test.decision() is None
    test.pairs[score] += 1
    assert test.decision() == decision
    assert abs(test.ratio()) >= BOUND
    assert all(map(math.isfinite, test.difference()))


def test_the_interval_narrows_around_the_difference() -> None:
    few, many = (SequentialTest(0, 30, [one * times for one in (10, 20, 40, 25, 13)]) for times in (1, 100))
    assert few.difference().high - few.difference().low > 5 * (many.difference().high - many.difference().low)
    # The mean of a pair is 0.025463 above ½ per game, and its standard deviation 0.28.
    assert many.difference().elo == pytest.approx(800 / math.log(10) / math.sqrt(2) * 0.025463 / 0.28018, abs=0.1)


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_pairs_are_those_of_their_seeds(game: str) -> None:
    def played(*seeds: int) -> list[int]:
        entrants = [Entrant(name, STRATEGIES[name]) for name in ("random", "frequency")]
        paired = PairedTest.of(SequentialTest.of(0, 30))
        paired.add(PairedGames(game, *entrants).play_pairs(seeds))
        return paired.test.pairs

    assert played(*range(40)) == played(*range(40)) != played(*range(40, 80))
    assert played(*range(40)) == played(*reversed(range(40)))


def test_both_games_of_a_pair_have_the_same_chance_and_swapped_sides() -> None:
    """The player that says even wins if the drawn number is even: so the same strategy wins both games of a pair."""
    entrants = [Entrant(name, STRATEGIES[name]) for name in ("always_even", "always_odd")]
    paired = PairedTest.of(SequentialTest.of(0, 30))
    paired.add(PairedGames("even_odd", *entrants).play_pairs(range(50)))
    lost, *between, won = paired.test.pairs
    assert between == [0, 0, 0]
    assert lost > 10
    assert won > 10
    # Each strategy has chosen once per game.
    assert [one.total for one in paired.origins] == [100, 100]


def test_the_second_game_knows_nothing_of_the_first() -> None:
    seen: list[tuple[str, int]] = []

    def watches(ctx: Context) -> str:
        seen.append((ctx.role, len(ctx.history)))
        return "even"

    PairedGames("even_odd", Entrant("watches", watches), Entrant("random", STRATEGIES["random"])).play(1)
    assert seen == [("PLAYER_A", 0), ("PLAYER_B", 0)]
