"""Tables for the terminal: plain text, aligned, with whatever agents wrote made harmless."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def harmless(text: object) -> str:
    """Text from an agent, without what would move the cursor, colour the terminal or turn the writing around."""
    return _CONTROL.sub("�", str(text))


def json_line(value: object) -> str:
    """A value as JSON on one line, with the same signs escaped: nothing is lost, and nothing moves the terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


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
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def standings_table(standings: Sequence[dict[str, Any]]) -> str:
    heads = ["rank", "player", "name", "played", "won", "drawn", "lost", "points"]
    keys = ["rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points"]
    return table(heads, [[row.get(key, "") for key in keys] for row in standings])
