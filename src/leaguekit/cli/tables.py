"""Tables for the terminal: plain text, aligned, with whatever agents wrote made harmless."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from leaguekit.league.ties import score_text
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import escaped, harmless

# Players that are warned of one by one.
MAX_WARNINGS = 10
# A name cut shorter says nothing.
LEAST_COLUMN = 8
# The whole table of standings needs so many columns, with names as short as that.
LEAST_STANDINGS = 56
# Nobody sees it, and the writing goes on from left to right behind it.
MARK = "\N{LEFT-TO-RIGHT MARK}"


def json_line(value: object) -> str:
    """A value as JSON on one line: nothing is lost, and nothing moves the terminal."""
    return escaped(json.dumps(value, ensure_ascii=False))


def counted(count: int, one: str) -> str:
    """So many of something, in words."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def in_all(moves: Iterable[MoveOrigins]) -> MoveOrigins:
    """The moves of several players, without a reason: it is one player's only."""
    total = MoveOrigins()
    for origins in moves:
        total.add(origins)
    total.reason = UNSET
    return total


def warn_of_replaced(moves: Mapping[str, MoveOrigins]) -> None:
    """Say on stderr whose moves were replaced, by the players' names."""
    replaced = [(name, origins) for name, origins in moves.items() if origins.replaced]
    for name, origins in replaced[:MAX_WARNINGS]:
        why = f", the first because {origins.reason}" if origins.reason else ""
        share = f"{origins.replaced:,} of {counted(origins.total, 'move')} of {name}"
        print(harmless(f"Warning: {share} were replaced by other legal moves{why}"), file=sys.stderr, flush=True)
    if (more := len(replaced) - MAX_WARNINGS) > 0:
        others = counted(more, "more player")
        print(f"Warning: moves of {others} were replaced", file=sys.stderr, flush=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], right: Collection[str] = ()) -> str:
    """Columns as wide as they need; numbers to the right, and what is named in ``right``.

    In a terminal that is too narrow the widest gives way.
    """
    texts = [[harmless(cell) for cell in row] for row in rows]
    widths = [max(width(line[column]) for line in [list(heads), *texts]) for column in range(len(heads))]
    in_terminal = sys.stdout.isatty()
    between = 2 * len(widths) - 2
    if in_terminal:
        widest = max(range(len(widths)), key=widths.__getitem__)
        room = shutil.get_terminal_size().columns - between - sum(widths) + widths[widest]
        widths[widest] = min(widths[widest], max(room, LEAST_COLUMN))
        texts = [[clipped(cell, room) for cell, room in zip(line, widths, strict=True)] for line in texts]
    to_right = [
        head in right or (bool(rows) and all(isinstance(row[column], int) for row in rows))
        for column, head in enumerate(heads)
    ]
    head, *lines = [_line(line, widths, to_right, in_terminal=in_terminal) for line in [list(heads), *texts]]
    return "\n".join([head, "─" * (sum(widths) + between), *lines])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, in_terminal: bool) -> str:
    padded = []
    for cell, room, to_right in zip(cells, widths, right, strict=True):
        space = " " * (room - width(cell))
        shown = kept_in_place(cell) if in_terminal else cell
        padded.append(space + shown if to_right else shown + space)
    return "  ".join(padded).rstrip()


def width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    return sum(map(_sign_width, text))


def clipped(text: str, columns: int) -> str:
    """As much of a text as fits into so many columns; an ellipsis says that there is more."""
    if width(text) <= columns:
        return text
    if columns < 1:
        return ""
    room = columns - 1
    for place, sign in enumerate(text):
        room -= _sign_width(sign)
        if room < 0:
            return f"{text[:place]}…"
    raise AssertionError("a text that is too wide has a sign too many")


def kept_in_place(text: str) -> str:
    """A text after which a terminal goes on from left to right, also if it turns what is written from right to left."""
    turns = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)
    return f"{text}{MARK}" if turns else text


def _sign_width(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def standings_table(standings: Sequence[dict[str, Any]]) -> str:
    shown = {
        "rank": "rank",
        "player": "player_id",
        "name": "display_name",
        "played": "played",
        "won": "wins",
        "drawn": "draws",
        "lost": "losses",
        "points": "points",
    }
    ties = _tie_columns(standings)
    room = LEAST_STANDINGS + sum(len(head) + 2 for head in ties)
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < room:
        shown = {head: key for head, key in shown.items() if head not in ("played", "drawn", "lost")}
    points = shown.pop("points")
    shown |= ties | {"points": points}
    rows = [[_cell(key, row) for key in shown.values()] for row in standings]
    return table([*shown], rows, right=("rank", *ties))


def _tie_columns(standings: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The tie-breaks that were needed and have no column otherwise, by their heads."""
    if not any(row.get("played") for row in standings):
        return {}
    columns = {
        head: key
        for head, key in (("h2h", "head_to_head"), ("SB", "sonneborn_berger"))
        if any(row.get(key) is not None for row in standings)
    }
    if any(row.get("decided_by") == "technical_losses" for row in standings):
        columns = {"tech.": "technical_losses"} | columns
    return columns


def _cell(key: str, row: dict[str, Any]) -> object:
    if key == "rank":
        return row.get("shown_rank") or row["rank"]
    if key == "sonneborn_berger":
        return score_text(row.get(key))
    value = row.get(key, "")
    return "" if value is None else value
