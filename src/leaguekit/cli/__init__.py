"""The ``league`` command. Each subcommand is a module of its own, imported only when it is called."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import leaguekit

# What each command does, and the module that it is in.
COMMANDS = {
    "run": ("play a whole league on this machine, each agent a process of its own", "run"),
    "host": ("serve a league with its referees, and wait for players", "host"),
    "manager": ("serve a league", "manager"),
    "referee": ("referee matches for a league", "referee"),
    "player": ("play in a league", "player"),
    "players": ("host many players in one process, for load and practice", "players"),
    "gateway": ("seats for chat applications, people in a browser, and players behind a router", "gateway"),
    "new": ("write a small, complete agent to go on from", "new"),
    "try": ("a friendly match of an agent against one of ours, with the messages shown", "try_out"),
    "status": ("where a league stands", "operate"),
    "standings": ("the table of a league", "operate"),
    "schedule": ("the matches of a league and their results", "operate"),
    "agents": ("the agents of a league, and where they listen", "operate"),
    "watch": ("a league in progress: its table, what is in play, and news", "watch"),
    "query": ("ask a league what an agent may ask it", "operate"),
    "start": ("start a league now", "operate"),
    "pause": ("let nothing new begin in a league", "operate"),
    "resume": ("let a paused league go on", "operate"),
    "add-player": ("take a player that never registers into a league", "operate"),
    "withdraw": ("take a player out of a league", "operate"),
    "disqualify": ("put a player out of a league", "operate"),
    "rematch": ("have a match played again", "operate"),
    "correct": ("settle the result of a match", "operate"),
    "seats": ("give out, list and revoke the seats of a league", "seats"),
    "token": ("void a token and make a new one", "token"),
    "simulate": ("play many leagues in one process, to compare strategies or to try faults", "simulate"),
    "verify": ("check everything that must hold in a league's log", "verify"),
    "log": ("what happened in a league, a line an event", "log"),
    "replay": ("what happened in a match, message by message", "replay"),
    "report": ("a league as one HTML page, with tables, charts and every match", "report"),
    "export": ("results, standings, agents and events for other programs", "export"),
    "backup": ("copy a league's store, also while the league runs", "backup"),
    "restore": ("put a backup in the place of a league's store", "restore"),
    "rebuild-files": ("make the JSON files again from a league's log", "rebuild_files"),
    "check": ("check that an agent conforms to league.v2, sentence by sentence", "check"),
    "explain": ("say what a message is, and everything that is wrong with it", "explain"),
    "schema": ("print or write the JSON Schema of the messages", "schema"),
    "examples": ("list or write an example of every message of the documents", "examples"),
}
EXAMPLES = """examples:
  league run                           four players, two referees, and a champion
  league new player Alice              an agent of your own to go on from
  league explain message.json          what is this, and is it right?
  curl … | league explain -            the same from a pipe
  league schema --out schemas          one JSON Schema file a message type
  league COMMAND --help                everything about one command
"""


class CommandError(Exception):
    """The command cannot be carried out; the text says why and what to do."""


# No message and no file of settings is larger.
MAX_READ = 64 * 1024 * 1024


def read_input(name: str | Path) -> bytes:
    """What a file that the user names holds, or standard input if that is "-". Raises CommandError."""
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            content = file.read(MAX_READ + 1)
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    if len(content) > MAX_READ:
        raise CommandError(f"cannot read {name}: it is larger than {MAX_READ:,} bytes")
    return content


def main(argv: list[str] | None = None) -> int:
    """Run the command; 0 if all is well, 1 if what was looked at is not, 2 if the command cannot be carried out."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_streams()
    called = next((argument for argument in arguments if argument in COMMANDS), None)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Not every terminal and pipe has every sign: such a one is written out, as Python does on stderr.
            sys.stdout.reconfigure(errors="backslashreplace")
        options = _parser(called).parse_args(arguments)
        code = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; closing stderr keeps Python from complaining at exit.
        sys.stderr.close()
        return 0
    except (CommandError, OSError) as error:
        # An OSError is about a file that the user named, or about the output itself.
        return _failed(called, error)
    except UnicodeEncodeError as error:
        return _failed(called, _not_text(arguments, error))
    except KeyboardInterrupt as interrupt:
        with warnings.catch_warnings():
            # Coroutines that were not yet begun are dropped with the traceback.
            warnings.simplefilter("ignore", RuntimeWarning)
            interrupt.__traceback__ = None
        return 130
    return code


def _parser(called: str | None) -> argparse.ArgumentParser:
    """A parser that knows the options of the command that is called."""
    parser = argparse.ArgumentParser(
        prog="league",
        description="Leagues of AI agents that speak league.v2.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"leaguekit {leaguekit.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for name, (text, module) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == called:
            import_module(f"leaguekit.cli.{module}").configure(subparser)
    return parser


def _not_text(arguments: list[str], error: UnicodeEncodeError) -> CommandError:
    """What to say of a text that is not UTF-8: it came as an argument, or else from the environment."""
    named = repr(error.object)
    for before, argument in pairwise(["", *arguments]):
        if re.search("[\ud800-\udfff]", argument):
            named = f"{before} {argument!r}" if before.startswith("--") else repr(argument)
    return CommandError(f"{named} is not UTF-8, and can be neither kept nor sent. Write it in UTF-8")


def _failed(command: str | None, error: Exception) -> int:
    """Say why a command cannot be carried out, if anything can be said; its exit code."""
    from leaguekit.protocol.plain_text import harmless_lines

    why = str(error)
    try:
        Path.cwd()
    except OSError:
        why = f"{why}. The working folder was removed: change to another with cd"
    with contextlib.suppress(OSError):
        # It may be in somebody else's words.
        print(f"league {command}: {harmless_lines(why)}", file=sys.stderr, flush=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # What cannot be written is dropped; otherwise Python tries again at its end, and ends with another code.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 2


def _open_streams() -> None:
    """Replace standard streams that were closed before this program began."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 - as long as the program
