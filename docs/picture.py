"""Records a command in a terminal, and writes what it showed as an animated SVG: ``python docs/picture.py``."""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).parent / "images" / "league-run.svg"
COMMAND = "league run --game tic_tac_toe --players 6 --league-id winter_cup --seed 7 --announce-lead 2"
COLUMNS, LINES = 104, 26
# A frame is shown at least and at most this long, and the last one longer.
MIN_SECONDS, MAX_SECONDS, LAST_SECONDS = 0.12, 1.2, 6.0
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 18, 14
COLOURS = {"2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan", "1": "bold"}
STYLE = """svg{background:#10141a}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
fill:#d7dde5;white-space:pre}.dim{fill:#8b98a8}.red{fill:#ff7b72}.green{fill:#56d364}.yellow{fill:#e3b341}
.cyan{fill:#39c5cf}.bold{font-weight:bold}.frame{visibility:hidden;animation-timing-function:step-end;
animation-iteration-count:infinite}"""

# A line is its runs of characters in one style: the column, the text, the style.
Run = tuple[int, str, str]
Line = tuple[Run, ...]


class Frame(NamedTuple):
    """What the terminal showed from a moment on, in seconds."""

    at: float
    lines: tuple[Line, ...]


class Terminal:
    """As much of a terminal as the live display of ``league`` uses."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.row = self.column = 0
        self.style = ""
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}
        self._main = (self.cells, 0, 0)

    def write(self, text: str) -> None:
        for code, final, character in re.findall(r"\x1b\[([?\d;]*)([A-Za-z])|([^\x1b])", text, re.DOTALL):
            if final:
                self._control(code, final)
            elif character == "\r":
                self.column = 0
            elif character == "\n":
                self._next_line()
            elif character >= " " and character != "\u200e":
                if self.column >= self.columns:
                    self.column = 0
                    self._next_line()
                self.cells[self.row, self.column] = (character, self.style)
                self.column += 1

    def _next_line(self) -> None:
        self.row += 1
        if self.row >= self.lines:
            self.row -= 1
            self.cells = {(row - 1, column): cell for (row, column), cell in self.cells.items() if row}

    def _control(self, code: str, final: str) -> None:
        match code, final:
            case "?1049", "h":
                self._main = (self.cells, self.row, self.column)
                self.cells, self.row, self.column = {}, 0, 0
            case "?1049", "l":
                self.cells, self.row, self.column = self._main
            case _, "H":
                self.row = self.column = 0
            case _, "G":
                self.column = int(code or "1") - 1
            case "2", "K":
                self.cells = {place: cell for place, cell in self.cells.items() if place[0] != self.row}
            case _, "J":
                here = (self.row, self.column)
                self.cells = {place: cell for place, cell in self.cells.items() if place < here}
            case _, "m":
                self.style = " ".join(COLOURS[one] for one in code.split(";") if one in COLOURS)

    def shown(self) -> tuple[Line, ...]:
        """The lines as they are now. Blanks at the end of a run are left out."""
        rows: list[Line] = []
        for row in range(self.lines):
            runs: list[Run] = []
            for column in sorted(column for place, column in self.cells if place == row):
                character, style = self.cells[row, column]
                if runs and runs[-1][2] == style and runs[-1][0] + len(runs[-1][1]) == column:
                    runs[-1] = (runs[-1][0], runs[-1][1] + character, style)
                else:
                    runs.append((column, character, style))
            rows.append(tuple((at, text.rstrip(), style) for at, text, style in runs if text.strip()))
        return tuple(rows)


def record(words: list[str], shown_command: str, folder: str) -> list[Frame]:
    """Run a command in a folder and in a terminal of its own. Returns the frames that a person would have seen."""
    terminal = Terminal(COLUMNS, LINES)
    terminal.write(f"$ {shown_command}\r\n")
    frames = [Frame(0.0, terminal.shown())]
    process, screen = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm-256color"
        os.execvp(words[0], words)  # noqa: S606 - the command is ours
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    began, kept = time.monotonic(), b""
    while True:
        select.select([screen], [], [])
        try:
            data = os.read(screen, 65536)
        except OSError:
            break
        if not data:
            break
        # A character or a control code may be cut in two.
        kept += data
        end = re.search(rb"(?:\x1b\[?[?\d;]*|[\xc0-\xff][\x80-\xbf]{0,2})\Z", kept)
        whole, kept = (kept[: end.start()], kept[end.start() :]) if end else (kept, b"")
        terminal.write(whole.decode(errors="replace"))
        lines = terminal.shown()
        if lines != frames[-1].lines:
            frames.append(Frame(time.monotonic() - began, lines))
    os.close(screen)
    _, status = os.waitpid(process, 0)
    if status:
        sys.exit(f"{shown_command} ended with {os.waitstatus_to_exitcode(status)}")
    return frames


def timed(frames: list[Frame]) -> list[Frame]:
    """The frames that a person can see, with long waits made shorter, and an empty one for the end."""
    ends = [*(frame.at for frame in frames[1:]), frames[-1].at + LAST_SECONDS]
    kept: list[Frame] = []
    at = 0.0
    for frame, end in zip(frames, ends, strict=True):
        is_last = frame is frames[-1]
        if end - frame.at >= MIN_SECONDS or is_last:
            kept.append(Frame(at, frame.lines))
            at += end - frame.at if is_last else min(MAX_SECONDS, end - frame.at)
    return [*kept, Frame(at, ())]


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def render(frames: list[Frame], title: str) -> str:
    """The frames as an SVG. Each line is drawn once and used by all frames that have it."""
    *shown, end = timed(frames)
    numbers: dict[Line, int] = {}
    groups, rules = [], []
    for index, (frame, after) in enumerate(zip(shown, [*shown[1:], end], strict=True)):
        uses = []
        for row, line in enumerate(frame.lines):
            if line:
                number = numbers.setdefault(line, len(numbers))
                uses.append(f'<use href="#l{number}" y="{MARGIN + (row + 1) * LINE_HEIGHT - 4}"/>')
        begins, ends = (f"{100 * at / end.at:.2f}%" for at in (frame.at, after.at))
        steps = f"{begins}{{visibility:visible}}{ends}{{visibility:{'visible' if after is end else 'hidden'}}}"
        rules.append(f"@keyframes f{index}{{{steps if index == 0 else '0%{visibility:hidden}' + steps}}}")
        last = ' id="last"' if after is end else ""
        animation = f"animation-name:f{index};animation-duration:{end.at:.1f}s"
        groups.append(f'<g{last} class="frame" style="{animation}">{"".join(uses)}</g>')
    # Without animation, the last frame is shown.
    rules.append("#last{visibility:visible}@media (prefers-reduced-motion){.frame{animation:none!important}}")
    drawn = []
    for line, number in numbers.items():
        texts = "".join(
            f'<text x="{MARGIN + at * CHARACTER_WIDTH:.1f}" textLength="{len(text) * CHARACTER_WIDTH:.1f}"'
            f"{_class(style)}>{escape(text, quote=False)}</text>"
            for at, text, style in line
        )
        drawn.append(f'<g id="l{number}">{texts}</g>')
    width, height = round(2 * MARGIN + COLUMNS * CHARACTER_WIDTH), 2 * MARGIN + LINES * LINE_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{STYLE}{"".join(rules)}</style><defs>{"".join(drawn)}</defs>'
        f'<rect width="{width}" height="{height}" rx="8" fill="#10141a"/>{"".join(groups)}</svg>\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE, help="default docs/images/league-run.svg")
    parser.add_argument("--command", default=COMMAND, help=f"default: {COMMAND}")
    parser.add_argument("--port", default="8000", help="0 takes a free one")
    options = parser.parse_args()
    name, *words = options.command.split()
    with tempfile.TemporaryDirectory() as folder:
        own = [str(Path(sys.executable).parent / name), *words, "--port", options.port]
        frames = record(own, options.command, folder)
    options.out.write_text(render(frames, f"A terminal in which {options.command} plays a league"), encoding="utf-8")
    print(f"{options.out}: {options.out.stat().st_size:,} bytes, {len(frames)} frames")
    return 0


if __name__ == "__main__":
    sys.exit(main())
