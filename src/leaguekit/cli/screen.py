"""A terminal that shows a picture and keeps it up to date: lines of cells, each at its column.

Every cell is put at its column by the terminal itself. Terminals differ in how wide they draw some signs, and a name
that is wider or narrower than expected moves nothing beside it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import IO, NamedTuple, Self

from leaguekit.cli.tables import MARK, clipped, kept_in_place, width
from leaguekit.protocol.plain_text import harmless

# What a line may be drawn in; terminals choose the shades.
STYLES = {"": "", "bold": "1", "dim": "2", "good": "32", "bad": "31", "lively": "36", "warning": "33"}
_BEGIN = "\x1b[?1049h\x1b[?25l"
_END = "\x1b[?25h\x1b[?1049l"
# A terminal that knows these shows all of a picture at once; others pass over them.
_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"


class Cell(NamedTuple):
    """A text at a column, from 0."""

    column: int
    text: str
    style: str = ""


Picture = Sequence[Sequence[Cell]]


def right(column: int, value: object, style: str = "") -> Cell:
    """A cell that ends before a column."""
    text = str(value)
    return Cell(column - width(text), text, style)


def can_show(stream: IO[str]) -> bool:
    """Whether pictures can be shown there: a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Screen:
    """Takes the terminal over, and gives it back as it was."""

    def __init__(self, stream: IO[str] = sys.stdout) -> None:
        self._stream = stream
        self._coloured = not os.environ.get("NO_COLOR")

    def __enter__(self) -> Self:
        self._write(_BEGIN)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._write(_END)

    @property
    def size(self) -> tuple[int, int]:
        """How many columns and lines there are now."""
        return shutil.get_terminal_size()

    def show(self, picture: Picture) -> None:
        columns, lines = self.size
        shown = [drawn(line, columns, coloured=self._coloured) for line in picture[:lines]]
        # Each line is cleared before it is drawn, for there may be something between its cells; so is all below.
        text = "\r\n".join(f"\x1b[2K{line}" for line in shown)
        self._write(f"{_HOLD}\x1b[H{text}\x1b[J{_SHOW}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def drawn(line: Sequence[Cell], columns: int, *, coloured: bool) -> str:
    """A line of cells, none wider than up to the next one's column or the edge."""
    texts = []
    for number, cell in enumerate(line, start=1):
        after = line[number].column - 1 if number < len(line) else columns
        plain = MARK.join(map(harmless, cell.text.split(MARK)))
        text = kept_in_place(clipped(plain, max(0, min(after, columns) - cell.column)))
        if text and cell.column >= 0:
            style = STYLES[cell.style] if coloured else ""
            texts.append(f"\x1b[{cell.column + 1}G" + (f"\x1b[{style}m{text}\x1b[m" if style else text))
    return "".join(texts)
