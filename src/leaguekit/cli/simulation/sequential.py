"""``league simulate --until``: pairs of games between two strategies until a question is decided."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from leaguekit.cli import CommandError
from leaguekit.cli.simulation.comparison_report import wrap
from leaguekit.cli.simulation.progress import Progress
from leaguekit.cli.simulation.run import SimulationRun, pool_of
from leaguekit.cli.tables import json_line, pluralize, rate_text, warn_of_replaced_moves
from leaguekit.sim.comparison.pairs import PairedGames, PairedTest
from leaguekit.sim.comparison.parts import SimulationSetup
from leaguekit.sim.comparison.sprt import BOUND, CONFIDENCE, ERROR_RATE, MAX_ELO, SequentialTest

_NUMBER = r"([+-]?\d{1,6}(?:\.\d{1,6})?)"


def sequential_test(text: str) -> SequentialTest:
    """The type of --until."""
    found = re.fullmatch(rf"sprt={_NUMBER},{_NUMBER}", text.replace("\N{MINUS SIGN}", "-"))
    if found is None:
        raise argparse.ArgumentTypeError(f"it must be sprt=LOW,HIGH with two numbers, such as sprt=0,30; got {text!r}")
    low, high = map(float, found.groups())
    if max(abs(low), abs(high)) > MAX_ELO:
        raise argparse.ArgumentTypeError(
            f"both differences must be between -{MAX_ELO} and {MAX_ELO} Elo, because beyond the error rates do not "
            f"hold; got {text!r}. A larger difference is decided after few games anyway"
        )
    if high - low < 1:
        raise argparse.ArgumentTypeError(
            f"the second difference must be at least 1 Elo above the first, as in sprt=0,30; got {text!r}"
        )
    return SequentialTest.of(low, high)


def compare_until_decided(options: argparse.Namespace, setup: SimulationSetup, games: PairedGames) -> int:
    """Play pairs of games until the test decides, and print the decision. Raises CommandError."""
    if games.game.payoff_range is not None:
        raise CommandError(
            f"--until counts wins, draws and losses, and {options.game} is ranked by payoff: leave it out, and use "
            "--seeds"
        )
    run = SimulationRun(options, setup, PairedTest.of(options.until))
    paired = run.counted
    test = paired.test
    first, second = setup.strategies
    names = (f"{first} (1)", f"{second} (2)") if first == second else (first, second)

    def share() -> float:
        seeds: int = options.seeds
        return max(abs(test.ratio()) / BOUND, test.count / seeds) if test.count else 0.0

    def describe(seconds: float) -> str:
        so_far = f"{_so_far(test)}, " if test.count else ""
        return f"to a decision: {so_far}{rate_text(2 * test.count / seconds)} games per second"

    run.play(pool_of(options), share, describe, lambda: paired.decision is not None)
    if options.json:
        print(json_line(_as_json(options, names, paired, run.progress) | run.resume_figures()))
    else:
        is_limit = test.count == options.seeds
        print("\n".join(map(wrap, _sentences(names, paired, games.game.luck, is_limit=is_limit))))
        print(wrap(f"{pluralize(2 * test.count, 'game')} of {options.game} in {run.progress.seconds:.2f} s"))
        run.print_resume_command()
    warn_of_replaced_moves(dict(zip(names, paired.origins, strict=True)))
    if run.is_interrupted:
        return 130
    return int(any(origins.total and origins.replaced == origins.total for origins in paired.origins))


def _so_far(test: SequentialTest) -> str:
    difference = test.difference()
    return f"{pluralize(test.count, 'pair')}, {_elo(difference.elo)} Elo"


def _sentences(names: tuple[str, str], paired: PairedTest, luck: str, *, is_limit: bool) -> Iterator[str]:
    first, second = names
    test, decision = paired.test, paired.decision
    if test.count in test.pairs:
        yield (
            "All pairs scored alike. If neither the game nor the strategies use chance, every pair is the same, and "
            "the interval below means nothing: one pair says as much."
        )
    low, high = (_elo(elo).removeprefix("+") for elo in (test.low, test.high))
    pairs, rate = pluralize(test.count, "pair"), f"{100 * ERROR_RATE:.0f}"
    if decision == "above_low":
        yield f"Decided after {pairs} of games: {first} is more than {low} Elo above {second}."
        yield f"If it were {low} or less above, this would be decided in at most {rate} of 100 tests."
    elif decision == "below_high":
        yield f"Decided after {pairs} of games: {first} is less than {high} Elo above {second}."
        yield f"If it were {high} or more above, this would be decided in at most {rate} of 100 tests."
    else:
        why = "the limit; more --seeds may decide it" if is_limit else "where it was interrupted"
        yield f"Not decided after {pairs} of games, {why}."
        yield f"The question was whether {first} is more than {low} or less than {high} Elo above {second}."
    difference = test.difference()
    yield (
        f"Estimate: {_elo(difference.elo)} Elo, in {100 * CONFIDENCE:.0f} of 100 tests within the interval "
        f"{_elo(difference.low)} to {_elo(difference.high)}. Elo is normalised: 347 are one standard deviation of the "
        "score of a game."
    )
    counts = ", ".join(map(str, reversed(test.pairs)))
    yield f"{first} scored {test.share:.1%}, a draw as half. Pairs with a score of 2, 1½, 1, ½ and 0: {counts}."
    if luck:
        yield luck


def _elo(elo: float) -> str:
    """A difference as people write it: "+7.5", "0", "−12"."""
    return "0" if not round(elo, 1) else f"{round(elo, 1):+g}".replace("-", "\N{MINUS SIGN}")


def _as_json(
    options: argparse.Namespace, names: tuple[str, str], paired: PairedTest, progress: Progress
) -> dict[str, object]:
    test = paired.test
    difference = test.difference()
    return {
        "game": options.game,
        "first_seed": options.seed,
        "seeds": options.seeds,
        "strategies": names,
        "low": test.low,
        "high": test.high,
        "error_rate": ERROR_RATE,
        "decision": paired.decision,
        "pairs": test.count,
        "games": 2 * test.count,
        "pairs_by_score": dict(zip(("0", "0.5", "1", "1.5", "2"), test.pairs, strict=True)),
        "score": round(test.share, 6),
        "elo": round(difference.elo, 3),
        "interval_95": [round(difference.low, 3), round(difference.high, 3)],
        "log_likelihood_ratio": round(test.ratio(), 6),
        "bound": round(BOUND, 6),
        "moves": [{"total": one.total, "replaced": one.replaced} for one in paired.origins],
        "seconds": round(progress.seconds, 3),
        "cpu_seconds": round(progress.cpu_seconds, 3),
    }
