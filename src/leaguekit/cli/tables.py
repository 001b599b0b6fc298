"""Tables: for the terminal as plain aligned text, and for spreadsheets. The texts of agents are made harmless."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from leaguekit.league.ties import payoff_text, score_text
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import escaped, sanitize_line

# At most this number of players gets a warning each.
MAX_WARNINGS = 10
# A name that is cut off at fewer characters cannot be recognized.
MIN_COLUMN_WIDTH = 8
# What a player is called that has left its league.
DEPARTURES = {"WITHDRAWAL": "withdrawn", "DISQUALIFICATION": "disqualified"}
# The full table of standings needs this number of columns, with the shortest names.
MIN_STANDINGS_WIDTH = 56
# The heads of the columns of tie-breaks.
_TIE_HEADS = {"buchholz": "BH", "head_to_head": "h2h", "sonneborn_berger": "SB"}
# Invisible. The text after it runs from left to right again.
LTR_MARK = "\N{LEFT-TO-RIGHT MARK}"
# A spreadsheet may treat a text as a formula if it begins with one of these, also after blanks.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def json_line(value: object) -> str:
    """A value as JSON on one line, with control characters escaped."""
    return escaped(json.dumps(value, ensure_ascii=False))


def pluralize(count: int, one: str, ending: str = "s") -> str:
    """A number with its noun: "1 player", "2 players"."""
    return f"{count:,} {one}{'' if count == 1 else ending}"


def rate_text(rate: float) -> str:
    """A number per second: "1,045", "3.2"."""
    return f"{rate:.1f}" if 0 < rate < 10 else f"{rate:,.0f}"


def total_origins(moves: Iterable[MoveOrigins]) -> MoveOrigins:
    """The sum of the moves of several players, without a reason, which would be that of one player only."""
    total = MoveOrigins()
    for origins in moves:
        total.add(origins)
    total.reason = UNSET
    return total


def warn_of_replaced_moves(moves: Mapping[str, MoveOrigins]) -> None:
    """Warn on stderr about players whose moves were replaced. ``moves`` is by the players' names."""
    replaced = [(name, origins) for name, origins in moves.items() if origins.replaced]
    for name, origins in replaced[:MAX_WARNINGS]:
        print(sanitize_line(f"Warning: {origins.describe_replaced(name)}"), file=sys.stderr, flush=True)
    if (more := len(replaced) - MAX_WARNINGS) > 0:
        others = pluralize(more, "more player")
        print(f"Warning: moves of {others} were replaced", file=sys.stderr, flush=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], right: Collection[str] = ()) -> str:
    """A table whose columns are as wide as their texts. Numbers, and the columns in ``right``, are right-aligned.

    If the terminal is too narrow, the widest column is cut off.
    """
    texts = [[sanitize_line(cell) for cell in row] for row in rows]
    widths = [max(width(line[column]) for line in [list(heads), *texts]) for column in range(len(heads))]
    in_terminal = sys.stdout.isatty()
    between = 2 * len(widths) - 2
    if in_terminal:
        widest = max(range(len(widths)), key=widths.__getitem__)
        available = shutil.get_terminal_size().columns - between - sum(widths) + widths[widest]
        widths[widest] = min(widths[widest], max(available, MIN_COLUMN_WIDTH))
        texts = [[shorten(cell, available) for cell, available in zip(line, widths, strict=True)] for line in texts]
    aligns_right = [
        head in right or (bool(rows) and all(isinstance(row[column], int) for row in rows))
        for column, head in enumerate(heads)
    ]
    head, *lines = [_line(line, widths, aligns_right, in_terminal=in_terminal) for line in [list(heads), *texts]]
    return "\n".join([head, "─" * (sum(widths) + between), *lines])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, in_terminal: bool) -> str:
    padded = []
    for cell, available, aligns_right in zip(cells, widths, right, strict=True):
        space = " " * (available - width(cell))
        columns = with_ltr_mark(cell) if in_terminal else cell
        padded.append(space + columns if aligns_right else columns + space)
    return "  ".join(padded).rstrip()


def width(text: str) -> int:
    """The number of columns that a text takes in a terminal."""
    return sum(map(_char_width, text))


def shorten(text: str, columns: int) -> str:
    """Shorten a text to a number of columns, with an ellipsis at its end."""
    if width(text) <= columns:
        return text
    if columns < 1:
        return ""
    available = columns - 1
    for index, char in enumerate(text):
        available -= _char_width(char)
        if available < 0:
            return f"{text[:index]}…"
    raise AssertionError("the text is wider than the columns")


def with_ltr_mark(text: str) -> str:
    """A text, with a mark at its end if it has right-to-left characters: after it the text runs left to right again."""
    has_rtl = any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    return f"{text}{LTR_MARK}" if has_rtl else text


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def standings_table(standings: Sequence[dict[str, Any]], tie_breaks: Sequence[str] = ()) -> str:
    """A table as text. The columns of tie-breaks are in the order of the league, if it is known."""
    columns = {
        "rank": "rank",
        "player": "player_id",
        "name": "display_name",
        "played": "played",
        "won": "wins",
        "drawn": "draws",
        "lost": "losses",
        "points": "points",
    }
    ties = _tie_columns(standings, tie_breaks)
    payoff = {"payoff": "payoff"} if any("payoff" in row for row in standings) else {}
    available = MIN_STANDINGS_WIDTH + sum(len(head) + 2 for head in (*ties, *payoff))
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < available:
        columns = {head: key for head, key in columns.items() if head not in ("played", "drawn", "lost")}
    points = columns.pop("points")
    columns |= ties | {"points": points} | payoff
    rows = [[_cell(key, row) for key in columns.values()] for row in standings]
    return table([*columns], rows, right=("rank", *ties, *payoff))


def _tie_columns(standings: Sequence[dict[str, Any]], tie_breaks: Sequence[str]) -> dict[str, str]:
    """The columns of the tie-breaks that were needed, by their heads."""
    if not any(row.get("played") for row in standings):
        return {}
    columns = {
        _TIE_HEADS[key]: key
        for key in tie_breaks or _TIE_HEADS
        if key in _TIE_HEADS and any(row.get(key) is not None for row in standings)
    }
    if any(row.get("technical_losses") for row in standings):
        columns = {"tech.": "technical_losses"} | columns
    return columns


def _cell(key: str, row: dict[str, Any]) -> object:
    if key == "rank":
        return row.get("shown_rank") or row["rank"]
    if key == "sonneborn_berger":
        return score_text(row.get(key))
    if key == "payoff":
        return payoff_text(row.get(key, UNSET))
    if key == "display_name" and (out := DEPARTURES.get(row.get("out") or "")):
        return f"{row[key]} ({out})"
    value = row.get(key, "")
    return "" if value is None else value


def escape_formula(cell: object) -> object:
    """A cell that a spreadsheet does not evaluate. Numbers stay numbers."""
    is_formula = isinstance(cell, str) and (cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA))
    return f"'{cell}" if is_formula else cell


def csv_row(cells: Sequence[object]) -> str:
    """A line of a CSV file. It ends as lines of text do, so that grep, sed and cut can be used with it, too."""
    line = io.StringIO()
    csv.writer(line).writerow([escape_formula("" if cell is None else cell) for cell in cells])
    # The writer quotes a carriage return in a cell only if its own lines end with one.
    return line.getvalue().removesuffix("\r\n") + "\n"
