"""``league new``: a small, complete agent or game with its test, for its author to go on from."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path
from typing import NamedTuple

from leaguekit.cli import CommandError
from leaguekit.games import GAMES
from leaguekit.games.plugins import MAX_NAME_LENGTH
from leaguekit.league import names

EXAMPLES = """examples:
  league new player "Alice's agent"                  in Python, on the SDK: the strategy is one function
  league new player Bob --plain                      in Python, with nothing but the standard library
  league new player Carol --lang javascript          with nothing but Node
  league new player Dave --dir agents/dave
  league new game Nim                                a game, with its pyproject.toml

It writes the agent or the game, a test of it and a README into a new folder. Nothing that is there is ever overwritten.
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
    parser.add_argument("what", metavar="player|game", type=_what, help="what to write")
    parser.add_argument("name", metavar="NAME", help="its name, up to 50 characters")
    parser.add_argument("--lang", choices=["python", "javascript"], default="python", help="default python")
    parser.add_argument("--plain", action="store_true", help="without leaguekit; in JavaScript it always is")
    parser.add_argument("--dir", type=Path, help="the folder to write to (default: after the name)")


def _what(text: str) -> str:
    if text not in ("player", "game"):
        words = shlex.join(["league", "new", "player", text])
        raise argparse.ArgumentTypeError(f"it must be the word player or game, got {text!r}; did you mean `{words}`?")
    return text


def run(options: argparse.Namespace) -> int:
    return _new_game(options) if options.what == "game" else _new_player(options)


def _new_player(options: argparse.Namespace) -> int:
    if (fault := names.find_fault(options.name)) is not None:
        raise CommandError(f"no league takes the name {options.name!r}: {fault}; choose another one")
    name = names.normalize(options.name)
    starter = _STARTERS[options.lang, options.plain or options.lang != "python"]
    folder: Path = options.dir or Path(re.sub(r"[\W_]+", "-", name.lower()).strip("-") or "agent")
    # A text in JSON is the same text in Python and in JavaScript.
    quoted = json.dumps(name, ensure_ascii=False)
    texts = {
        file: text.replace(_NAME, name) if file.endswith(".md") else text.replace(f'"{_NAME}"', quoted)
        for file, text in _read(starter.folder).items()
    }
    _write(folder, texts)
    print(
        f"{folder} has {', '.join(sorted(texts))}. The strategy is the function choose.\n\n"
        f"  cd {shlex.quote(str(folder))}\n"
        f"  {starter.test:24} try the strategy{starter.test_needs}\n"
        f"  {starter.start:24} serve the agent; it waits for a league at port 8000\n"
        f"  {'league try':24} in another terminal: a friendly match, with every message shown"
    )
    return 0


def _new_game(options: argparse.Namespace) -> int:
    if options.plain or options.lang != "python":
        raise CommandError("a game is written in Python, on leaguekit: leave --plain and --lang out")
    words = re.findall(r"[a-z0-9]+", options.name.lower())
    name = "_".join(words)
    if not name[:1].isalpha() or len(name) > MAX_NAME_LENGTH or not options.name.isascii():
        raise CommandError(
            f"a game's name begins with a letter and has up to {MAX_NAME_LENGTH} letters and digits, "
            f"got {options.name!r}; choose another one"
        )
    if name in GAMES or iskeyword(name) or name in sys.stdlib_module_names:
        taken = "a game of leaguekit" if name in GAMES else "a word or module of Python"
        raise CommandError(f"{name!r} is {taken}; choose another name")
    class_name = "".join(map(str.capitalize, words))
    replaced = {
        "my_game": name,
        "MyGame": class_name,
        "my-game": "-".join(words),
        "My game": " ".join(words).capitalize(),
    }
    folder: Path = options.dir or Path("-".join(words))
    texts = {_rename(file, replaced): _rename(text, replaced) for file, text in _read("game").items()}
    _write(folder, texts)
    league_run = f"league run --game {name}.py:{class_name} --port 0"
    width = max(24, len(league_run))
    print(
        f"{folder} has {', '.join(sorted(texts))}. The rules are in the class {class_name}.\n\n"
        f"  cd {shlex.quote(str(folder))}\n"
        f"  {'python -m pytest':{width}} check the rules (once before: pip install pytest)\n"
        f"  {league_run} play a league with it\n"
        f"  {'pip install .':{width}} make it a game of this machine: --game {name}"
    )
    return 0


def _rename(text: str, replaced: dict[str, str]) -> str:
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def _read(starter: str) -> dict[str, str]:
    """The files of a starter, by name."""
    found = files("leaguekit") / "starters" / starter
    return {one.name: one.read_text(encoding="utf-8") for one in found.iterdir() if one.is_file()}


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write files into a folder. A .gitignore is added if it has none. Raises CommandError if a file exists."""
    there = sorted(file for file in texts if (folder / file).exists())
    if there:
        raise CommandError(f"{folder} has {', '.join(there)} already, and nothing is overwritten; choose another --dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        if not (folder / _GITIGNORE).exists():
            (folder / _GITIGNORE).write_text(_LEFT_BEHIND, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}; choose another --dir") from None
