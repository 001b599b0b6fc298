"""The animated picture of the README: a real command is recorded in a terminal and drawn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs import picture

ROOT = Path(__file__).parent.parent
MAX_BYTES = 300_000


def _check(path: Path, champion: str) -> str:
    """The last frame of a picture, as text. Raises if it is not what a page may show."""
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < MAX_BYTES
    drawing = ET.fromstring(text)
    assert "<script" not in text
    assert set(re.findall(r'(?:href|src)="([^#"][^"]*)"', text)) == set()
    names = {"s": "http://www.w3.org/2000/svg"}
    lines = {one.attrib["id"]: "".join(one.itertext()) for one in drawing.findall("s:defs/s:g", names)}
    frames = drawing.findall("s:g", names)
    assert len(frames) > 3
    shown = ["\n".join(lines[use.attrib["href"][1:]] for use in frame) for frame in frames]
    assert any("matches" in frame and "player" in frame for frame in shown[1:-1])
    assert re.search(champion, shown[-1])
    return shown[-1]


def test_the_picture_of_the_readme_shows_a_whole_league() -> None:
    last = _check(picture.PICTURE, r"Champion: \w+")
    assert picture.COMMAND in last
    assert "docs/images/league-run.svg" in (ROOT / "README.md").read_text()


def test_the_script_records_a_league_in_a_terminal(tmp_path: Path) -> None:
    command = "league run --players 3 --announce-lead 0.3 --league-id spring_cup"
    out = tmp_path / "picture.svg"
    script = [sys.executable, ROOT / "docs" / "picture.py", "--out", out, "--port", "0", "--command", command]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert command in _check(out, "(?i)champion")


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("\x1b[3G\x1b[32mgreen\x1b[m x", ["green x"]),
        ("shell\r\n\x1b[?1049h\x1b[Hlive\x1b[?1049l", ["shell"]),
        ("old\r\nolder\x1b[H\x1b[2Knew\x1b[J", ["new"]),
        ("1\r\n2\r\n3\r\n4", ["2", "3", "4"]),
        ("0123456789abc", ["0123456789", "abc"]),
    ],
)
def test_the_terminal_shows_what_a_terminal_shows(written: str, rows: list[str]) -> None:
    terminal = picture.Terminal(10, 3)
    terminal.write(written)
    assert ["".join(text for _, text, _ in line).rstrip() for line in terminal.shown() if line] == rows


def test_waits_are_shorter_and_flashes_are_left_out() -> None:
    line = (((0, "x", ""),),)
    frames = [picture.Frame(at, line) for at in (0.0, 0.01, 10.0)]
    assert [round(frame.at, 2) for frame in picture.timed(frames)] == [0.0, 1.2, 7.2]
