"""Charts of a league's figures as SVG. The colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leaguekit.league.analysis.figures import Figures, PlayerFigures, signed
from leaguekit.web.report.markup import escape_text

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 40, 140, 12, 42
# The lines that have a colour: more colours could not be distinguished. The other lines are grey.
MAX_COLOURED = 6
_LABEL_HEIGHT = 19
# Longer names are cut off at the end of a line.
_MAX_LABEL_LENGTH = 14


def points_chart(figures: Figures) -> str:
    """Points over the rounds, with one line for each player. The first players of the table have colours."""
    rounds = figures.round
    highest = max((total for totals in figures.points.values() for total in totals), default=0) or 1
    step = _tick_step(highest, 6)
    top = -(-highest // step) * step

    def x(number: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * number / max(rounds, 1)

    def y(total: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * total / top

    grid = [
        f'<path class="grid" d="M{LEFT} {y(total):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{y(total) + 4:.1f}" text-anchor="end">{total}</text>'
        for total in range(0, top + 1, step)
    ]
    every = _tick_step(rounds, 12)
    grid += [
        f'<text class="tick" x="{x(number):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{number}</text>'
        for number in range(0, rounds + 1, every)
    ]
    ends = _spread([y(figures.points[line.player_id][-1]) for line in figures.lines[:MAX_COLOURED]]) if rounds else []
    lines = []
    # The first ones are drawn last, above the others.
    for place in reversed(range(len(figures.lines) if rounds else 0)):
        line = figures.lines[place]
        totals = [0, *figures.points[line.player_id]]
        path = " ".join(f"{x(number):.1f},{y(total):.1f}" for number, total in enumerate(totals))
        title = f"<title>{escape_text(line.display_name)} ({line.player_id}): {totals[-1]} points</title>"
        colour = f"c{place + 1}" if place < MAX_COLOURED else "other"
        lines.append(f'<polyline class="line {colour}" points="{path}">{title}</polyline>')
        if place < MAX_COLOURED:
            label = f'<text class="label {colour}" x="{WIDTH - RIGHT + 8}" y="{ends[place] + 4:.1f}">'
            lines.append(f"{label}{escape_text(_label(line))}</text>")
    about = f"Points after each of {rounds} rounds; the table has the last of them, points.csv all."
    axis = f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 2}" text-anchor="middle">round</text>'
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{about}">'
        f"{''.join(grid)}{axis}{''.join(lines)}</svg>"
    )


def _label(line: PlayerFigures) -> str:
    """The name of a player, as far as there is space."""
    name = line.display_name or line.player_id
    return name if len(name) <= _MAX_LABEL_LENGTH else f"{name[: _MAX_LABEL_LENGTH - 1]}…"


class RatingScale:
    """One scale for the ratings of all players."""

    def __init__(self, lines: Sequence[PlayerFigures]) -> None:
        ends = [end for line in lines for end in (line.rating_low, line.rating_high) if end is not None]
        step = _tick_step(max(ends, default=1) - min(ends, default=-1), 8)
        self.low = min(ends, default=0) // step * step
        self.high = -(-max(ends, default=1) // step) * step

    def bar(self, line: PlayerFigures) -> str:
        """A bar with a player's rating, its interval, and the average."""
        if line.rating is None or line.rating_low is None or line.rating_high is None:
            return ""
        low, at, high, zero = (self._x(value) for value in (line.rating_low, line.rating, line.rating_high, 0))
        about = f"rating {signed(line.rating)}, between {signed(line.rating_low)} and {signed(line.rating_high)}"
        return (
            f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{about}">'
            f'<path class="zero" d="M{zero:.1f} 0V10"/><path class="interval" d="M{low:.1f} 5H{high:.1f}"/>'
            f'<path class="at" d="M{at:.1f} 1V9"/></svg>'
        )

    def _x(self, value: float) -> float:
        return 100 * (value - self.low) / (self.high - self.low)


def _tick_step(span: float, max_ticks: int) -> int:
    """The smallest round number for which an axis of this length has at most about ``max_ticks`` ticks."""
    step = 1
    while span / step > max_ticks:
        step = step * 2 if str(step)[0] in "15" else step // 2 * 5
    return step


def _spread(heights: list[float]) -> list[float]:
    """Heights of labels, each as near to the given one as possible without overlapping another."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + _LABEL_HEIGHT)
    lowest = float(HEIGHT - BOTTOM)
    for place in reversed(order):
        placed[place] = min(placed[place], lowest)
        lowest = placed[place] - _LABEL_HEIGHT
    return placed
