"""Draws frames on the terminal. A frame is lines of cells, each at its column.

The terminal itself moves the cursor to the column of each cell. Terminals differ in the width of some characters. A
name that is wider or narrower than expected does not move the cells beside it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import IO, NamedTuple, Self

from leaguekit.cli.tables import LTR_MARK, shorten, width, with_ltr_mark
from leaguekit.protocol.plain_text import sanitize_line

# The styles of cells, as SGR codes. A cell may have several. The last ones are the colours of pictures.
STYLES = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "lively": "36", "warning": "33", "marked": "7"}
STYLES |= {"red": "31", "yellow": "33", "blue": "34", "green": "32", "brown": "33", "grey": "90"}
# Black cannot be seen on black, and white not on white.
STYLES |= {"black": "30;47", "white": "97;40"}
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
# Synchronized output: a terminal that knows these codes draws a frame at once. Others ignore them.
_BEGIN_UPDATE, _END_UPDATE = "\x1b[?2026h", "\x1b[?2026l"


class Cell(NamedTuple):
    """A text at a column, from 0. ``style`` has names of ``STYLES``."""

    column: int
    text: str
    style: str = ""


Frame = Sequence[Sequence[Cell]]


def right_aligned(column: int, value: object, style: str = "") -> Cell:
    """A cell that ends before a column."""
    text = str(value)
    return Cell(column - width(text), text, style)


def supports_screen(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Screen:
    """Switches the terminal to its alternate screen, and restores it at the end."""

    def __init__(self, stream: IO[str] = sys.stdout) -> None:
        self._stream = stream
        self._coloured = not os.environ.get("NO_COLOR")

    def __enter__(self) -> Self:
        self._write(_ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        self._write(_LEAVE)

    @property
    def size(self) -> tuple[int, int]:
        """The current number of columns and lines."""
        return shutil.get_terminal_size()

    def draw(self, frame: Frame) -> None:
        columns, lines = self.size
        rendered = [render_line(line, columns, coloured=self._coloured) for line in frame[:lines]]
        # Each line is cleared first, because an earlier frame may have text between its cells. So is the rest below.
        text = "\r\n".join(f"\x1b[2K{line}" for line in rendered)
        self._write(f"{_BEGIN_UPDATE}\x1b[H{text}\x1b[J{_END_UPDATE}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def render_line(line: Sequence[Cell], columns: int, *, coloured: bool) -> str:
    """A line of cells as text for the terminal. Each cell is cut off at the next cell's column or at the edge."""
    texts = []
    for number, cell in enumerate(line, start=1):
        after = line[number].column - 1 if number < len(line) else columns
        plain = LTR_MARK.join(map(sanitize_line, cell.text.split(LTR_MARK)))
        text = with_ltr_mark(shorten(plain, max(0, min(after, columns) - cell.column)))
        if text and cell.column >= 0:
            style = ";".join(STYLES[one] for one in cell.style.split()) if coloured else ""
            texts.append(f"\x1b[{cell.column + 1}G" + (f"\x1b[{style}m{text}\x1b[m" if style else text))
    return "".join(texts)
