"""What ``league simulate`` shows of a comparison: as text with its tables, and as JSON."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from leaguekit.cli.tables import counted, standings_table, table, width
from leaguekit.sim.comparison import Comparison
from leaguekit.sim.estimates import CONFIDENCE, FEWEST_LEAGUES, POWER, Estimate

KeyT = TypeVar("KeyT")
# With margins from this on, a third digit says nothing.
WIDE_MARGIN = 0.05
# The whole table of strategies needs as many columns, with names as short as ours.
WHOLE_TABLE = 88


def estimated(comparison: Comparison) -> str:
    """What the points per match are, in words."""
    seated = "in the order named" if comparison.as_named else "at random"
    memory = "see nothing of earlier matches" if comparison.fresh else "remember the earlier matches of their league"
    players = len(comparison.league.players)
    return f"the mean over leagues of {players} players, who are seated {seated} and {memory}"


def as_json(comparison: Comparison) -> dict[str, Any]:
    sums, names, order = comparison.sums, comparison.names, _best_first(comparison)
    told: dict[str, Any] = {
        "points_per_match_is": estimated(comparison),
        "seating": "as named" if comparison.as_named else "random",
        "fresh": comparison.fresh,
    }
    if comparison.as_named and sums.leagues:
        told["players"] = [
            msgspec.to_builtins(row) | {"strategy": comparison.strategy_of[row.player_id]}
            for row in comparison.league.placed()
        ]
        told["ties"] = comparison.league.ties()
    told["strategies"] = [_strategy_as_json(comparison, one) for one in order]
    told["against"] = [
        {"strategy": names[a], "opponent": names[b], "matches": sum(counts := sums.counts(a, b))}
        | counts._asdict()
        | _estimate_as_json("points_per_match", found)
        for (a, b), found in _met(comparison, order).items()
    ]
    told["differences"] = [
        {"strategy": names[a], "other": names[b]}
        | _estimate_as_json("difference", found)
        | {"is_better": found.sign > 0}
        for (a, b), found in _differences(comparison, order).items()
    ]
    detectable = sums.detectable()
    return told | {
        "confidence": CONFIDENCE,
        "correction_of_differences": f"Bonferroni over {counted(sums.pairs, 'pair')}",
        "detectable_difference": None if detectable is None else round(detectable, 6),
        "power": POWER,
    }


def _strategy_as_json(comparison: Comparison, one: int) -> dict[str, Any]:
    sums = comparison.sums
    points, matches = sums.total(one)
    told: dict[str, Any] = {"strategy": comparison.names[one], "matches": matches}
    if matches:
        wins, draws, losses = sums.all_counts(one)
        told |= {"wins": wins, "draws": draws, "losses": losses, "points": points}
        told |= _estimate_as_json("points_per_match", sums.strategy(one))
        told["share_of_leagues_won"] = round(sums.leagues_won[one] / sums.leagues, 6)
        told["better_than"] = [comparison.names[other] for other in _worse(comparison, one)]
    return told | {"moves": msgspec.to_builtins(comparison.origins[one])}


def _estimate_as_json(name: str, found: Estimate) -> dict[str, Any]:
    bounds = None if found.bounds is None else [round(bound, 6) for bound in found.bounds]
    return {name: round(found.mean, 6), "interval_95": bounds}


def as_text(comparison: Comparison) -> Iterator[str]:
    """The tables, and what they mean; of a league with the seats as named, its final table.

    What matters most comes last, for with many strategies the rest does not fit on a screen.
    """
    sums, order = comparison.sums, _best_first(comparison)
    if sums.pairs and not comparison.as_named:
        yield "\nPoints per match, row against column"
        yield _matrix(comparison, order, _cells(_met(comparison, order)), "–")
        differences = _differences(comparison, order)
        cells = _cells(differences, digits=3)
        marks = " (* more than chance)" if sums.leagues >= FEWEST_LEAGUES else ""
        yield "\n" + wrapped(f"Difference in points per match, row less column{marks}")
        yield _matrix(
            comparison, order, {pair: cells[pair] + "*" * (found.sign > 0) for pair, found in differences.items()}, ""
        )
    yield "\n" + (_players(comparison) if comparison.as_named else _strategies(comparison, order)) + "\n"
    yield from map(wrapped, _meaning(comparison))


def _meaning(comparison: Comparison) -> Iterator[str]:
    sums = comparison.sums
    if not comparison.as_named:
        yield f"Points per match: {estimated(comparison)}."
    if sums.leagues < FEWEST_LEAGUES:
        yield f"How much of this is chance shows from {FEWEST_LEAGUES} leagues on (--seeds)."
    else:
        yield "±: in 95 of 100 comparisons the true mean is within this. Each league is one observation."
    if sums.pairs and sums.leagues >= FEWEST_LEAGUES:
        held = "the difference is" if sums.pairs == 1 else f"all {sums.pairs} differences are"
        yield (
            f"Better than, *: the difference is more than chance. In 95 of 100 comparisons {held} within ±, "
            "so that no such claim is false (Bonferroni)."
        )
        often, detectable = f"in about {10 * POWER:.0f} of 10 comparisons like this", sums.detectable()
        if detectable is None:
            yield f"{sums.leagues} leagues are too few to find even the largest difference {often}: use more --seeds."
        else:
            yield f"A true difference of {detectable:.3f} is found {often}."
    if comparison.league.game.luck:
        yield comparison.league.game.luck


def _players(comparison: Comparison) -> str:
    placed = [
        msgspec.to_builtins(row) | {"display_name": comparison.strategy_of[row.player_id]}
        for row in comparison.league.placed()
    ]
    return "\n".join([standings_table(placed), *comparison.league.ties()])


def _strategies(comparison: Comparison, order: Sequence[int]) -> str:
    sums, places = comparison.sums, _places(order)
    figures = _cells({one: sums.strategy(one) for one in order}, between=" ± ")
    has_claims = sums.pairs > 0 and sums.leagues >= FEWEST_LEAGUES
    is_whole = _columns() >= WHOLE_TABLE
    heads = ["", "strategy", "points per match"]
    heads += ["won", "drawn", "lost"] * is_whole + ["leagues won"] + ["better than"] * has_claims
    rows: list[list[object]] = []
    for one in order:
        counts = sums.all_counts(one)
        shares = [count / sum(counts) for count in counts] * is_whole + [sums.leagues_won[one] / sums.leagues]
        row = [places[one], comparison.names[one], figures[one], *(f"{share:6.1%}" for share in shares)]
        rows.append(row + [ranges(sorted(places[other] for other in _worse(comparison, one))) or "–"] * has_claims)
    return table(heads, rows)


def _matrix(comparison: Comparison, order: Sequence[int], cells: Mapping[tuple[int, int], str], empty: str) -> str:
    """A row and a column for each strategy that has cells there, in parts that the terminal has room for."""
    places = _places(order)
    digits = len(str(len(order)))
    labels = {one: f"{places[one]:{digits}} {comparison.names[one]}" for one in order}
    columns = [one for one in order if any(one == b for _, b in cells)]
    room = _columns() - max(map(width, labels.values()))
    each = max(1, room // (2 + max(map(width, cells.values()))))
    tables = []
    for first in range(0, len(columns), each):
        part = columns[first : first + each]
        rows = [
            [labels[a], *(cells.get((a, b), empty) for b in part)] for a in order if any((a, b) in cells for b in part)
        ]
        tables.append(table(["", *(str(places[b]) for b in part)], rows))
    return "\n\n".join(tables)


def _cells(found: Mapping[KeyT, Estimate], between: str = "±", digits: int | None = None) -> dict[KeyT, str]:
    """Figures with their margins, all with the same number of digits."""
    margins = {key: one.margin for key, one in found.items()}
    if digits is None:
        digits = 2 if all(margin is None or margin >= WIDE_MARGIN for margin in margins.values()) else 3
    return {
        key: f"{one.mean:.{digits}f}" + ("" if (margin := margins[key]) is None else f"{between}{margin:.{digits}f}")
        for key, one in found.items()
    }


def _best_first(comparison: Comparison) -> list[int]:
    sums = comparison.sums
    return sorted(range(sums.size), key=lambda one: -sums.strategy(one).mean) if sums.leagues else [*range(sums.size)]


def _places(order: Sequence[int]) -> dict[int, int]:
    return {one: place for place, one in enumerate(order, start=1)}


def _met(comparison: Comparison, order: Sequence[int]) -> dict[tuple[int, int], Estimate]:
    return {(a, b): found for a in order for b in order if (found := comparison.sums.against(a, b)) is not None}


def _differences(comparison: Comparison, order: Sequence[int]) -> dict[tuple[int, int], Estimate]:
    """Those between each strategy and all behind it."""
    sums = comparison.sums
    pairs = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :] if sums.leagues]
    return {(a, b): sums.difference(a, b) for a, b in pairs}


def _worse(comparison: Comparison, one: int) -> list[int]:
    """The strategies than which this one is better."""
    sums = comparison.sums
    return [other for other in range(sums.size) if other != one and sums.difference(one, other).sign > 0]


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, with a dash for three or more in a row."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def wrapped(sentence: str) -> str:
    """A sentence in lines that the terminal has room for."""
    return textwrap.fill(sentence, _columns(), break_on_hyphens=False)


def _columns() -> int:
    """How long a line may be; without a terminal, as long as it wants."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
