"""CSV for spreadsheets, in which texts of agents are never formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

# A spreadsheet may treat a text as a formula if it begins with one of these, also after blanks.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def escape_formula(cell: object) -> object:
    """A cell that a spreadsheet does not evaluate. Numbers stay numbers."""
    is_formula = isinstance(cell, str) and (cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA))
    return f"'{cell}" if is_formula else cell


def csv_row(cells: Sequence[object]) -> str:
    """A line of a CSV file by RFC 4180."""
    line = io.StringIO()
    csv.writer(line).writerow([escape_formula("" if cell is None else cell) for cell in cells])
    return line.getvalue()
