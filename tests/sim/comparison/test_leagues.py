"""A comparison assigns seats by each league's seed, and its leagues are those of an offline league."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from leaguekit.league.settings import Settings, plain_format
from leaguekit.player.context import Context
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.messages import MatchResult
from leaguekit.sim.comparison.leagues import Comparison
from leaguekit.sim.comparison.offline_league import Entrant, OfflineLeague

GAME = "rock_paper_scissors"
DOUBLE = Settings(league_id="any", game_type=GAME, rounds="double")


def entrants(*names: str) -> list[Entrant]:
    return [Entrant(name, STRATEGIES[name]) for name in names]


def test_every_strategy_has_every_seat_equally_often() -> None:
    comparison = Comparison(GAME, entrants("random", "frequency", "alternating"), 3)
    seats: Counter[tuple[str, str]] = Counter()
    orders: Counter[tuple[str, ...]] = Counter()
    for seed in range(600):
        comparison.play(seed)
        seats.update(comparison.strategy_of.items())
        orders[tuple(comparison.strategy_of.values())] += 1
    assert len(seats) == 9
    assert len(orders) == 6
    # 200 and 100 are expected, with standard deviations of 12 and 9.
    assert all(150 < count < 250 for count in seats.values())
    assert all(64 < count < 136 for count in orders.values())


def test_who_has_a_player_more_is_left_to_chance() -> None:
    comparison = Comparison(GAME, entrants("random", "frequency", "alternating"), 5)
    twice: Counter[str] = Counter()
    for seed in range(300):
        comparison.play(seed)
        copies = Counter(comparison.strategy_of.values())
        assert sorted(copies.values()) == [1, 2, 2]
        twice.update(name for name, count in copies.items() if count == 2)
    assert all(160 < twice[name] < 240 for name in comparison.names)


@pytest.mark.parametrize("players", [5, 8])
def test_the_order_in_which_strategies_are_named_changes_nothing(players: int) -> None:
    names = ("frequency", "alternating", "history_based", "random", "always_even")
    first, second = (Comparison(GAME, entrants(*order), players) for order in (names, names[::-1]))
    for seed in range(20):
        first.play(seed)
        second.play(seed)
    assert first.names == second.names
    assert first.counted.sums == second.counted.sums


def test_a_double_round_robin_is_that_of_the_direct_engine() -> None:
    comparison = Comparison(GAME, entrants("frequency", "random", "alternating"), 3, settings=DOUBLE, as_named=True)
    comparison.play(7)
    players = [Entrant(f"{name} {seat}", STRATEGIES[name]) for seat, name in enumerate(comparison.names, start=1)]
    assert comparison.league.standings() == OfflineLeague(DOUBLE, players).play(7)


def test_an_error_of_a_strategy_names_the_context_as_authors_know_it() -> None:
    def fails(ctx: Context) -> Any:
        return ctx.nosuch  # type: ignore[attr-defined]

    comparison = Comparison(GAME, [Entrant("fails", fails), *entrants("random")], 2)
    comparison.play(1)
    assert "'Context' object has no attribute 'nosuch'" in str(comparison.counted.origins[0])


def test_as_named_it_is_the_league_of_the_direct_engine() -> None:
    named = entrants("frequency", "random", "alternating")
    comparison = Comparison(GAME, named, 4, as_named=True)
    comparison.play(7)
    strategies = ["frequency", "random", "alternating", "frequency"]
    assert [*comparison.strategy_of.values()] == strategies
    players = [Entrant(f"{name} {seat}", STRATEGIES[name]) for seat, name in enumerate(strategies, start=1)]
    assert comparison.league.standings() == OfflineLeague(Settings(league_id="any", game_type=GAME), players).play(7)


@pytest.mark.parametrize(
    ("text", "matches"),
    [("round_robin", 10), ("round_robin(legs=2)", 20), ("gauntlet", 4), ("swiss", 6), ("swiss(rounds=5)", 10)],
)
def test_the_sums_are_those_of_the_matches(text: str, matches: int) -> None:
    settings = Settings(league_id="any", game_type=GAME, format=text)
    comparison = Comparison(GAME, entrants("frequency", "random"), 5, settings=settings)
    points: Counter[tuple[str, str]] = Counter()
    ends: Counter[tuple[str, str, int]] = Counter()
    won: Counter[str] = Counter()

    def on_result(_match: str, result: MatchResult) -> None:
        a, b = result.score
        for one, other in ((a, b), (b, a)):
            pair = comparison.strategy_of[one], comparison.strategy_of[other]
            points[pair] += result.score[one]
            ends[(*pair, result.score[one])] += 1

    for seed in range(30):
        comparison.play(seed, on_result)
        won[comparison.strategy_of[comparison.league.standings()[0].player_id]] += 1
    sums, names = comparison.counted.sums, comparison.names
    for a, one in enumerate(names):
        for b, other in enumerate(names):
            assert sums.points[a * 2 + b] == points[one, other]
            assert sums.counts(a, b) == tuple(ends[one, other, score] for score in (3, 1, 0))
        assert sums.total(a)[0] == points[one, names[0]] + points[one, names[1]]
        assert sum(sums.all_counts(a)) == sums.total(a)[1]
    assert sums.leagues_won == [won[name] for name in names]
    assert sums.total(0)[1] + sums.total(1)[1] == 30 * 2 * matches


def test_strategies_of_one_name_are_one_strategy() -> None:
    comparison = Comparison(GAME, entrants("random", "frequency", "random"), 3)
    comparison.play(1)
    assert comparison.names == ["frequency", "random"]
    assert comparison.repeated == ["random"]
    assert [comparison.counted.sums.total(number)[1] for number in (0, 1)] == [2, 4]


def test_replaced_moves_are_counted_for_the_strategy_in_whichever_seat() -> None:
    def fails(_ctx: Context) -> Any:
        raise LookupError

    comparison = Comparison(GAME, [Entrant("fails", fails), *entrants("random", "frequency")], 3)
    for seed in range(5):
        comparison.play(seed)
    moves = {name: str(origins) for name, origins in zip(comparison.names, comparison.counted.origins, strict=True)}
    line = fails.__code__.co_firstlineno + 1
    because = f"the first because the strategy raised LookupError() (line {line} of test_leagues.py)"
    assert moves == {"fails": f"10 replaced ({because})", "frequency": "10 own", "random": "10 own"}


def test_a_league_that_is_broken_off_does_not_count() -> None:
    comparison = Comparison(GAME, entrants("random", "frequency", "alternating"), 3)
    next(comparison.play_rounds(1))
    assert comparison.counted.sums.leagues == 0


@pytest.mark.parametrize("text", ["round_robin", "round_robin(legs=2)"])
def test_payoffs_of_leagues_that_were_played_apart_are_those_of_all_together(text: str) -> None:
    settings = Settings(league_id="simulation", game_type="prisoners_dilemma(turns=2)", **plain_format(text))
    named = entrants("random", "always_C", "always_D")
    together, apart = (Comparison("", named, 4, settings=settings) for _ in range(2))
    taken = dict.fromkeys(together.names, 0.0)
    matches = dict.fromkeys(together.names, 0)
    for seed in range(6):
        results: list[MatchResult] = []
        together.play(seed, lambda _match, result, results=results: results.append(result))
        for result in results:
            for player, payoff in (result.details.payoffs or {}).items():
                taken[together.strategy_of[player]] += payoff
                matches[together.strategy_of[player]] += 1
    for seeds in (range(2), range(2, 6)):
        apart.counted.add(apart.play_leagues(seeds))
    assert apart.counted == together.counted
    assert together.counted.payoffs is not None
    for place, name in enumerate(together.names):
        assert together.counted.payoffs.strategy(place).mean == pytest.approx(taken[name] / matches[name])
