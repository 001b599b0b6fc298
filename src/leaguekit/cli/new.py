"""``league new``: a small, complete agent with its test, for its author to go on from."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from leaguekit.cli import CommandError
from leaguekit.league import names

EXAMPLES = """examples:
  league new player "Alice's agent"                  in Python, on the SDK: the strategy is one function
  league new player Bob --plain                      in Python, with nothing but the standard library
  league new player Carol --lang javascript          with nothing but Node
  league new player Dave --dir agents/dave

It writes the agent, a test of it and a README into a new folder. Nothing that is there is ever overwritten.
"""
# What an agent leaves in its folder. Some of it is secret.
_GITIGNORE = ".gitignore"
_LEFT_BEHIND = "SHARED/\nstate.*\n__pycache__/\n"
# What the starters call themselves.
_NAME = "My agent"


class _Starter(NamedTuple):
    """A starter: its folder in the package, and how its author tries it and starts it."""

    folder: str
    test: str
    start: str
    # What the test needs beside the starter's own needs, as a remark.
    test_needs: str = ""


_STARTERS = {
    ("python", False): _Starter("python", "python -m pytest", "python agent.py", " (once before: pip install pytest)"),
    ("python", True): _Starter("plain_python", "python -m unittest", "python agent.py"),
    ("javascript", True): _Starter("javascript", "node --test", "node agent.mjs"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="player", type=_what, help="what to write")
    parser.add_argument("name", metavar="NAME", help="its name in a league, up to 50 characters")
    parser.add_argument("--lang", choices=["python", "javascript"], default="python", help="default python")
    parser.add_argument("--plain", action="store_true", help="without leaguekit; in JavaScript it always is")
    parser.add_argument("--dir", type=Path, help="the folder to write to (default: after the name)")


def _what(text: str) -> str:
    if text != "player":
        words = shlex.join(["league", "new", "player", text])
        raise argparse.ArgumentTypeError(f"it must be the word player, got {text!r}; did you mean `{words}`?")
    return text


def run(options: argparse.Namespace) -> int:
    if (fault := names.find_fault(options.name)) is not None:
        raise CommandError(f"no league takes the name {options.name!r}: {fault}; choose another one")
    name = names.normalize(options.name)
    starter = _STARTERS[options.lang, options.plain or options.lang != "python"]
    folder: Path = options.dir or Path(re.sub(r"[\W_]+", "-", name.lower()).strip("-") or "agent")
    written = _write(starter, folder, name)
    print(
        f"{folder} has {', '.join(written)}. The strategy is the function choose.\n\n"
        f"  cd {shlex.quote(str(folder))}\n"
        f"  {starter.test:24} try the strategy{starter.test_needs}\n"
        f"  {starter.start:24} serve the agent; it waits for a league at port 8000\n"
        f"  {'league try':24} in another terminal: a friendly match, with every message shown"
    )
    return 0


def _write(starter: _Starter, folder: Path, name: str) -> list[str]:
    """Write a starter's files under its player's name; their names. A .gitignore is added if the folder has none."""
    found = files("leaguekit") / "starters" / starter.folder
    texts = {one.name: one.read_text(encoding="utf-8") for one in found.iterdir() if one.is_file()}
    there = sorted(file for file in texts if (folder / file).exists())
    if there:
        raise CommandError(f"{folder} has {', '.join(there)} already, and nothing is overwritten; choose another --dir")
    # A text in JSON is the same text in Python and in JavaScript.
    quoted = json.dumps(name, ensure_ascii=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            named = text.replace(_NAME, name) if file.endswith(".md") else text.replace(f'"{_NAME}"', quoted)
            (folder / file).write_text(named, encoding="utf-8")
        if not (folder / _GITIGNORE).exists():
            (folder / _GITIGNORE).write_text(_LEFT_BEHIND, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}; choose another --dir") from None
    return sorted(texts)
