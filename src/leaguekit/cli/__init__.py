"""The ``league`` command. Each subcommand is a module of its own, imported only when it is called."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

import leaguekit

COMMANDS = {
    "explain": "say what a message is, and everything that is wrong with it",
    "schema": "print or write the JSON Schema of the messages",
}
EXAMPLES = """examples:
  league explain message.json          what is this, and is it right?
  curl … | league explain -            the same from a pipe
  league schema --out schemas          one JSON Schema file a message type
  league COMMAND --help                everything about one command
"""


class CommandError(Exception):
    """The command cannot be carried out; the text says why and what to do."""


def main(argv: list[str] | None = None) -> int:
    """Run the command; 0 if all is well, 1 if what was looked at is not, 2 if the command cannot be carried out."""
    arguments = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(
        prog="league",
        description="Leagues of AI agents that speak league.v2.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"leaguekit {leaguekit.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    called = next((argument for argument in arguments if argument in COMMANDS), None)
    for name, text in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == called:
            import_module(f"leaguekit.cli.{name}").configure(subparser)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except CommandError as error:
        print(f"league {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; closing stderr keeps Python from complaining at exit.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
