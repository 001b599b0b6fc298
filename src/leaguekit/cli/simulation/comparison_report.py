"""The report of a comparison by ``league simulate``: as text with tables, and as JSON."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from leaguekit.cli.tables import pluralize, standings_table, table, width
from leaguekit.league.settings import with_game
from leaguekit.league.ties import payoff_sentence
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS
from leaguekit.sim.comparison.estimates import CONFIDENCE, MIN_LEAGUES, POWER, Estimate
from leaguekit.sim.comparison.leagues import Comparison

KeyT = TypeVar("KeyT")
# With margins of at least this, a third digit is meaningless.
WIDE_MARGIN = 0.05
# The full table of strategies needs this number of columns, with names as short as ours.
FULL_TABLE_WIDTH = 90


def describe_estimate(comparison: Comparison) -> str:
    """What the points or payoffs per match are, as a phrase."""
    seated = "in the order named" if comparison.as_named else "at random"
    players = len(comparison.league.players)
    if comparison.fresh:
        memory = "see nothing of earlier matches"
    elif comparison.league.matches == 1:
        memory = "have no earlier matches, because a league of two is one match (--players 6 gives more)"
    else:
        memory = "remember the earlier matches of their league"
    counted = "points" if comparison.counted.payoffs is None else "payoffs"
    how = f"all {counted} of a strategy divided by all its matches"
    return f"{how}, in leagues of {players} players, who are seated {seated} and {memory}"


def as_json(comparison: Comparison) -> dict[str, Any]:
    sums, names, order = comparison.counted.sums, comparison.names, _best_first(comparison)
    figures: dict[str, Any] = {
        f"{_figure(comparison)}_is": describe_estimate(comparison),
        "seating": "as named" if comparison.as_named else "random",
        "fresh": comparison.fresh,
    }
    if comparison.as_named and sums.leagues:
        figures["players"] = [
            msgspec.to_builtins(row) | {"strategy": comparison.strategy_of[row.player_id]}
            for row in comparison.league.placed()
        ]
        figures["ties"] = comparison.league.ties()
    figures["strategies"] = [_strategy_as_json(comparison, strategy) for strategy in order]
    figures["against"] = [
        {"strategy": names[a], "opponent": names[b], "matches": sum(counts := sums.counts(a, b))}
        | counts._asdict()
        | _estimate_as_json(_figure(comparison), estimate)
        for (a, b), estimate in _encounters(comparison, order).items()
    ]
    figures["differences"] = [
        {"strategy": names[a], "other": names[b]}
        | _estimate_as_json("difference", estimate)
        | {"is_better": estimate.sign > 0}
        for (a, b), estimate in _differences(comparison, order).items()
    ]
    detectable = comparison.counted.ranked.detectable()
    return figures | {
        "confidence": CONFIDENCE,
        "correction_of_differences": f"Bonferroni over {pluralize(sums.pairs, 'pair')}",
        "detectable_difference": None if detectable is None else round(detectable, 6),
        "power": POWER,
    }


def _strategy_as_json(comparison: Comparison, strategy: int) -> dict[str, Any]:
    sums = comparison.counted.sums
    points, matches = sums.total(strategy)
    figures: dict[str, Any] = {"strategy": comparison.names[strategy], "matches": matches}
    if matches:
        wins, draws, losses = sums.all_counts(strategy)
        figures |= {"wins": wins, "draws": draws, "losses": losses, "points": points}
        figures |= _estimate_as_json(_figure(comparison), comparison.counted.ranked.strategy(strategy))
        figures["share_of_leagues_won"] = round(sums.leagues_won[strategy] / sums.leagues, 6)
        figures["better_than"] = [comparison.names[other] for other in _worse(comparison, strategy)]
    return figures | {"moves": msgspec.to_builtins(comparison.counted.origins[strategy])}


def _figure(comparison: Comparison) -> str:
    """The name of the figure that the strategies are compared by."""
    return "points_per_match" if comparison.counted.payoffs is None else "payoff_per_match"


def _estimate_as_json(name: str, estimate: Estimate) -> dict[str, Any]:
    bounds = None if estimate.bounds is None else [round(bound, 6) for bound in estimate.bounds]
    return {name: round(estimate.mean, 6), "interval_95": bounds}


def as_text(comparison: Comparison) -> Iterator[str]:
    """The tables and their meaning. A league with the seats as named has only its final table.

    The most important comes last, because with many strategies the rest does not fit on a screen.
    """
    sums, order = comparison.counted.sums, _best_first(comparison)
    figure = _figure(comparison).replace("_", " ")
    if sums.pairs and not comparison.as_named:
        yield f"\n{figure.capitalize()} of {comparison.league.game.name}, row against column"
        yield _matrix(comparison, order, _cells(_encounters(comparison, order)), "–")
        differences = _differences(comparison, order)
        cells = _cells(differences, digits=3)
        cells = {pair: cells[pair] + "*" * (estimate.sign > 0) for pair, estimate in differences.items()}
        marks = " (* more than chance)" if sums.leagues >= MIN_LEAGUES else ""
        yield "\n" + wrap(f"Difference in {figure}, row less column{marks}")
        yield _matrix(comparison, order, cells, "")
    yield "\n" + (_players(comparison) if comparison.as_named else _strategies(comparison, order)) + "\n"
    yield from map(wrap, _meaning(comparison))


def _meaning(comparison: Comparison) -> Iterator[str]:
    sums = comparison.counted.sums
    if not comparison.as_named:
        counted = f"Points per match (a win {WIN_POINTS}, a draw {DRAW_POINTS})"
        if (payoffs := comparison.league.game.payoff_range) is not None:
            counted = "Payoff per match ({:g} to {:g}), by which strategies are compared".format(*payoffs)
        yield f"{counted}: {describe_estimate(comparison)}."
        yield from _describe_repeats(comparison)
        if not comparison.fresh:
            yield from _describe_length(comparison)
    if sums.leagues < MIN_LEAGUES:
        yield f"How much of this is chance shows from {MIN_LEAGUES} leagues on (--seeds)."
    else:
        yield (
            "In brackets, ±: in 95 of 100 comparisons the true mean is within. "
            "± is the distance to the farther bound. Each league is one observation."
        )
    if sums.pairs and sums.leagues >= MIN_LEAGUES:
        held = "the difference is" if sums.pairs == 1 else f"all {sums.pairs} differences are"
        corrected = "" if sums.pairs == 1 else " (Bonferroni)"
        yield (
            f"Better than, *: the difference is more than chance. In 95 of 100 comparisons {held} within ±, "
            f"so that no such claim is false{corrected}."
        )
        yield "It is about matches among these strategies. Others may put them in another order."
        often, detectable = (
            f"in about {10 * POWER:.0f} of 10 comparisons like this",
            comparison.counted.ranked.detectable(),
        )
        if detectable is None:
            yield f"{sums.leagues} leagues are too few to find even the largest difference {often}: use more --seeds."
        else:
            yield f"A true difference of {detectable:.3f} is found {often}."
    if comparison.league.game.luck:
        yield comparison.league.game.luck


def _describe_repeats(comparison: Comparison) -> Iterator[str]:
    """The strategies that were named more than once."""
    if comparison.repeated:
        names = ", ".join(comparison.repeated)
        yield f"Named several times, and so played by as many more of the players: {names}."


def _describe_length(comparison: Comparison) -> Iterator[str]:
    """How much the players can learn in a league."""
    if comparison.legs is None:
        leagues = max(comparison.counted.sums.leagues, 1)
        mean = 2 * comparison.counted.matches / leagues / len(comparison.league.players)
        yield f"The format is {comparison.settings.format_text}. A player has {mean:.1f} matches per league on average."
        return
    matches = comparison.legs * (len(comparison.league.players) - 1)
    if comparison.legs == 1:
        meets = "each pair meets once, so that ctx.against() is always empty (--rounds double: each pair meets twice)"
    else:
        meets = "each pair meets twice, so that ctx.against() is empty in the first half"
    yield f"In a league a player has {pluralize(matches, 'match', 'es')}, and {meets}."
    if matches > 1:
        yield "Strategies that learn may be in another order in longer leagues (--players)."


def _players(comparison: Comparison) -> str:
    placed = [
        msgspec.to_builtins(row) | {"display_name": comparison.strategy_of[row.player_id]}
        for row in comparison.league.placed()
    ]
    ranked_by = payoff_sentence(with_game(comparison.settings))
    return "\n".join([standings_table(placed), *filter(None, [ranked_by]), *comparison.league.ties()])


def _strategies(comparison: Comparison, order: Sequence[int]) -> str:
    sums, positions = comparison.counted.sums, _positions(order)
    figures = _intervals([comparison.counted.ranked.strategy(strategy) for strategy in order])
    moves = comparison.counted.origins
    has_claims = sums.pairs > 0 and sums.leagues >= MIN_LEAGUES
    is_full = _columns() >= FULL_TABLE_WIDTH
    heads = ["", "strategy", _figure(comparison).replace("_", " ")]
    has_replaced = any(origins.replaced for origins in moves)
    heads += ["won", "drawn", "lost"] * is_full + ["leagues won"]
    heads += ["replaced"] * has_replaced + ["better than"] * has_claims
    rows: list[list[object]] = []
    for strategy, figure in zip(order, figures, strict=True):
        counts = sums.all_counts(strategy)
        shares = [count / sum(counts) for count in counts] * is_full + [sums.leagues_won[strategy] / sums.leagues]
        row: list[object] = [positions[strategy], comparison.names[strategy], figure]
        row += [f"{share:6.1%}" for share in shares]
        if has_replaced:
            row.append(f"{moves[strategy].replaced / moves[strategy].total:6.1%}" if moves[strategy].replaced else "–")
        if has_claims:
            worse = sorted(positions[other] for other in _worse(comparison, strategy))
            row.append(format_ranges(worse) or "–")
        rows.append(row)
    return table(heads, rows)


def _matrix(comparison: Comparison, order: Sequence[int], cells: Mapping[tuple[int, int], str], empty: str) -> str:
    """A matrix with a row and a column per strategy. It is split into parts that fit into the terminal."""
    positions = _positions(order)
    digits = len(str(len(order)))
    labels = {strategy: f"{positions[strategy]:{digits}} {comparison.names[strategy]}" for strategy in order}
    columns = [strategy for strategy in order if any(strategy == b for _, b in cells)]
    available = _columns() - max(map(width, labels.values()))
    each = max(1, available // (2 + max(map(width, cells.values()))))
    tables = []
    for first in range(0, len(columns), each):
        part = columns[first : first + each]
        rows = [
            [labels[a], *(cells.get((a, b), empty) for b in part)] for a in order if any((a, b) in cells for b in part)
        ]
        tables.append(table(["", *(str(positions[b]) for b in part)], rows))
    return "\n\n".join(tables)


def _cells(estimates: Mapping[KeyT, Estimate], digits: int | None = None) -> dict[KeyT, str]:
    """Estimates with their margins as text, all with the same number of digits."""
    digits = digits or _digits(estimates.values())
    return {
        key: f"{estimate.mean:.{digits}f}" + ("" if (margin := estimate.margin) is None else f"±{margin:.{digits}f}")
        for key, estimate in estimates.items()
    }


def _intervals(estimates: Sequence[Estimate]) -> list[str]:
    """Estimates with their bounds as text, all with the same number of digits."""
    digits = _digits(estimates)
    return [
        f"{mean:.{digits}f}" + ("" if bounds is None else f" ({bounds[0]:.{digits}f}–{bounds[1]:.{digits}f})")
        for mean, bounds in estimates
    ]


def _digits(estimates: Iterable[Estimate]) -> int:
    """How many digits of estimates mean something."""
    return 2 if all(margin is None or margin >= WIDE_MARGIN for margin in (one.margin for one in estimates)) else 3


def _best_first(comparison: Comparison) -> list[int]:
    sums = comparison.counted.ranked
    strategies = range(sums.size)
    return sorted(strategies, key=lambda strategy: -sums.strategy(strategy).mean) if sums.leagues else [*strategies]


def _positions(order: Sequence[int]) -> dict[int, int]:
    return {strategy: position for position, strategy in enumerate(order, start=1)}


def _encounters(comparison: Comparison, order: Sequence[int]) -> dict[tuple[int, int], Estimate]:
    return {
        (a, b): estimate
        for a in order
        for b in order
        if (estimate := comparison.counted.ranked.against(a, b)) is not None
    }


def _differences(comparison: Comparison, order: Sequence[int]) -> dict[tuple[int, int], Estimate]:
    """The differences between each strategy and those after it."""
    sums = comparison.counted.ranked
    pairs = [(a, b) for position, a in enumerate(order) for b in order[position + 1 :] if sums.leagues]
    return {(a, b): sums.difference(a, b) for a, b in pairs}


def _worse(comparison: Comparison, strategy: int) -> list[int]:
    """The strategies that are worse than this one by more than chance."""
    sums = comparison.counted.ranked
    return [other for other in range(sums.size) if other != strategy and sums.difference(strategy, other).sign > 0]


def format_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as text, with a dash for three or more consecutive numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def wrap(sentence: str) -> str:
    """A sentence in lines that fit into the terminal."""
    return textwrap.fill(sentence, _columns(), break_on_hyphens=False)


def _columns() -> int:
    """The width of the terminal; unlimited without a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
