"""The ``league`` command. Each command has a module in ``commands``, which is imported only when it is called."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import leaguekit
from leaguekit.cli.arguments import Parser

# What each command does, and the module that it is in, by groups in the order of the help.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "begin with": {
        "run": ("play a whole league on this machine, with one process per agent", "run"),
        "new": ("write a small, complete agent or game to start from", "new"),
        "try": ("play a friendly match with an agent, and print the messages", "try_out"),
        "check": ("check that an agent conforms to league.v2, sentence by sentence", "check"),
        "host": ("serve a league with its referees, and wait for players", "host"),
        "report": ("write a league as one HTML page, with tables, charts and every match", "report"),
    },
    "play": {
        "player": ("play in a league", "player"),
        "players": ("host many players in one process, for load and practice", "players"),
        "simulate": ("play many leagues on all cores, to compare strategies or to test faults", "simulate"),
        "watch": ("display a league in progress: its table, the matches in play, and news", "watch"),
    },
    "write an agent or a game": {
        "games": ("list the games that can be played here", "games"),
        "explain": ("print what a message is, and everything that is wrong with it", "explain"),
        "examples": ("list or write an example of every message of the documents", "examples"),
        "schema": ("print or write the JSON Schema of the messages", "schema"),
    },
    "host": {
        "manager": ("serve a league", "manager"),
        "referee": ("referee matches for a league", "referee"),
        "gateway": ("serve seats for chat applications, people in a browser, and players behind a router", "gateway"),
        "seats": ("make new seats of a league, list and revoke them", "seats"),
        "token": ("void a token and make a new one", "token"),
    },
    "operate": {
        "status": ("print the state of a league", "operate"),
        "standings": ("print the table of a league", "operate"),
        "schedule": ("print the matches of a league and their results", "operate"),
        "agents": ("print the agents of a league, and where they listen", "operate"),
        "start": ("start a league now", "operate"),
        "pause": ("pause a league: no new match begins", "operate"),
        "resume": ("continue a paused league", "operate"),
        "set": ("print the settings of a league, or change some of them", "operate"),
        "add-player": ("add a player that never registers, or is late for a Swiss", "operate"),
        "withdraw": ("withdraw a player from a league", "operate"),
        "disqualify": ("disqualify a player of a league", "operate"),
        "readmit": ("let a player come back to a league", "operate"),
        "rematch": ("play a match again", "operate"),
        "correct": ("correct the result of a match", "operate"),
        "query": ("send a league a query that agents may send", "operate"),
    },
    "look back": {
        "log": ("print what happened in a league, one line per event", "log"),
        "replay": ("print what happened in a match, message by message", "replay"),
        "export": ("write results, standings, agents and events for other programs", "export"),
        "verify": ("check everything that must be true in a league's log", "verify"),
    },
    "tools": {
        "backup": ("copy a league's store, also while the league runs", "backup"),
        "restore": ("replace a league's store by a backup", "restore"),
        "rebuild-files": ("write the JSON files again from a league's log", "rebuild_files"),
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
EXAMPLES = """examples:
  league run                           four players, two referees, and a champion
  league new player Alice              an agent of your own to start from
  league explain message.json          what is this, and is it right?
  curl … | league explain -            the same from a pipe
  league schema --out schemas          one JSON Schema file per message type
  league COMMAND --help                everything about one command
"""


MANAGER = "http://127.0.0.1:8000/mcp"


class CommandError(Exception):
    """The command cannot be carried out. The text says why and what to do."""


# The exit code after Ctrl-C.
EXIT_INTERRUPTED = 130
# Messages and files of settings are smaller than this.
MAX_INPUT_BYTES = 64 * 1024 * 1024


def read_input(name: str | Path) -> bytes:
    """The content of a file, or of standard input if its name is "-". Raises CommandError."""
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            content = file.read(MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    if len(content) > MAX_INPUT_BYTES:
        raise CommandError(f"cannot read {name}: it is larger than {MAX_INPUT_BYTES:,} bytes")
    return content


def add_data_dir_option(parser: argparse.ArgumentParser, text: str | None) -> None:
    """Add ``--data-dir`` with its help."""
    parser.add_argument("--data-dir", metavar="DIR", type=Path, default=Path("SHARED"), help=text)


def add_manager_option(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``--manager``. It also accepts the address of the league's page."""
    from leaguekit.protocol.codes import mcp_url

    usual = "such as" if required else "default"
    parser.add_argument(
        "--manager",
        metavar="URL",
        type=mcp_url,
        required=required,
        default=None if required else MANAGER,
        help=f"the manager's URL, or that of its page ({usual} {MANAGER})",
    )


def write_files(files: Mapping[Path, str | bytes]) -> None:
    """Write files, and the folders that they are in. Raises CommandError."""
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from None


def main(argv: list[str] | None = None, begin: Callable[[], None] | None = None) -> int:
    """Run a command. Returns 0, 1 if what was checked is wrong, or 2 if the command cannot be carried out.

    ``begin`` is called when everything is imported, before the command itself.
    """
    arguments = sys.argv[1:] if argv is None else argv
    _open_streams()
    called = next((argument for argument in arguments if argument in COMMANDS), None)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A character that the encoding does not have is escaped, as Python does on stderr.
            sys.stdout.reconfigure(errors="backslashreplace")
        options = _parser(called).parse_args(arguments or ["--help"])
        if begin is not None:
            begin()
        code = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Closing stderr prevents Python's own message at exit.
        sys.stderr.close()
        return 0
    except (CommandError, OSError) as error:
        # An OSError is about a file that the user named, or about the output itself.
        return _report_error(called, error)
    except UnicodeEncodeError as error:
        return _report_error(called, _describe_bad_text(arguments, error))
    except Exception as error:
        if _is_interrupted(error):
            return EXIT_INTERRUPTED
        if not isinstance(error, _component_errors()):
            raise
        return _report_error(called, error)
    except KeyboardInterrupt as interrupt:
        with warnings.catch_warnings():
            # Coroutines that were not started are freed with the traceback. An object that was being made in that
            # moment, such as an event loop, may raise an error when it is freed.
            warnings.simplefilter("ignore", RuntimeWarning)
            hook, sys.unraisablehook = sys.unraisablehook, lambda _error: None
            interrupt.__traceback__ = None
            sys.unraisablehook = hook
        return EXIT_INTERRUPTED
    return code


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether an error comes from Ctrl-C. Python raises another error if a class was being made in that moment."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _parser(called: str | None) -> argparse.ArgumentParser:
    """A parser with the options of the command that is called. The others are not imported."""
    parser = Parser(
        prog="league",
        usage="league [-h] [--version] COMMAND ...",
        description=f"Leagues of AI agents that speak league.v2.\n\n{_list_commands()}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"leaguekit {leaguekit.__version__}")
    # The help lists the commands itself, because argparse cannot group them.
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", prog="league", help=argparse.SUPPRESS, required=True
    )
    for name, (text, module) in COMMANDS.items():
        subparser = subparsers.add_parser(name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == called:
            command = import_module(f"leaguekit.cli.commands.{module}")
            subparser.epilog = command.EXAMPLES
            subparser.set_defaults(run=command.run)
            command.configure(subparser)
    return parser


def _list_commands() -> str:
    """The commands in their groups, for the help."""
    groups = (
        "\n".join([f"{title}:", *(f"  {name:<15}{text}" for name, (text, _) in commands.items())])
        for title, commands in GROUPS.items()
    )
    return "\n\n".join(groups)


def _component_errors() -> tuple[type[Exception], ...]:
    """The errors of other packages whose text is for the user. They are imported when there is an error."""
    from leaguekit.agents.game_loading import NoSuchGame
    from leaguekit.agents.registration import RegistrationRefused
    from leaguekit.player.strategies import CannotPlay
    from leaguekit.player.strategy_loading import NoSuchStrategy
    from leaguekit.store.base import StoreError
    from leaguekit.transport.server.server import CannotListen

    return NoSuchGame, RegistrationRefused, CannotPlay, NoSuchStrategy, StoreError, CannotListen


def _describe_bad_text(arguments: list[str], error: UnicodeEncodeError) -> CommandError:
    """The error for a text that is not UTF-8. It came from an argument, or otherwise from the environment."""
    named = repr(error.object)
    for before, argument in pairwise(["", *arguments]):
        if re.search("[\ud800-\udfff]", argument):
            named = f"{before} {argument!r}" if before.startswith("--") else repr(argument)
    return CommandError(f"{named} is not UTF-8, and can be neither kept nor sent. Write it in UTF-8")


def _report_error(command: str | None, error: Exception) -> int:
    """Print why a command cannot be carried out, if that is possible. Returns the exit code."""
    from leaguekit.protocol.plain_text import sanitize_lines

    why = str(error)
    try:
        Path.cwd()
    except OSError:
        why = f"{why}. The working folder was removed: change to another with cd"
    with contextlib.suppress(OSError):
        # The text may come from another agent.
        print(f"league {command}: {sanitize_lines(why)}", file=sys.stderr, flush=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Drop what cannot be written. Otherwise Python would try again at exit, and change the exit code.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 2


def _open_streams() -> None:
    """Replace standard streams that were closed before this program started."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 - as long as the program
