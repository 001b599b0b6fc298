"""``make honest``: whether ``league simulate`` claims what is true, and nothing else. Some fifteen minutes.

python -m tests.sim.comparison.honest [--short]

All checks are random and have fixed seeds: what passes once passes always. The full run has 1,000 comparisons for each
check, and 10,000 of each sequential test. At most 5 % of them may claim something wrong. The short run has fewer. It
fails only if so many are wrong that a true rate of 5 % brings that about less than once in a thousand runs.
"""

from __future__ import annotations

import math
import random
import sys
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, permutations
from operator import mul
from typing import Any, NamedTuple, TypeVar

from leaguekit.cli.tables import table
from leaguekit.league.analysis.cycles import find_cycles
from leaguekit.player.context import Context, Strategy
from leaguekit.player.strategies import STRATEGIES
from leaguekit.sim.comparison.estimates import POWER, Estimate, Sums, _quantile
from leaguekit.sim.comparison.leagues import Comparison
from leaguekit.sim.comparison.offline_league import Entrant
from leaguekit.sim.comparison.pairs import PairedGames
from leaguekit.sim.comparison.sprt import SequentialTest
from leaguekit.sim.jobs import run_in_order
from leaguekit.sim.workers import ProcessPool, WorkerPool, available_cores
from tests.league.analysis.test_cycles import noisy_rock_paper_scissors
from tests.league.analysis.test_ratings import simulated

WRONG = 0.05
FULL, SHORT = 1_000, 16
# How long a check may be silent.
SHOW_EVERY = 1.0


class CheckResult(NamedTuple):
    """What a check found, what was required, and whether it holds."""

    check: str
    found: str
    required: str
    holds: bool


# Called with how much of the whole is done.
Progress = Callable[[int, int], None]
JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


class Runner(NamedTuple):
    """Plays jobs and shows how many are done."""

    pool: WorkerPool
    progress: Progress

    def play(self, job: Callable[[JobT], ResultT], jobs: Sequence[JobT]) -> Iterator[ResultT]:
        """The results in the order of the jobs. The function and its arguments are pure data."""
        done = 0
        for result in run_in_order(self.pool, job, iter(jobs)):
            if result is not None:
                done += 1
                self.progress(done, len(jobs))
                yield result


# Plays a pair of games with a seed and counts it.
PlayPair = Callable[[SequentialTest, int], None]


def max_wrong(comparisons: int) -> int:
    """How many of the comparisons may claim something wrong."""
    if comparisons >= FULL:
        return int(comparisons * WRONG)
    rng = below = (1 - WRONG) ** comparisons
    max_allowed = 0
    while below < 0.999:
        rng *= (comparisons - max_allowed) / (max_allowed + 1) * WRONG / (1 - WRONG)
        max_allowed += 1
        below += rng
    return max_allowed


def played(comparison: Comparison, number: int, leagues: int) -> Comparison:
    """The comparison of a number, which has seeds of its own."""
    for seed in range(number * leagues, (number + 1) * leagues):
        comparison.play(seed)
    return comparison


def claims(comparison: Comparison) -> list[tuple[str, str]]:
    """Each pair of strategies of which the first is called better."""
    sums, names = comparison.counted.ranked, comparison.names
    signs = {(a, b): sums.difference(a, b).sign for a in range(sums.size) for b in range(a)}
    return [(names[a], names[b]) if sign > 0 else (names[b], names[a]) for (a, b), sign in signs.items() if sign]


def is_a_copy_called_better(strategy: str, game: str, copies: int, players: int, leagues: int, number: int) -> bool:
    entrants = [Entrant(f"copy {copy}", STRATEGIES[strategy]) for copy in range(copies)]
    return bool(claims(played(Comparison(game, entrants, players), number, leagues)))


def copies_are_equal(
    runner: Runner, comparisons: int, strategy: str, game: str, copies: int, players: int, leagues: int
) -> CheckResult:
    """Nothing is better than its own copies."""
    job = partial(is_a_copy_called_better, strategy, game, copies, players, leagues)
    wrong = sum(runner.play(job, range(comparisons)))
    max_allowed = max_wrong(comparisons)
    name = f"{copies} copies of {strategy}, {players} players, {game}, {leagues} leagues: any called better"
    return CheckResult(name, f"{wrong} of {comparisons:,}", f"at most {max_allowed}", wrong <= max_allowed)


def often_rock(ctx: Context) -> Any:
    return ctx.random.choice(["rock", "rock", "paper", "scissors"])


def paper(_ctx: Context) -> Any:
    return "paper"


# Paper has 7/4 points per match against often_rock, which has 1 against paper and 21/16 against its like.
ADVANTAGE = 7 / 4 - (3 * 21 / 16 + 1) / 4
ENOUGH_LEAGUES = 80


def look_for_the_advantage(number: int) -> tuple[float, list[tuple[str, str]]]:
    """The difference that is stated as detectable, and what is claimed."""
    entrants = [Entrant("paper", paper), *(Entrant(f"rock {number}", often_rock) for number in range(4))]
    comparison = played(Comparison("rock_paper_scissors", entrants, 5), number, ENOUGH_LEAGUES)
    return comparison.counted.sums.detectable() or 3.0, claims(comparison)


def an_advantage_is_found(runner: Runner, comparisons: int) -> Iterator[CheckResult]:
    """A strategy that is better than four others by a known difference is called so, and no other is."""
    stated = found = 0.0
    wrong = 0
    for detectable, claimed in runner.play(look_for_the_advantage, range(comparisons)):
        stated += detectable / comparisons
        found += sum(better == "paper" for better, _ in claimed) / 4 / comparisons
        wrong += any(better != "paper" for better, _ in claimed)
    what = f"an advantage of {ADVANTAGE:.3f}, {ENOUGH_LEAGUES} leagues"
    yield CheckResult(f"{what}: stated as detectable", f"{stated:.3f}", f"at most {ADVANTAGE:.3f}", stated <= ADVANTAGE)
    yield CheckResult(f"{what}: found", f"{found:.1%}", f"at least {POWER:.0%}", found >= POWER)
    max_allowed = max_wrong(comparisons)
    yield CheckResult(
        f"{what}: any other called better",
        f"{wrong} of {comparisons:,}",
        f"at most {max_allowed}",
        wrong <= max_allowed,
    )


# With the seats as named, the points per match of rock are between 0.8 and 2.1.
ORDERED: dict[str, Strategy] = {
    "rock": lambda _ctx: "rock",
    **{name: STRATEGIES[name] for name in ("frequency", "alternating", "history_based", "random")},
}


def figures_of_order(leagues: int, numbered: tuple[int, tuple[str, ...]]) -> dict[str, Estimate]:
    number, order = numbered
    # Names are sorted before they are seated; so they begin with their place here.
    entrants = [Entrant(f"{place} {name}", ORDERED[name]) for place, name in enumerate(order)]
    comparison = played(Comparison("rock_paper_scissors", entrants, len(order)), number, leagues)
    return {name: comparison.counted.sums.strategy(place) for place, name in enumerate(order)}


def orders_agree(runner: Runner, leagues: int) -> Iterator[CheckResult]:
    """Whatever the order in which strategies are named, the figures are those of all orders together."""
    orders = [*permutations(ORDERED)]
    figures: dict[str, list[tuple[float, tuple[float, float]]]] = {name: [] for name in ORDERED}
    for of_order in runner.play(partial(figures_of_order, leagues), [*enumerate(orders)]):
        for name, found in of_order.items():
            assert found.bounds is not None
            figures[name].append((found.mean, found.bounds))
    held, farthest, intervals = 0, 0.0, len(orders) * len(ORDERED)
    for found_in_orders in figures.values():
        mean = sum(one for one, _ in found_in_orders) / len(orders)
        held += sum(low <= mean <= high for _, (low, high) in found_in_orders)
        farthest = max(farthest, *(2 * abs(one - mean) / (high - low) for one, (low, high) in found_in_orders))
    what = f"{len(orders)} orders of {len(ORDERED)} strategies, {leagues:,} leagues each"
    share = held / intervals
    yield CheckResult(f"{what}: intervals with the common mean", f"{share:.1%}", "at least 93 %", share >= 0.93)
    # All at once, they may reach this many times as far as each of them alone.
    reach = _quantile(intervals, leagues - 1) / _quantile(1, leagues - 1)
    yield CheckResult(f"{what}: farthest from it, in ±", f"{farthest:.2f}", f"at most {reach:.2f}", farthest <= reach)


def sums_of_ordered(leagues: int, number: int) -> Sums:
    entrants = [Entrant(*one) for one in ORDERED.items()]
    return played(Comparison("rock_paper_scissors", entrants, len(entrants)), number, leagues).counted.sums


def differences_hold_together(runner: Runner, comparisons: int) -> CheckResult:
    """All intervals of a comparison hold the true differences, with strategies that learn and few leagues."""
    leagues = 20
    # Its own error is small beside that of the comparisons. Its seeds are far from theirs.
    truth = sums_of_ordered(min(20 * comparisons, 20_000), 10_000)
    wrong = 0
    for sums in runner.play(partial(sums_of_ordered, leagues), range(comparisons)):
        pairs = [(sums.difference(a, b), truth.difference(a, b).mean) for a in range(sums.size) for b in range(a)]
        wrong += any(one.bounds is None or not one.bounds[0] <= true <= one.bounds[1] for one, true in pairs)
    max_allowed = max_wrong(comparisons)
    name = f"{len(ORDERED)} strategies, {leagues} leagues: any difference outside its interval"
    return CheckResult(name, f"{wrong} of {comparisons:,}", f"at most {max_allowed}", wrong <= max_allowed)


# How often strategies of the prisoner's dilemma cooperate. The first one seldom gets anything but 5 or 1.
COOPERATION = {"hardly": 0.02, "often": 0.7, "often as well": 0.7, "seldom": 0.2}


def cooperates(share: float) -> Strategy:
    return lambda ctx: "C" if ctx.random.random() < share else "D"


def mean_payoff(own: float, other: float) -> float:
    """The mean payoff of a strategy that cooperates with this probability, against one with that of ``other``."""
    return 3 * own * other + 5 * (1 - own) * other + (1 - own) * (1 - other)


def compare_payoffs(leagues: int, number: int) -> tuple[Sums, list[tuple[str, str]]]:
    """The sums of payoffs, and what is claimed."""
    entrants = [Entrant(name, cooperates(share)) for name, share in COOPERATION.items()]
    comparison = played(Comparison("prisoners_dilemma(turns=2)", entrants, len(entrants)), number, leagues)
    return comparison.counted.ranked, claims(comparison)


def payoffs_hold(runner: Runner, comparisons: int, leagues: int) -> Iterator[CheckResult]:
    """The intervals of mean payoffs and of all their differences contain what they are known to be."""
    shares = [*COOPERATION.values()]
    true = [
        sum(mean_payoff(own, other) for at, other in enumerate(shares) if at != place) / (len(shares) - 1)
        for place, own in enumerate(shares)
    ]
    outside = wrong = claimed = 0
    for sums, claims_made in runner.play(partial(compare_payoffs, leagues), range(comparisons)):
        bounds = [sums.strategy(place).bounds for place in range(sums.size)]
        outside += sum(one is None or not one[0] <= mean <= one[1] for one, mean in zip(bounds, true, strict=True))
        pairs = [(sums.difference(a, b).bounds, true[a] - true[b]) for a in range(sums.size) for b in range(a)]
        wrong += any(one is None or not one[0] <= difference <= one[1] for one, difference in pairs)
        claimed += any({*claim} == {"often", "often as well"} for claim in claims_made)
    what = f"payoffs of {len(shares)} strategies, {leagues} leagues"
    for kind, count, of in (
        ("means outside", outside, comparisons * len(shares)),
        ("any difference outside", wrong, comparisons),
        ("one of two that are alike called better", claimed, comparisons),
    ):
        max_allowed = max_wrong(of)
        yield CheckResult(f"{what}: {kind}", f"{count} of {of:,}", f"at most {max_allowed}", count <= max_allowed)


# Pairs of games by the score of the first strategy, if both are equally strong.
EQUAL_PAIRS = {
    "no draws": (0.25, 0.0, 0.5, 0.0, 0.25),
    "most games drawn": (0.01, 0.08, 0.82, 0.08, 0.01),
    "alike games in a pair": (0.4, 0.05, 0.1, 0.05, 0.4),
    "rare large losses": (0.02, 0.03, 0.6, 0.25, 0.1),
}
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
ELO = 800 / math.log(10)


def tilted(shares: Sequence[float], elo: float) -> list[float]:
    """These shares, each multiplied by a power of a constant, so that they have a difference in normalised Elo."""
    low, high = -50.0, 50.0
    while True:
        middle = (low + high) / 2
        weights = [share * math.exp(middle * score) for share, score in zip(shares, PAIR_SCORES, strict=True)]
        found = [weight / sum(weights) for weight in weights]
        if high - low < 1e-12:
            return found
        mean = sum(map(mul, found, PAIR_SCORES))
        deviation = math.sqrt(sum(share * (score - mean) ** 2 for share, score in zip(found, PAIR_SCORES, strict=True)))
        low, high = (middle, high) if (mean - 0.5) / deviation < math.sqrt(2) * elo / ELO else (low, middle)


class SequentialCase(NamedTuple):
    """Between which differences it is tested, the true one, and what is played: pairs by their shares, or games."""

    name: str
    bounds: tuple[float, float]
    true: float
    shares: Sequence[float] = ()

    def player(self) -> PlayPair:
        if self.shares:
            return pairs_from(self.shares)
        first, second = (sometimes_paper, often_rock) if self.true else (STRATEGIES["random"],) * 2
        return games_between(first, second)


def play_tests(job: tuple[SequentialCase, range]) -> tuple[int, int, int]:
    """How many tests with these numbers decide wrongly, how many intervals lack the truth, and all pairs."""
    case, numbers = job
    wrong = outside = pairs = 0
    play = case.player()
    for number in numbers:
        test = SequentialTest.of(*case.bounds)
        decision = None
        while decision is None:
            play(test, number * 1_000_000 + test.count)
            decision = test.decision()
        wrong += decision == ("above_low" if case.true == case.bounds[0] else "below_high")
        found = test.difference()
        outside += not found.low <= case.true <= found.high
        pairs += test.count
    return wrong, outside, pairs


def sequential_tests_hold(runner: Runner, tests: int) -> Iterator[CheckResult]:
    """A sequential test decides wrongly as often as it says, and its interval has the true difference."""
    cases = [
        *(
            SequentialCase(name, (0, 30), true, tilted(shares, true))
            for name, shares in EQUAL_PAIRS.items()
            for true in (0, 30)
        ),
        *(SequentialCase("no draws", (-50, 50), true, tilted(EQUAL_PAIRS["no draws"], true)) for true in (-50, 50)),
        *(SequentialCase("rock_paper_scissors", (0, 30), true) for true in (0, 30)),
    ]
    # Pairs by their shares have one sequence of random numbers for all tests. Games have one for each.
    jobs = [
        (case, range(first, min(first + each, tests)))
        for case in cases
        for each in [tests if case.shares else 50]
        for first in range(0, tests, each)
    ]
    found = [*zip(jobs, runner.play(play_tests, jobs), strict=True)]
    for case in cases:
        wrong, outside, pairs = map(sum, zip(*(counts for (one, _), counts in found if one == case), strict=True))
        what = (
            f"sprt={case.bounds[0]},{case.bounds[1]}, {case.name}, truth {case.true}, "
            f"{pairs / tests:.0f} pairs on average"
        )
        for kind, count in (("wrong", wrong), ("not in its interval", outside)):
            max_allowed = max_wrong(tests)
            yield CheckResult(
                f"{what}: {kind}", f"{count} of {tests:,}", f"at most {max_allowed}", count <= max_allowed
            )


def pairs_from(shares: Sequence[float]) -> PlayPair:
    chance = random.Random(7)
    sums = [*accumulate(shares)]

    def play(test: SequentialTest, _seed: int) -> None:
        test.pairs[bisect(sums, chance.random() * sums[-1])] += 1

    return play


# In this share of its games, a strategy that is 30 Elo stronger than often_rock plays paper, and otherwise at random:
# its mean score is ½ + share / 8, and the variance 1/6 + share / 48 - (share / 8)².
PAPER_SHARE = 0.28594


def sometimes_paper(ctx: Context) -> Any:
    return "paper" if ctx.random.random() < PAPER_SHARE else ctx.random.choice(ctx.valid_options)


def games_between(first: Strategy, second: Strategy) -> PlayPair:
    games = PairedGames("rock_paper_scissors", Entrant("first", first), Entrant("second", second))

    def play(test: SequentialTest, seed: int) -> None:
        test.pairs[games.play(seed).score] += 1

    return play


def claimed_cycles(leagues: int, shape: tuple[int, float, int]) -> int:
    """In how many leagues of equal players cycles are claimed."""
    players, ties, legs = shape
    chance = random.Random(players)
    claimed = 0
    for _ in range(leagues):
        legs_played = (simulated(chance, [0.0] * players, ties, 0.3) for _ in range(legs))
        claimed += find_cycles([*chain.from_iterable(legs_played)]) is not None
    return claimed


def is_cycle_found(number: int) -> bool:
    return find_cycles(noisy_rock_paper_scissors(random.Random(number))) is not None


def cycles_are_real(runner: Runner, leagues: int) -> Iterator[CheckResult]:
    """Cycles are seldom claimed among equal players, and usually where players beat each other in circles."""
    shapes = [(10, 0.0, 1), (20, 0.5, 2)]
    for (players, _, legs), claimed in zip(shapes, runner.play(partial(claimed_cycles, leagues), shapes), strict=True):
        max_allowed = max_wrong(leagues)
        what = f"{players} equal players, {legs} {'leg' if legs == 1 else 'legs'}: cycles claimed"
        yield CheckResult(what, f"{claimed} of {leagues:,}", f"at most {max_allowed}", claimed <= max_allowed)
    found = sum(runner.play(is_cycle_found, range(leagues)))
    what = "12 players that mostly repeat rock, paper or scissors, 2 legs: cycles found"
    yield CheckResult(what, f"{found / leagues:.1%}", f"at least {POWER:.0%}", found / leagues >= POWER)


def checks(runner: Runner, *, short: bool) -> Iterator[CheckResult]:
    comparisons = SHORT if short else FULL
    leagues = 10 if short else 100
    yield copies_are_equal(runner, comparisons, "frequency", "rock_paper_scissors", 20, 20, leagues)
    if not short:
        yield copies_are_equal(runner, comparisons, "random", "even_odd", 20, 20, 10)
    yield copies_are_equal(runner, 4 * comparisons, "history_based", "rock_paper_scissors", 3, 5, 20)
    yield copies_are_equal(runner, 10 * comparisons, "random", "tic_tac_toe", 2, 2, 10)
    yield from an_advantage_is_found(runner, 2 * comparisons if short else comparisons)
    # With fewer leagues the largest of 600 distances is farther out: Student's t is not exact in that tail.
    yield from orders_agree(runner, 60 if short else 1_000)
    yield from sequential_tests_hold(runner, 2 * SHORT if short else 10 * FULL)
    yield from cycles_are_real(runner, comparisons)
    yield differences_hold_together(runner, 4 * comparisons if short else comparisons)
    yield from payoffs_hold(runner, comparisons, 20)


class _ProgressLine:
    """How far a check is: a line on a terminal that changes, or lines."""

    def __init__(self) -> None:
        self._next = time.monotonic() + SHOW_EVERY
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, done: int, whole: int) -> None:
        if (now := time.monotonic()) < self._next and done < whole:
            return
        self._next = now + SHOW_EVERY * (1 if self._is_terminal else 10)
        before, after = ("\r\x1b[K", "" if done < whole else "\r\x1b[K") if self._is_terminal else ("", "\n")
        sys.stderr.write(f"{before}{done:,} of {whole:,}{after}")
        sys.stderr.flush()


def main() -> int:
    found: list[CheckResult] = []
    try:
        with ProcessPool(available_cores()) as pool:
            for one in checks(Runner(pool, _ProgressLine()), short="--short" in sys.argv):
                found.append(one)
                sys.stderr.write(f"{one.check}: {one.found} ({one.required})\n")
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return 130
    finally:
        if found:
            rows = [[one.check, one.found, one.required, "holds" if one.holds else "FAILS"] for one in found]
            sys.stdout.write(table(["check", "found", "required", ""], rows) + "\n")
    return 0 if all(one.holds for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
