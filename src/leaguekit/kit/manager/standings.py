"""Whether a table that the manager sent is right, whatever it was sent in."""

from __future__ import annotations

from itertools import pairwise

from leaguekit.kit.checks import Evidence, Failed
from leaguekit.kit.exchanges import Arrived
from leaguekit.kit.incoming import evidence
from leaguekit.kit.manager.harness import ManagerScene, rows_of


def check_rows(arrived: Arrived, path: str, scene: ManagerScene) -> Evidence:
    """That a table has one row for each player."""
    found = [row.get("player_id") for row in rows_of(arrived.message, path)]
    expected = f"one row for each of {', '.join(scene.table.rows)}"
    if sorted(map(str, found)) != sorted(scene.table.rows):
        raise Failed(evidence(arrived, expected))
    return evidence(arrived, expected)


def check_counts(arrived: Arrived, path: str, scene: ManagerScene, counts: tuple[str, ...]) -> Evidence:
    """That the numbers of a table are those of the results."""
    for row in rows_of(arrived.message, path):
        own = scene.table.rows.get(str(row.get("player_id")))
        wanted = {} if own is None else {name: getattr(own, name) for name in counts}
        if wanted != {name: row.get(name) for name in wanted}:
            raise Failed(evidence(arrived, f"{row.get('player_id')}: {wanted}"))
    return evidence(arrived, "three points a win, one a draw")


def check_order(arrived: Arrived, path: str) -> Evidence:
    """That a table is in the order of points and ranks, 1 first."""
    rows = rows_of(arrived.message, path)
    points, ranks = ([int(row.get(name) or 0) for row in rows] for name in ("points", "rank"))
    expected = "rows by falling points and rising ranks, 1 first"
    # Equal ranks for equal points are another habit, and still in order.
    is_rising = ranks[:1] == [1] and all(one <= other for one, other in pairwise(ranks))
    if points != sorted(points, reverse=True) or not is_rising:
        raise Failed(evidence(arrived, expected))
    return evidence(arrived, expected)


def check_ties(arrived: Arrived, path: str, scene: ManagerScene) -> Evidence:
    """That players with equal points are ranked by our tie-breaks, and no two ranks are alike.

    Players who are equal in all of them may be in any order: the kit does not know the manager's lot.
    """
    rows = rows_of(arrived.message, path)
    placings = scene.table.placings()
    expected = ", ".join(f"{placing.shown_rank} {one}" for one, placing in placings.items())
    shared = {one: placing.shared_rank for one, placing in placings.items()}
    found = [shared.get(str(row.get("player_id"))) for row in rows]
    if [row.get("rank") for row in rows] != [*range(1, len(rows) + 1)] or found != [*shared.values()]:
        raise Failed(evidence(arrived, expected))
    return evidence(arrived, expected)
