"""Tables for spreadsheets: CSV in which what agents wrote stays text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

# What a spreadsheet may take for the beginning of a formula, also in full width; blanks may hide it.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def defused(cell: object) -> object:
    """A cell that no spreadsheet calculates; numbers stay numbers."""
    is_formula = isinstance(cell, str) and (cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA))
    return f"'{cell}" if is_formula else cell


def csv_row(cells: Sequence[object]) -> str:
    """One line of a CSV file, as RFC 4180 has it."""
    line = io.StringIO()
    csv.writer(line).writerow([defused("" if cell is None else cell) for cell in cells])
    return line.getvalue()
