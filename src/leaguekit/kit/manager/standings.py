"""Checks of a table in a message of the manager: its rows, its numbers and their order."""

from __future__ import annotations

from itertools import pairwise

from leaguekit.kit.checks import Evidence
from leaguekit.kit.exchanges import IncomingRequest
from leaguekit.kit.manager.harness import ManagerHarness, rows_of


def check_rows(request: IncomingRequest, path: str, harness: ManagerHarness) -> Evidence:
    """Check that a table has one row for each player."""
    found = [row.get("player_id") for row in rows_of(request.message, path)]
    expected = f"one row for each of {', '.join(harness.table.rows)}"
    return request.fail_if(sorted(map(str, found)) != sorted(harness.table.rows), expected)


def check_counts(request: IncomingRequest, path: str, harness: ManagerHarness, counts: tuple[str, ...]) -> Evidence:
    """Check that the numbers of a table follow from the results."""
    for row in rows_of(request.message, path):
        own = harness.table.rows.get(str(row.get("player_id")))
        wanted = {} if own is None else {name: getattr(own, name) for name in counts}
        if wanted != {name: row.get(name) for name in wanted}:
            raise request.failed(f"{row.get('player_id')}: {wanted}")
    return request.evidence("three points a win, one a draw")


def check_order(request: IncomingRequest, path: str) -> Evidence:
    """Check that a table is sorted by points, and that its ranks rise from 1."""
    rows = rows_of(request.message, path)
    points, ranks = ([int(row.get(name) or 0) for row in rows] for name in ("points", "rank"))
    expected = "rows by falling points and rising ranks, 1 first"
    # Some managers give players with equal points the same rank. That is still sorted.
    is_rising = ranks[:1] == [1] and all(one <= other for one, other in pairwise(ranks))
    return request.fail_if(points != sorted(points, reverse=True) or not is_rising, expected)


def check_ties(request: IncomingRequest, path: str, harness: ManagerHarness) -> Evidence:
    """Check that players with equal points are ranked by our tie-breaks, and that no two ranks are equal.

    Players that are equal in all tie-breaks may have any order: the manager draws lots, which the kit does not know.
    """
    rows = rows_of(request.message, path)
    placings = harness.table.placings()
    expected = ", ".join(f"{placing.shown_rank} {one}" for one, placing in placings.items())
    shared = {one: placing.shared_rank for one, placing in placings.items()}
    found = [shared.get(str(row.get("player_id"))) for row in rows]
    return request.fail_if(
        [row.get("rank") for row in rows] != [*range(1, len(rows) + 1)] or found != [*shared.values()], expected
    )
