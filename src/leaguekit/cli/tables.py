"""Tables for the terminal: plain text, aligned, with whatever agents wrote made harmless."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from leaguekit.protocol.plain import escaped, harmless


def json_line(value: object) -> str:
    """A value as JSON on one line: nothing is lost, and nothing moves the terminal."""
    return escaped(json.dumps(value, ensure_ascii=False))


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need; numbers to the right."""
    texts = [[harmless(cell) for cell in row] for row in rows]
    widths = [max(_width(line[column]) for line in [list(heads), *texts]) for column in range(len(heads))]
    right = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(heads))]
    lines = [_line(line, widths, right) for line in [list(heads), *texts]]
    return "\n".join([lines[0], "─" * _width(lines[0].ljust(sum(widths) + 2 * len(widths) - 2)), *lines[1:]])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - _width(cell))
        padded.append(space + cell if to_right else cell + space)
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    return sum(map(_sign_width, text))


def _sign_width(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def standings_table(standings: Sequence[dict[str, Any]]) -> str:
    heads = ["rank", "player", "name", "played", "won", "drawn", "lost", "points"]
    keys = ["rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points"]
    return table(heads, [[row.get(key, "") for key in keys] for row in standings])
