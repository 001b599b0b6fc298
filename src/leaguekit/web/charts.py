"""Charts of a league's figures as SVG that takes its colours from the page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leaguekit.league.figures import Figures, PlayerFigures
from leaguekit.web.markup import text

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 40, 64, 12, 42
# So many lines can be told from each other by their colours; the others are there to be compared with.
COLOURED = 6
_LABEL = 19


def points_chart(figures: Figures) -> str:
    """Points over the rounds, a line a player, the first of the table in colours."""
    rounds = figures.round
    most = max((total for totals in figures.points.values() for total in totals), default=0) or 1
    step = _tick(most, 6)
    top = -(-most // step) * step

    def x(number: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * number / max(rounds, 1)

    def y(total: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * total / top

    grid = [
        f'<path class="grid" d="M{LEFT} {y(total):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{y(total) + 4:.1f}" text-anchor="end">{total}</text>'
        for total in range(0, top + 1, step)
    ]
    every = _tick(rounds, 12)
    grid += [
        f'<text class="tick" x="{x(number):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{number}</text>'
        for number in range(0, rounds + 1, every)
    ]
    ends = _apart([y(figures.points[line.player_id][-1]) for line in figures.lines[:COLOURED]]) if rounds else []
    lines = []
    # The first ones are drawn last, above the others.
    for place in reversed(range(len(figures.lines) if rounds else 0)):
        line = figures.lines[place]
        totals = [0, *figures.points[line.player_id]]
        way = " ".join(f"{x(number):.1f},{y(total):.1f}" for number, total in enumerate(totals))
        title = f"<title>{text(line.display_name)} ({line.player_id}): {totals[-1]} points</title>"
        colour = f"c{place + 1}" if place < COLOURED else "other"
        lines.append(f'<polyline class="line {colour}" points="{way}">{title}</polyline>')
        if place < COLOURED:
            label = f'<text class="label {colour}" x="{WIDTH - RIGHT + 8}" y="{ends[place] + 4:.1f}">'
            lines.append(f"{label}{line.player_id}</text>")
    about = f"Points after each of {rounds} rounds; the table has the last of them, points.csv all."
    axis = f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 2}" text-anchor="middle">round</text>'
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{about}">'
        f"{''.join(grid)}{axis}{''.join(lines)}</svg>"
    )


class RatingScale:
    """One scale for the ratings of all players."""

    def __init__(self, lines: Sequence[PlayerFigures]) -> None:
        ends = [end for line in lines for end in (line.rating_low, line.rating_high) if end is not None]
        step = _tick(max(ends, default=1) - min(ends, default=-1), 8)
        self.low = min(ends, default=0) // step * step
        self.high = -(-max(ends, default=1) // step) * step

    def bar(self, line: PlayerFigures) -> str:
        """A player's rating as a mark, its interval as a bar, and where the average is."""
        if line.rating is None or line.rating_low is None or line.rating_high is None:
            return ""
        low, at, high, zero = (self._x(value) for value in (line.rating_low, line.rating, line.rating_high, 0))
        about = f"rating {line.rating:+}, between {line.rating_low:+} and {line.rating_high:+}"
        return (
            f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{about}">'
            f'<path class="zero" d="M{zero:.1f} 0V10"/><path class="interval" d="M{low:.1f} 5H{high:.1f}"/>'
            f'<path class="at" d="M{at:.1f} 1V9"/></svg>'
        )

    def _x(self, value: float) -> float:
        return 100 * (value - self.low) / (self.high - self.low)


def _tick(span: float, most: int) -> int:
    """A round number of which at most so many fit into a span, or a few more."""
    step = 1
    while span / step > most:
        step = step * 2 if str(step)[0] in "15" else step // 2 * 5
    return step


def _apart(heights: list[float]) -> list[float]:
    """Heights of labels, each near its own and none upon another."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + _LABEL)
    lowest = float(HEIGHT - BOTTOM)
    for place in reversed(order):
        placed[place] = min(placed[place], lowest)
        lowest = placed[place] - _LABEL
    return placed
